/* SPDX-License-Identifier: MIT */
#include "model/event.h"

#include <string.h>

static const struct {
	const char *name;
	bool in_view;
} kinds[] = {
#define X(id, name_, in_view_) [EVENT_##id] = { (name_), (in_view_) },
	EVENT_KINDS(X)
#undef X
};

const char *event_name(enum event_kind kind)
{
	return kinds[kind].name;
}

void event_set_status(struct event *e, uint32_t status)
{
	e->signal = status & 0x7f;
	e->core_dumped = status & 0x80;
	e->has_exit_code = !e->signal;
	e->exit_code = e->signal ? 0 : (int)(status >> 8 & 0xff);
}

bool event_in_view(enum event_kind kind)
{
	return kinds[kind].in_view;
}

static void put_sender(const struct event *e, struct buf *to)
{
	const char *sent = "sent by";

	if (e->is_forwarded) {
		buf_puts(to, "forwarded by proctor; ");
		sent = "sent to it by";
	}
	if (e->sender_pid > 0 && e->sender_comm[0])
		buf_printf(to, "%s %.*s (pid %d, uid %u)", sent,
		           (int)strnlen(e->sender_comm, COMM_LEN), e->sender_comm, e->sender_pid,
		           e->sender_uid);
	else if (e->sender_pid > 0)
		buf_printf(to, "%s a process that was gone (pid %d, uid %u)", sent, e->sender_pid,
		           e->sender_uid);
	else if (e->sender_pid == 0)
		buf_printf(to, "%s the kernel", sent);
	else
		buf_puts(to, "sender not known");
}

void event_details(const struct event *e, const char *text, struct buf *to)
{
	size_t start = to->len;

	if (e->kind == EVENT_SIGNAL || e->kind == EVENT_KILL)
		put_sender(e, to);
	else if (e->text.len)
		buf_put(to, text + e->text.at, e->text.len);
	if (e->core_dumped)
		buf_puts(to, to->len > start ? ", core dumped" : "core dumped");
	if (e->inferred)
		buf_puts(to, to->len > start ? " (inferred by comparing two ticks)"
		                             : "inferred by comparing two ticks");
}
