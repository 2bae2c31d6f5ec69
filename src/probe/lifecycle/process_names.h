/* SPDX-License-Identifier: MIT */
/* process_names.h - who a pid is, for events that give nothing but its number and come when the process may
 * be gone. What the last scan saw, and what was told born since. */
#pragma once

#include "base/map.h"
#include "model/sample.h"

struct known {
	struct proc_id id;
	uint32_t uid;
	bool is_threaded; /* has or had more than one thread */
	bool is_gone;
	char comm[COMM_LEN];
};

struct process_names {
	VEC(struct known) scanned; /* ascending by pid */
	VEC(struct known) born;
	struct map index; /* pid → place in born */
	uint64_t prev_scan_ticks, scan_ticks;
};

#define PROCESS_NAMES_BORN_MAX ((size_t)1 << 17)

void process_names_done(struct process_names *w);
/* After a scan. Those born before the scan preceding it are in it, or dead. */
void process_names_learn(struct process_names *w, const struct sample *s);
/* The process that had this pid last; NULL when it is not known. Valid until the next call of
 * another function. */
struct known *process_names_find(struct process_names *w, pid_t pid);
void process_names_put(struct process_names *w,
                       const struct known *k); /* at the ceiling it is not remembered */
void process_names_forget(struct process_names *w, pid_t pid);
