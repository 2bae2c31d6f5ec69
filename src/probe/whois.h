/* SPDX-License-Identifier: MIT */
/* whois.h - who a pid is, for events that give nothing but its number and come when the process may
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

struct whois {
	VEC(struct known) scanned; /* ascending by pid */
	VEC(struct known) born;
	struct map index; /* pid → place in born */
	uint64_t prev_scan_ticks, scan_ticks;
};

#define WHOIS_BORN_MAX ((size_t)1 << 17)

void whois_done(struct whois *w);
/* After a scan. Those born before the scan preceding it are in it, or dead. */
void whois_learn(struct whois *w, const struct sample *s);
/* The process that had this pid last; NULL when it is not known. Valid until the next call of
 * another function. */
struct known *whois_find(struct whois *w, pid_t pid);
void whois_put(struct whois *w, const struct known *k); /* at the ceiling it is not remembered */
void whois_forget(struct whois *w, pid_t pid);
