/* SPDX-License-Identifier: MIT */
/* die WAY: a death of one kind, for the stories of `why`. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int *volatile nowhere;
static volatile int zero, one = 1;

static void touch_nowhere(void)
{
	*nowhere = 1;
}

/* volatile: the compiler would see that it never returns, and make a loop of it. */
static int (*volatile deeper)(int level);

static int go_deeper(int level)
{
	volatile char frame[4096];

	frame[0] = (char)level;
	return deeper(level + 1) + frame[0];
}

static void overflow_stack(void)
{
	deeper = go_deeper;
	exit(deeper(0));
}

static void *run_thread(void *self)
{
	overflow_stack();
	return self;
}

static void overflow_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_thread, NULL) == 0)
		pthread_join(thread, NULL);
}

static void divide(void)
{
	exit(one / zero);
}

static void do_forbidden(void)
{
	__builtin_trap();
}

/* A file that became shorter than its mapping. */
static void map_too_much(void)
{
	int fd = open("mapped", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char *page = MAP_FAILED;

	if (ftruncate(fd, 4096) == 0)
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED && ftruncate(fd, 0) == 0)
		page[0] = 1;
}

static void fill_file(void)
{
	static const char block[65536];
	int fd = open("filled", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	for (int i = 0; i < 4096; i++)
		if (write(fd, block, sizeof block) < 0)
			exit(1);
}

static void make_files(void)
{
	char name[32];

	for (int i = 0; i < 4096; i++) {
		snprintf(name, sizeof name, "file-%d", i);
		if (open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0)
			exit(1);
	}
}

/* Until a line comes: so that the files are seen to be open. */
static void open_files(void)
{
	char go;

	while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		;
	(void)!read(0, &go, 1);
	exit(1);
}

static void spin(void)
{
	for (;;)
		zero = 0;
}

static void allocate(void)
{
	exit(malloc((size_t)3 << 30) == NULL);
}

static const struct {
	const char *name;
	void (*die)(void);
} ways[] = {
	{ "segfault", touch_nowhere },
	{ "stack", overflow_stack },
	{ "thread-stack", overflow_thread },
	{ "abort", abort },
	{ "divide", divide },
	{ "forbidden", do_forbidden },
	{ "bus", map_too_much },
	{ "fill", fill_file },
	{ "files", make_files },
	{ "fds", open_files },
	{ "spin", spin },
	{ "allocate", allocate },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof ways / sizeof *ways; i++)
		if (strcmp(argv[1], ways[i].name) == 0)
			ways[i].die();
	return 125;
}
