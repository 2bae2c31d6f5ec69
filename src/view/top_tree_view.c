/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/signal_name.h"
#include "view/format.h"
#include "view/graph.h"
#include "view/top_view.h"

#define NAME_MIN 24
#define NAME_MAX 100 /* so that the eye finds the figures of a row; the rest is for what it does */
#define BAR 10

/* In the order on the screen. */
enum column {
	COLUMN_PID,
	COLUMN_USER,
	COLUMN_PROGRESS,
	COLUMN_FIGURES, /* one for each */
	COLUMN_AGE = COLUMN_FIGURES + FRAME_FIGURE_COUNT,
	COLUMN_DOING,
	COLUMN_COUNT
};
static_assert(COLUMN_COUNT == TOP_COLUMNS_MAX, "the layout has room for all");

static const struct {
	const char *title;
	unsigned char width, rank; /* those of the lowest ranks that fit are shown */
	bool is_left;
	unsigned sort;
	enum metric_unit unit; /* of a figure */
} columns[] = {
	[COLUMN_PID] = { "PID", 7, 7, false, TOP_SORT_PID },
	[COLUMN_USER] = { "USER", 8, 11, true, TOP_SORT_COUNT },
	[COLUMN_PROGRESS] = { "PROGRESS", 15, 3, true, TOP_SORT_COUNT },
#define X(id, key, other, factor, title, width, unit, rank, ...)                                   \
	[COLUMN_FIGURES + FRAME_##id] = { title, width, rank, false, FRAME_##id, UNIT_##unit },
	FRAME_FIGURES(X)
#undef X
		[COLUMN_AGE] = { "AGE", 6, 4, false, TOP_SORT_AGE },
	[COLUMN_DOING] = { "DOING", 18, 8, true, TOP_SORT_COUNT },
};

struct tree {
	const struct frame *f;
	const struct top_state *s;
	struct grid *g;
	bool has[COLUMN_COUNT];
	size_t x[COLUMN_COUNT], name_width;
};

static void choose_columns(struct tree *t, size_t width)
{
	size_t left = width > NAME_MIN ? width - NAME_MIN : 0, taken = 0, x;

	for (unsigned rank = 1; rank <= COLUMN_COUNT; rank++)
		for (size_t c = 0; c < COLUMN_COUNT; c++) {
			bool is_empty = c == COLUMN_FIGURES + FRAME_GPU && !t->f->head.gpus;

			if (columns[c].rank != rank || is_empty || columns[c].width + 1U > left)
				continue;
			left -= columns[c].width + 1U;
			taken += columns[c].width + 1U;
			t->has[c] = true;
		}
	x = MIN(width, NAME_MAX + taken);
	for (size_t c = COLUMN_COUNT; c-- > 0;)
		if (t->has[c]) {
			x -= columns[c].width;
			t->x[c] = x--;
		}
	t->name_width = x;
}

static void put_heads(const struct tree *t, size_t y, struct top_layout *ret)
{
	const struct top_state *s = t->s;

	grid_put(t->g, y, 1, t->name_width, INK_TITLE, "JOB / sheet / process");
	for (enum column c = 0; c < COLUMN_COUNT; c++) {
		bool is_sort = columns[c].sort == s->sort;
		char title[16];

		if (!t->has[c])
			continue;
		snprintf(title, sizeof title, "%s%s", columns[c].title,
		         !is_sort       ? ""
		         : t->g->unicode ? (s->is_reversed ? "▴" : "▾")
		                         : (s->is_reversed ? "^" : "v"));
		if (columns[c].is_left)
			grid_put(t->g, y, t->x[c], columns[c].width, INK_TITLE, title);
		else
			grid_right(t->g, y, t->x[c] + columns[c].width, columns[c].width, INK_TITLE,
			           title);
		ret->column[ret->columns].x = t->x[c];
		ret->column[ret->columns].end = t->x[c] + columns[c].width;
		ret->column[ret->columns++].sort = columns[c].sort;
	}
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void put_right(const struct tree *t, size_t y, enum column c, enum ink ink, const char *text)
{
	if (t->has[c])
		grid_right(t->g, y, t->x[c] + columns[c].width, columns[c].width, ink, text);
}

static void put_left(const struct tree *t, size_t y, enum column c, enum ink ink, const char *text)
{
	if (t->has[c])
		grid_text(t->g, y, t->x[c], c == COLUMN_DOING ? t->g->width : columns[c].width, ink,
		          text);
}

/* Zero and unknown values are drawn in the quiet ink. */
static void put_figure(const struct tree *t, size_t y, enum frame_figure id, double value,
                       enum ink ink)
{
	enum column c = COLUMN_FIGURES + id;
	enum ink shown = value > 0 ? ink : INK_QUIET;

	if (isnan(value))
		put_right(t, y, c, shown, "-");
	else if (columns[c].unit == UNIT_PCT)
		put_right(t, y, c, shown, format_percent_bare(value).at);
	else if (columns[c].unit == UNIT_BYTES)
		put_right(t, y, c, shown, format_bytes_short((uint64_t)value).at);
	else
		put_right(t, y, c, shown, format_count((uint64_t)value).at);
}

static void put_figures(const struct tree *t, size_t y, const double figure[FRAME_FIGURE_COUNT])
{
	for (enum frame_figure id = 0; id < FRAME_FIGURE_COUNT; id++)
		put_figure(t, y, id, figure[id], INK_PLAIN);
}

static void put_age(const struct tree *t, size_t y, uint64_t ns)
{
	put_right(t, y, COLUMN_AGE, INK_PLAIN, format_duration_short(ns).at);
}

static void put_user(const struct tree *t, size_t y, uint32_t uid)
{
	const char *name = t->s->user_name ? t->s->user_name(t->s->users, uid) : NULL;
	char number[16];

	snprintf(number, sizeof number, "%u", uid);
	put_left(t, y, COLUMN_USER, INK_LABEL, name ? name : number);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool has_anomaly(const struct tree *t, const struct top_row *row, enum severity *ret)
{
	const struct frame *f = t->f;
	bool found = false;

	*ret = SEVERITY_LOW;
	vec_each(&f->anomalies, a) {
		bool is_here = row->kind == TOP_ROW_PROC
		                       ? a->pid && a->pid == f->procs.at[row->index].pid
		                       : row->kind == TOP_ROW_JOB && a->job &&
		                                 frame_is_of_job(f, a->job, a->job_uid,
		                                                 frame_job_key(f, row->index));

		if (!is_here)
			continue;
		found = true;
		*ret = MAX(*ret, a->severity);
	}
	return found;
}

enum ink top_ink_of_severity(enum severity severity)
{
	return severity >= SEVERITY_HIGH ? INK_BAD : severity == SEVERITY_MEDIUM ? INK_WARN : INK_PLAIN;
}

/* The gutter: marked, or something is wrong. */
static void put_gutter(const struct tree *t, size_t y, const struct top_row *row)
{
	enum severity severity;
	uint64_t ignored;

	if (row->kind == TOP_ROW_PROC &&
	    map_get(&t->s->marked, (uint64_t)t->f->procs.at[row->index].pid, &ignored))
		grid_put(t->g, y, 0, 1, INK_STRONG, "*");
	else if (has_anomaly(t, row, &severity))
		grid_put(t->g, y, 0, 1, MAX(top_ink_of_severity(severity), INK_WARN), "!");
}

static size_t put_opener(const struct tree *t, size_t y, const struct top_row *row)
{
	const char *sign = !row->has_children ? " "
	                   : t->g->unicode    ? (row->is_open ? "▾" : "▸")
	                                      : (row->is_open ? "-" : "+");
	size_t x = 1 + 2U * row->depth;

	if (row->kind != TOP_ROW_PROC)
		grid_put(t->g, y, x, 1, INK_LABEL, sign);
	return row->kind == TOP_ROW_PROC ? x : x + 2;
}

static size_t room(const struct tree *t, size_t x)
{
	return x < t->name_width ? t->name_width - x : 0;
}

/* How it ended. */
static void end_words(enum job_status status, int exit_code, int signal, char *ret, size_t cap)
{
	if (status == JOB_FAILED && signal)
		snprintf(ret, cap, "FAILED %s", signal_name(signal).at);
	else if (status == JOB_FAILED)
		snprintf(ret, cap, "FAILED exit %d", exit_code);
	else
		snprintf(ret, cap, "%s", status == JOB_COMPLETED ? "ok" : status == JOB_LOST ? "lost" : "");
}

static enum ink ink_of_end(enum job_status status)
{
	return status == JOB_FAILED  ? INK_BAD
	       : status == JOB_LOST  ? INK_WARN
	       : status == JOB_COMPLETED ? INK_GOOD
	                             : INK_PLAIN;
}

/* How it ended has the place of what it would do now. */
static void put_end(const struct tree *t, size_t y, const struct frame_job *job)
{
	size_t first = t->g->width, end = 0;
	char words[160];

	for (enum column c = COLUMN_PROGRESS; c < COLUMN_AGE; c++) {
		first = t->has[c] ? MIN(first, t->x[c]) : first;
		end = t->has[c] ? t->x[c] + columns[c].width : end;
	}
	snprintf(words, sizeof words, "%s%s", job->status == JOB_FAILED ? "FAILED " : "",
	         frame_str(t->f, job->result));
	grid_text(t->g, y, first, end > first ? end - first : 0, ink_of_end(job->status), words);
}

static void put_progress(const struct tree *t, size_t y, const struct frame_job *job)
{
	double ratio = (double)job->completed_sheets / (double)MAX(job->total_sheets, 1U);

	if (job->status != JOB_RUNNING) {
		put_end(t, y, job);
	} else if (!t->has[COLUMN_PROGRESS]) {
		return;
	} else if (job->total_sheets) {
		graph_bar(t->g, y, t->x[COLUMN_PROGRESS], BAR, INK_GOOD, ratio);
		grid_printf(t->g, y, t->x[COLUMN_PROGRESS] + BAR, 5, INK_PLAIN, "%4.0f%%",
		            MIN(ratio, 1.0) * 100);
	} else {
		put_left(t, y, COLUMN_PROGRESS, INK_QUIET, "running");
	}
}

/* "2/3 fit": the step it is in. */
static void put_step(const struct tree *t, size_t y, size_t x, const struct frame_job *job)
{
	int32_t index = (int32_t)(job - t->f->jobs.at);
	const char *label = "";

	if (!job->current_sheet || room(t, x) < 4)
		return;
	vec_each(&t->f->sheets, sheet)
		if (sheet->job == index && sheet->num == job->current_sheet)
			label = frame_str(t->f, sheet->label);
	x += 2;
	if (job->total_sheets)
		x = grid_printf(t->g, y, x, room(t, x), INK_PLAIN, "%u/%u ", job->current_sheet,
		                job->total_sheets);
	else
		x = grid_printf(t->g, y, x, room(t, x), INK_PLAIN, "#%u ", job->current_sheet);
	grid_text(t->g, y, x, room(t, x), INK_PLAIN, label);
}

static void put_job(const struct tree *t, size_t y, const struct top_row *row)
{
	const struct frame_job *job = &t->f->jobs.at[row->index];
	uint64_t end_ns = job->ended_ns ? job->ended_ns : t->f->head.wall_ns;
	size_t x = put_opener(t, y, row);
	double part = job->figure[FRAME_MEM] / job->limit_bytes;

	x = grid_text(t->g, y, x, room(t, x), INK_STRONG, frame_str(t->f, job->id));
	put_step(t, y, x, job);
	put_progress(t, y, job);
	put_user(t, y, job->uid);
	if (job->ended_ns >= job->started_ns || job->status == JOB_RUNNING)
		put_age(t, y, end_ns - MIN(job->started_ns, end_ns));
	if (job->status != JOB_RUNNING)
		return;
	put_figures(t, y, job->figure);
	put_figure(t, y, FRAME_CPU, job->figure[FRAME_CPU], INK_STRONG);
	put_figure(t, y, FRAME_MEM, job->figure[FRAME_MEM],
	           part >= 0.8 ? top_ink_of_ratio(part) : INK_STRONG);
}

static void put_sheet(const struct tree *t, size_t y, const struct top_row *row)
{
	const struct frame_sheet *sheet = &t->f->sheets.at[row->index];
	const struct frame_job *job = &t->f->jobs.at[sheet->job];
	uint64_t end_ns = sheet->ended_ns ? sheet->ended_ns : t->f->head.wall_ns;
	size_t x = put_opener(t, y, row);
	char words[32] = "running";

	x = grid_printf(t->g, y, x, room(t, x), INK_PLAIN, "%u", sheet->num);
	if (job->total_sheets)
		x = grid_printf(t->g, y, x, room(t, x), INK_LABEL, "/%u", job->total_sheets);
	grid_text(t->g, y, x + 1, room(t, x + 1), INK_PLAIN, frame_str(t->f, sheet->label));
	if (sheet->status != JOB_RUNNING)
		end_words(sheet->status, sheet->exit_code, sheet->signal, words, sizeof words);
	put_left(t, y, COLUMN_PROGRESS, sheet->status == JOB_RUNNING ? INK_QUIET : ink_of_end(sheet->status),
	         words);
	if (sheet->started_ns)
		put_age(t, y, end_ns - MIN(sheet->started_ns, end_ns));
	if (!sheet->procs)
		return;
	put_figures(t, y, sheet->figure);
}

const char *top_command(const struct frame *f, const struct frame_proc *p)
{
	const char *command = frame_str(f, p->command), *name = command;

	for (const char *at = command; *command != '[' && *at && *at != ' '; at++)
		if (*at == '/' && at[1] && at[1] != ' ')
			name = at + 1;
	return *name ? name : "?";
}

static const char *state_words(char state)
{
	switch (state) {
	case 'R':
		return "running";
	case 'S':
		return "sleeping";
	case 'I':
		return "idle";
	case 'D':
		return "disk wait";
	case 'Z':
		return "zombie";
	case 'T':
	case 't':
		return "stopped";
	default:
		return "";
	}
}

/* Else the call that takes its time is shown, if it is traced. */
static bool shows_wait(const struct frame *f, const struct frame_proc *p)
{
	return (p->state == 'S' || p->state == 'D') && !*frame_str(f, p->call);
}

static const char *doing(const struct tree *t, const struct frame_proc *p)
{
	const char *words = frame_str(t->f, p->call);
	uint64_t known;

	if (shows_wait(t->f, p) && t->s->wait_words &&
	    map_get(t->s->wait_words, (uint64_t)p->pid, &known))
		words = (const char *)(uintptr_t)known;
	return *words ? words : state_words(p->state);
}

static void put_proc(const struct tree *t, size_t y, const struct top_row *row)
{
	const struct frame_proc *p = &t->f->procs.at[row->index];
	size_t x = put_opener(t, y, row);
	char pid[16];

	grid_text(t->g, y, x, room(t, x), p->state == 'Z' ? INK_WARN : INK_PLAIN, top_command(t->f, p));
	snprintf(pid, sizeof pid, "%d", (int)p->pid);
	put_right(t, y, COLUMN_PID, INK_LABEL, pid);
	put_user(t, y, p->uid);
	put_figures(t, y, p->figure);
	if (p->figure[FRAME_CPU] >= 0.9)
		put_figure(t, y, FRAME_CPU, p->figure[FRAME_CPU], INK_STRONG);
	put_age(t, y, p->age_ns);
	put_left(t, y, COLUMN_DOING, p->state == 'Z' || p->state == 'D' ? INK_WARN : INK_LABEL,
	         doing(t, p));
}

static void put_row(const struct tree *t, size_t y, const struct top_row *row)
{
	size_t x;

	put_gutter(t, y, row);
	switch (row->kind) {
	case TOP_ROW_JOB:
		put_job(t, y, row);
		break;
	case TOP_ROW_SHEET:
		put_sheet(t, y, row);
		break;
	case TOP_ROW_PROC:
		put_proc(t, y, row);
		break;
	case TOP_ROW_OTHERS:
	default:
		x = put_opener(t, y, row);
		grid_printf(t->g, y, x, room(t, x), INK_LABEL, "%s in no job",
		            format_count(row->index).at);
		break;
	}
}

/* The first line has the heads. No line is empty while there are rows for it. */
void top_tree_scroll(struct top_state *s, size_t lines)
{
	lines -= lines > 0;
	if (s->at < s->first)
		s->first = s->at;
	if (lines && s->at >= s->first + lines)
		s->first = s->at - lines + 1;
	if (s->first + lines > s->rows.len)
		s->first = s->rows.len > lines ? s->rows.len - lines : 0;
}

size_t top_tree_waiting(const struct frame *f, const struct top_state *s, const struct grid *g,
                        size_t lines, pid_t ret[static TOP_WAITING_MAX])
{
	struct tree t = { .f = f, .s = s };
	size_t n = 0;

	choose_columns(&t, g->width);
	for (size_t i = s->first;
	     t.has[COLUMN_DOING] && i < s->rows.len && i + 1 < s->first + lines; i++) {
		const struct top_row *row = &s->rows.at[i];
		const struct frame_proc *p = row->kind == TOP_ROW_PROC ? &f->procs.at[row->index]
		                                                       : NULL;

		if (p && shows_wait(f, p) && n < TOP_WAITING_MAX)
			ret[n++] = p->pid;
	}
	return n;
}

void top_tree_view(const struct frame *f, const struct top_state *s, bool cursor, struct grid *g,
                   size_t y, size_t lines, struct top_layout *ret)
{
	struct tree t = { .f = f, .s = s, .g = g };

	choose_columns(&t, g->width);
	ret->head_y = y;
	ret->columns = 0;
	if (!lines)
		return;
	put_heads(&t, y++, ret);
	lines--;
	ret->rows_y = y;
	ret->rows_n = lines;
	for (size_t i = 0; i < lines && s->first + i < s->rows.len; i++) {
		put_row(&t, y + i, &s->rows.at[s->first + i]);
		if (cursor && s->first + i == s->at)
			grid_ink_line(g, y + i, INK_SELECTED);
	}
	if (!s->rows.len && lines)
		grid_text(g, y, 1, g->width, INK_QUIET,
		          f->source == FRAME_NONE ? "waiting for the first sample"
		          : s->filter[0]          ? "nothing matches the filter; Esc clears it"
		          : s->job && s->is_past  ? "this job did not run then; p goes to its peak"
		          : s->job ? "this job does not run now: proctor report, or t for its past"
		                   : "no processes");
}
