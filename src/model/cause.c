/* SPDX-License-Identifier: MIT */
#include "model/cause.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/defs.h"

void cause_merge(struct cause *to, const struct cause *from)
{
	struct cause merged = from->oom ? *from : *to;
	const struct cause *sent = from->sender ? from : to;

	merged.sender = sent->sender;
	merged.sender_source = sent->sender_source;
	merged.sender_pid = sent->sender_pid;
	merged.sender_uid = sent->sender_uid;
	memcpy(merged.sender_comm, sent->sender_comm, sizeof merged.sender_comm);
	*to = merged;
}

const char *cause_shorten_group(const char *group)
{
	size_t len = strlen(group);
	const char *tail = group + (len > CAUSE_GROUP_COLUMNS ? len - CAUSE_GROUP_COLUMNS : 0);
	const char *from = tail == group ? group : strchr(tail, '/');

	return from ? from : tail;
}

static const char *const proof_names[] = {
#define X(id, name) [CAUSE_PROOF_##id] = (name),
	CAUSE_PROOFS(X)
#undef X
};

static const char *const source_names[] = {
#define X(id, name) [CAUSE_SOURCE_##id] = (name),
	CAUSE_SOURCES(X)
#undef X
};

static const char *const sender_names[] = {
#define X(id, name) [CAUSE_SENDER_##id] = (name),
	CAUSE_SENDERS(X)
#undef X
};

/* A newer version may have stored a number that this one does not know. */
const char *cause_proof_name(enum cause_proof proof)
{
	return (unsigned)proof < CAUSE_PROOF_COUNT ? proof_names[proof] : NULL;
}

const char *cause_source_name(enum cause_source source)
{
	return (unsigned)source < CAUSE_SOURCE_COUNT ? source_names[source] : NULL;
}

const char *cause_sender_name(enum cause_sender sender)
{
	return (unsigned)sender < CAUSE_SENDER_COUNT ? sender_names[sender] : NULL;
}

#define SURVIVED_NS (10 * NS_PER_S) /* a job that goes on for longer fails of something else */

/* ---- out of memory --------------------------------------------------------------------------- */

static bool set_oom(struct cause *to, enum cause_proof proof, enum cause_source source)
{
	to->oom = proof;
	to->oom_source = source;
	return true;
}

/* Somebody saw the kill itself, or it was counted where only the job is. */
static bool is_seen(const struct cause_facts *f, struct cause *to)
{
	if (f->ooms)
		return set_oom(to, CAUSE_PROOF_PROVEN, CAUSE_SOURCE_BPF);
	if (f->own.is_known && f->own.kills)
		return set_oom(to, CAUSE_PROOF_PROVEN, CAUSE_SOURCE_CGROUP);
	if (f->verdict.is_oom)
		return set_oom(to, CAUSE_PROOF_PROVEN, CAUSE_SOURCE_DAEMON);
	return false;
}

/* If more kills were counted than processes of the job were killed, some hit processes of others; where there are
 * such processes, all of them may have. */
static enum cause_proof proof_of_count(const struct cause_facts *f, const struct cause_count *c)
{
	return f->ends_are_seen && c->kills <= f->kills && !c->is_shared ? CAUSE_PROOF_PROVEN
	                                                                 : CAUSE_PROOF_LIKELY;
}

/* Killed by something: the nearest counter decides, and those further away count kills of others. */
static void infer_oom(const struct cause_facts *f, struct cause *to)
{
	if (f->group.is_known) {
		if (f->group.kills)
			set_oom(to, proof_of_count(f, &f->group), CAUSE_SOURCE_CGROUP);
	} else if (f->machine.is_known) {
		if (f->machine.kills)
			set_oom(to, CAUSE_PROOF_LIKELY, CAUSE_SOURCE_VMSTAT);
	} else if (f->is_full && f->kills) {
		set_oom(to, CAUSE_PROOF_LIKELY, CAUSE_SOURCE_LIMIT);
	}
}

static void judge_oom(const struct cause_facts *f, struct cause *to)
{
	if (!is_seen(f, to)) {
		if (f->sees_ooms || f->own.is_known || f->verdict.is_known ||
		    (f->ends_are_seen && !f->kills))
			return;
		infer_oom(f, to);
	}
	if (to->oom && f->after_kill_ns > SURVIVED_NS && f->signal != SIGKILL)
		to->oom = CAUSE_PROOF_SURVIVED;
	if (!to->oom || !f->is_full)
		return;
	to->oom_limit_bytes = f->limit_bytes;
	if (f->limit_group)
		snprintf(to->oom_group, sizeof to->oom_group, "%s", f->limit_group);
}

/* ---- the sender of a signal ------------------------------------------------------------------ */

/* A program that handles a signal ends by sending it to itself: what others sent counts more. */
static const struct cause_signal *find_sent(const struct cause_facts *f)
{
	const struct cause_signal *found = NULL;

	for (const struct cause_signal *s = f->sent; s < f->sent + f->n_sent; s++)
		if (s->number == f->signal && s->pid >= 0 &&
		    (!found || !s->is_from_itself || found->is_from_itself))
			found = s;
	return found;
}

static enum cause_sender kind_of(const struct cause_signal *s)
{
	if (s->pid > 0)
		return s->is_from_itself ? CAUSE_SENDER_ITSELF : CAUSE_SENDER_PROCESS;
	return s->number == SIGINT || s->number == SIGQUIT ? CAUSE_SENDER_TERMINAL
	                                                   : CAUSE_SENDER_KERNEL;
}

static void set_sender(const struct cause_signal *s, enum cause_source source, struct cause *to)
{
	to->sender = kind_of(s);
	to->sender_source = source;
	if (s->pid <= 0)
		return;
	to->sender_pid = s->pid;
	to->sender_uid = s->uid;
	memcpy(to->sender_comm, s->comm, sizeof to->sender_comm);
}

void cause_judge(const struct cause_facts *f, struct cause *ret)
{
	const struct cause_signal *sent = f->signal ? find_sent(f) : NULL;

	*ret = (struct cause){ 0 };
	judge_oom(f, ret);
	if (sent)
		set_sender(sent, f->sent_source, ret);
	else if (f->signal == SIGKILL && f->verdict.has_kill)
		set_sender(&f->verdict.kill, CAUSE_SOURCE_DAEMON, ret);
}
