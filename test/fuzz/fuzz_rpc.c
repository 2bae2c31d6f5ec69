/* SPDX-License-Identifier: MIT */
/* Any bytes from a client: in whatever pieces they come the same lines are found, and each line is
 * a request or gets an error that is one line of valid JSON. The first byte is the size of the
 * pieces. */
#include <jansson.h>
#include <string.h>

#include "fuzz.h"
#include "rpc/rpc_frame.h"
#include "rpc/rpc_message.h"

static void check_reply(const struct buf *out)
{
	json_t *reply = json_loadb(out->at, out->len, 0, NULL);

	FUZZ_CHECK(json_is_object(json_object_get(reply, "error")));
	FUZZ_CHECK(memchr(out->at, '\n', out->len) == out->at + out->len - 1);
	json_decref(reply);
}

static void parse(struct scan line)
{
	struct rpc_message m;
	struct err err = { 0 };
	struct buf out = { 0 };
	struct json j = { .out = &out };

	if (rpc_message_parse(line, &m, &err) < 0) {
		FUZZ_CHECK(err.code > 0);
		rpc_message_put_error(&j, m.id, &err);
		check_reply(&out);
	} else {
		FUZZ_CHECK(m.method && (!m.params || json_is_object(m.params)));
	}
	rpc_message_done(&m);
	buf_done(&out);
}

/* How many lines, and their bytes together. */
static size_t split(const uint8_t *data, size_t size, size_t piece, bool parses, size_t *ret_lines)
{
	struct rpc_frames f = { 0 };
	struct scan line;
	size_t bytes = 0;

	*ret_lines = 0;
	for (size_t at = 0, n; at < size; at += n) {
		n = MIN(MIN(piece, size - at), RPC_FRAME_CHUNK);
		rpc_frames_put(&f, data + at, n);
		while (rpc_frames_next(&f, &line) == RPC_FRAME_LINE) {
			++*ret_lines;
			bytes += scan_left(&line);
			FUZZ_CHECK(!memchr(line.p, '\n', scan_left(&line)));
			if (parses)
				parse(line);
		}
	}
	rpc_frames_done(&f);
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t whole_lines, lines, whole;

	if (size < 2)
		return 0;
	whole = split(data + 1, size - 1, size, true, &whole_lines);
	FUZZ_CHECK(split(data + 1, size - 1, (size_t)data[0] + 1, false, &lines) == whole);
	FUZZ_CHECK(lines == whole_lines);
	return 0;
}
