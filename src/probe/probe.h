/* SPDX-License-Identifier: MIT */
/* probe.h - a source of facts: one file, one kernel interface, one small const vtable.
 * A probe reads and never judges: no rates, no jobs, no printing, no absolute paths (the root is
 * given). What cannot be read is left absent in the sample; read() fails only when the source as a
 * whole does. */
#pragma once

#include "base/err.h"
#include "model/sample.h"

enum probe_state {
	PROBE_WORKS,
	PROBE_DEGRADED, /* gives less than it could: note has what is lost, and why */
	PROBE_ABSENT,   /* gives nothing: note has the reason */
};

struct probe_health {
	enum probe_state state;
	char source[48]; /* "BPF iterator" */
	char note[400];  /* what it gives, or why it does not and what is lost by it */
	uint64_t lost;   /* events lost since it was opened */
};

struct process_reader;

struct probe_env {
	int root_fd; /* "/", or a frozen tree; paths below it are written "proc/…" and "sys/…" */
	struct process_reader *reader; /* of the files in /proc/PID; the only one there is */
	bool starts_fast;              /* a command waits for open() to return */
	bool group_is_ours; /* our control group is for us alone: its limits are not the machine's
	                     */
	bool is_live; /* the root is this machine's: kernel interfaces without a path may be used */
	const char *gpu_helper; /* program started as GPU_HELPER_VERB; NULL: GPUs are not watched */
	bool gpu_insist;        /* also where no device is seen */
	bool traces_syscalls;   /* it was asked for: the calls of processes are counted */
	const char *strace_dirs; /* … by strace, if need be, which is looked for in these, as in
	                            PATH; NULL: it is not used */
	uint32_t flight_calls;  /* … and the last ones of each thread kept; 0: they are not */
};

/* The purpose of a probe. Nothing is inferred from which functions it has or where it is listed. */
enum probe_flag {
	PROBE_NEEDS_BPF = 1 << 0,      /* skipped with --no-bpf */
	PROBE_REPORTS_BIRTHS = 1 << 1, /* every birth and end of a process, as an event; when it
	                                  lost some, read() clears events_complete */
	PROBE_REPORTS_TOTALS = 1 << 2, /* … with final counters, signals and out-of-memory kills:
	                                  has pending_totals() */
	PROBE_OPENS_EARLY = 1 << 3,    /* misses what happens before it is open: `run` opens it
	                                  before the command starts, and all others at the first
	                                  tick */
	PROBE_SUITS_MANY = 1 << 4,     /* loading it pays off from many processes on: `run` starts
	                                  with the first tier that lacks this */
	PROBE_PAYS_PER_FILE = 1 << 5, /* open files and I/O of processes cost extra (WANT_FDS_IO) */
	PROBE_TRACES = 1 << 6, /* reports only about processes that it was given: has trace() */
	PROBE_BRINGS_EVENTS = 1 << 7, /* is read between ticks, too: has fd() */
};

struct probe_ops {
	const char *name; /* used in configuration, messages and `doctor` */
	unsigned flags;   /* enum probe_flag */
	const char *caution; /* what trace() does to a command besides; NULL: nothing */
	int (*open)(const struct probe_env *env, void **ret_self, struct err *err);
	int (*read)(void *self, struct sample *out, struct err *err);
	/* Becomes readable when read() should be called before the tick; while the probe is open, there is one.
	 * Any number of probes may bring events. */
	int (*fd)(const void *self);
	/* For slow sources: waits until there is something to report, at most until then; fails
	 * when there never will be. NULL: all is there at once. */
	int (*await)(void *self, uint64_t until_mono_ns, struct err *err);
	/* How many ends are known whose totals are still to come, of those that `matches`
	 * accepts; with `now` these are reported without. */
	size_t (*pending_totals)(void *self, struct sample *out,
	                         bool (*matches)(void *arg, struct proc_id id), void *arg,
	                         bool now);
	/* From now on, or from the next program on that they run, it reports about these processes
	 * and those that descend from them. NULL: it reports about all. */
	int (*trace)(void *self, const pid_t *pids, size_t n, bool from_exec, struct err *err);
	/* read() will have the last calls of those that it traces and that still run. NULL: it
	 * keeps none. */
	int (*report_living)(void *self, struct err *err);
	/* The command has ended, and with it all that it started unless it left some: read() will
	 * report all there is. Waits for slow sources, for a few seconds at most. NULL: nothing is
	 * left to wait for. */
	void (*settle)(void *self, bool leaves_some);
	void (*health)(const void *self, struct probe_health *ret);
	void (*close)(void *self); /* NULL is fine */
};

/* A role and the probes that can fill it, best first. The first that opens is used. */
struct probe_role {
	const char *name;
	const char *lost_without; /* what is missing when no tier opens; NULL: the reasons
	                             explain that */
	const struct probe_ops *const *tiers; /* ends with NULL */
};

/* All roles, in the order they are read. Ends with a NULL name. */
extern const struct probe_role probe_roles[];

extern const struct probe_ops probe_tasks_bpf, probe_tasks_proc;
extern const struct probe_ops probe_system, probe_cgroup, probe_detail;
extern const struct probe_ops probe_lifecycle_bpf, probe_lifecycle_connector;
extern const struct probe_ops probe_gpu_nvml, probe_gpu_smi, probe_gpu_drm;
extern const struct probe_ops probe_syscalls_bpf, probe_syscalls_strace;
