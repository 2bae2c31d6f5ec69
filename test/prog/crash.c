/* SPDX-License-Identifier: MIT */
/* crash WAY: makes system calls that strace shows in a known way, and fails. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKED_THREADS 3

static int *volatile nowhere;

static void connect_nowhere(int file)
{
	const struct sockaddr_in inet = { .sin_family = AF_INET,
		                          .sin_port = htons(9),
		                          .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct sockaddr_un local = { .sun_family = AF_UNIX,
		                           .sun_path = "/nonexistent/socket" };

	(void)!connect(file, (const struct sockaddr *)&local, sizeof local);
	(void)!connect(file, (const struct sockaddr *)&inet, sizeof inet);
}

static void make_calls(void)
{
	char text[512];
	int file = open("/etc/passwd", O_RDONLY | O_CLOEXEC), other, ends[2], made;

	(void)!read(file, text, sizeof text);
	lseek(file, -10, SEEK_END);
	other = dup(file);
	close(file);
	(void)!read(other, text, 5);
	made = open("made", O_RDWR | O_CREAT | O_TRUNC, 0640);
	(void)!write(made, "hello", 5);
	(void)!rename("made", "made too");
	(void)!unlink("made too");
	(void)!mkdir("/proc/nowhere", 0755);
	(void)!access("/nonexistent/\x1b[31mred\xff \"x\"", R_OK | W_OK);
	(void)!chdir((const char *)16);
	if (pipe2(ends, O_CLOEXEC) == 0)
		(void)!write(ends[1], "x", 1);
	connect_nowhere(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	kill(getpid(), 0);
	munmap(mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 8192);
	close(77);
}

static void die_of_segv(void)
{
	make_calls();
	*nowhere = 1;
}

static void abort_it(void)
{
	make_calls();
	abort();
}

static void exit_3(void)
{
	make_calls();
	_exit(3);
}

static void long_path(void)
{
	char path[600];

	memset(path, 'p', sizeof path - 1);
	path[0] = '/';
	path[sizeof path - 1] = '\0';
	(void)!chdir(path);
	_exit(1);
}

static void many(void)
{
	for (int i = 0; i < 1000; i++)
		close(1000 + i);
	_exit(1);
}

/* Its killer sees from the pipe that it waits. */
static void block(void)
{
	char c;

	(void)!write(STDOUT_FILENO, "\n", 1);
	(void)!read(STDIN_FILENO, &c, 1);
}

/* Calls without end, whose arguments are the same number. */
static void spin(void)
{
	for (int i = 1 << 16;; i = i < 1 << 30 ? i + 1 : 1 << 16)
		(void)lseek(i, i, SEEK_SET);
}

static void *wait_long(void *lock)
{
	pthread_mutex_lock(lock);
	return NULL;
}

static void *crash_in_thread(void *unused)
{
	(void)unused;
	usleep(100000);
	close(4711);
	*nowhere = 1;
	return NULL;
}

static void thread(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_t at;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < BLOCKED_THREADS; i++)
		pthread_create(&at, NULL, wait_long, &lock);
	pthread_create(&at, NULL, crash_in_thread, NULL);
	pthread_join(at, NULL);
}

static void vfork_child(void)
{
	if (vfork() == 0) {
		close(81);
		_exit(5);
	}
	wait(NULL);
	_exit(0);
}

/* Through the gate of programs of 32 bits, where 5 is open; addresses must fit. */
static void ia32(void)
{
#ifdef __x86_64__
	static const char path[] = "/nonexistent/ia32";
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	long result = 5;

	memcpy(low, path, sizeof path);
	__asm__ volatile("int $0x80"
	                 : "+a"(result)
	                 : "b"(low), "c"(O_RDONLY), "d"(0)
	                 : "memory", "r8", "r9", "r10", "r11");
#endif
	_exit(1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*go)(void);
	} ways[] = {
		{ "segv", die_of_segv }, { "abort", abort_it }, { "exit", exit_3 },
		{ "long", long_path },   { "many", many },      { "block", block },
		{ "ia32", ia32 },        { "thread", thread },  { "vfork", vfork_child },
		{ "spin", spin },
	};

	for (size_t i = 0; argc == 2 && i < sizeof ways / sizeof *ways; i++)
		if (strcmp(argv[1], ways[i].name) == 0)
			ways[i].go();
	return 2;
}
