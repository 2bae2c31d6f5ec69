/* SPDX-License-Identifier: MIT */
#include "analyze/verdict_rules.h"

#include "analyze/verdict_rule_list.h"

#define REBOOT_WITHIN_NS (UINT64_C(900) * NS_PER_S)

static bool is_lost(const struct verdict_context *c, struct verdict *v)
{
	if (c->job->status != JOB_LOST)
		return false;
	v->confidence = CONFIDENCE_HIGH;
	if (c->job->parent_limits_hit >> JOB_LIMIT_TIME & 1) {
		v->code = VERDICT_TIME_LIMIT;
		verdict_evidence_add_text(v, EVIDENCE_LIMIT, 0, "time limit of the job around it");
	} else if (c->job->parent_limits_hit >> JOB_LIMIT_MEM & 1) {
		v->code = VERDICT_OOM_OUTER_LIMIT;
		verdict_evidence_add_text(v, EVIDENCE_LIMIT, 0,
		                          "memory limit of the job around it");
	} else if (c->f->is_other_boot) {
		v->code = VERDICT_MACHINE_LOST;
		/* If it was up for long after the last sign of the job, the recorder may have died before. */
		if (c->f->booted_ns > c->job->ended_ns + REBOOT_WITHIN_NS)
			v->confidence = CONFIDENCE_MEDIUM;
		verdict_add(v, EVIDENCE_RECORDER)->at_ns = c->job->ended_ns;
		verdict_add(v, EVIDENCE_BOOT)->at_ns = c->f->booted_ns;
	} else {
		v->code = VERDICT_RECORDER_LOST;
		verdict_add(v, EVIDENCE_RECORDER)->at_ns = c->job->ended_ns;
	}
	return true;
}

static bool is_ok(const struct verdict_context *c, struct verdict *v)
{
	if (c->job->status != JOB_COMPLETED)
		return false;
	v->code = VERDICT_OK;
	v->confidence = CONFIDENCE_HIGH;
	return true;
}

static bool is_unknown(const struct verdict_context *c, struct verdict *v)
{
	v->code = VERDICT_UNKNOWN;
	v->confidence = CONFIDENCE_LOW;
	verdict_evidence_set_process(v, c->origin.first);
	verdict_evidence_add_ends(c, v);
	verdict_evidence_add_memory(c->job, v);
	return true;
}

/* The first that holds. What is proven comes before what is likely, and what a limit or another process did before
 * what the program did. */
static bool (*const rules[])(const struct verdict_context *c, struct verdict *v) = {
	is_lost,
	is_ok,
	verdict_rule_oom,
	verdict_rule_hung,
	verdict_rule_time_limit,
	verdict_rule_timeout_within,
	verdict_rule_sent,
	verdict_rule_unstarted,
	verdict_rule_gpu_fault,
	verdict_rule_fault,
	verdict_rule_failed_call,
	verdict_rule_out_of_tasks,
	verdict_rule_out_of_files,
	verdict_rule_disk,
	verdict_rule_out_of_gpu_memory,
	verdict_rule_status,
	is_unknown,
};

void verdict_rules_judge(const struct job *job, const struct verdict_facts *f, struct verdict *ret)
{
	struct verdict_context c = { .f = f,
		                     .job = job,
		                     .command_id = job->root.pid ? job->root : f->first };

	verdict_origin_find(f, c.command_id, &c.origin);
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		*ret = (struct verdict){ 0 };
		if (rules[i](&c, ret))
			return;
	}
}
