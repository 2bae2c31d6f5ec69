/* SPDX-License-Identifier: MIT */
#include <grp.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "probe/lifecycle/connector_message.h"
#include "probe/lifecycle/process_names.h"
#include "connector_kit.h"
#include "fake_machine.h"

/* ---- messages -------------------------------------------------------------------------------- */

/* With the length that older kernels wrote, too. */
static size_t put_message(char to[static CONNECTOR_KIT_BYTES], uint32_t what, const void *data,
                          size_t len, uint16_t cn_len)
{
	uint32_t nl_len = (uint32_t)(NLMSG_HDRLEN + sizeof(struct cn_msg) + cn_len);

	(void)connector_kit_message(to, what, 77, data, len);
	memcpy(to, &nl_len, sizeof nl_len);
	memcpy(to + NLMSG_HDRLEN + offsetof(struct cn_msg, len), &cn_len, sizeof cn_len);
	return nl_len;
}

static void test_cnproc_parse__understands_forks_and_exits(void **state)
{
	int32_t fork_data[] = { 10, 10, 20, 20 }, exit_data[] = { 20, 20, 0x8b, 17, 10, 10 };
	struct connector_message_event ev;
	char bytes[256];
	size_t n = put_message(bytes, PROC_EVENT_FORK, fork_data, sizeof fork_data, 40);

	(void)state;
	assert_true(connector_message_parse(bytes, n, &ev));
	assert_int_equal(ev.kind, CONNECTOR_MESSAGE_FORK);
	assert_int_equal(ev.cpu, 3);
	assert_int_equal(ev.seq, 77);
	assert_int_equal(ev.mono_ns, 123456789);
	assert_int_equal(ev.tgid, 20);
	assert_int_equal(ev.parent, 10);
	n = put_message(bytes, (uint32_t)PROC_EVENT_EXIT, exit_data, sizeof exit_data, 40);
	assert_true(connector_message_parse(bytes, n, &ev));
	assert_int_equal(ev.kind, CONNECTOR_MESSAGE_EXIT);
	assert_int_equal(ev.status, 0x8b);
	n = put_message(bytes, (uint32_t)PROC_EVENT_EXIT, exit_data, 16,
	                32); /* as old kernels write it */
	assert_true(connector_message_parse(bytes, n, &ev));
	assert_int_equal(ev.status, 0x8b);
}

static void test_cnproc_parse__refuses_what_is_cut_or_not_for_us(void **state)
{
	int32_t fork_data[] = { 10, 10, 20, 20 };
	struct connector_message_event ev = { .pid = 7 };
	char bytes[256];
	size_t n = put_message(bytes, PROC_EVENT_FORK, fork_data, sizeof fork_data, 40);

	(void)state;
	for (size_t len = 0; len < n; len++)
		assert_false(connector_message_parse(bytes, len, &ev));
	bytes[NLMSG_HDRLEN] = 9; /* another connector */
	assert_false(connector_message_parse(bytes, n, &ev));
	n = put_message(bytes, PROC_EVENT_FORK, fork_data, sizeof fork_data, 8);
	assert_false(connector_message_parse(bytes, n, &ev));
	assert_int_equal(ev.pid, 7);
}

static void test_process_names__remember_what_ticks_and_events_reported(void **state)
{
	struct sample s = { .boot_ns = 100 };
	struct process_names n;
	struct proc_sample *p = sample_add_proc(&s);

	(void)state;
	process_names_init(&n);
	p->id = (struct proc_id){ 40, 7 };
	process_names_put(&n, &(struct known){ .id = { 50, 9 }, .changed_ns = 90 });
	process_names_learn(&n, &s);
	assert_int_equal(process_names_find(&n, 40)->id.start_ticks, 7);
	assert_int_equal(process_names_find(&n, 50)->id.start_ticks, 9);
	process_names_forget(&n, 40, 150);
	assert_null(process_names_find(&n, 40));
	process_names_learn(&n, &s); /* that it ended is newer than the tick */
	assert_null(process_names_find(&n, 40));
	process_names_put(&n, &(struct known){ .id = { 40, 15 }, .changed_ns = 150 });
	process_names_learn(&n, &s); /* so is another process of that pid */
	assert_int_equal(process_names_find(&n, 40)->id.start_ticks, 15);
	assert_null(process_names_find(&n, 50)); /* forgotten */
	s.boot_ns = 200;
	p->id.start_ticks = 16;
	process_names_learn(&n, &s);
	assert_int_equal(process_names_find(&n, 40)->id.start_ticks, 16);
	process_names_done(&n);
	sample_done(&s);
}

/* ---- on the live machine --------------------------------------------------------------------- */

struct live {
	struct probe_env env;
	void *self;
	struct sample s;
};

static struct live live_open(void)
{
	struct live l = { .env = tree_live() };
	struct err err = { 0 };

	if (probe_lifecycle_connector.open(&l.env, &l.self, &err) < 0)
		fail_msg("%s", err.msg);
	l.s.events_complete = true;
	return l;
}

static void live_read(struct live *l)
{
	struct err err = { 0 };

	if (probe_lifecycle_connector.read(l->self, &l->s, &err) < 0)
		fail_msg("%s", err.msg);
}

static void live_close(struct live *l)
{
	probe_lifecycle_connector.close(l->self);
	sample_done(&l->s);
	close(l->env.root_fd);
}

static const struct event *find_event(const struct sample *s, enum event_kind kind, pid_t pid)
{
	vec_each(&s->events, e)
		if (e->kind == kind && (e->id.pid == pid || !pid))
			return e;
	return NULL;
}

/* Reads until the event is there, 2 seconds at most. */
static const struct event *await_event(struct live *l, enum event_kind kind, pid_t pid)
{
	struct pollfd fd = { .fd = probe_lifecycle_connector.fd(l->self), .events = POLLIN };
	const struct event *e;

	for (int i = 0; i < 200 && !(e = find_event(&l->s, kind, pid)); i++) {
		poll(&fd, 1, 10);
		live_read(l);
	}
	return find_event(&l->s, kind, pid);
}

static bool has_text(const struct sample *s, const struct event *e, const char *text)
{
	return e->text.len == strlen(text) &&
	       memcmp(s->text.at + e->text.at, text, e->text.len) == 0;
}

static void test_lifecycle_connector__reports_spawn_exec_and_exit(void **state)
{
	struct live l = live_open();
	const struct event *e;
	int gate[2], status;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(gate), 0);
	child = fork();
	if (child == 0) {
		close(gate[1]);
		dup2(gate[0], STDIN_FILENO);
		execl("/bin/sh", "sh", "-c", "read x", "me", "--token=canary", NULL);
		_exit(127);
	}
	e = await_event(&l, EVENT_SPAWN, child);
	assert_non_null(e);
	assert_int_equal(e->ppid, getpid());
	assert_int_equal(e->uid, geteuid());
	assert_true(e->id.start_ticks > 0);
	assert_true(e->boot_ns <= clock_boot_ns() && e->boot_ns + 60 * NS_PER_S > clock_boot_ns());
	e = await_event(&l, EVENT_EXEC, child);
	assert_non_null(e);
	assert_string_equal(e->comm, "sh");
	assert_true(has_text(&l.s, e, "sh -c read x me --token=***"));
	close(gate[0]);
	close(gate[1]); /* nothing to read: it ends */
	e = await_event(&l, EVENT_EXIT, child);
	assert_non_null(e);
	assert_true(e->has_exit_code);
	assert_int_equal(e->exit_code, 1);
	assert_int_equal(e->signal, 0);
	assert_string_equal(e->comm, "sh");
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(l.s.events_complete);
	live_close(&l);
}

static void test_lifecycle_connector__reports_signals_and_cores_of_ended_processes(void **state)
{
	struct live l = live_open();
	const struct event *e;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		for (;;)
			pause();
	assert_non_null(await_event(&l, EVENT_SPAWN, child));
	kill(child, SIGKILL);
	e = await_event(&l, EVENT_EXIT, child);
	assert_non_null(e);
	assert_int_equal(e->signal, SIGKILL);
	assert_false(e->has_exit_code || e->core_dumped);
	assert_int_equal(waitpid(child, NULL, 0), child);
	live_close(&l);
}

static void test_lifecycle_connector__gives_spawn_and_exit_the_identity_that_a_scan_sees(
	void **state)
{
	struct live l = live_open();
	const struct event *spawn, *exit;
	struct proc_sample *p;
	void *tasks;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		for (;;)
			pause();
	tasks = tree_probe(&probe_tasks_proc, &l.env, &l.s);
	p = sample_find_proc(&l.s, child);
	assert_non_null(p);
	live_read(&l);
	kill(child, SIGTERM);
	assert_int_equal(waitpid(child, NULL, 0), child); /* gone before its end is read */
	exit = await_event(&l, EVENT_EXIT, child);
	spawn = find_event(&l.s, EVENT_SPAWN, child);
	assert_true(spawn && exit);
	assert_true(proc_id_eq(spawn->id, p->id));
	assert_true(proc_id_eq(exit->id, p->id));
	assert_string_equal(exit->comm, p->comm);
	probe_tasks_proc.close(tasks);
	live_close(&l);
}

static void *linger(void *gate)
{
	char c;

	(void)!read(*(int *)gate, &c, 1);
	_exit(7);
}

static void test_lifecycle_connector__keeps_threads_apart_and_waits_for_the_last(void **state)
{
	struct live l = live_open();
	const struct event *e;
	int gate[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(gate), 0);
	child = fork();
	if (child == 0) {
		pthread_t thread;

		close(gate[1]);
		pthread_create(&thread, NULL, linger, &gate[0]);
		syscall(SYS_exit, 0); /* the leader goes, the process stays */
	}
	assert_non_null(await_event(&l, EVENT_SPAWN, child));
	for (int i = 0; i < 20; i++) {
		usleep(5000);
		live_read(&l);
	}
	assert_null(find_event(&l.s, EVENT_EXIT, child));
	close(gate[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	e = await_event(&l, EVENT_EXIT, child);
	assert_non_null(e);
	assert_int_equal(e->exit_code, 7); /* as the last thread would have it */
	close(gate[0]);
	live_close(&l);
}

static void *run_program(void *gate)
{
	char c;

	(void)!read(*(int *)gate, &c, 1);
	execl("/bin/sh", "sh", "-c", "exit 17", NULL);
	_exit(127);
}

static size_t count_events(const struct sample *s, enum event_kind kind, pid_t pid)
{
	size_t n = 0;

	vec_each(&s->events, e)
		n += e->kind == kind && e->id.pid == pid;
	return n;
}

/* The kernel reports the end of the leader, whose place the thread takes. */
static void test_lifecycle_connector__knows_a_program_run_by_a_thread_from_an_end(void **state)
{
	struct live l = live_open();
	const struct event *e;
	int gate[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(gate), 0);
	child = fork();
	if (child == 0) {
		pthread_t thread;

		close(gate[1]);
		pthread_create(&thread, NULL, run_program, &gate[0]);
		for (;;)
			pause();
	}
	assert_non_null(await_event(&l, EVENT_SPAWN, child));
	close(gate[1]);
	assert_int_equal(waitpid(child, NULL, 0), child); /* gone before any of it is read */
	e = await_event(&l, EVENT_EXIT, child);
	assert_non_null(e);
	assert_int_equal(e->exit_code, 17);
	assert_int_equal(count_events(&l.s, EVENT_EXIT, child), 1);
	assert_true(proc_id_eq(find_event(&l.s, EVENT_EXEC, child)->id, e->id));
	close(gate[0]);
	live_close(&l);
}

static void test_lifecycle_connector__counts_what_a_stopped_reader_lost(void **state)
{
	struct live l = live_open();
	struct probe_health h;
	uint64_t reported = 0;
	size_t spawns = 0;

	(void)state;
	connector_kit_set_buffers(16 << 10);
	connector_kit_spawn(1000);
	connector_kit_set_buffers(1 << 20);
	for (int i = 0; i < 3; i++) {
		live_read(&l);
		connector_kit_spawn(20);
	}
	live_read(&l);
	assert_false(l.s.events_complete);
	vec_each(&l.s.events, e) {
		reported += e->kind == EVENT_LOSS ? (uint64_t)e->count : 0;
		spawns += e->kind == EVENT_SPAWN;
	}
	probe_lifecycle_connector.health(l.self, &h);
	assert_int_equal(h.lost, reported);
	assert_true(reported >= 1000 && spawns >= 60);
	live_close(&l);
}

static void test_lifecycle_connector__loses_nothing_of_a_burst_with_a_prompt_reader(void **state)
{
	struct live l = live_open();
	size_t ours[2] = { 0 };

	(void)state;
	for (int i = 0; i < 20; i++) {
		connector_kit_spawn(100);
		live_read(&l);
	}
	vec_each(&l.s.events, e) {
		ours[0] += e->kind == EVENT_SPAWN && e->ppid == getpid();
		ours[1] += e->kind == EVENT_EXIT;
		assert_true(e->kind != EVENT_LOSS);
	}
	assert_int_equal(ours[0], 2000);
	assert_true(ours[1] >= 2000);
	assert_true(l.s.events_complete);
	live_close(&l);
}

/* A datagram that any process may send to our port. */
static void test_lifecycle_connector__accepts_messages_of_the_kernel_only(void **state)
{
	struct live l = live_open();
	struct sockaddr_nl us;
	socklen_t len = sizeof us;
	int32_t data[] = { 1, 1, 999999, 999999 };
	char bytes[256];
	size_t n = put_message(bytes, PROC_EVENT_FORK, data, sizeof data, 40);
	int fd;

	(void)state;
	assert_int_equal(getsockname(connector_kit_socket(0), (struct sockaddr *)&us, &len), 0);
	fd = socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR);
	us.nl_groups = 0;
	(void)!sendto(fd, bytes, n, 0, (struct sockaddr *)&us, sizeof us);
	live_read(&l);
	assert_null(find_event(&l.s, EVENT_SPAWN, 999999));
	close(fd);
	live_close(&l);
}

/* Runs in a child: 0 when open refused, did not wait for ever, and gave a reason. */
static int refuses(const char *word)
{
	struct probe_env env = tree_live();
	struct err err = { 0 };
	void *self = NULL;
	uint64_t begin = clock_mono_ns();

	if (probe_lifecycle_connector.open(&env, &self, &err) == 0)
		return 1;
	return clock_mono_ns() - begin < 20 * NS_PER_S && strstr(err.msg, word) ? 0 : 2;
}

static int in_namespace(int flags, const char *word)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		int inner;
		pid_t grandchild;

		if (unshare(flags) < 0)
			_exit(9);
		grandchild = fork(); /* a pid namespace begins with the next child */
		if (grandchild == 0)
			_exit(refuses(word));
		waitpid(grandchild, &inner, 0);
		_exit(WIFEXITED(inner) ? WEXITSTATUS(inner) : 8);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 7;
}

static void test_lifecycle_connector__is_absent_with_a_reason_where_it_would_stay_silent(
	void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(in_namespace(CLONE_NEWPID, "silent"), 0);
	assert_int_equal(in_namespace(CLONE_NEWUSER, "proc connector"), 0);
	assert_int_equal(in_namespace(CLONE_NEWNET, "proc connector"), 0);
}

/* Unprivileged it works on Linux 6.6 and later, and gives a reason before. */
static void test_lifecycle_connector__works_or_gives_the_reason_as_nobody(void **state)
{
	int status;
	pid_t child;

	(void)state;
	if (geteuid() != 0)
		skip();
	child = fork();
	if (child == 0) {
		struct probe_env env = tree_live();
		struct err err = { 0 };
		void *self = NULL;

		if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
			_exit(9);
		if (probe_lifecycle_connector.open(&env, &self, &err) < 0)
			_exit(strstr(err.msg, "CAP_NET_ADMIN") ? 0 : 1);
		probe_lifecycle_connector.close(self);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

RUN_TESTS(TEST(test_cnproc_parse__understands_forks_and_exits),
          TEST(test_cnproc_parse__refuses_what_is_cut_or_not_for_us),
          TEST(test_process_names__remember_what_ticks_and_events_reported),
          TEST(test_lifecycle_connector__reports_spawn_exec_and_exit),
          TEST(test_lifecycle_connector__reports_signals_and_cores_of_ended_processes),
          TEST(test_lifecycle_connector__gives_spawn_and_exit_the_identity_that_a_scan_sees),
          TEST(test_lifecycle_connector__keeps_threads_apart_and_waits_for_the_last),
          TEST(test_lifecycle_connector__knows_a_program_run_by_a_thread_from_an_end),
          TEST(test_lifecycle_connector__counts_what_a_stopped_reader_lost),
          TEST(test_lifecycle_connector__loses_nothing_of_a_burst_with_a_prompt_reader),
          TEST(test_lifecycle_connector__accepts_messages_of_the_kernel_only),
          TEST(test_lifecycle_connector__is_absent_with_a_reason_where_it_would_stay_silent),
          TEST(test_lifecycle_connector__works_or_gives_the_reason_as_nobody))
