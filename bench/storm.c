/* SPDX-License-Identifier: MIT */
/* storm.c - a job of many short lives: `storm TRUES BURNERS [BURN_MS]` spawns /bin/true that many
 * times, eight at a time, and then that many children that burn CPU. Prints what getrusage reports for
 * its children: "cpu_us N". */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AT_A_TIME 8

extern char **environ;

static long cpu_us(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000L + u.ru_utime.tv_usec +
	       u.ru_stime.tv_usec;
}

static void burn(long ms)
{
	while (cpu_us(RUSAGE_SELF) < ms * 1000)
		;
	_exit(0);
}

static pid_t spawn_true(void)
{
	char name[] = "true", *argv[] = { name, NULL };
	pid_t pid;

	return posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) ? -1 : pid;
}

static void wait_one(void)
{
	while (wait(NULL) < 0 && errno == EINTR)
		;
}

int main(int argc, char **argv)
{
	long trues = argc > 1 ? strtol(argv[1], NULL, 10) : 10000;
	long burners = argc > 2 ? strtol(argv[2], NULL, 10) : 200;
	long ms = argc > 3 ? strtol(argv[3], NULL, 10) : 20, running = 0;

	for (long i = 0; i < trues + burners; i++) {
		pid_t pid = i < trues ? spawn_true() : fork();

		if (pid == 0)
			burn(ms);
		if (pid < 0)
			return 1;
		if (++running == AT_A_TIME) {
			wait_one();
			running--;
		}
	}
	for (; running; running--)
		wait_one();
	printf("cpu_us %ld\n", cpu_us(RUSAGE_CHILDREN) + cpu_us(RUSAGE_SELF));
	return 0;
}
