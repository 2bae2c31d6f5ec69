/* SPDX-License-Identifier: MIT */
/* process_names.h - which process has a pid, for events that give only its number and may come when
 * the process is gone: what the ticks found, and what events reported since. */
#pragma once

#include "model/process_slots.h"
#include "model/sample.h"

struct known {
	struct proc_id id;
	uint64_t changed_ns; /* boot clock: of the last event about it; 0: none */
	uint64_t named_ns;   /* boot clock: comm was its name then */
	uint32_t uid;
	bool is_gone;
	char comm[COMM_LEN];
};

struct process_names {
	struct process_slots slots; /* struct known by pid */
};

void process_names_init(struct process_names *n);
void process_names_done(struct process_names *n);
/* After a tick: takes over what it found, unless an event since then knows better. */
void process_names_learn(struct process_names *n, const struct sample *s);
/* The process that has this pid, or had it last; NULL when it is not known. */
struct known *process_names_find(const struct process_names *n, pid_t pid);
void process_names_put(struct process_names *n, const struct known *k);
void process_names_forget(struct process_names *n, pid_t pid, uint64_t boot_ns);
