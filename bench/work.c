/* SPDX-License-Identifier: MIT */
/* work.c - a CPU-bound job: `work MILLIONS` mixes numbers that many million times, on every CPU.
 * Always the same work, so its time can be compared. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t mix(uint64_t rounds)
{
	uint64_t x = 88172645463325252ull;

	for (uint64_t i = 0; i < rounds; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

int main(int argc, char **argv)
{
	uint64_t millions = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int bad = 0, status;

	for (long i = 0; i < cpus; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(mix(millions * 1000000) == 0);
		bad |= pid < 0;
	}
	while (wait(&status) > 0)
		bad |= status != 0;
	return bad;
}
