/* SPDX-License-Identifier: MIT */
#include "rpc/rpc_frame.h"

#include <errno.h>
#include <string.h>

#define SMALL ((size_t)4 << 10) /* bytes that an idle connection may keep */

static bool is_blank(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != ' ' && p[i] != '\t' && p[i] != '\r')
			return false;
	return true;
}

static size_t line_max(const struct rpc_frames *f)
{
	return f->max ? f->max : RPC_FRAME_MAX;
}

void rpc_frames_put(struct rpc_frames *f, const void *bytes, size_t n)
{
	size_t rest = f->bytes.len - f->at;

	if (f->at && rest)
		memmove(f->bytes.at, f->bytes.at + f->at, rest);
	f->bytes.len = rest;
	f->searched -= f->at;
	f->at = 0;
	/* A line beyond this is cut off, which is fine: it is recognised by its length alone. */
	f->bytes.max = line_max(f) + 2 * RPC_FRAME_CHUNK;
	buf_put(&f->bytes, bytes, n);
}

/* The newline that ends the next line; NULL: not received yet. */
static const char *find_end(struct rpc_frames *f)
{
	const char *from = f->bytes.at + f->searched;
	const char *end = f->bytes.len > f->searched
	                          ? memchr(from, '\n', f->bytes.len - f->searched)
	                          : NULL;

	f->searched = end ? (size_t)(end - f->bytes.at) : f->bytes.len;
	return end;
}

static void reset(struct rpc_frames *f)
{
	if (f->bytes.cap > SMALL)
		buf_done(&f->bytes);
	buf_reset(&f->bytes);
	f->at = f->searched = 0;
}

enum rpc_frame_next rpc_frames_next(struct rpc_frames *f, struct scan *ret_line)
{
	for (;;) {
		const char *end = find_end(f), *begin;
		size_t n = f->searched - f->at;

		if (n > line_max(f))
			return RPC_FRAME_TOO_LONG;
		if (!end) {
			if (n == 0)
				reset(f);
			return RPC_FRAME_NONE;
		}
		begin = f->bytes.at + f->at;
		f->at = f->searched = f->searched + 1;
		if (is_blank(begin, n))
			continue;
		*ret_line = scan_mem(begin, n);
		return RPC_FRAME_LINE;
	}
}

bool rpc_frames_has_line(struct rpc_frames *f)
{
	return find_end(f) != NULL;
}

bool rpc_frames_is_half(const struct rpc_frames *f)
{
	return f->bytes.len > f->at;
}

void rpc_frames_done(struct rpc_frames *f)
{
	buf_done(&f->bytes);
	*f = (struct rpc_frames){ 0 };
}

/* The end of the string that begins at p. */
static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\' && p + 1 < end)
			p++;
	return p;
}

int rpc_frame_check(struct scan line, struct err *err)
{
	size_t depth = 0, values = 1;

	for (const char *p = line.p; p < line.end; p++) {
		if (*p == '"') {
			p = skip_string(p, line.end);
		} else if (*p == '{' || *p == '[') {
			values++;
			if (++depth > RPC_FRAME_DEPTH_MAX)
				return err_set(err, ELOOP, "deeper than %d levels",
				               RPC_FRAME_DEPTH_MAX);
		} else if (*p == '}' || *p == ']') {
			depth -= depth > 0;
		} else {
			values += *p == ',';
		}
	}
	if (values > RPC_FRAME_VALUES_MAX)
		return err_set(err, E2BIG, "more than %d values", RPC_FRAME_VALUES_MAX);
	return 0;
}
