/* SPDX-License-Identifier: MIT */
#include "analyze/verdict_rules.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "analyze/verdict_origin.h"
#include "base/text.h"

#define STATUS_TIMEOUT 124 /* of coreutils' timeout */
#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND 127
#define HANDLED_WITHIN_NS                                                                          \
	(10 * NS_PER_S) /* a program that handles a signal ends within this time */
#define REBOOT_WITHIN_NS (UINT64_C(900) * NS_PER_S)
#define GPU_FAULT_WITHIN_NS (10 * NS_PER_S)
#define GPU_FULL_PERCENT 97

struct context {
	const struct verdict_facts *f;
	const struct job *job;
	struct proc_id command_id;
	struct verdict_origin origin;
};

/* ---- evidence ----------------------------------------------------------------------------------- */

static void blame(struct verdict *v, const struct verdict_death *d)
{
	if (!d)
		return;
	v->culprit.process = d->id;
	v->culprit.sheet = d->sheet;
	memcpy(v->culprit.name, d->name, sizeof v->culprit.name);
}

static void add_end(struct verdict *v, enum evidence_kind kind, const struct verdict_death *d)
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

static void add_ends(const struct context *c, struct verdict *v)
{
	const struct job *job = c->job;
	struct evidence *e;

	if (c->origin.first && c->origin.first != c->origin.command &&
	    !has_end_of(v, c->origin.first))
		add_end(v, EVIDENCE_PROCESS_END, c->origin.first);
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

static void add_memory(const struct job *job, struct verdict *v)
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

static void add_sender(struct verdict *v, const struct verdict_sign *s, const char *name)
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

static struct evidence *add_text(struct verdict *v, enum evidence_kind kind, uint64_t at_ns,
                                 const char *text)
{
	struct evidence *e = verdict_add(v, kind);

	e->at_ns = at_ns;
	text_copy(e->text, sizeof e->text, text);
	return e;
}

static void add_limit(struct verdict *v, uint64_t at_ns, const char *text, uint64_t value,
                      enum metric_unit unit)
{
	struct evidence *e = add_text(v, EVIDENCE_LIMIT, at_ns, text);

	e->value = value;
	e->unit = unit;
}

/* ---- the rules, each for one cause; false: it is another one ------------------------------------ */

static bool is_lost(const struct context *c, struct verdict *v)
{
	if (c->job->status != JOB_LOST)
		return false;
	v->confidence = CONFIDENCE_HIGH;
	if (c->job->parent_limits_hit >> JOB_LIMIT_TIME & 1) {
		v->code = VERDICT_TIME_LIMIT;
		add_text(v, EVIDENCE_LIMIT, 0, "time limit of the job around it");
	} else if (c->job->parent_limits_hit >> JOB_LIMIT_MEM & 1) {
		v->code = VERDICT_OOM_OUTER_LIMIT;
		add_text(v, EVIDENCE_LIMIT, 0, "memory limit of the job around it");
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

static bool is_ok(const struct context *c, struct verdict *v)
{
	if (c->job->status != JOB_COMPLETED)
		return false;
	v->code = VERDICT_OK;
	v->confidence = CONFIDENCE_HIGH;
	return true;
}

/* The launcher's own status, or that of a shell within the job. */
static bool is_unstarted(const struct context *c, struct verdict *v)
{
	static const char *const shells[] = { "sh",  "bash", "dash",  "zsh",
		                              "ksh", "env",  "xargs", NULL };
	struct figure processes = c->job->figures[JOB_FIGURE_PROCESSES];
	bool never_ran = figure_is_known(processes) && !processes.value;
	int status = never_ran         ? c->job->exit_code
	             : c->origin.first ? c->origin.first->exit_code
	                               : 0;

	if (status != STATUS_NOT_FOUND && status != STATUS_NOT_EXECUTABLE)
		return false;
	if (!never_ran && !verdict_is_named(c->origin.first->name, shells))
		return false;
	v->code = status == STATUS_NOT_FOUND ? VERDICT_NOT_FOUND : VERDICT_NOT_EXECUTABLE;
	v->confidence = never_ran ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
	blame(v, c->origin.first);
	add_ends(c, v);
	return true;
}

static bool is_time_limit(const struct context *c, struct verdict *v)
{
	const struct job *job = c->job;

	if (!(job->limits_hit >> JOB_LIMIT_TIME & 1))
		return false;
	v->code = VERDICT_TIME_LIMIT;
	v->confidence = CONFIDENCE_HIGH;
	add_limit(v, job->started_ns + job->limit[JOB_LIMIT_TIME], "--time",
	          job->limit[JOB_LIMIT_TIME], UNIT_NS);
	add_ends(c, v);
	return true;
}

/* The victim: as the kernel reported it, else the process that died of SIGKILL last. */
static const struct verdict_death *find_victim(const struct context *c, uint64_t *ret_at_ns)
{
	const struct verdict_death *found = NULL;
	struct proc_id chosen = { 0 };

	vec_each(&c->f->signs, s)
		if (s->kind == EVENT_OOM) {
			chosen = s->id;
			*ret_at_ns = s->at_ns;
		}
	vec_each(&c->f->deaths, d)
		if (d->signal == SIGKILL && (!chosen.pid || proc_id_eq(d->id, chosen)))
			found = d;
	return found;
}

static void add_oom(const struct context *c, struct verdict *v)
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

	blame(v, victim);
	if (at_ns && victim) {
		add_end(v, EVIDENCE_OOM_KILL, victim);
		v->evidence[v->n_evidence - 1].at_ns = at_ns;
	} else if (victim) {
		add_end(v, EVIDENCE_PROCESS_END, victim);
	}
	if (cause->oom_source < CAUSE_SOURCE_COUNT && counters[cause->oom_source])
		add_text(v,
		         cause->oom == CAUSE_PROOF_PROVEN ? EVIDENCE_OOM_COUNT
		                                          : EVIDENCE_OOM_LIKELY,
		         0, counters[cause->oom_source]);
}

static bool is_oom(const struct context *c, struct verdict *v)
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
		add_limit(v, 0, "--mem", job->limit[JOB_LIMIT_MEM], UNIT_BYTES);
	else if (job->cause.oom_limit_bytes)
		add_limit(v, 0, job->cause.oom_group, job->cause.oom_limit_bytes, UNIT_BYTES);
	add_memory(job, v);
	add_ends(c, v);
	return true;
}

/* What a process sends to itself to end; others report a fault of its own. */
static bool is_command_to_end(int signal)
{
	return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
	       signal == SIGQUIT;
}

/* Signals that another process, a terminal or the kernel sent to the process that failed first. One that it handled
 * counts if it ended soon after. */
static const struct verdict_sign *find_reason(const struct context *c, bool *ret_handled)
{
	const struct verdict_death *d = c->origin.first;
	const struct verdict_sign *found = NULL;

	*ret_handled = false;
	if (!d)
		return NULL;
	if (d->signal)
		return verdict_find_signal(c->f, d->id, d->signal);
	vec_each(&c->f->signs, s)
		if (s->kind == EVENT_SIGNAL && proc_id_eq(s->id, d->id) &&
		    s->sender_pid != d->id.pid && s->has_sender && is_command_to_end(s->signal) &&
		    s->at_ns <= d->ended_ns && d->ended_ns - s->at_ns <= HANDLED_WITHIN_NS)
			found = s;
	*ret_handled = found != NULL;
	return found;
}

static enum verdict_confidence confidence_of(const struct context *c, bool is_proven)
{
	return is_proven && !c->origin.is_inferred ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
}

/* timeout is within the job, and its status shows what it did. */
static bool is_timeout_within(const struct context *c, struct verdict *v)
{
	const struct verdict_death *found = NULL;

	vec_each(&c->f->deaths, d)
		if (verdict_is_named(d->name, verdict_timeouts) && d->exit_code == STATUS_TIMEOUT &&
		    (d == c->origin.command ||
		     (c->origin.command && verdict_is_passed_on(d, c->origin.command)) ||
		     (c->origin.first && d->id.pid == c->origin.first->ppid) ||
		     d == c->origin.first))
			found = d;
	if (!found)
		return false;
	v->code = VERDICT_TIMEOUT_COMMAND;
	v->confidence = found == c->origin.command ||
	                                (c->origin.command &&
	                                 verdict_is_passed_on(found, c->origin.command))
	                        ? CONFIDENCE_HIGH
	                        : CONFIDENCE_MEDIUM;
	blame(v, found);
	if (found != c->origin.command)
		add_end(v, EVIDENCE_PROCESS_END, found);
	add_ends(c, v);
	return true;
}

static bool is_sent(const struct context *c, struct verdict *v)
{
	static const char *const memory_daemons[] = { "systemd-oomd", "earlyoom", "nohang", "oomd",
		                                      NULL };
	const struct verdict_death *d = c->origin.first;
	bool is_handled, is_terminal;
	const struct verdict_sign *s = find_reason(c, &is_handled);

	if (!s || !s->has_sender || s->sender_pid == d->id.pid)
		return false;
	is_terminal = s->sender_pid == 0 && (s->signal == SIGINT || s->signal == SIGQUIT);
	if (s->sender_pid == 0 && !is_terminal && s->signal != SIGHUP)
		return false;
	v->code = is_terminal                                     ? VERDICT_TERMINAL_INTERRUPT
	          : s->sender_pid == 0                            ? VERDICT_TERMINAL_HANGUP
	          : verdict_is_named(s->sender, verdict_timeouts) ? VERDICT_TIMEOUT_COMMAND
	          : verdict_is_named(s->sender, memory_daemons)   ? VERDICT_OOM_DAEMON
	                                                          : VERDICT_KILLED_BY_PROCESS;
	v->confidence = confidence_of(
		c, !is_handled || d->exit_code == SHELL_SIGNALLED + s->signal || is_terminal);
	blame(v, d);
	add_sender(v, s, d->name);
	add_ends(c, v);
	return true;
}

static const struct verdict_sign *find_disk(const struct verdict_facts *f, const char *name)
{
	vec_each(&f->signs, s)
		if (s->kind == EVENT_DISK && strcmp(s->name, name) == 0)
			return s;
	return NULL;
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
		const struct verdict_sign *s = verdict_find_signal(f, d->id, faults[i]);

		if (s && s->has_sender && s->sender_pid == 0 && s->at_ns <= d->ended_ns &&
		    d->ended_ns - s->at_ns <= NS_PER_S)
			return faults[i];
	}
	return 0;
}

static bool is_fault(const struct context *c, struct verdict *v)
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
	const struct verdict_sign *s = signal ? verdict_find_signal(c->f, d->id, signal) : NULL;
	bool is_sure = s && s->has_sender && strcmp(s->name, EVENT_FOR_PROTECTED) != 0;

	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		if (faults[i].signal == signal) {
			v->code = faults[i].code;
			v->confidence = confidence_of(c,
			                              (is_sure || faults[i].is_sure) && d->signal);
		}
	if (s && s->has_sender && s->sender_pid == d->id.pid && !is_by_kernel(signal)) {
		v->code = VERDICT_ABORT; /* whatever signal it chose */
		v->confidence = confidence_of(c, true);
		add_sender(v, s, d->name);
	}
	if (s && strcmp(s->name, EVENT_FOR_STACK) == 0) {
		v->code = VERDICT_STACK_OVERFLOW;
		add_end(v, EVIDENCE_STACK, d);
	} else if (s && strcmp(s->name, EVENT_FOR_CPU_LIMIT) == 0) {
		v->code = VERDICT_RLIMIT_CPU;
		v->confidence = confidence_of(c, true);
		add_end(v, EVIDENCE_CPU_LIMIT, d);
	}
	if (v->code == VERDICT_UNKNOWN)
		return false;
	blame(v, d);
	add_ends(c, v);
	return true;
}

/* ---- what ran out: an error of a system call proves it, the state at the end makes it likely ---- */

static const struct {
	const char *error;
	enum verdict_code code;
} error_codes[] = {
	{ "ENOSPC", VERDICT_DISK_FULL },     { "EDQUOT", VERDICT_DISK_FULL },
	{ "EROFS", VERDICT_READ_ONLY_FS },   { "EMFILE", VERDICT_FDS_EXHAUSTED },
	{ "ENFILE", VERDICT_FDS_EXHAUSTED }, { "EAGAIN", VERDICT_PIDS_EXHAUSTED },
	{ "EFBIG", VERDICT_RLIMIT_FSIZE },   { "ENOMEM", VERDICT_RLIMIT_AS },
};

/* ENOMEM is that of a limit of address space where memory was asked for; elsewhere it is anything. */
static bool is_allocation(const char *call)
{
	static const char *const calls[] = { "mmap", "mremap", "brk", NULL };

	return verdict_is_named(call, calls);
}

static bool counts_as(const struct context *c, const struct verdict_error *e)
{
	if (e->id.pid && c->origin.first && !proc_id_eq(e->id, c->origin.first->id))
		return false;
	return strcmp(e->error, "ENOMEM") != 0 || is_allocation(e->call);
}

static bool has_state_of(const struct context *c, enum verdict_code code)
{
	switch ((int)code) {
	case VERDICT_DISK_FULL:
		return find_disk(c->f, EVENT_DISK_FULL);
	case VERDICT_INODES_FULL:
		return find_disk(c->f, EVENT_DISK_INODES);
	case VERDICT_READ_ONLY_FS:
		return find_disk(c->f, EVENT_DISK_READ_ONLY);
	case VERDICT_FDS_EXHAUSTED:
		return c->f->has_fd_anomaly;
	case VERDICT_PIDS_EXHAUSTED:
		return c->job->limits_hit & (1u << JOB_LIMIT_PIDS | 1u << JOB_LIMIT_USER_PIDS);
	case VERDICT_RLIMIT_AS: /* the kernel may also refuse what exceeds the machine's memory */
		return strcmp(c->job->allowed.memory_source, ALLOWANCE_ULIMIT) == 0;
	default:
		return false;
	}
}

/* A program may handle an error and fail later of something else: it is proven where it was right before the end, or
 * the state at the end shows the same. */
static bool is_proven(const struct context *c, const struct verdict_error *e,
                      enum verdict_code code)
{
	const struct verdict_death *d = c->origin.first;
	bool was_last = e->at_ns && d && e->at_ns <= d->ended_ns &&
	                d->ended_ns - e->at_ns <= NS_PER_S && code != VERDICT_RLIMIT_AS;

	return was_last || has_state_of(c, code);
}

static bool is_failed_call(const struct context *c, struct verdict *v)
{
	const struct verdict_error *found = NULL;
	struct evidence *e;

	/* Of one process the last, and else of the whole job, where it was counted. */
	vec_each(&c->f->errors, error)
		if (counts_as(c, error) && (!found || error->id.pid))
			found = error;
	for (size_t i = 0; found && i < ARRAY_LEN(error_codes); i++)
		if (strcmp(found->error, error_codes[i].error) == 0)
			v->code = error_codes[i].code;
	if (v->code == VERDICT_UNKNOWN)
		return false;
	if (v->code == VERDICT_DISK_FULL && find_disk(c->f, EVENT_DISK_INODES))
		v->code = VERDICT_INODES_FULL;
	v->confidence = confidence_of(c, is_proven(c, found, v->code));
	blame(v, c->origin.first);
	e = verdict_add(v, EVIDENCE_CALL_FAILED);
	e->at_ns = found->at_ns;
	e->process = found->id;
	e->value = found->count;
	if (*found->text)
		memcpy(e->text, found->text, sizeof e->text);
	else
		snprintf(e->text, sizeof e->text, "%s: %s", found->call, found->error);
	add_ends(c, v);
	return true;
}

static bool is_disk(const struct context *c, struct verdict *v)
{
	static const struct {
		const char *name;
		enum verdict_code code;
		enum evidence_kind evidence;
		enum metric_unit unit;
	} kinds[] = {
		{ EVENT_DISK_FULL, VERDICT_DISK_FULL, EVIDENCE_DISK, UNIT_BYTES },
		{ EVENT_DISK_INODES, VERDICT_INODES_FULL, EVIDENCE_DISK, UNIT_COUNT },
		{ EVENT_DISK_READ_ONLY, VERDICT_READ_ONLY_FS, EVIDENCE_READ_ONLY, UNIT_COUNT },
	};
	struct evidence *e;

	/* If every call was counted, an error would have been among them. */
	if (c->f->has_calls && c->job->figures[JOB_FIGURE_SYSCALLS].quality == QUALITY_EXACT)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const struct verdict_sign *s = find_disk(c->f, kinds[i].name);

		if (!s)
			continue;
		v->code = kinds[i].code;
		v->confidence = CONFIDENCE_MEDIUM;
		blame(v, c->origin.first);
		e = add_text(v, kinds[i].evidence, s->at_ns, s->text);
		e->value = (uint64_t)MAX(s->count, (int64_t)0);
		e->unit = kinds[i].unit;
		add_ends(c, v);
		return true;
	}
	return false;
}

static bool is_out_of_tasks(const struct context *c, struct verdict *v)
{
	unsigned hit = c->job->limits_hit & (1u << JOB_LIMIT_PIDS | 1u << JOB_LIMIT_USER_PIDS);

	if (!hit)
		return false;
	v->code = VERDICT_PIDS_EXHAUSTED;
	v->confidence = CONFIDENCE_MEDIUM;
	blame(v, c->origin.first);
	add_limit(v, 0, "--pids",
	          c->job->limit[hit >> JOB_LIMIT_PIDS & 1 ? JOB_LIMIT_PIDS : JOB_LIMIT_USER_PIDS],
	          UNIT_COUNT);
	add_ends(c, v);
	return true;
}

static bool is_out_of_files(const struct context *c, struct verdict *v)
{
	if (!c->f->has_fd_anomaly)
		return false;
	v->code = VERDICT_FDS_EXHAUSTED;
	v->confidence = CONFIDENCE_MEDIUM;
	blame(v, c->origin.first);
	add_text(v, EVIDENCE_ANOMALY, c->f->fd_anomaly_ns, c->f->fd_anomaly);
	add_ends(c, v);
	return true;
}

/* The driver names no process: that the job failed at the same time makes it likely. */
static bool is_gpu_fault(const struct context *c, struct verdict *v)
{
	const struct verdict_sign *found = NULL;

	vec_each(&c->f->signs, s)
		if (s->kind == EVENT_GPU && strcmp(s->name, "xid") == 0 &&
		    s->at_ns + GPU_FAULT_WITHIN_NS >= c->job->ended_ns)
			found = s;
	if (!found)
		return false;
	v->code = VERDICT_GPU_FAULT;
	v->confidence = CONFIDENCE_MEDIUM;
	blame(v, c->origin.first);
	add_text(v, EVIDENCE_GPU, found->at_ns, found->text);
	add_ends(c, v);
	return true;
}

static bool is_out_of_gpu_memory(const struct context *c, struct verdict *v)
{
	struct figure used = c->job->figures[JOB_FIGURE_PEAK_GPU_DEVICE],
		      whole = c->job->figures[JOB_FIGURE_GPU_DEVICE];
	struct evidence *e;

	if (!figure_is_known(used) || !figure_is_known(whole) || !whole.value ||
	    used.value < whole.value / 100 * GPU_FULL_PERCENT)
		return false;
	v->code = VERDICT_GPU_OOM;
	v->confidence = CONFIDENCE_MEDIUM;
	blame(v, c->origin.first);
	e = verdict_add(v, EVIDENCE_GPU_MEMORY);
	e->value = used.value;
	e->of = whole.value;
	e->unit = UNIT_BYTES;
	add_ends(c, v);
	return true;
}

static bool is_status(const struct context *c, struct verdict *v)
{
	const struct verdict_death *d = c->origin.first;

	if (!c->job->has_exit_code || !c->job->exit_code || (d && d->signal))
		return false;
	v->code = VERDICT_EXIT_NONZERO;
	/* Else something may have run out, or it failed of something else than its child. */
	v->confidence = confidence_of(c, c->f->has_calls && d == c->origin.command);
	blame(v, d);
	add_ends(c, v);
	return true;
}

static bool is_unknown(const struct context *c, struct verdict *v)
{
	v->code = VERDICT_UNKNOWN;
	v->confidence = CONFIDENCE_LOW;
	blame(v, c->origin.first);
	add_ends(c, v);
	add_memory(c->job, v);
	return true;
}

/* The first that holds. What is proven comes before what is likely, and what a limit or another process did before
 * what the program did. */
static bool (*const rules[])(const struct context *c, struct verdict *v) = {
	is_lost,
	is_ok,
	is_oom,
	is_time_limit,
	is_timeout_within,
	is_sent,
	is_unstarted,
	is_gpu_fault,
	is_fault,
	is_failed_call,
	is_out_of_tasks,
	is_out_of_files,
	is_disk,
	is_out_of_gpu_memory,
	is_status,
	is_unknown,
};

void verdict_judge(const struct job *job, const struct verdict_facts *f, struct verdict *ret)
{
	struct context c = { .f = f,
		             .job = job,
		             .command_id = job->root.pid ? job->root : f->first };

	verdict_find_origin(f, c.command_id, &c.origin);
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		*ret = (struct verdict){ 0 };
		if (rules[i](&c, ret))
			return;
	}
}
