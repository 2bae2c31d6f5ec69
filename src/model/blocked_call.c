/* SPDX-License-Identifier: MIT */
#include "model/blocked_call.h"

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

static void put_state(struct json *j, const void *record)
{
	const char state[2] = { ((const struct blocked_call *)record)->state };

	json_str(j, state);
}

#define RECORD struct blocked_call
static const struct field rows[] = {
	{ "pid", FIELD(NUMBER, id.pid), .help = "the process" },
	{ "name", FIELD(TEXT, name), .help = "its name" },
	{ "state", FIELD_PUT, .put = put_state,
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
	{ "seconds", FIELD(ORDINAL, since_ns), .unit = UNIT_NS,
	  .help = "how long it has not run; null: not known" },
};
#undef RECORD

const struct field_table blocked_call_fields = FIELD_TABLE(rows);
