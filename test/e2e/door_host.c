/* SPDX-License-Identifier: MIT */
/* A job that only answers its door: what the methods receive is printed, one line each, so that a
 * test can check it.
 *
 *	door_host STATE/jobs/ID        until SIGTERM */
#include <fcntl.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/process_reader.h"
#include "base/clock.h"
#include "job/pressure.h"
#include "serve/serve.h"

struct host {
	struct loop *loop;
	struct job_roster jobs;
	struct snapshot snap;
	bool has_snap;
	struct process_reader *reader;
};

static const struct job_roster *get_jobs(void *self)
{
	const struct host *h = self;

	return &h->jobs;
}

static const struct snapshot *get_latest(void *self)
{
	const struct host *h = self;

	return h->has_snap ? &h->snap : NULL;
}

static const struct pressure *get_pressure(void *self)
{
	static const struct pressure none = {
		.facts = { .machine_used = 1 << 30, .machine_total = 2u << 30, .processes = 312 }
	};

	(void)self;
	return &none;
}

static int begin_sheet(void *self, const struct job_input_sheet *begun, uint32_t *ret_num,
                       struct err *err)
{
	struct host *h = self;
	struct job_row *row = h->jobs.rows.at[0];
	struct sheet *sheet = job_roster_begin_sheet(&h->jobs, row, begun->num, begun->label,
	                                             clock_wall_ns());

	if (!sheet)
		return err_set(err, ENOSPC, "too many sheets");
	sheet->pid = begun->pid;
	row->job.total_sheets = MAX(row->job.total_sheets, begun->total);
	*ret_num = sheet->num;
	printf("begin %u/%u '%s' pid %d\n", sheet->num, begun->total, begun->label, begun->pid);
	return 0;
}

static int end_sheet(void *self, job_handle job, uint32_t num, const struct job_end *how,
                     struct err *err)
{
	struct host *h = self;
	struct job_row *row = job_roster_get(&h->jobs, job);
	struct sheet *sheet = job_row_sheet(row, num);

	if (!sheet)
		return err_set(err, ENOENT, "sheet %u was never opened", num);
	if (sheet->status != JOB_RUNNING)
		return err_set(err, EALREADY, "sheet %u has ended before", num);
	sheet->has_exit_code = how->has_exit_code;
	sheet->exit_code = how->exit_code;
	sheet->signal = how->signal;
	job_row_end_sheet(row, sheet, how->status, clock_wall_ns());
	printf("end %u %s code %d signal %d\n", num, job_status_name(how->status),
	       how->has_exit_code ? how->exit_code : -1, how->signal);
	return 0;
}

static int add_event(void *self, job_handle job, enum event_kind kind, const char *name,
                     uint64_t took_ns, const char *data_json, struct err *err)
{
	(void)self, (void)job, (void)err;
	if (kind == EVENT_MARK)
		printf("mark %s %s\n", name, data_json);
	else
		printf("phase %s %" PRIu64 " ms %s\n", name, took_ns / NS_PER_MS, data_json);
	return 0;
}

/* One process, this one, and one event. */
static void make_snapshot(struct host *h)
{
	struct sample s = { .wall_ns = clock_wall_ns(),
		            .mono_ns = clock_mono_ns(),
		            .boot_ns = clock_boot_ns(),
		            .procs_complete = true,
		            .events_complete = true };
	const struct snapshot_origin origin = { .seq = 1,
		                                .started_boot_ns = s.boot_ns,
		                                .pid = getpid() };
	struct proc_sample *p = sample_add_proc(&s);
	struct event *e;

	p->id = (struct proc_id){ .pid = getpid(), .start_ticks = 1 };
	p->ppid = getppid();
	p->state = 'R';
	p->command = sample_add_text(&s, "door_host", strlen("door_host"));
	readings_set(&p->r, PROC_RSS, 3u << 19);
	readings_set(&s.host, HOST_SELF_RSS, 10u << 20);
	e = sample_add_event(&s, EVENT_SPAWN);
	e->id = p->id;
	e->boot_ns = s.boot_ns;
	job_roster_assign(&h->jobs, p->id, (struct job_ref){ .job = 0 });
	snapshot_build(NULL, &s, &h->jobs, &origin, &h->snap);
	h->has_snap = true;
	sample_done(&s);
}

static void on_signal(void *self, const struct signalfd_siginfo *info)
{
	struct host *h = self;

	(void)info;
	loop_stop(h->loop);
}

static int serve_job(struct host *h, const char *dir, struct err *err)
{
	const struct serve_host host = {
		.self = h,
		.reader = h->reader,
		.jobs = get_jobs,
		.latest = get_latest,
		.pressure = get_pressure,
		.begin_sheet = begin_sheet,
		.end_sheet = end_sheet,
		.add_event = add_event,
	};
	cleanup(loop_freep) struct loop *loop = NULL;
	cleanup(serve_closep) struct serve *serve = NULL;
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	if (loop_new(&loop, err) < 0 || serve_open(loop, dir, &host, &serve, err) < 0 ||
	    loop_add_signals(loop, &stop, on_signal, h, err) < 0)
		return -err->code;
	h->loop = loop;
	if (getenv("HOST_SNAPSHOT")) {
		make_snapshot(h);
		serve_publish(serve, &h->snap);
	}
	puts("ready");
	return loop_run(loop, err);
}

int main(int argc, char **argv)
{
	struct host h = { 0 };
	struct err err;
	const char *slash = argc == 2 ? strrchr(argv[1], '/') : NULL;
	struct job *job;
	int r;

	if (!slash)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	job_roster_add(&h.jobs, slash + 1, "train", clock_wall_ns());
	job = &h.jobs.rows.at[0]->job;
	snprintf(job->command, sizeof job->command, "./train.sh --epochs 3");
	snprintf(job->cwd, sizeof job->cwd, "/home/ada/model");
	snprintf(job->tags, sizeof job->tags, "{\"gpu\":\"no\"}");
	snprintf(job->tier, sizeof job->tier, "BPF tracepoints, cgroup v2");
	job->uid = geteuid();
	h.reader = process_reader_new(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
	r = serve_job(&h, argv[1], &err);
	if (r < 0)
		fprintf(stderr, "%s\n", err.msg);
	snapshot_done(&h.snap);
	job_roster_done(&h.jobs);
	process_reader_free(h.reader);
	return r < 0;
}
