/* SPDX-License-Identifier: MIT */
/* ways - processes that slip away, in every way there is. Each prints where it came from:
 *
 *	WAY PID PARENT END
 *
 * where PARENT is its parent when it was born, and END its exit code, or minus the signal that it
 * dies of. Nobody is left when it ends, unless it is asked to leave some.
 *
 *	ways all           every way, one after the other
 *	ways leave N [deaf]  ends with 0 and leaves N sleepers; deaf ones do not listen to SIGTERM
 *	ways leaf END MS   sleeps for MS and ends with END; what most ways end in
 */
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LATE_MS 600 /* by which a busy kernel reports what ended processes took */
#define SHORT_LIVES 20
#define DEAF_PARENTS_CHILDREN 5
#define CHAIN 5
#define LONG_MS "120000"

static char self[4096]; /* our own path */

static void print_way(const char *way, pid_t pid, pid_t parent, int end)
{
	char line[120];
	int n = snprintf(line, sizeof line, "%s %d %d %d\n", way, pid, parent, end);

	(void)!write(STDOUT_FILENO, line, (size_t)n);
}

static void sleep_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts) < 0)
		;
}

/* No stdio between vfork and exec. */
static _Noreturn void become_leaf(const char *end, const char *ms)
{
	execl(self, "ways", "leaf", end, ms, (char *)NULL);
	_exit(99);
}

/* ---- the ways: each is run in a child, which prints a line and ends with 0 ------------------
 */

static void way_setsid(void)
{
	pid_t parent = getpid();

	if (fork() == 0) {
		setsid();
		print_way("setsid", getpid(), parent, 11);
		become_leaf("11", "1");
	}
	wait(NULL);
}

static void way_double_fork(void)
{
	pid_t first = getpid();

	if (fork() == 0) {
		pid_t middle = getpid();

		print_way("double-fork-middle", middle, first, 0);
		if (fork() == 0) {
			sleep_ms(2); /* the middle one is gone by now, as a rule */
			print_way("double-fork", getpid(), middle, 12);
			become_leaf("12", "1");
		}
		_exit(0);
	}
	wait(NULL);
}

static void way_daemon(void)
{
	pid_t first = getpid();

	if (fork() == 0) {
		pid_t middle = getpid();

		print_way("daemon-middle", middle, first, 0);
		if (daemon(1, 1) < 0)
			_exit(98);
		print_way("daemon", getpid(), middle, 13);
		become_leaf("13", "1");
	}
	wait(NULL);
}

static void way_orphan(void)
{
	pid_t parent = getpid();

	if (fork() == 0) {
		print_way("orphan", getpid(), parent, 14);
		while (getppid() == parent)
			sleep_ms(1);
		_exit(14);
	}
}

static void way_sibling(void)
{
	struct clone_args args = { .flags = CLONE_PARENT };

	if (syscall(SYS_clone3, &args, sizeof args) == 0) {
		print_way("sibling", getpid(), getppid(), 15);
		become_leaf("15", "1");
	}
}

static void way_no_signal(void)
{
	pid_t parent = getpid();

	if (syscall(SYS_clone, 0, NULL, NULL, NULL, NULL) == 0) {
		print_way("no-signal", getpid(), parent, 21);
		become_leaf("21", "1");
	}
	waitpid(-1, NULL, __WALL);
}

static void way_vfork(void)
{
	pid_t parent = getpid(), child = vfork();

	if (child == 0)
		become_leaf("16", "1");
	print_way("vfork", child, parent, 16);
	wait(NULL);
}

static void *exec_in_thread(void *unused)
{
	(void)unused;
	become_leaf("17", "1");
}

static void way_thread_exec(void)
{
	pid_t parent = getpid();

	if (fork() == 0) {
		pthread_t thread;

		print_way("thread-exec", getpid(), parent, 17);
		pthread_create(&thread, NULL, exec_in_thread, NULL);
		for (;;)
			pause();
	}
	wait(NULL);
}

static void way_deaf_parent(void)
{
	pid_t parent = getpid();

	signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < DEAF_PARENTS_CHILDREN; i++)
		if (fork() == 0) {
			signal(SIGCHLD, SIG_DFL);
			print_way("deaf-parent", getpid(), parent, 18);
			become_leaf("18", "1");
		}
	while (wait(NULL) > 0)
		;
	signal(SIGCHLD, SIG_DFL);
}

static void way_short_lives(void)
{
	pid_t parent = getpid();

	for (int i = 0; i < SHORT_LIVES; i++) {
		if (fork() == 0) {
			print_way("short-life", getpid(), parent, 19);
			become_leaf("19", "2");
		}
		wait(NULL);
	}
}

static void way_chain(void)
{
	pid_t parent = getpid();

	if (fork() == 0) {
		print_way("chain", getpid(), parent, 20);
		execl(self, "ways", "chain", "5", (char *)NULL);
		_exit(99);
	}
	wait(NULL);
}

static void way_killed(void)
{
	pid_t parent = getpid(), child = fork();

	if (child == 0)
		for (;;)
			pause();
	print_way("killed", child, parent, -SIGKILL);
	kill(child, SIGKILL);
	wait(NULL);
}

static void way_abort(void)
{
	pid_t parent = getpid();

	if (fork() == 0) {
		print_way("abort", getpid(), parent, -SIGABRT);
		abort();
	}
	wait(NULL);
}

static void (*const ways[])(void) = {
	way_setsid,      way_double_fork, way_daemon,      way_orphan, way_sibling,
	way_no_signal,   way_vfork,       way_thread_exec, way_chain,  way_deaf_parent,
	way_short_lives, way_killed,      way_abort,
};

/* Each in a child of its own, so that an orphan is one. A process that holds the pipe is still there. */
static int all_ways(void)
{
	pid_t parent = getpid();
	int alive[2];
	char byte;

	if (pipe(alive) < 0)
		return 1;
	print_way("all", parent, getppid(), 0);
	way_sibling(); /* of us: a child of our parent */
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		pid_t child = fork();

		if (child == 0) {
			close(alive[0]);
			print_way("host", getpid(), parent, 0);
			ways[i]();
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	close(alive[1]);
	while (read(alive[0], &byte, 1) > 0)
		;
	while (wait(NULL) > 0)
		;
	sleep_ms(LATE_MS);
	return 0;
}

/* ---- the others -------------------------------------------------------------------------------
 */

static int leave(long n, int is_deaf)
{
	pid_t parent = getpid();
	int ready[2];
	char byte;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return 1;
	for (long i = 0; i < n; i++)
		if (fork() == 0) {
			setsid();
			if (is_deaf)
				signal(SIGTERM, SIG_IGN);
			print_way("left", getpid(), parent, 0);
			close(STDOUT_FILENO);
			close(STDERR_FILENO);
			become_leaf("0", LONG_MS);
		}
	close(ready[1]);
	return read(ready[0], &byte, 1) == 0 ? 0 : 1; /* all have become leaves */
}

static int chain(long links)
{
	char text[24];

	if (links == 0)
		become_leaf("20", "1");
	snprintf(text, sizeof text, "%ld", links - 1);
	execl(self, "ways", "chain", text, (char *)NULL);
	return 99;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

	if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
		return 2;
	if (strcmp(verb, "all") == 0)
		return all_ways();
	if (strcmp(verb, "leave") == 0)
		return leave(n, argc > 3);
	if (strcmp(verb, "chain") == 0)
		return chain(n);
	if (strcmp(verb, "leaf") != 0 || argc != 4)
		return 2;
	sleep_ms(strtol(argv[3], NULL, 10));
	return (int)n;
}
