/* SPDX-License-Identifier: MIT */
/* store DIR [PROCESSES SNAPSHOTS]: builds stores of a made-up machine at one snapshot a second, and
 * prints what writing and reading them costs in CPU time, and their size. The processes of one job,
 * 5 % of all, are busy. Readers are SQL clients: their SELECTs go through the views. */
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/scan.h"
#include "history/history.h"
#include "store/store.h"

#define RUNS 5 /* the least of them counts */

struct machine {
	uint64_t seed;
	size_t procs, busy;
	struct snapshot snap;
};

static uint64_t dice(struct machine *m, uint64_t sides)
{
	m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
	return (m->seed >> 33) % sides;
}

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "bench/store: %s\n", what);
	exit(1);
}

/* One line of the table: "what | figure | unit | at most". */
static void print_row(const char *what, double figure, const char *unit, double limit)
{
	printf("%-40s | %9.3f | %-2s | ", what, figure, unit);
	if (limit > 0)
		printf("%g%s\n", limit, figure > limit ? " (missed)" : "");
	else
		printf("-\n");
}

static void make_proc(struct machine *m, size_t i)
{
	struct proc_snap *p = vec_push(&m->snap.procs, PROCS_MAX);
	char command[128];

	if (!p)
		die("too many processes");
	p->s.id = (struct proc_id){ .pid = (pid_t)(1000 + i), .start_ticks = 100 + i };
	p->s.ppid = 1;
	p->s.state = 'S';
	snprintf(p->s.comm, sizeof p->s.comm, "worker%zu", i % 20);
	snprintf(command, sizeof command,
	         "/usr/lib/service/worker --index=%zu --config=/etc/service/%zu.conf", i, i);
	p->s.command = (struct text_ref){ (uint32_t)m->snap.text.len, (uint32_t)strlen(command) };
	buf_puts(&m->snap.text, command);
	readings_set(&p->s.r, PROC_RSS, (1000 + dice(m, 100000)) << 12);
	readings_set(&p->s.r, PROC_VMS, (5000 + dice(m, 500000)) << 12);
	readings_set(&p->s.r, PROC_THREADS, 1 + dice(m, 8));
	readings_set(&p->s.r, PROC_FDS, 4 + dice(m, 60));
	readings_set(&p->s.r, PROC_CPU_TIME, dice(m, 1000) * NS_PER_S);
	readings_set(&p->s.r, PROC_READ_BYTES, dice(m, 1000) << 12);
	readings_set(&p->s.r, PROC_WRITE_BYTES, dice(m, 1000) << 12);
	readings_set(&p->s.r, PROC_MINOR_FAULTS, dice(m, 100000));
	readings_set(&p->s.r, PROC_MAJOR_FAULTS, dice(m, 100));
	p->job = i < m->procs / 20 ? 0 : -1;
	p->sheet = (uint32_t)(1 + i % 5);
}

static void make_machine(struct machine *m, size_t procs, size_t busy)
{
	struct job *job;

	*m = (struct machine){ .seed = 1, .procs = procs, .busy = busy };
	m->snap.wall_ns = UINT64_C(1790000000) * NS_PER_S;
	m->snap.boot_ns = 1000000 * NS_PER_S;
	m->snap.procs_complete = m->snap.events_complete = true;
	job = vec_push(&m->snap.jobs, JOBS_MAX);
	if (!job)
		die("no job");
	snprintf(job->id, sizeof job->id, "train-1");
	snprintf(job->type, sizeof job->type, "train");
	job->started_ns = m->snap.wall_ns;
	m->snap.running_jobs = 1;
	for (size_t i = 0; i < procs; i++)
		make_proc(m, i);
}

static void tick_host(struct machine *m)
{
	struct host_readings *h = &m->snap.host;

	for (size_t i = 0; i < HOST_METRIC_COUNT; i++) {
		uint64_t now = readings_or(h, i, UINT64_C(40000000000));

		if (host_metrics[i].kind == METRIC_COUNTER)
			readings_set(h, i, now + dice(m, 2000000));
		else if (host_metrics[i].unit == UNIT_MIB)
			readings_set(h, i, (UINT64_C(4) << 30) + (dice(m, 10000) << 12));
		else
			readings_set(h, i, dice(m, 4000));
	}
	m->snap.cpu_busy_ratio = (double)dice(m, 1000) / 1000;
	m->snap.cpu_iowait_ratio = m->snap.cpu_steal_ratio = 0;
	m->snap.self_cpu_ratio = 0.004;
}

static void tick(struct machine *m)
{
	m->snap.seq++;
	m->snap.wall_ns += NS_PER_S + dice(m, 100) * NS_PER_US;
	m->snap.boot_ns += NS_PER_S;
	m->snap.elapsed_ns = NS_PER_S;
	tick_host(m);
	if (m->busy)
		m->snap.jobs.at[0].figures[JOB_FIGURE_CPU] = (struct figure){
			m->snap.seq * NS_PER_S, QUALITY_EXACT
		};
	for (size_t i = 0; i < m->busy; i++) {
		struct proc_snap *p = &m->snap.procs.at[i];

		p->s.state = dice(m, 3) ? 'S' : 'R';
		p->cpu_ratio = (double)dice(m, 1000) / 1000;
		p->s.r.value[PROC_RSS] = (1000 + dice(m, 100000)) << 12;
		p->s.r.value[PROC_CPU_TIME] += (uint64_t)(p->cpu_ratio * 1e9);
		p->s.r.value[PROC_MINOR_FAULTS] += dice(m, 200);
		if (dice(m, 20) == 0)
			p->s.r.value[PROC_VMS] += dice(m, 1000) << 12;
	}
}

/* wchar of /proc/self/io: all that was written, the log and what was moved from it. */
static double written_bytes(void)
{
	FILE *f = fopen("/proc/self/io", "re");
	char text[512] = "";
	const char *at;
	struct scan s;
	uint64_t n;

	if (!f)
		die("/proc/self/io");
	text[fread(text, 1, sizeof text - 1, f)] = '\0';
	fclose(f);
	at = strstr(text, "wchar: ");
	s = scan_str(at ? at + strlen("wchar: ") : "");
	if (!scan_u64(&s, &n))
		die("/proc/self/io");
	return (double)n;
}

/* Bytes of a closed store; the CPU time of one snapshot in *ret_ms and what it writes in *ret_kib. */
static double build(const char *path, size_t procs, size_t busy, size_t snapshots, double *ret_ms,
                    double *ret_kib)
{
	struct store_options o = { .path = path, .interval_ns = NS_PER_S, .no_guard = true };
	uint64_t cpu_ns = 0;
	struct store *st = NULL;
	struct machine m;
	struct err err;
	struct stat file;
	const char *notice;

	make_machine(&m, procs, busy);
	if (store_open(&o, &st, &notice, &err) < 0)
		die(err.msg);
	*ret_kib = -written_bytes();
	for (size_t i = 0; i < snapshots; i++) {
		uint64_t from;

		tick(&m);
		from = clock_process_cpu_ns();
		if (store_put(st, &m.snap, &err) < 0)
			die(err.msg);
		cpu_ns += clock_process_cpu_ns() - from;
	}
	*ret_kib = (*ret_kib + written_bytes()) / 1024 / (double)snapshots;
	store_close(st);
	snapshot_done(&m.snap);
	if (stat(path, &file) < 0)
		die("no database");
	*ret_ms = (double)cpu_ns / 1e6 / (double)snapshots;
	return (double)file.st_size;
}

static void read_rows(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt;
	double sum = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		die(sqlite3_errmsg(db));
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(stmt); i++) {
			if (sqlite3_column_type(stmt, i) == SQLITE_TEXT)
				sum += sqlite3_column_text(stmt, i)[0];
			else
				sum += sqlite3_column_double(stmt, i);
		}
	}
	sqlite3_finalize(stmt);
	if (!(sum > 0))
		die("nothing was read");
}

static void measure(const char *path, const char *what, const char *sql, double limit_ms)
{
	double best_ms = INFINITY;

	for (int i = 0; i < RUNS; i++) {
		sqlite3 *db;
		uint64_t from = clock_process_cpu_ns();

		if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) !=
		    SQLITE_OK)
			die("open");
		read_rows(db, sql);
		sqlite3_close(db);
		best_ms = fmin(best_ms, (double)(clock_process_cpu_ns() - from) / 1e6);
	}
	print_row(what, best_ms, "ms", limit_ms);
}

static void read_back(const char *path, size_t snapshots)
{
	char *one = xasprintf("SELECT * FROM process_metrics WHERE snapshot_id = %zu",
	                      snapshots / 2 + 31);

	measure(path, "read one snapshot", one, 10);
	measure(path, "read a job's profile",
	        "SELECT pm.pid, pm.sheet_num, pm.rss_mb, pm.cpu_percent, pm.syscall_time_pct, s.timestamp"
	        " FROM process_metrics pm JOIN snapshots s ON s.id = pm.snapshot_id WHERE pm.job_id = 'train-1'"
	        " ORDER BY s.timestamp ASC",
	        400);
	measure(path, "read one process's history",
	        "SELECT pm.rss_mb, pm.cpu_percent, s.timestamp FROM process_metrics pm JOIN snapshots s"
	        " ON s.id = pm.snapshot_id WHERE pm.pid = 1005 AND s.timestamp >= 0 ORDER BY s.timestamp ASC",
	        50);
	free(one);
}

/* Reads all of the store, one snapshot after another, as `top --history` does. */
static void replay(const char *path)
{
	struct snapshot snap = { 0 };
	struct history_cursor at = { 0 };
	struct history *r = NULL;
	struct err err;
	uint64_t from = clock_process_cpu_ns();
	size_t n = 0;
	int result;

	if (history_open(path, &r, &err) < 0)
		die(err.msg);
	while ((result = history_next_snapshot(r, &at, &snap, &err)) > 0)
		n++;
	if (result < 0)
		die(err.msg);
	history_close(r);
	snapshot_done(&snap);
	print_row("replay, per snapshot", (double)(clock_process_cpu_ns() - from) / 1e6 / (double)n,
	     "ms", 0);
}

/* Everything but the last keyframe becomes minutes. */
static void retain(const char *path, uint64_t now_ns)
{
	struct store_options o = { .path = path, .interval_ns = NS_PER_S, .no_guard = true };
	struct store_retention keep = { .downsampled_ns = 86400 * NS_PER_S,
		                        .events_ns = 86400 * NS_PER_S };
	double worst_ms = 0;
	struct store *st = NULL;
	const char *notice;
	bool more = true;
	struct err err;

	if (store_open(&o, &st, &notice, &err) < 0)
		die(err.msg);
	while (more) {
		uint64_t from = clock_process_cpu_ns();

		if (store_retain_step(st, &keep, now_ns, clock_boot_ns(), &more, &err) < 0)
			die(err.msg);
		worst_ms = fmax(worst_ms, (double)(clock_process_cpu_ns() - from) / 1e6);
	}
	store_close(st);
	print_row("retention, the longest step", worst_ms, "ms", 0);
}

static size_t number(const char *text)
{
	struct scan s = scan_str(text);
	uint64_t n;

	if (!scan_u64(&s, &n) || !scan_at_end(&s) || n == 0 || n > 1000000)
		die("usage: store DIR [PROCESSES SNAPSHOTS]");
	return (size_t)n;
}

int main(int argc, char **argv)
{
	size_t procs = argc > 2 ? number(argv[2]) : 1000,
	       snapshots = argc > 3 ? number(argv[3]) : 6000;
	char *path;
	double ms, kib, bytes;

	if (argc < 2)
		die("usage: store DIR [PROCESSES SNAPSHOTS]");
	printf("Store of %zu processes and %zu snapshots (CPU time)\n", procs, snapshots);
	for (size_t busy_percent = 0; busy_percent <= 5; busy_percent += 5) {
		path = xasprintf("%s/busy-%zu.db", argv[1], busy_percent);
		bytes = build(path, procs, procs * busy_percent / 100, snapshots, &ms, &kib);
		print_row(busy_percent ? "write one snapshot, 5 % busy" : "write one snapshot, all idle",
		     ms, "ms", 0.4);
		print_row(busy_percent ? "written for one snapshot, 5 % busy"
		                  : "written for one snapshot, all idle",
		     kib, "K", 0);
		print_row(busy_percent ? "size of a process-sample, 5 % busy"
		                  : "size of a process-sample, all idle",
		     bytes / (double)procs / (double)snapshots, "B", busy_percent ? 3.0 : 0.7);
		if (busy_percent) {
			read_back(path, snapshots);
			replay(path);
			retain(path, UINT64_C(1790000000) * NS_PER_S + (snapshots + 1) * NS_PER_S);
		}
		free(path);
	}
	return 0;
}
