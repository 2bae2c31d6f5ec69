/* SPDX-License-Identifier: MIT */
#include "model/flight.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/map.h"
#include "base/text.h"
#include "model/syscall_words.h"

#define TYPE_SHIFT 12
#define ERROR_MAX 4095
#define RESTART_FIRST 512 /* ERESTARTSYS … ERESTART_RESTARTBLOCK: a signal interrupted it */
#define RESTART_LAST 516
#define NAME_UNKNOWN UINT64_MAX

/* ---- which calls ----------------------------------------------------------------------------- */

static int by_entry(const void *a_, const void *b_)
{
	const struct flight_call *a = a_, *b = b_;

	if (a->entered_ns != b->entered_ns)
		return a->entered_ns < b->entered_ns ? -1 : 1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

static bool was_interrupted(const struct flight_call *c)
{
	return c->result <= -RESTART_FIRST && c->result >= -RESTART_LAST;
}

/* The last call of a thread that ended in it. The kernel lets a call that waits return before the thread dies of a
 * signal. */
static bool is_unfinished(const struct flight_call *calls, size_t n, size_t i)
{
	if (!calls[i].left_ns)
		return true;
	if (!was_interrupted(&calls[i]))
		return false;
	for (size_t k = i + 1; k < n; k++)
		if (calls[k].tid == calls[i].tid)
			return false;
	return true;
}

size_t flight_keep(struct flight_call *calls, size_t n, size_t keep)
{
	size_t first, kept = 0;

	if (n)
		qsort(calls, n, sizeof *calls, by_entry);
	first = n > keep ? n - keep : 0;
	for (size_t i = 0; i < first && kept < FLIGHT_THREADS_MAX; i++)
		if (is_unfinished(calls, n, i))
			calls[kept++] = calls[i];
	if (n > first)
		memmove(calls + kept, calls + first, (n - first) * sizeof *calls);
	return kept + n - first;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Any bytes; nothing of them reaches a terminal as it is. */
static void put_escaped(struct buf *to, const char *s, size_t n)
{
	for (size_t i = 0, len; i < n; i += len) {
		len = text_utf8_len(s + i, n - i);
		len = len ? len : 1;
		if (s[i] == '"' || s[i] == '\\')
			buf_putc(to, '\\');
		text_display(to, s + i, len, SIZE_MAX);
	}
}

/* Without the first bytes of a character that was cut. */
static size_t whole_len(const char *s, size_t n)
{
	for (size_t back = 1; back <= 3 && back <= n; back++) {
		unsigned char c = (unsigned char)s[n - back];

		if ((c & 0xc0) == 0xc0)
			return text_utf8_len(s + n - back, back) ? n : n - back;
		if (!(c & 0x80))
			break;
	}
	return n;
}

static void put_path(struct buf *to, const char *s, size_t n, bool is_cut)
{
	buf_putc(to, '"');
	put_escaped(to, s, is_cut ? whole_len(s, n) : n);
	buf_puts(to, is_cut ? "\"..." : "\"");
}

static void put_call_path(struct buf *to, const struct flight_call *c, unsigned nth,
                          uint64_t address)
{
	bool is_unread = nth ? c->more_is_unread : c->path_is_unread;

	if (is_unread || nth > 1)
		syscall_words_put(to, SYSCALL_ARG_ADDRESS, address);
	else if (nth)
		put_path(to, c->text + c->text_len, c->more_len, c->more_is_cut);
	else /* the text of one that was empty may be the name of the directory */
		put_path(to, c->text, c->file_type ? 0 : c->text_len, c->path_is_cut);
}

static void put_socket_address(struct buf *to, const struct flight_call *c, uint64_t address)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
		char bytes[sizeof(struct sockaddr_un)];
	} at = { .bytes = "" };
	char text[INET6_ADDRSTRLEN] = "";
	size_t len = MIN(c->text_len, sizeof at), path = offsetof(struct sockaddr_un, sun_path);

	memcpy(at.bytes, c->text, c->text_is_address ? len : 0);
	if (at.any.sa_family == AF_INET && len >= sizeof at.in) {
		inet_ntop(AF_INET, &at.in.sin_addr, text, sizeof text);
		buf_printf(to, "%s:%u", text, ntohs(at.in.sin_port));
	} else if (at.any.sa_family == AF_INET6 &&
	           len >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
		inet_ntop(AF_INET6, &at.in6.sin6_addr, text, sizeof text);
		buf_printf(to, "[%s]:%u", text, ntohs(at.in6.sin6_port));
	} else if (at.any.sa_family == AF_UNIX && len > path && at.un.sun_path[0]) {
		put_path(to, at.un.sun_path, strnlen(at.un.sun_path, len - path), false);
	} else if (at.any.sa_family == AF_UNIX && len > path + 1) { /* a name without a file */
		buf_putc(to, '@');
		put_path(to, at.un.sun_path + 1, len - path - 1, false);
	} else {
		syscall_words_put(to, SYSCALL_ARG_BUFFER, address);
	}
}

static void put_file_name(struct buf *to, const struct flight_call *c)
{
	const char *kind = (mode_t)c->file_type << TYPE_SHIFT == S_IFSOCK  ? "socket"
	                   : (mode_t)c->file_type << TYPE_SHIFT == S_IFIFO ? "pipe"
	                                                                   : "file";

	if (!c->text_len || (c->text[0] != '/' && strcmp(kind, "file") != 0)) {
		buf_printf(to, "<%s:[%llu]>", kind, (unsigned long long)c->file_inode);
		return;
	}
	buf_puts(to, c->name_is_cut ? "<..." : c->text[0] == '[' ? "<anon_inode:" : "<");
	put_escaped(to, c->text, c->text_len);
	buf_putc(to, '>');
}

/* ---- open files ------------------------------------------------------------------------------ */

/* Names the open files at each call. The kernel has named those that were open at the end, and
 * those that a call closed, as they were then; so this goes backwards in time. */
struct files {
	const struct flight_call *calls;
	uint64_t *
		named_by; /* one for each argument of each call: the call that has its name, or NAME_UNKNOWN */
	struct map now; /* file → the call that has its name, or NAME_UNKNOWN */
};

static const struct syscall_signature *signature_of(const struct flight_call *c)
{
	char name[SYSCALL_NAME_MAX];

	syscall_name(c->call, name);
	return syscall_signature_find(name);
}

static bool is_file(char kind)
{
	return kind == SYSCALL_ARG_FILE || kind == SYSCALL_ARG_DIRECTORY;
}

static uint64_t name_of(struct files *f, size_t i, const struct syscall_signature *s,
                        unsigned position)
{
	const struct flight_call *c = &f->calls[i];
	uint64_t file = (uint32_t)c->args[position - 1], known;
	bool has_name = c->file_type && syscall_signature_file(s) == position;

	if (has_name && (syscall_signature_closes(s) || !map_get(&f->now, file, &known)))
		map_put(&f->now, file, i);
	else if (syscall_signature_closes(s) && c->result == 0)
		map_put(&f->now, file, NAME_UNKNOWN);
	return map_get(&f->now, file, &known) ? known : NAME_UNKNOWN;
}

static void name_files(struct files *f, size_t n)
{
	for (size_t i = n; i-- > 0;) {
		const struct flight_call *c = &f->calls[i];
		const struct syscall_signature *s = signature_of(c);

		for (unsigned k = 0; k < SYSCALL_ARGS; k++)
			f->named_by[i * SYSCALL_ARGS + k] = NAME_UNKNOWN;
		for (unsigned k = 0; s && s->args[k]; k++)
			if (is_file(s->args[k]))
				f->named_by[i * SYSCALL_ARGS + k] = name_of(f, i, s, k + 1);
		/* Before, this number was another file, or none. */
		if (s && s->result == SYSCALL_ARG_FILE && c->left_ns && c->result >= 0)
			map_put(&f->now, (uint32_t)c->result, NAME_UNKNOWN);
	}
	map_done(&f->now);
}

/* ---- one call -------------------------------------------------------------------------------- */

static void put_file(struct buf *to, const struct files *f, size_t i, unsigned k, bool is_directory)
{
	int32_t file = (int32_t)f->calls[i].args[k];
	uint64_t named_by = f->named_by[i * SYSCALL_ARGS + k];

	if (is_directory && file == AT_FDCWD)
		buf_puts(to, "AT_FDCWD");
	else
		buf_printf(to, "%d", file);
	if (named_by != NAME_UNKNOWN)
		put_file_name(to, &f->calls[named_by]);
}

/* The mode of a file matters only where one may be made. */
static bool is_unused(const struct flight_call *c, const struct syscall_signature *s, unsigned k)
{
	return k && s->args[k] == SYSCALL_ARG_MODE && s->args[k - 1] == SYSCALL_ARG_OPEN_FLAGS &&
	       !(c->args[k - 1] & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)));
}

static void put_args(struct buf *to, const struct files *f, size_t i,
                     const struct syscall_signature *s)
{
	const struct flight_call *c = &f->calls[i];
	unsigned paths = 0;

	for (unsigned k = 0; s->args[k] && !is_unused(c, s, k); k++) {
		buf_puts(to, k ? ", " : "");
		if (s->args[k] == SYSCALL_ARG_PATH)
			put_call_path(to, c, paths++, c->args[k]);
		else if (s->args[k] == SYSCALL_ARG_SOCKET_ADDRESS)
			put_socket_address(to, c, c->args[k]);
		else if (is_file(s->args[k]))
			put_file(to, f, i, k, s->args[k] == SYSCALL_ARG_DIRECTORY);
		else
			syscall_words_put(to, (enum syscall_arg_kind)s->args[k], c->args[k]);
	}
}

static bool never_returns(const char *name)
{
	return strcmp(name, "exit") == 0 || strcmp(name, "exit_group") == 0;
}

static bool has_failed(const struct flight_call *c)
{
	return c->result < 0 && c->result >= -ERROR_MAX;
}

static void put_text(struct buf *to, const struct files *f, size_t n, size_t i, const char *name)
{
	const struct flight_call *c = &f->calls[i];
	const struct syscall_signature *s = syscall_signature_find(name);
	char error[SYSCALL_ERROR_MAX];

	buf_printf(to, "%s(", name);
	if (s)
		put_args(to, f, i, s);
	else
		buf_puts(to, "...");
	if (!c->left_ns && never_returns(name)) {
		buf_puts(to, ") = ?");
	} else if (is_unfinished(f->calls, n, i)) {
		buf_puts(to, " <unfinished>");
	} else if (has_failed(c)) {
		syscall_error_name((uint32_t)-c->result, error);
		buf_printf(to, ") = %s %s", was_interrupted(c) ? "?" : "-1", error);
	} else {
		buf_puts(to, ") = ");
		buf_printf(to, s && s->result == SYSCALL_ARG_ADDRESS ? "%#llx" : "%lld",
		           (long long)c->result);
	}
}

static void put_result(struct json *j, const struct files *f, size_t n, size_t i)
{
	const struct flight_call *c = &f->calls[i];
	char error[SYSCALL_ERROR_MAX];

	if (is_unfinished(f->calls, n, i)) {
		json_nil(j);
		json_nil(j);
		return;
	}
	json_i64(j, has_failed(c) ? -1 : c->result);
	if (has_failed(c)) {
		syscall_error_name((uint32_t)-c->result, error);
		json_str(j, error);
	} else {
		json_nil(j);
	}
}

static void put_call(struct json *j, const struct files *f, size_t n, size_t i, uint64_t wall_ns)
{
	const struct flight_call *c = &f->calls[i];
	cleanup(buf_done) struct buf text = { 0 };
	char name[SYSCALL_NAME_MAX];

	syscall_name(c->call, name);
	put_text(&text, f, n, i, name);
	json_begin_array(j);
	json_u64(j, wall_ns + c->entered_ns);
	if (is_unfinished(f->calls, n, i))
		json_nil(j);
	else
		json_u64(j, c->left_ns - MIN(c->entered_ns, c->left_ns));
	json_i64(j, c->tid);
	json_str(j, name);
	put_result(j, f, n, i);
	json_strn(j, text.at, text.len);
	json_end_array(j);
}

static void put_loss(struct json *j, const struct flight_call *calls, size_t n, uint64_t wall_ns)
{
	json_begin_array(j);
	json_u64(j, wall_ns + (n ? calls[0].entered_ns : 0));
	for (int i = 0; i < 5; i++)
		json_nil(j);
	json_str(j, "(some calls are missing: there was no memory for them)");
	json_end_array(j);
}

void flight_json(struct json *j, const struct flight_call *calls, size_t n, bool has_lost,
                 uint64_t wall_ns)
{
	struct files f = { .calls = calls,
		           .named_by = xcalloc(n * SYSCALL_ARGS + 1, sizeof *f.named_by) };

	name_files(&f, n);
	json_begin_array(j);
	if (has_lost)
		put_loss(j, calls, n, wall_ns);
	for (size_t i = 0; i < n; i++)
		put_call(j, &f, n, i, wall_ns);
	json_end_array(j);
	free(f.named_by);
}
