/* SPDX-License-Identifier: MIT */
/* verdict_rule_list.h - the rules in the table of verdict_rules.c, each for one cause or a few that are alike. False: it
 * is another cause. */
#pragma once

#include "analyze/verdict_evidence.h"

/* verdict_rule_outside.c: a limit, or another process, ended the job. */
bool verdict_rule_oom(const struct verdict_context *c, struct verdict *v);
bool verdict_rule_hung(const struct verdict_context *c, struct verdict *v);
bool verdict_rule_time_limit(const struct verdict_context *c, struct verdict *v);
bool verdict_rule_timeout_within(const struct verdict_context *c, struct verdict *v);
bool verdict_rule_sent(const struct verdict_context *c, struct verdict *v);

/* verdict_rule_program.c: the program itself failed. */
bool verdict_rule_unstarted(const struct verdict_context *c, struct verdict *v);
bool verdict_rule_fault(const struct verdict_context *c, struct verdict *v);
bool verdict_rule_status(const struct verdict_context *c, struct verdict *v);

/* verdict_rule_shortage.c: something ran out. An error of a system call proves it, the state at the end makes it likely. */
bool verdict_rule_failed_call(const struct verdict_context *c, struct verdict *v);
bool verdict_rule_out_of_tasks(const struct verdict_context *c, struct verdict *v);
bool verdict_rule_out_of_files(const struct verdict_context *c, struct verdict *v);
bool verdict_rule_disk(const struct verdict_context *c, struct verdict *v);
bool verdict_rule_gpu_fault(const struct verdict_context *c, struct verdict *v);
bool verdict_rule_out_of_gpu_memory(const struct verdict_context *c, struct verdict *v);
