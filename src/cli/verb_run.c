/* SPDX-License-Identifier: MIT */
/* verb_run.c - `proctor run`: one command, recorded from its first process to its last, and left as it
 * would have been without us. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "cli/admission.h"
#include "cli/auto_tags.h"
#include "cli/run_announcer.h"
#include "cli/run_capture.h"
#include "cli/run_pid.h"
#include "cli/run_recording.h"
#include "cli/verdict_client.h"
#include "engine/jobhost.h"
#include "job/launch/exec_error.h"
#include "kernel/user_namespace.h"
#include "report/type_estimate.h"

#define BATCH_TIME_MOST_S (UINT64_C(10) * 365 * 86400) /* more is no limit */

static const char about[] =
	"Runs the command and records each of its processes, CPU time, memory and I/O, until it ends.\n"
	"Terminal, pipes, signals and exit status are as without proctor, which itself prints to stderr.\n"
	"Exit status 125: proctor failed before the start, 126: the command cannot be run, 127: not found.\n"
	"--pid watches one of your running processes and its descendants, until it ends or you press Ctrl-C,\n"
	"which does not affect it. Only what happens from then on counts.\n"
	"--syscalls uses strace where BPF is not allowed: set-user-id programs (sudo) then get no other\n"
	"rights, and the job cannot attach debuggers (docs/tracing.md).";

struct run {
	struct run_options options;
	struct run_recording recording;
	struct jobhost_options host;
	struct launch_inherited inherited;
	struct run_announcer *announcer;
	struct capture *capture; /* NULL: it is not captured */
	/* PROCTOR and PROCTOR_STATE_DIR before us; NULL: not set */
	char *given_program, *given_state_dir;
	bool sets_program, sets_state_dir;
};

static void ask_verdict(void *self, struct proc_id command, const struct proc_id *killed, size_t n,
                        struct cause_verdict *ret)
{
	(void)self;
	verdict_client_ask(command, killed, n, ret);
}

/* The environment is the command's own, but for what `proctor sheet` needs in it to find the door, and
 * scripts to find us. */
static bool set_variable(const char *name, const char *value, char **ret_given)
{
	const char *given = getenv(name);

	*ret_given = given ? xstrdup(given) : NULL;
	setenv(name, value, 1);
	return true;
}

static void set_environment(struct run *run)
{
	cleanup(freep) char *program = cli_program();

	setenv("PROCTOR_JOB_ID", run->recording.job.id, 1);
	if (program)
		run->sets_program = set_variable("PROCTOR", program, &run->given_program);
	if (*run->recording.state_dir && !cli_env_finds(run->recording.state_dir))
		run->sets_state_dir = set_variable("PROCTOR_STATE_DIR", run->recording.state_dir,
		                                   &run->given_state_dir);
}

static void put_back(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

static void reset_environment(const struct run *run)
{
	put_back("PROCTOR_JOB_ID", *run->recording.job.parent ? run->recording.job.parent : NULL);
	if (run->sets_program)
		put_back("PROCTOR", run->given_program);
	if (run->sets_state_dir)
		put_back("PROCTOR_STATE_DIR", run->given_state_dir);
}

/* Opens jobs/ID/sock in the state directory. */
static void open_door(struct run *run, struct loop *loop, struct jobhost *host)
{
	cleanup(freep) char *dir = xasprintf("%s/jobs/%s", run->recording.state_dir,
	                                     run->recording.job.id);
	const struct serve_host answers = { .engine = jobhost_engine(host),
		                            .latest = &run->recording.latest,
		                            .db_path = run->recording.db_path,
		                            .observer = &run_announcer_observer,
		                            .observer_self = run->announcer };
	struct err err;

	if (*run->recording.state_dir &&
	    serve_open(loop, dir, &answers, &run->recording.door, &err) < 0)
		run_recording_notice(&run->recording, err.msg);
}

/* The daemon publishes the end, so that comes after it was stored. */
static void announce_end(struct run *run, const struct job *job, bool is_stored)
{
	run_announcer_end(run->announcer, job, is_stored);
	run_announcer_free(TAKE_PTR(run->announcer));
}

static void finish(struct run *run, struct jobhost *host, struct engine_totals *ret_totals)
{
	serve_close(TAKE_PTR(run->recording.door));
	run_announcer_connect(run->announcer);
	jobhost_finish(host, ret_totals);
	latest_snapshot_done(&run->recording.latest);
	announce_end(run, &run->recording.last, ret_totals->recorder.has_end);
}

/* It is a job all the same: later queries must find how it ended. */
static int give_up(struct run *run, struct jobhost *host, struct err *err)
{
	int status = cli_command_failed(run->host.argv[0], err);
	struct job job = jobhost_row(host)->job;
	struct engine_totals totals;

	run_capture_end(run->capture, run->options.out);
	if (status == EXEC_ERROR_OURS) {
		serve_close(TAKE_PTR(run->recording.door));
		job.has_exit_code = true;
		job.exit_code = status;
		announce_end(run, &job, false);
		return status;
	}
	jobhost_fail(host, status, err->msg);
	finish(run, host, &totals);
	run_recording_end_folder(&run->recording, &totals.recorder);
	return status;
}

static int begin(struct run *run, struct loop **ret_loop, struct jobhost **ret_host,
                 struct err *err)
{
	struct launcher *launcher = NULL;

	if (loop_new(ret_loop, err) < 0 ||
	    launcher_new(*ret_loop, &run->inherited, &launcher, err) < 0)
		return -err->code;
	if (run->options.captures && run->recording.folder)
		run->capture = run_capture_start(run->recording.folder);
	run->host.capture = run->capture;
	if (jobhost_new(*ret_loop, launcher, &run->host, ret_host, err) < 0)
		return -err->code;
	return 0;
}

/* Nothing can be watched here, which is no reason not to run the command. Limits are. */
static int run_unrecorded(struct run *run, struct err *why)
{
	struct err err;

	if (run_options_have_limits(&run->options))
		return cli_command_failed(NULL, why);
	log_warn("the command runs unrecorded: %s", why->msg);
	runfolder_close(TAKE_PTR(run->recording.folder));
	reset_environment(run);
	(void)!launcher_run_unwatched(&run->inherited, run->host.argv, &err);
	return cli_command_failed(run->host.argv[0], &err);
}

/* Returns only when the command did not start. */
static int run_job(struct run *run)
{
	cleanup(loop_freep) struct loop *loop = NULL;
	cleanup(jobhost_freep) struct jobhost *host = NULL;
	struct launch_end end;
	struct engine_totals totals;
	struct err err;

	launcher_save_inherited(&run->inherited, run->recording.cli->sigpipe);
	if (begin(run, &loop, &host, &err) < 0)
		return run_unrecorded(run, &err);
	run->announcer = run_announcer_new(
		loop, &(struct run_announcer_options){ .engine = jobhost_engine(host),
	                                               .job = jobhost_row(host),
	                                               .pid = jobhost_pid(host) });
	open_door(run, loop, host);
	if (jobhost_start(host, &err) < 0)
		return give_up(run, host, &err);
	run_recording_watch(&run->recording, loop, jobhost_engine(host));
	if (jobhost_run(host, &err) < 0)
		log_warn("%s", err.msg);
	run_recording_unwatch(&run->recording);
	run_capture_end(run->capture, run->options.out);
	finish(run, host, &totals);
	end = *jobhost_end(host);
	jobhost_free(TAKE_PTR(host));
	run_recording_end_folder(&run->recording, &totals.recorder);
	run_recording_print_end(&run->recording, &totals);
	launch_end_alike(&end);
}

/* The expected usage, from earlier runs of the job's type, as advice: 0 if nothing is known. */
static uint64_t estimate_memory(const struct run_recording *r)
{
	const struct estimate_query query = { .type = r->job.type,
		                              .policy = PEAK_LOW_WASTE,
		                              .uid = user_namespace_own_uid(),
		                              .attempt = 1 };
	cleanup(history_closep) struct history *past = NULL;
	struct type_estimate e;
	struct err err;

	if (!r->place.path || history_open(r->place.path, &past, &err) < 0 ||
	    type_estimate_gather(past, &query, &e, &err) < 0)
		return 0;
	return (uint64_t)e.memory.value;
}

static void wait_for_room(const struct run *run)
{
	struct admission room = { .limits = cli_pressure_limits(&run->recording.config) };

	if (run->options.waits_for_room) {
		room.estimated_bytes = estimate_memory(&run->recording);
		admission_wait(&room, run->recording.job.type);
	}
	admission_done(&room);
}

/* Slurm ends its job then. */
static void set_batch_time(struct run *run)
{
	const char *text = getenv("SLURM_JOB_END_TIME");
	struct scan s = scan_str(text ? text : "");
	uint64_t end_s, now_s = clock_wall_ns() / NS_PER_S;

	if (scan_u64(&s, &end_s) && end_s > now_s && end_s - now_s < BATCH_TIME_MOST_S)
		run->recording.job.allowed.time_ns = (end_s - now_s) * NS_PER_S;
}

static void set_host_options(struct run *run)
{
	struct jobhost_options *host = &run->host;

	run_recording_set_engine(&run->recording, &host->engine);
	host->job = &run->recording.job;
	host->grace_ns = run->options.grace_ns;
	host->waits = run->options.waits;
	host->kills_leftovers = run->options.kills_leftovers;
	host->set_pipeline = run_recording_set_pipeline;
	host->ask_verdict = ask_verdict;
	host->self = &run->recording;
}

static int run_command(struct run *run, int argc, char **argv)
{
	struct run_recording *r = &run->recording;
	struct err err;
	int status;

	if (run_options_name_job(&run->options, argc, argv, &r->job, &err) < 0)
		return cli_command_failed(NULL, &err);
	run->host.argv = argv;
	run_recording_find_store(r);
	if (r->config.profiler.auto_tags)
		auto_tags_add(&run->options.tags, r->job.tags);
	wait_for_room(run);
	set_batch_time(run);
	run_recording_begin(r);
	set_host_options(run);
	set_environment(run);
	status = run_job(run);
	capture_free(run->capture);
	free(run->given_program);
	free(run->given_state_dir);
	return status;
}

/* Tags of our own environment are not that process's. */
static int run_watch(struct run *run)
{
	struct pidhost_target target = { 0 };
	struct err err;
	int status;

	if (run_pid_name_job(&run->options, &target, &run->recording.job, &err) < 0)
		return cli_command_failed(NULL, &err);
	run_recording_find_store(&run->recording);
	run_recording_begin(&run->recording);
	status = run_pid(&run->recording, &target);
	buf_done(&target.command);
	return status;
}

static int run_run(struct cli *cli, int argc, char **argv)
{
	struct run run = { .recording = { .cli = cli } };
	int first, status;

	if (!run_options_parse(cli, argc, argv, &run.options, &first))
		return cli->status == CLI_OK ? CLI_OK : EXEC_ERROR_OURS;
	run.recording.options = &run.options;
	status = run.options.pid ? run_watch(&run) : run_command(&run, argc - first, argv + first);
	run_recording_done(&run.recording);
	return status;
}

const struct verb verb_run = {
	.name = "run",
	.summary = "run a command and record all its processes",
	.usage = "[OPTION…] [--] COMMAND [ARG…] | [OPTION…] --pid PID",
	.about = about,
	.instead_of_json = "ask `proctor report --json` when the job is over",
	.example = "proctor run --mem 8G --tag branch=main -- python3 train.py",
	.run = run_run,
};
