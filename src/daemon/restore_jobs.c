/* SPDX-License-Identifier: MIT */
#include "daemon/restore_jobs.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "history/job_query.h"

#define JOBS_READ 1000
#define PROCESSES_READ 100000

struct reading {
	VEC(struct job) jobs;
	struct registry_past past; /* of the current job */
	bool is_without_root;      /* … it never had a first process */
};

static int add_job(void *self, const struct job *job)
{
	struct reading *r = self;
	struct job *to = vec_push(&r->jobs, JOBS_READ);

	if (to)
		*to = *job;
	return 0;
}

static int add_process(void *self, const struct process_record *p)
{
	struct reading *r = self;
	struct registry_process *to;

	if (!r->past.root.pid && !r->is_without_root)
		r->past.root = p->id; /* the first to start: old stores do not have the root */
	if (p->ended_ns) {
		r->past.ended_cpu_ns += p->cpu_time_ns.value;
		return 0;
	}
	to = vec_push(&r->past.processes, PROCESSES_READ);
	if (to)
		*to = (struct registry_process){ p->id, p->sheet };
	return 0;
}

static int add_sheet(void *self, const struct sheet_record *s)
{
	struct reading *r = self;
	struct sheet *to = vec_push(&r->past.sheets, SHEETS_MAX);

	if (to)
		*to = s->s;
	return 0;
}

static bool is_ours(struct history *reader, const struct job *job)
{
	uint64_t booted_ns = clock_wall_ns() - clock_boot_ns();
	struct job_recorder recorder;
	struct err err;

	return job->started_ns > booted_ns &&
	       history_job_recorder(reader, job_key_of(job), &recorder, &err) == 0 &&
	       strcmp(recorder.kind, "daemon") == 0;
}

static enum registry_restored restore_job(struct reading *r, struct history *reader,
                                          struct engine *engine, const struct job *job)
{
	struct err err;

	r->past.root = job->root;
	r->is_without_root = !job->root.pid && job->registrar.pid;
	r->past.ended_cpu_ns = 0;
	vec_reset(&r->past.processes);
	vec_reset(&r->past.sheets);
	if (!is_ours(reader, job) ||
	    history_job_processes(reader, job_key_of(job), PROCESSES_READ, add_process, r, &err) <
	            0 ||
	    history_sheets(reader, job_key_of(job), add_sheet, r, &err) < 0)
		return REGISTRY_LEFT;
	return registry_restore(engine, job, &r->past);
}

static void log_restored(size_t running, size_t ended)
{
	if (running)
		log_info("%zu job%s of the previous daemon continue%s", running,
		         running == 1 ? "" : "s", running == 1 ? "s" : "");
	if (ended)
		log_info("%zu job%s ended while no daemon was running", ended,
		         ended == 1 ? "" : "s");
}

void restore_jobs(struct engine *engine, const char *db_path)
{
	const struct job_filter lost = { .outcome = "lost" };
	cleanup(history_closep) struct history *reader = NULL;
	size_t running = 0, ended = 0;
	struct reading r = { 0 };
	struct err err;

	if (history_open(db_path, &reader, &err) < 0)
		return;
	(void)!history_jobs(reader, &lost, JOBS_READ, add_job, &r,
	                    &err); /* what could be read counts */
	r.past.since_ns = history_last_end_ns(reader, "daemon", 1);
	vec_each(&r.jobs, job) {
		enum registry_restored how = restore_job(&r, reader, engine, job);

		running += how == REGISTRY_GOES_ON;
		ended += how == REGISTRY_ENDED;
	}
	vec_done(&r.jobs);
	vec_done(&r.past.processes);
	vec_done(&r.past.sheets);
	log_restored(running, ended);
}
