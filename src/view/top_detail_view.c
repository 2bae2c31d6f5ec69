/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "view/format.h"
#include "view/graph.h"
#include "view/top_view.h"

#define SLOPE_POINTS 12 /* the last of a trail, by which growth is judged */

struct pane {
	const struct frame *f;
	const struct top_state *s;
	struct grid *g;
	size_t y, end; /* the next line, and the one behind the last */
	size_t graph_lines;
};

static bool next_line(struct pane *p, size_t *ret)
{
	if (p->y >= p->end)
		return false;
	*ret = p->y++;
	return true;
}

/* Bytes per second over the last points; NAN: too few are known. */
static double growth(const struct top_trail *t, double interval_s)
{
	size_t n = MIN(t->len, (uint32_t)SLOPE_POINTS);
	double from, to;

	if (n < 4 || !(interval_s > 0))
		return NAN;
	from = (double)t->mem[t->len - n];
	to = (double)t->mem[t->len - 1];
	return (to - from) / ((double)(n - 1) * interval_s);
}

static size_t put_curve(struct pane *p, const char *name, const float *values, size_t n, double top,
                        size_t *ret_y)
{
	size_t columns = MIN((size_t)60, p->g->width / 4),
	       lines = MIN(p->graph_lines, p->end - p->y);

	*ret_y = p->y + lines - 1;
	grid_put(p->g, *ret_y, 1, 8, INK_LABEL, name);
	graph_area(p->g, p->y, 6, columns, lines, INK_GOOD, values, n, top);
	p->y += lines;
	return 6 + columns + 1;
}

/* The time until the limit, if it grows as recently. */
static void put_growth(struct pane *p, size_t y, size_t x, const struct top_trail *t, double limit)
{
	double rate = growth(t, p->f->head.interval_s), used = (double)t->mem[t->len - 1];
	double left_s = (limit - used) / rate;

	if (!(rate > used * 0.001) || !(rate > 100e3))
		return;
	if (left_s > 0 && left_s < 86400)
		x = grid_part(p->g, y, x, left_s < 600 ? INK_BAD : INK_WARN, ", full in %s",
		              format_duration_short((uint64_t)left_s * NS_PER_S).at);
	grid_part(p->g, y, x, INK_PLAIN, ", +%s/s", format_bytes_short((uint64_t)rate).at);
}

/* Shows the maximum of a process or job that has ended. */
static void put_memory(struct pane *p, const struct top_trail *t, double now, double limit,
                       const char *whose)
{
	double max = t ? graph_max(t->mem, t->len) : NAN, shown = isnan(now) ? max : now,
	       part = shown / limit;
	bool is_wide = *whose && p->g->width >= 100;
	size_t x, y;

	if (p->y >= p->end)
		return;
	x = put_curve(p, "mem", t ? t->mem : NULL, t ? t->len : 0, max, &y);
	x = grid_part(p->g, y, x, INK_STRONG, "%s%s", isnan(now) && !isnan(max) ? "at most " : "",
	              isnan(shown) ? "-" : format_bytes((uint64_t)shown).at);
	if (limit > 0)
		x = grid_part(p->g, y, x, part >= 0.8 ? top_ink_of_ratio(part) : INK_LABEL,
		              " of %s (%s%s%s)", format_bytes((uint64_t)limit).at,
		              format_percent(part).at, is_wide ? ", " : "", is_wide ? whose : "");
	else if (max > now)
		x = grid_part(p->g, y, x, INK_LABEL, ", most %s", format_bytes((uint64_t)max).at);
	if (t && t->len && !isnan(now))
		put_growth(p, y, x, t, limit);
}

static void put_cpu(struct pane *p, const struct top_trail *t, double now, double cores)
{
	double max = t ? graph_max(t->cpu, t->len) : NAN;
	size_t x, y;

	if (p->y >= p->end)
		return;
	x = put_curve(p, "cpu", t ? t->cpu : NULL, t ? t->len : 0, MAX(max, 1.0), &y);
	x = grid_part(p->g, y, x, INK_STRONG, "%s%s", isnan(now) && !isnan(max) ? "at most " : "",
	              format_percent(isnan(now) ? max : now).at);
	x = grid_part(p->g, y, x, INK_LABEL, " of a core");
	if (!isnan(cores))
		grid_part(p->g, y, x, INK_LABEL, ", %.3g allowed", cores);
}

/* Anomalies of one kind: the first of the worst stands for all. */
struct alike {
	const struct frame_anomaly *worst;
	unsigned count;
};

/* Those of the job, or of one of its processes if a pid is given. */
static size_t count_alike(const struct pane *p, struct job_key job, pid_t pid,
                          struct alike ret[static ANOMALY_KIND_COUNT])
{
	size_t n = 0;

	vec_each(&p->f->anomalies, a) {
		size_t i = 0;

		if (pid ? a->pid != pid : !frame_is_of_job(p->f, a->job, a->job_uid, job))
			continue;
		while (i < n && !frame_is_alike(p->f, ret[i].worst->what, a->what))
			i++;
		if (i == ANOMALY_KIND_COUNT)
			continue;
		if (i == n)
			ret[n++] = (struct alike){ .worst = a };
		ret[i].count++;
		if (a->severity > ret[i].worst->severity)
			ret[i].worst = a;
	}
	return n;
}

/* The worst first, and no more than leave room for what is below. */
static void put_anomalies(struct pane *p, struct job_key job, pid_t pid)
{
	struct alike found[ANOMALY_KIND_COUNT];
	size_t n = count_alike(p, job, pid, found), below = 2 * p->graph_lines + 1, y,
	       end = MAX(p->y + 1, p->end > below ? p->end - below : 0);

	for (enum severity s = SEVERITY_COUNT; s-- > 0;)
		for (size_t i = 0; i < n; i++) {
			if (found[i].worst->severity != s || p->y >= end || !next_line(p, &y))
				continue;
			grid_counted(p->g, y, 1, MAX(top_ink_of_severity(s), INK_WARN),
			             frame_str(p->f, found[i].worst->what), found[i].count);
		}
}

static const char *user(const struct pane *p, uint32_t uid)
{
	const char *name = p->s->user_name ? p->s->user_name(p->s->users, uid) : NULL;

	return name ? name : "another user";
}

/* ---- a job ----------------------------------------------------------------------------------- */

/* "FAILED out of memory after 3m 07s, at 14:03:07; press w for the reason" */
static void put_job_end(struct pane *p, const struct frame_job *job, size_t y, size_t x)
{
	bool failed = job->status == JOB_FAILED;
	size_t w = p->g->width;
	char words[200];

	snprintf(words, sizeof words, "  %s%s", failed ? "FAILED " : "",
	         frame_str(p->f, job->result));
	x = grid_text(p->g, y, x, w - MIN(x, w), failed ? INK_BAD : INK_PLAIN, words);
	if (job->ended_ns >= job->started_ns)
		x = grid_part(p->g, y, x, INK_LABEL, " after %s, at %s",
		              format_duration(job->ended_ns - job->started_ns).at,
		              format_clock(job->ended_ns).at);
	if (failed)
		grid_part(p->g, y, x, INK_PLAIN, "; press w for the reason");
}

static void put_job_title(struct pane *p, const struct frame_job *job)
{
	const struct frame *f = p->f;
	size_t w = p->g->width, x, y;

	if (!next_line(p, &y))
		return;
	x = grid_text(p->g, y, 1, w / 2, INK_STRONG, frame_str(f, job->id));
	if (job->status != JOB_RUNNING) {
		put_job_end(p, job, y, x);
		return;
	}
	x = grid_part(p->g, y, x, INK_PLAIN, "  %u process%s of %s", job->procs,
	              job->procs == 1 ? "" : "es", user(p, job->uid));
	if (job->total_sheets)
		x = grid_part(p->g, y, x, INK_PLAIN, ", %u of %u sheets done",
		              job->completed_sheets, job->total_sheets);
	if (job->limit_s > 0) {
		double left = job->limit_s -
		              (double)(f->head.wall_ns - MIN(job->started_ns, f->head.wall_ns)) / 1e9;

		grid_part(p->g, y, x, left < 600 ? INK_BAD : INK_PLAIN, ", %s left of %s",
		          format_duration((uint64_t)MAX(left, 0) * NS_PER_S).at,
		          format_duration((uint64_t)job->limit_s * NS_PER_S).at);
	}
}

static void put_command(struct pane *p, const char *command)
{
	size_t y;

	if (*command && next_line(p, &y))
		grid_text(p->g, y, 1, p->g->width - MIN(p->g->width, (size_t)1), INK_LABEL, command);
}

static void put_job(struct pane *p, const struct frame_job *job, uint64_t key)
{
	const struct top_trail *t = top_state_trail(p->s, key);

	put_job_title(p, job);
	put_anomalies(p, frame_job_key(p->f, (size_t)(job - p->f->jobs.at)), 0);
	if (job->status == JOB_RUNNING || (t && graph_max(t->mem, t->len) > 0)) {
		put_memory(p, t, job->figure[FRAME_MEM], job->limit_bytes,
		           frame_str(p->f, job->limit_source));
		put_cpu(p, t, job->figure[FRAME_CPU], job->limit_cores);
	}
	put_command(p, frame_str(p->f, job->command));
}

/* ---- a sheet --------------------------------------------------------------------------------- */

static void put_sheet(struct pane *p, const struct frame_sheet *sheet, uint64_t key)
{
	const struct frame_job *job = &p->f->jobs.at[sheet->job];
	const struct top_trail *t = top_state_trail(p->s, key);
	size_t w = p->g->width, x, y;

	if (!next_line(p, &y))
		return;
	x = grid_printf(p->g, y, 1, w, INK_STRONG, "sheet %u ", sheet->num);
	x = grid_text(p->g, y, x, w / 3, INK_STRONG, frame_str(p->f, sheet->label));
	x = grid_put(p->g, y, x, w - MIN(x, w), INK_PLAIN, "  of ");
	x = grid_text(p->g, y, x, w / 3, INK_PLAIN, frame_str(p->f, job->id));
	x = grid_printf(p->g, y, x, w - MIN(x, w), INK_PLAIN, "  %u process%s", sheet->procs,
	                sheet->procs == 1 ? "" : "es");
	if (sheet->started_ns)
		grid_printf(p->g, y, x, w - MIN(x, w), INK_LABEL, "  since %s",
		            format_clock(sheet->started_ns).at);
	put_memory(p, t, sheet->figure[FRAME_MEM], NAN, "");
	put_cpu(p, t, sheet->figure[FRAME_CPU], NAN);
}

/* ---- a process ------------------------------------------------------------------------------- */

static const char *state_words(char state)
{
	static const struct {
		char state;
		const char *words;
	} known[] = { { 'R', "runs" },    { 'S', "waits" },  { 'D', "waits for a disk" },
		      { 'Z', "zombie" }, { 'T', "stopped" }, { 't', "traced" }, { 'I', "idle" } };

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].state == state)
			return known[i].words;
	return "";
}

static void put_proc_title(struct pane *p, const struct frame_proc *proc)
{
	size_t w = p->g->width, x, y;

	if (!next_line(p, &y))
		return;
	x = grid_printf(p->g, y, 1, w, INK_STRONG, "pid %d", (int)proc->pid);
	x = grid_printf(p->g, y, x, w - MIN(x, w), INK_PLAIN, "  of %s  parent %d  %s", user(p, proc->uid),
	                (int)proc->ppid, state_words(proc->state));
	if (p->s->blocked_pid == proc->pid && p->s->blocked[0]) {
		x = grid_put(p->g, y, x, w - MIN(x, w), INK_PLAIN, ": ");
		x = grid_text(p->g, y, x, w - MIN(x, w), INK_WARN, p->s->blocked);
	}
	if (!isnan(proc->figure[FRAME_THREADS]))
		x = grid_part(p->g, y, x, INK_LABEL, "  %.0f thread%s", proc->figure[FRAME_THREADS],
		              proc->figure[FRAME_THREADS] == 1 ? "" : "s");
	if (!isnan(proc->figure[FRAME_FDS]))
		x = grid_part(p->g, y, x, INK_LABEL, "  %.0f files", proc->figure[FRAME_FDS]);
	if (proc->call)
		grid_part(p->g, y, x, INK_PLAIN, "  %s", frame_str(p->f, proc->call));
}

static void put_proc(struct pane *p, const struct frame_proc *proc, uint64_t key)
{
	const struct top_trail *t = top_state_trail(p->s, key);
	const struct frame_job *job = proc->job >= 0 ? &p->f->jobs.at[proc->job] : NULL;

	put_proc_title(p, proc);
	put_anomalies(p, (struct job_key){ 0 }, proc->pid);
	put_memory(p, t, proc->figure[FRAME_MEM], job ? job->limit_bytes : NAN,
	           job ? "of its job" : "");
	put_cpu(p, t, proc->figure[FRAME_CPU], NAN);
	put_command(p, frame_str(p->f, proc->command));
}

void top_detail_view(const struct frame *f, const struct top_state *s, struct grid *g, size_t y,
                     size_t lines)
{
	const struct top_row *row = top_state_row(s);
	struct pane p = { .f = f,
		          .s = s,
		          .g = g,
		          .y = y,
		          .end = y + lines,
		          .graph_lines = lines >= 9 ? 3 : lines >= 7 ? 2 : 1 };
	size_t at;

	if (!row || !lines)
		return;
	if (row->kind == TOP_ROW_JOB)
		put_job(&p, &f->jobs.at[row->index], row->key);
	else if (row->kind == TOP_ROW_SHEET)
		put_sheet(&p, &f->sheets.at[row->index], row->key);
	else if (row->kind == TOP_ROW_PROC)
		put_proc(&p, &f->procs.at[row->index], row->key);
	else if (next_line(&p, &at))
		grid_put(g, at, 1, g->width, INK_LABEL,
		         "Processes that no job of proctor started; start one with: proctor run COMMAND");
}
