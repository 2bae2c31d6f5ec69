/* SPDX-License-Identifier: MIT */
#include "trace/strace_spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/helper_process.h"
#include "base/mem.h"
#include "model/own_process.h"
#include "trace/strace_keeper.h"

#define SPAWNER_FD (STDERR_FILENO + 1)
#define REAP_MS 1000 /* while there are keepers: their ends cause no signal */

struct strace_spawner {
	int fd;
	pid_t pid;
};

/* Comes with two files: where the trace goes, and the keeper's end of its socket. */
struct order {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	uint64_t for_ns, max_bytes;
	char filter[STRACE_FILTER_MAX + 1]; /* "": all calls */
};
enum { ORDER_OUT, ORDER_CONTROL, ORDER_FILES };

union order_files {
	struct cmsghdr head; /* for its alignment */
	char bytes[CMSG_SPACE(ORDER_FILES * sizeof(int))];
};

/* ---- its process ----------------------------------------------------------------------------- */

/* Root's programs are traced by the daemon itself: here that would be a way around its own rights. */
static void carry_out(struct order *order, const int files[static ORDER_FILES])
{
	struct strace_options o = { .pid = order->pid,
		                    .out_fd = files[ORDER_OUT],
		                    .for_ns = order->for_ns,
		                    .max_bytes = order->max_bytes,
		                    .has_user = true,
		                    .uid = order->uid,
		                    .gid = order->gid };
	char program[PATH_MAX];
	struct err err;

	order->filter[sizeof order->filter - 1] = '\0';
	o.filter = order->filter[0] ? order->filter : NULL;
	o.program = program;
	if (order->uid == 0 || order->gid == 0 || strace_find(STRACE_DIRS, program, &err) < 0 ||
	    strace_keeper_start(&o, files[ORDER_CONTROL], &err) < 0)
		return; /* the closed socket is the answer */
}

/* False: the daemon is gone. */
static bool take_order(int fd)
{
	struct order order = { 0 };
	union order_files control;
	struct iovec data = { &order, sizeof order };
	struct msghdr m = { .msg_iov = &data,
		            .msg_iovlen = 1,
		            .msg_control = &control,
		            .msg_controllen = sizeof control };
	ssize_t n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	int files[ORDER_FILES];

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof files))
		return false;
	memcpy(files, CMSG_DATA(c), sizeof files);
	if (n == sizeof order)
		carry_out(&order, files);
	for (int i = 0; i < ORDER_FILES; i++)
		close(files[i]);
	return true;
}

/* Nothing of the daemon's is open in what runs as another user: not its log, nor the socket for orders. */
static bool keep_only(int fd)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int kept = fcntl(fd, F_DUPFD_CLOEXEC, SPAWNER_FD + 1);

	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		if (null_fd < 0 || dup2(null_fd, i) < 0)
			return false;
	return kept >= 0 && dup3(kept, SPAWNER_FD, O_CLOEXEC) >= 0 &&
	       syscall(SYS_close_range, SPAWNER_FD + 1, ~0U, 0) == 0 && chdir("/") == 0;
}

static _Noreturn void spawn_on_order(int fd, int (*limit)(struct err *err))
{
	struct pollfd asked = { .fd = SPAWNER_FD, .events = POLLIN };
	struct err err;
	sigset_t all;
	pid_t reaped = 0;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (!keep_only(fd) || limit(&err) < 0)
		_exit(1);
	do {
		do
			reaped = waitpid(-1, NULL, __WALL | WNOHANG);
		while (reaped > 0);
		(void)poll(&asked, 1, reaped == 0 ? REAP_MS : -1);
	} while (take_order(SPAWNER_FD));
	_exit(0);
}

/* ---- the daemon's side ----------------------------------------------------------------------- */

int strace_spawner_open(int (*limit)(struct err *err), struct strace_spawner **ret, struct err *err)
{
	struct strace_spawner *sp;
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(err, errno, "make a socket: %s", strerror(errno));
	pid = helper_process_fork(OURS_TRACE);
	if (pid == 0)
		spawn_on_order(ends[1], limit);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return err_set(err, -pid, "start '" OURS_TRACE "': %s", strerror(-pid));
	}
	sp = xcalloc(1, sizeof *sp);
	*sp = (struct strace_spawner){ .fd = ends[0], .pid = pid };
	*ret = sp;
	return 0;
}

static int send_order(const struct strace_spawner *sp, struct order *order,
                      const int files[static ORDER_FILES])
{
	union order_files control = { 0 };
	struct iovec data = { order, sizeof *order };
	struct msghdr m = { .msg_iov = &data,
		            .msg_iovlen = 1,
		            .msg_control = &control,
		            .msg_controllen = sizeof control };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(ORDER_FILES * sizeof(int));
	memcpy(CMSG_DATA(c), files, ORDER_FILES * sizeof(int));
	return sendmsg(sp->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof *order ? 0
	                                                                                  : -errno;
}

int strace_spawner_start(struct strace_spawner *sp, const struct strace_options *o,
                         struct strace **ret, struct err *err)
{
	struct order order = { .pid = o->pid,
		               .uid = o->uid,
		               .gid = o->gid,
		               .for_ns = o->for_ns,
		               .max_bytes = o->max_bytes };
	int ends[2], r;

	if (o->filter && snprintf(order.filter, sizeof order.filter, "%s", o->filter) >=
	                         (int)sizeof order.filter)
		return err_set(err, EINVAL, "the filter is longer than %d bytes",
		               STRACE_FILTER_MAX);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(err, errno, "make a socket: %s", strerror(errno));
	r = send_order(
		sp, &order,
		(const int[ORDER_FILES]){ [ORDER_OUT] = o->out_fd, [ORDER_CONTROL] = ends[1] });
	close(ends[1]);
	if (r < 0) {
		close(ends[0]);
		return err_set(err, EAGAIN, "the process that starts strace does not answer: %s",
		               strerror(-r));
	}
	*ret = strace_keeper_connect(ends[0], 0);
	return 0;
}

void strace_spawner_close(struct strace_spawner *sp)
{
	if (!sp)
		return;
	close(sp->fd);
	while (waitpid(sp->pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	free(sp);
}
