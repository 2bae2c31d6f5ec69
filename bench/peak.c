/* SPDX-License-Identifier: MIT */
/* peak.c - a short peak: `peak MIB MS` has a child that fills that much memory, holds it for so
 * long and ends. Prints what getrusage reports for it: "maxrss_kib N". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int fill_and_hold(size_t bytes, long ms)
{
	struct timespec hold = { ms / 1000, ms % 1000 * 1000000 };
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 1;
	memset(p, 1, bytes);
	return nanosleep(&hold, NULL) < 0;
}

int main(int argc, char **argv)
{
	size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 500;
	long ms = argc > 2 ? strtol(argv[2], NULL, 10) : 20;
	struct rusage u;
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fill_and_hold(mib << 20, ms));
	if (pid < 0 || wait(&status) < 0 || status != 0)
		return 1;
	getrusage(RUSAGE_CHILDREN, &u);
	printf("maxrss_kib %ld\n", u.ru_maxrss);
	return 0;
}
