/* SPDX-License-Identifier: MIT */
/* signals - prints every signal it gets, a line each: its number, its code and the value that was
 * queued with it.
 *
 *	signals LAST
 *
 * Prints "ready" first, and ends with 0 after the signal LAST. All signals are blocked, so each is
 * taken from the queue, and none interrupts. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int last = argc > 1 ? (int)strtol(argv[1], NULL, 10) : SIGTERM;
	siginfo_t info;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	do {
		if (sigwaitinfo(&all, &info) < 0)
			continue;
		printf("%d %d %d\n", info.si_signo, info.si_code,
		       info.si_code == SI_QUEUE ? info.si_value.sival_int : 0);
	} while (info.si_signo != last);
	return 0;
}
