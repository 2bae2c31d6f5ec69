/* SPDX-License-Identifier: MIT */
#include "analyze/verdict_evidence.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

void verdict_evidence_set_process(struct verdict *v, const struct verdict_death *d)
{
	if (!d)
		return;
	v->culprit.process = d->id;
	v->culprit.sheet = d->sheet;
	memcpy(v->culprit.name, d->name, sizeof v->culprit.name);
}

void verdict_evidence_add_end(struct verdict *v, enum evidence_kind kind,
                              const struct verdict_death *d)
{
	struct evidence *e = verdict_add(v, kind);

	e->at_ns = d->ended_ns;
	e->process = d->id;
	memcpy(e->name, d->name, sizeof e->name);
	e->has_exit_code = d->has_exit_code;
	e->core_dumped = d->core_dumped;
	e->exit_code = d->exit_code;
	e->signal = d->signal;
}

static bool has_end_of(const struct verdict *v, const struct verdict_death *d)
{
	for (size_t i = 0; i < v->n_evidence; i++)
		if (v->evidence[i].kind == EVIDENCE_PROCESS_END &&
		    proc_id_eq(v->evidence[i].process, d->id))
			return true;
	return false;
}

void verdict_evidence_add_ends(const struct verdict_context *c, struct verdict *v)
{
	const struct job *job = c->job;
	struct evidence *e;

	if (c->origin.first && c->origin.first != c->origin.command &&
	    !has_end_of(v, c->origin.first))
		verdict_evidence_add_end(v, EVIDENCE_PROCESS_END, c->origin.first);
	e = verdict_add(v, EVIDENCE_COMMAND_END);
	e->at_ns = job->ended_ns;
	e->process = c->command_id;
	if (c->origin.command)
		memcpy(e->name, c->origin.command->name, sizeof e->name);
	e->has_exit_code = job->has_exit_code;
	e->exit_code = job->exit_code;
	e->signal = job->signal;
	e->core_dumped = job->core_dumped;
}

void verdict_evidence_add_memory(const struct job *job, struct verdict *v)
{
	struct figure used = job->figures[JOB_FIGURE_PEAK_USED];
	struct evidence *e;

	if (!figure_is_known(used) || !job->allowed.memory_bytes)
		return;
	e = verdict_add(v, EVIDENCE_MEMORY_USED);
	e->value = used.value;
	e->of = job->allowed.memory_bytes;
	e->unit = UNIT_BYTES;
}

void verdict_evidence_add_sender(struct verdict *v, const struct verdict_event *s, const char *name)
{
	struct evidence *e = verdict_add(v, EVIDENCE_SENDER);

	e->at_ns = s->at_ns;
	e->process = s->id;
	e->signal = s->signal;
	e->sender_pid = s->sender_pid;
	e->sender_uid = s->sender_uid;
	snprintf(e->name, sizeof e->name, "%s", name);
	memcpy(e->sender, s->sender, sizeof e->sender);
}

struct evidence *verdict_evidence_add_text(struct verdict *v, enum evidence_kind kind,
                                           uint64_t at_ns, const char *text)
{
	struct evidence *e = verdict_add(v, kind);

	e->at_ns = at_ns;
	text_copy(e->text, sizeof e->text, text);
	return e;
}

void verdict_evidence_add_limit(struct verdict *v, uint64_t at_ns, const char *text, uint64_t value,
                                enum metric_unit unit)
{
	struct evidence *e = verdict_evidence_add_text(v, EVIDENCE_LIMIT, at_ns, text);

	e->value = value;
	e->unit = unit;
}

enum verdict_confidence verdict_evidence_confidence(const struct verdict_context *c, bool is_proven)
{
	return is_proven && !c->origin.is_inferred ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
}
