/* SPDX-License-Identifier: MIT */
/* sample.h - what the kernel reported at one tick: raw counters, each present or absent, and the events
 * since the last one. Only probes fill it; the engine writes the request that they read. It owns all it
 * holds; nothing in it points elsewhere, but for `last`. */
#pragma once

#include "base/buf.h"
#include "base/vec.h"
#include "model/cause.h"
#include "model/event.h"
#include "model/flight.h"
#include "model/gpu.h"
#include "model/metric.h"
#include "model/process.h"
#include "model/syscall.h"

#define PROCS_MAX ((size_t)1 << 22) /* the kernel's own ceiling for pids */
#define EVENTS_MAX ((size_t)1 << 17)
#define SYSCALL_USES_MAX ((size_t)1 << 20)
#define FLIGHT_PIECES_MAX ((size_t)1 << 15)
#define FLIGHT_SAMPLE_CALLS_MAX ((size_t)1 << 17)

/* The path of the control group whose limits are in force: its own or that of one above; "": not
 * known, or there is none. */
struct cgroup_limit_groups {
	char memory[CAUSE_GROUP_MAX], pids[CAUSE_GROUP_MAX];
};

/* The memory of a process in smaps_rollup, by kind. */
struct proc_pss {
	uint64_t anon_bytes, shmem_bytes; /* each page divided by its users; 0 before Linux 5.9 */
	uint64_t whole_anon_bytes;        /* undivided */
	uint64_t shared_anon_bytes;       /* of whole_anon_bytes, that others use, too */
	bool knows_shared_anon; /* not if it has changed pages of files or shared memory, too */
	bool is_fresh;          /* read at this tick */
	bool is_current;        /* none of those that it shares pages with has changed since */
};

struct proc_sample {
	struct proc_id id;
	pid_t ppid;
	uint32_t uid; /* effective, as ps shows it */
	char state;   /* R S D Z T t I X, as /proc/PID/stat shows it */
	char comm[COMM_LEN];
	struct text_ref
		command; /* arguments joined by spaces; "[comm]" for kernel threads and zombies */
	struct proc_readings r;
	/* The same for all that descend from one run of a program, by fork alone; 0: not known. */
	uint64_t exec_id;
	uint64_t waited_cpu_ns; /* of the children that it waited for; 0: none, or not known */
	uint64_t anon_bytes;    /* the anonymous part of PROC_RSS; 0: none, or not known */
	uint64_t shmem_bytes;   /* shared memory in PROC_RSS; of processes of jobs; 0: as above */
	uint64_t mark_shmem_bytes; /* … when PROC_PEAK_RSS was read */
	struct proc_pss pss;       /* kept until its next turn */
};

/* The details that the engine asks for; the overhead budget leaves some out. */
enum sample_want {
	WANT_PSS = 1 << 0,
	WANT_FDS_IO = 1 << 1,
	WANT_SYSCALLS = 1 << 3, /* of traced processes that live: those that end report anyway */
	WANT_ALL = WANT_PSS | WANT_FDS_IO | WANT_SYSCALLS,
	WANT_LIMITS = 1 << 2, /* of processes of jobs: part of WANT_PSS, at a small cost */
};

/* The engine's request to the probes, which only read it. */
struct sample_request {
	unsigned want;             /* enum sample_want */
	VEC(struct proc_id) focus; /* processes of jobs: details are read for these first */
	bool focus_only;           /* no process outside the focus need be read */
	pid_t tree; /* with it: also the descendants of this process; 0: the focus is complete */
};

/* The lists of a sample, X(container, name): declared, reset and freed from this table (that of the request is not among them).
 *	procs     ascending by pid
 *	gpus      one that does not answer is listed without readings
 *	syscalls  of traced processes, since the last sample
 *	flights   of those that failed since: their last calls, in flight_calls */
#define SAMPLE_LISTS(X)                                                                            \
	X(VEC(struct proc_sample), procs)                                                          \
	X(VEC(struct gpu_sample), gpus)                                                            \
	X(VEC(struct gpu_use), gpu_uses)                                                           \
	X(VEC(struct event), events)                                                               \
	X(VEC(struct syscall_use), syscalls)                                                       \
	X(VEC(struct flight_piece), flights)                                                       \
	X(VEC(struct flight_call), flight_calls)

struct sample {
	struct sample_request request;

	/* Set before the probes are read. */
	uint64_t wall_ns, mono_ns, boot_ns;
	unsigned cpus;             /* that processes can run on at one moment; 0: not known */
	const struct sample *last; /* the one before, while the probes are read; NULL: none */

	/* Filled by probes. */
	char boot_id[37];
	struct host_readings host;
	struct cgroup_readings cgroup; /* the group this recorder lives in */
	struct cgroup_limit_groups limit_groups;
	bool procs_complete;           /* false: some are hidden from us or were not read */
	bool events_complete; /* a lifecycle source watched all the time and lost nothing */
	bool syscalls_lost;   /* some calls of traced processes were not counted */
	bool syscalls_are_open; /* some threads are, or have ended, in the call that they were traced in: its
	                         * time is missing */
	bool syscalls_are_slow; /* how they are counted makes them take longer */
	uint64_t aside_cpu_ns;  /* spent for it in other threads than the one that reads */
#define X(container, name) container name;
	SAMPLE_LISTS(X)
#undef X
	struct buf text; /* what text_refs point into */
};

void sample_reset(struct sample *s); /* empty, keeps the memory */
void sample_done(struct sample *s);
/* A zeroed slot, good until the next is added; NULL at the ceiling, where the list is no longer
 * complete. */
struct event *sample_add_event(struct sample *s, enum event_kind kind);
/* A copy of an event whose texts are those of this sample. */
void sample_put_event(struct sample *s, const struct event *event);
struct proc_sample *sample_add_proc(struct sample *s);
/* Sorts by pid if the probe did not find them in order, and leaves one of each: a pid is read twice
 * when it is listed for a process that ended and for its successor. */
void sample_sort_procs(struct sample *s);
struct proc_sample *sample_find_proc(const struct sample *s, pid_t pid);
/* Keeps a copy; an empty ref at the buffer's ceiling. */
struct text_ref sample_add_text(struct sample *s, const char *text, size_t len);
