/* SPDX-License-Identifier: MIT */
#include "serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "check.h"
#include "model_kit.h"
#include "serve/resource_context.h"
#include "serve/recent_events.h"
#include "fake_machine.h"

struct fixture {
	struct tree tree;
	struct loop *loop;
	char dir[256];
	struct serve *serve;
};

static int setup(void **state)
{
	struct fixture *fx = calloc(1, sizeof *fx);
	struct err err;

	if (!fx)
		return -1;
	fx->tree = tree_new();
	snprintf(fx->dir, sizeof fx->dir, "%s/jobs/train-1", fx->tree.path);
	*state = fx;
	return loop_new(&fx->loop, &err);
}

static int teardown(void **state)
{
	struct fixture *fx = *state;

	serve_close(fx->serve);
	loop_free(fx->loop);
	tree_remove(&fx->tree);
	free(fx);
	return 0;
}

static int open_door(struct fixture *fx, struct serve **ret, struct err *err)
{
	const struct serve_host host = { 0 };

	return serve_open(fx->loop, fx->dir, &host, ret, err);
}

static mode_t mode_of(const struct fixture *fx, const char *path)
{
	struct stat st;

	assert_int_equal(fstatat(fx->tree.env.root_fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_mode & 07777;
}

static bool exists(const struct fixture *fx, const char *path)
{
	return faccessat(fx->tree.env.root_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void test_serve_open__makes_a_door_for_its_owner_only_and_leaves_nothing(void **state)
{
	struct fixture *fx = *state;
	mode_t before = umask(0);
	struct err err = { 0 };

	assert_int_equal(open_door(fx, &fx->serve, &err), 0);
	umask(before);
	assert_int_equal(mode_of(fx, "jobs"), 0700);
	assert_int_equal(mode_of(fx, "jobs/train-1"), 0700);
	assert_int_equal(mode_of(fx, "jobs/train-1/sock"), 0600);
	serve_close(fx->serve);
	fx->serve = NULL;
	assert_false(exists(fx, "jobs/train-1"));
	assert_true(exists(fx, "jobs"));
}

static void test_serve_open__takes_over_what_a_killed_job_left(void **state)
{
	struct fixture *fx = *state;
	struct err err = { 0 };

	tree_puts(&fx->tree, "jobs/train-1/sock", "");
	assert_int_equal(open_door(fx, &fx->serve, &err), 0);
	assert_int_equal(mode_of(fx, "jobs"), 0700); /* it was open to others */
	assert_int_equal(mode_of(fx, "jobs/train-1/sock"), 0600);
}

static void test_serve_open__refuses_the_directory_of_a_running_job(void **state)
{
	struct fixture *fx = *state;
	struct serve *second = NULL;
	struct err err = { 0 };

	assert_int_equal(open_door(fx, &fx->serve, &err), 0);
	assert_int_equal(open_door(fx, &second, &err), -EALREADY);
	assert_null(second);
	assert_true(exists(fx, "jobs/train-1/sock"));
}

static void test_serve_open__refuses_symbolic_links_and_files(void **state)
{
	struct fixture *fx = *state;
	struct err err = { 0 };

	tree_mkdirs(&fx->tree, "jobs/x");
	tree_mkdirs(&fx->tree, "elsewhere/x");
	assert_int_equal(symlinkat("../elsewhere", fx->tree.env.root_fd, "jobs/train-1"), 0);
	assert_true(open_door(fx, &fx->serve, &err) < 0);
	assert_non_null(strstr(err.msg, "symbolic link"));
	assert_false(exists(fx, "elsewhere/sock"));
	assert_int_equal(unlinkat(fx->tree.env.root_fd, "jobs/train-1", 0), 0);
	tree_puts(&fx->tree, "jobs/train-1", "a file");
	assert_true(open_door(fx, &fx->serve, &err) < 0);
}

static void test_serve_open__refuses_what_belongs_to_another_user(void **state)
{
	struct fixture *fx = *state;
	struct err err = { 0 };

	if (geteuid() != 0)
		skip();
	tree_mkdirs(&fx->tree, "jobs/train-1/x");
	assert_int_equal(fchownat(fx->tree.env.root_fd, "jobs/train-1", 65534, 65534, 0), 0);
	assert_int_equal(open_door(fx, &fx->serve, &err), -EPERM);
	assert_non_null(strstr(err.msg, "user 65534"));
}

static void test_serve_open__does_not_mind_a_path_longer_than_an_address(void **state)
{
	struct fixture *fx = *state;
	struct err err = { 0 };

	snprintf(fx->dir, sizeof fx->dir, "%s/jobs/%0120d", fx->tree.path, 7);
	assert_int_equal(open_door(fx, &fx->serve, &err), 0);
	serve_close(fx->serve);
	fx->serve = NULL;
	assert_int_equal(rmdir(fx->dir), -1);
	assert_int_equal(errno, ENOENT);
}

static void note_spawns(struct serve *serve, pid_t first, unsigned n)
{
	struct sample s = kit_sample(0);
	struct snapshot snap = { 0 };

	for (unsigned i = 0; i < n; i++) {
		struct event *e = sample_add_event(&s, i % 3 ? EVENT_SPAWN : EVENT_EXEC);

		e->id.pid = first + (pid_t)i;
		e->boot_ns = T0_NS;
	}
	kit_build(NULL, &s, &snap);
	serve_publish(serve, &snap);
	snapshot_done(&snap);
	sample_done(&s);
}

static void test_serve_publish__may_be_called_at_any_time(void **state)
{
	struct fixture *fx = *state;
	struct err err = { 0 };

	assert_int_equal(open_door(fx, &fx->serve, &err), 0);
	note_spawns(fx->serve, 100, 0);
	note_spawns(fx->serve, 100, 1000);
}

static void put_recent(struct recent_events *r, size_t limit, struct buf *out)
{
	struct json j = { .out = out };

	buf_reset(out);
	recent_events_json(&j, r, RECENT_EVENTS_OF_ALL, limit);
}

static size_t count_text(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void test_recent__keeps_the_last_process_events_in_order(void **state)
{
	struct snapshot snap = { 0 };
	struct recent_events r = { 0 };
	struct buf out = { 0 };

	put_recent(&r, 50, &out);
	assert_string_equal(out.at, "[]");
	*vec_push(&snap.jobs, 1) = (struct job){ .id = "a", .uid = 7 };
	for (pid_t pid = 1; pid <= 450; pid++) {
		struct event *e = vec_push(&snap.events, 1000);

		e->kind = pid % 2 ? EVENT_SPAWN : EVENT_PROBE;
		e->id.pid = pid;
		e->job = 0;
		if (pid % 100 == 0) { /* in several pieces */
			recent_events_add(&r, &snap);
			vec_reset(&snap.events);
		}
	}
	recent_events_add(&r, &snap);
	put_recent(&r, 1000, &out);
	assert_int_equal(count_text(out.at, "\"spawn\""), RECENT_EVENTS_MAX);
	assert_null(strstr(out.at, "\"probe\""));
	assert_null(strstr(out.at, "\"pid\":49,"));
	put_recent(&r, 2, &out);
	assert_int_equal(count_text(out.at, "\"spawn\""), 2);
	assert_true(strstr(out.at, "\"pid\":447,") < strstr(out.at, "\"pid\":449,"));
	buf_done(&out);
	recent_events_done(&r);
	snapshot_done(&snap);
}

static void test_recent__keeps_what_is_notable_in_a_storm_of_births(void **state)
{
	struct snapshot snap = { 0 };
	struct recent_events r = { .is_notable = true };
	struct buf out = { 0 };

	*vec_push(&snap.jobs, 1) = (struct job){ .id = "a", .uid = 7 };
	*vec_push(&snap.events, 2000) = (struct event){ .kind = EVENT_OOM, .id.pid = 5 };
	*vec_push(&snap.events,
	          2000) = (struct event){ .kind = EVENT_EXIT, .id.pid = 6, .signal = 9 };
	for (pid_t pid = 100; pid < 1000; pid++) {
		*vec_push(&snap.events, 2000) = (struct event){ .kind = EVENT_SPAWN,
			                                        .id.pid = pid };
		*vec_push(&snap.events, 2000) = (struct event){ .kind = EVENT_EXIT, .id.pid = pid };
	}
	recent_events_add(&r, &snap);
	put_recent(&r, 1000, &out);
	assert_int_equal(count_text(out.at, "\"event_type\""), 2);
	assert_non_null(strstr(out.at, "\"oom\""));
	assert_non_null(strstr(out.at, "\"signal_num\":9,"));
	buf_done(&out);
	recent_events_done(&r);
	snapshot_done(&snap);
}

static void add_recent(struct recent_events *r, struct snapshot *snap, int32_t job, uint32_t uid,
                       pid_t pid, size_t n)
{
	vec_reset(&snap->events);
	for (size_t i = 0; i < n; i++)
		*vec_push(&snap->events, 1000) = (struct event){
			.kind = EVENT_SPAWN, .id.pid = pid, .job = job, .uid = uid
		};
	recent_events_add(r, snap);
}

/* The record of an end may come a tick later than those of what happened after it. */
static void test_recent__sorts_events_that_come_late(void **state)
{
	static const uint64_t at_ns[] = { 20, 50, 10, 40, 30 };
	struct snapshot snap = { 0 };
	struct recent_events r = { 0 };
	struct buf out = { 0 };
	const char *last;

	*vec_push(&snap.jobs, 1) = (struct job){ .id = "a", .uid = 7 };
	for (size_t round = 0; round < 2 * RECENT_EVENTS_MAX / ARRAY_LEN(at_ns); round++)
		for (size_t i = 0; i < ARRAY_LEN(at_ns); i++) {
			vec_reset(&snap.events);
			*vec_push(&snap.events, 1) = (struct event){
				.kind = EVENT_EXIT,
				.id.pid = (pid_t)(1000 + 100 * round + at_ns[i]),
				.wall_ns = 100 * round + at_ns[i]
			};
			recent_events_add(&r, &snap);
		}
	put_recent(&r, RECENT_EVENTS_MAX, &out);
	last = out.at;
	for (size_t n = 0, before = 0; n < RECENT_EVENTS_MAX; n++) {
		size_t pid;

		last = strstr(last, "\"pid\":") + strlen("\"pid\":");
		pid = (size_t)strtoul(last, NULL, 10);
		assert_true(pid > before);
		before = pid;
	}
	buf_done(&out);
	recent_events_done(&r);
	snapshot_done(&snap);
}

static void test_recent__is_displaced_neither_by_other_users_nor_outside_of_jobs(void **state)
{
	struct snapshot snap = { 0 };
	struct recent_events r = { 0 };
	struct buf out = { 0 };
	struct json j = { .out = &out };

	*vec_push(&snap.jobs, 2) = (struct job){ .id = "job7", .uid = 7 };
	*vec_push(&snap.jobs, 2) = (struct job){ .id = "job8", .uid = 8 };
	add_recent(&r, &snap, 0, 7, 100, 3);
	add_recent(&r, &snap, 1, 8, 200, 500);
	add_recent(&r, &snap, -1, 7, 300, 500);
	add_recent(&r, &snap, 1, 7, 400, 1); /* a process of user 7 in the job of user 8 */
	recent_events_json(&j, &r, 7, 50);
	assert_int_equal(count_text(out.at, "\"pid\":100,"), 3);
	assert_int_equal(count_text(out.at, "\"spawn\""), 4);
	put_recent(&r, 1000, &out);
	assert_int_equal(count_text(out.at, "\"pid\":400,"), 1);
	assert_null(strstr(out.at, "\"pid\":300,"));
	buf_done(&out);
	recent_events_done(&r);
	snapshot_done(&snap);
}

static void assert_context(const struct snapshot *snap, pid_t pid, const char *want)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };
	const struct resource_context_jobs none = { 0 };

	resource_context_json(&j, snap, NULL, pid, snap ? &none : NULL, NULL);
	assert_string_equal(out.at, want);
	buf_done(&out);
}

static void test_context__has_nulls_for_what_is_unknown(void **state)
{
	assert_context(NULL, 0,
	               "{\"rss_mb\":null,\"cpu_pct\":null,\"syscall_hotspot\":null,"
	               "\"anomalies_active\":[],\"daemon_rss_mb\":null,\"pressure_level\":null,"
	               "\"running_jobs\":null,\"active_sheets\":null}");
	assert_context(NULL, 12,
	               "{\"rss_mb\":null,\"cpu_pct\":null,\"syscall_hotspot\":null,"
	               "\"anomalies_active\":[],\"daemon_rss_mb\":null}");
}

static void test_context__has_the_figures_of_a_process_with_one_decimal(void **state)
{
	struct sample prev = kit_sample(0), cur = kit_sample(NS_PER_S);
	struct snapshot snap = { 0 };

	kit_proc_cpu(&prev, 12, 5, 0);
	readings_set(&kit_proc_cpu(&cur, 12, 5, NS_PER_S / 4)->r, PROC_RSS, 3u << 19);
	readings_set(&cur.host, HOST_SELF_RSS, 10u << 20);
	kit_build(&prev, &cur, &snap);
	assert_context(&snap, 12,
	               "{\"rss_mb\":1.5,\"cpu_pct\":25.0,\"syscall_hotspot\":null,"
	               "\"anomalies_active\":[],\"daemon_rss_mb\":10.0}");
	assert_context(&snap, 13,
	               "{\"rss_mb\":null,\"cpu_pct\":null,\"syscall_hotspot\":null,"
	               "\"anomalies_active\":[],\"daemon_rss_mb\":10.0}");
	assert_context(&snap, 0,
	               "{\"rss_mb\":null,\"cpu_pct\":null,\"syscall_hotspot\":null,"
	               "\"anomalies_active\":[],\"daemon_rss_mb\":10.0,\"pressure_level\":null,"
	               "\"running_jobs\":0,\"active_sheets\":0}");
	snapshot_done(&snap);
	sample_done(&prev);
	sample_done(&cur);
}

static void test_context__names_the_anomalies_that_last(void **state)
{
	struct sample cur = kit_sample(NS_PER_S);
	struct snapshot snap = { 0 };
	struct anomaly *a;

	kit_proc(&cur, 12, 5);
	kit_build(NULL, &cur, &snap);
	a = vec_push(&snap.anomalies, 8);
	*a = (struct anomaly){ .kind = ANOMALY_ZOMBIE, .news = ANOMALY_SAME, .id = { 12, 5 } };
	a = vec_push(&snap.anomalies, 8);
	*a = (struct anomaly){ .kind = ANOMALY_MEMORY_PRESSURE, .news = ANOMALY_BEGAN };
	a = vec_push(&snap.anomalies, 8);
	*a = (struct anomaly){ .news = ANOMALY_ENDED, .id = { 12, 5 } };
	assert_context(&snap, 12,
	               "{\"rss_mb\":null,\"cpu_pct\":null,\"syscall_hotspot\":null,"
	               "\"anomalies_active\":[\"zombie\"],\"daemon_rss_mb\":null}");
	assert_context(&snap, 13,
	               "{\"rss_mb\":null,\"cpu_pct\":null,\"syscall_hotspot\":null,"
	               "\"anomalies_active\":[],\"daemon_rss_mb\":null}");
	assert_context(&snap, 0,
	               "{\"rss_mb\":null,\"cpu_pct\":null,\"syscall_hotspot\":null,"
	               "\"anomalies_active\":[\"zombie\",\"memory_pressure\"],"
	               "\"daemon_rss_mb\":null,\"pressure_level\":null,"
	               "\"running_jobs\":0,\"active_sheets\":0}");
	snapshot_done(&snap);
	sample_done(&cur);
}

/* ---- a recorder whose job is gone ------------------------------------------------------------ */

struct forgetful {
	struct loop *loop;
	struct engine *engine;
	job_handle first; /* -1: none was registered yet */
	struct loop_source *committer;
	void (*done)(void *self, enum stored stored); /* of the commit that is awaited */
	void *done_self;
	int fd;
	size_t len;
	char answers[4096];
};

/* Makes room for the second job as the registry does when a user has too many. */
static int register_and_forget(void *self, struct job *job, pid_t pid, struct err *err)
{
	struct forgetful *f = self;
	struct jobs *jobs = engine_jobs(f->engine);

	(void)pid, (void)err;
	if (f->first >= 0)
		jobs_remove(jobs, f->first);
	job->handle = jobs_add(jobs, job)->row->job.handle;
	if (f->first < 0)
		f->first = job->handle;
	return 0;
}

static void commit_now(void *self)
{
	struct forgetful *f = self;

	f->done(f->done_self, STORED_YES);
}

static void commit_soon(void *self, bool has_ended, void (*done)(void *self, enum stored stored),
                        void *done_self)
{
	struct forgetful *f = self;

	(void)has_ended;
	f->done = done;
	f->done_self = done_self;
	loop_timer_set(f->committer, 0);
}

static void read_answers(void *self)
{
	struct forgetful *f = self;
	ssize_t n = read(f->fd, f->answers + f->len, sizeof f->answers - 1 - f->len);

	f->len += n > 0 ? (size_t)n : 0;
	if (n <= 0 || strstr(f->answers, "\"id\":3"))
		loop_stop(f->loop);
}

static void get_answers(struct forgetful *f, const struct serve_host *host, const char *calls)
{
	struct serve *serve = NULL;
	struct loop_source *reader = NULL;
	struct err err;
	int sv[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sv), 0);
	f->fd = sv[1];
	assert_int_equal(write(f->fd, calls, strlen(calls)), strlen(calls));
	assert_int_equal(serve_attach(f->loop, sv[0], host, NULL, NULL, &serve, &err), 0);
	assert_int_equal(loop_add_reader(f->loop, f->fd, read_answers, f, &reader, &err), 0);
	assert_int_equal(loop_run(f->loop, &err), 0);
	loop_remove(reader);
	serve_close(serve);
	close(f->fd);
}

static void test_serve__finds_no_job_for_a_recorder_whose_job_was_removed(void **state)
{
	static const char calls[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"job.start\",\"params\":{\"job_id\":\"first\",\"has_recorder\":true}}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"job.start\",\"params\":{\"job_id\":\"second\"}}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"job.mark\",\"params\":{\"job_id\":\"first\",\"name\":\"m\"}}\n";
	static const struct serve_daemon daemon = { .start_job = register_and_forget,
		                                    .commit_jobs = commit_soon };
	struct fixture *fx = *state;
	cleanup(freep) char *path = xasprintf("%s/proctor.db", fx->tree.path);
	const struct engine_options options = { .sampler = { .no_bpf = true, .no_events = true },
		                                .interval_ns = 3600 * NS_PER_S,
		                                .recorder.store.path = path };
	struct forgetful f = { .loop = fx->loop, .first = -1 };
	struct serve_host host = {
		.daemon = &daemon, .daemon_self = &f, .clients_max = 8, .clients_per_uid_max = 8
	};
	struct engine_totals totals;
	struct err err;

	assert_int_equal(engine_new(fx->loop, &options, &f.engine, &err), 0);
	host.engine = f.engine;
	f.committer = loop_add_timer(fx->loop, UINT64_MAX, commit_now, &f);
	get_answers(&f, &host, calls);
	loop_remove(f.committer);
	engine_stop(f.engine, &totals);
	assert_non_null(strstr(f.answers, "there is no job 'first'"));
}

#define SERVE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(SERVE_TEST(test_serve_open__makes_a_door_for_its_owner_only_and_leaves_nothing),
          SERVE_TEST(test_serve_open__takes_over_what_a_killed_job_left),
          SERVE_TEST(test_serve_open__refuses_the_directory_of_a_running_job),
          SERVE_TEST(test_serve_open__refuses_symbolic_links_and_files),
          SERVE_TEST(test_serve_open__refuses_what_belongs_to_another_user),
          SERVE_TEST(test_serve_open__does_not_mind_a_path_longer_than_an_address),
          SERVE_TEST(test_serve_publish__may_be_called_at_any_time),
          SERVE_TEST(test_serve__finds_no_job_for_a_recorder_whose_job_was_removed),
          TEST(test_recent__keeps_the_last_process_events_in_order),
          TEST(test_recent__keeps_what_is_notable_in_a_storm_of_births),
          TEST(test_recent__sorts_events_that_come_late),
          TEST(test_recent__is_displaced_neither_by_other_users_nor_outside_of_jobs),
          TEST(test_context__names_the_anomalies_that_last),
          TEST(test_context__has_nulls_for_what_is_unknown),
          TEST(test_context__has_the_figures_of_a_process_with_one_decimal))
