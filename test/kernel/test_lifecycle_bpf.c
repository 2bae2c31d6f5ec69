/* SPDX-License-Identifier: MIT */
/* Births, signals, kills for lack of memory, lost events. */
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "kernel_kit.h"

/* ---- birth ----------------------------------------------------------------------------------- */

static void assert_text(const struct live *live, const struct event *e, const char *text)
{
	assert_int_equal(e->text.len, strlen(text));
	assert_memory_equal(live->out.text.at + e->text.at, text, e->text.len);
}

static void test_lifecycle_bpf__sees_a_life_of_a_few_milliseconds(void **state)
{
	struct live *live = *state;
	uint64_t before = clock_boot_ns();
	pid_t pid = child(exec_true, NULL);
	const struct event *e;

	assert_int_equal(reap(pid), 0);
	e = await(live, EVENT_EXIT, pid);
	assert_true(e->has_exit_code);
	assert_int_equal(e->exit_code, 0);
	assert_true(e->boot_ns > before && e->boot_ns < clock_boot_ns());
	assert_string_equal(e->comm, "true");
	assert_int_equal(reported(live, EVENT_SPAWN, pid)->ppid, getpid());
	assert_true(proc_id_eq(reported(live, EVENT_SPAWN, pid)->id, e->id));
	assert_text(live, reported(live, EVENT_EXEC, pid), "true one argument a\nline");
	assert_true(live->out.events_complete);
}

static int exec_long(void *arg)
{
	char word[4000];

	(void)arg;
	memset(word, 'x', sizeof word - 1);
	word[sizeof word - 1] = '\0';
	execl("/bin/true", "true", word, (char *)NULL);
	return 127;
}

static void test_lifecycle_bpf__keeps_the_beginning_of_a_long_command_line(void **state)
{
	struct live *live = *state;
	pid_t pid = child(exec_long, NULL);
	const struct event *e;

	reap(pid);
	e = await(live, EVENT_EXEC, pid);
	assert_int_equal(e->text.len, COMMAND_MAX);
	assert_memory_equal(live->out.text.at + e->text.at, "true xxxx", 9);
}

static void *rest(void *arg)
{
	pause();
	return arg;
}

static int start_thread(void *arg)
{
	pthread_t thread;

	pthread_create(&thread, NULL, rest, arg);
	return 4;
}

static void test_lifecycle_bpf__a_thread_is_not_a_process(void **state)
{
	struct live *live = *state;
	pid_t pid = child(start_thread, NULL);

	assert_int_equal(WEXITSTATUS(reap(pid)), 4);
	await(live, EVENT_EXIT, pid);
	assert_int_equal(count(live, EVENT_SPAWN, pid), 1);
	assert_int_equal(count(live, EVENT_EXIT, pid), 1);
	vec_each(&live->out.events, e)
		assert_false(e->kind == EVENT_SPAWN && e->ppid == pid);
}

/* ---- signals --------------------------------------------------------------------------------- */

static int wait_for_signal(void *arg)
{
	(void)arg;
	pause();
	return 0;
}

static int send_term(void *pid)
{
	prctl(PR_SET_NAME, "assassin");
	return kill(*(pid_t *)pid, SIGTERM);
}

static void test_lifecycle_bpf__names_the_sender_of_a_signal(void **state)
{
	struct live *live = *state;
	pid_t victim = child(wait_for_signal, NULL);
	pid_t sender = child(send_term, &victim);
	const struct event *e;

	reap(sender);
	assert_int_equal(WTERMSIG(reap(victim)), SIGTERM);
	e = await(live, EVENT_EXIT, victim);
	assert_false(e->has_exit_code);
	assert_int_equal(e->signal, SIGTERM);
	e = reported(live, EVENT_SIGNAL, victim);
	assert_int_equal(e->signal, SIGTERM);
	assert_int_equal(e->sender_pid, sender);
	assert_int_equal(e->sender_uid, geteuid());
	assert_string_equal(e->sender_comm, "assassin");
	assert_int_equal(e->id.start_ticks, reported(live, EVENT_SPAWN, victim)->id.start_ticks);
}

static void test_lifecycle_bpf__a_kill_is_distinguished(void **state)
{
	struct live *live = *state;
	pid_t pid = child(wait_for_signal, NULL);

	kill(pid, SIGKILL);
	reap(pid);
	assert_int_equal(await(live, EVENT_KILL, pid)->sender_pid, getpid());
	assert_int_equal(await(live, EVENT_EXIT, pid)->signal, SIGKILL);
}

static int crash(void *arg)
{
	struct rlimit none = { 0 };

	setrlimit(RLIMIT_CORE, &none);
	signal(SIGSEGV, SIG_DFL); /* sanitizers catch it */
	*(volatile int *)arg = 1;
	return 0;
}

static void test_lifecycle_bpf__a_crash_is_nobodys_signal(void **state)
{
	struct live *live = *state;
	void *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid = child(crash, nowhere);

	assert_int_equal(WTERMSIG(reap(pid)), SIGSEGV);
	assert_int_equal(await(live, EVENT_EXIT, pid)->signal, SIGSEGV);
	assert_int_equal(reported(live, EVENT_SIGNAL, pid)->sender_pid, 0);
	munmap(nowhere, 4096);
}

/* ---- out of memory --------------------------------------------------------------------------- */

/* Where a memory group can be made, and how its limit is called: version 1 and 2. */
static const struct {
	const char *groups, *limit;
} memory[] = {
	{ "/sys/fs/cgroup/memory", "memory.limit_in_bytes" },
	{ "/sys/fs/cgroup", "memory.max" },
};

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

static int eat(void *group)
{
	char path[200];

	snprintf(path, sizeof path, "%s/cgroup.procs", (const char *)group);
	if (!write_file(path, "0"))
		return 2;
	for (size_t i = 0; i < 200; i++)
		memset(mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		            0),
		       1, 1 << 20);
	return 3;
}

static bool make_memory_group(char group[100])
{
	char limit[200];

	for (size_t i = 0; i < ARRAY_LEN(memory); i++) {
		snprintf(group, 100, "%s/proctor-test-%d", memory[i].groups, getpid());
		snprintf(limit, sizeof limit, "%s/%s", group, memory[i].limit);
		if (mkdir(group, 0755) == 0 && write_file(limit, "33554432"))
			return true;
		rmdir(group);
	}
	return false;
}

static void test_lifecycle_bpf__reports_processes_killed_for_lack_of_memory(void **state)
{
	struct live *live = *state;
	char group[100];

	if (!make_memory_group(group)) {
		fprintf(stderr, "NOT TESTED: no memory cgroup can be made here\n");
		skip();
	}
	pid_t pid = child(eat, group);
	int status = reap(pid);
	for (int i = 0; i < 1000 && rmdir(group) < 0; i++)
		usleep(10000);
	assert_true(WIFSIGNALED(status));
	const struct event *e = await(live, EVENT_OOM, pid);
	assert_int_equal(e->id.start_ticks, reported(live, EVENT_SPAWN, pid)->id.start_ticks);
	assert_int_equal(await(live, EVENT_KILL, pid)->sender_pid, 0);
}

/* ---- loss ------------------------------------------------------------------------------------ */

static void on_signal(int number)
{
	(void)number;
}

/* More records than the ring has room for, while nobody reads. */
static int flood(void *arg)
{
	(void)arg;
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 60000; i++)
		raise(SIGUSR1);
	return 0;
}

static void test_lifecycle_bpf__counts_what_it_lost_and_goes_on(void **state)
{
	struct live *live = *state;
	pid_t pid = child(flood, NULL);
	struct probe_health health;
	const struct event *loss;

	reap(pid);
	loss = await(live, EVENT_LOSS, 0);
	assert_true(loss->count > 0);
	assert_false(live->out.events_complete);
	live->ops->health(live->self, &health);
	assert_true(health.lost >= (uint64_t)loss->count);

	sample_reset(&live->out);
	live->out.events_complete = true;
	pid = child(exec_true, NULL);
	reap(pid);
	await(live, EVENT_EXIT, pid);
	assert_true(live->out.events_complete);
}

/* The ends of those that wait for their parents are reported with the loss: there may be many. */
static void test_lifecycle_bpf__survives_a_loss_with_many_ends_on_its_mind(void **state)
{
	enum { ZOMBIES = 2000 };
	struct live *live = *state;
	pid_t zombies[ZOMBIES];
	int code = 0;
	size_t len, room = 1;

	reap(child(flood, NULL));
	live_read(live);
	len = live->out.events.len; /* that is what one read takes of a full ring */
	for (size_t before = 0; before < live->out.events.len; live_read(live))
		before = live->out.events.len;
	while (room < len)
		room *= 2;
	sample_done(&live->out);
	live->out = (struct sample){ .events_complete = true };
	/* So many that the list must grow in the midst of them. */
	for (size_t i = len; i < room + ZOMBIES / 2; i++)
		sample_add_event(&live->out, EVENT_MARK);
	for (int i = 0; i < ZOMBIES; i++)
		zombies[i] = child(exit_with, &code);
	for (int i = 0; i < ZOMBIES; i++)
		waitid(P_PID, (id_t)zombies[i], &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	reap(child(flood, NULL));
	live_read(live);
	assert_true(reported(live, EVENT_LOSS, 0)->count > 0);
	assert_int_equal(count(live, EVENT_LOSS, 0), 1);
	for (int i = 0; i < ZOMBIES; i++)
		reap(zombies[i]);
}

static int flood_a_little(void *arg)
{
	(void)arg;
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 6000; i++)
		raise(SIGUSR1);
	return 0;
}

static void test_lifecycle_bpf__wakes_its_reader_long_before_the_ring_is_full(void **state)
{
	struct live *live = *state;
	struct pollfd ring = { .fd = live->ops->fd(live->self), .events = POLLIN };
	pid_t pid;

	live_read(live);
	pid = child(flood_a_little, NULL);
	assert_int_equal(poll(&ring, 1, 10000), 1);
	live_read(live);
	reap(pid);
	assert_true(live->out.events_complete);
}

/* ---- rights and namespaces ------------------------------------------------------------------- */

enum { SEEN, NO_PROBE, NO_SPAWN, NO_EXIT };

/* The first process of a new pid namespace: its child has a small number. */
static int read_from_inside(void *arg)
{
	struct live live;
	struct err err;
	int code = 9;
	pid_t pid;

	if (live_try(&live, &probe_lifecycle_bpf, &err) < 0)
		return NO_PROBE;
	(void)arg;
	pid = child(exit_with, &code);
	waitpid(pid, NULL, 0);
	const struct event *e = wait_for(&live, EVENT_EXIT, pid);
	if (pid > 9 || !e || e->exit_code != 9)
		return NO_EXIT;
	e = find(&live, EVENT_SPAWN, pid);
	return e && e->ppid == 1 ? SEEN : NO_SPAWN;
}

static int enter_namespace(void *arg)
{
	int status;

	if (unshare(CLONE_NEWPID) < 0)
		return 99;
	waitpid(child(read_from_inside, arg), &status, 0);
	return WEXITSTATUS(status);
}

static void test_lifecycle_bpf__reports_the_pids_of_its_own_namespace(void **state)
{
	(void)state;
	assert_int_equal(WEXITSTATUS(reap(child(enter_namespace, NULL))), SEEN);
}

/* As user nobody, with only these capabilities: the error code of opening the probe. */
static int open_as_nobody(void *capabilities)
{
	uint64_t caps = *(uint64_t *)capabilities;
	struct err err = { 0 };
	struct live live;

	if (!drop_to(caps))
		return 99;
	return live_try(&live, &probe_lifecycle_bpf, &err) < 0 ? err.code : 0;
}

static void test_lifecycle_bpf__needs_two_capabilities_and_no_more(void **state)
{
	uint64_t both = CAP_BIT(CAP_BPF) | CAP_BIT(CAP_PERFMON), one = CAP_BIT(CAP_BPF);

	(void)state;
	assert_int_equal(WEXITSTATUS(reap(child(open_as_nobody, &both))), 0);
	assert_int_equal(WEXITSTATUS(reap(child(open_as_nobody, &one))), EPERM);
}

RUN_LIVE_TESTS(&probe_lifecycle_bpf, LIVE(test_lifecycle_bpf__sees_a_life_of_a_few_milliseconds),
               LIVE(test_lifecycle_bpf__keeps_the_beginning_of_a_long_command_line),
               LIVE(test_lifecycle_bpf__a_thread_is_not_a_process),
               LIVE(test_lifecycle_bpf__names_the_sender_of_a_signal),
               LIVE(test_lifecycle_bpf__a_kill_is_distinguished),
               LIVE(test_lifecycle_bpf__a_crash_is_nobodys_signal),
               LIVE(test_lifecycle_bpf__reports_processes_killed_for_lack_of_memory),
               LIVE(test_lifecycle_bpf__counts_what_it_lost_and_goes_on),
               LIVE(test_lifecycle_bpf__survives_a_loss_with_many_ends_on_its_mind),
               LIVE(test_lifecycle_bpf__wakes_its_reader_long_before_the_ring_is_full),
               LIVE(test_lifecycle_bpf__reports_the_pids_of_its_own_namespace),
               LIVE(test_lifecycle_bpf__needs_two_capabilities_and_no_more))
