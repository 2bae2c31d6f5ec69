/* SPDX-License-Identifier: MIT */
#include "model/blocked_call.h"

#include <string.h>

static const char *thing_key(const void *record)
{
	static const char *const keys[] = {
#define X(id, key) [BLOCKED_ON_##id] = (key),
		BLOCKED_THINGS(X)
#undef X
	};

	return keys[((const struct blocked_call *)record)->thing];
}

static const char *direction(const void *record)
{
	const struct blocked_call *b = record;

	if (b->thing != BLOCKED_ON_PIPE && b->thing != BLOCKED_ON_SOCKET)
		return NULL;
	return b->writes ? "write" : "read";
}

static void put_fd(struct json *j, const void *record)
{
	const struct blocked_call *b = record;

	b->fd < 0 ? json_nil(j) : json_i64(j, b->fd);
}

#define RECORD struct blocked_call
static const struct field rows[] = {
	{ "pid", FIELD(NUMBER, id.pid), .help = "the process" },
	{ "name", FIELD(TEXT, name), .help = "its name" },
	{ "state", FIELD(LETTER, state),
	  .help = "S sleeps, D sleeps and cannot be interrupted, T is stopped" },
	{ "threads", FIELD(NUMBER, threads), .help = "threads that wait for the same" },
	{ "other_threads", FIELD(NUMBER, others), .help = "threads that wait for something else" },
	{ "call", FIELD(TEXT, call), .help = "the system call it is in; null: not readable" },
	{ "wchan", FIELD(TEXT, wchan), .help = "the function of the kernel in which it sleeps" },
	{ "on", FIELD_NAME, .name = thing_key,
	  .help = "what it waits for: file, pipe, socket, child, lock, timer, files; null: not known" },
	{ "fd", FIELD_PUT, .put = put_fd, .help = "the open file" },
	{ "direction", FIELD_NAME, .name = direction, .help = "… whether it reads or writes it" },
	{ "target", FIELD(TEXT, text), .help = "path, address of the other side, or of the lock" },
	{ "peer_pid", FIELD(ORDINAL, peer),
	  .help = "the process at the other end; null: not known" },
	{ "peer_name", FIELD(TEXT, peer_name), .help = "… its name" },
	{ "owner_tid", FIELD(ORDINAL, owner),
	  .help = "the thread that holds the lock, if the lock names it" },
	{ "sharers", FIELD(ORDINAL, sharers),
	  .help = "other processes of the job that have the lock's memory mapped" },
	{ "files", FIELD(ORDINAL, files),
	  .help = "open files that it waits for: poll, select, epoll" },
	{ "seconds", FIELD(ORDINAL, since_ns), .unit = UNIT_NS,
	  .help = "how long it has not run; null: not known" },
};
#undef RECORD

const struct field_table blocked_call_fields = FIELD_TABLE(rows);

const char *blocked_call_socket_word(const struct blocked_call *b)
{
	bool listens = strncmp(b->call, "accept", strlen("accept")) == 0;

	return listens || b->is_own_address ? "at" : "to";
}

static void put_peer(const struct blocked_call *b, const char *before, struct buf *to)
{
	if (b->peer)
		buf_printf(to, " %s %.*s %d", before, COMM_LEN, b->peer_name, b->peer);
}

static void put_thing(const struct blocked_call *b, struct buf *to)
{
	static const char *const words[BLOCKED_THING_COUNT] = {
		[BLOCKED_ON_PIPE] = " on a pipe",    [BLOCKED_ON_SOCKET] = " on a socket",
		[BLOCKED_ON_CHILD] = " for a child", [BLOCKED_ON_LOCK] = " on a lock",
		[BLOCKED_ON_FILE] = " on ",          [BLOCKED_ON_FILES] = " on several files",
	};

	if (words[b->thing])
		buf_puts(to, words[b->thing]);
	if (b->thing == BLOCKED_ON_FILE)
		buf_puts(to, *b->text ? b->text : "an open file");
	else if (b->thing == BLOCKED_ON_SOCKET && *b->text)
		buf_printf(to, " %s %s", blocked_call_socket_word(b), b->text);
	put_peer(b,
	         b->thing == BLOCKED_ON_CHILD    ? "that is"
	         : b->thing == BLOCKED_ON_LOCK   ? b->owner ? "held by" : "shared with"
	         : b->thing == BLOCKED_ON_SOCKET ? "of"
	         : b->writes                     ? "to"
	                                         : "from",
	         to);
}

void blocked_call_describe(const struct blocked_call *b, struct buf *to)
{
	buf_printf(to, "waits%s%s", *b->call ? " in " : "", b->call);
	put_thing(b, to);
	buf_printf(to, " (%c%s%s)", b->state, *b->wchan ? ", " : "", b->wchan);
}
