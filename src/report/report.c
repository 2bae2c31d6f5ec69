/* SPDX-License-Identifier: MIT */
#include "report/report.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/user_names.h"
#include "model/flight.h"
#include "model/own_process.h"

#define SHEETS_KEPT 10000

int report_add_sheet(void *report, const struct sheet_record *s)
{
	struct report *r = report;
	struct sheet_record *kept = vec_push(&r->sheets, SHEETS_KEPT);

	if (kept)
		*kept = *s;
	return 0;
}

int report_add_sum(void *report, const struct job_sum_record *s)
{
	struct report *r = report;
	struct job_sum_record *kept = vec_push(&r->sums, REPORT_SUMS_MAX);

	if (kept)
		*kept = *s;
	return 0;
}

static int add_syscall(void *report, const struct syscall_record *s)
{
	struct report *r = report;
	struct syscall_record *kept = vec_push(&r->syscalls, REPORT_SYSCALLS_MAX);

	if (!kept)
		return 0;
	*kept = *s;
	if (r->callers.len)
		r->callers.at[r->callers.len - 1].len++;
	else
		r->n_syscalls++;
	return 0;
}

static bool add_caller(struct report *r, uint32_t sheet, struct proc_id id)
{
	struct report_caller *c = vec_push(&r->callers, REPORT_CALLERS_MAX);

	if (c)
		*c = (struct report_caller){ .sheet = sheet, .id = id, .at = r->syscalls.len };
	return c != NULL;
}

const struct report_caller *report_find_caller(const struct report *r, uint32_t sheet,
                                               struct proc_id id)
{
	vec_each(&r->callers, c)
		if (c->len && (id.pid ? proc_id_eq(c->id, id) : c->sheet && c->sheet == sheet))
			return c;
	return NULL;
}

/* Half of the room is for sheets: each is read by itself. */
static int add_callers(struct report *r, struct history *history, struct err *err)
{
	struct job_key key = job_key_of(&r->job);
	int n = 0;

	for (size_t i = 0; n >= 0 && i < MIN(r->sheets.len, (size_t)REPORT_CALLERS_MAX / 2); i++) {
		uint32_t num = r->sheets.at[i].s.num;

		if (!report_find_caller(r, num, (struct proc_id){ 0 }) &&
		    add_caller(r, num, (struct proc_id){ 0 }))
			n = history_job_syscalls(history, key, num, add_syscall, r, err);
	}
	for (size_t i = 0; n >= 0 && i < r->n_costly; i++)
		if (add_caller(r, 0, r->costly[i].p.id))
			n = history_process_syscalls(history, key, r->costly[i].p.id, add_syscall,
			                             r, err);
	return n;
}

static struct report_flight *get_flight(struct report *r, const struct last_call_record *c)
{
	struct report_flight *f = r->flights.len ? &r->flights.at[r->flights.len - 1] : NULL;

	if (f && proc_id_eq(f->end.process, c->process))
		return f;
	f = vec_push(&r->flights, REPORT_FLIGHTS_MAX);
	if (!f)
		return NULL;
	*f = (struct report_flight){ .end = *c, .at = r->calls.len };
	f->end.comm = f->end.call = f->end.error = f->end.text = NULL;
	snprintf(f->name, sizeof f->name, "%s", c->comm);
	return f;
}

int report_add_last_call(void *report, const struct last_call_record *c)
{
	struct report *r = report;
	struct report_flight *f = c->text ? get_flight(r, c) : NULL;
	struct report_call *kept = f ? vec_push(&r->calls, REPORT_CALLS_MAX) : NULL;

	verdict_facts_add_call(&r->facts, c);
	r->flights_left_out += !c->text;
	if (!kept)
		return 0;
	kept->c = *c;
	kept->c.comm = kept->c.call = kept->c.error = kept->c.text = NULL;
	snprintf(kept->call, sizeof kept->call, "%s", c->call ? c->call : "");
	snprintf(kept->error, sizeof kept->error, "%s", c->error ? c->error : "");
	kept->text_at = r->call_text.len;
	if (!buf_put(&r->call_text, c->text, strlen(c->text) + 1)) {
		r->calls.len--;
		return 0;
	}
	f->has_threads |= c->tid != r->calls.at[f->at].c.tid;
	f->len++;
	return 0;
}

int report_add_gpu(void *report, const struct gpu_record *g)
{
	struct report *r = report;
	struct report_gpu *kept = vec_push(&r->gpus, REPORT_GPUS_MAX);

	if (!kept)
		return 0;
	kept->g = *g;
	snprintf(kept->name, sizeof kept->name, "%s", g->name ? g->name : "");
	return 0;
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

/* A sum is as good as its worst part. Parts that are missing make it a lower bound, and those that were
 * sampled leave it one. */
static enum quality quality_of_sum(enum quality sum, enum quality part)
{
	enum quality a = sum == QUALITY_MISSING ? QUALITY_AT_LEAST : sum;
	enum quality b = part == QUALITY_MISSING ? QUALITY_AT_LEAST : part;

	if (sum == QUALITY_COUNT || sum == part)
		return part;
	if (a != QUALITY_AT_MOST && b != QUALITY_AT_MOST &&
	    (a == QUALITY_AT_LEAST || b == QUALITY_AT_LEAST))
		return QUALITY_AT_LEAST;
	return quality_join(a, b);
}

static void add_figure(struct figure *to, struct figure from, uint64_t value)
{
	if (figure_is_known(from))
		to->value = value;
	to->quality = quality_of_sum(to->quality, from.quality);
}

/* That of a program may be unknown: it was gone before it could be read. */
static const char *name_of(const struct process_record *p)
{
	return p->comm && *p->comm ? p->comm : "?";
}

/* Helpers of ours are one program with us. */
static const char *program_of(const struct process_record *p)
{
	return own_process_has_name(name_of(p)) ? OURS_NAME : name_of(p);
}

/* Parents are added before their children. While one of ours forks its helper it has the helper's name,
 * and may be stored with it. */
static void count_failure(struct report *r, struct report_program *program,
                          const struct process_record *p)
{
	bool failed = p->has_exit_code && p->exit_code != 0, signalled = p->signal != 0;
	struct report_program *ours;
	struct failure_change change;

	if (own_process_has_name(name_of(p)))
		failure_owner_exec(&r->failures, p->id, OURS_NAME);
	change = failure_owner_end(&r->failures, p->id.pid, p->ppid, failed, signalled);
	program->failed += change.counts && failed;
	program->signalled += change.counts && signalled;
	if (!change.parent_failed && !change.parent_signalled)
		return;
	ours = &r->programs.at[find_program(r, OURS_NAME)];
	ours->failed -= change.parent_failed;
	ours->signalled -= change.parent_signalled;
}

static void count_program(struct report_program *program, const struct process_record *p)
{
	program->processes++;
	add_figure(&program->cpu_time_ns, p->cpu_time_ns,
	           program->cpu_time_ns.value + p->cpu_time_ns.value);
	add_figure(&program->peak_rss_bytes, p->peak_rss_bytes,
	           MAX(program->peak_rss_bytes.value, p->peak_rss_bytes.value));
}

/* Memory counts from here on: every process has a few MiB. */
#define COSTLY_BYTES ((uint64_t)4 << 20)

/* An upper bound is memory of another process. */
static struct report_cost cost_of(const struct process_record *p)
{
	struct figure peak = p->peak_rss_bytes;
	bool counts = figure_is_known(peak) && peak.quality != QUALITY_AT_MOST &&
	              peak.value >= COSTLY_BYTES;

	return (struct report_cost){
		.cpu_ns = figure_is_known(p->cpu_time_ns) ? p->cpu_time_ns.value : 0,
		.bytes = counts ? peak.value : 0,
	};
}

/* By CPU time in clock ticks; of those alike, by memory, and if they have little of it, by CPU time. */
static bool is_cheaper(struct report_cost a, struct report_cost b)
{
	uint64_t a_ticks = a.cpu_ns / NS_PER_TICK, b_ticks = b.cpu_ns / NS_PER_TICK;

	if (a_ticks != b_ticks)
		return a_ticks < b_ticks;
	return a.bytes != b.bytes ? a.bytes < b.bytes : a.cpu_ns < b.cpu_ns;
}

static void keep_costly(struct report *r, const struct process_record *p)
{
	struct report_cost cost = cost_of(p);
	size_t at = r->n_costly;

	if (own_process_has_name(name_of(p)))
		return;
	while (at > 0 && is_cheaper(r->costly[at - 1].cost, cost))
		at--;
	if (at == REPORT_COSTLY)
		return;
	r->n_costly = MIN(r->n_costly + 1, (size_t)REPORT_COSTLY);
	memmove(&r->costly[at + 1], &r->costly[at], (r->n_costly - 1 - at) * sizeof *r->costly);
	r->costly[at] = (struct report_process){ .p = *p, .cost = cost };
	snprintf(r->costly[at].name, COMM_LEN, "%s", name_of(p));
	snprintf(r->costly[at].command, sizeof r->costly[at].command, "%s",
	         p->command ? p->command : "");
}

static void keep_left(struct report *r, const struct process_record *p)
{
	if (r->unended < REPORT_LEFT) {
		snprintf(r->left[r->unended].name, COMM_LEN, "%s", name_of(p));
		r->left[r->unended].pid = p->id.pid;
	}
	if (r->job.status == JOB_RUNNING) {
		struct proc_id *id = vec_push(&r->living, REPORT_LIVING);

		if (id)
			*id = p->id;
	}
	r->unended++;
}

#define CLOCK_NS (20 * NS_PER_MS) /* of /proc, by which a start may be known, with its rounding */

/* How the command of a launched job ended is known from the launcher, also where the event of its end was lost. */
static void complete_command(const struct job *job, struct process_record *p)
{
	bool is_launched = figure_is_known(job->figures[JOB_FIGURE_COMMAND_TOOK]);

	if (!is_launched || p->signal || p->has_exit_code || !job->ended_ns)
		return;
	p->has_exit_code = job->has_exit_code;
	p->exit_code = job->exit_code;
	p->signal = job->signal;
	p->core_dumped = job->core_dumped;
	if (!p->ended_ns)
		p->ended_ns = job->started_ns + job->figures[JOB_FIGURE_COMMAND_TOOK].value;
}

/* A row counts a whole life: of a process that is older than a job that others started that is an upper bound of what it
 * did in it. */
static struct process_record within_job(const struct job *job, const struct process_record *p)
{
	struct process_record in = *p;
	struct figure *const figures[] = { &in.cpu_time_ns, &in.peak_rss_bytes, &in.read_bytes,
		                           &in.written_bytes };

	if ((job->root.pid && proc_id_eq(p->id, job->root)) ||
	    (p->started_ns && p->started_ns + CLOCK_NS < job->started_ns))
		for (size_t i = 0; i < ARRAY_LEN(figures); i++)
			if (figure_is_known(*figures[i]))
				figures[i]->quality = QUALITY_AT_MOST;
	return in;
}

struct process_record report_process_of(const struct job *job, const struct process_record *row,
                                        bool is_first)
{
	struct process_record p = within_job(job, row);

	if (is_first)
		complete_command(job, &p);
	return p;
}

int report_add_process(void *report, const struct process_record *row)
{
	struct report *r = report;
	const struct process_record in = report_process_of(&r->job, row, r->processes == 0),
				    *p = &in;
	uint64_t index = find_program(r, program_of(p)), known;

	verdict_facts_add_process(&r->facts, p);
	r->processes++;
	if (!p->ended_ns)
		keep_left(r, p);
	count_program(&r->programs.at[index], p);
	count_failure(r, &r->programs.at[index], p);
	if (p->signal && r->child_signals.len < REPORT_LIVES_MAX)
		map_put(&r->child_signals, (uint64_t)p->ppid, (uint64_t)p->signal);
	keep_costly(r, p);
	if (r->processes > REPORT_LIVES_MAX)
		return 0;
	map_put(&r->lives, proc_key(p->id), index);
	if (!map_get(&r->pids, (uint64_t)p->id.pid, &known)) {
		map_put(&r->pids, (uint64_t)p->id.pid, 1);
		r->unique_pids++;
	}
	return 0;
}

const char *report_name_of(const struct report *r, struct proc_id id)
{
	uint64_t index;

	return map_get(&r->lives, proc_key(id), &index) ? r->programs.at[index].name : NULL;
}

bool report_has_flight_recorder(const struct report *r)
{
	return strstr(r->job.tier, FLIGHT_TIER) != NULL;
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

void report_profile(const struct report *r, struct job_profile *ret)
{
	const struct figure *f = r->job.figures;

	*ret = (struct job_profile){ .peak_rss_bytes = f[JOB_FIGURE_PEAK_RSS],
		                     .cpu_time_ns = f[JOB_FIGURE_CPU],
		                     .spawns = f[JOB_FIGURE_PROCESSES],
		                     .unique_pids = r->unique_pids };
	vec_copy(&ret->syscalls, &r->syscalls);
	ret->syscalls.len = MIN(ret->syscalls.len, r->n_syscalls);
	memcpy(ret->figures, f, sizeof ret->figures);
	memcpy(ret->job_id, r->job.id, sizeof ret->job_id);
	vec_each(&r->sheets, s) {
		struct profile_sheet *sheet = vec_push(&ret->sheets, PROFILE_SHEETS_MAX);

		if (sheet)
			*sheet = (struct profile_sheet){ s->s.num,
				                         s->use.figures[SHEET_FIGURE_PEAK_RSS],
				                         s->use.max_cpu_ratio };
	}
}

void report_done(struct report *r)
{
	vec_done(&r->sheets);
	vec_done(&r->programs);
	vec_done(&r->notes);
	vec_done(&r->marks);
	vec_done(&r->sums);
	vec_done(&r->gpus);
	vec_done(&r->syscalls);
	vec_done(&r->callers);
	vec_done(&r->flights);
	vec_done(&r->calls);
	buf_done(&r->call_text);
	vec_done(&r->anomalies);
	vec_done(&r->living);
	vec_done(&r->blocked.list);
	map_done(&r->program_of);
	map_done(&r->lives);
	map_done(&r->pids);
	map_done(&r->note_of);
	map_done(&r->signalled);
	map_done(&r->kill_notes);
	map_done(&r->death_notes);
	map_done(&r->child_signals);
	failure_owner_done(&r->failures);
	verdict_facts_done(&r->facts);
}

/* ---- from the store -------------------------------------------------------------------------- */

#define EVENTS_PER_PAGE ((size_t)10000)

int report_each_event(struct history *history, struct job_key key, uint64_t kinds, size_t limit,
                      reader_event_fn fn, int (*flush)(void *self), void *self, struct err *err)
{
	struct history_cursor at = { 0 };

	while (limit) {
		size_t page = MIN(limit, EVENTS_PER_PAGE);
		int n = history_job_events(history, key, &at, kinds, page, fn, self, err);
		int result = n < 0 ? n : flush ? flush(self) : 0;

		if (result < 0 || (size_t)n < page)
			return result;
		limit -= page;
	}
	return 0;
}

/* Most events are ordinary and are left out of a report. */
#define REPORT_KINDS                                                                               \
	(~(UINT64_C(1) << EVENT_SPAWN | UINT64_C(1) << EVENT_EXEC | UINT64_C(1) << EVENT_TOTALS |  \
	   UINT64_C(1) << EVENT_ANOMALY) &                                                         \
	 ((UINT64_C(1) << EVENT_KIND_COUNT) - 1))

/* The state of a process before its last exec explains no failure: the verdict has to know when
 * that was. */
static uint64_t kinds_of(const struct job *job)
{
	return REPORT_KINDS | (job->status == JOB_FAILED ? UINT64_C(1) << EVENT_EXEC : 0);
}

/* An id alone would be read as that of a job of the reader's own, and an id may look like one with a user. */
static void find_parent_user(struct report *r, struct user_names *users)
{
	const struct job *job = &r->job;
	const char *name;

	if (!job->has_parent_uid || (job->parent_uid == r->reader_uid && !strchr(job->parent, ':')))
		return;
	name = user_names_name(users, job->parent_uid);
	if (name)
		snprintf(r->parent_user, sizeof r->parent_user, "%s", name);
	else
		snprintf(r->parent_user, sizeof r->parent_user, "%u", (unsigned)job->parent_uid);
}

static void find_user(struct report *r)
{
	struct user_names users = { 0 };
	const char *name = user_names_name(&users, r->job.uid);

	snprintf(r->user, sizeof r->user, "%s", name ? name : "");
	find_parent_user(r, &users);
	user_names_done(&users);
}

/* The machine it ran on; how many CPUs it has, and whether it was started anew since, is known only of this one. The
 * caller knows when that was last. */
static void find_machine(struct report *r, struct history *history)
{
	struct job_recorder recorder = { 0 };
	char here[HISTORY_HOST_MAX] = "";
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct err err;

	if (history_job_recorder(history, job_key_of(&r->job), &recorder, &err) < 0)
		recorder = (struct job_recorder){ 0 };
	memcpy(r->host, recorder.host, sizeof r->host);
	if (!*r->host || gethostname(here, sizeof here - 1) < 0 || strcmp(here, r->host) != 0)
		return;
	if (cpus > 0)
		r->cpus = (unsigned)cpus;
	if (!*recorder.boot_id || !*r->boot_id)
		return;
	r->facts.is_other_boot = strcmp(recorder.boot_id, r->boot_id) != 0;
	r->facts.booted_ns = r->booted_ns;
}

static int add_error(void *report, const char *call, const char *error, uint64_t count)
{
	verdict_facts_add_error(&((struct report *)report)->facts, call, error, count);
	return 0;
}

void report_set_now(struct report *r, uint64_t now_ns, uint64_t up_ns, const char *boot_id)
{
	r->now_ns = now_ns;
	r->booted_ns = now_ns - MIN(now_ns, up_ns);
	snprintf(r->boot_id, sizeof r->boot_id, "%s", boot_id);
}

int report_gather(struct report *r, struct history *history, struct err *err)
{
	struct job_key key = job_key_of(&r->job);
	int n = history_sheets(history, key, report_add_sheet, r, err);

	if (n >= 0)
		n = history_job_processes(history, key, REPORT_PROCESSES_MAX, report_add_process, r,
		                          err);
	if (n >= 0)
		n = history_job_sums(history, key, REPORT_SUMS_MAX, report_add_sum, r, err);
	if (n >= 0)
		n = history_job_gpus(history, key, report_add_gpu, r, err);
	if (n >= 0)
		n = history_job_syscalls(history, key, 0, add_syscall, r, err);
	if (n >= 0 && r->n_syscalls)
		n = add_callers(r, history, err);
	if (n >= 0)
		n = history_job_last_calls(history, key, REPORT_CALLS_MAX, report_add_last_call, r,
		                           err);
	if (n >= 0)
		n = history_job_anomalies(history, key, REPORT_ANOMALIES_MAX, report_add_anomaly, r,
		                          err);
	if (n >= 0)
		n = history_job_errors(history, key, add_error, r, err);
	if (n < 0)
		return n;
	find_user(r);
	find_machine(r, history);
	n = report_each_event(history, key, kinds_of(&r->job), SIZE_MAX, report_add_event, NULL, r,
	                      err);
	report_end(r);
	if (n >= 0)
		n = next_request_gather(history, &r->job, &r->next, err);
	return n;
}
