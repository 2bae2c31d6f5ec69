/* SPDX-License-Identifier: MIT */
#include "view/snapshot_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "view/label_lines.h"
#include "view/format.h"
#include "view/table.h"

#define BAR_COLUMNS 60 /* a narrower terminal has no bars */

static const char *const sort_names[] = {
	[SORT_SHARE] = "share",
	[SORT_CPU] = "cpu",
	[SORT_RSS] = "rss",
	[SORT_PID] = "pid",
};

bool snapshot_view_parse_sort(const char *name, enum snapshot_sort *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(sort_names); i++)
		if (strcmp(name, sort_names[i]) == 0) {
			*ret = (enum snapshot_sort)i;
			return true;
		}
	return false;
}

/* ---- the machine ----------------------------------------------------------------------------- */

static void put_title(const struct snapshot *snap, const struct snapshot_view *view,
                      struct canvas *to)
{
	struct label_lines f = { .indent = 2, .label_columns = 11 };

	label_lines_begin_head(&f, view->host ? view->host : "this machine", "");
	label_lines_part(&f, "%s", format_time(snap->wall_ns).at);
	label_lines_part(&f, "up %s", format_duration(snap->boot_ns).at);
	if (view->kernel)
		label_lines_part(&f, "Linux %.32s", view->kernel);
	label_lines_print(&f, to);
	label_lines_done(&f);
}

/* "██████░░░░  ", where there is room for it. */
static struct fmt bar(double ratio, const struct canvas *to)
{
	struct fmt text = { "" };

	if (to->width >= BAR_COLUMNS)
		snprintf(text.at, sizeof text.at, "%.36s  ", format_bar(ratio, to->unicode).at);
	return text;
}

static void put_cpu(struct label_lines *f, const struct snapshot *snap,
                    const struct snapshot_view *view, const struct canvas *to)
{
	const struct host_readings *h = &snap->host;
	char cores[32] = "";

	label_lines_begin(f, "cpu", "");
	if (view->cores)
		snprintf(cores, sizeof cores, " of %u core%s", view->cores,
		         view->cores == 1 ? "" : "s");
	if (isfinite(snap->cpu_busy_ratio))
		label_lines_join(f, LABEL_WHOLE, "%s%s busy%s", bar(snap->cpu_busy_ratio, to).at,
		                 format_percent(snap->cpu_busy_ratio).at, cores);
	if (readings_has(h, HOST_LOAD_1) && readings_has(h, HOST_LOAD_5) &&
	    readings_has(h, HOST_LOAD_15))
		label_lines_part(f, "load %s %s %s", format_milli(h->value[HOST_LOAD_1], 2).at,
		                 format_milli(h->value[HOST_LOAD_5], 2).at,
		                 format_milli(h->value[HOST_LOAD_15], 2).at);
	/* These two are shown only when they are not 0. */
	if (snap->cpu_iowait_ratio >= 0.0005)
		label_lines_part(f, "iowait %s", format_percent(snap->cpu_iowait_ratio).at);
	if (snap->cpu_steal_ratio >= 0.0005)
		label_lines_part(f, "steal %s", format_percent(snap->cpu_steal_ratio).at);
	label_lines_unless_any(f, "not known");
}

static void put_memory(struct label_lines *f, const struct host_readings *h,
                       const struct canvas *to)
{
	uint64_t used = readings_or(h, HOST_MEM_USED, 0), total = readings_or(h, HOST_MEM_TOTAL, 0);
	uint64_t swap = readings_or(h, HOST_SWAP_TOTAL, 0);

	label_lines_begin(f, "memory", "");
	if (readings_has(h, HOST_MEM_USED) && total)
		label_lines_join(f, LABEL_WHOLE, "%s%s used",
		                 bar((double)used / (double)total, to).at,
		                 format_bytes_of(used, total).at);
	if (readings_has(h, HOST_MEM_AVAILABLE))
		label_lines_part(f, "%s available", format_bytes(h->value[HOST_MEM_AVAILABLE]).at);
	if (readings_has(h, HOST_SWAP_TOTAL) && !swap)
		label_lines_part(f, "no swap");
	else if (swap && readings_or(h, HOST_SWAP_FREE, UINT64_MAX) <= swap)
		label_lines_part(f, "swap %s",
		                 format_bytes_of(swap - h->value[HOST_SWAP_FREE], swap).at);
	label_lines_unless_any(f, "not known");
}

static void put_stalls(struct label_lines *f, const struct snapshot *snap)
{
	label_lines_begin(f, "stalls", "");
	if (isfinite(snap->psi_cpu_ratio) || isfinite(snap->psi_mem_ratio) ||
	    isfinite(snap->psi_io_ratio)) {
		label_lines_part(f, "cpu %s", format_percent(snap->psi_cpu_ratio).at);
		label_lines_part(f, "memory %s", format_percent(snap->psi_mem_ratio).at);
		label_lines_part(f, "io %s", format_percent(snap->psi_io_ratio).at);
		label_lines_join(f, LABEL_ASIDE,
		                 "(PSI: share of the time in which some task waited)");
	}
	label_lines_unless_any(f, "not known (this kernel has no PSI)");
}

/* The control group this program runs in: what a container or a unit allows. */
static void put_limits(struct label_lines *f, const struct cgroup_readings *g)
{
	label_lines_begin(f, "limits", "");
	if (readings_has(g, CGROUP_CPU_LIMIT))
		label_lines_part(f, "%s cores", format_milli(g->value[CGROUP_CPU_LIMIT], 1).at);
	if (readings_has(g, CGROUP_MEM_LIMIT) && readings_has(g, CGROUP_MEM_LIMIT_USED)) {
		label_lines_part(
			f, "memory %s",
			format_bytes_of(g->value[CGROUP_MEM_LIMIT_USED], g->value[CGROUP_MEM_LIMIT])
				.at);
		label_lines_join(f, LABEL_WORD, "in use");
	} else if (readings_has(g, CGROUP_MEM_LIMIT)) {
		label_lines_part(f, "memory %s", format_bytes(g->value[CGROUP_MEM_LIMIT]).at);
	}
	if (readings_has(g, CGROUP_PIDS_LIMIT) && readings_has(g, CGROUP_PIDS_LIMIT_USED))
		label_lines_part(f, "%s of %s tasks",
		                 format_count(g->value[CGROUP_PIDS_LIMIT_USED]).at,
		                 format_count(g->value[CGROUP_PIDS_LIMIT]).at);
	else if (readings_has(g, CGROUP_PIDS_LIMIT))
		label_lines_part(f, "%s tasks", format_count(g->value[CGROUP_PIDS_LIMIT]).at);
	label_lines_unless_any(f, g->present ? "none in this control group" : "not known");
}

static void put_gpu(struct label_lines *f, const struct gpu_sample *gpu, const struct canvas *to)
{
	const struct gpu_readings *r = &gpu->r;
	double busy = (double)readings_or(r, GPU_UTIL, 0) / 100;
	char label[24], reasons[200];

	snprintf(label, sizeof label, "gpu %u", gpu->index);
	label_lines_begin(f, label, "");
	if (readings_has(r, GPU_UTIL))
		label_lines_join(f, LABEL_WHOLE, "%s%s%s busy", bar(busy, to).at,
		                 gpu->at_least >> GPU_UTIL & 1 ? "at least " : "",
		                 format_percent(busy).at);
	if (readings_has(r, GPU_MEM_USED) && readings_has(r, GPU_MEM_TOTAL))
		label_lines_part(
			f, "%s used",
			format_bytes_of(r->value[GPU_MEM_USED], r->value[GPU_MEM_TOTAL]).at);
	else if (readings_has(r, GPU_MEM_USED))
		label_lines_part(f, "%s%s used",
		                 gpu->at_least >> GPU_MEM_USED & 1 ? "at least " : "",
		                 format_bytes(r->value[GPU_MEM_USED]).at);
	if (readings_has(r, GPU_TEMPERATURE))
		label_lines_part(f, "%ju %s", (uintmax_t)r->value[GPU_TEMPERATURE],
		                 to->unicode ? "°C" : "C");
	if (readings_has(r, GPU_POWER))
		label_lines_part(f, "%s W", format_milli(r->value[GPU_POWER], 0).at);
	if (!r->present)
		label_lines_part(f, "%s", gpu->bus[0] ? "no figures" : "does not answer");
	if (gpu->health.throttle) {
		gpu_throttle_words(gpu->health.throttle, reasons, sizeof reasons);
		label_lines_part(f, "throttled: %s", reasons);
	}
	if (*gpu->name)
		label_lines_part(f, "%s", gpu->name);
	label_lines_unless_any(f, "not known");
}

static void put_states(struct label_lines *f, const struct snapshot *snap)
{
	static const struct {
		const char *letters, *name;
	} kinds[] = {
		{ "R", "running" },  { "SI", "sleeping" }, { "D", "waiting for disk" },
		{ "Tt", "stopped" }, { "Z", "zombie" },    { "XxKWP", "ending" },
	};
	size_t count[ARRAY_LEN(kinds)] = { 0 };

	vec_each(&snap->procs, p)
		for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
			if (p->s.state && strchr(kinds[k].letters, p->s.state))
				count[k]++;
	label_lines_begin(f, "processes", "");
	label_lines_part(f, "%s", format_count(snap->procs.len).at);
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		if (count[k])
			label_lines_part(f, "%s %s", format_count(count[k]).at, kinds[k].name);
	if (!snap->procs_complete)
		label_lines_part(f, "(some are hidden from this user)");
}

static void put_machine(const struct snapshot *snap, const struct snapshot_view *view,
                        struct canvas *to)
{
	struct label_lines f = { .indent = 2, .label_columns = 11 };

	put_title(snap, view, to);
	put_cpu(&f, snap, view, to);
	put_memory(&f, &snap->host, to);
	put_stalls(&f, snap);
	put_limits(&f, &snap->cgroup);
	vec_each(&snap->gpus, gpu)
		put_gpu(&f, gpu, to);
	put_states(&f, snap);
	label_lines_print(&f, to);
	label_lines_done(&f);
}

/* ---- its processes --------------------------------------------------------------------------- */

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

/* The least important columns are dropped first when the terminal is narrow. */
static const struct table_column columns[] = {
	{ "PID", TABLE_RIGHT, .key = "pid" },
	{ "USER", TABLE_LEFT, 3, .key = "uid" },
	{ "CPU%", TABLE_RIGHT, .key = "cpu_percent" },
	{ "RSS", TABLE_RIGHT, .key = "rss_mb" },
	{ "PSS", TABLE_RIGHT, 8, .key = "pss_mb" },
	{ "THR", TABLE_RIGHT, 6, .key = "threads" },
	{ "FDS", TABLE_RIGHT, 7, .key = "open_fds" },
	{ "READ/s", TABLE_RIGHT, 4, .key = "read_bytes_per_s" },
	{ "WRITE/s", TABLE_RIGHT, 5, .key = "write_bytes_per_s" },
	{ "AGE", TABLE_RIGHT, 2, .key = "age_seconds" },
	{ "COMMAND", TABLE_LEFT, .min_width = 20, .key = "command" },
};
const struct table_columns snapshot_view_columns = TABLE_COLUMNS(columns);

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
		table_addn(t, snapshot_string(snap, p->s.command), p->s.command.len, INK_PLAIN);
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

	cleanup(buf_done) struct buf text = { 0 };

	if (view->top >= snap->procs.len)
		return;
	canvas_newline(to);
	buf_printf(&text, "%s of %s processes, %s; --all shows the rest",
	           format_count(view->top).at, format_count(snap->procs.len).at,
	           orders[view->sort]);
	table_print_prose(to, text.at, INK_QUIET, 0);
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
	put_machine(snap, view, to);
	canvas_newline(to);
	put_processes(snap, view, to);
	put_rest(snap, view, to);
}
