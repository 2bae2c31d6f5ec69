/* SPDX-License-Identifier: MIT */
#include "cli/run_recording.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "analyze/verdict_rules.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/job_selection.h"
#include "cli/verb_report.h"
#include "config/config_key.h"
#include "probe/bpf/bpf_call.h"
#include "serve/type_history_loader.h"
#include "sqlite/schema_version.h"
#include "store/side_store.h"
#include "view/job_view.h"
#include "view/verdict_view.h"

#define BUDGET_RATIO 0.01 /* of one core */
#define INTERVAL_NS NS_PER_S
#define PAST_AFTER_NS NS_PER_S             /* … nor needs it this */
#define RETENTION_AFTER_NS (30 * NS_PER_S) /* a short job has no time for it */

/* ---- where it is recorded -------------------------------------------------------------------- */

static void warn_unrecorded(const struct err *why)
{
	log_error("%s", why->msg);
	log_warn("the job runs unrecorded");
}

/* A state directory that cannot be used costs the record, never the job. */
void run_recording_find_store(struct run_recording *r)
{
	struct err err;

	if (cli_config(r->cli, &r->config) != CLI_OK)
		log_warn("invalid settings are ignored");
	r->cli->keeps_quiet = r->options->quiet;
	if (cli_make_state_dir(r->cli, r->state_dir, &err) < 0) {
		warn_unrecorded(&err);
		r->state_dir[0] = '\0';
		return;
	}
	if (cli_make_store_place(&r->config, r->state_dir, &r->place, &err) == 0)
		r->db_path = r->place.path;
	else
		warn_unrecorded(&err);
}

/* An id that was asked for may exist; a generated one is random enough not to. Final from here on. */
static void claim_job_id(struct run_recording *r)
{
	cleanup(store_closep) struct store *store = NULL;
	const struct store_options options = { .path = r->db_path,
		                               .kind = "run",
		                               .is_brief = true,
		                               .has_rollback_journal = r->place.is_per_host };
	const char *notice;
	bool changed = false;
	struct err err;

	if (!r->options->job_id || !r->db_path)
		return;
	if (store_open(&options, &store, &notice, &err) < 0 ||
	    store_claim_job_id(store, r->job.uid, r->job.id, &changed, &err) < 0) {
		/* Another job may have the id. */
		run_options_generate_id(r->options->job_id, &r->job);
		log_warn("id %s could not be claimed (%s): this job is %s", r->options->job_id,
		         err.msg, r->job.id);
	} else if (changed)
		log_warn("job %s already exists: this one is %s", r->options->job_id, r->job.id);
}

static void open_folder(struct run_recording *r)
{
	const struct runfolder_options options = { .path = r->options->out,
		                                   .job = job_key_of(&r->job),
		                                   .interval_ns = r->options->interval_ns };
	struct err err;

	if (!r->options->out)
		return;
	if (runfolder_open(&options, &r->folder, &err) < 0)
		log_warn("no run folder is written: %s%s", err.msg,
		         strchr(err.msg, ';') ? "" : "; choose another directory with --out DIR");
	if (r->folder && runfolder_moved_to(r->folder) && !r->options->quiet)
		log_info("an earlier run was moved to %s", runfolder_moved_to(r->folder));
}

static void start_hook(struct run_recording *r)
{
	struct err err;

	if (!r->options->on_anomaly)
		return;
	r->hook = anomaly_hook_new(r->options->on_anomaly, run_recording_notice, r, &err);
	if (!r->hook)
		run_recording_notice(r, err.msg);
}

void run_recording_begin(struct run_recording *r)
{
	start_hook(r);
	claim_job_id(r);
	open_folder(r);
}

void run_recording_done(struct run_recording *r)
{
	anomaly_hook_end(TAKE_PTR(r->hook));
	store_place_done(&r->place);
}

/* ---- what becomes of its snapshots ----------------------------------------------------------- */

void run_recording_notice(void *self, const char *text)
{
	struct run_recording *r = self;

	if (!r->options->quiet)
		log_warn("%s", text);
}

static void publish(void *self, const struct snapshot *snap)
{
	struct run_recording *r = self;

	if (r->door)
		serve_publish(r->door, snap);
}

static void keep_anomalies(void *self, const struct snapshot *snap)
{
	struct run_recording *r = self;

	vec_each(&snap->anomalies, a)
		run_anomalies_add(&r->notes, a);
}

static void pass_anomalies(void *self, const struct snapshot *snap)
{
	struct run_recording *r = self;

	anomaly_hook_take(r->hook, snap);
}

static void keep_job(void *self, const struct snapshot *snap)
{
	struct run_recording *r = self;

	if (snap->jobs.len)
		r->last = snap->jobs.at[0];
}

void run_recording_set_pipeline(void *self, struct engine *engine)
{
	struct run_recording *r = self;
	const struct pipeline pipeline = {
		.stages = { { "pressure", ON_TICKS, engine_stage_pressure, engine },
		            { "job figures", ON_BOTH, engine_stage_jobs, engine },
		            { "anomalies", ON_BOTH, engine_stage_anomalies, engine } },
		.sinks = { { "latest", ON_TICKS, latest_snapshot_take, .self = &r->latest },
		           { "bus", ON_BOTH, publish, .self = r },
		           { "end block", ON_BOTH, keep_anomalies, .self = r },
		           { "hook", ON_BOTH, pass_anomalies, .self = r },
		           { "last state", ON_BOTH, keep_job, .self = r },
		           engine_sink_recorder(engine) },
	};

	engine_set_pipeline(engine, &pipeline);
}

/* Asked for, or configured: then as a daemon counts, by BPF alone. strace, which a job can notice, only counts when
 * it is asked for. */
static bool counts_syscalls(const struct run_recording *r)
{
	struct err why_not;

	return r->options->traces_syscalls ||
	       (r->config.profiler.strace_enabled && !r->options->no_bpf &&
	        bpf_check_rights(&why_not) == 0);
}

void run_recording_set_engine(struct run_recording *r, struct engine_options *ret)
{
	const struct run_options *options = r->options;

	cli_sampler_options(&r->config, &ret->sampler);
	ret->sampler.no_bpf |= options->no_bpf;
	ret->sampler.no_events = options->no_events;
	ret->sampler.traces_syscalls = counts_syscalls(r);
	ret->sampler.strace_dirs = options->uses_strace ? getenv("PATH") : NULL;
	ret->sampler.flight_calls = (uint32_t)options->flight_calls;
	ret->anomaly = r->config.anomaly;
	ret->limits = cli_pressure_limits(&r->config);
	ret->interval_ns = options->interval_ns ? options->interval_ns : INTERVAL_NS;
	ret->keep_interval = options->interval_ns != 0;
	ret->starts_fine = options->interval_ns == 0;
	ret->budget_ratio = BUDGET_RATIO;
	ret->notice = run_recording_notice;
	ret->notice_self = r;
	ret->sampler.jobs_only = true;
	ret->recorder.opens_later = true;
	ret->recorder.waits_for_disk = true;
	ret->recorder.folder = r->folder;
	ret->recorder.retention_after_ns = RETENTION_AFTER_NS;
	ret->recorder.retention = cli_retention(&r->config);
	ret->recorder.store.path = r->db_path;
	ret->recorder.store.has_rollback_journal = r->place.is_per_host;
	ret->recorder.store.kind = "run";
	ret->recorder.store.is_brief = true;
	ret->recorder.store.interval_ns = ret->interval_ns;
}

/* ---- what is known of its type --------------------------------------------------------------- */

static void take_past(void *self, job_handle job, const struct type_history *past)
{
	struct run_recording *r = self;

	jobs_set_past(engine_jobs(r->engine), job, past);
}

/* Without it, anomalies are judged by fixed thresholds. */
static void load_past(void *self)
{
	struct run_recording *r = self;
	const struct job_roster *jobs = &engine_jobs(r->engine)->roster;
	struct type_history_loader how = { .db_path = r->db_path, .found = take_past, .self = r };
	struct err ignored;

	if (!jobs->rows.len)
		return;
	how.job = &jobs->rows.at[0]->job;
	(void)!type_history_loader_start(r->worker, &how, &ignored);
}

void run_recording_watch(struct run_recording *r, struct loop *loop, struct engine *engine)
{
	r->engine = engine;
	r->worker = store_worker_new(loop, 0);
	r->past_timer = loop_add_timer(loop, clock_mono_ns() + PAST_AFTER_NS, load_past, r);
	anomaly_hook_watch(r->hook, loop);
}

void run_recording_unwatch(struct run_recording *r)
{
	loop_remove(TAKE_PTR(r->past_timer));
	anomaly_hook_end(TAKE_PTR(r->hook));
	store_worker_free(TAKE_PTR(r->worker));
}

/* ---- its end --------------------------------------------------------------------------------- */

/* Readers expect proctor.db in a state directory, unless the configuration names another file. */
static void point_to_side_store(struct run_recording *r, struct run_record *record)
{
	struct err ignored;

	if (side_store_path(r->db_path, SCHEMA_VERSION, r->side_path, sizeof r->side_path,
	                    &ignored) < 0)
		return;
	record->side_path = r->side_path;
	record->state_dir = NULL;
	if (*r->config.profiler.storage_path)
		return;
	snprintf(r->side_dir, sizeof r->side_dir, "%.*s",
	         (int)(strrchr(r->side_path, '/') - r->side_path), r->side_path);
	record->state_dir = r->side_dir;
}

static struct run_record record_of(struct run_recording *r, const struct engine_totals *totals)
{
	const struct recorder_status *status = &totals->recorder;
	struct run_record record = { .is_stored = status->has_end,
		                     .state_dir = r->cli->state_dir,
		                     .notes = &r->notes };

	if (!r->db_path)
		record.trouble = "there is no place for it";
	else if (!status->has_end || status->lost || status->events_lost)
		record.trouble = status->reason;
	record.events_lost = status->events_lost;
	record.watched_pid = (pid_t)r->options->pid;
	record.watched_age_ns = r->watched_age_ns;
	if (status->is_side)
		point_to_side_store(r, &record);
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
static bool shows_end(const struct run_recording *r)
{
	const char *asked = getenv("PROCTOR_SUMMARY");
	bool is_on;

	if (r->options->summary)
		return true;
	if (asked && *asked)
		return config_parse_bool(scan_str(asked), &is_on) ? is_on : strcmp(asked, "0") != 0;
	if (r->config.profiler.run_summary != SWITCH_AUTO)
		return r->config.profiler.run_summary == SWITCH_ON;
	return isatty(STDERR_FILENO);
}

/* Why it failed, by all that was recorded, and what to request next time. Nothing if that cannot be read: its own end
 * explains enough then. */
static void explain(const struct run_recording *r, const struct job *job,
                    const struct run_record *record, struct buf *to, struct next_request *ret_next)
{
	cleanup(history_closep) struct history *reader = NULL;
	cleanup(report_done) struct report report = { .job = *job, .reader_uid = geteuid() };
	bool is_failed = job->status == JOB_FAILED;
	struct verdict verdict;
	struct err ignored;

	if (!record->is_stored || record->side_path ||
	    (!is_failed && !job_view_shows_next_request(job)) ||
	    history_open(r->db_path, &reader, &ignored) < 0)
		return;
	job_selection_now(&report);
	if ((is_failed ? report_gather(&report, reader, &ignored)
	               : next_request_gather(reader, job, &report.next, &ignored)) < 0)
		return;
	*ret_next = report.next;
	if (!is_failed)
		return;
	verdict_rules_judge(job, &report.facts, &verdict);
	verdict_view_line(job, &verdict, to);
}

void run_recording_print_end(struct run_recording *r, const struct engine_totals *totals)
{
	const struct job *job = &r->last;
	cleanup(buf_done) struct buf why = { 0 };
	struct style style = cli_style_of(r->cli, STDERR_FILENO);
	struct run_record record = record_of(r, totals);
	struct next_request next = { 0 };
	struct buf out = { 0 };

	if (r->options->quiet || !shows_end(r)) {
		/* A quiet run has reported nothing so far. */
		if (r->db_path && record.trouble &&
		    (r->options->quiet ? !record.is_stored : !totals->loss_is_reported))
			log_warn("the record of this job is %s: %s",
			         record.is_stored ? "incomplete" : "not stored", record.trouble);
		return;
	}
	explain(r, job, &record, &why, &next);
	record.next = &next;
	record.why = why.len ? why.at : NULL;
	if (stands_behind_key(job, r->goes_on))
		buf_putc(&out, '\n');
	run_view(job, &record, (unsigned)sysconf(_SC_NPROCESSORS_ONLN), CANVAS(&style, &out));
	(void)io_write_timeout(STDERR_FILENO, out.at, out.len, LOG_TIMEOUT_NS);
	buf_done(&out);
}

void run_recording_end_folder(struct run_recording *r, const struct recorder_status *status)
{
	const struct job *job = &r->last;
	struct buf report = { 0 };
	struct err err;

	if (!r->folder)
		return;
	if (!status->has_end || verb_report_text(r->cli, job->id, &report) != CLI_OK)
		verb_report_totals(job, &report);
	if (runfolder_end(r->folder, job, report.len ? report.at : NULL, &err) < 0 &&
	    !status->folder_failed)
		log_warn("%s", err.msg);
	runfolder_close(TAKE_PTR(r->folder));
	buf_done(&report);
}
