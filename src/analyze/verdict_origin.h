/* SPDX-License-Identifier: MIT */
/* verdict_origin.h - the process that failed first of those whose failures led to the job's: from the command down, by
 * what parents passed on of their children's ends, and by times. */
#pragma once

#include "analyze/verdict_facts.h"
#include "model/failure_owner.h"

struct verdict_origin {
	const struct verdict_death *command; /* NULL: not known, or it did not fail */
	const struct verdict_death *first;   /* the command, or what it failed of */
	bool is_inferred; /* that the command failed because of it: its status does not show it */
};

void verdict_origin_find(const struct verdict_facts *f, struct proc_id command,
                         struct verdict_origin *ret);
/* Whether the parent ended as its child did. */
bool verdict_origin_is_passed_on(const struct verdict_death *child,
                                 const struct verdict_death *parent);
/* The last such signal to the process; what others sent counts more than what it sent to itself. NULL: none is known. */
const struct verdict_event *verdict_origin_find_signal(const struct verdict_facts *f,
                                                       struct proc_id id, int signal);
/* Whether the name is in the list, which ends with NULL. */
bool verdict_origin_is_named(const char *name, const char *const *list);
extern const char *const verdict_timeouts[]; /* names of coreutils' timeout */
extern const char *const verdict_shells[];
