/* SPDX-License-Identifier: MIT */
#include "job/sheet_account.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"

#define TOTALS_WAIT_NS (30 * NS_PER_S) /* those of a zombie come when it is reaped */
/* Each CPU counts a few pages of its own: so much more is a new peak. */
#define PEAK_NOISE_BYTES ((uint64_t)1 << 20)
#define WAITED_NOISE_NS (2 * NS_PER_TICK) /* /proc has whole ticks, of two counters */

void sheet_accounts_done(struct sheet_accounts *t)
{
	vec_done(t);
}

static struct sheet_account *find(struct sheet_accounts *t, uint32_t num, struct proc_id id)
{
	vec_each(t, a)
		if (a->num == num && proc_id_eq(a->id, id))
			return a;
	return NULL;
}

static void take_memory(struct sheet_account *a, const struct proc_readings *r)
{
	a->peak_bytes = MAX(a->peak_bytes, readings_or(r, PROC_RSS, 0));
}

/* Counters that this source does not have stay as they were read before. */
static void take_counters(struct sheet_account *a, const struct proc_readings *r)
{
	for (unsigned i = 0; i < PROC_METRIC_COUNT; i++)
		if (readings_has(r, i))
			readings_set(&a->now, i, r->value[i]);
}

static struct sheet_account *add(struct sheet_accounts *t, uint32_t num, struct proc_id id,
                                 const struct proc_readings *at, uint64_t now_boot_ns)
{
	struct sheet_account *a = vec_push(t, SHEETS_MAX);

	if (!a)
		return NULL;
	*a = (struct sheet_account){ .num = num,
		                     .id = id,
		                     .begin_boot_ns = now_boot_ns,
		                     .max_cpu_ratio = (double)NAN,
		                     .lack = at ? SHEET_LACKS_NOTHING : SHEET_LACKS_UNREAD };
	if (!at)
		return a;
	a->begin = a->now = *at;
	take_memory(a, at);
	return a;
}

static void forget_sheet(struct sheet_accounts *t, uint32_t num)
{
	size_t kept = 0;

	vec_each(t, a)
		if (a->num != num)
			t->at[kept++] = *a;
	t->len = kept;
}

bool sheet_accounts_overlap(struct sheet_accounts *t, struct proc_id opener)
{
	bool overlaps = false;

	vec_each(t, a) {
		if (a->closed_boot_ns || a->is_joined || !proc_id_eq(a->id, opener))
			continue;
		a->lack = SHEET_LACKS_OVERLAP;
		overlaps = true;
	}
	return overlaps;
}

struct sheet_account *sheet_accounts_begin(struct sheet_accounts *t, uint32_t num,
                                           struct proc_id opener, const struct proc_readings *at,
                                           uint64_t now_boot_ns)
{
	struct sheet_account *a;
	bool overlaps;

	forget_sheet(t, num); /* an earlier attempt */
	overlaps = sheet_accounts_overlap(t, opener);
	a = add(t, num, opener, at, now_boot_ns);
	if (a && overlaps)
		a->lack = SHEET_LACKS_OVERLAP;
	return a;
}

void sheet_accounts_join(struct sheet_accounts *t, uint32_t num, struct proc_id id,
                         const struct proc_readings *at, uint64_t now_boot_ns)
{
	struct sheet_account *a = find(t, num, id) ? NULL : add(t, num, id, at, now_boot_ns);

	if (a)
		a->is_joined = true;
}

void sheet_accounts_find(struct sheet_accounts *t, const struct job_row *row,
                         const struct proc_snap *p, uint64_t now_boot_ns)
{
	const struct sheet *sheet = job_row_sheet(row, p->sheet);
	struct sheet_account *a;

	if (!sheet || sheet->status != JOB_RUNNING || find(t, p->sheet, p->s.id))
		return;
	a = add(t, p->sheet, p->s.id, &p->s.r, now_boot_ns);
	if (a)
		a->is_joined = a->is_late = true;
}

static uint64_t waited(const struct sheet_account *a)
{
	uint64_t begin_ns = a->waited_begin_ns + WAITED_NOISE_NS;

	return a->counts_waited ? a->waited_ns - MIN(a->waited_ns, begin_ns) : 0;
}

/* Over the whole sheet, however few ticks it saw. */
static void take_mean(struct sheet_account *a, uint64_t now_boot_ns)
{
	uint64_t begin_ns = readings_or(&a->begin, PROC_CPU_TIME, 0);
	uint64_t end_ns = readings_or(&a->now, PROC_CPU_TIME, 0);
	const struct figure cpu = { end_ns - MIN(end_ns, begin_ns) + waited(a), QUALITY_AT_LEAST };

	if (!a->is_late)
		a->max_cpu_ratio = fmax(
			a->max_cpu_ratio,
			sheet_use_mean_cpu(cpu, now_boot_ns - MIN(now_boot_ns, a->begin_boot_ns)));
}

void sheet_account_end(struct sheet_account *a, const struct proc_readings *at,
                       uint64_t now_boot_ns)
{
	if (a->closed_boot_ns)
		return;
	a->closed_boot_ns = MAX(now_boot_ns, (uint64_t)1);
	if (!at || a->is_final)
		return;
	take_counters(a, at);
	take_memory(a, at);
	take_mean(a, now_boot_ns);
	a->is_final = true;
}

void sheet_accounts_leave(struct sheet_accounts *t, struct proc_id id,
                          const struct proc_readings *at, uint64_t now_boot_ns)
{
	vec_each(t, a)
		if (proc_id_eq(a->id, id))
			sheet_account_end(a, at, now_boot_ns);
}

static void take_process(struct sheet_account *a, const struct proc_snap *p)
{
	take_counters(a, &p->s.r);
	take_memory(a, &p->s.r);
	a->waited_ns = MAX(a->waited_ns, p->s.waited_cpu_ns);
	if (a->is_sampled && p->cpu_ratio >= SHEET_USE_CPU_MIN)
		a->max_cpu_ratio = fmax(a->max_cpu_ratio, p->cpu_ratio);
	a->is_sampled = true;
}

static void take_end(struct sheet_account *a, const struct event *e)
{
	take_counters(a, &e->final);
	a->is_final = readings_has(&e->final, PROC_CPU_TIME);
	if (a->is_final)
		take_mean(a, e->boot_ns);
}

void sheet_accounts_take(struct sheet_accounts *t, const struct snapshot *snap)
{
	vec_each(t, a) {
		const struct proc_snap *p = snapshot_find(snap, a->id.pid);

		if (p && proc_id_eq(p->s.id, a->id) && !a->closed_boot_ns && !a->is_final)
			take_process(a, p);
	}
	vec_each(&snap->events, e)
		if (e->kind == EVENT_EXIT || e->kind == EVENT_TOTALS)
			vec_each(t, a)
				if (!a->is_final && proc_id_eq(e->id, a->id))
					take_end(a, e);
}

/* ---- the figures ----------------------------------------------------------------------------- */

static struct figure difference(const struct sheet_account *a, enum proc_metric id)
{
	uint64_t begin = a->begin.value[id], now = a->now.value[id];

	if (!readings_has(&a->begin, id) || !readings_has(&a->now, id))
		return (struct figure){ 0 };
	return (struct figure){ now - MIN(begin, now),
		                a->is_final && !a->is_late ? QUALITY_EXACT : QUALITY_AT_LEAST };
}

/* The kernel's mark is of the whole life: it counts if it rose within the sheet. */
static struct figure peak(const struct sheet_account *a)
{
	uint64_t mark = readings_or(&a->now, PROC_PEAK_RSS, 0);
	uint64_t before = readings_or(&a->begin, PROC_PEAK_RSS, UINT64_MAX - PEAK_NOISE_BYTES);
	uint64_t bytes = mark > before + PEAK_NOISE_BYTES ? MAX(mark, a->peak_bytes)
	                                                  : a->peak_bytes;

	return (struct figure){ bytes, bytes ? QUALITY_SAMPLED : QUALITY_MISSING };
}

static struct sheet_use use_of(const struct sheet_account *a)
{
	struct sheet_use use = {
		.figures = { [SHEET_FIGURE_CPU] = difference(a, PROC_CPU_TIME),
		             [SHEET_FIGURE_PEAK_RSS] = peak(a),
		             [SHEET_FIGURE_READ] = difference(a, PROC_READ_BYTES),
		             [SHEET_FIGURE_WRITTEN] = difference(a, PROC_WRITE_BYTES),
		             [SHEET_FIGURE_MINOR_FAULTS] = difference(a, PROC_MINOR_FAULTS),
		             [SHEET_FIGURE_MAJOR_FAULTS] = difference(a, PROC_MAJOR_FAULTS) },
		.max_cpu_ratio = a->max_cpu_ratio,
		.lack = a->lack,
		.waited_cpu_ns = waited(a),
	};

	if (a->has_before)
		sheet_use_add(&use, &a->before);
	return use;
}

static bool is_same(const struct sheet_use *a, const struct sheet_use *b)
{
	return !memcmp(a->figures, b->figures, sizeof a->figures) && a->lack == b->lack &&
	       a->waited_cpu_ns == b->waited_cpu_ns && a->processes == b->processes &&
	       (a->max_cpu_ratio == b->max_cpu_ratio ||
	        (isnan(a->max_cpu_ratio) && isnan(b->max_cpu_ratio)));
}

/* … of all its processes. The kernel adds to a process what the children read that it waited for, in all
 * their lives: of one that joined it is not known how much of that was before the sheet. */
static struct sheet_use use_of_all(const struct sheet_accounts *t,
                                   const struct sheet_account *first)
{
	struct sheet_use all = use_of(first);
	uint64_t processes = 1;

	vec_each(t, a) {
		struct sheet_use use;

		if (a->num != first->num || a == first)
			continue;
		use = use_of(a);
		sheet_use_add(&all, &use);
		processes++;
	}
	all.processes = MAX(processes, first->has_before ? first->before.processes : 0);
	vec_each(t, a)
		if (a->num == first->num && a->is_joined)
			all.figures[SHEET_FIGURE_READ] = all.figures[SHEET_FIGURE_WRITTEN] =
				(struct figure){ 0 };
	return all;
}

/* Nothing will be added to it. */
static bool is_settled(const struct sheet_account *a, uint64_t now_boot_ns)
{
	return a->closed_boot_ns &&
	       (a->is_final || now_boot_ns - a->closed_boot_ns >= TOTALS_WAIT_NS);
}

/* False: nothing will be added to the sheet. */
static bool settle(const struct sheet_accounts *t, const struct sheet_account *first,
                   struct job_row *row, uint64_t now_boot_ns)
{
	struct sheet *sheet = job_row_sheet(row, first->num);
	struct sheet_use use = use_of_all(t, first);
	bool waits = false;

	if (!sheet)
		return false;
	if (!is_same(&sheet->own, &use)) {
		sheet->own = use;
		sheet->is_shown = false;
		row->has_news = true;
	}
	vec_each(t, a) {
		if (a->num != first->num)
			continue;
		if (sheet->status != JOB_RUNNING && !a->closed_boot_ns)
			a->closed_boot_ns = now_boot_ns; /* it was closed for it */
		waits |= !is_settled(a, now_boot_ns);
	}
	return waits;
}

/* Whether an account before it is of the same sheet. */
static bool is_first(const struct sheet_accounts *t, const struct sheet_account *a)
{
	for (const struct sheet_account *b = t->at; b < a; b++)
		if (b->num == a->num)
			return false;
	return true;
}

void sheet_accounts_settle(struct sheet_accounts *t, struct job_row *row, uint64_t now_boot_ns)
{
	for (size_t i = 0; i < t->len;)
		if (is_first(t, &t->at[i]) && !settle(t, &t->at[i], row, now_boot_ns))
			forget_sheet(t, t->at[i].num);
		else
			i++;
}
