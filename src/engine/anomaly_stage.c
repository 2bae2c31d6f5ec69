/* SPDX-License-Identifier: MIT */
#include "engine/anomaly_stage.h"

#include "job/jobs.h"

#define EXAMINE_PAUSE 200 /* so many times as long as it took, no job is examined */
#define DISKS_EVERY_NS (2 * NS_PER_S)
#define DISKS_PATIENCE_NS (60 * NS_PER_S)
#define DISKS_HUNG_MAX 4

static struct text_ref add_text(struct snapshot *snap, const struct buf *text)
{
	struct text_ref ref = { (uint32_t)snap->text.len, (uint32_t)text->len };

	return buf_put(&snap->text, text->at, text->len) ? ref : (struct text_ref){ 0 };
}

static void describe(struct buf *to, const struct anomaly *a)
{
	if (a->news == ANOMALY_ENDED)
		buf_puts(to, "over: ");
	anomaly_describe(a, to);
	buf_printf(to, ", %s", anomaly_severity_name(a->severity));
}

static void add_event(struct snapshot *snap, const struct anomaly *a)
{
	cleanup(buf_done) struct buf text = { 0 };
	struct event *e = vec_push(&snap->events, EVENTS_MAX);

	if (!e)
		return;
	e->kind = EVENT_ANOMALY;
	e->boot_ns = snap->boot_ns;
	e->wall_ns = snap->wall_ns;
	e->id = a->id;
	memcpy(e->comm, a->comm, sizeof e->comm);
	e->job = a->job;
	e->sheet = a->sheet;
	if (a->news == ANOMALY_ENDED)
		e->count = (int64_t)(a->ended_wall_ns - a->began_wall_ns);
	buf_puts(&text, anomaly_kinds[a->kind].key);
	e->name = add_text(snap, &text);
	buf_reset(&text);
	describe(&text, a);
	e->text = add_text(snap, &text);
}

static void add_events(struct snapshot *snap)
{
	vec_each(&snap->anomalies, a)
		if (a->news == ANOMALY_BEGAN || a->news == ANOMALY_ENDED)
			add_event(snap, a);
}

/* Zombies wait for nothing any more. */
static void examine(struct anomaly_stage *stage, const struct snapshot *snap, size_t job)
{
	struct blocked_calls calls = { 0 };
	struct proc_ids members = { 0 };

	vec_each(&snap->procs, p) {
		struct proc_id *id = p->job == (int32_t)job && p->s.state != 'Z' &&
		                                     p->s.state != 'X'
		                             ? vec_push(&members.list, PROCS_MAX)
		                             : NULL;

		if (id)
			*id = p->s.id;
	}
	stage->list_calls(stage->list_self, members.list.at, members.list.len, &calls);
	job_history_take_calls(&stage->jobs, snap, job, &calls, members.list.len);
	vec_done(&calls.list);
	vec_done(&members.list);
}

/* On the loop's thread, and a user may have very many idle jobs: so one at a time, the one that was examined least
 * recently, and after each a pause. */
static void examine_next(struct anomaly_stage *stage, const struct snapshot *snap)
{
	const struct job_trail *oldest = NULL;
	uint64_t began_ns;
	size_t at = 0;

	if (!stage->list_calls || snap->boot_ns < stage->examines_again_ns)
		return;
	for (size_t i = 0; i < snap->jobs.len; i++) {
		const struct job_trail *t = job_history_trail(&stage->jobs, (int32_t)i);

		if (!job_history_wants_calls(&stage->jobs, snap, i) ||
		    (oldest && oldest->examined_ns <= t->examined_ns))
			continue;
		oldest = t;
		at = i;
	}
	if (!oldest)
		return;
	began_ns = stage->clock_ns();
	examine(stage, snap, at);
	stage->examines_again_ns = snap->boot_ns + EXAMINE_PAUSE * (stage->clock_ns() - began_ns);
}

static void take_disks(struct anomaly_stage *stage, const struct snapshot *snap)
{
	vec_each(written_disks_found(stage->search), use)
		job_history_take_disk(&stage->jobs, snap, use);
	written_disks_free(TAKE_PTR(stage->search));
}

static void search_disks(struct anomaly_stage *stage, const struct snapshot *snap)
{
	struct written_disks_process processes[WRITTEN_DISKS_PROCESSES];
	size_t n = 0;

	vec_each(&snap->procs, p)
		if (p->job >= 0 && (size_t)p->job < snap->jobs.len && p->s.state != 'Z' &&
		    n < WRITTEN_DISKS_PROCESSES)
			processes[n++] = (struct written_disks_process){
				p->s.id.pid, snap->jobs.at[p->job].handle
			};
	if (n)
		stage->search = written_disks_ask(stage->root_fd, processes, n);
}

/* Each search is done by the next tick, unless it hangs. A few that do are left behind. */
static void watch_disks(struct anomaly_stage *stage, const struct snapshot *snap)
{
	if (!stage->root_fd)
		return;
	if (stage->search && written_disks_is_done(stage->search))
		take_disks(stage, snap);
	if (!stage->searched_ns) /* a short job needs none */
		stage->searched_ns = snap->boot_ns;
	if (stage->search && snap->boot_ns - stage->searched_ns >= DISKS_PATIENCE_NS) {
		written_disks_free(TAKE_PTR(stage->search));
		stage->n_hung++;
	}
	if (stage->search || stage->n_hung >= DISKS_HUNG_MAX ||
	    snap->boot_ns - stage->searched_ns < DISKS_EVERY_NS)
		return;
	stage->searched_ns = snap->boot_ns;
	search_disks(stage, snap);
}

static void detect(struct anomaly_stage *stage, struct snapshot *snap,
                   const struct type_history *const *past)
{
	const struct anomaly_input in = { .snap = snap,
		                          .config = &stage->config,
		                          .processes = &stage->processes,
		                          .jobs = &stage->jobs,
		                          .owns_group = stage->owns_group };

	process_history_feed(&stage->processes, snap, &stage->config);
	job_history_feed(&stage->jobs, snap, past, stage->owns_group);
	examine_next(stage, snap);
	watch_disks(stage, snap);
	anomaly_rules_apply(&in, &stage->findings);
	anomaly_episodes_feed(&stage->episodes, &stage->findings, snap, &snap->anomalies);
}

void anomaly_stage_run(struct anomaly_stage *stage, struct snapshot *snap,
                       const struct type_history *const *past)
{
	if (snap->is_last)
		anomaly_episodes_end(&stage->episodes, snap, &snap->anomalies);
	else if (!snap->events_only && stage->config.spike_factor > 0)
		detect(stage, snap, past);
	add_events(snap);
}

void anomaly_stage_done(struct anomaly_stage *stage)
{
	written_disks_free(TAKE_PTR(stage->search));
	process_history_done(&stage->processes);
	job_history_done(&stage->jobs);
	vec_done(&stage->findings);
	anomaly_episodes_done(&stage->episodes);
}
