/* SPDX-License-Identifier: MIT */
#include "analyze/process_history.h"

#define KIB 1024
/* CPU times from /proc advance in steps of 10 ms: over a shorter interval the ratio is noise. */
#define BUSY_STEP_NS NS_PER_S

static uint32_t to_ms(uint64_t boot_ns)
{
	return (uint32_t)(boot_ns / NS_PER_MS);
}

/* ---- one process ----------------------------------------------------------------------------- */

static void drop_old_marks(struct trail *t, uint32_t now_ms, uint32_t window_ms)
{
	while (t->len && now_ms - t->marks[t->first].at_ms > window_ms) {
		t->first = (uint8_t)((t->first + 1) % TRAIL_MARKS);
		t->len--;
	}
}

static const struct mark *last_mark(const struct trail *t)
{
	return &t->marks[(t->first + t->len - 1) % TRAIL_MARKS];
}

static void update_memory(struct trail *t, const struct proc_snap *p, uint64_t now_ns,
                          const struct anomaly_config *config)
{
	uint32_t now_ms = to_ms(now_ns), window_ms = to_ms(config->spike_window_ns);
	uint64_t rss_kib = readings_or(&p->s.r, PROC_RSS, 0) / KIB;

	drop_old_marks(t, now_ms, window_ms);
	if (!rss_kib || now_ns < t->settled_ns)
		return;
	if (t->len && now_ms - last_mark(t)->at_ms < MAX(window_ms / TRAIL_MARKS, 1u))
		return;
	if (t->len == TRAIL_MARKS) {
		t->first = (uint8_t)((t->first + 1) % TRAIL_MARKS);
		t->len--;
	}
	t->marks[(t->first + t->len++) % TRAIL_MARKS] = (struct mark){
		now_ms, (uint32_t)MIN(rss_kib, (uint64_t)UINT32_MAX)
	};
}

static void begin_step(struct trail *t, uint64_t now_ns, uint64_t cpu_ns)
{
	t->step_ns = now_ns;
	t->step_cpu_ns = cpu_ns;
}

/* A step below the threshold ends the busy period, and so does one with unknown CPU time. */
static void update_cpu(struct trail *t, const struct proc_snap *p, uint64_t now_ns,
                       const struct anomaly_config *config)
{
	uint64_t cpu_ns = readings_or(&p->s.r, PROC_CPU_TIME, 0);

	if (!readings_has(&p->s.r, PROC_CPU_TIME) || cpu_ns < t->step_cpu_ns) {
		t->step_ns = t->step_cpu_ns = t->busy_since_ns = 0;
		return;
	}
	if (!t->step_ns) {
		begin_step(t, now_ns, cpu_ns);
		return;
	}
	if (now_ns < t->step_ns + BUSY_STEP_NS)
		return;
	t->busy_ratio = (double)(cpu_ns - t->step_cpu_ns) / (double)(now_ns - t->step_ns);
	if (t->busy_ratio < config->runaway_cpu_ratio)
		t->busy_since_ns = 0;
	else if (!t->busy_since_ns)
		t->busy_since_ns = t->step_ns;
	begin_step(t, now_ns, cpu_ns);
}

static void update_state(struct trail *t, const struct proc_snap *p, uint64_t now_ns)
{
	if (p->s.state != 'Z')
		t->dead_since_ns = 0;
	else if (!t->dead_since_ns)
		t->dead_since_ns = now_ns;
}

static void update_threads(struct trail *t, const struct proc_snap *p, uint64_t now_ns)
{
	uint32_t threads = (uint32_t)readings_or(&p->s.r, PROC_THREADS, 0);

	if (!threads)
		return;
	if (!t->threads_ns || now_ns - t->threads_ns >= TRAIL_THREADS_NS) {
		t->threads = t->threads_ns ? t->later_threads : threads;
		t->threads_ns = now_ns;
		t->later_threads = threads;
	}
	t->threads = MIN(t->threads, threads);
	t->later_threads = MIN(t->later_threads, threads);
}

/* Only processes of jobs are reported as runaways or zombies. */
static void update_trail(struct trail *t, const struct proc_snap *p, uint64_t now_ns,
                         const struct anomaly_config *config)
{
	update_memory(t, p, now_ns, config);
	if (p->job < 0)
		return;
	update_cpu(t, p, now_ns, config);
	update_state(t, p, now_ns);
	update_threads(t, p, now_ns);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void drop_trail(struct process_history *h, uint32_t index)
{
	uint32_t *slot = vec_push(&h->free_trails, PROCS_MAX);

	if (slot)
		*slot = index;
}

static uint32_t new_trail(struct process_history *h, const struct proc_snap *p)
{
	uint32_t index = (uint32_t)h->trails.len;

	if (h->free_trails.len)
		index = h->free_trails.at[--h->free_trails.len];
	else
		(void)vec_push(&h->trails, SIZE_MAX);
	h->trails.at[index] = (struct trail){
		.id = p->s.id,
		.first_ppid = p->s.ppid,
		.settled_ns = p->s.id.start_ticks * NS_PER_TICK + TRAIL_SETTLE_NS,
	};
	return index;
}

/* Both are sorted by pid, so one walk pairs them. */
static void pair_all(struct process_history *h, const struct snapshot *snap,
                     const struct anomaly_config *config)
{
	const struct trail_index *old = &h->order;
	size_t i = 0;

	vec_reset(&h->next);
	(void)vec_reserve(&h->next, snap->procs.len, PROCS_MAX);
	vec_each(&snap->procs, p) {
		uint32_t index = UINT32_MAX;

		while (i < old->len && index == UINT32_MAX &&
		       h->trails.at[old->at[i]].id.pid <= p->s.id.pid) {
			if (proc_id_eq(h->trails.at[old->at[i]].id, p->s.id))
				index = old->at[i++];
			else
				drop_trail(h, old->at[i++]);
		}
		if (index == UINT32_MAX)
			index = new_trail(h, p);
		h->next.at[h->next.len++] = index;
		update_trail(&h->trails.at[index], p, snap->boot_ns, config);
	}
	while (i < old->len)
		drop_trail(h, old->at[i++]);
}

static struct trail *find_trail(struct process_history *h, const struct snapshot *snap,
                                struct proc_id id)
{
	const struct proc_snap *p = snapshot_find(snap, id.pid);

	if (!p || !proc_id_eq(p->s.id, id))
		return NULL;
	return &h->trails.at[h->order.at[p - snap->procs.at]];
}

/* The spawn event names the original parent, which may be gone at the first tick. After an exec the
 * process starts up again. */
static void apply_events(struct process_history *h, const struct snapshot *snap)
{
	vec_each(&snap->events, e) {
		struct trail *t = e->kind == EVENT_SPAWN || e->kind == EVENT_EXEC
		                          ? find_trail(h, snap, e->id)
		                          : NULL;

		if (!t)
			continue;
		if (e->kind == EVENT_SPAWN && e->ppid)
			t->first_ppid = e->ppid;
		if (e->kind == EVENT_EXEC) {
			t->len = 0;
			t->settled_ns = e->boot_ns + TRAIL_SETTLE_NS;
		}
	}
}

/* Frees memory after many processes have ended. */
static void shrink(struct process_history *h)
{
	VEC(struct trail) fewer = { 0 };

	if (h->trails.cap <= VEC_SMALL || h->order.len >= h->trails.cap / 4)
		return;
	(void)vec_reserve(&fewer, MAX(h->order.len * 2, (size_t)VEC_SMALL / 4), SIZE_MAX);
	vec_each(&h->order, index) {
		fewer.at[fewer.len] = h->trails.at[*index];
		*index = (uint32_t)fewer.len++;
	}
	free(h->trails.at);
	h->trails.at = fewer.at;
	h->trails.len = fewer.len;
	h->trails.cap = fewer.cap;
	vec_reset(&h->free_trails);
	vec_shrink(&h->free_trails);
	vec_shrink(&h->order);
	vec_reset(&h->next);
	vec_shrink(&h->next);
}

void process_history_feed(struct process_history *h, const struct snapshot *snap,
                          const struct anomaly_config *config)
{
	struct trail_index old = h->order;

	if (snap->events_only || !snap->procs.len)
		return;
	pair_all(h, snap, config);
	h->order = h->next;
	h->next = old;
	apply_events(h, snap);
	shrink(h);
}

void process_history_done(struct process_history *h)
{
	vec_done(&h->trails);
	vec_done(&h->order);
	vec_done(&h->next);
	vec_done(&h->free_trails);
}

const struct trail *process_history_trail(const struct process_history *h, size_t n)
{
	return &h->trails.at[h->order.at[n]];
}

bool process_history_earliest(const struct trail *t, uint64_t now_boot_ns, uint64_t *ret_rss_bytes,
                              uint64_t *ret_boot_ns)
{
	const struct mark *m = &t->marks[t->first];

	if (!t->len)
		return false;
	*ret_rss_bytes = (uint64_t)m->rss_kib * KIB;
	*ret_boot_ns = now_boot_ns - (uint64_t)(to_ms(now_boot_ns) - m->at_ms) * NS_PER_MS;
	return true;
}
