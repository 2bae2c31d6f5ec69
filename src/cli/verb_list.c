/* SPDX-License-Identifier: MIT */
#include "cli/verb_list.h"

#include <string.h>

/* clang-format off */
#define VERB_GROUPS(GROUP, X)                                                                      \
	GROUP("run and record", X(run) X(record))                                                  \
	GROUP("look back",      X(ls) X(report) X(why) X(events) X(diff) X(export) X(summary) X(sql)      \
	                        X(rm))                                                     \
	GROUP("learn",          X(insights) X(estimate) X(import) X(backtest))                     \
	GROUP("live",           X(top) X(snapshot) X(status) X(pressure) X(syscalls) X(trace))     \
	GROUP("inside a job",   X(sheet) X(mark) X(phase))                                         \
	GROUP("the machine",    X(daemon) X(doctor))
/* Not in any help: what our own processes, shells and the build call. */
#define INTERNAL_VERBS(X) X(gpu_helper) X(top_host) X(complete) X(describe)

#define GROUP(title, verbs) verbs
#define X(name) extern const struct verb verb_##name;
VERB_GROUPS(GROUP, X) INTERNAL_VERBS(X)
#undef X
#define X(name) &verb_##name,
const struct verb *const verb_list[] = { VERB_GROUPS(GROUP, X) NULL };
static const struct verb *const internal_verbs[] = { INTERNAL_VERBS(X) NULL };
#undef GROUP
#define GROUP(title, verbs) { title, { verbs } },
const struct verb_group verb_groups[] = { VERB_GROUPS(GROUP, X) { NULL } };
#undef X
#undef GROUP
/* clang-format on */

static const struct verb *find(const struct verb *const *list, const char *name)
{
	while (*list && strcmp((*list)->name, name) != 0)
		list++;
	return *list;
}

const struct verb *verb_find(const char *name)
{
	const struct verb *verb = find(verb_list, name);

	return verb ? verb : find(internal_verbs, name);
}
