/* SPDX-License-Identifier: MIT */
#include "probe/gpu_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/vec.h"
#include "probe/gpu_helper.h"

#define ENVIRONMENT_MAX 16

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* Nothing of the caller's environment reaches the driver's library (LD_LIBRARY_PATH, for one), nor
 * makes the helper look like a process of a job. */
static void clean_environment(const char *ret[static ENVIRONMENT_MAX])
{
	size_t n = 0;

	ret[n++] = "LC_ALL=C";
	for (char **e = environ; e && *e && n < ENVIRONMENT_MAX - 1; e++)
		if (begins_with(*e, GPU_ENV_NVML "=") || begins_with(*e, GPU_ENV_SMI "=") ||
		    begins_with(*e, GPU_ENV_FAKE))
			ret[n++] = *e;
	ret[n] = NULL;
}

/* The recorder blocks signals and ignores some; its terminal's are not meant for the helper. */
static int set_attributes(posix_spawnattr_t *attr)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	if (posix_spawnattr_setsigmask(attr, &none) || posix_spawnattr_setsigdefault(attr, &all))
		return -1;
	return posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
	                                              POSIX_SPAWN_SETSID);
}

/* Nobody hears what the library prints. `fd` is above 2, and dup2() onto itself would leave it
 * CLOEXEC: so it goes by way of 0. */
static int set_files(posix_spawn_file_actions_t *files, int fd)
{
	return posix_spawn_file_actions_adddup2(files, fd, STDIN_FILENO) ||
	       posix_spawn_file_actions_adddup2(files, STDIN_FILENO, GPU_HELPER_FD) ||
	       posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0) ||
	       posix_spawn_file_actions_addopen(files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) ||
	       posix_spawn_file_actions_adddup2(files, STDOUT_FILENO, STDERR_FILENO);
}

static int spawn(const char *program, const char *source, int fd, pid_t *ret)
{
	char parent[16];
	const char *environment[ENVIRONMENT_MAX];
	const char *const argv[] = { "proctor", GPU_HELPER_VERB, source, parent, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int r;

	snprintf(parent, sizeof parent, "%d", getpid());
	clean_environment(environment);
	if (posix_spawn_file_actions_init(&files))
		return ENOMEM;
	r = posix_spawnattr_init(&attr);
	if (!r) {
		r = set_attributes(&attr) || set_files(&files, fd)
		            ? ENOMEM
		            : posix_spawn(ret, program, &files, &attr, exec_words(argv),
		                          exec_words(environment));
		posix_spawnattr_destroy(&attr);
	}
	posix_spawn_file_actions_destroy(&files);
	return r;
}

int gpu_child_start(const char *program, const char *source, struct gpu_child *ret, struct err *err)
{
	cleanup(closep) int theirs = -1, ours = -1;
	struct gpu_child c = GPU_CHILD_NONE;
	int fds[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return err_set(err, errno, "make a socket for the GPU helper: %s", strerror(errno));
	ours = fds[0];
	theirs = fds[1];
	r = spawn(program, source, theirs, &c.pid);
	if (r)
		return err_set(err, r, "start the GPU helper '%s': %s", program, strerror(r));
	c.pid_fd = pidfd_open(c.pid, 0);
	if (c.pid_fd < 0) {
		r = errno;
		kill(c.pid, SIGKILL); /* not reaped, so it is still ours */
		waitpid(c.pid, NULL, 0);
		return err_set(err, r, "watch the GPU helper: pidfd_open: %s", strerror(r));
	}
	c.fd = TAKE_FD(ours);
	*ret = c;
	return 0;
}

void gpu_child_close(struct gpu_child *c)
{
	closep(&c->pid_fd);
	closep(&c->fd);
	*c = GPU_CHILD_NONE;
}
