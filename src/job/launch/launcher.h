/* SPDX-License-Identifier: MIT */
/* launcher.h - starts a command and stands in for it as if we were not there: same terminal,
 * process group, environment, umask, signals; its stops are ours, its end is ours. It reaps every
 * child and tells what wait4 told of it, orphans included, because it is their subreaper. */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include "base/loop.h"
#include "model/process.h"

struct launcher;

/* A child that was reaped. Its rusage holds what it reaped itself. */
struct launch_end {
	pid_t pid;
	bool has_exit_code; /* a code or a signal, never both */
	int exit_code, signal;
	bool core_dumped;
	struct rusage usage;
	bool has_io; /* storage I/O of it and of those it reaped */
	uint64_t read_bytes, written_bytes;
};

struct launch_options {
	char *const *argv;
	int cgroup_fd; /* the command is born in this v2 group; -1: in ours */
	/* Called in the child before exec; must be async-signal-safe. is_inside: it was born in the
	 * group. Less than 0: the command is not started, and the error is told to us. NULL: none.
	 */
	int (*prepare)(void *self, bool is_inside, struct err *err);
	/* The command has ended and is about to be reaped: /proc still knows it. NULL: none. */
	void (*on_dying)(void *self);
	void (*on_reaped)(void *self,
	                  const struct launch_end *end); /* every child, the command too */
	void (*on_ended)(void *self,
	                 const struct launch_end *end); /* the command, after on_reaped */
	/* A signal to us was passed on to the command; from_pid 0: the kernel's. NULL: none. */
	void (*on_forward)(void *self, int signo, pid_t from_pid, uint32_t from_uid);
	/* A signal that comes when there is no command any more to get it. NULL: it is dropped. */
	void (*on_late_signal)(void *self, int signo);
	void *self;
};

/* Remembers signal mask and dispositions as they are now, takes the signals over, and starts the
 * witness: to be called first, while we are small. SIGPIPE is ignored by us; `sigpipe` is what it
 * was before. */
int launcher_new(struct loop *loop, void (*sigpipe)(int), struct launcher **ret, struct err *err)
	must_check;
/* Makes the command's process, which waits to be released. The sooner, the better: the kernel
 * counts the memory we have now towards its peak. The options are copied, argv only borrowed. */
int launcher_fork(struct launcher *l, const struct launch_options *options, struct err *err)
	must_check;
/* Lets it run its program, and returns when it does. -ENOENT: there is no such program; -ECANCELED:
 * prepare() refused; other errors of exec tell that it cannot be run. */
int launcher_release(struct launcher *l, struct err *err) must_check;
pid_t launcher_pid(const struct launcher *l); /* the command's */
/* Whether that is one of the small processes which help us with signals, or was not long ago. */
bool launcher_is_helper(const struct launcher *l, pid_t pid);
/* A stop beside the command ends then, for the loop has something to do; later ones are over in a
 * moment. */
void launcher_set_deadline(struct launcher *l, uint64_t mono_ns);
/* Sends to the command alone. */
void launcher_signal(const struct launcher *l, int signo);
/* Reaps who has ended by now. */
void launcher_reap(struct launcher *l);
/* Whether we have children left, helpers for signals not counted. Without any, nobody of the job is
 * left: orphans are ours. */
bool launcher_has_children(const struct launcher *l);
void launcher_free(struct launcher *l); /* NULL is fine */
DEFINE_CLEANUP(struct launcher *, launcher_free)

/* Ends this process as the command ended: with its code, or by its signal, without a core. */
_Noreturn void launch_end_alike(const struct launch_end *end);
