/* SPDX-License-Identifier: MIT */
#include "view/snapshot_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "view/format.h"
#include "view/table.h"

static const char *const sort_names[] = {
	[SORT_SHARE] = "share",
	[SORT_CPU] = "cpu",
	[SORT_RSS] = "rss",
	[SORT_PID] = "pid",
};

bool snapshot_sort_parse(const char *name, enum snapshot_sort *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(sort_names); i++)
		if (strcmp(name, sort_names[i]) == 0) {
			*ret = (enum snapshot_sort)i;
			return true;
		}
	return false;
}

/* A process and what it is sorted by: larger first, then the lower pid. */
struct ranked {
	const struct proc_snap *p;
	double rank;
	enum ink cpu_ink, rss_ink; /* the figure that put it here stands out */
};

static int by_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->rank < y->rank || x->rank > y->rank)
		return x->rank < y->rank ? 1 : -1;
	return (x->p->s.id.pid > y->p->s.id.pid) - (x->p->s.id.pid < y->p->s.id.pid);
}

static struct ranked rank(const struct snapshot *snap, const struct snapshot_view *view,
                          const struct proc_snap *p)
{
	double cpu = isfinite(p->cpu_ratio) ? p->cpu_ratio : 0;
	double rss = (double)readings_or(&p->s.r, PROC_RSS, 0);
	double memory = (double)readings_or(&snap->host, HOST_MEM_TOTAL, 0);
	double cpu_share = cpu / (view->cores ? view->cores : 1),
	       rss_share = memory > 0 ? rss / memory : 0;

	switch (view->sort) {
	case SORT_CPU:
		return (struct ranked){ p, cpu, INK_STRONG, INK_PLAIN };
	case SORT_RSS:
		return (struct ranked){ p, rss, INK_PLAIN, INK_STRONG };
	case SORT_SHARE:
		if (cpu_share > rss_share)
			return (struct ranked){ p, cpu_share, INK_STRONG, INK_PLAIN };
		return (struct ranked){ p, rss_share, INK_PLAIN,
			                rss_share > 0 ? INK_STRONG : INK_PLAIN };
	case SORT_PID:
		break;
	}
	return (struct ranked){ p, 0, INK_PLAIN, INK_PLAIN };
}

/* What is least missed goes first when the terminal is narrow. */
static const struct table_column columns[] = {
	{ "PID", TABLE_RIGHT },
	{ "USER", TABLE_LEFT, 3 },
	{ "CPU%", TABLE_RIGHT },
	{ "RSS", TABLE_RIGHT },
	{ "PSS", TABLE_RIGHT, 8 },
	{ "THR", TABLE_RIGHT, 6 },
	{ "FDS", TABLE_RIGHT, 7 },
	{ "READ/s", TABLE_RIGHT, 4 },
	{ "WRITE/s", TABLE_RIGHT, 5 },
	{ "AGE", TABLE_RIGHT, 2 },
	{ "COMMAND", TABLE_LEFT, .min_width = 24 },
};

static void add_bytes(struct table *t, const struct proc_readings *r, enum proc_metric id,
                      enum ink ink)
{
	table_add_figure(t, readings_has(r, id) ? format_bytes_short(r->value[id]).at : NULL, ink);
}

static void add_count(struct table *t, const struct proc_readings *r, enum proc_metric id)
{
	table_add_figure(t, readings_has(r, id) ? format_count(r->value[id]).at : NULL, INK_PLAIN);
}

static void add_number(struct table *t, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof text, "%ju", (uintmax_t)n);
	table_add(t, text, INK_PLAIN);
}

static void add_user(struct table *t, const struct snapshot_view *view, uint32_t uid)
{
	const char *name = view->user_name ? view->user_name(view->self, uid) : NULL;

	if (name)
		table_addn(t, name, strnlen(name, 12), INK_PLAIN);
	else
		add_number(t, uid);
}

static void add_command(struct table *t, const struct snapshot *snap, const struct proc_snap *p)
{
	if (p->s.command.len)
		table_addn(t, snapshot_text(snap, p->s.command), p->s.command.len, INK_PLAIN);
	else
		table_addn(t, p->s.comm, strnlen(p->s.comm, sizeof p->s.comm), INK_PLAIN);
}

static void add_process(struct table *t, const struct snapshot *snap,
                        const struct snapshot_view *view, const struct ranked *ranked)
{
	const struct proc_snap *p = ranked->p;
	const struct proc_readings *r = &p->s.r;

	add_number(t, (uint64_t)p->s.id.pid);
	add_user(t, view, p->s.uid);
	table_add_figure(t, format_percent_bare(p->cpu_ratio).at, ranked->cpu_ink);
	add_bytes(t, r, PROC_RSS, ranked->rss_ink);
	add_bytes(t, r, PROC_PSS, INK_PLAIN);
	add_count(t, r, PROC_THREADS);
	add_count(t, r, PROC_FDS);
	table_add_figure(t, format_rate_short(p->read_bytes_per_s).at, INK_PLAIN);
	table_add_figure(t, format_rate_short(p->write_bytes_per_s).at, INK_PLAIN);
	table_add_figure(t, p->s.id.start_ticks ? format_duration_short(p->age_ns).at : NULL,
	                 INK_PLAIN);
	add_command(t, snap, p);
}

static void put_rest(const struct snapshot *snap, const struct snapshot_view *view,
                     struct canvas *to)
{
	static const char *const orders[] = {
		[SORT_SHARE] = "by their share of CPU or memory",
		[SORT_CPU] = "by CPU",
		[SORT_RSS] = "by resident memory",
		[SORT_PID] = "by pid",
	};

	if (view->top >= snap->procs.len)
		return;
	canvas_newline(to);
	canvas_printf(to, INK_QUIET, "%s of %s processes, %s; --all shows the rest",
	              format_count(view->top).at, format_count(snap->procs.len).at,
	              orders[view->sort]);
	canvas_newline(to);
}

static void put_processes(const struct snapshot *snap, const struct snapshot_view *view,
                          struct canvas *to)
{
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns) };
	cleanup(freep) struct ranked *ranked = xcalloc(MAX(snap->procs.len, (size_t)1),
	                                               sizeof *ranked);
	size_t n = 0;

	vec_each(&snap->procs, p)
		ranked[n++] = rank(snap, view, p);
	qsort(ranked, n, sizeof *ranked, by_rank);
	for (size_t i = 0; i < MIN(n, view->top); i++)
		add_process(&t, snap, view, &ranked[i]);
	table_print(&t, to);
	table_done(&t);
}

void snapshot_view_put(const struct snapshot *snap, const struct snapshot_view *view,
                       struct canvas *to)
{
	snapshot_head_put(snap, view, to);
	canvas_newline(to);
	put_processes(snap, view, to);
	put_rest(snap, view, to);
}
