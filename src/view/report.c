/* SPDX-License-Identifier: MIT */
#include "view/report.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "model/own_program.h"
#include "view/job_view.h"

#define SHEETS_KEPT 10000
#define LEFT_TOLD 5 /* names */

void report_add_sheet(struct report *r, const struct sheet_record *s)
{
	struct sheet_record *kept = vec_push(&r->sheets, SHEETS_KEPT);

	if (kept)
		*kept = *s;
}

void report_add_sum(struct report *r, const struct job_sum_record *s)
{
	struct job_sum_record *kept = vec_push(&r->sums, REPORT_SUMS_MAX);

	if (kept)
		*kept = *s;
}

void report_add_gpu(struct report *r, const struct gpu_record *g)
{
	struct report_gpu *kept = vec_push(&r->gpus, REPORT_GPUS_MAX);

	if (!kept)
		return;
	kept->g = *g;
	kept->g.name = NULL;
	snprintf(kept->name, sizeof kept->name, "%s", g->name ? g->name : "");
}

/* The index of the program of that name. Past the ceiling all the others are one. */
static uint64_t find_program(struct report *r, const char *name)
{
	uint64_t hash = hash_bytes(HASH_SEED, name, strlen(name)), index;
	struct report_program *program;

	if (map_get(&r->program_of, hash, &index))
		return index;
	program = vec_push(&r->programs, REPORT_PROGRAMS_MAX);
	if (!program)
		return REPORT_PROGRAMS_MAX - 1;
	index = r->programs.len - 1;
	snprintf(program->name, sizeof program->name, "%s",
	         index == REPORT_PROGRAMS_MAX - 1 ? "(others)" : name);
	program->cpu_time_ns.quality = program->peak_rss_bytes.quality = QUALITY_COUNT;
	map_put(&r->program_of, hash, index);
	return index;
}

/* A sum is as good as its worst part; parts that are missing make it a lower bound. */
static void add_figure(struct figure *to, struct figure from, uint64_t value)
{
	if (!figure_is_known(from)) {
		if (to->quality == QUALITY_COUNT)
			to->quality = QUALITY_MISSING;
		else if (to->quality == QUALITY_EXACT)
			to->quality = QUALITY_AT_LEAST;
		return;
	}
	to->value = value;
	if (to->quality == QUALITY_MISSING)
		to->quality = QUALITY_AT_LEAST;
	to->quality = MIN(to->quality, from.quality);
}

/* All of them have one name. Parents are added before their children. */
static void pass_on(struct report *r, pid_t parent)
{
	struct report_program *program = &r->programs.at[find_program(r, OURS_NAME)];
	struct report_ours *ours;
	uint64_t index;

	if (!map_get(&r->ours, (uint64_t)parent, &index))
		return;
	ours = &r->programs_of_ours.at[index];
	program->failed -= ours->failed;
	program->signalled -= ours->signalled;
	ours->failed = ours->signalled = false;
	map_put(&r->passed, proc_key(ours->id), 1);
}

static void meet_ours(struct report *r, const struct process_record *p)
{
	struct report_ours *ours = vec_push(&r->programs_of_ours, REPORT_LIVES_MAX);

	if (!ours)
		return;
	*ours = (struct report_ours){ .id = p->id,
		                      .failed = p->has_exit_code && p->exit_code,
		                      .signalled = p->signal };
	map_put(&r->ours, (uint64_t)p->id.pid, r->programs_of_ours.len - 1);
}

static void tell_whose_failure(struct report *r, const struct process_record *p)
{
	bool has_failed = p->signal || (p->has_exit_code && p->exit_code);

	if (has_failed && r->ours.len)
		pass_on(r, p->ppid);
	if (p->comm && strcmp(p->comm, OURS_NAME) == 0)
		meet_ours(r, p);
}

static void count_program(struct report_program *program, const struct process_record *p)
{
	program->processes++;
	program->signalled += p->signal != 0;
	program->failed += p->has_exit_code && p->exit_code != 0;
	add_figure(&program->cpu_time_ns, p->cpu_time_ns,
	           program->cpu_time_ns.value + p->cpu_time_ns.value);
	add_figure(&program->peak_rss_bytes, p->peak_rss_bytes,
	           MAX(program->peak_rss_bytes.value, p->peak_rss_bytes.value));
}

static double share(struct figure part, struct figure whole)
{
	if (!figure_is_known(part) || !figure_is_known(whole) || !whole.value)
		return 0;
	return (double)part.value / (double)whole.value;
}

static double cost_of(const struct report *r, const struct process_record *p)
{
	const struct figure *f = r->job.figures;
	struct figure memory = figure_is_known(f[JOB_FIGURE_PEAK_TOTAL]) ? f[JOB_FIGURE_PEAK_TOTAL]
	                                                                 : f[JOB_FIGURE_PEAK_RSS];
	double cpu = share(p->cpu_time_ns, f[JOB_FIGURE_CPU]);
	double peak = share(p->peak_rss_bytes, memory);

	return MAX(cpu, peak);
}

static void keep_costly(struct report *r, const struct process_record *p)
{
	double cost = cost_of(r, p);
	size_t at = r->n_costly;

	while (at > 0 && r->costly[at - 1].cost < cost)
		at--;
	if (at == REPORT_COSTLY)
		return;
	r->n_costly = MIN(r->n_costly + 1, (size_t)REPORT_COSTLY);
	memmove(&r->costly[at + 1], &r->costly[at], (r->n_costly - 1 - at) * sizeof *r->costly);
	r->costly[at] = (struct report_process){ .p = *p, .cost = cost };
	snprintf(r->costly[at].name, COMM_LEN, "%s", p->comm ? p->comm : "");
	snprintf(r->costly[at].command, sizeof r->costly[at].command, "%s",
	         p->command ? p->command : "");
	r->costly[at].p.comm = r->costly[at].p.command = NULL;
}

static void name_left(struct report *r, const struct process_record *p)
{
	size_t used = strlen(r->left);

	if (r->unended++ < LEFT_TOLD)
		snprintf(r->left + used, sizeof r->left - used, "%s%s %d", used ? ", " : "",
		         p->comm ? p->comm : "?", p->id.pid);
}

void report_add_process(struct report *r, const struct process_record *p)
{
	uint64_t index = find_program(r, p->comm && *p->comm ? p->comm : "?"), known;

	r->processes++;
	if (!p->ended_ns)
		name_left(r, p);
	count_program(&r->programs.at[index], p);
	tell_whose_failure(r, p);
	keep_costly(r, p);
	if (r->processes > REPORT_LIVES_MAX)
		return;
	map_put(&r->lives, proc_key(p->id), index);
	if (!map_get(&r->pids, (uint64_t)p->id.pid, &known)) {
		map_put(&r->pids, (uint64_t)p->id.pid, 1);
		r->unique_pids++;
	}
}

const char *report_name_of(const struct report *r, struct proc_id id)
{
	uint64_t index;

	return map_get(&r->lives, proc_key(id), &index) ? r->programs.at[index].name : NULL;
}

bool report_has_data(const struct report *r)
{
	if (r->processes || r->sums.len || r->sheets.len || r->notes.len || r->marks.len)
		return true;
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++)
		if (figure_is_known(r->job.figures[i]))
			return true;
	return false;
}

uint64_t report_took_ns(const struct report *r)
{
	const struct job *job = &r->job;
	uint64_t end = job->status == JOB_RUNNING ? r->now_ns : job->ended_ns;

	if (job->took_ns)
		return job->took_ns;
	return end > job->started_ns ? end - job->started_ns : 0;
}

void report_done(struct report *r)
{
	vec_done(&r->sheets);
	vec_done(&r->programs);
	vec_done(&r->notes);
	vec_done(&r->marks);
	vec_done(&r->sums);
	vec_done(&r->gpus);
	vec_done(&r->anomalies);
	map_done(&r->program_of);
	map_done(&r->lives);
	map_done(&r->pids);
	map_done(&r->note_of);
	map_done(&r->killed);
	map_done(&r->ours);
	map_done(&r->passed);
	vec_done(&r->programs_of_ours);
}
