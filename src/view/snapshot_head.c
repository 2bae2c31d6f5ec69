/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "view/format.h"
#include "view/snapshot_view.h"

#define BAR_COLUMNS 10

#define LABEL_COLUMNS 13

/* One labelled line. Its parts stand three blanks apart, so that each is one glance; what does not
 * fit goes below. */
struct line {
	struct canvas *to;
	size_t used; /* columns of the line so far */
	bool is_empty;
};

static struct line begin_line(const char *label, struct canvas *to)
{
	canvas_put(to, INK_PLAIN, "  ");
	canvas_printf(to, INK_LABEL, "%-*s", LABEL_COLUMNS - 2, label);
	return (struct line){ .to = to, .used = LABEL_COLUMNS, .is_empty = true };
}

static void put_bar(struct line *line, double ratio)
{
	canvas_bar(line->to, ratio, BAR_COLUMNS);
	canvas_put(line->to, INK_PLAIN, "  ");
	line->used += BAR_COLUMNS + 2;
}

static bool fits(const struct line *line, size_t columns)
{
	return line->used + 3 + columns <= line->to->width;
}

static void put_part(struct line *line, const char *fmt, ...) printf_like(2, 3);
static void put_part(struct line *line, const char *fmt, ...)
{
	char part[256];
	size_t columns;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(part, sizeof part, fmt, ap);
	va_end(ap);
	columns = text_columns(part, strlen(part));
	if (!line->is_empty && !fits(line, columns)) {
		canvas_newline(line->to);
		canvas_pad(line->to, LABEL_COLUMNS);
		line->used = LABEL_COLUMNS;
	} else if (!line->is_empty) {
		canvas_put(line->to, INK_PLAIN, "   ");
		line->used += 3;
	}
	canvas_put(line->to, INK_PLAIN, part);
	line->used += columns;
	line->is_empty = false;
}

static void end_line(struct line *line, const char *otherwise)
{
	canvas_put(line->to, INK_PLAIN, line->is_empty ? otherwise : "");
	canvas_newline(line->to);
}

static void put_title(const struct snapshot *snap, const struct snapshot_view *view,
                      struct canvas *to)
{
	if (view->host)
		canvas_text(to, INK_TITLE, view->host, strlen(view->host), 64);
	else
		canvas_put(to, INK_TITLE, "this machine");
	canvas_printf(to, INK_PLAIN, "   %s   up %s", format_time(snap->wall_ns).at,
	              format_duration(snap->boot_ns).at);
	if (view->kernel) {
		canvas_put(to, INK_PLAIN, "   Linux ");
		canvas_text(to, INK_PLAIN, view->kernel, strlen(view->kernel), 32);
	}
	canvas_newline(to);
}

static void put_cpu(const struct snapshot *snap, const struct snapshot_view *view,
                    struct canvas *to)
{
	const struct host_readings *h = &snap->host;
	struct line line = begin_line("cpu", to);
	char cores[32] = "";

	if (view->cores)
		snprintf(cores, sizeof cores, " of %u core%s", view->cores,
		         view->cores == 1 ? "" : "s");
	if (isfinite(snap->cpu_busy_ratio)) {
		put_bar(&line, snap->cpu_busy_ratio);
		put_part(&line, "%s busy%s", format_percent(snap->cpu_busy_ratio).at, cores);
	}
	if (readings_has(h, HOST_LOAD_1) && readings_has(h, HOST_LOAD_5) &&
	    readings_has(h, HOST_LOAD_15))
		put_part(&line, "load %s %s %s", format_milli(h->value[HOST_LOAD_1], 2).at,
		         format_milli(h->value[HOST_LOAD_5], 2).at,
		         format_milli(h->value[HOST_LOAD_15], 2).at);
	/* These two are shown only when they are not 0. */
	if (snap->cpu_iowait_ratio >= 0.0005)
		put_part(&line, "iowait %s", format_percent(snap->cpu_iowait_ratio).at);
	if (snap->cpu_steal_ratio >= 0.0005)
		put_part(&line, "steal %s", format_percent(snap->cpu_steal_ratio).at);
	end_line(&line, "not known");
}

static void put_swap(struct line *line, const struct host_readings *h)
{
	uint64_t total = readings_or(h, HOST_SWAP_TOTAL, 0);

	if (!readings_has(h, HOST_SWAP_TOTAL))
		return;
	if (total == 0)
		put_part(line, "no swap");
	else if (readings_has(h, HOST_SWAP_FREE) && h->value[HOST_SWAP_FREE] <= total)
		put_part(line, "swap %s",
		         format_bytes_of(total - h->value[HOST_SWAP_FREE], total).at);
}

static void put_memory(const struct snapshot *snap, struct canvas *to)
{
	const struct host_readings *h = &snap->host;
	struct line line = begin_line("memory", to);

	if (readings_has(h, HOST_MEM_USED) && h->value[HOST_MEM_TOTAL]) {
		put_bar(&line, (double)h->value[HOST_MEM_USED] / (double)h->value[HOST_MEM_TOTAL]);
		put_part(&line, "%s used",
		         format_bytes_of(h->value[HOST_MEM_USED], h->value[HOST_MEM_TOTAL]).at);
	}
	if (readings_has(h, HOST_MEM_AVAILABLE))
		put_part(&line, "%s available", format_bytes(h->value[HOST_MEM_AVAILABLE]).at);
	put_swap(&line, h);
	end_line(&line, "not known");
}

static void put_stalls(const struct snapshot *snap, struct canvas *to)
{
	static const char meaning[] = "(PSI: share of the time in which some task waited)";
	struct line line = begin_line("stalls", to);

	if (isfinite(snap->psi_cpu_ratio) || isfinite(snap->psi_mem_ratio) ||
	    isfinite(snap->psi_io_ratio)) {
		put_part(&line, "cpu %s", format_percent(snap->psi_cpu_ratio).at);
		put_part(&line, "memory %s", format_percent(snap->psi_mem_ratio).at);
		put_part(&line, "io %s", format_percent(snap->psi_io_ratio).at);
		if (fits(&line, strlen(meaning)))
			put_part(&line, "%s", meaning);
	}
	end_line(&line, "not known (this kernel has no PSI)");
}

/* The control group this program runs in: what a container or a unit allows. */
static void put_limits(const struct snapshot *snap, struct canvas *to)
{
	const struct cgroup_readings *g = &snap->cgroup;
	struct line line = begin_line("limits", to);

	if (readings_has(g, CGROUP_CPU_LIMIT))
		put_part(&line, "%s cores", format_milli(g->value[CGROUP_CPU_LIMIT], 1).at);
	if (readings_has(g, CGROUP_MEM_LIMIT) && readings_has(g, CGROUP_MEM_LIMIT_USED))
		put_part(
			&line, "memory %s in use",
			format_bytes_of(g->value[CGROUP_MEM_LIMIT_USED], g->value[CGROUP_MEM_LIMIT])
				.at);
	else if (readings_has(g, CGROUP_MEM_LIMIT))
		put_part(&line, "memory %s", format_bytes(g->value[CGROUP_MEM_LIMIT]).at);
	if (readings_has(g, CGROUP_PIDS_LIMIT) && readings_has(g, CGROUP_PIDS_LIMIT_USED))
		put_part(&line, "%s of %s tasks", format_count(g->value[CGROUP_PIDS_LIMIT_USED]).at,
		         format_count(g->value[CGROUP_PIDS_LIMIT]).at);
	else if (readings_has(g, CGROUP_PIDS_LIMIT))
		put_part(&line, "%s tasks", format_count(g->value[CGROUP_PIDS_LIMIT]).at);
	end_line(&line, g->present ? "none in this control group" : "not known");
}

static void put_gpu_figures(struct line *line, const struct gpu_readings *r)
{
	if (readings_has(r, GPU_UTIL)) {
		put_bar(line, (double)r->value[GPU_UTIL] / 100);
		put_part(line, "%s busy", format_percent((double)r->value[GPU_UTIL] / 100).at);
	}
	if (readings_has(r, GPU_MEM_USED) && readings_has(r, GPU_MEM_TOTAL))
		put_part(line, "%s used",
		         format_bytes_of(r->value[GPU_MEM_USED], r->value[GPU_MEM_TOTAL]).at);
	if (readings_has(r, GPU_TEMPERATURE))
		put_part(line, "%ju %s", (uintmax_t)r->value[GPU_TEMPERATURE],
		         line->to->unicode ? "°C" : "C");
	if (readings_has(r, GPU_POWER))
		put_part(line, "%s W", format_milli(r->value[GPU_POWER], 0).at);
}

static void put_gpus(const struct snapshot *snap, struct canvas *to)
{
	vec_each(&snap->gpus, gpu) {
		struct buf name = { .max = 512 };
		struct line line;
		char label[24];

		snprintf(label, sizeof label, "gpu %u", gpu->index);
		line = begin_line(label, to);
		put_gpu_figures(&line, &gpu->r);
		if (!gpu->r.present)
			put_part(&line, "does not answer");
		text_display(&name, gpu->name, strlen(gpu->name), 40);
		if (name.len)
			put_part(&line, "%s", name.at);
		end_line(&line, "not known");
		buf_done(&name);
	}
}

static void put_states(const struct snapshot *snap, struct canvas *to)
{
	static const struct {
		const char *letters, *name;
	} kinds[] = {
		{ "R", "running" },  { "SI", "sleeping" }, { "D", "waiting for disk" },
		{ "Tt", "stopped" }, { "Z", "zombie" },    { "XxKWP", "ending" },
	};
	size_t count[ARRAY_LEN(kinds)] = { 0 };
	struct line line = begin_line("processes", to);

	vec_each(&snap->procs, p)
		for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
			if (p->s.state && strchr(kinds[k].letters, p->s.state))
				count[k]++;
	put_part(&line, "%s", format_count(snap->procs.len).at);
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		if (count[k])
			put_part(&line, "%s %s", format_count(count[k]).at, kinds[k].name);
	if (!snap->procs_complete)
		put_part(&line, "(some are hidden from this user)");
	end_line(&line, "");
}

void snapshot_head_put(const struct snapshot *snap, const struct snapshot_view *view,
                       struct canvas *to)
{
	put_title(snap, view, to);
	put_cpu(snap, view, to);
	put_memory(snap, to);
	put_stalls(snap, to);
	put_limits(snap, to);
	put_gpus(snap, to);
	put_states(snap, to);
}
