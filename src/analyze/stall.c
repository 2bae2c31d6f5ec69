/* SPDX-License-Identifier: MIT */
#include "analyze/stall.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "model/own_process.h"

uint64_t stall_patience_ns(enum stall_kind kind)
{
	static const uint64_t seconds[] = {
#define X(id, s) [STALL_##id] = (s),
		STALL_KINDS(X)
#undef X
	};

	return seconds[kind] * NS_PER_S;
}

/* They only wait for their command, however they do that. */
static bool is_wrapper(const struct blocked_call *b)
{
	return own_process_has_name(b->name) || strcmp(b->name, "timeout") == 0;
}

static bool is_file_lock(const struct blocked_call *b)
{
	return strcmp(b->call, "flock") == 0 || strcmp(b->call, "fcntl") == 0;
}

/* The one that it waits for, among them. That another process shares a lock does not mean that it has it. */
static const struct blocked_call *next_of(const struct blocked_call *calls, size_t n,
                                          const struct blocked_call *b)
{
	bool is_edge = b->thing == BLOCKED_ON_PIPE || b->thing == BLOCKED_ON_SOCKET ||
	               b->thing == BLOCKED_ON_CHILD || (b->thing == BLOCKED_ON_LOCK && b->owner);

	if (!is_edge)
		return NULL;
	for (size_t i = 0; b->peer && i < n; i++)
		if (calls[i].id.pid == b->peer)
			return &calls[i];
	return NULL;
}

bool stall_may_resume(const struct blocked_call *b)
{
	if (is_wrapper(b) || b->state == 'D')
		return false;
	if (b->state != 'S' || b->may_wake)
		return true;
	if (b->thing == BLOCKED_ON_PIPE)
		return !b->peer;
	return b->thing == BLOCKED_ON_FILE && !is_file_lock(b);
}

/* … or the other end of its pipe has ended. */
static bool may_go_on(const struct blocked_call *calls, size_t n, const struct blocked_call *b)
{
	return stall_may_resume(b) ||
	       (b->state != 'D' && b->thing == BLOCKED_ON_PIPE && !next_of(calls, n, b));
}

static bool is_in_circle(const struct blocked_call *calls, size_t n, const struct blocked_call *b)
{
	const struct blocked_call *at = b;

	for (size_t i = 0; at && i < n; i++) {
		at = next_of(calls, n, at);
		if (at == b)
			return true;
	}
	return false;
}

static enum stall_kind kind_of(const struct blocked_call *calls, size_t n,
                               const struct blocked_call *b)
{
	if (is_in_circle(calls, n, b))
		return STALL_DEADLOCK;
	if (b->state == 'D')
		return STALL_UNINTERRUPTIBLE;
	if (b->thing == BLOCKED_ON_LOCK || b->thing == BLOCKED_ON_FILE)
		return STALL_LOCK;
	return b->thing == BLOCKED_ON_SOCKET && !next_of(calls, n, b) ? STALL_NETWORK : STALL_NONE;
}

static void describe(const struct blocked_call *b, enum stall_kind kind, struct stall *ret)
{
	struct buf text = { .max = BLOCKED_TEXT_MAX * 2 };

	blocked_call_describe(b, &text);
	ret->kind = kind;
	ret->id = b->id;
	memcpy(ret->comm, b->name, sizeof ret->comm);
	text_copy(ret->text, sizeof ret->text, text.at);
	buf_done(&text);
}

/* The kinds are in the order of how much they explain. */
void stall_find(const struct blocked_call *calls, size_t n, size_t n_processes, struct stall *ret)
{
	const struct blocked_call *found = NULL;
	enum stall_kind best = STALL_KIND_COUNT;

	*ret = (struct stall){ 0 };
	if (n < n_processes)
		return;
	for (size_t i = 0; i < n; i++) {
		enum stall_kind kind;

		if (is_wrapper(&calls[i]))
			continue;
		if (may_go_on(calls, n, &calls[i]))
			return;
		kind = kind_of(calls, n, &calls[i]);
		if (kind != STALL_NONE && kind < best) {
			best = kind;
			found = &calls[i];
		}
	}
	if (found)
		describe(found, best, ret);
}
