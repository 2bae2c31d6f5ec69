/* SPDX-License-Identifier: MIT */
/* verb_run.c - `proctor run`: one command, recorded from its first process to its last, and left as it
 * would have been without us. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/verb_report.h"
#include "cli/admission.h"
#include "cli/auto_tags.h"
#include "cli/run_announcer.h"
#include "cli/spawn_unwatched.h"
#include "cli/verdict_client.h"
#include "engine/jobhost.h"
#include "engine/pidhost.h"
#include "job/job_ident.h"
#include "job/job_type.h"
#include "runfolder/runfolder.h"
#include "model/redaction.h"
#include "sqlite/schema_format.h"
#include "store/side_store.h"
#include "view/run_view.h"

#define BUDGET_RATIO 0.01 /* of one core */
#define INTERVAL_MIN_NS (50 * NS_PER_MS)
#define INTERVAL_NS NS_PER_S
#define GRACE_NS (10 * NS_PER_S)
#define RETENTION_AFTER_NS (30 * NS_PER_S)             /* a short job has no time for it */
#define BATCH_TIME_MOST_S (UINT64_C(10) * 365 * 86400) /* more is no limit */
#define ARGV_BYTES_MAX ((size_t)1 << 16)               /* of the command line that are looked at */

static const char about[] =
	"Runs the command and records every process of it: CPU time, memory, I/O, ends, until it is over.\n"
	"The command has its terminal, pipes, signals and exit status as without proctor; what proctor\n"
	"prints goes to stderr. 125: proctor failed before the start, 126: the command cannot be run,\n"
	"127: it was not found.\n"
	"--pid watches a process of yours that runs already, until it ends or Ctrl-C, which does not affect\n"
	"it. Only what happens from then on counts.";

struct run {
	struct cli *cli;
	struct config config;
	struct job job;
	struct jobhost_options host;
	char state_dir[CONFIG_PATH_MAX];
	struct store_place place;
	const char *db_path; /* NULL: the job runs unrecorded */
	char side_path[CONFIG_PATH_MAX], side_dir[CONFIG_PATH_MAX];
	char *given_program,
		*given_state_dir; /* PROCTOR and PROCTOR_STATE_DIR before us; NULL: not set */
	bool sets_program, sets_state_dir;
	struct opt_list tags;
	const char *name, *job_id, *tier, *out;
	struct serve *door;            /* NULL: it has none */
	struct latest_snapshot latest; /* for the door */
	struct run_announcer *announcer;
	struct launch_inherited inherited;
	struct runfolder *folder;
	struct capture *capture; /* NULL: it is not captured */
	uint64_t interval_ns, grace_ns;
	struct run_anomalies notes;
	bool no_bpf, summary, quiet, waits_for_room, captures;
	/* Of a process that runs already, instead of a command. */
	uint64_t pid; /* 0: none */
	struct pidhost_target target;
	struct job last; /* as in the last snapshot */
	bool goes_on;    /* it was not over then */
};

static void on_notice(void *self, const char *text)
{
	struct run *run = self;

	if (!run->quiet)
		log_warn("%s", text);
}

static void publish(void *self, const struct snapshot *snap)
{
	struct run *run = self;

	if (run->door)
		serve_publish(run->door, snap);
}

static void keep_anomalies(void *self, const struct snapshot *snap)
{
	struct run *run = self;

	vec_each(&snap->anomalies, a)
		run_anomalies_add(&run->notes, a);
}

static void keep_job(void *self, const struct snapshot *snap)
{
	struct run *run = self;

	if (snap->jobs.len)
		run->last = snap->jobs.at[0];
}

/* What becomes of each snapshot of the job. */
static void set_pipeline(void *self, struct engine *engine)
{
	struct run *run = self;
	const struct pipeline pipeline = {
		.stages = { { "pressure", PASS_TICK, engine_stage_pressure, engine },
		            { "anomalies", PASS_ALL, engine_stage_anomalies, engine },
		            { "job figures", PASS_ALL, engine_stage_jobs, engine } },
		.sinks = { { "latest", PASS_TICK, latest_snapshot_take, .self = &run->latest },
		           { "bus", PASS_ALL, publish, .self = run },
		           { "end block", PASS_ALL, keep_anomalies, .self = run },
		           { "last state", PASS_ALL, keep_job, .self = run },
		           engine_sink_recorder(engine) },
	};

	engine_set_pipeline(engine, &pipeline);
}

static void ask_verdict(void *self, struct proc_id command, const struct proc_id *killed, size_t n,
                        struct cause_verdict *ret)
{
	(void)self;
	verdict_client_ask(command, killed, n, ret);
}

/* ---- what it is called ----------------------------------------------------------------------- */

static void put_command(struct job *job, char *const *argv)
{
	struct buf joined = { .max = ARGV_BYTES_MAX };
	const size_t room = sizeof job->command - 1;
	size_t len;

	for (; *argv && buf_put(&joined, *argv, strlen(*argv) + 1); argv++)
		;
	len = redact_command(joined.at, joined.len, job->command, room);
	job->command[*argv ? text_mark_cut(job->command, len, room) : len] = '\0';
	buf_done(&joined);
}

static void put_cwd(struct job *job)
{
	cleanup(freep) char *cwd = getcwd(NULL, 0);

	if (cwd)
		text_copy(job->cwd, sizeof job->cwd, cwd);
}

static void generate_id(struct job *job, const char *name)
{
	uint64_t random = 0;

	(void)!getrandom(&random, sizeof random, GRND_NONBLOCK);
	job_ident_new(name, clock_wall_ns(), getpid(), random, job->id);
}

static int name_job(struct run *run, int argc, char **argv, struct err *err)
{
	struct job *job = &run->job;
	const char *parent = getenv("PROCTOR_JOB_ID");

	job->type_is_given = run->name != NULL;
	if (run->name)
		snprintf(job->type, sizeof job->type, "%s", run->name);
	else
		job_type(argc, argv, job->type);
	if (run->job_id)
		snprintf(job->id, sizeof job->id, "%s", run->job_id);
	else
		generate_id(job, job->type);
	if (parent)
		snprintf(job->parent, sizeof job->parent, "%s", parent);
	job->uid = geteuid();
	put_command(job, argv);
	if (!run->pid)
		put_cwd(job);
	return job_ident_tags_json(run->tags.at, run->tags.len, job->tags, err);
}

static int check_name(const struct run *run, const char *option, const char *name)
{
	struct err err;

	if (!name || job_ident_check(name, &err) == 0)
		return CLI_OK;
	return cli_usage(run->cli, "--%s: %s", option, err.msg);
}

/* ---- options --------------------------------------------------------------------------------- */

static bool has_limits(const struct run *run)
{
	for (size_t i = 0; i < JOB_LIMIT_COUNT; i++)
		if (run->job.limit[i])
			return true;
	return false;
}

static bool needs_command(const struct run *run)
{
	return has_limits(run) || run->host.waits || run->host.kills_leftovers ||
	       run->waits_for_room || run->captures;
}

static int check_options(struct run *run, int words)
{
	struct sampler_options *s = &run->host.engine.sampler;

	if (!run->pid && words == 0)
		return cli_usage(run->cli, "no command given");
	if (run->pid && words)
		return cli_usage(run->cli, "either a command or --pid");
	if (run->pid && needs_command(run))
		return cli_usage(run->cli, "limits, --wait, --kill-leftovers, --wait-for-room and "
		                           "--capture are for a command, not for --pid");
	if (run->captures && !run->out)
		return cli_usage(run->cli, "--capture needs --out DIR, the folder to write into");
	if (check_name(run, "name", run->name) || check_name(run, "job-id", run->job_id))
		return CLI_USAGE;
	s->no_bpf = run->no_bpf;
	if (!run->tier || strcmp(run->tier, "bpf") == 0)
		return CLI_OK;
	s->no_bpf = true;
	if (strcmp(run->tier, "connector") == 0)
		return CLI_OK;
	s->no_events = true;
	if (strcmp(run->tier, "looks") == 0)
		return CLI_OK;
	return cli_usage(run->cli, "--tier '%s': not bpf, connector or looks", run->tier);
}

#define NOT_GIVEN UINT64_MAX

#define PIDS_MAX 4194304 /* the kernel's PID_MAX_LIMIT */

/* 0 stands for "none" from here on, so it cannot be asked for. */
static int check_numbers(struct run *run)
{
	uint64_t pids = run->job.limit[JOB_LIMIT_PIDS];

	if (pids != NOT_GIVEN && pids > PIDS_MAX)
		return cli_usage(run->cli, "--pids %llu: the kernel has room for %d at most",
		                 (unsigned long long)pids, PIDS_MAX);
	for (enum job_limit i = 0; i < JOB_LIMIT_COUNT; i++) {
		if (run->job.limit[i] == 0)
			return cli_usage(run->cli, "--%s must be greater than 0",
			                 job_limit_name(i));
		if (run->job.limit[i] == NOT_GIVEN)
			run->job.limit[i] = 0;
	}
	if (run->pid == 0 || (run->pid != NOT_GIVEN && run->pid > PIDS_MAX))
		return cli_usage(run->cli, "--pid %llu is not the number of a process",
		                 (unsigned long long)run->pid);
	if (run->pid == NOT_GIVEN)
		run->pid = 0;
	if (run->interval_ns < INTERVAL_MIN_NS)
		return cli_usage(run->cli, "--interval must be 0.05 s or more");
	if (run->interval_ns == NOT_GIVEN)
		run->interval_ns = 0;
	return CLI_OK;
}

static bool parse(struct run *run, int argc, char **argv, int *ret_first)
{
	struct cli *cli = run->cli;
	uint64_t *limit = run->job.limit;
	const struct opt opts[] = {
		{ "name", 0, OPT_TEXT, &run->name, "TYPE",
		  "job type: what makes two runs comparable (default: from the command)" },
		{ "job-id", 0, OPT_TEXT, &run->job_id, "ID", "id of this run (default: made up)" },
		{ "tag", 't', OPT_LIST, &run->tags, "K=V", "a tag; may be given more than once" },
		{ "interval", 'i', OPT_DURATION, &run->interval_ns, "TIME",
		  "time between two samples (default: 0.05 s at first, growing to 1 s)" },
		{ "pid", 0, OPT_U64, &run->pid, "PID",
		  "watch a process that runs already, and its descendants, from now on" },
		{ "out", 'o', OPT_PATH, &run->out, "DIR",
		  "also write a run folder: run log, CSV files, summary, report" },
		{ "capture", 0, OPT_FLAG, &run->captures, NULL,
		  "with --out: copy stdout and stderr into the folder, too" },
		{ "mem", 0, OPT_SIZE, &limit[JOB_LIMIT_MEM], "SIZE", "memory limit: 500M, 8G" },
		{ "cpu", 0, OPT_MILLI, &limit[JOB_LIMIT_CPU], "CORES", "CPU limit: 2, 0.5" },
		{ "pids", 0, OPT_U64, &limit[JOB_LIMIT_PIDS], "N",
		  "limit of processes and threads" },
		{ "time", 0, OPT_DURATION, &limit[JOB_LIMIT_TIME], "TIME",
		  "time limit, 1h30m or 1:30:00: SIGTERM to the whole job, then SIGKILL" },
		{ "grace", 0, OPT_DURATION, &run->grace_ns, "TIME",
		  "between SIGTERM and SIGKILL (default: 10s)" },
		{ "wait", 'w', OPT_FLAG, &run->host.waits, NULL,
		  "stay until all its processes have ended" },
		{ "kill-leftovers", 0, OPT_FLAG, &run->host.kills_leftovers, NULL,
		  "end what its command leaves behind" },
		{ "wait-for-room", 0, OPT_FLAG, &run->waits_for_room, NULL,
		  "begin when the machine has room: see proctor pressure" },
		{ "summary", 0, OPT_FLAG, &run->summary, NULL,
		  "show what it took also when stderr is no terminal (as PROCTOR_SUMMARY=1)" },
		{ "quiet", 'q', OPT_FLAG, &run->quiet, NULL, "print nothing at the end" },
		{ "no-bpf", 0, OPT_FLAG, &run->no_bpf, NULL,
		  "stay off BPF, as on kernels without it" },
		{ "tier", 0, OPT_TEXT, &run->tier, "TIER",
		  "watch by bpf, connector or looks at most" },
		CLI_COMMON_OPTS(cli),
	};

	for (size_t i = 0; i < JOB_LIMIT_COUNT; i++)
		limit[i] = NOT_GIVEN;
	run->interval_ns = run->pid = NOT_GIVEN;
	if (!cli_parse_command(cli, opts, argc, argv, ret_first))
		return false;
	cli->status = check_numbers(run);
	if (cli->status == CLI_OK)
		cli->status = check_options(run, argc - *ret_first);
	return cli->status == CLI_OK;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* A state directory that cannot be used costs the record, never the job. */
static void find_store(struct run *run)
{
	if (cli_config(run->cli, &run->config) != CLI_OK)
		log_warn("the wrong settings are ignored");
	if (cli_make_state_dir(run->cli, run->state_dir) != CLI_OK) {
		log_warn("the job runs unrecorded");
		run->state_dir[0] = '\0';
		return;
	}
	if (cli_make_store_place(&run->config, run->state_dir, &run->place) == CLI_OK)
		run->db_path = run->place.path;
	else
		log_warn("the job runs unrecorded");
}

/* An id that was asked for may exist; a generated one is random enough not to. Final from here on. */
static void claim_job_id(struct run *run)
{
	cleanup(store_closep) struct store *store = NULL;
	const struct store_options options = { .path = run->db_path,
		                               .kind = "run",
		                               .is_brief = true,
		                               .has_rollback_journal = run->place.is_per_host };
	const char *notice;
	bool changed = false;
	struct err err;

	if (!run->job_id || !run->db_path)
		return;
	if (store_open(&options, &store, &notice, &err) < 0 ||
	    store_claim_job_id(store, run->job.uid, run->job.id, &changed, &err) < 0) {
		generate_id(&run->job, run->job_id); /* another job may have the id */
		log_warn("id %s could not be claimed (%s): this job is %s", run->job_id, err.msg,
		         run->job.id);
	} else if (changed)
		log_warn("there is a job %s already: this one is %s", run->job_id, run->job.id);
}

static void open_folder(struct run *run)
{
	const struct runfolder_options options = { .path = run->out,
		                                   .job_id = run->job.id,
		                                   .interval_ns = run->interval_ns };
	struct err err;

	if (!run->out)
		return;
	if (runfolder_open(&options, &run->folder, &err) < 0)
		log_warn("the job runs without its folder: %s", err.msg);
	else if (runfolder_moved_to(run->folder) && !run->quiet)
		log_info("an earlier run was moved to %s", runfolder_moved_to(run->folder));
}

static void set_engine_options(struct run *run)
{
	struct engine_options *o = &run->host.engine;

	cli_sampler_options(&run->config, &o->sampler);
	o->anomaly = run->config.anomaly;
	o->limits = cli_pressure_limits(&run->config);
	o->interval_ns = run->interval_ns ? run->interval_ns : INTERVAL_NS;
	o->keep_interval = run->interval_ns != 0;
	o->starts_fine = run->interval_ns == 0;
	o->budget_ratio = BUDGET_RATIO;
	o->notice = on_notice;
	o->notice_self = run;
	o->sampler.jobs_only = true;
	o->recorder.opens_later = true;
	o->recorder.is_patient = true;
	o->recorder.folder = run->folder;
	o->recorder.retention_after_ns = RETENTION_AFTER_NS;
	o->recorder.retention = cli_retention(&run->config);
	o->recorder.store.path = run->db_path;
	o->recorder.store.has_rollback_journal = run->place.is_per_host;
	o->recorder.store.kind = "run";
	o->recorder.store.is_brief = true;
	o->recorder.store.interval_ns = o->interval_ns;
	run->host.job = &run->job;
	run->host.grace_ns = run->grace_ns;
	run->host.set_pipeline = set_pipeline;
	run->host.ask_verdict = ask_verdict;
	run->host.self = run;
}

/* Readers look for proctor.db in a state directory, unless the configuration names another file. */
static void point_to_side_store(struct run *run, struct run_record *record)
{
	struct err ignored;

	if (side_store_path(run->db_path, SCHEMA_VERSION, run->side_path, sizeof run->side_path,
	                    &ignored) < 0)
		return;
	record->side_path = run->side_path;
	record->state_dir = NULL;
	if (*run->config.profiler.storage_path)
		return;
	snprintf(run->side_dir, sizeof run->side_dir, "%.*s",
	         (int)(strrchr(run->side_path, '/') - run->side_path), run->side_path);
	record->state_dir = run->side_dir;
}

static struct run_record record_of(struct run *run, const struct engine_totals *totals)
{
	const struct recorder_status *r = &totals->recorder;
	struct run_record record = { .is_stored = r->has_end,
		                     .state_dir = run->cli->state_dir,
		                     .notes = &run->notes };

	if (!run->db_path)
		record.trouble = "there is no place for it";
	else if (!r->has_end || r->lost || r->events_lost)
		record.trouble = r->reason;
	record.events_lost = r->events_lost;
	record.watched_pid = (pid_t)run->pid;
	record.watched_age_ns = run->target.age_ns;
	if (r->is_side)
		point_to_side_store(run, &record);
	return record;
}

/* The terminal shows the key that ended the job, ^C, and the cursor stays behind it. */
static bool stands_behind_key(const struct job *job, bool was_interrupted)
{
	struct termios mode;

	return (job->signal == SIGINT || job->signal == SIGQUIT || was_interrupted) &&
	       tcgetattr(STDERR_FILENO, &mode) == 0 && mode.c_lflag & ECHO &&
	       mode.c_lflag & ECHOCTL;
}

/* By the option, the environment, the configuration, or because a person sees it. */
static bool shows_end(const struct run *run)
{
	const char *asked = getenv("PROCTOR_SUMMARY");

	if (run->summary)
		return true;
	if (asked && *asked)
		return strcmp(asked, "0") != 0;
	if (run->config.profiler.run_summary != SWITCH_AUTO)
		return run->config.profiler.run_summary == SWITCH_ON;
	return isatty(STDERR_FILENO);
}

static void print_end(struct run *run, const struct job *job, const struct engine_totals *totals)
{
	struct style style = cli_style_of(run->cli, STDERR_FILENO);
	struct run_record record = record_of(run, totals);
	struct buf out = { 0 };

	if (run->quiet)
		return;
	if (!shows_end(run)) {
		if (run->db_path && record.trouble && !totals->loss_is_reported)
			log_warn("the record of this job is %s: %s",
			         record.is_stored ? "incomplete" : "not stored", record.trouble);
		return;
	}
	if (stands_behind_key(job, run->goes_on))
		buf_putc(&out, '\n');
	run_view(job, &record, (unsigned)sysconf(_SC_NPROCESSORS_ONLN), CANVAS(&style, &out));
	(void)io_write_timeout(STDERR_FILENO, out.at, out.len, LOG_TIMEOUT_NS);
	buf_done(&out);
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

	setenv("PROCTOR_JOB_ID", run->job.id, 1);
	if (program)
		run->sets_program = set_variable("PROCTOR", program, &run->given_program);
	if (*run->state_dir && !cli_env_finds(run->state_dir))
		run->sets_state_dir = set_variable("PROCTOR_STATE_DIR", run->state_dir,
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
	put_back("PROCTOR_JOB_ID", *run->job.parent ? run->job.parent : NULL);
	if (run->sets_program)
		put_back("PROCTOR", run->given_program);
	if (run->sets_state_dir)
		put_back("PROCTOR_STATE_DIR", run->given_state_dir);
}

/* Opens jobs/ID/sock in the state directory. */
static void open_door(struct run *run, struct loop *loop, struct jobhost *host)
{
	cleanup(freep) char *dir = xasprintf("%s/jobs/%s", run->state_dir, run->job.id);
	const struct serve_host answers = { .engine = jobhost_engine(host),
		                            .latest = &run->latest,
		                            .db_path = run->db_path,
		                            .observer = &run_announcer_observer,
		                            .observer_self = run->announcer };
	struct err err;

	if (*run->state_dir && serve_open(loop, dir, &answers, &run->door, &err) < 0)
		on_notice(run, err.msg);
}

static void end_folder(struct run *run, const struct job *job, const struct recorder_status *r)
{
	struct buf report = { 0 };
	struct err err;

	if (!run->folder)
		return;
	if (!r->has_end || verb_report_text(run->cli, job->id, &report) != CLI_OK)
		verb_report_totals(job, &report);
	if (runfolder_end(run->folder, job, report.len ? report.at : NULL, &err) < 0 &&
	    !r->folder_failed)
		log_warn("%s", err.msg);
	runfolder_close(TAKE_PTR(run->folder));
	buf_done(&report);
}

/* The daemon publishes the end, so that comes after it was stored. */
static void announce_end(struct run *run, const struct job *job, bool is_stored)
{
	run_announcer_end(run->announcer, job, is_stored);
	run_announcer_free(TAKE_PTR(run->announcer));
}

static void finish(struct run *run, struct jobhost *host, struct job *ret,
                   struct engine_totals *ret_totals)
{
	serve_close(TAKE_PTR(run->door));
	jobhost_finish(host, ret, ret_totals);
	latest_snapshot_done(&run->latest);
	announce_end(run, ret, ret_totals->recorder.has_end);
}

static const char *const stream_names[CAPTURE_COUNT] = { "stdout", "stderr" };

/* What cannot be captured runs without. */
static void start_capture(struct run *run)
{
	int log_fds[CAPTURE_COUNT];
	struct err err;

	if (!run->captures || !run->folder)
		return;
	if (runfolder_create_logs(run->folder, capture_is_one_stream(), log_fds, &err) < 0 ||
	    capture_start(log_fds, &run->capture, &err) < 0) {
		log_warn("the output is not captured: %s", err.msg);
		return;
	}
	for (enum capture_stream i = 0; i < CAPTURE_COUNT; i++)
		if (capture_result(run->capture, i).was_terminal)
			log_warn("no pseudo-terminal can be opened: %s is a pipe for the command",
			         stream_names[i]);
	run->host.capture = run->capture;
}

static void end_capture(struct run *run)
{
	if (!run->capture)
		return;
	capture_finish(run->capture);
	for (enum capture_stream i = 0; i < CAPTURE_COUNT; i++) {
		struct capture_result r = capture_result(run->capture, i);

		if (r.lost)
			log_warn("'%s/%s.log' lacks the last %llu bytes: %s", run->out,
			         stream_names[i], (unsigned long long)r.lost, strerror(r.error));
	}
}

/* It is a job all the same: later queries must find how it ended. */
static int give_up(struct run *run, struct jobhost *host, struct err *err)
{
	int status = spawn_failed(run->host.argv[0], err);
	struct job job = jobhost_job(host)->job;
	struct engine_totals totals;

	end_capture(run);
	if (status == SPAWN_FAILED) {
		serve_close(TAKE_PTR(run->door));
		job.has_exit_code = true;
		job.exit_code = status;
		announce_end(run, &job, false);
		return status;
	}
	jobhost_fail(host, status, err->msg);
	finish(run, host, &job, &totals);
	end_folder(run, &job, &totals.recorder);
	return status;
}

static int begin(struct run *run, struct loop **ret_loop, struct jobhost **ret_host,
                 struct err *err)
{
	struct launcher *launcher = NULL;

	if (loop_new(ret_loop, err) < 0 ||
	    launcher_new(*ret_loop, &run->inherited, &launcher, err) < 0)
		return -err->code;
	start_capture(run);
	if (jobhost_new(*ret_loop, launcher, &run->host, ret_host, err) < 0)
		return -err->code;
	return 0;
}

/* Nothing can be watched here, which is no reason not to run the command. Limits are. */
static int run_unrecorded(struct run *run, struct err *why)
{
	struct err err;

	if (has_limits(run))
		return spawn_failed(NULL, why);
	log_warn("the command runs unrecorded: %s", why->msg);
	runfolder_close(TAKE_PTR(run->folder));
	reset_environment(run);
	(void)!launch_unwatched(&run->inherited, run->host.argv, &err);
	return spawn_failed(run->host.argv[0], &err);
}

/* Returns only when the command did not start. */
static int run_job(struct run *run)
{
	cleanup(loop_freep) struct loop *loop = NULL;
	cleanup(jobhost_freep) struct jobhost *host = NULL;
	struct launch_end end;
	struct engine_totals totals;
	struct job job;
	struct err err;

	launch_inherited_save(&run->inherited, run->cli->sigpipe);
	if (begin(run, &loop, &host, &err) < 0)
		return run_unrecorded(run, &err);
	run->announcer = run_announcer_new(loop, host);
	open_door(run, loop, host);
	if (jobhost_start(host, &err) < 0)
		return give_up(run, host, &err);
	if (jobhost_run(host, &err) < 0)
		log_warn("%s", err.msg);
	end_capture(run);
	finish(run, host, &job, &totals);
	end = *jobhost_end(host);
	jobhost_free(TAKE_PTR(host));
	end_folder(run, &job, &totals.recorder);
	print_end(run, &job, &totals);
	launch_end_alike(&end);
}

/* As its end was, if that is known; when we were interrupted, all is well. */
static int status_of(const struct run *run)
{
	const struct job *job = &run->last;

	if (run->goes_on)
		return CLI_OK;
	if (job->signal)
		return 128 + job->signal;
	return job->has_exit_code ? job->exit_code : CLI_FAILED;
}

static int watch_pid(struct run *run)
{
	const struct pidhost_options options = { .engine = run->host.engine,
		                                 .job = &run->job,
		                                 .id = run->target.id,
		                                 .set_pipeline = set_pipeline,
		                                 .self = run };
	cleanup(loop_freep) struct loop *loop = NULL;
	cleanup(pidhost_freep) struct pidhost *host = NULL;
	struct engine_totals totals;
	struct err err;

	if (loop_new(&loop, &err) < 0 || pidhost_new(loop, &options, &host, &err) < 0)
		return spawn_failed(NULL, &err);
	if (pidhost_run(host, &err) < 0)
		log_warn("%s", err.msg);
	run->goes_on = pidhost_finish(host, &totals);
	latest_snapshot_done(&run->latest);
	end_folder(run, &run->last, &totals.recorder);
	print_end(run, &run->last, &totals);
	if (!run->goes_on && !run->last.has_exit_code && !run->last.signal && !run->quiet)
		log_warn("process %llu has ended; its exit status is not known",
		         (unsigned long long)run->pid);
	return status_of(run);
}

#define WORDS_MAX 64 /* of a command line that is not ours */

/* It is named after its program, as a command is. */
static int name_target(struct run *run, struct err *err)
{
	struct buf *command = &run->target.command;
	char *argv[WORDS_MAX + 1];
	int argc = 0;

	if (pidhost_examine((pid_t)run->pid, &run->target, err) < 0)
		return -err->code;
	for (size_t at = 0; at + 1 < command->len && argc < WORDS_MAX;
	     at += strlen(command->at + at) + 1)
		argv[argc++] = command->at + at;
	argv[argc] = NULL;
	return name_job(run, argc, argv, err);
}

static void wait_for_room(const struct run *run)
{
	struct admission room = { .limits = cli_pressure_limits(&run->config) };

	if (run->waits_for_room)
		admission_wait(&room, run->job.type);
	admission_done(&room);
}

/* Slurm ends its job then. */
static void set_batch_time(struct run *run)
{
	const char *text = getenv("SLURM_JOB_END_TIME");
	struct scan s = scan_str(text ? text : "");
	uint64_t end_s, now_s = clock_wall_ns() / NS_PER_S;

	if (scan_u64(&s, &end_s) && end_s > now_s && end_s - now_s < BATCH_TIME_MOST_S)
		run->job.allowed.time_ns = (end_s - now_s) * NS_PER_S;
}

static int run_run(struct cli *cli, int argc, char **argv)
{
	struct run run = { .cli = cli, .grace_ns = GRACE_NS };
	struct err err;
	int first, status;

	if (!parse(&run, argc, argv, &first))
		return cli->status == CLI_OK ? CLI_OK : SPAWN_FAILED;
	if ((run.pid ? name_target(&run, &err) : name_job(&run, argc - first, argv + first, &err)) <
	    0)
		return spawn_failed(NULL, &err);
	run.host.argv = argv + first;
	find_store(&run);
	if (run.config.profiler.auto_tags && !run.pid) /* ours are not that process's */
		auto_tags_add(&run.tags, run.job.tags);
	wait_for_room(&run);
	if (!run.pid)
		set_batch_time(&run);
	claim_job_id(&run);
	open_folder(&run);
	set_engine_options(&run);
	if (!run.pid)
		set_environment(&run);
	status = run.pid ? watch_pid(&run) : run_job(&run);
	buf_done(&run.target.command);
	capture_free(run.capture);
	free(run.given_program);
	free(run.given_state_dir);
	store_place_done(&run.place);
	return status;
}

const struct verb verb_run = {
	.name = "run",
	.summary = "run a command and record all its processes",
	.usage = "[OPTION…] [--] COMMAND [ARG…] | [OPTION…] --pid PID",
	.about = about,
	.instead_of_json = "ask `proctor report --json` when the job is over",
	.run = run_run,
};
