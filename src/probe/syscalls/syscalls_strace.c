/* SPDX-License-Identifier: MIT */
/* The system calls of a command and its descendants, counted by strace, where BPF is not allowed. strace is attached
 * before the command runs its program. It is the tracer of all of them until they have ended: what that means
 * for them is in docs/tracing.md. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/signal_name.h"
#include "kernel/process_peek.h"
#include "kernel/ptrace_access.h"
#include "probe/probe.h"
#include "trace/strace.h"
#include "trace/strace_reader.h"

#define ATTACH_NS (5 * NS_PER_S) /* the command waits for it */
#define STOP_NS (3 * NS_PER_S)
#define PATIENCE_NS (3 * NS_PER_S) /* so long the job waits while we do not read: we may be stopped */

struct syscalls_strace {
	int root_fd; /* borrowed */
	char program[PATH_MAX];
	struct strace *strace; /* NULL: nothing is traced */
	struct strace_reader *reader;
	struct proc_id command;
	bool is_attached, is_over;
	struct strace_news over;
	struct sample *out; /* while it is read */
};

/* ---- strace ---------------------------------------------------------------------------------- */

static void take_news(struct syscalls_strace *p)
{
	struct strace_news news;

	while (p->strace && !p->is_over && strace_read(p->strace, &news)) {
		p->is_attached |= news.kind == STRACE_IS_ATTACHED;
		if (news.kind != STRACE_IS_OVER)
			continue;
		p->is_over = true;
		p->over = news;
		strace_kill(p->strace); /* what is left, should the keeper have been killed */
	}
}

static bool is_attached_or_over(const struct syscalls_strace *p)
{
	return p->is_attached || p->is_over;
}

static bool is_over(const struct syscalls_strace *p)
{
	return p->is_over;
}

/* Reads meanwhile, for strace waits where its pipe is full. */
static bool wait_until(struct syscalls_strace *p, bool (*is_it)(const struct syscalls_strace *p),
                       uint64_t until_mono_ns)
{
	for (;;) {
		struct pollfd fds[] = { { .fd = strace_fd(p->strace), .events = POLLIN },
			                { .fd = p->reader->fd, .events = POLLIN } };
		uint64_t now = clock_mono_ns();

		(void)strace_reader_read(p->reader);
		take_news(p);
		if (is_it(p))
			break;
		if (now >= until_mono_ns)
			return false;
		(void)poll(fds, ARRAY_LEN(fds), (int)((until_mono_ns - now) / NS_PER_MS + 1));
	}
	(void)strace_reader_read(p->reader); /* it was all written before the end was reported */
	return true;
}

static void stop(struct syscalls_strace *p)
{
	if (!p->strace || p->is_over)
		return;
	strace_nudge(p->strace);
	strace_stop(p->strace);
	if (wait_until(p, is_over, clock_mono_ns() + STOP_NS))
		return;
	strace_kill(p->strace);
	p->is_over = true;
	p->over.end = STRACE_STOPPED;
}

static void syscalls_strace_close(void *self)
{
	struct syscalls_strace *p = self;

	if (!p)
		return;
	stop(p);
	strace_free(p->strace);
	strace_reader_close(p->reader);
	free(p);
}
DEFINE_CLEANUP(struct syscalls_strace *, syscalls_strace_close)

static int syscalls_strace_open(const struct probe_env *env, void **ret_self, struct err *err)
{
	cleanup(syscalls_strace_closep) struct syscalls_strace *p = xcalloc(1, sizeof *p);

	if (!env->traces_syscalls)
		return err_set(err, ECANCELED, "not asked for");
	if (!env->is_live || !env->strace_dirs)
		return err_set(err, ENOTSUP,
		               "strace is used by `run --syscalls` and `proctor syscalls` only");
	if (strace_find(env->strace_dirs, p->program, err) < 0 ||
	    strace_reader_open(&p->reader, err) < 0)
		return -err->code;
	p->root_fd = env->root_fd;
	*ret_self = TAKE_PTR(p);
	return 0;
}

/* ---- tracing --------------------------------------------------------------------------------- */

static int explain(const struct syscalls_strace *p, pid_t pid, struct err *err)
{
	const struct ptrace_caller us = ptrace_access_own(p->root_fd);

	if (!p->is_over)
		return err_set(err, ETIMEDOUT, "strace did not attach within %u s",
		               (unsigned)(ATTACH_NS / NS_PER_S));
	if (p->over.end == STRACE_NOT_ATTACHED && p->over.code == EPERM)
		return ptrace_access_explain(NULL, p->root_fd, pid, &us, err);
	if (p->over.end == STRACE_KEEPER_LOST || p->over.code)
		return err_set(err, ECHILD, "strace was killed while it attached");
	return err_set(err, EIO, "strace: %.150s",
	               p->over.text[0] ? p->over.text : "it could not be started");
}

/* It is not tried again: the command must not wait twice. */
static int start(struct syscalls_strace *p, pid_t pid, struct err *err)
{
	const struct ptrace_caller us = ptrace_access_own(p->root_fd);
	const struct strace_options o = { .program = p->program,
		                          .pid = pid,
		                          .is_raw = true,
		                          .out_fd = p->reader->write_fd,
		                          .patience_ns = PATIENCE_NS };
	int r;

	if (ptrace_access_check(NULL, p->root_fd, pid, &us, err) < 0 ||
	    strace_start(&o, &p->strace, err) < 0)
		return -err->code;
	strace_tally_add(&p->reader->tally, pid, true);
	p->command = (struct proc_id){ pid, process_peek_start(p->root_fd, pid) };
	if (wait_until(p, is_attached_or_over, clock_mono_ns() + ATTACH_NS) && p->is_attached)
		return 0;
	r = explain(p, pid, err);
	stop(p);
	return r;
}

/* Descendants of the command are followed by strace. */
static int syscalls_strace_trace(void *self, const pid_t *pids, size_t n, bool from_exec,
                                 struct err *err)
{
	struct syscalls_strace *p = self;

	if (from_exec && n == 1 && !p->strace)
		return start(p, pids[0], err);
	if (!p->is_attached)
		return err_set(err, ENOTSUP, "strace counts the calls of commands that it saw begin");
	return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void put_use(void *self, pid_t pid, const struct syscall_count *count)
{
	struct syscalls_strace *p = self;
	struct syscall_use *use = vec_push(&p->out->syscalls, SYSCALL_USES_MAX);

	if (use)
		*use = (struct syscall_use){ .id.pid = pid, .c = *count, .traced = p->command };
	else
		p->out->syscalls_lost = true;
}

static int explain_end(const struct syscalls_strace *p, struct err *err)
{
	const char *what = "system calls are not counted any more";

	if (p->over.end == STRACE_OUTPUT_FAILED)
		return err_set(err, EPIPE, "%s: the job waited too long for its recorder", what);
	if (p->over.end == STRACE_KEEPER_LOST || p->over.code)
		return err_set(err, ECHILD, "%s: strace was killed", what);
	return err_set(err, EIO, "%s: strace: %.150s", what, p->over.text);
}

/* Earlier counts are handed out first: by now the births of those processes have been reported. */
static int syscalls_strace_read(void *self, struct sample *out, struct err *err)
{
	struct syscalls_strace *p = self;

	if (!p->is_attached)
		return 0;
	p->out = out;
	out->syscalls_are_slow = true;
	strace_tally_take(&p->reader->tally, out->wall_ns ? out->wall_ns : clock_wall_ns(), put_use,
	                  p);
	strace_nudge(p->strace);
	take_news(p);
	(void)strace_reader_read(p->reader);
	out->syscalls_lost |= p->reader->tally.has_lost;
	if (!p->is_over || p->over.end <= STRACE_STOPPED)
		return 0;
	out->syscalls_lost = true;
	return explain_end(p, err);
}

/* strace ends by itself with the last process that it traces. */
static void syscalls_strace_settle(void *self, bool leaves_some)
{
	struct syscalls_strace *p = self;

	if (!p->is_attached || p->is_over)
		return;
	if (!leaves_some)
		(void)wait_until(p, is_over, clock_mono_ns() + NS_PER_S);
	stop(p);
	strace_tally_end(&p->reader->tally);
}

static int syscalls_strace_fd(const void *self)
{
	const struct syscalls_strace *p = self;

	return p->reader->fd;
}

static void syscalls_strace_health(const void *self, struct probe_health *ret)
{
	(void)self;
	*ret = (struct probe_health){ .state = PROBE_WORKS, .source = "strace" };
	snprintf(ret->note, sizeof ret->note,
	         "run --syscalls: each call of the job takes about 100 times as long, set-user-id "
	         "programs get no other rights, and it cannot debug itself");
}

const struct probe_ops probe_syscalls_strace = {
	.name = "syscalls-strace",
	.flags = PROBE_BRINGS_EVENTS | PROBE_OPENS_EARLY | PROBE_TRACES,
	.caution =
		"counting system calls by strace: each takes about 100 times as long, set-user-id "
		"programs (sudo, ping) get no other rights, and the job cannot attach debuggers",
	.open = syscalls_strace_open,
	.read = syscalls_strace_read,
	.fd = syscalls_strace_fd,
	.trace = syscalls_strace_trace,
	.settle = syscalls_strace_settle,
	.health = syscalls_strace_health,
	.close = syscalls_strace_close,
};
