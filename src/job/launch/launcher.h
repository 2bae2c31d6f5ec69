/* SPDX-License-Identifier: MIT */
/* launcher.h - starts a command and behaves as if it were the command: same terminal, process group,
 * environment, umask and signals; it stops and ends as the command does. It reaps every child,
 * including orphans, whose subreaper it is, and reports the result of wait4. */
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/loop.h"
#include "job/launch/capture.h"
#include "model/process.h"

struct launcher;

/* A child that was reaped. Its rusage includes that of the children it reaped itself. */
struct launch_end {
	pid_t pid;
	uint64_t start_ticks; /* as in struct proc_id; 0: not known */
	bool has_exit_code;   /* a code or a signal, never both */
	int exit_code, signal;
	bool core_dumped;
	struct rusage usage;
	bool has_io; /* storage I/O, including that of the children it reaped */
	uint64_t read_bytes, written_bytes;
};

struct launch_options {
	char *const *argv;
	struct capture *capture; /* borrowed; NULL: its output is not captured */
	bool may_be_traced;      /* by a process of ours, from before the release on */
	int cgroup_fd;           /* the command is born in this v2 group; -1: in ours */
	/* Called in the child before exec; must be async-signal-safe. is_inside: it was born in the
	 * group. If it fails, the command is not started and the error is passed to the parent.
	 * May be NULL, as may on_dying, on_forward, on_group_signal and on_late_signal. */
	int (*prepare)(void *self, bool is_inside, struct err *err);
	/* The command has ended and is about to be reaped: it is still in /proc. */
	void (*on_dying)(void *self);
	/* Every child, including the command. */
	void (*on_reaped)(void *self, const struct launch_end *end);
	/* The command, after on_reaped. */
	void (*on_ended)(void *self, const struct launch_end *end);
	/* A signal to us was forwarded to the command; from_pid 0: sent by the kernel,
	 * -1: by a process outside of our pid namespace. */
	void (*on_forward)(void *self, int signo, pid_t from_pid, uint32_t from_uid);
	/* A signal went to the group, the command included. */
	void (*on_group_signal)(void *self, int signo, pid_t from_pid, uint32_t from_uid);
	/* A signal that arrives when the command has ended; without this it is dropped. */
	void (*on_late_signal)(void *self, int signo);
	void *self;
};

/* State that the command inherits and that we change. */
struct launch_inherited {
	sigset_t mask;
	struct sigaction pipe, child;
	int subreaper;
};

/* Call it before any of it is changed; `sigpipe` is the disposition of SIGPIPE before we ignored it. */
void launcher_save_inherited(struct launch_inherited *i, void (*sigpipe)(int));
/* The fallback if recording fails before it started: this process becomes the command, as it would
 * have been without us. Returns only if there is no such program (-ENOENT), or it cannot be run. */
int launcher_run_unwatched(const struct launch_inherited *i, char *const *argv, struct err *err)
	must_check;

/* Takes over the signals and starts the group-signal detector. Call it first, while this process is
 * small. */
int launcher_new(struct loop *loop, const struct launch_inherited *inherited, struct launcher **ret,
                 struct err *err) must_check;
/* Creates the command's process, which waits to be released. Call it early: the kernel counts the
 * memory that we have now towards its peak. The options are copied, argv is borrowed. */
int launcher_fork(struct launcher *l, const struct launch_options *options, struct err *err)
	must_check;
/* Lets the command exec, and returns when it has. -ENOENT: there is no such program; -ECANCELED:
 * prepare() failed; other errors come from exec. */
int launcher_release(struct launcher *l, struct err *err) must_check;
pid_t launcher_pid(const struct launcher *l); /* the command's */
/* If we are stopped together with the command, we continue at this time, because the loop has
 * something to do; later stops end at once. */
void launcher_set_deadline(struct launcher *l, uint64_t mono_ns);
/* Reaps the children that have ended. */
void launcher_reap(struct launcher *l);
/* Whether there are children left, except our helpers. Without any, the job has no processes left,
 * because orphans become our children. */
bool launcher_has_children(const struct launcher *l);
void launcher_free(struct launcher *l); /* NULL is fine */
DEFINE_CLEANUP(struct launcher *, launcher_free)

/* Ends this process as the command ended: with its exit code, or by its signal, without a core dump. */
_Noreturn void launch_end_alike(const struct launch_end *end);
