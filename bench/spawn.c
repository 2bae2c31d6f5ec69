/* SPDX-License-Identifier: MIT */
/* spawn IDLE [BUSY]: that many processes that only wait, and that many that use a little CPU all
 * the time. Prints "ready" when all are there; they end when stdin is closed, when this process
 * dies, or after a quarter of an hour. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scan.h"

#define PROCESSES_MAX 20000
#define LIFE_MAX_S 900

/* Some 100 µs of work fifty times a second: its counters differ at every tick. */
static void be_busy(void)
{
	for (;;) {
		for (volatile unsigned i = 0; i < 50000; i = i + 1)
			;
		usleep(20000);
	}
}

static void be_child(pid_t parent, bool busy)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before PR_SET_PDEATHSIG was set */
		_exit(0);
	alarm(LIFE_MAX_S);
	if (busy)
		be_busy();
	for (;;)
		pause();
}

static size_t spawn(pid_t *pids, size_t idle, size_t busy)
{
	pid_t parent = getpid();
	size_t n = 0;

	for (; n < idle + busy; n++) {
		pids[n] = fork();
		if (pids[n] == 0)
			be_child(parent, n >= idle);
		if (pids[n] < 0) {
			fprintf(stderr, "spawn: fork number %zu: %s\n", n + 1, strerror(errno));
			break;
		}
	}
	return n;
}

static void wait_for_end(void)
{
	char ignored[64];

	while (read(STDIN_FILENO, ignored, sizeof ignored) > 0)
		;
}

static bool parse_count(const char *text, size_t *ret)
{
	struct scan s = scan_str(text);
	uint64_t n;

	if (!scan_u64(&s, &n) || !scan_at_end(&s) || n > PROCESSES_MAX)
		return false;
	*ret = (size_t)n;
	return true;
}

int main(int argc, char **argv)
{
	static pid_t pids[2 * PROCESSES_MAX];
	size_t idle, busy = 0, n;

	if (argc < 2 || argc > 3 || !parse_count(argv[1], &idle) ||
	    (argc == 3 && !parse_count(argv[2], &busy))) {
		fprintf(stderr, "usage: spawn IDLE [BUSY]   (at most %d of each)\n", PROCESSES_MAX);
		return 2;
	}
	n = spawn(pids, idle, busy);
	if (n == idle + busy) {
		puts("ready");
		fflush(stdout);
		wait_for_end();
	}
	for (size_t i = 0; i < n; i++)
		kill(pids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	return n == idle + busy ? 0 : 1;
}
