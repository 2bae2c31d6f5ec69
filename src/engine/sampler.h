/* SPDX-License-Identifier: MIT */
/* sampler.h - all probes together: opens the best tier of each role, reads them at each tick, builds
 * the snapshot, and tracks every probe's health. Metrics of a probe that fails are absent; one that
 * keeps failing gives way to its next tier. */
#pragma once

#include "model/snapshot.h"
#include "probe/probe.h"

struct sampler;

struct sampler_options {
	const char *root;   /* "/" or a frozen tree; NULL means "/" */
	bool no_bpf;        /* stay off BPF, as on kernels without it */
	bool no_events;     /* … and off the proc connector: births and ends are found by ticks */
	bool jobs_only;     /* for the recorder of one job: other processes are left out, and all
	                       but the source of events is opened at the first tick */
	bool group_is_ours; /* the limits of our control group are for us, not for what we watch */
	const char *gpu_helper;  /* program started as the GPU helper; NULL: GPUs are not watched */
	bool gpu_insist;         /* even if no device is found */
	bool traces_syscalls;    /* the calls of processes are counted: sampler_trace() */
	const char *strace_dirs; /* as in struct probe_env */
	uint32_t flight_calls;   /* … and the last ones of each thread kept; 0: they are not */
	const struct probe_role *roles; /* NULL: probe_roles */
};

struct role_health {
	const char *role;
	const char *tier; /* name of the active probe; NULL: none */
	struct probe_health health;
	unsigned failures; /* reads that failed since it was opened */
};

#define ROLES_MAX 16

/* Called when a probe fails, recovers or gives way to its next tier; text is one sentence. */
typedef void sampler_notice(void *self, const char *text);

int sampler_open(const struct sampler_options *options, struct sampler **ret, struct err *err)
	must_check;
void sampler_close(struct sampler *s); /* NULL is fine */
DEFINE_CLEANUP(struct sampler *, sampler_close)
void sampler_on_notice(struct sampler *s, sampler_notice *notice, void *self);
/* The sample of the last tick; NULL before the first. */
const struct sample *sampler_last(const struct sampler *s);
/* On the boot clock, when the sample before that was taken; 0: there was none. */
uint64_t sampler_before_last_ns(const struct sampler *s);
/* The process reader of the host's thread: all files in /proc/PID are read with it there. */
struct process_reader *sampler_process_reader(const struct sampler *s);
/* The sample of the next tick, in which events are collected. */
const struct sample *sampler_sample(const struct sampler *s);
/* … what its probes are asked for, to be filled in; sampler_read() sets `want`. */
struct sample_request *sampler_request(struct sampler *s);
/* Empties it after sampler_read(), where no snapshot is built. */
void sampler_discard(struct sampler *s);
/* Whether an open probe has this flag. */
bool sampler_has(const struct sampler *s, enum probe_flag flag);
/* How many ends that `matches` accepts are known without their totals, which are still to come. With
 * `now` these ends are reported without totals. */
size_t sampler_pending_totals(struct sampler *s, bool (*matches)(void *self, struct proc_id id),
                              void *self, bool now);
/* One tick in two steps, so that the engine can learn from the sample in between which process
 * belongs to which job: reads all probes into sampler_sample(), then builds the snapshot. `want` is a
 * set of enum sample_want. */
void sampler_read(struct sampler *s, unsigned want);
void sampler_build(struct sampler *s, const struct job_roster *jobs, struct snapshot *ret);
/* Both at once, with all details. */
void sampler_tick(struct sampler *s, const struct job_roster *jobs, struct snapshot *ret);
/* Waits for slow sources (a GPU's driver), at most until then, for programs that take one sample only.
 * A source that will report nothing gives way. */
void sampler_await(struct sampler *s, uint64_t until_mono_ns);
/* Switches the counting of system calls on or off; when off, nothing is left attached. The fds of
 * events change. */
void sampler_set_tracing(struct sampler *s, bool traces_syscalls);
/* Begins to count the system calls of these processes and of their descendants: from now on, or
 * from the next program on that they run. */
int sampler_trace(struct sampler *s, const pid_t *pids, size_t n, bool from_exec, struct err *err)
	must_check;
/* The side effects of tracing on the command; NULL: none. */
const char *sampler_trace_caution(const struct sampler *s);
/* The next drain or tick has the last calls of traced processes that still run, if these are kept. */
void sampler_report_living(struct sampler *s);
/* After the end of a job: waits for what slow sources still have of it. */
void sampler_settle(struct sampler *s, bool leaves_some);
/* Reads event sources before the tick, so that their buffers do not overflow. Returns how many events
 * wait. */
size_t sampler_drain(struct sampler *s);
/* The two steps of a flush: the events that wait become a snapshot of their own. */
void sampler_stamp_events(struct sampler *s);
void sampler_build_events(struct sampler *s, const struct job_roster *jobs, struct snapshot *ret);
/* The fds of probes: when one is readable, sampler_drain() is due. Returns their number. */
size_t sampler_fds(const struct sampler *s, int ret[static ROLES_MAX]);
/* Whether one is readable now. */
bool sampler_has_waiting(const struct sampler *s);
/* Adds an event that no probe reports to the next snapshot, as engine_emit(). */
bool sampler_emit(struct sampler *s, const struct event *event, const char *name, const char *text);
/* … of the recorder itself. */
void sampler_add_event(struct sampler *s, enum event_kind kind, int64_t count, const char *text);
size_t sampler_health(const struct sampler *s, struct role_health ret[static ROLES_MAX]);
