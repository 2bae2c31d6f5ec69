/* SPDX-License-Identifier: MIT */
#include "trace/strace.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/helper_process.h"
#include "base/mem.h"
#include "base/vec.h"
#include "model/own_process.h"
#include "trace/strace_keeper.h"

struct strace {
	int fd;                   /* to the keeper; -1: it is over */
	pid_t keeper, strace_pid; /* 0: not known, or gone */
};

/* ---- the program ----------------------------------------------------------------------------- */

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

int strace_find(const char *dirs, char ret[static PATH_MAX], struct err *err)
{
	struct scan left = scan_str(dirs), dir;
	char path[PATH_MAX];
	bool is_last = false;

	while (!is_last) {
		is_last = !scan_until(&left, ':', &dir);
		if (is_last)
			dir = left;
		if (dir.p == dir.end || *dir.p != '/') /* not the current directory */
			continue;
		if (snprintf(path, sizeof path, "%.*s/strace", (int)scan_left(&dir), dir.p) <
		            (int)sizeof path &&
		    is_program(path)) {
			memcpy(ret, path, sizeof path);
			return 0;
		}
	}
	return err_set(err, ENOENT,
	               "strace is not installed, or not in PATH; the package is called strace "
	               "(apt install strace, dnf install strace)");
}

/* ---- the keeper ------------------------------------------------------------------------------ */

/* Its messages are read, so they must be in English. */
static const char **make_environment(void)
{
	VEC(const char *) list = { 0 };
	const char **slot;

	for (char **e = environ; e && *e; e++)
		if (strncmp(*e, "LC_", 3) != 0 && strncmp(*e, "LANG", 4) != 0 &&
		    (slot = vec_push(&list, SIZE_MAX)))
			*slot = *e;
	*vec_push(&list, SIZE_MAX) = "LC_ALL=C";
	*vec_push(&list, SIZE_MAX) = NULL;
	return list.at;
}

struct words {
	char **at;
	size_t len, cap;
};

static void add_word(struct words *w, char *take_word)
{
	*vec_push(w, SIZE_MAX) = take_word;
}

static void add_words(struct words *w, const char *const *words)
{
	for (; *words; words++)
		add_word(w, xstrdup(*words));
}

static void add_pid(struct words *w, pid_t pid)
{
	add_word(w, xstrdup("-p"));
	add_word(w, xasprintf("%d", (int)pid));
}

static void words_done(struct words *w)
{
	vec_each(w, word)
		free(*word);
	vec_done(w);
}

static void make_command(const struct strace_options *o, struct words *w)
{
	static const char *const lines[] = { "-t", NULL };
	static const char *const raw[] = { "-ttt", "-T", "-e", "raw=!?clone3", "-e", "signal=none", NULL };

	add_words(w, (const char *const[]){ "strace", "-f", "-o", NULL });
	add_word(w, xasprintf("/dev/fd/%d", STRACE_TRACE_FD));
	add_words(w, o->is_raw ? raw : lines);
	if (o->filter) {
		add_word(w, xstrdup("-e"));
		add_word(w, xasprintf("trace=%s", o->filter));
	}
	add_pid(w, o->pid);
	for (size_t i = 0; i < o->others_len; i++)
		add_pid(w, o->others[i]);
	add_word(w, NULL);
}

pid_t strace_keeper_start(const struct strace_options *o, int control_fd, struct err *err)
{
	cleanup(freep) const char **environment = make_environment();
	cleanup(words_done) struct words command = { 0 };
	struct strace_plan plan = { .options = *o,
		                    .environment = environment,
		                    .control_fd = control_fd };
	pid_t keeper;

	if (o->filter && strlen(o->filter) > STRACE_FILTER_MAX)
		return err_set(err, EINVAL, "the filter is longer than %d bytes",
		               STRACE_FILTER_MAX);
	make_command(o, &command);
	plan.argv = (const char *const *)command.at;
	keeper = helper_process_fork(OURS_TRACE);
	if (keeper == 0)
		strace_keeper_run(&plan);
	if (keeper < 0)
		return err_set(err, -keeper, "start '" OURS_TRACE "': %s", strerror(-keeper));
	return keeper;
}

struct strace *strace_keeper_connect(int take_fd, pid_t keeper)
{
	struct strace *s = xcalloc(1, sizeof *s);

	s->fd = take_fd;
	s->keeper = keeper;
	return s;
}

int strace_start(const struct strace_options *o, struct strace **ret, struct err *err)
{
	int ends[2];
	pid_t keeper;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(err, errno, "make a socket: %s", strerror(errno));
	keeper = strace_keeper_start(o, ends[1], err);
	close(ends[1]);
	if (keeper < 0) {
		close(ends[0]);
		return keeper;
	}
	*ret = strace_keeper_connect(ends[0], keeper);
	return 0;
}

int strace_fd(const struct strace *s)
{
	return s->fd;
}

static void reap(struct strace *s, int options)
{
	if (s->keeper && waitpid(s->keeper, NULL, __WALL | options) != 0)
		s->keeper = 0;
}

/* The keeper forked it. It becomes a child of ours if the keeper is killed. */
static void learn_pid(struct strace *s, pid_t strace_pid)
{
	if (strace_pid != s->strace_pid)
		helper_process_add(strace_pid);
	s->strace_pid = strace_pid;
}

bool strace_read(struct strace *s, struct strace_news *ret)
{
	struct strace_news news = { .kind = STRACE_IS_OVER, .end = STRACE_KEEPER_LOST };
	ssize_t n;

	if (s->fd < 0)
		return false;
	do /* the kernel reports first that the keeper did not read our request to end */
		n = recv(s->fd, &news, sizeof news, MSG_DONTWAIT);
	while (n < 0 && (errno == ECONNRESET || errno == EINTR));
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n == sizeof news && news.strace_pid)
		learn_pid(s, news.strace_pid);
	if (news.kind == STRACE_IS_OVER) {
		closep(&s->fd);
		if (n == sizeof news) /* all is cleaned up, and it is about to exit */
			s->strace_pid = 0;
		reap(s, 0);
	}
	*ret = news;
	return true;
}

void strace_nudge(const struct strace *s)
{
	siginfo_t info = { 0 };

	if (s->keeper && waitid(P_PID, (id_t)s->keeper, &info, WSTOPPED | WNOHANG | __WALL) == 0 &&
	    info.si_pid)
		(void)kill(s->keeper, SIGCONT);
}

void strace_stop(struct strace *s)
{
	if (s->fd >= 0)
		(void)send(s->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void strace_kill(struct strace *s)
{
	closep(&s->fd);
	if (s->keeper)
		(void)kill(s->keeper, SIGKILL);
	reap(s, 0);
	if (!s->strace_pid)
		return;
	(void)kill(-s->strace_pid, SIGKILL);
	while (waitpid(-s->strace_pid, NULL, __WALL) > 0)
		;
	s->strace_pid = 0;
}

void strace_free(struct strace *s)
{
	if (!s)
		return;
	closep(&s->fd);
	reap(s, WNOHANG);
	free(s);
}
