/* SPDX-License-Identifier: MIT */
#include "view/report_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "view/blocked_view.h"
#include "view/facts.h"
#include "view/flight_view.h"
#include "view/format.h"
#include "view/job_view.h"
#include "view/note_view.h"
#include "view/report_curves.h"
#include "view/table.h"

/* Of a shorter job the share means nothing: what a recorder takes to start outweighs it. */
#define SHARE_LEAST_NS NS_PER_S

static void begin_figure(struct facts *f, const struct job *job, const char *label,
                         enum job_figure id)
{
	facts_begin(f, label, job_quality(job, job->figures[id].quality).at);
}

static void put_when(struct facts *f, const struct report *r)
{
	const struct job *job = &r->job;
	uint64_t took = job_took_ns(&r->job, r->now_ns);

	facts_part(f, "%s", format_time(job->started_ns).at);
	if (job->ended_ns)
		facts_join(f, FACT_WORD, "to %s",
		           took < 12 * 3600 * NS_PER_S ? format_clock(job->ended_ns).at
		                                       : format_time(job->ended_ns).at);
	if (took && job_command_ns(job))
		facts_join(f, FACT_WORD, "(%s%s, its command %s)", format_duration(took).at,
		           job_allowed_time_words(job).at, format_duration(job_command_ns(job)).at);
	else if (took)
		facts_join(f, FACT_WORD, "(%s%s%s%s)", job->status == JOB_LOST ? "at least " : "",
		           format_duration(took).at, job->status == JOB_RUNNING ? " so far" : "",
		           job_allowed_time_words(job).at);
	if (*r->host)
		facts_part(f, "host %s", r->host);
	if (*r->user)
		facts_join(f, *r->host ? FACT_COMMA : FACT_GLANCE, "user %s", r->user);
}

static void put_tags(struct facts *f, const char *tags)
{
	struct scan at = scan_str(tags);
	struct buf key = { 0 }, value = { 0 };
	bool is_first = true;

	while (job_tags_next(&at, &key, &value)) {
		if (is_first)
			facts_begin(f, "tags", "");
		facts_join(f, FACT_COMMA, "%s=%s", key.at ? key.at : "", value.at ? value.at : "");
		is_first = false;
	}
	buf_done(&key);
	buf_done(&value);
}

static void put_head(const struct report *r, struct canvas *to)
{
	const struct job *job = &r->job;
	struct facts f = { .indent = 2, .label_columns = 10 };

	facts_begin_head(&f, job->id, "");
	facts_part(&f, "%s", job->type);
	facts_part(&f, "%s%s", job->status == JOB_FAILED ? "FAILED: " : "", job_result(job).at);
	put_when(&f, r);
	facts_ink(&f, job->status == JOB_FAILED ? INK_BAD : INK_PLAIN);
	if (*job->command) {
		facts_begin(&f, "command", "");
		facts_part(&f, "%s", job->command);
	}
	if (*job->cwd) {
		facts_begin(&f, "in", "");
		facts_part(&f, "%s", job->cwd);
	}
	if (*job->parent) {
		facts_begin(&f, "part of", "");
		facts_join(&f, FACT_WHOLE, "job %s", job->parent);
	}
	put_tags(&f, job->tags);
	facts_print(&f, to);
	facts_done(&f);
}

static void put_cpu_parts(struct facts *f, const struct job *job)
{
	if (job_cpu_parts(job) == QUALITY_MISSING)
		return;
	facts_part(f, "%s user", job_figure_words(job, JOB_FIGURE_CPU_USER).at);
	facts_comma(f, "%s sys", job_figure_words(job, JOB_FIGURE_CPU_SYSTEM).at);
}

static void put_cpu(struct facts *f, const struct report *r)
{
	const struct job *job = &r->job;
	enum quality parts = job_cpu_parts(job);
	struct words busy = job_cores_words(job, r->cpus);

	begin_figure(f, job, "CPU", JOB_FIGURE_CPU);
	facts_part(f, "%s", job_figure_words(job, JOB_FIGURE_CPU).at);
	if (parts == job->figures[JOB_FIGURE_CPU].quality)
		put_cpu_parts(f, job);
	if (*busy.at)
		facts_part(f, "%s", busy.at);
	if (parts != job->figures[JOB_FIGURE_CPU].quality && parts != QUALITY_MISSING) {
		facts_begin(f, "", job_quality(job, parts).at);
		put_cpu_parts(f, job);
	}
	if (job_count(job, JOB_FIGURE_CPU_THROTTLED)) {
		begin_figure(f, job, "", JOB_FIGURE_CPU_THROTTLED);
		facts_part(f, "%s held back by its limit",
		           job_figure_words(job, JOB_FIGURE_CPU_THROTTLED).at);
	}
}

static void put_memory(struct facts *f, const struct job *job)
{
	begin_figure(f, job, "Memory", JOB_FIGURE_PEAK_USED);
	facts_part(f, "%s", job_figure_words(job, JOB_FIGURE_PEAK_USED).at);
	facts_join(f, FACT_WORD, "%s",
	           job_knows(job, JOB_FIGURE_PEAK_USED) ? "used" : "how much was used");
	if (job_knows(job, JOB_FIGURE_PEAK_AT))
		facts_join(f, FACT_WORD, "at %s", job_figure_words(job, JOB_FIGURE_PEAK_AT).at);
	job_put_allowed_memory(f, job);
	if (job_knows(job, JOB_FIGURE_PEAK_CHARGED)) {
		begin_figure(f, job, "", JOB_FIGURE_PEAK_CHARGED);
		facts_part(f, "%s charged", job_figure_words(job, JOB_FIGURE_PEAK_CHARGED).at);
		facts_join(f, FACT_WORD, "to its control group");
		facts_comma(f, "page cache included");
	}
	begin_figure(f, job, "", JOB_FIGURE_PEAK_RSS);
	facts_part(f, "%s", job_figure_words(job, JOB_FIGURE_PEAK_RSS).at);
	facts_join(f, FACT_WORD, "%s",
	           job_knows(job, JOB_FIGURE_PEAK_RSS) ? "largest process"
	                                               : "for the largest process");
	if (job->hungriest_pid)
		facts_comma(f, "%s %d", job->hungriest, job->hungriest_pid);
}

static void put_io(struct facts *f, const struct job *job)
{
	struct figure read = job->figures[JOB_FIGURE_READ],
		      written = job->figures[JOB_FIGURE_WRITTEN];

	facts_begin(f, "I/O", job_quality(job, quality_join(read.quality, written.quality)).at);
	if (!figure_is_known(read) && !figure_is_known(written)) {
		facts_part(f, "not known");
		return;
	}
	facts_part(f, "%s read", job_figure_words(job, JOB_FIGURE_READ).at);
	facts_comma(f, "%s written", job_figure_words(job, JOB_FIGURE_WRITTEN).at);
}

static void put_gpu_memory(struct facts *f, const struct gpu_record *g)
{
	uint64_t held = (uint64_t)g->mem_peak_bytes;

	if (!isfinite(g->mem_peak_bytes))
		return;
	facts_part(f, "%s held",
	           isfinite(g->mem_total_bytes)
	                   ? format_bytes_of(held, (uint64_t)g->mem_total_bytes).at
	                   : format_bytes(held).at);
	if (isfinite(g->own_peak_bytes))
		facts_comma(f, "%s by this job", format_bytes((uint64_t)g->own_peak_bytes).at);
}

/* "71 % busy, 99 % peak   14.2 of 24.0 GiB held, 13.9 GiB by this job   212 Wh" */
static void put_gpu(struct facts *f, const struct report *r, const struct gpu_record *g)
{
	double hours = (double)job_took_ns(&r->job, r->now_ns) / 3600e9;
	bool is_known = isfinite(g->util_mean_ratio) || isfinite(g->mem_peak_bytes);
	char label[24];

	snprintf(label, sizeof label, "GPU %u", g->index);
	facts_begin(f, label,
	            job_quality(&r->job, is_known ? QUALITY_SAMPLED : QUALITY_MISSING).at);
	if (isfinite(g->util_mean_ratio)) {
		facts_part(f, "%s busy", format_percent(g->util_mean_ratio).at);
		facts_comma(f, "%s peak", format_percent(g->util_max_ratio).at);
	} else {
		facts_part(f, "load not known");
	}
	put_gpu_memory(f, g);
	if (isfinite(g->power_mean_w))
		facts_part(f, "%.3g Wh", g->power_mean_w * hours);
}

/* Those of the job; where the driver does not list processes, all. */
static void put_gpus(struct facts *f, const struct report *r)
{
	const struct job *job = &r->job;
	bool knows = job_knows(job, JOB_FIGURE_GPUS);

	vec_each(&r->gpus, gpu)
		if (!knows || gpu->g.is_used)
			put_gpu(f, r, &gpu->g);
	if (job_knows(job, JOB_FIGURE_GPU_TIME)) {
		begin_figure(f, job, "  this job", JOB_FIGURE_GPU_TIME);
		facts_part(f, "%s busy", job_figure_words(job, JOB_FIGURE_GPU_SM).at);
		facts_comma(f, "%s GPU time", job_figure_words(job, JOB_FIGURE_GPU_TIME).at);
		if (job_count(job, JOB_FIGURE_GPUS) > 1)
			facts_comma(f, "all GPUs added");
	} else if (r->gpus.len && !knows && job_knows(job, JOB_FIGURE_GPU_UTIL)) {
		facts_begin(f, "  this job", job_quality(job, QUALITY_MISSING).at);
		facts_part(f, "not known: the driver does not say whose processes these are");
	}
}

static void put_processes(struct facts *f, const struct job *job)
{
	static const struct {
		enum job_figure id;
		const char *word;
		bool if_any;
	} parts[] = {
		{ JOB_FIGURE_EXITED, "ended", false },
		{ JOB_FIGURE_FAILED, "failed", false },
		{ JOB_FIGURE_SIGNALLED, "died of a signal", true },
		{ JOB_FIGURE_OOM_KILLS, "out of memory", true },
		{ JOB_FIGURE_LEAKED, "left behind", false },
	};

	begin_figure(f, job, "Processes", JOB_FIGURE_PROCESSES);
	facts_part(f, "%s%s%s", job_figure_words(job, JOB_FIGURE_PROCESSES).at,
	           job_knows(job, JOB_FIGURE_PROCESSES) ? " " : "",
	           job_knows(job, JOB_FIGURE_PROCESSES) ? job_processes_verb(job) : "");
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (parts[i].id == JOB_FIGURE_FAILED ? job_counts_failed(job)
		    : parts[i].if_any                ? job_count(job, parts[i].id) != 0
		                                     : job_knows(job, parts[i].id))
			facts_comma(f, "%s %s", job_figure_words(job, parts[i].id).at,
			            parts[i].word);
	if (job_late(job))
		facts_comma(f, "%s ended after the command", format_count(job_late(job)).at);
}

#define SYSCALLS_SHOWN 5

static void put_syscalls(struct facts *f, const struct report *r)
{
	const struct job *job = &r->job;

	if (!r->syscalls.len)
		return;
	begin_figure(f, job, "Syscalls", JOB_FIGURE_SYSCALLS);
	facts_part(f, "%s in %s", job_figure_words(job, JOB_FIGURE_SYSCALLS).at,
	           job_figure_words(job, JOB_FIGURE_SYSCALL_TIME).at);
	for (size_t i = 0; i < MIN(r->syscalls.len, (size_t)SYSCALLS_SHOWN); i++)
		facts_join(f, i ? FACT_COMMA : FACT_GLANCE, "%s %s", r->syscalls.at[i].name,
		           format_percent(r->syscalls.at[i].time_ratio).at);
}

/* What is shown as allowed beside the figure that it limits is not repeated. */
static bool is_shown_as_allowed(const struct job *job, enum job_limit limit)
{
	const struct allowance *allowed = &job->allowed;

	switch (limit) {
	case JOB_LIMIT_MEM:
		return job->limit[limit] == allowed->memory_bytes;
	case JOB_LIMIT_CPU:
		return job->limit[limit] == allowed->milli_cores && job_knows(job, JOB_FIGURE_CPU);
	case JOB_LIMIT_TIME:
		return job->limit[limit] == allowed->time_ns;
	case JOB_LIMIT_PIDS:
	case JOB_LIMIT_USER_PIDS:
	case JOB_LIMIT_COUNT:
		break;
	}
	return false;
}

static void put_limits(struct facts *f, const struct job *job)
{
	static const char *const names[] = { [JOB_LIMIT_MEM] = "memory",
		                             [JOB_LIMIT_CPU] = "CPU",
		                             [JOB_LIMIT_PIDS] = "",
		                             [JOB_LIMIT_TIME] = "time",
		                             [JOB_LIMIT_USER_PIDS] = "" };
	bool is_first = true;

	for (enum job_limit i = 0; i < JOB_LIMIT_COUNT; i++) {
		bool is_met = job->limits_hit >> i & 1;

		if (!job->limit[i] || (!is_met && is_shown_as_allowed(job, i)))
			continue;
		if (is_first)
			facts_begin(f, "Limits", "");
		facts_comma(f, "%s%s%s%s", names[i], *names[i] ? " " : "",
		            job_limit_words(job, i).at, is_met ? " (met)" : "");
		is_first = false;
	}
	if (job->limit[JOB_LIMIT_USER_PIDS])
		facts_join(f, FACT_WORD, "%s", JOB_USER_PIDS_WORDS);
}

static void put_recorder(struct facts *f, const struct report *r)
{
	const struct job *job = &r->job;
	struct figure cpu = job->figures[JOB_FIGURE_SELF_CPU];
	uint64_t took = job_took_ns(&r->job, r->now_ns);

	begin_figure(f, job, "Recorder", JOB_FIGURE_SELF_CPU);
	if (figure_is_known(cpu) && took) {
		facts_part(f, "%s CPU", format_duration(cpu.value).at);
		if (took >= SHARE_LEAST_NS)
			facts_comma(f, "%s of a core",
			            format_percent((double)cpu.value / (double)took).at);
	} else {
		facts_part(f, "not known");
	}
	if (job_knows(job, JOB_FIGURE_SELF_RSS))
		facts_comma(f, "%s", job_figure_words(job, JOB_FIGURE_SELF_RSS).at);
	if (*job->tier) {
		facts_begin(f, "Watched by", "");
		facts_part(f, "%s", job->tier);
	}
}

static void put_totals(const struct report *r, struct canvas *to)
{
	struct facts f = { .indent = 2, .label_columns = 13 };

	canvas_title(to, "Totals");
	put_cpu(&f, r);
	put_memory(&f, &r->job);
	put_io(&f, &r->job);
	put_gpus(&f, r);
	put_processes(&f, &r->job);
	put_syscalls(&f, r);
	put_limits(&f, &r->job);
	put_recorder(&f, r);
	facts_print(&f, to);
	facts_done(&f);
}

/* ---- tables -------------------------------------------------------------------------------------- */

#define SHEETS_SHOWN 40
#define PROGRAMS_SHOWN 8

static void add_count(struct table *t, uint64_t n)
{
	table_add(t, format_count(n).at, INK_PLAIN);
}

/* Known from samples only; none found it busy if they have 0 and CPU time was used. */
static void add_sampled_percent(struct table *t, double ratio, bool is_used)
{
	char text[sizeof(struct fmt) + 1];

	snprintf(text, sizeof text, "~%s", format_percent(ratio).at);
	table_add_figure(t, isfinite(ratio) && (ratio > 0 || !is_used) ? text : NULL, INK_PLAIN);
}

static void add_span(struct table *t, uint64_t from_ns, uint64_t to_ns)
{
	table_add_figure(t, from_ns && to_ns > from_ns ? format_duration(to_ns - from_ns).at : NULL,
	                 INK_PLAIN);
}

/* The row of a sheet is that of its last attempt. */
static unsigned attempts(const struct report *r, uint32_t sheet)
{
	unsigned n = 1;

	vec_each(&r->marks, m)
		n += m->sheet == sheet && strcmp(m->name, "sheet.retried") == 0;
	return n;
}

/* Where the processes of the job were counted by sampling, those of its sheets were, too. */
static struct figure sheet_processes(const struct job *job, const struct sheet_record *s)
{
	bool is_bound = job->figures[JOB_FIGURE_PROCESSES].quality == QUALITY_AT_LEAST;

	return (struct figure){ s->use.processes, is_bound ? QUALITY_AT_LEAST : QUALITY_EXACT };
}

static void add_sheet(struct table *t, const struct canvas *to, const struct job *job,
                      const struct sheet_record *s, unsigned attempt)
{
	char name[SHEET_LABEL_MAX + 16], result[sizeof(struct words) + 24];

	snprintf(name, sizeof name, "%u %s", s->s.num, s->s.label);
	table_add(t, name, INK_PLAIN);
	add_span(t, s->s.started_ns, s->s.ended_ns);
	job_add_figure(t, s->use.figures[SHEET_FIGURE_CPU], UNIT_NS, to->unicode);
	job_add_figure(t, s->use.figures[SHEET_FIGURE_PEAK_RSS], UNIT_MIB, to->unicode);
	add_sampled_percent(t, s->use.max_cpu_ratio, s->use.figures[SHEET_FIGURE_CPU].value > 0);
	job_add_figure(t, sheet_processes(job, s), UNIT_COUNT, to->unicode);
	snprintf(result, sizeof result, "%s", sheet_result(&s->s).at);
	if (attempt > 1)
		snprintf(result, sizeof result, "%s, attempt %u", sheet_result(&s->s).at, attempt);
	table_add(t, result, job_ink(s->s.status));
}

static void put_missing_reasons(const struct report *r, struct canvas *to)
{
	for (size_t i = 0; i < MIN(r->sheets.len, (size_t)SHEETS_SHOWN); i++) {
		const struct sheet_record *s = &r->sheets.at[i];
		const char *reason = sheet_lack_reason(s->use.lack);

		if (reason)
			canvas_printf(to, INK_PLAIN, "  sheet %u has no figures: %s\n", s->s.num,
			              reason);
	}
}

static void put_sheets(const struct report *r, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ "sheet", TABLE_LEFT, .min_width = 12 },
		{ "took", TABLE_RIGHT },
		{ "cpu", TABLE_RIGHT, 1 },
		{ "peak", TABLE_RIGHT, 2 },
		{ "max cpu", TABLE_RIGHT, 4 },
		{ "procs", TABLE_RIGHT, 3 },
		{ "result", TABLE_LEFT, .min_width = 9 },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };

	for (size_t i = 0; i < MIN(r->sheets.len, (size_t)SHEETS_SHOWN); i++)
		add_sheet(&t, to, &r->job, &r->sheets.at[i], attempts(r, r->sheets.at[i].s.num));
	table_print_section(&t, "Sheets", r->sheets.len, "sheet", to);
	put_missing_reasons(r, to);
}

/* Pointers to the elements of an array, in another order. */
static const void **sorted(const void *array, size_t n, size_t size,
                           int (*compare)(const void *a, const void *b))
{
	const void **list = xcalloc(MAX(n, (size_t)1), sizeof *list);

	for (size_t i = 0; i < n; i++)
		list[i] = (const char *)array + i * size;
	qsort(list, n, sizeof *list, compare);
	return list;
}

static int by_cost(const void *a, const void *b)
{
	const struct report_program *x = *(const struct report_program *const *)a,
				    *y = *(const struct report_program *const *)b;

	if (x->cpu_time_ns.value != y->cpu_time_ns.value)
		return x->cpu_time_ns.value < y->cpu_time_ns.value ? 1 : -1;
	if (x->processes != y->processes)
		return x->processes < y->processes ? 1 : -1;
	return (x > y) - (x < y);
}

static void add_program(struct table *t, const struct canvas *to, const struct report_program *p)
{
	table_add(t, p->name, INK_PLAIN);
	add_count(t, p->processes);
	job_add_figure(t, p->cpu_time_ns, UNIT_NS, to->unicode);
	job_add_figure(t, p->peak_rss_bytes, UNIT_MIB, to->unicode);
	table_add(t, format_count(p->failed).at, p->failed ? INK_WARN : INK_PLAIN);
	table_add(t, format_count(p->signalled).at, p->signalled ? INK_BAD : INK_PLAIN);
}

static void put_programs(const struct report *r, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ "name", TABLE_LEFT, .min_width = 10 },
		{ "procs", TABLE_RIGHT },
		{ "cpu", TABLE_RIGHT },
		{ "largest", TABLE_RIGHT, 1 },
		{ "failed", TABLE_RIGHT, 2 },
		{ "signalled", TABLE_RIGHT, 3 },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };
	cleanup(freep) const void **list = sorted(r->programs.at, r->programs.len,
	                                          sizeof *r->programs.at, by_cost);

	if (r->programs.len < 2) /* the totals show the same */
		return;
	for (size_t i = 0; i < MIN(r->programs.len, (size_t)PROGRAMS_SHOWN); i++)
		add_program(&t, to, list[i]);
	table_print_section(&t, "Programs", r->programs.len, "name", to);
}

static void add_process(struct table *t, const struct report *r, const struct canvas *to,
                        const struct report_process *p)
{
	struct words end = exit_words(p->p.has_exit_code, p->p.exit_code, p->p.signal,
	                              p->p.core_dumped);
	bool is_alive = !p->p.ended_ns && r->job.status == JOB_RUNNING;
	bool is_left = !p->p.ended_ns && job_count(&r->job, JOB_FIGURE_LEAKED);
	char pid[16];

	snprintf(pid, sizeof pid, "%d", p->p.id.pid);
	table_add(t, pid, INK_PLAIN);
	job_add_figure(t, p->p.cpu_time_ns, UNIT_NS, to->unicode);
	job_add_figure(t, p->p.peak_rss_bytes, UNIT_MIB, to->unicode);
	add_span(t, p->p.started_ns, p->p.ended_ns);
	table_add_figure(t,
	                 is_alive  ? "lives"
	                 : *end.at ? end.at
	                 : is_left ? "left behind"
	                           : NULL,
	                 p->p.signal      ? INK_BAD
	                 : p->p.exit_code ? INK_WARN
	                                  : INK_PLAIN);
	table_add(t, *p->command ? p->command : p->name, INK_PLAIN);
}

static void put_order(struct canvas *to)
{
	canvas_put(to, INK_PLAIN, "  by CPU time, then peak memory\n");
}

static void put_costly(const struct report *r, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ "pid", TABLE_RIGHT },      { "cpu", TABLE_RIGHT },
		{ "peak", TABLE_RIGHT, 1 },  { "lived", TABLE_RIGHT, 3 },
		{ "ended", TABLE_RIGHT, 2 }, { "command", TABLE_LEFT, .min_width = 12 },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };

	if (r->processes < 2 || !r->n_costly)
		return;
	for (size_t i = 0; i < r->n_costly; i++)
		add_process(&t, r, to, &r->costly[i]);
	canvas_title(to, "Most costly processes");
	put_order(to);
	table_print(&t, to);
	table_done(&t);
}

/* ---- marks and notes ----------------------------------------------------------------------------- */

#define MARKS_FIRST 3
#define MARKS_LAST 10
#define NOTES_SHOWN 15

static void add_offset(struct table *t, const struct report *r, uint64_t wall_ns)
{
	uint64_t after = wall_ns > r->job.started_ns ? wall_ns - r->job.started_ns : 0;

	table_add(t, format_offset(after).at, INK_QUIET);
}

static void put_rest(const struct report *r, uint64_t rest, const char *options, struct canvas *to)
{
	if (!rest)
		return;
	canvas_printf(to, INK_PLAIN, "  … and %s more; see: proctor events ",
	              format_count(rest).at);
	canvas_text(to, INK_PLAIN, r->job.id, strlen(r->job.id), SIZE_MAX);
	canvas_printf(to, INK_PLAIN, "%s\n", options);
}

/* A phase is recorded when it ends; it is listed where it began. */
static uint64_t begin_of(const struct report_mark *m)
{
	return m->wall_ns - MIN(m->took_ns, m->wall_ns);
}

static int by_begin(const void *a, const void *b)
{
	const struct report_mark *x = *(const struct report_mark *const *)a,
				 *y = *(const struct report_mark *const *)b;

	if (begin_of(x) != begin_of(y))
		return begin_of(x) < begin_of(y) ? -1 : 1;
	return (x > y) - (x < y);
}

static void add_mark(struct table *t, const struct report *r, const struct report_mark *m)
{
	add_offset(t, r, begin_of(m));
	table_add(t, m->name, INK_PLAIN);
	table_add(t, m->took_ns ? format_duration(m->took_ns).at : "mark",
	          m->took_ns ? INK_PLAIN : INK_QUIET);
	table_add(t, strcmp(m->data, "{}") == 0 ? "" : m->data, INK_PLAIN);
}

static void add_gap(struct table *t)
{
	table_add(t, "", INK_QUIET);
	table_add(t, "…", INK_QUIET);
	table_add(t, "", INK_QUIET);
	table_add(t, "", INK_QUIET);
}

static void put_marks(const struct report *r, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ NULL, TABLE_RIGHT },
		{ NULL, TABLE_LEFT, .min_width = 10 },
		{ NULL, TABLE_RIGHT },
		{ NULL, TABLE_LEFT, .min_width = 8 },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };
	cleanup(freep) const void **list = sorted(r->marks.at, r->marks.len, sizeof *r->marks.at,
	                                          by_begin);
	size_t n = r->marks.len, first = n > MARKS_FIRST + MARKS_LAST ? MARKS_FIRST : n;
	uint64_t rest = first < n ? n - MARKS_FIRST - MARKS_LAST + r->marks_dropped : 0;

	if (!n)
		return;
	for (size_t i = 0; i < first; i++)
		add_mark(&t, r, list[i]);
	if (rest)
		add_gap(&t);
	for (size_t i = first < n ? n - MARKS_LAST : n; i < n; i++)
		add_mark(&t, r, list[i]);
	canvas_title(to, "Marks and phases");
	table_print(&t, to);
	put_rest(r, rest, " --kind mark,phase", to);
	table_done(&t);
}

static int by_rank(const void *a, const void *b)
{
	const struct report_note *x = *(const struct report_note *const *)a,
				 *y = *(const struct report_note *const *)b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x > y) - (x < y); /* then in the order of time */
}

static int by_time(const void *a, const void *b)
{
	const struct report_note *x = *(const struct report_note *const *)a,
				 *y = *(const struct report_note *const *)b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return (x > y) - (x < y);
}

static void add_note(struct table *t, const struct report *r, const struct report_note *note)
{
	struct note_words words = note_view(r, note);
	char text[REPORT_TEXT_MAX + 48];

	if (note->count > 1)
		snprintf(text, sizeof text, "%s (%s times)", words.text,
		         format_count(note->count).at);
	else
		snprintf(text, sizeof text, "%s", words.text);
	add_offset(t, r, note->first_ns);
	table_add(t, words.what, words.ink);
	table_add(t, text, INK_PLAIN);
}

static void put_notes(const struct report *r, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ NULL, TABLE_RIGHT },
		{ NULL, TABLE_LEFT, .min_width = 9 },
		{ NULL, TABLE_LEFT, .min_width = 18, .wraps = true },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };
	cleanup(freep)
		const void **list = sorted(r->notes.at, r->notes.len, sizeof *r->notes.at, by_rank);
	size_t n = r->notes.len, shown = MIN(n, (size_t)NOTES_SHOWN);

	if (!n)
		return;
	qsort(list, shown, sizeof *list, by_time);
	for (size_t i = 0; i < shown; i++)
		add_note(&t, r, list[i]);
	canvas_title(to, "Events worth knowing");
	table_print(&t, to);
	put_rest(r, n - shown + r->notes_dropped, "", to);
	table_done(&t);
}

void report_view(const struct report *r, struct canvas *to)
{
	put_head(r, to);
	if (!report_has_data(r)) {
		canvas_put(to, INK_PLAIN,
		           "\nno data: nothing was recorded of it but that it was there\n");
		return;
	}
	put_totals(r, to);
	blocked_view(r->blocked.list.at, r->blocked.list.len, to);
	report_curves(r, to);
	put_sheets(r, to);
	put_programs(r, to);
	put_costly(r, to);
	put_marks(r, to);
	put_notes(r, to);
	flight_view(r, to);
}

void report_text(const struct report *r, struct buf *to)
{
	const struct style plain = { .width = REPORT_TEXT_COLUMNS, .unicode = true };

	report_view(r, CANVAS(&plain, to));
}
