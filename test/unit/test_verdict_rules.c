/* SPDX-License-Identifier: MIT */
#include "analyze/verdict_rules.h"

#include <signal.h>

#include "check.h"

#define AT(s) ((uint64_t)(1000 + (s)) * NS_PER_S)

/* A job whose command, pid 10, ended with this status after ten seconds. */
static struct job failed_job(int exit_code, int signal)
{
	struct job job = { .id = "j",
		           .status = JOB_FAILED,
		           .has_exit_code = !signal,
		           .exit_code = exit_code,
		           .signal = signal,
		           .started_ns = AT(0),
		           .ended_ns = AT(10) };

	job.figures[JOB_FIGURE_PROCESSES] = (struct figure){ 1, QUALITY_EXACT };
	return job;
}

static void add_process(struct verdict_facts *f, pid_t pid, pid_t parent, const char *name,
                        int exit_code, int signal, double ended_s)
{
	const struct process_record p = { .id = { .pid = pid, .start_ticks = 1 },
		                          .ppid = parent,
		                          .comm = name,
		                          .has_exit_code = !signal,
		                          .exit_code = exit_code,
		                          .signal = signal,
		                          .ended_ns = AT(0) + (uint64_t)(ended_s * 1e9) };

	verdict_facts_add_process(f, &p);
}

static void add_signal(struct verdict_facts *f, pid_t pid, int signal, pid_t from,
                       const char *sender, double at_s)
{
	const struct event_record e = { .kind = signal == SIGKILL ? EVENT_KILL : EVENT_SIGNAL,
		                        .process = { .pid = pid, .start_ticks = 1 },
		                        .signal = signal,
		                        .has_sender = true,
		                        .sender_pid = from,
		                        .sender_comm = sender,
		                        .wall_ns = AT(0) + (uint64_t)(at_s * 1e9) };

	verdict_facts_add_event(f, &e);
}

static void assert_verdict(const struct job *job, struct verdict_facts *f, enum verdict_code code,
                           enum verdict_confidence confidence, pid_t culprit)
{
	struct verdict v;

	verdict_rules_judge(job, f, &v);
	assert_string_equal(verdict_code_name(v.code), verdict_code_name(code));
	assert_string_equal(verdict_confidence_name(v.confidence),
	                    verdict_confidence_name(confidence));
	assert_int_equal(v.culprit.process.pid, culprit);
	verdict_facts_done(f);
}

static void test_verdict__follows_failures_to_the_process_that_failed_first(void **state)
{
	const struct job job = failed_job(2, 0);
	struct verdict_facts f = { 0 };

	(void)state;
	add_process(&f, 10, 1, "make", 2, 0, 10);
	add_process(&f, 11, 10, "sh", 139, 0, 9.9);
	add_process(&f, 12, 11, "cc1", 0, SIGSEGV, 9.8);
	assert_verdict(&job, &f, VERDICT_SEGFAULT, CONFIDENCE_MEDIUM, 12);
}

static void test_verdict__takes_no_child_that_failed_long_before(void **state)
{
	const struct job job = failed_job(1, 0);
	struct verdict_facts f = { 0 };

	(void)state;
	add_process(&f, 10, 1, "pytest", 1, 0, 10);
	add_process(&f, 11, 10, "grep", 2, 0, 3);
	assert_verdict(&job, &f, VERDICT_EXIT_NONZERO, CONFIDENCE_MEDIUM, 10);
}

static void test_verdict__takes_no_status_that_the_parent_did_not_pass_on(void **state)
{
	const struct job job = failed_job(3, 0);
	struct verdict_facts f = { 0 };

	(void)state;
	add_process(&f, 10, 1, "sh", 3, 0, 10);
	add_process(&f, 11, 10, "false", 1, 0, 9.99);
	assert_verdict(&job, &f, VERDICT_EXIT_NONZERO, CONFIDENCE_MEDIUM, 10);
}

static void test_verdict__takes_a_closed_pipe_in_a_shell_only_if_it_was_passed_on(void **state)
{
	static const struct {
		const char *parent;
		int exit_code;
		enum verdict_code code;
		enum verdict_confidence confidence;
		pid_t culprit;
	} rows[] = {
		{ "bash", 4, VERDICT_EXIT_NONZERO, CONFIDENCE_MEDIUM, 10 },
		{ "bash", 128 + SIGPIPE, VERDICT_BROKEN_PIPE, CONFIDENCE_HIGH, 11 },
		{ "python3", 1, VERDICT_BROKEN_PIPE, CONFIDENCE_MEDIUM, 11 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct job job = failed_job(rows[i].exit_code, 0);
		struct verdict_facts f = { 0 };

		add_process(&f, 10, 1, rows[i].parent, rows[i].exit_code, 0, 10);
		add_process(&f, 11, 10, "yes", 0, SIGPIPE, 9.9);
		assert_verdict(&job, &f, rows[i].code, rows[i].confidence, rows[i].culprit);
	}
}

static void test_verdict__ignores_what_the_job_ended_itself(void **state)
{
	const struct job job = failed_job(2, 0);
	struct verdict_facts f = { 0 };

	(void)state;
	add_process(&f, 10, 1, "make", 2, 0, 10);
	add_process(&f, 11, 10, "cc", 1, 0, 9.5);
	add_process(&f, 12, 10, "cc", 0, SIGTERM, 9.8);
	add_signal(&f, 12, SIGTERM, 10, "make", 9.7);
	assert_verdict(&job, &f, VERDICT_EXIT_NONZERO, CONFIDENCE_MEDIUM, 11);
}

static void add_exec(struct verdict_facts *f, pid_t pid, double at_s)
{
	const struct event_record e = { .kind = EVENT_EXEC,
		                        .process = { .pid = pid, .start_ticks = 1 },
		                        .wall_ns = AT(0) + (uint64_t)(at_s * 1e9) };

	verdict_facts_add_event(f, &e);
}

static void test_verdict__takes_no_child_of_the_program_before_the_last_exec(void **state)
{
	const struct job job = failed_job(1, 0);
	struct verdict_facts f = { 0 };

	(void)state;
	add_process(&f, 10, 1, "python3", 1, 0, 10);
	add_process(&f, 11, 10, "segv", 0, SIGSEGV, 9.9);
	add_exec(&f, 10, 0);
	add_exec(&f, 10, 9.95);
	assert_verdict(&job, &f, VERDICT_EXIT_NONZERO, CONFIDENCE_MEDIUM, 10);
}

static void test_verdict__prefers_what_failed_to_what_was_ended_for_it(void **state)
{
	const struct job job = failed_job(1, 0);
	struct verdict_facts f = { 0 };

	(void)state;
	add_process(&f, 10, 1, "python3", 1, 0, 10);
	add_process(&f, 11, 10, "python3", 0, SIGSEGV, 9.5);
	add_process(&f, 12, 10, "python3", 0, SIGTERM, 9.6); /* the sender is unknown to a plain user */
	assert_verdict(&job, &f, VERDICT_SEGFAULT, CONFIDENCE_MEDIUM, 11);
}

static void test_verdict__knows_the_timeout_command_that_had_to_kill(void **state)
{
	const struct job job = failed_job(0, SIGKILL);
	struct verdict_facts f = { 0 };

	(void)state;
	add_process(&f, 10, 1, "timeout", 0, SIGKILL, 10);
	add_process(&f, 11, 10, "sleep", 0, SIGKILL, 9.99);
	add_signal(&f, 11, SIGKILL, 10, "timeout", 9.98);
	add_signal(&f, 10, SIGKILL, 10, "timeout", 9.99);
	assert_verdict(&job, &f, VERDICT_TIMEOUT_COMMAND, CONFIDENCE_HIGH, 10);
}

static void test_verdict__takes_no_status_that_timeout_passed_on_for_its_own(void **state)
{
	const struct job job = failed_job(124, 0);
	struct verdict_facts f = { 0 };

	(void)state;
	add_process(&f, 10, 1, "timeout", 124, 0, 10);
	add_process(&f, 11, 10, "sh", 124, 0, 9.99);
	assert_verdict(&job, &f, VERDICT_EXIT_NONZERO, CONFIDENCE_MEDIUM, 11);
	f = (struct verdict_facts){ 0 };
	add_process(&f, 10, 1, "timeout", 124, 0, 10);
	add_process(&f, 11, 10, "timeout", 124, 0, 9.99);
	add_process(&f, 12, 11, "sleep", 0, SIGTERM, 9.98);
	assert_verdict(&job, &f, VERDICT_TIMEOUT_COMMAND, CONFIDENCE_HIGH, 11);
}

static void add_oom(struct verdict_facts *f, pid_t pid, double at_s)
{
	const struct event_record e = { .kind = EVENT_OOM,
		                        .process = { .pid = pid, .start_ticks = 1 },
		                        .wall_ns = AT(0) + (uint64_t)(at_s * 1e9) };

	verdict_facts_add_event(f, &e);
}

static void test_verdict__is_unsure_of_an_oom_kill_that_the_job_outlived(void **state)
{
	struct job job = failed_job(1, 0), passed_on = failed_job(137, 0);
	struct verdict_facts f = { 0 };

	(void)state;
	job.cause.oom = passed_on.cause.oom = CAUSE_PROOF_PROVEN;
	job.limits_hit = passed_on.limits_hit = 1u << JOB_LIMIT_MEM;
	add_process(&f, 10, 1, "sh", 1, 0, 10);
	add_process(&f, 11, 10, "python3", 0, SIGKILL, 9.9);
	add_oom(&f, 11, 9.9);
	assert_verdict(&job, &f, VERDICT_OOM_OWN_LIMIT, CONFIDENCE_HIGH, 11);
	f = (struct verdict_facts){ 0 };
	add_process(&f, 10, 1, "sh", 1, 0, 10);
	add_process(&f, 11, 10, "python3", 0, SIGKILL, 5);
	add_process(&f, 12, 10, "grep", 1, 0, 9.9);
	add_oom(&f, 11, 5);
	assert_verdict(&job, &f, VERDICT_OOM_OWN_LIMIT, CONFIDENCE_MEDIUM, 11);
	f = (struct verdict_facts){ 0 };
	add_process(&f, 10, 1, "sh", 137, 0, 10);
	add_process(&f, 11, 10, "python3", 0, SIGKILL, 5);
	add_oom(&f, 11, 5);
	assert_verdict(&passed_on, &f, VERDICT_OOM_OWN_LIMIT, CONFIDENCE_HIGH, 11);
}

static void test_verdict__takes_a_hangup_by_a_shell_for_a_closed_terminal(void **state)
{
	const struct job job = failed_job(0, SIGHUP);
	struct verdict_facts f = { 0 };

	(void)state;
	add_process(&f, 10, 1, "sleep", 0, SIGHUP, 10);
	add_signal(&f, 10, SIGHUP, 9, "bash", 9.99);
	assert_verdict(&job, &f, VERDICT_TERMINAL_HANGUP, CONFIDENCE_MEDIUM, 10);
	add_process(&f, 10, 1, "sleep", 0, SIGHUP, 10);
	add_signal(&f, 10, SIGHUP, 9, "supervisor", 9.99);
	assert_verdict(&job, &f, VERDICT_KILLED_BY_PROCESS, CONFIDENCE_HIGH, 10);
}

static void add_call(struct verdict_facts *f, pid_t pid, const char *call, const char *error,
                     const char *text, double at_s)
{
	const struct last_call_record c = { .process = { .pid = pid, .start_ticks = 1 },
		                            .call = call,
		                            .error = error,
		                            .text = text,
		                            .began_ns = AT(0) + (uint64_t)(at_s * 1e9) };

	verdict_facts_add_call(f, &c);
}

static void test_verdict__is_sure_of_an_error_that_the_program_reported(void **state)
{
	const struct job job = failed_job(4, 0);
	struct verdict_facts f = { 0 };

	(void)state;
	add_process(&f, 10, 1, "cp", 4, 0, 10);
	add_call(&f, 10, "write", "ENOSPC", "write(3</data/x>, ..., 9) = -1 ENOSPC", 9.9);
	add_call(&f, 10, "exit_group", "", "exit_group(4) = ?", 9.95);
	assert_verdict(&job, &f, VERDICT_DISK_FULL, CONFIDENCE_MEDIUM, 10);
	f = (struct verdict_facts){ 0 };
	add_process(&f, 10, 1, "cp", 4, 0, 10);
	add_call(&f, 10, "write", "ENOSPC", "write(3</data/x>, ..., 9) = -1 ENOSPC", 9.9);
	add_call(&f, 10, "write", "", "write(2</dev/pts/1>, ..., 40) = 40", 9.92);
	assert_verdict(&job, &f, VERDICT_DISK_FULL, CONFIDENCE_HIGH, 10);
}

static void test_verdict__is_out_of_memory_by_whose_limit_it_was(void **state)
{
	static const struct {
		unsigned limits_hit;
		uint64_t limit;
		const char *group, *source;
		enum cause_proof proof;
		enum verdict_code code;
		enum verdict_confidence confidence;
	} rows[] = {
		{ 1u << JOB_LIMIT_MEM, 0, "", ALLOWANCE_OWN, CAUSE_PROOF_PROVEN,
		  VERDICT_OOM_OWN_LIMIT, CONFIDENCE_HIGH },
		{ 0, 500 << 20, "/slurm/job_77", "/slurm/job_77", CAUSE_PROOF_PROVEN,
		  VERDICT_OOM_OUTER_LIMIT, CONFIDENCE_HIGH },
		{ 0, 500 << 20, "/slurm/job_77", "/slurm/job_77", CAUSE_PROOF_LIKELY,
		  VERDICT_OOM_OUTER_LIMIT, CONFIDENCE_MEDIUM },
		{ 0, 0, "", ALLOWANCE_MACHINE, CAUSE_PROOF_PROVEN, VERDICT_OOM_MACHINE,
		  CONFIDENCE_HIGH },
		{ 0, 0, "", ALLOWANCE_MACHINE, CAUSE_PROOF_LIKELY, VERDICT_OOM_MACHINE,
		  CONFIDENCE_MEDIUM },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct job job = failed_job(1, 0);
		struct verdict_facts f = { 0 };

		job.limits_hit = rows[i].limits_hit;
		job.limit[JOB_LIMIT_MEM] = rows[i].limits_hit ? 100 << 20 : 0;
		job.cause.oom = rows[i].proof;
		job.cause.oom_source = CAUSE_SOURCE_CGROUP;
		job.cause.oom_limit_bytes = rows[i].limit;
		snprintf(job.cause.oom_group, sizeof job.cause.oom_group, "%s", rows[i].group);
		snprintf(job.allowed.memory_source, sizeof job.allowed.memory_source, "%s",
		         rows[i].source);
		add_process(&f, 10, 1, "sh", 1, 0, 10);
		add_process(&f, 11, 10, "worker", 0, SIGKILL, 9.9);
		assert_verdict(&job, &f, rows[i].code, rows[i].confidence, 11);
	}
}

static void test_verdict__takes_calls_that_failed_as_proof_and_state_as_a_hint(void **state)
{
	const struct last_call_record call = { .process = { .pid = 10, .start_ticks = 1 },
		                               .call = "write",
		                               .error = "ENOSPC",
		                               .text = "write(3, ..., 65536) = -1 ENOSPC",
		                               .began_ns = AT(9) };
	const struct event_record disk = {
		.kind = EVENT_DISK, .name = EVENT_DISK_FULL, .details = "/data", .wall_ns = AT(10)
	};
	const struct job job = failed_job(1, 0);
	struct verdict_facts f = { 0 }, g = { 0 };

	(void)state;
	add_process(&f, 10, 1, "dd", 1, 0, 10);
	verdict_facts_add_event(&f, &disk);
	assert_verdict(&job, &f, VERDICT_DISK_FULL, CONFIDENCE_MEDIUM, 10);
	add_process(&g, 10, 1, "dd", 1, 0, 10);
	verdict_facts_add_event(&g, &disk);
	verdict_facts_add_call(&g, &call);
	assert_verdict(&job, &g, VERDICT_DISK_FULL, CONFIDENCE_HIGH, 10);
}

static void test_verdict__ignores_that_python_could_not_cache_a_module(void **state)
{
	const struct job job = failed_job(1, 0);
	struct verdict_facts f = { 0 };

	(void)state;
	add_process(&f, 10, 1, "python3", 1, 0, 10);
	add_call(&f, 10, "mkdir", "EROFS", "mkdir(\"/opt/lib/__pycache__\", 0777) = -1 EROFS", 9.9);
	add_call(&f, 10, "write", "", "write(2</dev/pts/1>, ..., 40) = 40", 9.92);
	verdict_facts_add_error(&f, "mkdir", "EROFS", 1);
	assert_verdict(&job, &f, VERDICT_EXIT_NONZERO, CONFIDENCE_HIGH, 10);
	f = (struct verdict_facts){ 0 };
	add_process(&f, 10, 1, "python3", 1, 0, 10);
	add_call(&f, 10, "mkdir", "EROFS", "mkdir(\"/opt/lib/__pycache__\", 0777) = -1 EROFS", 9.9);
	verdict_facts_add_error(&f, "mkdir", "EROFS", 2);
	assert_verdict(&job, &f, VERDICT_READ_ONLY_FS, CONFIDENCE_MEDIUM, 10);
}

static void test_verdict__ignores_everyday_errors_and_those_of_others(void **state)
{
	struct last_call_record call = { .process = { .pid = 10, .start_ticks = 1 },
		                         .call = "openat",
		                         .error = "ENOENT",
		                         .text = "openat(...)" };
	const struct job job = failed_job(1, 0);
	struct verdict_facts f = { 0 };

	(void)state;
	add_process(&f, 10, 1, "dd", 1, 0, 10);
	verdict_facts_add_call(&f, &call);
	call.error = "EAGAIN"; /* of a socket, for example */
	call.call = "recvfrom";
	verdict_facts_add_call(&f, &call);
	call.error = "EMFILE";
	call.process.pid = 99;
	verdict_facts_add_call(&f, &call);
	assert_verdict(&job, &f, VERDICT_EXIT_NONZERO, CONFIDENCE_HIGH, 10);
}

static void test_verdict__blames_a_gpu_that_failed_or_was_full_at_the_end(void **state)
{
	const struct event_record xid = { .kind = EVENT_GPU,
		                          .name = "xid",
		                          .details = "GPU 0: XID 79",
		                          .wall_ns = AT(9) };
	struct event_record old = xid, lost = xid;
	struct job job = failed_job(1, 0);
	struct verdict_facts f = { 0 }, g = { 0 }, h = { 0 };

	(void)state;
	add_process(&f, 10, 1, "python3", 1, 0, 10);
	verdict_facts_add_event(&f, &xid);
	assert_verdict(&job, &f, VERDICT_GPU_FAULT, CONFIDENCE_MEDIUM, 10);
	lost.name = "lost";
	add_process(&h, 10, 1, "python3", 1, 0, 10);
	verdict_facts_add_event(&h, &lost);
	assert_verdict(&job, &h, VERDICT_GPU_FAULT, CONFIDENCE_MEDIUM, 10);
	old.wall_ns = AT(-60);
	add_process(&g, 10, 1, "python3", 1, 0, 10);
	verdict_facts_add_event(&g, &old);
	job.figures[JOB_FIGURE_PEAK_GPU_DEVICE] = (struct figure){ 24000, QUALITY_SAMPLED };
	job.figures[JOB_FIGURE_GPU_DEVICE] = (struct figure){ 24100, QUALITY_SAMPLED };
	assert_verdict(&job, &g, VERDICT_GPU_OOM, CONFIDENCE_MEDIUM, 10);
}

static void test_verdict__is_unknown_without_evidence(void **state)
{
	const struct job job = failed_job(0, SIGKILL);
	struct verdict_facts f = { 0 };

	(void)state;
	add_process(&f, 10, 1, "sleep", 0, SIGKILL, 10);
	assert_verdict(&job, &f, VERDICT_UNKNOWN, CONFIDENCE_LOW, 10);
}

static void test_verdict__knows_a_machine_that_went_down_by_its_boot(void **state)
{
	struct job job = { .id = "j", .status = JOB_LOST, .ended_ns = AT(10) };
	struct verdict_facts f = { .is_other_boot = true, .booted_ns = AT(60) };

	(void)state;
	assert_verdict(&job, &f, VERDICT_MACHINE_LOST, CONFIDENCE_HIGH, 0);
	f = (struct verdict_facts){ .is_other_boot = true, .booted_ns = AT(86400) };
	assert_verdict(&job, &f, VERDICT_MACHINE_LOST, CONFIDENCE_MEDIUM, 0);
	f = (struct verdict_facts){ 0 };
	assert_verdict(&job, &f, VERDICT_RECORDER_LOST, CONFIDENCE_HIGH, 0);
}

static void test_verdict__holds_its_ceilings_for_any_number_of_records(void **state)
{
	const struct job job = failed_job(2, 0);
	struct verdict_facts f = { 0 };

	(void)state;
	add_process(&f, 10, 1, "make", 2, 0, 10);
	for (pid_t pid = 11; pid < VERDICT_DEATHS_MAX + 100; pid++)
		add_process(&f, pid, 10, "test", 1, 0, 1);
	for (int i = 0; i < VERDICT_EVENTS_MAX + 100; i++)
		add_signal(&f, 11, SIGTERM, 10, "make", 1);
	add_signal(&f, 10, SIGTERM, 500000, "kill", 9.9);
	assert_int_equal(f.deaths.len, VERDICT_DEATHS_MAX);
	assert_int_equal(f.events.len, VERDICT_EVENTS_MAX);
	assert_verdict(&job, &f, VERDICT_KILLED_BY_PROCESS, CONFIDENCE_MEDIUM, 10);
}

static void add_stall(struct verdict_facts *f, pid_t pid, enum severity severity, double from,
                      double to)
{
	const struct anomaly_record a = { .kind = "stall",
		                          .severity = severity,
		                          .process = { .pid = pid, .start_ticks = 1 },
		                          .began_ns = AT(0) + (uint64_t)(from * 1e9),
		                          .ended_ns = to > 0 ? AT(0) + (uint64_t)(to * 1e9) : 0,
		                          .description = "stall: python 11 waits in read on a pipe" };

	verdict_facts_add_anomaly(f, &a);
}

static void test_verdict__a_job_that_was_stopped_while_it_stalled_hung(void **state)
{
	struct job job = failed_job(0, SIGTERM);
	struct verdict_facts f = { 0 };
	struct verdict v;

	(void)state;
	job.limits_hit = 1u << JOB_LIMIT_TIME; /* by its time limit, */
	job.limit[JOB_LIMIT_TIME] = 10 * NS_PER_S;
	add_process(&f, 10, 1, "sh", 0, SIGTERM, 10);
	add_process(&f, 11, 10, "python", 0, SIGTERM, 10);
	add_stall(&f, 11, SEVERITY_HIGH, 5, 10);
	verdict_rules_judge(&job, &f, &v);
	assert_int_equal(v.evidence[0].kind, EVIDENCE_LIMIT);
	assert_int_equal(v.evidence[v.n_evidence - 1].kind, EVIDENCE_ANOMALY);
	assert_string_equal(v.culprit.name, "python");
	assert_verdict(&job, &f, VERDICT_HUNG, CONFIDENCE_HIGH, 11);

	job = failed_job(0, SIGTERM); /* … by a user */
	f = (struct verdict_facts){ 0 };
	add_process(&f, 10, 1, "python", 0, SIGTERM, 10);
	add_signal(&f, 10, SIGTERM, 99, "bash", 9.9);
	add_stall(&f, 11, SEVERITY_MEDIUM, 5, 0);
	assert_verdict(&job, &f, VERDICT_HUNG, CONFIDENCE_MEDIUM, 11);
}

static void test_verdict__a_stall_that_was_over_or_ended_nothing_is_not_the_cause(void **state)
{
	struct job job = failed_job(0, SIGTERM);
	struct verdict_facts f = { 0 };

	(void)state;
	job.ended_ns = AT(60); /* it went on */
	add_process(&f, 10, 1, "python", 0, SIGTERM, 60);
	add_signal(&f, 10, SIGTERM, 99, "bash", 59.9);
	add_stall(&f, 10, SEVERITY_HIGH, 5, 20);
	assert_verdict(&job, &f, VERDICT_KILLED_BY_PROCESS, CONFIDENCE_HIGH, 10);
	job = failed_job(1, 0); /* it failed by itself */
	f = (struct verdict_facts){ 0 };
	add_process(&f, 10, 1, "python", 1, 0, 10);
	add_stall(&f, 10, SEVERITY_HIGH, 5, 9);
	assert_verdict(&job, &f, VERDICT_EXIT_NONZERO, CONFIDENCE_MEDIUM, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdict__follows_failures_to_the_process_that_failed_first),
		cmocka_unit_test(test_verdict__takes_no_child_that_failed_long_before),
		cmocka_unit_test(test_verdict__takes_no_status_that_the_parent_did_not_pass_on),
		cmocka_unit_test(
			test_verdict__takes_a_closed_pipe_in_a_shell_only_if_it_was_passed_on),
		cmocka_unit_test(test_verdict__ignores_what_the_job_ended_itself),
		cmocka_unit_test(test_verdict__is_out_of_memory_by_whose_limit_it_was),
		cmocka_unit_test(
			test_verdict__takes_calls_that_failed_as_proof_and_state_as_a_hint),
		cmocka_unit_test(test_verdict__takes_no_child_of_the_program_before_the_last_exec),
		cmocka_unit_test(test_verdict__prefers_what_failed_to_what_was_ended_for_it),
		cmocka_unit_test(test_verdict__knows_the_timeout_command_that_had_to_kill),
		cmocka_unit_test(test_verdict__takes_no_status_that_timeout_passed_on_for_its_own),
		cmocka_unit_test(test_verdict__is_unsure_of_an_oom_kill_that_the_job_outlived),
		cmocka_unit_test(test_verdict__takes_a_hangup_by_a_shell_for_a_closed_terminal),
		cmocka_unit_test(test_verdict__is_sure_of_an_error_that_the_program_reported),
		cmocka_unit_test(test_verdict__ignores_everyday_errors_and_those_of_others),
		cmocka_unit_test(test_verdict__ignores_that_python_could_not_cache_a_module),
		cmocka_unit_test(test_verdict__blames_a_gpu_that_failed_or_was_full_at_the_end),
		cmocka_unit_test(test_verdict__is_unknown_without_evidence),
		cmocka_unit_test(test_verdict__knows_a_machine_that_went_down_by_its_boot),
		cmocka_unit_test(test_verdict__holds_its_ceilings_for_any_number_of_records),
		cmocka_unit_test(test_verdict__a_job_that_was_stopped_while_it_stalled_hung),
		cmocka_unit_test(test_verdict__a_stall_that_was_over_or_ended_nothing_is_not_the_cause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
