/* SPDX-License-Identifier: MIT */
/* sampler.h - the probes as one instrument: opens the best tier of each role, reads them all at a
 * tick, makes the snapshot, keeps every probe's health. A probe that fails leaves a hole; one that
 * keeps failing gives way to its next tier. */
#pragma once

#include "model/snapshot.h"
#include "probe/probe.h"

struct sampler;

struct sampler_options {
	const char *root;   /* "/" or a frozen tree; NULL means "/" */
	bool no_bpf;        /* stay off BPF, as on kernels without it */
	bool no_events;     /* … and off the proc connector: only scans tell of births and ends */
	bool jobs_only;     /* for the recorder of one job: other processes are left out, and all
	                       but the source of events is opened at the first tick */
	bool group_is_ours; /* the limits of our control group are for us, not for what we watch */
	const char *gpu_helper; /* program started as the GPU helper; NULL: GPUs are not watched */
	bool gpu_insist;        /* also where no device is seen */
	const struct probe_role *roles; /* NULL: probe_roles */
};

struct role_health {
	const char *role;
	const char *tier; /* name of the probe that plays, NULL: nobody */
	struct probe_health health;
	unsigned failures; /* reads that failed since it was opened */
};

#define ROLES_MAX 16

/* Called when a probe fails, recovers or gives way; text is one sentence. */
typedef void sampler_notice(void *self, const char *text);

int sampler_open(const struct sampler_options *options, struct sampler **ret, struct err *err)
	must_check;
void sampler_close(struct sampler *s); /* NULL is fine */
DEFINE_CLEANUP(struct sampler *, sampler_close)
void sampler_on_notice(struct sampler *s, sampler_notice *notice, void *self);
/* The last look; NULL before the first. */
const struct sample *sampler_last(const struct sampler *s);
/* The host's only one: all files in /proc/PID are read with it. */
struct process_reader *sampler_process_reader(const struct sampler *s);
/* What the next tick looks at: its focus may be filled in. */
struct sample *sampler_sample(struct sampler *s);
/* Whether a source tells every birth and end as it happens, and whether it also tells the totals of
 * those that end, signals and out-of-memory kills. */
bool sampler_reports_births(const struct sampler *s);
bool sampler_reports_totals(const struct sampler *s);
/* How many ends are known whose totals are still to come. With `now` they come no more: those ends
 * are told without. `cares` says of whose end it matters. */
size_t sampler_owed(struct sampler *s, bool (*cares)(void *self, struct proc_id id), void *self,
                    bool now);
/* Whether open files and I/O are read process by process, at a price of their own. */
bool sampler_walks_proc(const struct sampler *s);
void sampler_set_want(struct sampler *s, unsigned want); /* enum sample_want */
/* One tick in two steps, so that the reader can learn from the sample in between which process
 * belongs to which job: reads all probes into sampler_sample(), then makes the snapshot of it. */
void sampler_read(struct sampler *s);
void sampler_build(struct sampler *s, const struct job_roster *jobs, struct snapshot *ret);
/* Both at once. */
void sampler_tick(struct sampler *s, const struct job_roster *jobs, struct snapshot *ret);
/* What that took of CPU time in threads beside the caller's. */
uint64_t sampler_aside_cpu_ns(const struct sampler *s);
/* For who looks once: waits for sources that take their time (a GPU's driver), at most until then;
 * those that cannot tell anything give way. */
void sampler_await(struct sampler *s, uint64_t until_mono_ns);
/* Whether that is a process of ours that works for a probe: it belongs to no job. */
bool sampler_is_helper(const struct sampler *s, pid_t pid);
/* Takes what event sources hold before the tick, so that their buffers do not overflow. Returns how
 * many wait. */
size_t sampler_drain(struct sampler *s);
/* The same for a flush: the events that wait become a snapshot of their own. */
void sampler_stamp_events(struct sampler *s);
void sampler_build_events(struct sampler *s, const struct job_roster *jobs, struct snapshot *ret);
/* The fds of all probes that want sampler_drain() when one is readable: how many. */
size_t sampler_fds(const struct sampler *s, int ret[static ROLES_MAX]);
/* Adds an event that no probe reports to the next snapshot, as engine_emit(). */
bool sampler_emit(struct sampler *s, const struct event *event, const char *name, const char *text);
/* … of the recorder itself. */
void sampler_add_event(struct sampler *s, enum event_kind kind, int64_t count, const char *text);
size_t sampler_health(const struct sampler *s, struct role_health ret[static ROLES_MAX]);
