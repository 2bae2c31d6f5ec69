/* SPDX-License-Identifier: MIT */
/* load - takes CPU time or memory, and prints what it took by the kernel's own account.
 *
 *	load cpu CHILDREN MS   children, two at a time, that burn MS of CPU time each; prints the
 *	                       CPU time of all of them and of itself, in µs
 *	load mem MIB MS        touches MIB of memory and holds it for MS; prints its peak, in KiB
 *	load thread N MS       N threads that sleep for MS; prints nothing
 *	load storm PARENTS N   parents that each have N children one after the other, which end at
 *	                       once; prints how many processes there were, itself included
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AT_A_TIME 2

static void sleep_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts) < 0)
		;
}

static double cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static long long usage_us(int whose)
{
	struct rusage ru;

	getrusage(whose, &ru);
	return (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000LL + ru.ru_utime.tv_usec +
	       ru.ru_stime.tv_usec;
}

static int load_cpu(long children, long ms)
{
	for (long i = 0; i < children; i++) {
		if (fork() == 0) {
			while (cpu_ms() < (double)ms)
				;
			_exit(0);
		}
		if (i >= AT_A_TIME)
			wait(NULL);
	}
	while (wait(NULL) > 0)
		;
	printf("%lld\n", usage_us(RUSAGE_CHILDREN) + usage_us(RUSAGE_SELF));
	return 0;
}

static int load_mem(long mib, long ms)
{
	size_t bytes = (size_t)mib << 20;
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rusage ru;

	if (at == MAP_FAILED)
		return 1;
	memset(at, 1, bytes);
	sleep_ms(ms);
	munmap(at, bytes);
	getrusage(RUSAGE_SELF, &ru);
	printf("%ld\n", ru.ru_maxrss);
	return 0;
}

static void *rest(void *ms)
{
	sleep_ms((long)(intptr_t)ms);
	return NULL;
}

static int load_thread(long n, long ms)
{
	for (long i = 0; i < n; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, rest, (void *)(intptr_t)ms) != 0)
			return 1;
	}
	sleep_ms(ms);
	return 0;
}

/* Its variables are not used after vfork. */
__attribute__((noinline)) static pid_t fork_one(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	return pid;
}

static int load_storm(long parents, long n)
{
	int status, failed = 0;

	for (long i = 0; i < parents; i++) {
		pid_t parent = fork();

		if (parent < 0)
			return 1;
		if (parent > 0)
			continue;
		for (long k = 0; k < n; k++)
			if (waitpid(fork_one(), NULL, 0) < 0)
				_exit(1);
		_exit(0);
	}
	while (wait(&status) > 0)
		failed |= status;
	printf("%ld\n", 1 + parents + parents * n);
	return failed != 0;
}

int main(int argc, char **argv)
{
	long n = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
	long ms = argc == 4 ? strtol(argv[3], NULL, 10) : 0;

	if (argc == 4 && strcmp(argv[1], "cpu") == 0)
		return load_cpu(n, ms);
	if (argc == 4 && strcmp(argv[1], "mem") == 0)
		return load_mem(n, ms);
	if (argc == 4 && strcmp(argv[1], "thread") == 0)
		return load_thread(n, ms);
	if (argc == 4 && strcmp(argv[1], "storm") == 0)
		return load_storm(n, ms);
	return 2;
}
