/* SPDX-License-Identifier: MIT */
/* kit.h - samples made by hand, for tests of what is derived from them. */
#pragma once

#include <string.h>

#include "model/snapshot.h"

#define T0_NS (1000 * NS_PER_S) /* boot clock of the first sample */
#define WALL0_NS (UINT64_C(1700000000) * NS_PER_S)

/* An empty sample, so many ns after the first one on every clock; complete in all respects. */
static inline struct sample kit_sample(uint64_t after_ns)
{
	return (struct sample){
		.wall_ns = WALL0_NS + after_ns,
		.mono_ns = T0_NS + after_ns,
		.boot_ns = T0_NS + after_ns,
		.procs_complete = true,
		.events_complete = true,
	};
}

/* Began so many ticks after boot (T0_NS is tick 100,000). */
static inline struct proc_sample *kit_proc(struct sample *s, pid_t pid, uint64_t start_ticks)
{
	struct proc_sample *p = sample_add_proc(s);

	p->id = (struct proc_id){ .pid = pid, .start_ticks = start_ticks };
	p->ppid = 1;
	p->state = 'S';
	memcpy(p->comm, "worker", sizeof "worker");
	p->command = sample_add_text(s, "worker --fast", strlen("worker --fast"));
	return p;
}

static inline struct proc_sample *kit_proc_cpu(struct sample *s, pid_t pid, uint64_t start_ticks,
                                               uint64_t cpu_ns)
{
	struct proc_sample *p = kit_proc(s, pid, start_ticks);

	readings_set(&p->r, PROC_CPU_TIME, cpu_ns);
	return p;
}

static inline void kit_build(const struct sample *prev, const struct sample *cur,
                             struct snapshot *ret)
{
	struct jobtab none = { 0 };

	snapshot_build(prev, cur, &none,
	               &(struct snapshot_origin){ .seq = 2, .started_boot_ns = T0_NS, .pid = 77 },
	               ret);
}

/* How many events of this kind, and the last of them. */
static inline size_t kit_events(const struct snapshot *snap, enum event_kind kind,
                                struct event *ret)
{
	size_t n = 0;

	vec_each(&snap->events, e) {
		if (e->kind != kind)
			continue;
		*ret = *e;
		n++;
	}
	return n;
}
