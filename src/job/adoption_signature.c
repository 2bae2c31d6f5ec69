/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/hash.h"
#include "base/clock.h"
#include "job/signature.h"
#include "job/adoption_self.h"

#define PARTS_MAX 16      /* of one environment; what is behind is not looked at */
#define OVERLAP_BYTES 256 /* of two parts: an entry that counts is whole in one of them */
#define YOUNG_NS (2 * NS_PER_S)

static_assert(OVERLAP_BYTES > sizeof(SIGNATURE_VARIABLE) + JOB_ID_MAX, "an entry fits into both");

/* ---- by environment -------------------------------------------------------------------------- */

static uint64_t hash_id(const char *id)
{
	return hash_bytes(HASH_SEED, id, strlen(id)) | 1;
}

/* A part of an environment; what was cut at its begin and end is whole in the parts around. */
static bool find_id(const struct process_request *q, uint64_t *ret_hash)
{
	struct scan text = q->text[PROCESS_ENVIRON], cut;
	char id[JOB_ID_MAX];

	if (q->offset)
		(void)scan_until(&text, '\0', &cut);
	if (!signature_environ(text, id))
		return false;
	*ret_hash = hash_id(id);
	return true;
}

/* In the middle of an exec the environment is empty. */
static bool is_between_programs(const struct look *l, const struct proc_sample *p,
                                const struct process_request *q)
{
	uint64_t began_ns = p->id.start_ticks * NS_PER_TICK;

	return !q->error && !q->errors[PROCESS_ENVIRON] && scan_at_end(&q->text[PROCESS_ENVIRON]) &&
	       l->s->boot_ns < began_ns + YOUNG_NS;
}

void look_at_environ(struct look *l, const struct proc_sample *p, struct note *note)
{
	struct process_request q = { .pid = p->id.pid, .files = 1U << PROCESS_ENVIRON };

	for (unsigned part = 0; part < PARTS_MAX; part++) {
		process_reader_read(l->st->reader, &q, 1);
		l->st->reads++;
		l->reads_left -= l->reads_left > 0;
		if (part == 0 && is_between_programs(l, p, &q))
			return;
		size_t len = scan_left(&q.text[PROCESS_ENVIRON]);
		if (!len || find_id(&q, &note->id_hash) || len < PROCESS_TEXT_MAX)
			break;
		q.offset += PROCESS_TEXT_MAX - OVERLAP_BYTES;
	}
	note->environ_is_known = true;
}

/* ---- by what a process shows ----------------------------------------------------------------- */

/* Who stands above a job's first process, or speaks for the job, may well name it, and starts more
 * than this job. */
static bool is_above(const struct look *l, const struct proc_sample *p, size_t job)
{
	const struct claim *c = &l->st->claims.at[job];
	pid_t pid = c->root.pid;

	if (p->id.pid == c->registrar)
		return true;
	for (int i = 0; pid > 1 && i < 256; i++) {
		const struct proc_sample *up = sample_find_proc(l->s, pid);

		if (!up || up->id.pid == p->id.pid)
			return up != NULL;
		pid = up->ppid;
	}
	return false;
}

static bool may_take(const struct look *l, const struct proc_sample *p, size_t job)
{
	return look_is_open(l, job) && l->t->jobs.at[job].uid == p->uid && !is_above(l, p, job);
}

static int32_t find_by_environ(const struct look *l, const struct proc_sample *p,
                               const struct note *note)
{
	for (size_t i = 0; note->id_hash && i < look_claims(l); i++) {
		struct claim *c = &l->st->claims.at[i];

		if (!c->id_hash)
			c->id_hash = hash_id(l->t->jobs.at[i].id);
		if (c->id_hash == note->id_hash && may_take(l, p, i))
			return (int32_t)i;
	}
	return -1;
}

/* Of several the longest: a workspace may be within another. */
static int32_t find_by_workspace(const struct look *l, const struct proc_sample *p,
                                 struct note *note)
{
	struct scan command = scan_mem(l->s->text.at + p->command.at, p->command.len);
	int32_t best = -1;
	size_t longest = 0;

	for (size_t i = 0; note->serial < l->st->serial && i < look_claims(l); i++) {
		const struct claim *c = &l->st->claims.at[i];

		if (c->serial <= note->serial || !c->workspace || strlen(c->workspace) <= longest ||
		    !signature_workspace(command, c->workspace) || !may_take(l, p, i))
			continue;
		best = (int32_t)i;
		longest = strlen(c->workspace);
	}
	note->serial = l->st->serial;
	return best;
}

int32_t look_for_sign(const struct look *l, const struct proc_sample *p, struct note *note)
{
	int32_t job = find_by_environ(l, p, note);

	return job < 0 ? find_by_workspace(l, p, note) : job;
}
