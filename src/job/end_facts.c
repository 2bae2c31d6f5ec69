/* SPDX-License-Identifier: MIT */
#include "job/end_facts.h"

#include <signal.h>
#include <string.h>

#include "base/defs.h"

/* The new one becomes the last. What others sent is not displaced by what the command sent to itself:
 * a handler ends that way. */
static void add_signal(struct end_facts *f, const struct cause_signal *sent)
{
	size_t at = 0;

	while (at < f->n_sent && f->sent[at].number != sent->number)
		at++;
	if (at < f->n_sent && sent->is_from_itself && !f->sent[at].is_from_itself)
		return;
	if (at == f->n_sent && at == END_FACTS_SIGNALS)
		at = 0;
	else if (at == f->n_sent)
		f->n_sent++;
	memmove(&f->sent[at], &f->sent[at + 1], (f->n_sent - at - 1) * sizeof *f->sent);
	f->sent[f->n_sent - 1] = *sent;
}

static void take_signal(struct end_facts *f, const struct event *e)
{
	struct cause_signal sent = { .number = e->signal,
		                     .pid = e->sender_pid,
		                     .uid = e->sender_uid,
		                     .is_from_itself = e->sender_pid == e->id.pid };

	memcpy(sent.comm, e->sender_comm, sizeof sent.comm);
	if (f->command.pid && proc_id_eq(e->id, f->command))
		add_signal(f, &sent);
	f->known_kills += e->signal == SIGKILL && e->sender_pid > 0;
}

static void take_exit(struct end_facts *f, const struct event *e)
{
	if (f->command.pid && proc_id_eq(e->id, f->command))
		f->command_end_ns = e->boot_ns;
	if (e->signal != SIGKILL)
		return;
	f->last_kill_ns = MAX(f->last_kill_ns, e->boot_ns);
	if (f->kills < END_FACTS_KILLED)
		f->killed[f->kills] = e->id;
	f->kills++;
}

void end_facts_take(struct end_facts *f, const struct event *e)
{
	if (e->kind == EVENT_LOSS)
		f->lost = true;
	if (e->job < 0 || e->id.pid == 0)
		return;
	if (e->kind == EVENT_SIGNAL || e->kind == EVENT_KILL)
		take_signal(f, e);
	else if (e->kind == EVENT_EXIT)
		take_exit(f, e);
	else if (e->kind == EVENT_OOM)
		f->ooms++;
}

void end_facts_summarize(const struct end_facts *f, struct cause_facts *ret)
{
	bool is_timed = f->last_kill_ns && f->command_end_ns > f->last_kill_ns;

	*ret = (struct cause_facts){ .after_kill_ns = is_timed ? f->command_end_ns - f->last_kill_ns
		                                               : 0,
		                     .kills = f->kills - MIN(f->kills, f->known_kills),
		                     .ooms = f->ooms,
		                     .sent = f->sent,
		                     .n_sent = f->n_sent };
}
