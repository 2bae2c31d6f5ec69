/* SPDX-License-Identifier: MIT */
/* lifecycle.h - what tests of the lifecycle probe share: children, and waiting for what is told of
 * them. */
#pragma once

#include "base/clock.h"
#include "kernel.h"

#define PATIENCE_NS (20 * NS_PER_S) /* a loaded machine is slow */

static inline int live_setup(void **state)
{
	*state = live_open(&probe_lifecycle_bpf);
	return 0;
}

static inline int live_teardown(void **state)
{
	if (*state)
		live_close(*state);
	return 0;
}

/* Who that pid is: on a busy machine it may have belonged to others before, or belong to others
 * now. */
static inline struct proc_id id_of(const struct live *live, pid_t pid)
{
	struct proc_id id = { .pid = pid };

	vec_each(&live->out.events, e)
		if (e->kind == EVENT_SPAWN && e->id.pid == pid &&
		    (e->ppid == getpid() || !id.start_ticks))
			id = e->id;
	return id;
}

static inline bool is_about(const struct event *e, enum event_kind kind, struct proc_id id)
{
	return e->kind == kind && e->id.pid == id.pid &&
	       (!id.start_ticks || e->id.start_ticks == id.start_ticks);
}

static inline const struct event *find(const struct live *live, enum event_kind kind, pid_t pid)
{
	struct proc_id id = id_of(live, pid);

	vec_each(&live->out.events, e)
		if (is_about(e, kind, id))
			return e;
	return NULL;
}

static inline size_t count(const struct live *live, enum event_kind kind, pid_t pid)
{
	struct proc_id id = id_of(live, pid);
	size_t n = 0;

	vec_each(&live->out.events, e)
		n += is_about(e, kind, id);
	return n;
}

/* Reads until the event has come, NULL when it does not. */
static inline const struct event *wait_for(struct live *live, enum event_kind kind, pid_t pid)
{
	uint64_t give_up = clock_mono_ns() + PATIENCE_NS;
	const struct event *e;

	while (live_read(live), !(e = find(live, kind, pid)) && clock_mono_ns() < give_up)
		usleep(5000);
	return e;
}

/* For the compiler, which does not know that a failed check never returns. */
static const struct event nothing = { .kind = EVENT_KIND_COUNT };

/* What has been told already. */
static inline const struct event *told(const struct live *live, enum event_kind kind, pid_t pid)
{
	const struct event *e = find(live, kind, pid);

	if (e)
		return e;
	fail_msg("no %s event of pid %d%s", event_name(kind), pid,
	         live->out.events_complete ? "" : ", and events were lost");
	return &nothing;
}

/* Pointers into the sample are good until the next read. */
static inline const struct event *await(struct live *live, enum event_kind kind, pid_t pid)
{
	wait_for(live, kind, pid);
	return told(live, kind, pid);
}

static inline int exec_true(void *arg)
{
	(void)arg;
	execl("/bin/true", "true", "one argument", "a\nline", (char *)NULL);
	return 127;
}

static inline int exit_with(void *code)
{
	return *(int *)code;
}

#define LIVE(name) cmocka_unit_test_setup_teardown(name, live_setup, live_teardown)
