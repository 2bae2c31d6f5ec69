/* SPDX-License-Identifier: MIT */
/* forks.c - `forks RATE SECONDS`: so many children a second that end at once, in steps of 5 ms.
 * Prints how many there were and how long that took: "forks N in_ms M". */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEPS_PER_S 200
#define RATE_MAX 20000
#define SECONDS_MAX 60

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

static long fork_some(long count)
{
	long done = 0;

	for (; done < count; done++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) < 0)
			break;
	}
	return done;
}

int main(int argc, char **argv)
{
	long rate = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	long seconds = argc > 2 ? strtol(argv[2], NULL, 10) : 0, forks = 0;
	uint64_t started_ns = now_ns();

	if (rate < STEPS_PER_S || rate > RATE_MAX || seconds < 1 || seconds > SECONDS_MAX) {
		fprintf(stderr, "usage: forks RATE SECONDS   (%d to %d, 1 to %d)\n", STEPS_PER_S, RATE_MAX,
		        SECONDS_MAX);
		return 2;
	}
	for (long step = 1; step <= seconds * STEPS_PER_S; step++) {
		forks += fork_some(rate / STEPS_PER_S);
		sleep_until(started_ns + (uint64_t)step * (1000000000 / STEPS_PER_S));
	}
	printf("forks %ld in_ms %ld\n", forks, (long)((now_ns() - started_ns) / 1000000));
	return 0;
}
