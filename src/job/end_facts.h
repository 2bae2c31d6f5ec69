/* SPDX-License-Identifier: MIT */
/* end_facts.h - what the events of a job show about how it died: the signals that its command received,
 * and the processes that were killed. cause.h draws the conclusion. */
#pragma once

#include "model/cause.h"
#include "model/event.h"

#define END_FACTS_SIGNALS 8
#define END_FACTS_KILLED 16

struct end_facts {
	struct proc_id command;                      /* pid 0: not known */
	struct cause_signal sent[END_FACTS_SIGNALS]; /* to the command, the last of each number */
	size_t n_sent;
	struct proc_id killed[END_FACTS_KILLED]; /* the first that died of SIGKILL … */
	uint64_t kills;                          /* … and their number */
	uint64_t known_kills;                    /* SIGKILLs that a known process sent */
	uint64_t last_kill_ns, command_end_ns;   /* on the boot clock; 0: not seen */
	uint64_t ooms;
	bool lost; /* events were lost */
};

/* An event of the job's, or of none. */
void end_facts_take(struct end_facts *f, const struct event *e);
/* Without what is not in the events. */
void end_facts_summarize(const struct end_facts *f, struct cause_facts *ret);
