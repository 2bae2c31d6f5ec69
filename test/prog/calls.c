/* SPDX-License-Identifier: MIT */
/* calls WAY N: makes system calls whose number is known. */
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static long n;

static void *ask(void *unused)
{
	(void)unused;
	for (long i = 0; i < n; i++)
		syscall(SYS_getppid);
	return NULL;
}

static void fail(void)
{
	for (long i = 0; i < n; i++) {
		syscall(SYS_close, -1);
		syscall(SYS_openat, -1, "nowhere", 0);
	}
}

/* More threads than one at a time, so that they begin and end while others run. */
static void threads(void)
{
	pthread_t at[8];

	for (size_t i = 0; i < 8; i++)
		pthread_create(&at[i], NULL, ask, NULL);
	for (size_t i = 0; i < 8; i++)
		pthread_join(at[i], NULL);
}

/* Through the gate of programs of 32 bits, where 20 is getpid and 64 getppid. */
static void ia32(void)
{
#ifdef __x86_64__
	for (long i = 0; i < n; i++) {
		long result = 64;

		__asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
	}
#endif
}

/* Numbers that no kernel has, each so often. */
static void strange(void)
{
	for (long i = 0; i < n; i++)
		for (long nr = 900; nr < 1000; nr++)
			syscall(nr);
}

static void *exec_true(void *unused)
{
	char *const argv[] = { (char[]){ "true" }, NULL };

	ask(unused);
	execv("/bin/true", argv);
	return NULL;
}

static void exec_in_thread(void)
{
	pthread_t at;

	pthread_create(&at, NULL, exec_true, NULL);
	pause();
}

static void spawn(void)
{
	for (long i = 0; i < n; i++) {
		char *const argv[] = { (char[]){ "true" }, NULL };
		pid_t pid;

		if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) == 0)
			waitpid(pid, NULL, 0);
	}
}

static void block(void)
{
	pause();
}

static void ask_once(void)
{
	ask(NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*go)(void);
	} ways[] = {
		{ "ask", ask_once }, { "fail", fail },       { "threads", threads },
		{ "ia32", ia32 },    { "strange", strange }, { "exec", exec_in_thread },
		{ "spawn", spawn },  { "block", block },
	};

	if (argc != 3)
		return 2;
	n = strtol(argv[2], NULL, 10);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (strcmp(argv[1], ways[i].name) == 0) {
			ways[i].go();
			return 0;
		}
	return 2;
}
