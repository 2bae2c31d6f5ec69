/* SPDX-License-Identifier: MIT */
#include "view/top_state.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define TRAILS_MAX 20000
#define ROWS_MAX (FRAME_PROCS_MAX + 2 * JOBS_MAX + SHEETS_MAX)

static const struct {
	const char *name;
	char letter;
} sorts[] = {
#define X(id, key, other, factor, title, width, unit, rank, name, letter)                          \
	[FRAME_##id] = { name, letter },
	FRAME_FIGURES(X)
#undef X
		[TOP_SORT_AGE] = { "age", 'A' },
	[TOP_SORT_PID] = { "pid", 'N' },
};

const char *top_sort_name(unsigned sort)
{
	return sorts[sort].name;
}

int top_sort_letter(unsigned sort)
{
	return sorts[sort].letter;
}

void top_state_forget_trails(struct top_state *s)
{
	vec_each(&s->trails, t)
		free(*t);
	vec_reset(&s->trails);
	map_reset(&s->trail_of);
}

void top_state_done(struct top_state *s)
{
	top_state_forget_trails(s);
	vec_done(&s->trails);
	map_done(&s->trail_of);
	map_done(&s->toggled);
	map_done(&s->marked);
	vec_done(&s->rows);
	buf_done(&s->page);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static uint64_t text_key(const char *text, uint64_t more)
{
	uint64_t hash = hash_bytes(hash_bytes(HASH_SEED, text, strlen(text)), &more, sizeof more);

	return hash | UINT64_C(1) << 63;
}

uint64_t top_state_job_key(const struct frame *f, size_t job)
{
	return text_key(frame_str(f, f->jobs.at[job].id), f->jobs.at[job].uid);
}

uint64_t top_state_proc_key(pid_t pid)
{
	return UINT64_C(1) << 40 | (uint64_t)pid;
}

static uint64_t sheet_key(const struct frame *f, const struct frame_sheet *s)
{
	const struct frame_job *job = &f->jobs.at[s->job];

	return text_key(frame_str(f, job->id), (uint64_t)s->num << 32 | job->uid);
}

/* ---- trails ---------------------------------------------------------------------------------- */

static struct top_trail *find_trail(const struct top_state *s, uint64_t key)
{
	uint64_t at;

	return map_get(&s->trail_of, key, &at) ? s->trails.at[at] : NULL;
}

const struct top_trail *top_state_trail(const struct top_state *s, uint64_t key)
{
	return find_trail(s, key);
}

static void put_point(struct top_state *s, uint64_t key, double cpu, double mem, uint64_t wall_ns)
{
	struct top_trail *t = find_trail(s, key);

	if (!t) {
		struct top_trail **slot = vec_push(&s->trails, TRAILS_MAX);

		if (!slot)
			return;
		*slot = t = xcalloc(1, sizeof *t);
		t->key = key;
		map_put(&s->trail_of, key, s->trails.len - 1);
	}
	if (t->len == TOP_TRAIL) {
		memmove(t->cpu, t->cpu + 1, sizeof t->cpu - sizeof *t->cpu);
		memmove(t->mem, t->mem + 1, sizeof t->mem - sizeof *t->mem);
		t->len--;
	}
	t->cpu[t->len] = (float)cpu;
	t->mem[t->len++] = (float)mem;
	t->wall_ns = wall_ns;
	t->seen = s->frames;
}

static void note(struct top_state *s, uint64_t key, const double figure[FRAME_FIGURE_COUNT],
                 uint64_t wall_ns)
{
	put_point(s, key, figure[FRAME_CPU], figure[FRAME_MEM], wall_ns);
}

void top_state_set_trail(struct top_state *s, uint64_t key, const float *cpu, const float *mem, size_t n)
{
	struct top_trail *t = find_trail(s, key);

	if (t)
		t->len = 0;
	for (size_t i = n > TOP_TRAIL ? n - TOP_TRAIL : 0; i < n; i++)
		put_point(s, key, (double)cpu[i], (double)mem[i], 0);
}

/* Drops the trails of rows that are gone. */
static void drop_trails(struct top_state *s)
{
	size_t n = 0;

	vec_each(&s->trails, t) {
		if ((*t)->seen == s->frames) {
			s->trails.at[n++] = *t;
			continue;
		}
		free(*t);
	}
	if (n == s->trails.len)
		return;
	s->trails.len = n;
	map_reset(&s->trail_of);
	for (size_t i = 0; i < n; i++)
		map_put(&s->trail_of, s->trails.at[i]->key, i);
}

/* Those of processes outside of jobs only if they do something worth a picture, or are selected: there may be
 * thousands. */
static bool is_noted(const struct top_state *s, const struct frame_proc *p)
{
	return p->job >= 0 || p->figure[FRAME_CPU] > 0.01 ||
	       find_trail(s, top_state_proc_key(p->pid)) ||
	       s->selected == top_state_proc_key(p->pid);
}

void top_state_note(struct top_state *s, const struct frame *f)
{
	const struct frame_head *h = &f->head;

	s->frames++;
	put_point(s, TOP_KEY_MACHINE, h->cpu_ratio, h->mem_total - h->mem_available, h->wall_ns);
	for (size_t i = 0; i < f->jobs.len; i++)
		note(s, top_state_job_key(f, i), f->jobs.at[i].figure, h->wall_ns);
	vec_each(&f->sheets, sheet)
		if (sheet->status == JOB_RUNNING)
			note(s, sheet_key(f, sheet), sheet->figure, h->wall_ns);
	vec_each(&f->procs, p)
		if (is_noted(s, p))
			note(s, top_state_proc_key(p->pid), p->figure, h->wall_ns);
	drop_trails(s);
}

/* ---- which rows ------------------------------------------------------------------------------ */

static bool contains(const char *text, const char *part)
{
	size_t n = strlen(part);

	for (; n && *text; text++) {
		size_t i = 0;

		while (i < n && text[i] &&
		       tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
			i++;
		if (i == n)
			return true;
	}
	return n == 0;
}

static bool job_fits(const struct frame *f, const struct frame_job *job, const char *part)
{
	return contains(frame_str(f, job->id), part) || contains(frame_str(f, job->type), part);
}

static bool proc_fits(const struct frame *f, const struct frame_proc *p, const char *part)
{
	char pid[16];

	if (contains(frame_str(f, p->command), part))
		return true;
	snprintf(pid, sizeof pid, "%d", (int)p->pid);
	return strcmp(pid, part) == 0;
}

static bool is_toggled(const struct top_state *s, uint64_t key)
{
	uint64_t ignored;

	return map_get(&s->toggled, key, &ignored);
}

static struct top_row *add_row(struct top_state *s, enum top_row_kind kind, size_t index,
                               unsigned depth, uint64_t key)
{
	struct top_row *row = vec_push(&s->rows, ROWS_MAX);

	if (!row)
		row = &s->spare;
	*row = (struct top_row){
		.kind = kind, .index = (uint32_t)index, .depth = (uint8_t)depth, .key = key
	};
	return row;
}

/* ---- in which order -------------------------------------------------------------------------- */

struct ranked {
	uint32_t index;
	int32_t job;
	uint32_t sheet;
	double rank;
	pid_t pid;
};

/* Unknown is last. */
static double known(double value)
{
	return isnan(value) ? -1 : value;
}

static double proc_rank(const struct top_state *s, const struct frame_proc *p)
{
	if (s->sort == TOP_SORT_PID)
		return -(double)p->pid;
	return s->sort == TOP_SORT_AGE ? (double)p->age_ns : known(p->figure[s->sort]);
}

static double job_rank(const struct top_state *s, const struct frame *f, const struct frame_job *job)
{
	if (s->sort < FRAME_FIGURE_COUNT)
		return known(job->figure[s->sort]);
	return (double)(f->head.wall_ns - MIN(job->started_ns, f->head.wall_ns));
}

/* By job and sheet, then by rank; equal ones by pid, so that rows do not dance. */
static int compare_ranked(const void *a, const void *b, void *self)
{
	const struct ranked *p = a, *q = b;
	const struct top_state *s = self;
	int by_rank;

	if (p->job != q->job)
		return p->job < q->job ? -1 : 1;
	if (p->sheet != q->sheet)
		return p->sheet < q->sheet ? -1 : 1;
	by_rank = (p->rank < q->rank) - (p->rank > q->rank);
	if (by_rank)
		return s->is_reversed ? -by_rank : by_rank;
	return (p->pid > q->pid) - (p->pid < q->pid);
}

struct arrangement {
	struct top_state *s;
	const struct frame *f;
	VEC(struct ranked) procs; /* those that fit */
	VEC(struct ranked) jobs;
};

static void rank_procs(struct arrangement *a)
{
	const struct frame *f = a->f;

	vec_each(&f->procs, p) {
		bool fits = !a->s->filter[0] || proc_fits(f, p, a->s->filter) ||
		            (p->job >= 0 && job_fits(f, &f->jobs.at[p->job], a->s->filter));
		struct ranked *r = fits ? vec_push(&a->procs, SIZE_MAX) : NULL;

		if (r)
			*r = (struct ranked){ .index = (uint32_t)(p - f->procs.at),
				              .job = p->job,
				              .sheet = p->job >= 0 ? p->sheet : 0,
				              .rank = proc_rank(a->s, p),
				              .pid = p->pid };
	}
	if (a->procs.len)
		qsort_r(a->procs.at, a->procs.len, sizeof *a->procs.at, compare_ranked, a->s);
}

/* The first of the job's processes among the ranked ones, and how many they are. */
static struct ranked *procs_of(const struct arrangement *a, int32_t job, size_t *ret_n)
{
	size_t low = 0, high = a->procs.len, n = 0;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (a->procs.at[mid].job < job)
			low = mid + 1;
		else
			high = mid;
	}
	while (low + n < a->procs.len && a->procs.at[low + n].job == job)
		n++;
	*ret_n = n;
	return a->procs.at + low;
}

static void rank_jobs(struct arrangement *a)
{
	const struct frame *f = a->f;

	vec_each(&f->jobs, job) {
		struct ranked *r;
		size_t n;

		procs_of(a, (int32_t)(job - f->jobs.at), &n);
		if (a->s->filter[0] && !n && !job_fits(f, job, a->s->filter))
			continue;
		r = vec_push(&a->jobs, JOBS_MAX);
		if (r) /* those that run come first */
			*r = (struct ranked){ .index = (uint32_t)(job - f->jobs.at),
				              .job = job->status == JOB_RUNNING ? 0 : 1,
				              .rank = job_rank(a->s, f, job),
				              .pid = (pid_t)(job - f->jobs.at) };
	}
	if (a->jobs.len)
		qsort_r(a->jobs.at, a->jobs.len, sizeof *a->jobs.at, compare_ranked, a->s);
}

static void add_procs(struct arrangement *a, const struct ranked *from, size_t n, unsigned depth)
{
	for (size_t i = 0; i < n; i++) {
		const struct frame_proc *p = &a->f->procs.at[from[i].index];

		add_row(a->s, TOP_ROW_PROC, from[i].index, depth, top_state_proc_key(p->pid));
	}
}

/* A sheet that runs or failed, or that has processes. */
static void add_sheet(struct arrangement *a, const struct frame_sheet *sheet,
                      const struct ranked *procs, size_t n)
{
	uint64_t key = sheet_key(a->f, sheet);
	bool is_open = !is_toggled(a->s, key);
	struct top_row *row = add_row(a->s, TOP_ROW_SHEET, (size_t)(sheet - a->f->sheets.at), 1, key);

	row->has_children = n > 0;
	row->is_open = is_open;
	if (is_open)
		add_procs(a, procs, n, 2);
}

static void add_sheets(struct arrangement *a, int32_t job, const struct ranked *procs, size_t n)
{
	size_t outside = 0;

	while (outside < n && procs[outside].sheet == 0)
		outside++;
	vec_each(&a->f->sheets, sheet) {
		size_t from = outside, len = 0;

		if (sheet->job != job)
			continue;
		while (from < n && procs[from].sheet < sheet->num)
			from++;
		while (from + len < n && procs[from + len].sheet == sheet->num)
			len++;
		if (len || sheet->status == JOB_RUNNING || sheet->status == JOB_FAILED)
			add_sheet(a, sheet, procs + from, len);
	}
	/* Also adds processes of sheets that are not known. */
	for (size_t i = 0; i < n; i++) {
		struct frame_sheet *known_one = NULL;

		vec_each(&a->f->sheets, sheet)
			if (sheet->job == job && sheet->num == procs[i].sheet)
				known_one = sheet;
		if (!known_one)
			add_procs(a, procs + i, 1, 1);
	}
}

/* Jobs that ended are closed, and so are all when there are too many to look at. */
static void add_job(struct arrangement *a, const struct ranked *ranked)
{
	const struct frame_job *job = &a->f->jobs.at[ranked->index];
	uint64_t key = top_state_job_key(a->f, ranked->index);
	bool is_open = (job->status == JOB_RUNNING) != is_toggled(a->s, key);
	struct top_row *row = add_row(a->s, TOP_ROW_JOB, ranked->index, 0, key);
	size_t n;
	const struct ranked *procs = procs_of(a, (int32_t)ranked->index, &n);

	row->has_children = n > 0 || job->total_sheets || job->current_sheet;
	row->is_open = is_open;
	if (is_open)
		add_sheets(a, (int32_t)ranked->index, procs, n);
}

static void add_others(struct arrangement *a)
{
	size_t n;
	const struct ranked *procs = procs_of(a, -1, &n);
	struct top_row *row;

	if (!n)
		return;
	row = add_row(a->s, TOP_ROW_OTHERS, n, 0, TOP_KEY_OTHERS);
	row->has_children = true;
	row->is_open = !is_toggled(a->s, TOP_KEY_OTHERS);
	if (row->is_open)
		add_procs(a, procs, n, 1);
}

static void find_selected(struct top_state *s)
{
	for (size_t i = 0; i < s->rows.len; i++)
		if (s->rows.at[i].key == s->selected) {
			s->at = i;
			return;
		}
	/* It is gone: the one that is now in its place. */
	s->at = s->rows.len ? MIN(s->at, s->rows.len - 1) : 0;
	s->selected = s->rows.len && s->selected ? s->rows.at[s->at].key : 0;
	if (!s->selected)
		s->at = 0;
}

void top_state_arrange(struct top_state *s, const struct frame *f)
{
	struct arrangement a = { .s = s, .f = f };

	vec_reset(&s->rows);
	rank_procs(&a);
	rank_jobs(&a);
	vec_each(&a.jobs, job)
		add_job(&a, job);
	add_others(&a);
	vec_done(&a.procs);
	vec_done(&a.jobs);
	find_selected(s);
}

/* ---- the selection --------------------------------------------------------------------------- */

const struct top_row *top_state_row(const struct top_state *s)
{
	return s->at < s->rows.len ? &s->rows.at[s->at] : NULL;
}

void top_state_move(struct top_state *s, long by)
{
	long to = (long)s->at + by, last = (long)s->rows.len - 1;

	if (last < 0)
		return;
	s->at = (size_t)MAX(0L, MIN(to, last));
	s->selected = s->rows.at[s->at].key;
}

void top_state_toggle(struct top_state *s, uint64_t key)
{
	if (!map_del(&s->toggled, key))
		map_put(&s->toggled, key, 1);
}

static bool row_fits(const struct frame *f, const struct top_row *row, const char *part)
{
	switch (row->kind) {
	case TOP_ROW_JOB:
		return job_fits(f, &f->jobs.at[row->index], part);
	case TOP_ROW_SHEET:
		return contains(frame_str(f, f->sheets.at[row->index].label), part);
	case TOP_ROW_PROC:
		return proc_fits(f, &f->procs.at[row->index], part);
	case TOP_ROW_OTHERS:
	default:
		return false;
	}
}

bool top_state_find(struct top_state *s, const struct frame *f, bool from_here)
{
	for (size_t i = 0; i < s->rows.len; i++) {
		size_t at = (s->at + i + !from_here) % s->rows.len;

		if (!row_fits(f, &s->rows.at[at], s->search))
			continue;
		s->at = at;
		s->selected = s->rows.at[at].key;
		return true;
	}
	return false;
}

void top_state_select(struct top_state *s, const struct frame *f, struct job_key job, pid_t pid)
{
	for (size_t i = 0; i < s->rows.len; i++) {
		const struct top_row *row = &s->rows.at[i];
		bool is_job = row->kind == TOP_ROW_JOB &&
		              frame_is_of_job(f, f->jobs.at[row->index].id,
		                              f->jobs.at[row->index].uid, job);
		bool is_proc = row->kind == TOP_ROW_PROC && pid &&
		               f->procs.at[row->index].pid == pid;

		if (is_job || is_proc)
			top_state_move(s, (long)i - (long)s->at);
		if (is_proc)
			return;
	}
}

int32_t top_state_job_of(const struct frame *f, const struct top_row *row)
{
	if (!row || row->kind == TOP_ROW_OTHERS)
		return -1;
	if (row->kind == TOP_ROW_JOB)
		return (int32_t)row->index;
	return row->kind == TOP_ROW_SHEET ? f->sheets.at[row->index].job : f->procs.at[row->index].job;
}
