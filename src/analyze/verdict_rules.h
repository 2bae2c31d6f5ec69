/* SPDX-License-Identifier: MIT */
/* verdict_rules.h - judges why a job ended as it did. A pure function of the facts; docs/verdicts.md describes the
 * rules. No verdict without evidence: UNKNOWN is better than wrong. A new cause is a row in model/verdict.h, a rule
 * in verdict_rule_list.h, and its line in the table of verdict_rules.c. */
#pragma once

#include "analyze/verdict_facts.h"

/* The verdict on a job that ended or was lost. */
void verdict_rules_judge(const struct job *job, const struct verdict_facts *f, struct verdict *ret);
