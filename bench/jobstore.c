/* SPDX-License-Identifier: MIT */
/* jobstore DIR [TIMES]: what a short job costs in the store: open, claim an id, start, end, close.
 * CPU and wall time of each step, the median of all times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/scan.h"
#include "store/store.h"

#define TIMES_MAX 10000

enum step { STEP_OPEN, STEP_CLAIM, STEP_START, STEP_END, STEP_CLOSE, STEP_COUNT };
static const char *const names[] = { "open", "claim", "start", "end", "close" };

struct cost {
	double cpu_us[TIMES_MAX], wall_us[TIMES_MAX];
};

struct stopwatch {
	uint64_t cpu_ns, wall_ns;
};

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "bench/jobstore: %s\n", what);
	exit(1);
}

static struct stopwatch stopwatch_read(void)
{
	struct timespec cpu;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	return (struct stopwatch){ (uint64_t)cpu.tv_sec * NS_PER_S + (uint64_t)cpu.tv_nsec,
		                       clock_mono_ns() };
}

static void stopwatch_lap(struct stopwatch *w, struct cost *to, size_t i)
{
	struct stopwatch now = stopwatch_read();

	to->cpu_us[i] = (double)(now.cpu_ns - w->cpu_ns) / 1e3;
	to->wall_us[i] = (double)(now.wall_ns - w->wall_ns) / 1e3;
	*w = stopwatch_read();
}

static struct event *add_event(struct snapshot *snap, enum event_kind kind)
{
	struct event *e = vec_push(&snap->events, 16);

	if (!e)
		die("too many events");
	e->kind = kind;
	e->id = (struct proc_id){ .pid = getpid(), .start_ticks = snap->boot_ns / NS_PER_TICK };
	e->ppid = getppid();
	e->wall_ns = snap->wall_ns;
	e->boot_ns = snap->boot_ns;
	return e;
}

/* What the last tick of a job of one process brings: its life, and the machine. */
static void make_last(struct snapshot *snap, const struct job *job)
{
	struct job *its_job;
	struct event *e;

	snapshot_reset(snap);
	snap->seq = 1;
	snap->wall_ns = clock_wall_ns();
	snap->boot_ns = clock_boot_ns();
	snap->procs_complete = snap->events_complete = true;
	for (size_t i = 0; i < HOST_METRIC_COUNT; i++)
		readings_set(&snap->host, i, 123456789 * (i + 1));
	its_job = vec_push(&snap->jobs, JOBS_MAX);
	if (!its_job || !vec_push(&snap->sums, JOBS_MAX))
		die("too many jobs");
	*its_job = *job;
	add_event(snap, EVENT_SPAWN);
	e = add_event(snap, EVENT_EXEC);
	e->text = (struct text_ref){ 0, 9 };
	buf_puts(&snap->text, "/bin/true");
	e = add_event(snap, EVENT_EXIT);
	e->has_exit_code = true;
	readings_set(&e->final, PROC_CPU_TIME, 500000);
	readings_set(&e->final, PROC_PEAK_RSS, 1 << 20);
}

static void run_job(const char *path, size_t i, struct snapshot *snap,
                    struct cost costs[STEP_COUNT])
{
	struct store_options o = {
		.path = path, .kind = "run", .is_brief = true, .interval_ns = NS_PER_S
	};
	struct job job = { .type = "true", .command = "/bin/true", .cwd = "/root" };
	struct store *st = NULL;
	const char *notice;
	struct err err = { 0 };
	struct stopwatch w;
	bool changed;

	snprintf(job.id, sizeof job.id, "true-%llx-%zu", (unsigned long long)clock_wall_ns(), i);
	for (size_t f = 0; f < JOB_FIGURE_COUNT; f++)
		job.figures[f] = (struct figure){ 12345678 + f * 1000, QUALITY_EXACT };
	w = stopwatch_read();
	if (store_open(&o, &st, &notice, &err) < 0)
		die(err.msg);
	stopwatch_lap(&w, &costs[STEP_OPEN], i);
	if (store_claim_job_id(st, job.uid, job.id, &changed, &err) < 0)
		die(err.msg);
	stopwatch_lap(&w, &costs[STEP_CLAIM], i);
	job.started_ns = clock_wall_ns();
	if (store_put_job(st, &job, NULL, &err) < 0)
		die(err.msg);
	stopwatch_lap(&w, &costs[STEP_START], i);
	job.status = JOB_COMPLETED;
	job.has_exit_code = true;
	job.ended_ns = clock_wall_ns();
	job.took_ns = job.ended_ns - job.started_ns;
	make_last(snap, &job);
	w = stopwatch_read();
	if (store_put(st, snap, &err) < 0)
		die(err.msg);
	stopwatch_lap(&w, &costs[STEP_END], i);
	store_close(st);
	stopwatch_lap(&w, &costs[STEP_CLOSE], i);
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *at, size_t n)
{
	qsort(at, n, sizeof *at, compare);
	return at[n / 2];
}

int main(int argc, char **argv)
{
	struct cost *costs = xcalloc(STEP_COUNT, sizeof *costs);
	double cpu = 0, wall = 0;
	struct snapshot snap = { 0 };
	uint64_t times = 200;
	char *path;

	if (argc > 2) {
		struct scan s = scan_str(argv[2]);

		if (!scan_u64(&s, &times) || !times || times > TIMES_MAX)
			die("TIMES must be 1 to 10000");
	}
	if (argc < 2)
		die("usage: jobstore DIR [TIMES]");
	path = xasprintf("%s/proctor.db", argv[1]);
	for (size_t i = 0; i < times; i++)
		run_job(path, i, &snap, costs);
	for (size_t s = 0; s < STEP_COUNT; s++) {
		double c = median(costs[s].cpu_us, times), t = median(costs[s].wall_us, times);

		printf("%-8s cpu %8.0f us, least %8.0f   wall %8.0f us, least %8.0f, most %8.0f\n",
		       names[s], c, costs[s].cpu_us[0], t, costs[s].wall_us[0],
		       costs[s].wall_us[times - 1]);
		cpu += c;
		wall += t;
	}
	printf("%-8s cpu %8.0f us   wall %8.0f us\n", "all", cpu, wall);
	snapshot_done(&snap);
	free(path);
	free(costs);
	return 0;
}
