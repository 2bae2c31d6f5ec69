/* SPDX-License-Identifier: MIT */
#include "job/flight_account.h"

#include <sys/wait.h>

#define PROCESSES_MAX ((size_t)1 << 14)
#define PROCESS_CALLS_MAX ((size_t)1 << 16)
/* The threads of a process end one after the other. */
#define KEPT_NS (2 * NS_PER_S)

void flight_account_done(struct flight_account *a)
{
	vec_each(&a->processes, p)
		vec_done(&p->calls);
	vec_done(&a->processes);
}

static enum flight_end end_of(const struct flight_piece *piece)
{
	if (!piece->wait_status)
		return FLIGHT_RUNNING;
	return WIFSIGNALED(piece->wait_status) ? FLIGHT_SIGNAL : FLIGHT_STATUS;
}

static struct flight_process *get_process(struct flight_account *a, job_handle job,
                                          const struct flight_piece *piece)
{
	struct flight_process *p;

	for (size_t i = a->processes.len; i-- > 0;)
		if (proc_key(a->processes.at[i].id) == proc_key(piece->id))
			return &a->processes.at[i];
	p = vec_push(&a->processes, PROCESSES_MAX);
	if (p)
		*p = (struct flight_process){
			.id = piece->id, .job = job, .keep = piece->keep, .end = end_of(piece)
		};
	return p;
}

/* One that still ran and ended since is reported again, with all its last calls. */
static void renew(struct flight_process *p, enum flight_end end)
{
	vec_reset(&p->calls);
	p->end = end;
	p->seen_boot_ns = 0;
	p->has_lost = p->is_left_out = false;
}

/* The (FLIGHT_KEPT_FIRST + 1)-th of more than FLIGHT_KEPT gives way to the new one. */
static void make_room(struct flight_account *a, const struct flight_process *fresh)
{
	struct flight_process *victim = NULL;
	size_t n = 0;

	vec_each(&a->processes, p) {
		if (p->job != fresh->job || p->end != fresh->end || p->is_left_out)
			continue;
		if (n++ == FLIGHT_KEPT_FIRST)
			victim = p;
	}
	if (n <= FLIGHT_KEPT)
		return;
	victim->is_left_out = victim->has_changed = true;
	vec_done(&victim->calls);
}

void flight_account_take(struct flight_account *a, const struct job_roster *jobs,
                         const struct sample *s)
{
	vec_each(&s->flights, piece) {
		job_handle job = job_roster_find(jobs, piece->id).job;
		struct flight_process *p = job >= 0 ? get_process(a, job, piece) : NULL;

		if (p && p->end == FLIGHT_RUNNING && piece->wait_status)
			renew(p, end_of(piece));
		if (!p || p->is_left_out || (!piece->wait_status && p->end != FLIGHT_RUNNING))
			continue;
		for (uint32_t i = 0; i < piece->len; i++) {
			struct flight_call *c = vec_push(&p->calls, PROCESS_CALLS_MAX);

			if (c)
				*c = s->flight_calls.at[piece->at + i];
		}
		if (!p->seen_boot_ns)
			make_room(a, p);
		p->seen_boot_ns = s->boot_ns;
		p->has_lost |= piece->has_lost;
		p->has_changed = true;
	}
}

static void show_process(struct flight_process *p, int32_t job, struct snapshot *snap)
{
	struct flight *f = vec_push(&snap->flights, PROCESSES_MAX);
	struct json j = { .out = &snap->text };

	if (!f)
		return;
	*f = (struct flight){ .job = job, .id = p->id, .calls = { (uint32_t)snap->text.len, 0 } };
	if (p->is_left_out)
		return;
	p->calls.len = flight_keep(p->calls.at, p->calls.len, p->keep);
	flight_json(&j, p->calls.at, p->calls.len, p->has_lost, snap->wall_ns - snap->boot_ns);
	f->calls.len = (uint32_t)snap->text.len - f->calls.at;
}

void flight_account_show(struct flight_account *a, const struct job_roster *jobs,
                         struct snapshot *snap)
{
	size_t kept = 0;

	vec_each(&a->processes, p) {
		int32_t job = job_roster_index(jobs, p->job);

		if (job >= 0 && p->has_changed)
			show_process(p, job, snap);
		p->has_changed = false;
		/* Those that are kept are remembered, without their calls. */
		if (job < 0 || p->is_left_out || p->seen_boot_ns + KEPT_NS < snap->boot_ns)
			vec_done(&p->calls);
		if (job >= 0 && !p->is_left_out)
			a->processes.at[kept++] = *p;
	}
	a->processes.len = kept;
}
