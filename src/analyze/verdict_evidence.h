/* SPDX-License-Identifier: MIT */
/* verdict_evidence.h - what a rule of the verdict is given, and the evidence that it adds. */
#pragma once

#include "analyze/verdict_origin.h"

struct verdict_context {
	const struct verdict_facts *f;
	const struct job *job;
	struct proc_id command_id;
	struct verdict_origin origin;
};

/* The process is the culprit. NULL: none is known. */
void verdict_evidence_set_process(struct verdict *v, const struct verdict_death *d);
void verdict_evidence_add_end(struct verdict *v, enum evidence_kind kind,
                              const struct verdict_death *d);
/* The end of the process that failed first, unless it was added before, and that of the command. */
void verdict_evidence_add_ends(const struct verdict_context *c, struct verdict *v);
/* The memory in use of what was allowed, if both are known. */
void verdict_evidence_add_memory(const struct job *job, struct verdict *v);
/* `name` is that of the process which received the signal. */
void verdict_evidence_add_sender(struct verdict *v, const struct verdict_event *s,
                                 const char *name);
struct evidence *verdict_evidence_add_text(struct verdict *v, enum evidence_kind kind,
                                           uint64_t at_ns, const char *text);
void verdict_evidence_add_limit(struct verdict *v, uint64_t at_ns, const char *text, uint64_t value,
                                enum metric_unit unit);
/* High only if it is proven, and that the command failed of it, too. */
enum verdict_confidence verdict_evidence_confidence(const struct verdict_context *c,
                                                    bool is_proven);
