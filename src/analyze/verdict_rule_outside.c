/* SPDX-License-Identifier: MIT */
#include "analyze/verdict_rule_list.h"

#include <signal.h>
#include <string.h>

#define STATUS_TIMEOUT 124                /* of coreutils' timeout */
#define STOPPED_WITHIN_NS (20 * NS_PER_S) /* from SIGTERM, which may wake it, to its end */
#define VICTIM_EXPLAINS_NS (2 * NS_PER_S) /* a job that goes on for longer may fail of something else */
#define HANDLED_WITHIN_NS                                                                          \
	(10 * NS_PER_S) /* a program that handles a signal ends within this time */

bool verdict_rule_time_limit(const struct verdict_context *c, struct verdict *v)
{
	const struct job *job = c->job;

	if (!(job->limits_hit >> JOB_LIMIT_TIME & 1))
		return false;
	v->code = VERDICT_TIME_LIMIT;
	v->confidence = CONFIDENCE_HIGH;
	verdict_evidence_add_limit(v, job->started_ns + job->limit[JOB_LIMIT_TIME], "--time",
	                           job->limit[JOB_LIMIT_TIME], UNIT_NS);
	verdict_evidence_add_ends(c, v);
	return true;
}

/* The victim: as the kernel reported it, else the process that died of SIGKILL last. */
static const struct verdict_death *find_victim(const struct verdict_context *c, uint64_t *ret_at_ns)
{
	const struct verdict_death *found = NULL;
	struct proc_id chosen = { 0 };

	vec_each(&c->f->events, s)
		if (s->kind == EVENT_OOM) {
			chosen = s->id;
			*ret_at_ns = s->at_ns;
		}
	vec_each(&c->f->deaths, d)
		if (d->signal == SIGKILL && (!chosen.pid || proc_id_eq(d->id, chosen)))
			found = d;
	return found;
}

static bool did_end_the_job(const struct verdict_context *c, const struct verdict_death *victim)
{
	const struct verdict_death *command = c->origin.command;

	return !victim || !command || (victim == c->origin.first && !c->origin.is_inferred) ||
	       command->ended_ns <= victim->ended_ns + VICTIM_EXPLAINS_NS;
}

static void add_oom(const struct verdict_context *c, struct verdict *v)
{
	static const char *const counters[CAUSE_SOURCE_COUNT] = {
		[CAUSE_SOURCE_DAEMON] = "seen by the daemon",
		[CAUSE_SOURCE_CGROUP] = "oom_kill of the control group",
		[CAUSE_SOURCE_VMSTAT] = "oom_kill of the machine (vmstat)",
		[CAUSE_SOURCE_LIMIT] = "a control group was at its limit",
	};
	const struct cause *cause = &c->job->cause;
	uint64_t at_ns = 0;
	const struct verdict_death *victim = find_victim(c, &at_ns);

	if (!did_end_the_job(c, victim))
		v->confidence = CONFIDENCE_MEDIUM;
	verdict_evidence_set_process(v, victim);
	if (at_ns && victim) {
		verdict_evidence_add_end(v, EVIDENCE_OOM_KILL, victim);
		v->evidence[v->n_evidence - 1].at_ns = at_ns;
	} else if (victim) {
		verdict_evidence_add_end(v, EVIDENCE_PROCESS_END, victim);
	}
	if (cause->oom_source < CAUSE_SOURCE_COUNT && counters[cause->oom_source])
		verdict_evidence_add_text(v,
		                          cause->oom == CAUSE_PROOF_PROVEN ? EVIDENCE_OOM_COUNT
		                                                           : EVIDENCE_OOM_LIKELY,
		                          0, counters[cause->oom_source]);
}

bool verdict_rule_oom(const struct verdict_context *c, struct verdict *v)
{
	const struct job *job = c->job;
	bool is_own = job->limits_hit >> JOB_LIMIT_MEM & 1;

	if (!job_is_oom(job))
		return false;
	v->code = is_own ? VERDICT_OOM_OWN_LIMIT
	          : job->cause.oom_limit_bytes || *job->cause.oom_group ||
	                          job->parent_limits_hit >> JOB_LIMIT_MEM & 1
	                  ? VERDICT_OOM_OUTER_LIMIT
	          : strcmp(job->allowed.memory_source, ALLOWANCE_MACHINE) == 0
	                  ? VERDICT_OOM_MACHINE
	                  : VERDICT_OOM_OUTER_LIMIT;
	v->confidence = is_own || job->cause.oom == CAUSE_PROOF_PROVEN ? CONFIDENCE_HIGH
	                                                               : CONFIDENCE_MEDIUM;
	add_oom(c, v);
	if (is_own)
		verdict_evidence_add_limit(v, 0, "--mem", job->limit[JOB_LIMIT_MEM], UNIT_BYTES);
	else if (job->cause.oom_limit_bytes)
		verdict_evidence_add_limit(v, 0, job->cause.oom_group, job->cause.oom_limit_bytes,
		                           UNIT_BYTES);
	verdict_evidence_add_memory(job, v);
	verdict_evidence_add_ends(c, v);
	return true;
}

/* Signals that a process sends to itself to end; other signals report a fault of its own. */
static bool is_command_to_end(int signal)
{
	return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
	       signal == SIGQUIT;
}

/* Signals that another process, a terminal or the kernel sent to the process that failed first. One that it handled
 * counts if it ended soon after. */
static const struct verdict_event *find_reason(const struct verdict_context *c, bool *ret_handled)
{
	const struct verdict_death *d = c->origin.first;
	const struct verdict_event *found = NULL;

	*ret_handled = false;
	if (!d)
		return NULL;
	if (d->signal)
		return verdict_origin_find_signal(c->f, d->id, d->signal);
	vec_each(&c->f->events, s)
		if (s->kind == EVENT_SIGNAL && proc_id_eq(s->id, d->id) &&
		    s->sender_pid != d->id.pid && s->has_sender && is_command_to_end(s->signal) &&
		    s->at_ns <= d->ended_ns && d->ended_ns - s->at_ns <= HANDLED_WITHIN_NS)
			found = s;
	*ret_handled = found != NULL;
	return found;
}

/* timeout passes on the status of a command that ended in time. */
static bool has_child_with_status(const struct verdict_facts *f, pid_t parent, int status)
{
	vec_each(&f->deaths, d)
		if (d->ppid == parent && d->has_exit_code && d->exit_code == status)
			return true;
	return false;
}

/* By its status; or, as it ends where it had to send SIGKILL, by the same signal to itself. */
static bool is_timeout_end(const struct verdict_facts *f, const struct verdict_death *d)
{
	const struct verdict_event *s;

	if (!verdict_origin_is_named(d->name, verdict_timeouts))
		return false;
	if (d->signal != SIGKILL)
		return d->exit_code == STATUS_TIMEOUT &&
		       !has_child_with_status(f, d->id.pid, STATUS_TIMEOUT);
	s = verdict_origin_find_signal(f, d->id, SIGKILL);
	return s && s->has_sender && s->sender_pid == d->id.pid;
}

/* timeout is within the job, and its end shows what it did. */
bool verdict_rule_timeout_within(const struct verdict_context *c, struct verdict *v)
{
	const struct verdict_death *found = NULL;

	vec_each(&c->f->deaths, d)
		if (is_timeout_end(c->f, d) &&
		    (d == c->origin.command ||
		     (c->origin.command && verdict_origin_is_passed_on(d, c->origin.command)) ||
		     (c->origin.first && d->id.pid == c->origin.first->ppid) ||
		     d == c->origin.first))
			found = d;
	if (!found)
		return false;
	v->code = VERDICT_TIMEOUT_COMMAND;
	v->confidence = found == c->origin.command ||
	                                (c->origin.command &&
	                                 verdict_origin_is_passed_on(found, c->origin.command))
	                        ? CONFIDENCE_HIGH
	                        : CONFIDENCE_MEDIUM;
	verdict_evidence_set_process(v, found);
	if (found != c->origin.command)
		verdict_evidence_add_end(v, EVIDENCE_PROCESS_END, found);
	verdict_evidence_add_ends(c, v);
	return true;
}

bool verdict_rule_sent(const struct verdict_context *c, struct verdict *v)
{
	static const char *const memory_daemons[] = { "systemd-oomd", "earlyoom", "nohang", "oomd",
		                                      NULL };
	const struct verdict_death *d = c->origin.first;
	bool is_handled, is_terminal, is_passed_on;
	const struct verdict_event *s = find_reason(c, &is_handled);

	if (!s || !s->has_sender || s->sender_pid == d->id.pid)
		return false;
	is_terminal = s->sender_pid == 0 && (s->signal == SIGINT || s->signal == SIGQUIT);
	if (s->sender_pid == 0 && !is_terminal && s->signal != SIGHUP)
		return false;
	/* A shell whose terminal is closed sends SIGHUP to its jobs; but a person may have typed kill -HUP there. */
	is_passed_on = s->sender_pid && s->signal == SIGHUP &&
	               verdict_origin_is_named(s->sender, verdict_shells);
	v->code = is_terminal                          ? VERDICT_TERMINAL_INTERRUPT
	          : s->sender_pid == 0 || is_passed_on ? VERDICT_TERMINAL_HANGUP
	          : verdict_origin_is_named(s->sender, verdict_timeouts) ? VERDICT_TIMEOUT_COMMAND
	          : verdict_origin_is_named(s->sender, memory_daemons)   ? VERDICT_OOM_DAEMON
	                                                               : VERDICT_KILLED_BY_PROCESS;
	v->confidence = verdict_evidence_confidence(
		c, !is_passed_on && (!is_handled || d->exit_code == SHELL_SIGNALLED + s->signal ||
	                             is_terminal));
	verdict_evidence_set_process(v, d);
	verdict_evidence_add_sender(v, s, d->name);
	verdict_evidence_add_ends(c, v);
	return true;
}

static const struct verdict_death *find_death(const struct verdict_facts *f, struct proc_id id)
{
	vec_each(&f->deaths, d)
		if (proc_id_eq(d->id, id))
			return d;
	return NULL;
}

/* Whatever stopped it, a limit or a person: that it did not go on is the cause. A job that went on is another matter. */
bool verdict_rule_hung(const struct verdict_context *c, struct verdict *v)
{
	const struct verdict_stall *stall = &c->f->stall;
	bool lasted = stall->began_ns &&
	              (!stall->ended_ns || stall->ended_ns + STOPPED_WITHIN_NS >= c->job->ended_ns);

	if (!lasted || (!verdict_rule_time_limit(c, v) && !verdict_rule_timeout_within(c, v) &&
	                !verdict_rule_sent(c, v)))
		return false;
	v->code = VERDICT_HUNG;
	v->confidence = stall->severity >= SEVERITY_HIGH ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
	v->culprit.process = stall->id;
	v->culprit.sheet = stall->sheet;
	v->culprit.name[0] = '\0';
	verdict_evidence_set_process(v, find_death(c->f, stall->id));
	verdict_evidence_add_text(v, EVIDENCE_ANOMALY, stall->began_ns, stall->text);
	return true;
}
