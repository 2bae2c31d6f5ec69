/* SPDX-License-Identifier: MIT */
#include "job/launch/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "base/helper_process.h"
#include "base/io.h"
#include "model/own_process.h"

#define CHUNK_BYTES ((size_t)1 << 16)
#define TERMINAL_BYTES ((size_t)1 << 17) /* more than the kernel keeps for a terminal's reader */
#define SIGNAL_CHECK_MS 50

/* A helper's report, in shared memory. */
struct news {
	uint64_t lost;
	int error;
};

struct stream {
	int target_fd;  /* 1 or 2: where it goes without us */
	int read_fd;    /* our end: a pipe, or the master of a terminal */
	int write_fd;   /* the command's end */
	int log_fd;     /* -1: not written any more */
	int ours;       /* we ask the helper here whether all has arrived, … */
	int theirs;     /* … and it answers here; it closes it when it ends */
	int resized_fd; /* the helper's: SIGWINCH; -1: not a terminal */
	pid_t helper;   /* 0: the stream is not captured */
	bool is_terminal, was_terminal;
	size_t left; /* the helper's: bytes to copy before it answers; SIZE_MAX: it was not asked */
};

struct capture {
	struct stream streams[CAPTURE_COUNT];
	bool is_one;       /* the first is also stderr's */
	struct news *news; /* one each */
};

/* ---- the helper ------------------------------------------------------------------------------ */

/* The command and its window belong together: the size is that of the real terminal. Whoever heard of
 * the change before we had made it hears of it again. */
static void follow_size(const struct stream *s)
{
	struct winsize real, now;
	pid_t group;

	if (ioctl(s->target_fd, TIOCGWINSZ, &real) < 0 || ioctl(s->read_fd, TIOCGWINSZ, &now) < 0 ||
	    memcmp(&real, &now, sizeof real) == 0)
		return;
	(void)ioctl(s->read_fd, TIOCSWINSZ, &real);
	group = tcgetpgrp(s->target_fd);
	if (group > 0)
		(void)kill(-group, SIGWINCH);
}

/* A file that cannot be written ends there: what it holds is the beginning of the stream. */
static void write_log(struct stream *s, struct news *news, const char *bytes, size_t n)
{
	while (n && s->log_fd >= 0) {
		ssize_t done = write(s->log_fd, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0) {
			news->error = errno;
			closep(&s->log_fd);
			break;
		}
		bytes += done;
		n -= (size_t)done;
	}
	news->lost += n;
}

/* False: its reader is gone. The command learns that at its next write, as it would without us. */
static bool pass_on(const struct stream *s, const char *bytes, size_t n)
{
	struct pollfd writable = { .fd = s->target_fd, .events = POLLOUT };

	while (n) {
		ssize_t done = write(s->target_fd, bytes, n);

		if (done < 0 && errno == EAGAIN)
			(void)poll(&writable, 1, -1);
		else if (done < 0 && errno != EINTR)
			return false;
		if (done < 0)
			continue;
		bytes += done;
		n -= (size_t)done;
	}
	return true;
}

/* False: the stream is over. A terminal that no process has open fails with EIO. */
static bool copy_chunk(struct stream *s, struct news *news)
{
	char bytes[CHUNK_BYTES];
	ssize_t n;

	do
		n = read(s->read_fd, bytes, sizeof bytes);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	if (s->is_terminal)
		follow_size(s);
	write_log(s, news, bytes, (size_t)n);
	if (s->left != SIZE_MAX)
		s->left -= MIN(s->left, (size_t)n);
	return pass_on(s, bytes, (size_t)n);
}

/* The command has ended: what it wrote is what waits now. Others may go on writing. */
static void hear_question(struct stream *s)
{
	int waiting = 0;
	char byte;

	if (read(s->theirs, &byte, 1) != 1) { /* we are gone */
		closep(&s->theirs);
		return;
	}
	s->left = TERMINAL_BYTES;
	if (!s->is_terminal && ioctl(s->read_fd, FIONREAD, &waiting) == 0)
		s->left = (size_t)waiting;
}

static void answer(struct stream *s)
{
	s->left = SIZE_MAX;
	(void)!write(s->theirs, "", 1);
}

static void copy_stream(struct stream *s, struct news *news)
{
	bool is_open = true;

	while (is_open) {
		struct pollfd fds[] = { { .fd = s->read_fd, .events = POLLIN },
			                { .fd = s->theirs, .events = POLLIN },
			                { .fd = s->resized_fd, .events = POLLIN } };
		struct signalfd_siginfo ignored;

		(void)poll(fds, ARRAY_LEN(fds), s->left == SIZE_MAX ? -1 : 0);
		if (fds[2].revents) {
			(void)!read(s->resized_fd, &ignored, sizeof ignored);
			follow_size(s);
		}
		if (fds[1].revents)
			hear_question(s);
		else if (s->left != SIZE_MAX && (s->left == 0 || !fds[0].revents))
			answer(s);
		if (fds[0].revents)
			is_open = copy_chunk(s, news);
	}
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* A file that the command or its reader closes must not stay open with us. */
static void close_others(const struct stream *s)
{
	int kept[] = { s->target_fd, s->read_fd, s->log_fd, s->theirs };
	unsigned from = 0;

	qsort(kept, ARRAY_LEN(kept), sizeof *kept, by_number);
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		if ((unsigned)kept[i] > from)
			(void)syscall(SYS_close_range, from, (unsigned)kept[i] - 1, 0);
		from = (unsigned)kept[i] + 1;
	}
	(void)syscall(SYS_close_range, from, ~0U, 0);
}

static _Noreturn void run_helper(struct stream *s, struct news *news)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	close_others(s);
	if (s->is_terminal) {
		sigemptyset(&set);
		sigaddset(&set, SIGWINCH);
		s->resized_fd = signalfd(-1, &set, SFD_CLOEXEC);
	}
	copy_stream(s, news);
	_exit(0);
}

/* ---- our side -------------------------------------------------------------------------------- */

/* The real terminal processes the output: here it passes as it is. */
static bool open_terminal(struct stream *s)
{
	cleanup(closep) int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct termios mode;
	struct winsize size;

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 ||
	    tcgetattr(s->target_fd, &mode) < 0)
		return false;
	mode.c_oflag &= ~(tcflag_t)OPOST;
	mode.c_lflag &= ~(tcflag_t)ECHO;
	s->write_fd = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (s->write_fd < 0 || tcsetattr(s->write_fd, TCSANOW, &mode) < 0) {
		closep(&s->write_fd);
		return false;
	}
	if (ioctl(s->target_fd, TIOCGWINSZ, &size) == 0)
		(void)ioctl(master, TIOCSWINSZ, &size);
	s->read_fd = TAKE_FD(master);
	return true;
}

static int open_pipe(struct stream *s, struct err *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, errno, "make a pipe: %s", strerror(errno));
	s->read_fd = ends[0];
	s->write_fd = ends[1];
	return 0;
}

static int open_ends(struct stream *s, struct err *err)
{
	int talk[2];

	s->was_terminal = isatty(s->target_fd);
	s->is_terminal = s->was_terminal && open_terminal(s);
	if (!s->is_terminal && open_pipe(s, err) < 0)
		return -err->code;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, talk) < 0)
		return err_set(err, errno, "make a socket: %s", strerror(errno));
	s->ours = talk[0];
	s->theirs = talk[1];
	return 0;
}

/* main() puts a file that is closed on exec in the place of a closed one. */
static bool is_closed(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	return flags < 0 || flags & FD_CLOEXEC;
}

/* By different ways to one regular file, each writes at its own place in it. */
static bool is_same_file(const struct stat *out)
{
	return !S_ISREG(out->st_mode) ||
	       syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, STDOUT_FILENO, STDERR_FILENO) <= 0;
}

bool capture_is_one_stream(void)
{
	struct stat out, error;

	if (is_closed(STDOUT_FILENO) || is_closed(STDERR_FILENO) ||
	    fstat(STDOUT_FILENO, &out) < 0 || fstat(STDERR_FILENO, &error) < 0)
		return false;
	if (S_ISCHR(out.st_mode)) /* a device that is no terminal has no order to keep */
		return S_ISCHR(error.st_mode) && out.st_rdev == error.st_rdev &&
		       isatty(STDOUT_FILENO);
	return out.st_dev == error.st_dev && out.st_ino == error.st_ino && is_same_file(&out);
}

static int start_stream(struct stream *s, struct news *news, struct err *err)
{
	if (s->log_fd < 0 || is_closed(s->target_fd))
		return 0;
	if (open_ends(s, err) < 0)
		return -err->code;
	s->helper = helper_process_fork(OURS_CAPTURE);
	if (s->helper == 0)
		run_helper(s, news);
	if (s->helper < 0)
		return err_set(err, -s->helper, "start '" OURS_CAPTURE "': %s",
		               strerror(-s->helper));
	closep(&s->read_fd);
	closep(&s->theirs);
	closep(&s->log_fd);
	return 0;
}

int capture_start(const int take_log_fds[static CAPTURE_COUNT], struct capture **ret,
                  struct err *err)
{
	cleanup(capture_freep) struct capture *c = xcalloc(1, sizeof *c);

	c->is_one = take_log_fds[CAPTURE_STDERR] < 0;
	for (int i = 0; i < CAPTURE_COUNT; i++)
		c->streams[i] = (struct stream){ .target_fd = STDOUT_FILENO + i,
			                         .read_fd = -1,
			                         .write_fd = -1,
			                         .log_fd = take_log_fds[i],
			                         .ours = -1,
			                         .theirs = -1,
			                         .resized_fd = -1,
			                         .left = SIZE_MAX };
	c->news = mmap(NULL, CAPTURE_COUNT * sizeof *c->news, PROT_READ | PROT_WRITE,
	               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (c->news == MAP_FAILED) {
		c->news = NULL;
		return err_set(err, errno, "share memory: %s", strerror(errno));
	}
	for (int i = 0; i < CAPTURE_COUNT; i++)
		if (start_stream(&c->streams[i], &c->news[i], err) < 0)
			return -err->code;
	*ret = TAKE_PTR(c);
	return 0;
}

void capture_attach(const struct capture *c)
{
	for (int i = 0; i < CAPTURE_COUNT; i++) {
		const struct stream *from = &c->streams[c->is_one ? CAPTURE_STDOUT : i];

		if (from->write_fd >= 0)
			(void)dup2(from->write_fd, c->streams[i].target_fd);
	}
}

void capture_release(struct capture *c)
{
	for (int i = 0; i < CAPTURE_COUNT; i++)
		closep(&c->streams[i].write_fd);
}

/* All signals are blocked here: those that would end us are pending. */
static bool is_to_end(void)
{
	static const int fatal[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t pending;

	sigpending(&pending);
	for (size_t i = 0; i < ARRAY_LEN(fatal); i++)
		if (sigismember(&pending, fatal[i]) == 1)
			return true;
	return false;
}

void capture_finish(struct capture *c)
{
	for (int i = 0; i < CAPTURE_COUNT; i++)
		if (c->streams[i].ours >= 0)
			(void)send(c->streams[i].ours, "", 1, MSG_NOSIGNAL);
	for (int i = 0; i < CAPTURE_COUNT; i++) {
		struct pollfd answered = { .fd = c->streams[i].ours, .events = POLLIN };

		while (answered.fd >= 0 && poll(&answered, 1, SIGNAL_CHECK_MS) <= 0 && !is_to_end())
			;
	}
}

struct capture_result capture_result(const struct capture *c, enum capture_stream stream)
{
	const struct stream *s = &c->streams[stream];

	return (struct capture_result){ .was_terminal = s->was_terminal && !s->is_terminal,
		                        .lost = c->news[stream].lost,
		                        .error = c->news[stream].error };
}

void capture_free(struct capture *c)
{
	if (!c)
		return;
	for (int i = 0; i < CAPTURE_COUNT; i++) {
		struct stream *s = &c->streams[i];

		closep(&s->read_fd);
		closep(&s->write_fd);
		closep(&s->log_fd);
		closep(&s->ours);
		closep(&s->theirs);
	}
	if (c->news)
		munmap(c->news, CAPTURE_COUNT * sizeof *c->news);
	free(c);
}
