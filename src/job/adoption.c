/* SPDX-License-Identifier: MIT */
#include "job/adoption.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "job/adoption_self.h"
#include "model/own_program.h"

#define READS_MAX 50 /* of environments at a tick */

struct adoption *adoption_new(int root_fd, struct process_reader *reader)
{
	struct adoption *st = xcalloc(1, sizeof *st);

	st->root_fd = root_fd;
	st->reader = reader;
	return st;
}

static void claim_done(struct claim *c)
{
	free(c->group);
	free(c->workspace);
}

void adoption_free(struct adoption *st)
{
	if (!st)
		return;
	vec_each(&st->claims, c)
		claim_done(c);
	vec_done(&st->claims);
	process_slots_done(&st->roster);
	vec_done(&st->notes);
	vec_done(&st->pids);
	free(st);
}

uint64_t adoption_reads(const struct adoption *st)
{
	return st->reads;
}

/* ---- claims ---------------------------------------------------------------------------------- */

static char *copy_of(const char *text)
{
	return text && *text ? xstrdup(text) : NULL;
}

/* A group that two jobs have is neither's. */
static void share_group(struct adoption *st, struct claim *c)
{
	vec_each(&st->claims, other) {
		if (other == c || !c->group || !other->group || strcmp(c->group, other->group) != 0)
			continue;
		free(TAKE_PTR(other->group));
		free(TAKE_PTR(c->group));
	}
}

void adoption_add(struct adoption *st, const struct adoption_claim *claim)
{
	struct claim *c = vec_push(&st->claims, JOBS_MAX);

	if (!c)
		return;
	*c = (struct claim){ .root = claim->root,
		             .registrar = claim->registrar,
		             .group = copy_of(claim->group),
		             .workspace = copy_of(claim->workspace),
		             .serial = ++st->serial };
	share_group(st, c);
}

void adoption_remove(struct adoption *st, int32_t job)
{
	size_t at = (size_t)job;

	if (at >= st->claims.len)
		return;
	claim_done(&st->claims.at[at]);
	memmove(&st->claims.at[at], &st->claims.at[at + 1],
	        (st->claims.len - at - 1) * sizeof *st->claims.at);
	st->claims.len--;
}

/* ---- one look -------------------------------------------------------------------------------- */

static bool is_anybodys(const struct look *l)
{
	for (size_t i = 0; i < look_claims(l); i++)
		if (look_is_open(l, i))
			return true;
	return false;
}

bool look_is_stranger(const struct look *l, const struct proc_sample *p)
{
	return p->state != 'Z' && p->state != 'X' && p->id.pid != l->self &&
	       !own_program_is_helper(p->comm) && jobtab_find(l->t, p->id).job < 0;
}

void look_take_in(struct look *l, const struct proc_sample *p, struct job_ref ref)
{
	members_add(l->m, l->t, p->id, ref);
	l->found = true;
}

static bool needs_environ(const struct look *l, const struct proc_sample *p,
                          const struct note *note)
{
	bool is_kernels = readings_or(&p->r, PROC_VMS, 1) == 0;

	return !note->environ_is_known && !is_kernels && l->reads_left &&
	       p->id.pid >= l->st->next_pid;
}

/* A sign counts when there is none before it, so who was not asked yet must wait. Most were, and
 * showed none: they cost no more than this. */
static bool may_show_sign(const struct look *l, const struct note *note)
{
	return note->environ_is_known && (note->id_hash || note->serial < l->st->serial);
}

static void look_at(struct look *l, const struct proc_sample *p, struct note *note)
{
	struct job_ref ref;

	if (needs_environ(l, p, note)) {
		look_at_environ(l, p, note);
		if (!l->reads_left)
			l->st->next_pid = p->id.pid + 1;
	}
	ref = members_place(l->m, l->t, p->ppid);
	if (ref.job < 0 && may_show_sign(l, note))
		ref = (struct job_ref){ .job = look_for_sign(l, p, note) };
	if (ref.job >= 0)
		look_take_in(l, p, ref);
}

static void look_at_all(struct look *l)
{
	struct adoption *st = l->st;

	vec_each(&l->s->procs, p) {
		struct note *note = look_is_stranger(l, p) ? notes_see(st, p) : NULL;

		if (note)
			look_at(l, p, note);
	}
	if (l->reads_left)
		st->next_pid = 0;
	notes_end_scan(st);
}

bool adoption_look(struct adoption *st, const struct sample *s, struct jobtab *t, struct members *m)
{
	static const struct members_root nobody;
	struct look l = {
		.st = st, .s = s, .t = t, .m = m, .self = getpid(), .reads_left = READS_MAX
	};

	if (!is_anybodys(&l))
		return false;
	look_into_groups(&l);
	if (l.found)
		members_adopt(m, t, s, &nobody);
	notes_forget_programs(st, s);
	look_at_all(&l);
	if (l.found)
		members_adopt(m, t, s, &nobody);
	return l.found;
}
