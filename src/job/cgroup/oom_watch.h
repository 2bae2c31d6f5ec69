/* SPDX-License-Identifier: MIT */
/* oom_watch.h - out-of-memory kills as any user can see them: the counter of a control group, or of the
 * machine where the group has none; and whose limit was reached. */
#pragma once

#include "kernel/cgroup_map.h"
#include "model/cause.h"

/* The limit that was reached. */
struct oom_limit {
	uint64_t bytes;
	char group[CAUSE_GROUP_MAX]; /* its path in the hierarchy */
};

#define OOM_AROUND_MAX 32

struct oom_watch {
	int root_fd;
	struct cgroup_dir group; /* for memory, of the process; path "": none */
	bool is_shared;          /* processes of others were in it: its kills may have hit those */
	pid_t around[OOM_AROUND_MAX]; /* in it, neither of the job nor of others */
	size_t n_around;
	bool is_of_machine;      /* the machine's counter is read: the group has none */
	bool is_known;           /* … and there is a counter */
	uint64_t last;           /* its value, */
	uint64_t turned;         /* that of up to one turn (1 s or more) ago, */
	uint64_t before;         /* and that of one turn before that */
	uint64_t turned_boot_ns; /* when `turned` was read */
};

/* Begins the watch, for the group of a process (0: ours). */
void oom_watch_begin(struct oom_watch *w, int root_fd, pid_t pid, uint64_t boot_ns);
/* Kills in the last 1 to 2 seconds, and half a second to one more per GiB of `memory_bytes`. The victim's end may be
 * reported that long after its kill: its memory has to be freed first. */
uint64_t oom_watch_read(struct oom_watch *w, uint64_t memory_bytes, uint64_t boot_ns);

/* The processes in the group and in those below, some of them if there are too many. */
size_t oom_watch_list(const struct oom_watch *w, pid_t *ret, size_t cap);

/* The nearest group, from that one upwards, that reached its limit. */
bool oom_watch_find_limit(const struct oom_watch *w, struct oom_limit *ret);
