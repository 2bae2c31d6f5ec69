/* SPDX-License-Identifier: MIT */
#include "model/failure_owner.h"

#include <string.h>

#include "model/own_process.h"

#define PROGRAMS_MAX ((size_t)1 << 20)

/* How a program of ours ended. */
enum {
	RUNS_OR_SUCCEEDED,
	FAILED = 1 << 0, /* and was counted */
	SIGNALLED = 1 << 1,
	PASSED_ON = 1 << 2, /* a child of it failed: its own end is not counted */
};

bool failure_end_is_passed_on(struct failure_end child, struct failure_end parent)
{
	if (child.signal)
		return parent.signal == child.signal ||
		       (parent.has_exit_code && parent.exit_code == SHELL_SIGNALLED + child.signal);
	return parent.has_exit_code && parent.exit_code == child.exit_code;
}

static void forget(struct failure_owner *f, pid_t pid)
{
	uint64_t key;

	if (!map_get(&f->latest, (uint64_t)pid, &key))
		return;
	map_del(&f->latest, (uint64_t)pid);
	map_del(&f->ends, key);
}

void failure_owner_exec(struct failure_owner *f, struct proc_id id, const char *comm)
{
	if (strcmp(comm, OURS_NAME) != 0) {
		forget(f, id.pid);
	} else if (f->ends.len < PROGRAMS_MAX) {
		map_put(&f->latest, (uint64_t)id.pid, proc_key(id));
		map_put(&f->ends, proc_key(id), RUNS_OR_SUCCEEDED);
	}
}

void failure_owner_birth(struct failure_owner *f, pid_t pid, pid_t ppid)
{
	uint64_t key;

	forget(f, pid);
	if (map_get(&f->latest, (uint64_t)ppid, &key) && f->parents.len < PROGRAMS_MAX)
		map_put(&f->parents, (uint64_t)pid, (uint64_t)ppid);
	else
		map_del(&f->parents, (uint64_t)pid);
}

pid_t failure_owner_parent(const struct failure_owner *f, pid_t pid)
{
	uint64_t parent;

	return map_get(&f->parents, (uint64_t)pid, &parent) ? (pid_t)parent : 0;
}

static uint64_t pass_on(struct failure_owner *f, pid_t parent)
{
	uint64_t key, end = RUNS_OR_SUCCEEDED;

	if (!map_get(&f->latest, (uint64_t)parent, &key))
		return end;
	(void)map_get(&f->ends, key, &end);
	map_put(&f->ends, key, PASSED_ON);
	return end;
}

struct failure_change failure_owner_end(struct failure_owner *f, pid_t pid, pid_t ppid, bool failed,
                                        bool signalled)
{
	uint64_t key, parent_end, end = RUNS_OR_SUCCEEDED;

	if (!failed && !signalled)
		return (struct failure_change){ 0 };
	parent_end = pass_on(f, ppid);
	if (map_get(&f->latest, (uint64_t)pid, &key)) {
		(void)map_get(&f->ends, key, &end);
		if (end != PASSED_ON)
			map_put(&f->ends, key, (failed ? FAILED : 0) | (signalled ? SIGNALLED : 0));
	}
	return (struct failure_change){ .counts = end != PASSED_ON,
		                        .parent_failed = parent_end & FAILED,
		                        .parent_signalled = parent_end & SIGNALLED };
}

bool failure_owner_is_passed_on(const struct failure_owner *f, struct proc_id id)
{
	uint64_t end;

	return map_get(&f->ends, proc_key(id), &end) && end == PASSED_ON;
}

void failure_owner_done(struct failure_owner *f)
{
	map_done(&f->latest);
	map_done(&f->ends);
	map_done(&f->parents);
}
