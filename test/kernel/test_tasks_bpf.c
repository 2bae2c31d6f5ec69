/* SPDX-License-Identifier: MIT */
/* The two ways to sample processes must agree: every field of processes in many
 * situations, held side by side. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "kernel_kit.h"
#include "check.h"

#define TICK_NS (NS_PER_S / 100)

/* A child that does something, reports that it is ready, and rests. */
struct actor {
	int (*act)(void);
	pid_t pid;
};

static void rest(void)
{
	for (;;)
		pause();
}

static void *rest_in_thread(void *arg)
{
	rest();
	return arg;
}

static void *end_at_once(void *arg)
{
	return arg;
}

static int nothing(void)
{
	return 0;
}

static int eat_memory(void)
{
	size_t len = 37 << 20;
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 1;
	memset(p, 1, len);
	return munmap(p, len / 3);
}

static int share_memory(void)
{
	char *p = mmap(NULL, 5 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 1;
	memset(p, 1, 5 << 20);
	return 0;
}

static int open_files(int n)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1;
	limit.rlim_cur = MIN((rlim_t)n + 100, limit.rlim_max);
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1;
	int first = open("/dev/null", O_RDONLY);
	for (int i = 1; i < n; i++)
		if (dup(first) < 0)
			return 1;
	for (int i = 0; i < n; i += 7) /* holes */
		close(first + i);
	return first < 0;
}

static int open_100_files(void)
{
	return open_files(100);
}

static int open_600_files(void)
{
	return open_files(600);
}

static int open_5000_files(void)
{
	return open_files(5000);
}

static int open_far_away(void)
{
	return dup2(0, 999) < 0;
}

static int write_to_disk(void)
{
	char path[] = "proctor-test-XXXXXX", bytes[4096] = { 1 };
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	unlink(path);
	for (int i = 0; i < 100; i++)
		if (write(fd, bytes, sizeof bytes) < 0)
			return 1;
	return fsync(fd);
}

static int start_threads(void)
{
	pthread_t thread;

	for (int i = 0; i < 9; i++)
		if (pthread_create(&thread, NULL, rest_in_thread, NULL))
			return 1;
	for (int i = 0; i < 5; i++)
		if (pthread_create(&thread, NULL, end_at_once, NULL) || pthread_join(thread, NULL))
			return 1;
	return 0;
}

static int burn_cpu(void)
{
	while (clock_process_cpu_ns() < 60 * NS_PER_MS)
		;
	return 0;
}

static int stop(void)
{
	return raise(SIGSTOP);
}

static int exit_unseen(void)
{
	_exit(3);
}

static int name_hostile(void)
{
	return prctl(PR_SET_NAME, ") R 1 (\n\x1b[31m\xff");
}

static int name_empty(void)
{
	return prctl(PR_SET_NAME, "");
}

static int name_long(void)
{
	return prctl(PR_SET_NAME, "exactly_fifteen");
}

static int become_other_user(void)
{
	return setresuid(1000, 65534, 65534);
}

static int become_undumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 0);
}

static struct actor actors[] = {
	{ nothing },           { eat_memory },      { share_memory },  { open_100_files },
	{ open_600_files },    { open_5000_files }, { open_far_away }, { write_to_disk },
	{ start_threads },     { burn_cpu },        { stop },          { exit_unseen },
	{ name_hostile },      { name_empty },      { name_long },     { become_other_user },
	{ become_undumpable },
};

static void send_away(void)
{
	for (size_t i = 0; i < ARRAY_LEN(actors); i++) {
		if (actors[i].pid <= 0)
			continue;
		kill(actors[i].pid, SIGKILL);
		waitpid(actors[i].pid, NULL, 0);
		actors[i].pid = 0;
	}
}

static void play(struct actor *actor, int ready_fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTERM, SIG_DFL);
	int failed = actor->act();
	if (write(ready_fd, failed ? "!" : ".", 1) < 0)
		_exit(1);
	rest();
}

/* Those that stop or end by themselves report nothing more. */
static bool is_ready(struct actor *actor, int ready_fd)
{
	siginfo_t info;
	char c;

	if (actor->act == stop || actor->act == exit_unseen)
		return waitid(P_PID, (id_t)actor->pid, &info, WSTOPPED | WEXITED | WNOWAIT) == 0;
	return read(ready_fd, &c, 1) == 1 && c == '.' && threads_settle(actor->pid, 'S', "S");
}

static bool call_in(void)
{
	bool ok = true;

	for (size_t i = 0; i < ARRAY_LEN(actors); i++) {
		int ready[2];

		if (pipe2(ready, O_CLOEXEC) < 0)
			return false;
		actors[i].pid = fork();
		if (actors[i].pid == 0)
			play(&actors[i], ready[1]);
		close(ready[1]);
		ok = ok && actors[i].pid > 0 && is_ready(&actors[i], ready[0]);
		close(ready[0]);
		if (!ok)
			fprintf(stderr, "actor %zu failed\n", i);
	}
	return ok;
}

/* ---- both samples ---------------------------------------------------------------------------- */

struct pair {
	struct live *bpf, *proc;
};

static int pair_open(void **state)
{
	struct pair *pair = xcalloc(1, sizeof *pair);

	*state = pair;
	pair->bpf = live_open(&probe_tasks_bpf);
	pair->proc = live_open(&probe_tasks_proc);
	return 0;
}

static int pair_close(void **state)
{
	struct pair *pair = *state;

	send_away();
	if (pair->bpf)
		live_close(pair->bpf);
	if (pair->proc)
		live_close(pair->proc);
	free(pair);
	return 0;
}

static void sample_both(struct pair *pair)
{
	live_turn(pair->bpf);
	live_turn(pair->proc);
	live_read(pair->bpf);
	live_read(pair->proc);
}

static const struct proc_sample *of(const struct live *live, pid_t pid)
{
	static const struct proc_sample nobody;
	const struct proc_sample *p = sample_find_proc(&live->out, pid);

	if (p)
		return p;
	fail_msg("'%s' does not show pid %d", live->ops->name, pid);
	return &nobody;
}

static void assert_same_metric(const struct proc_sample *a, const struct proc_sample *b,
                               enum proc_metric id)
{
	if (readings_has(&a->r, id) != readings_has(&b->r, id))
		fail_msg("pid %d (%s): %s is not reported by both", a->id.pid, a->comm,
		         proc_metrics[id].key);
	if (a->r.value[id] != b->r.value[id])
		fail_msg("pid %d (%s): %s is %lu by BPF and %lu in /proc", a->id.pid, a->comm,
		         proc_metrics[id].key, (unsigned long)a->r.value[id],
		         (unsigned long)b->r.value[id]);
}

/* /proc cuts user and system time each to whole ticks. */
static void assert_same_cpu(const struct proc_sample *a, const struct proc_sample *b)
{
	uint64_t exact = a->r.value[PROC_CPU_TIME], ticks = b->r.value[PROC_CPU_TIME];

	if (exact < ticks || exact - ticks >= 2 * TICK_NS)
		fail_msg("pid %d: CPU time is %lu ns by BPF and %lu in /proc", a->id.pid,
		         (unsigned long)exact, (unsigned long)ticks);
}

static void assert_same_command(const struct pair *pair, const struct proc_sample *a,
                                const struct proc_sample *b)
{
	assert_int_equal(a->command.len, b->command.len);
	assert_memory_equal(pair->bpf->out.text.at + a->command.at,
	                    pair->proc->out.text.at + b->command.at, a->command.len);
}

static void assert_same(const struct pair *pair, pid_t pid)
{
	const struct proc_sample *a = of(pair->bpf, pid), *b = of(pair->proc, pid);
	static const enum proc_metric same[] = {
		PROC_RSS,        PROC_VMS,         PROC_THREADS,      PROC_FDS,
		PROC_READ_BYTES, PROC_WRITE_BYTES, PROC_MINOR_FAULTS, PROC_MAJOR_FAULTS,
	};

	assert_int_equal(a->id.start_ticks, b->id.start_ticks);
	assert_int_equal(a->ppid, b->ppid);
	assert_int_equal(a->uid, b->uid);
	assert_int_equal(a->state, b->state);
	assert_memory_equal(a->comm, b->comm, sizeof a->comm);
	assert_same_command(pair, a, b);
	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		assert_same_metric(a, b, same[i]);
	assert_same_cpu(a, b);
}

static void test_tasks_bpf__matches_proc_for_idle_processes(void **state)
{
	struct pair *pair = *state;

	assert_true(call_in());
	sample_both(pair);
	for (size_t i = 0; i < ARRAY_LEN(actors); i++)
		assert_same(pair, actors[i].pid);
}

static pid_t pid_of(int (*act)(void))
{
	for (size_t i = 0; i < ARRAY_LEN(actors); i++)
		if (actors[i].act == act)
			return actors[i].pid;
	return 0;
}

/* The same again, against what the actors themselves know: both samples could be wrong in the same
 * way. */
static void test_tasks_bpf__reports_what_the_processes_did(void **state)
{
	struct pair *pair = *state;
	const struct live *bpf = pair->bpf;

	assert_true(call_in());
	sample_both(pair);
	const struct proc_sample *idle = of(bpf, pid_of(nothing));
	uint64_t fds = idle->r.value[PROC_FDS];

	assert_int_equal(of(bpf, pid_of(stop))->state, 'T');
	assert_int_equal(of(bpf, pid_of(exit_unseen))->state, 'Z');
	assert_int_equal(of(bpf, pid_of(exit_unseen))->r.value[PROC_RSS], 0);
	assert_int_equal(of(bpf, pid_of(start_threads))->r.value[PROC_THREADS], 10);
	assert_int_equal(of(bpf, pid_of(open_far_away))->r.value[PROC_FDS], fds + 1);
	assert_int_equal(of(bpf, pid_of(open_5000_files))->r.value[PROC_FD_LIMIT], 5100);
	assert_true(of(bpf, pid_of(open_5000_files))->r.value[PROC_FDS] > 4200);
	assert_true(of(bpf, pid_of(eat_memory))->r.value[PROC_RSS] >=
	            idle->r.value[PROC_RSS] + (24 << 20));
	assert_true(of(bpf, pid_of(share_memory))->r.value[PROC_RSS] >=
	            idle->r.value[PROC_RSS] + (5 << 20));
	assert_true(of(bpf, pid_of(write_to_disk))->r.value[PROC_WRITE_BYTES] >= 409600);
	assert_true(of(bpf, pid_of(burn_cpu))->r.value[PROC_CPU_TIME] >= 60 * NS_PER_MS);
	assert_int_equal(of(bpf, pid_of(become_other_user))->uid, 65534);
	assert_string_equal(of(bpf, pid_of(name_long))->comm, "exactly_fifteen");
}

/* ---- the whole machine ----------------------------------------------------------------------- */

/* Whoever /proc shows before and after was there in between, and does not change these. */
static void test_tasks_bpf__shows_every_process_of_the_machine(void **state)
{
	struct pair *pair = *state;
	struct live *later = live_open(&probe_tasks_proc);
	size_t compared = 0;

	live_turn(pair->bpf);
	live_read(pair->proc);
	live_read(pair->bpf);
	live_read(later);
	vec_each(&pair->proc->out.procs, b) {
		const struct proc_sample *c = sample_find_proc(&later->out, b->id.pid);

		if (!c || !proc_id_eq(b->id, c->id) || b->ppid != c->ppid ||
		    memcmp(b->comm, c->comm, COMM_LEN))
			continue;
		const struct proc_sample *a = of(pair->bpf, b->id.pid);
		assert_int_equal(a->id.start_ticks, b->id.start_ticks);
		assert_int_equal(a->ppid, b->ppid);
		assert_int_equal(a->uid, b->uid);
		assert_memory_equal(a->comm, b->comm, COMM_LEN);
		compared++;
	}
	live_close(later);
	assert_true(compared > 10);
	assert_true(pair->bpf->out.procs_complete);
	for (size_t i = 1; i < pair->bpf->out.procs.len; i++)
		assert_true(pair->bpf->out.procs.at[i - 1].id.pid <
		            pair->bpf->out.procs.at[i].id.pid);
}

/* ---- threads that come and go ---------------------------------------------------------------- */

static void *burn_a_little(void *arg)
{
	struct timespec t = { 0 };

	while (t.tv_nsec < 300000)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return arg;
}

static void *keep_starting_threads(void *arg)
{
	pthread_t thread;

	for (;;)
		if (pthread_create(&thread, NULL, burn_a_little, NULL) == 0)
			pthread_join(thread, NULL);
	return arg;
}

static int churn(void *arg)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_create(&thread, NULL, keep_starting_threads, arg);
	keep_starting_threads(arg);
	return 0;
}

/* A thread that ends while it is counted must be missed by no sample and counted twice by none. */
static void test_tasks_bpf__counters_grow_evenly_while_threads_end(void **state)
{
	struct pair *pair = *state;
	pid_t pid = child(churn, NULL);
	uint64_t before = 0, at = clock_mono_ns(), cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	size_t bad = 0;

	for (int i = 0; i < 300; i++) {
		uint64_t was = at, cpu_ns;

		usleep(1000);
		live_turn(pair->bpf);
		at = clock_mono_ns();
		live_read(pair->bpf);
		cpu_ns = of(pair->bpf, pid)->r.value[PROC_CPU_TIME];
		/* What a thread ran since the last clock tick is added when it is switched. */
		bad += cpu_ns < before ||
		       (before &&
		        cpu_ns - before > cpus * (clock_mono_ns() - was + 20 * NS_PER_MS));
		before = cpu_ns;
	}
	kill(pid, SIGKILL);
	reap(pid);
	assert_int_equal(bad, 0);
	assert_true(before > 0);
}

/* ---- leaders that have exited ---------------------------------------------------------------- */

static int leave_it_to_a_thread(void *arg)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pthread_create(&thread, NULL, rest_in_thread, arg))
		return 1;
	pthread_exit(NULL);
}

static void test_tasks_bpf__a_process_without_its_leader_is_alive(void **state)
{
	struct pair *pair = *state;
	pid_t pid = child(leave_it_to_a_thread, NULL);
	const struct proc_sample *p;

	assert_true(threads_settle(pid, 'Z', "SZ") && threads_settle(pid, 'S', "SZ"));
	sample_both(pair);
	p = of(pair->bpf, pid);
	assert_int_equal(p->state, 'S');
	assert_true(p->r.value[PROC_RSS] > 0);
	assert_true(p->r.value[PROC_VMS] > 0);
	assert_true(p->r.value[PROC_FDS] >= 3);
	assert_int_equal(p->r.value[PROC_THREADS], 2);
	assert_same(pair, pid);
	kill(pid, SIGKILL);
	reap(pid);
}

/* ---- rights and namespaces ------------------------------------------------------------------- */

enum { SEEN, NO_PROBE, NO_READ, WRONG_PIDS };

static int rest_as_child(void *arg)
{
	(void)arg;
	rest();
	return 0;
}

static bool are_two(const struct sample *s)
{
	return s->procs.len == 2 && s->procs.at[0].id.pid == 1 && s->procs.at[0].ppid == 0 &&
	       s->procs.at[1].id.pid == 2 && s->procs.at[1].ppid == 1;
}

static int read_from_inside(void *arg)
{
	struct err err = { 0 };
	struct live live;

	if (live_try(&live, &probe_tasks_bpf, &err) < 0)
		return NO_PROBE;
	child(rest_as_child, arg); /* ends with us, the first of the namespace */
	if (live.ops->read(live.self, &live.out, &err) < 0)
		return NO_READ;
	return are_two(&live.out) ? SEEN : WRONG_PIDS;
}

static int enter_namespace(void *arg)
{
	int status;

	if (unshare(CLONE_NEWPID) < 0)
		return 99;
	waitpid(child(read_from_inside, arg), &status, 0);
	return WEXITSTATUS(status);
}

static void test_tasks_bpf__reports_the_pids_of_its_own_namespace(void **state)
{
	(void)state;
	assert_int_equal(WEXITSTATUS(reap(child(enter_namespace, NULL))), SEEN);
}

static int read_as_nobody(void *arg)
{
	struct err err = { 0 };
	struct live live;

	(void)arg;
	if (!drop_to(CAP_BIT(CAP_BPF) | CAP_BIT(CAP_PERFMON)))
		return 99;
	if (live_try(&live, &probe_tasks_bpf, &err) < 0)
		return NO_PROBE;
	if (live.ops->read(live.self, &live.out, &err) < 0)
		return NO_READ;
	const struct proc_sample *parent = sample_find_proc(&live.out, getppid());
	return parent && readings_has(&parent->r, PROC_FDS) &&
	                       readings_has(&parent->r, PROC_WRITE_BYTES)
	               ? SEEN
	               : WRONG_PIDS;
}

static void test_tasks_bpf__needs_two_capabilities_to_see_all_of_everybody(void **state)
{
	(void)state;
	assert_int_equal(WEXITSTATUS(reap(child(read_as_nobody, NULL))), SEEN);
}

#define PAIR(name) cmocka_unit_test_setup_teardown(name, pair_open, pair_close)
RUN_LIVE_TESTS(&probe_tasks_bpf, PAIR(test_tasks_bpf__matches_proc_for_idle_processes),
               PAIR(test_tasks_bpf__reports_what_the_processes_did),
               PAIR(test_tasks_bpf__shows_every_process_of_the_machine),
               PAIR(test_tasks_bpf__counters_grow_evenly_while_threads_end),
               PAIR(test_tasks_bpf__a_process_without_its_leader_is_alive),
               PAIR(test_tasks_bpf__reports_the_pids_of_its_own_namespace),
               PAIR(test_tasks_bpf__needs_two_capabilities_to_see_all_of_everybody))
