/* SPDX-License-Identifier: MIT */
/* exec_hang - makes processes hang in execve(): each has a close-on-exec file on a file system that
 * never answers when the file is closed. While they hang, they hold the lock that reads of most
 * files in /proc/PID wait for.
 *
 *	exec_hang N [UID]  starts N processes (of that user) and prints their pids; at the first line of its
 *	                   standard input they call execve(), and "they hang" is printed when all do; at its
 *	                   end the file system is gone, and so are they.
 *
 * While they hang, ps hangs too. So nothing of this lasts longer than a minute.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_S 60

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void reply(int fd, uint64_t unique, int error, const void *body, size_t len)
{
	struct fuse_out_header head = { .len = (uint32_t)(sizeof head + len),
		                        .error = error,
		                        .unique = unique };
	char bytes[512];

	memcpy(bytes, &head, sizeof head);
	if (len)
		memcpy(bytes + sizeof head, body, len);
	(void)!write(fd, bytes, head.len);
}

/* Answers everything but FUSE_FLUSH, and writes a byte to seen_fd for each of these. */
static void serve(int fd, int seen_fd)
{
	static _Alignas(8) char request[128 << 10];
	const struct fuse_in_header *in = (const void *)request;
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
		                      .minor = 31,
		                      .max_write = 4096 };
	struct fuse_attr_out attr = { .attr_valid = 3600,
		                      .attr = { .ino = 1, .mode = S_IFREG | 0444, .nlink = 1 } };
	struct fuse_open_out open = { .fh = 1 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(LIMIT_S);
	while (read(fd, request, sizeof request) > 0) {
		if (in->opcode == FUSE_INIT)
			reply(fd, in->unique, 0, &init, sizeof init);
		else if (in->opcode == FUSE_GETATTR)
			reply(fd, in->unique, 0, &attr, sizeof attr);
		else if (in->opcode == FUSE_OPEN)
			reply(fd, in->unique, 0, &open, sizeof open);
		else if (in->opcode == FUSE_FLUSH)
			(void)!write(seen_fd, "", 1);
		else if (in->opcode != FUSE_INTERRUPT && in->opcode != FUSE_FORGET)
			reply(fd, in->unique, -ENOSYS, NULL, 0);
	}
	_exit(0);
}

static pid_t start_victim(const char *path, const int go[2], uid_t uid)
{
	pid_t pid = fork();
	char byte;

	if (pid)
		return pid;
	close(go[1]);
	if (open(path, O_RDONLY | O_CLOEXEC) < 0 || setresgid(uid, uid, uid) < 0 ||
	    setresuid(uid, uid, uid) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		_exit(127);
	if (read(go[0], &byte, 1) == 0)
		execlp("sleep", "exec-hang-victim", "60", NULL);
	_exit(127);
}

static void run(const char *path, int seen_fd, int count, uid_t uid)
{
	char byte;
	int go[2];

	if (pipe(go) < 0)
		fail("pipe");
	for (int i = 0; i < count; i++)
		printf("%d ", start_victim(path, go, uid));
	putchar('\n');
	fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) != 1)
		return;
	close(go[1]);
	for (int i = 0; i < count; i++)
		if (read(seen_fd, &byte, 1) != 1)
			fail("wait for a victim to hang");
	puts("they hang");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/exec-hang-XXXXXX", options[96];
	int fuse_fd = open("/dev/fuse", O_RDWR | O_CLOEXEC), file = mkstemp(path), seen[2];
	pid_t server;

	alarm(LIMIT_S);
	snprintf(options, sizeof options, "fd=%d,rootmode=100444,user_id=0,group_id=0", fuse_fd);
	if (fuse_fd < 0 || file < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("exec-hang", path, "fuse", MS_NOSUID | MS_NODEV, options) < 0 || pipe(seen) < 0)
		fail("mount");
	server = fork();
	if (server == 0)
		serve(fuse_fd, seen[1]);
	close(fuse_fd);
	run(path, seen[0], argc > 1 ? atoi(argv[1]) : 1,
	    argc > 2 ? (uid_t)atoi(argv[2]) : getuid());
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	umount2(path, MNT_DETACH);
	unlink(path);
	return 0;
}
