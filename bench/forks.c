/* SPDX-License-Identifier: MIT */
/* forks.c - `forks RATE SECONDS [PARENTS]`: so many children a second in all that end at once, in
 * steps of 5 ms. Each parent (1 by default) forks and reaps its own: one alone cannot fork faster
 * than one core lets it. No child runs a program, so each makes two events: its birth and its end.
 * Prints how many processes there were, the parents with them, and how long that took:
 * "forks N in_ms M". */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEPS_PER_S 200
#define RATE_MAX 50000
#define SECONDS_MAX 60
#define PARENTS_MAX 16

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
		;
}

/* vfork: the time to copy memory is not measured here, and the events are the same. In a
 * function of its own, whose variables are not used afterwards. */
__attribute__((noinline)) static pid_t fork_one(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	return pid;
}

static long fork_some(long count)
{
	long done = 0;

	for (; done < count; done++) {
		pid_t pid = fork_one();

		if (pid < 0 || waitpid(pid, NULL, 0) < 0)
			break;
	}
	return done;
}

/* One parent's share: what is due by each step, so that nothing is lost by rounding. */
static long fork_steadily(long total, long seconds, uint64_t started_ns)
{
	long steps = seconds * STEPS_PER_S, forks = 0;

	for (long step = 1; step <= steps; step++) {
		forks += fork_some(total * step / steps - total * (step - 1) / steps);
		sleep_until(started_ns + (uint64_t)step * (1000000000 / STEPS_PER_S));
	}
	return forks;
}

/* How many were forked by all of them, and they themselves. */
static long fork_in_parallel(long parents, long total, long seconds, uint64_t started_ns)
{
	long *forks = mmap(NULL, (size_t)parents * sizeof *forks, PROT_READ | PROT_WRITE,
	                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long sum = 0;

	if (forks == MAP_FAILED)
		return 0;
	for (long i = 0; i < parents; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			forks[i] = fork_steadily(total / parents, seconds, started_ns);
			_exit(0);
		}
		sum += pid > 0;
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	for (long i = 0; i < parents; i++)
		sum += forks[i];
	return sum;
}

static long number(int argc, char **argv, int at, long otherwise)
{
	return argc > at ? strtol(argv[at], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	long rate = number(argc, argv, 1, 0), seconds = number(argc, argv, 2, 0), forks;
	long parents = number(argc, argv, 3, 1);
	uint64_t started_ns = now_ns();

	if (rate < STEPS_PER_S || rate > RATE_MAX || seconds < 1 || seconds > SECONDS_MAX ||
	    parents < 1 || parents > PARENTS_MAX) {
		fprintf(stderr,
		        "usage: forks RATE SECONDS [PARENTS]   (%d to %d, 1 to %d, 1 to %d)\n",
		        STEPS_PER_S, RATE_MAX, SECONDS_MAX, PARENTS_MAX);
		return 2;
	}
	forks = fork_in_parallel(parents, rate * seconds, seconds, started_ns);
	printf("forks %ld in_ms %ld\n", forks, (long)((now_ns() - started_ns) / 1000000));
	return 0;
}
