/* SPDX-License-Identifier: MIT */
#include "analyze/verdict_rule_list.h"

#include <signal.h>
#include <string.h>

#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND 127

/* The launcher's own status, or that of a shell within the job. */
bool verdict_rule_unstarted(const struct verdict_context *c, struct verdict *v)
{
	static const char *const starters[] = { "env", "xargs", NULL };
	struct figure processes = c->job->figures[JOB_FIGURE_PROCESSES];
	bool never_ran = figure_is_known(processes) && !processes.value;
	int status = never_ran         ? c->job->exit_code
	             : c->origin.first ? c->origin.first->exit_code
	                               : 0;

	if (status != STATUS_NOT_FOUND && status != STATUS_NOT_EXECUTABLE)
		return false;
	if (!never_ran && !verdict_origin_is_named(c->origin.first->name, verdict_shells) &&
	    !verdict_origin_is_named(c->origin.first->name, starters))
		return false;
	v->code = status == STATUS_NOT_FOUND ? VERDICT_NOT_FOUND : VERDICT_NOT_EXECUTABLE;
	v->confidence = never_ran ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
	verdict_evidence_set_process(v, c->origin.first);
	verdict_evidence_add_ends(c, v);
	return true;
}

/* The kernel sends these in the name of the process itself. */
static bool is_by_kernel(int signal)
{
	return signal == SIGPIPE || signal == SIGXFSZ;
}

/* A fault that the process had a handler for, which ended it. 0: there was none. */
static int handled_fault(const struct verdict_facts *f, const struct verdict_death *d)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE };

	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		const struct verdict_event *s = verdict_origin_find_signal(f, d->id, faults[i]);

		if (s && s->has_sender && s->sender_pid == 0 && s->at_ns <= d->ended_ns &&
		    d->ended_ns - s->at_ns <= NS_PER_S)
			return faults[i];
	}
	return 0;
}

/* Where the sender of a signal is not known: the kernel sends SIGKILL to a process that has used up its CPU time. */
static const struct verdict_event *find_cpu_limit(const struct verdict_context *c)
{
	vec_each(&c->f->events, s)
		if (s->kind == EVENT_LIMIT && strcmp(s->name, EVENT_FOR_CPU_LIMIT) == 0 &&
		    c->origin.first == c->origin.command)
			return s;
	return NULL;
}

bool verdict_rule_fault(const struct verdict_context *c, struct verdict *v)
{
	static const struct {
		int signal;
		enum verdict_code code;
		bool is_sure; /* without its sender: other processes rarely send it */
	} faults[] = {
		{ SIGSEGV, VERDICT_SEGFAULT, false },
		{ SIGABRT, VERDICT_ABORT, false },
		{ SIGBUS, VERDICT_BUS_ERROR, false },
		{ SIGILL, VERDICT_ILLEGAL_INSTRUCTION, false },
		{ SIGFPE, VERDICT_ARITHMETIC_ERROR, false },
		{ SIGPIPE, VERDICT_BROKEN_PIPE, true },
		{ SIGXCPU, VERDICT_RLIMIT_CPU, true },
		{ SIGXFSZ, VERDICT_RLIMIT_FSIZE, true },
	};
	const struct verdict_death *d = c->origin.first;
	int signal = d ? d->signal ? d->signal : handled_fault(c->f, d) : 0;
	const struct verdict_event *s = signal ? verdict_origin_find_signal(c->f, d->id, signal)
	                                       : NULL;
	const struct verdict_event *limit = signal == SIGKILL && !s ? find_cpu_limit(c) : NULL;
	bool is_sure = s && s->has_sender && strcmp(s->name, EVENT_FOR_PROTECTED) != 0;

	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		if (faults[i].signal == signal) {
			v->code = faults[i].code;
			v->confidence = verdict_evidence_confidence(
				c, (is_sure || faults[i].is_sure) && d->signal);
		}
	if (s && s->has_sender && s->sender_pid == d->id.pid && !is_by_kernel(signal)) {
		v->code = VERDICT_ABORT; /* whatever signal it chose */
		v->confidence = verdict_evidence_confidence(c, true);
		verdict_evidence_add_sender(v, s, d->name);
	}
	if (s && strcmp(s->name, EVENT_FOR_STACK) == 0) {
		v->code = VERDICT_STACK_OVERFLOW;
		verdict_evidence_add_end(v, EVIDENCE_STACK, d);
	} else if (s && strcmp(s->name, EVENT_FOR_CPU_LIMIT) == 0) {
		v->code = VERDICT_RLIMIT_CPU;
		v->confidence = verdict_evidence_confidence(c, true);
		verdict_evidence_add_end(v, EVIDENCE_CPU_LIMIT, d);
	}
	if (limit) {
		v->code = VERDICT_RLIMIT_CPU;
		v->confidence = CONFIDENCE_MEDIUM;
		verdict_evidence_add_limit(v, 0, "ulimit -t", (uint64_t)limit->count, UNIT_NS);
	}
	if (v->code == VERDICT_UNKNOWN)
		return false;
	verdict_evidence_set_process(v, d);
	verdict_evidence_add_ends(c, v);
	return true;
}

bool verdict_rule_status(const struct verdict_context *c, struct verdict *v)
{
	const struct verdict_death *d = c->origin.first;

	if (!c->job->has_exit_code || !c->job->exit_code || (d && d->signal))
		return false;
	v->code = VERDICT_EXIT_NONZERO;
	/* Else something may have run out, or it failed of something else than its child. */
	v->confidence = verdict_evidence_confidence(c, c->f->has_calls && d == c->origin.command);
	verdict_evidence_set_process(v, d);
	verdict_evidence_add_ends(c, v);
	return true;
}
