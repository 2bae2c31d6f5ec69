/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/registry.h"
#include "job/cgroup/cgroup_name.h"
#include "job/cgroup/own_cgroup.h"
#include "job/job_ident.h"
#include "job/signature.h"
#include "kernel/process_lookup.h"
#include "model/record_fields.h"
#include "model/redact.h"
#include "rpc/rpc_params.h"
#include "serve/input_redaction.h"
#include "serve/job_from_json.h"
#include "serve/job_lookup.h"
#include "serve/methods.h"
#include "serve/resource_context.h"
#include "view/job_view.h"

/* ---- job.list -------------------------------------------------------------------------------- */

#define RECORDED_MAX 1000

static void write_listed_job(struct json *j, const struct job_row *row)
{
	json_begin_object(j);
	field_table_json_in(j, &job_fields, IN_LIST, &row->job);
	json_put_str(j, "result", job_view_result(&row->job).at);
	json_open_array(j, "sheets");
	vec_each(&row->sheets, sheet) {
		json_begin_object(j);
		field_table_json_in(j, &sheet_fields, IN_LIST, &(struct sheet_record){ .s = *sheet });
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

METHOD(method_job_list)
{
	const struct job_roster *t = methods_jobs(self);
	uint64_t recorded = 0;

	if (rpc_params_u64(params, "recorded", 1, RECORDED_MAX, &recorded, err) < 0)
		return -err->code;
	if (recorded)
		return methods_list_recorded(self, peer, params, recorded, err);
	json_begin_object(result);
	json_open_array(result, "jobs");
	vec_each(&t->rows, row)
		if (methods_has_job(peer, &(*row)->job))
			write_listed_job(result, *row);
	json_end_array(result);
	json_end_object(result);
	return 0;
}

/* ---- job.start ------------------------------------------------------------------------------- */

static int name_param(const json_t *params, const char *name,
                      int (*check)(const char *text, struct err *err), char ret[static JOB_ID_MAX],
                      struct err *err)
{
	const char *text = NULL;
	int r = rpc_params_text(params, name, JOB_NAME_MAX, &text, err);

	if (r == 0 && text && check(text, err) < 0)
		return err_wrap(err, "%s", name);
	if (r == 0 && text)
		snprintf(ret, JOB_ID_MAX, "%s", text);
	return r;
}

/* Secrets are redacted, and what does not fit is cut off. */
static int text_param(const json_t *params, const char *name, char *ret, size_t size,
                      struct err *err)
{
	const char *text = NULL;
	int r = rpc_params_text(params, name, 65536, &text, err);

	if (r == 0 && text)
		ret[redact_command(text, strlen(text), ret, size - 1)] = '\0';
	return r;
}

/* The workspace becomes a tag. */
static int add_workspace(json_t *params, struct err *err)
{
	json_t *tags = json_object_get(params, "tags");
	const char *text = NULL;
	char path[JOB_CWD_MAX];
	int r = rpc_params_text(params, "workspace", JOB_CWD_MAX - 1, &text, err);

	if (r < 0 || !text)
		return r;
	snprintf(path, sizeof path, "%s", text);
	if (!signature_workspace_clean(path))
		return err_set(err, EINVAL,
		               "workspace: '%.64s' is not the whole path of a directory below '/'",
		               text);
	if (!tags) {
		tags = json_object();
		json_object_set_new(params, "tags", tags);
	}
	json_object_set_new(tags, SIGNATURE_WORKSPACE_TAG, json_string(path));
	return 0;
}

static int tags_param(const json_t *params, char ret[static JOB_TAGS_MAX], struct err *err)
{
	cleanup(freep) char *text = NULL;
	json_t *given = json_deep_copy(params), *value;
	const char *key;
	int r = 0;

	json_object_foreach(json_object_get(given, "tags"), key, value)
	{
		if (!json_is_string(value))
			r = err_set(err, EINVAL, "tags: '%.64s' must be a text", key);
		else if (r == 0)
			r = job_ident_check_tag_key(key, err);
	}
	if (r == 0)
		r = add_workspace(given, err);
	if (r == 0)
		r = input_redaction_object(given, "tags", JOB_TAGS_MAX - 1, &text, err);
	json_decref(given);
	if (r == 0 && text)
		snprintf(ret, JOB_TAGS_MAX, "%s", text);
	return r;
}

static int start_params(const json_t *params, struct job *ret, struct err *err)
{
	uint64_t total = 0;

	if (name_param(params, "job_id", job_ident_check_id, ret->id, err) < 0 ||
	    name_param(params, "job_type", job_ident_check, ret->type, err) < 0 ||
	    name_param(params, "parent_job_id", job_ident_check, ret->parent, err) < 0 ||
	    name_param(params, "recording", job_ident_check, ret->recording, err) < 0 ||
	    text_param(params, "command", ret->command, sizeof ret->command, err) < 0 ||
	    text_param(params, "cwd", ret->cwd, sizeof ret->cwd, err) < 0 ||
	    text_param(params, "tier", ret->tier, sizeof ret->tier, err) < 0 ||
	    tags_param(params, ret->tags, err) < 0 ||
	    rpc_params_bool(params, "has_recorder", &ret->has_recorder, err) < 0 ||
	    rpc_params_bool(params, "counts_from_now", &ret->counts_from_now, err) < 0 ||
	    rpc_params_seconds(params, "allowed_seconds", &ret->allowed.time_ns, err) < 0 ||
	    rpc_params_time(params, "started_at", &ret->started_ns, err) < 0 ||
	    rpc_params_u64(params, "total_sheets", 1, SERVE_SHEET_MAX, &total, err) < 0)
		return -err->code;
	ret->total_sheets = (uint32_t)total;
	ret->type_is_given = ret->type[0] != '\0';
	if (ret->has_recorder) {
		struct job announced = job_from_json(params);

		memcpy(ret->limit, announced.limit, sizeof ret->limit);
	}
	return 0;
}

/* A batch system or systemd has named the job if it has a control group of its own. */
static bool name_by_group(const struct methods *m, pid_t pid, struct job *job)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(freep) char *group = own_cgroup_find(root_fd, engine_jobs(m->host.engine)->reader,
	                                             pid, job->registrar.pid);
	struct cgroup_job known;

	if (!group || !cgroup_job_name(group, &known) ||
	    job_roster_find_key(methods_jobs(m), (struct job_key){ job->uid, known.id }) >= 0)
		return false;
	snprintf(job->id, sizeof job->id, "%s", known.id);
	return true;
}

/* Parameters that are absent are taken from the process. */
static void fill_in(struct methods *m, pid_t pid, struct job *job)
{
	const struct snapshot *snap = methods_latest(m);
	const struct proc_snap *p = snap && pid ? snapshot_find(snap, pid) : NULL;
	uint64_t random = 0;

	if (p && !job->command[0])
		snprintf(job->command, sizeof job->command, "%.*s", (int)p->s.command.len,
		         snapshot_string(snap, p->s.command));
	if (!job->type[0])
		snprintf(job->type, sizeof job->type, "job");
	if (job->id[0] || (pid && name_by_group(m, pid, job)))
		return;
	(void)!getrandom(&random, sizeof random, GRND_NONBLOCK);
	job_ident_new(job->type, clock_wall_ns(), pid ? pid : job->registrar.pid, random, job->id);
}

static void put_stored(struct json *j, enum stored stored)
{
	json_key(j, "stored");
	stored == STORED_UNKNOWN ? json_nil(j) : json_bool(j, stored == STORED_YES);
}

void methods_publish_job(struct methods *m, const struct job *job, pid_t pid, enum stored stored)
{
	static const char *const names[JOB_STATUS_COUNT] = {
		[JOB_RUNNING] = "job.started",
		[JOB_COMPLETED] = "job.completed",
		[JOB_FAILED] = "job.failed",
		[JOB_LOST] = "job.lost",
	};
	struct resource_context_jobs jobs = methods_count_jobs(m, NULL);
	struct json j = { .out = &m->scratch };

	if (!m->bus)
		return;
	buf_reset(&m->scratch);
	json_begin_object(&j);
	field_table_json_in(&j, &job_fields, IN_EVENT, job);
	put_stored(&j, stored);
	json_key(&j, "resource_context");
	resource_context_json(&j, methods_latest(m), NULL, pid, &jobs, NULL);
	json_end_object(&j);
	methods_publish_of_job(m, names[job->status], job, 0, m->scratch.at);
}

static void write_job(struct json *result, const struct job *job, enum stored stored)
{
	json_begin_object(result);
	json_put_str(result, "job_id", job->id);
	json_put_u64(result, "uid", job->uid);
	json_put_str(result, "job_type", job->type);
	json_put_str(result, "status", job_status_name(job->status));
	put_stored(result, stored);
	json_end_object(result);
}

/* ---- answers that wait for the disk ---------------------------------------------------------- */

/* A job that was started or ended, as it was then. An answered job survives if we are killed. */
struct committed {
	struct methods *methods;
	struct rpc_session *session; /* NULL: its client is gone */
	struct job job;
	pid_t pid;
};

static void report_committed(void *self, enum stored stored)
{
	cleanup(freep) struct committed *c = self;
	cleanup(buf_done) struct buf text = { 0 };
	struct json j = { .out = &text };

	write_job(&j, &c->job, stored);
	if (c->job.status ==
	    JOB_RUNNING) /* ends are published when the recorder reports what became of them */
		methods_publish_job(c->methods, &c->job, c->pid, stored);
	if (c->session)
		rpc_session_answer(c->session, 0, &text, NULL);
}

static void forget_client(void *self)
{
	struct committed *c = self;

	c->session = NULL;
}

/* Later reports on this connection are published after it. */
static int await_commit(struct methods *m, const struct rpc_server_peer *peer,
                        const struct job *job, pid_t pid)
{
	struct committed *c = xcalloc(1, sizeof *c);
	const struct rpc_server_work work = { c, forget_client, .keeps_order = true };

	*c = (struct committed){ m, peer->session, *job, pid };
	rpc_session_defer(peer->session, &work);
	m->host.daemon->commit_jobs(m->host.daemon_self, job->status != JOB_RUNNING,
	                            report_committed, c);
	return RPC_SERVER_LATER;
}

/* Its pids are not ours if it was in a container, which can no longer be known. */
static bool is_gone(const struct methods *m, const struct rpc_server_peer *peer)
{
	uid_t owner;

	return process_lookup_owner(engine_jobs(m->host.engine)->reader, peer->pid, &owner) < 0;
}

/* Without a pid it has no process of its own: an orchestrator that starts the processes of several jobs is
 * in none of them. A short job of a recorder may be over before we read of it, and its processes may be those of another
 * user's job. */
static int find_first(const struct methods *m, const struct rpc_server_peer *peer,
                      const json_t *params, struct job *job, pid_t *ret, struct err *err)
{
	uid_t owner = peer->uid;
	int r = 0;

	*ret = 0;
	job->uid = owner;
	job->registrar.pid = peer->pid;
	if (!m->host.engine)
		return err_set(err, EAGAIN, "profiler.enabled is false: nothing is watched");
	if (!peer->pid)
		return err_set(err, ENOENT, "the caller's pid namespace is not seen from here");
	if (job->has_recorder && is_gone(m, peer))
		return 0;
	if (job->has_recorder || rpc_params_has(params, "pid"))
		r = methods_find_member(m, peer, params, &job->root, &owner, err);
	if ((r == -ENOENT || r == -EALREADY) && job->has_recorder)
		job->root = (struct proc_id){ 0 };
	else if (r < 0)
		return r;
	*ret = job->root.pid;
	job->uid = owner;
	return 0;
}

/* With two running jobs of one id a user could not name either. A recorder has only one. */
static int check_runs_once(const struct methods *m, const struct job *job, struct err *err)
{
	if (job->has_recorder || !job_lookup_is_running(m, job))
		return 0;
	return err_set(err, EALREADY, "there is a job '%s' already", job->id);
}

static int prepare_start(struct methods *m, const struct rpc_server_peer *peer,
                         const json_t *params, struct job_start *ret, struct err *err)
{
	struct job *job = &ret->job;

	if (start_params(params, job, err) < 0 ||
	    find_first(m, peer, params, job, &ret->pid, err) < 0 ||
	    rpc_params_u64(params, "store_device", 1, INT64_MAX, &ret->store_device, err) < 0 ||
	    rpc_params_u64(params, "store_inode", 1, INT64_MAX, &ret->store_inode, err) < 0)
		return -err->code;
	fill_in(m, ret->pid, job);
	job->started_ns = registry_bound_start(m->host.engine, job);
	if (job->has_recorder)
		memcpy(job->recorded_as, job->id, sizeof job->recorded_as);
	return 0;
}

/* Jobs that another recorder writes into our own store are not stored twice; all others are
 * stored. */
METHOD(method_job_start)
{
	struct methods *m = self;
	struct job_start start = { 0 };
	struct job job;
	int r;

	if (!m->host.daemon)
		return err_set(err, EALREADY,
		               "this socket serves a single job; connect to the daemon's");
	if (prepare_start(m, peer, params, &start, err) < 0 ||
	    check_runs_once(m, &start.job, err) < 0)
		return -err->code;
	/* Before the lookup, which claims an id in the store. */
	if (!m->job_looked_up && methods_check_quota(m, peer, -1, sizeof start.job.tags, err) < 0)
		return -err->code;
	job = start.job;
	r = job_lookup(m, peer, &start, &job, err);
	if (r < 0)
		return r;
	if (!job.has_recorder)
		job.recording[0] = '\0';
	if (m->host.daemon->start_job(m->host.daemon_self, &job, start.pid, err) < 0)
		return -err->code;
	if (job.has_recorder)
		methods_set_recorder(m, peer, job.handle, start.job.id);
	if (!job.is_stored_by_other)
		return await_commit(m, peer, &job, start.pid);
	write_job(result, &job, STORED_NO);
	methods_publish_job(m, &job, start.pid, STORED_UNKNOWN);
	return 0;
}

/* ---- job.end --------------------------------------------------------------------------------- */

static int status_param(const json_t *params, struct job_end *how, struct err *err)
{
	const char *status = NULL;

	if (methods_end_params(params, how, err) < 0 ||
	    rpc_params_text(params, "status", 16, &status, err) < 0)
		return -err->code;
	if (!status)
		how->status = how->signal || how->exit_code ? JOB_FAILED : JOB_COMPLETED;
	else if (strcmp(status, "completed") == 0)
		how->status = JOB_COMPLETED;
	else if (strcmp(status, "failed") == 0)
		how->status = JOB_FAILED;
	else
		return err_set(err, EINVAL, "status is 'completed' or 'failed'");
	if (how->status == JOB_COMPLETED && (how->signal || how->exit_code))
		return err_set(err, EINVAL, "status 'completed' contradicts %s %d",
		               how->signal ? "signal" : "exit_code",
		               how->signal ? how->signal : how->exit_code);
	return 0;
}

/* The end of a job as a client reports it. */
struct end_report {
	struct job_end how;
	bool is_by_recorder;  /* of the job, which knows more of the reason: */
	struct job announced;
	enum stored stored; /* by the recorder */
};

/* Facts that only the recorder of the job knows: when it ended and why, and whether that is
 * stored. */
static int recorder_params(const struct job *job, const json_t *params, struct end_report *ret,
                           struct err *err)
{
	bool is_stored = false;

	if (!job->has_recorder)
		return 0;
	if (rpc_params_time(params, "ended_at", &ret->how.ended_ns, err) < 0 ||
	    rpc_params_bool(params, "stored", &is_stored, err) < 0)
		return -err->code;
	ret->how.ended_ns = methods_clamp_time(job, ret->how.ended_ns);
	ret->announced = job_from_json(params);
	ret->is_by_recorder = rpc_params_has(params, "limits_hit");
	if (rpc_params_has(params, "stored"))
		ret->stored = is_stored ? STORED_YES : STORED_NO;
	return 0;
}

static int end_report(const struct job *job, const json_t *params, struct end_report *ret,
                      struct err *err)
{
	if (status_param(params, &ret->how, err) < 0)
		return -err->code;
	ret->how.ended_ns = clock_wall_ns();
	return recorder_params(job, params, ret, err);
}

/* The end of a job that we store is published when it is stored. */
static int end_job(struct methods *m, job_handle at, const struct end_report *report,
                   struct err *err)
{
	const struct job was = *methods_job(m, at), *job;
	struct job_end how = report->how;

	how.recorded = report->is_by_recorder ? &report->announced : NULL;
	if (m->host.daemon->end_job(m->host.daemon_self, at, &how, err) < 0)
		return -err->code;
	job = methods_job(m, at);
	if (job->is_stored_by_other && !job_is_same_end(&was, job))
		methods_publish_job(m, job, 0, report->stored);
	return 0;
}

/* A client that reports an end has often just reaped processes of the job, and asks for the figures next: the end waits a
 * moment for their totals, and then the method is called again. */
struct end_wait {
	struct methods *methods;
	struct rpc_session *session;
	job_handle at;
	struct end_report report;
	uint64_t since_ns;
	struct loop_source *timer;
};

#define END_STEP_NS (2 * NS_PER_MS)
#define END_PATIENCE_NS NS_PER_S /* of a job without living processes, which can have no more children */

static void end_wait_free(struct end_wait *w)
{
	struct methods *m = w->methods;
	size_t n = 0;

	vec_each(&m->end_waits, one)
		if (*one != w)
			m->end_waits.at[n++] = *one;
	m->end_waits.len = n;
	loop_remove(w->timer);
	free(w);
}

static bool end_wait_lasts(const struct end_wait *w, uint64_t now_ns)
{
	const struct job_row *row = job_roster_get(methods_jobs(w->methods), w->at);

	return row && now_ns - w->since_ns < (row->living ? ENGINE_TOTALS_NS : END_PATIENCE_NS) &&
	       registry_awaits_totals(w->methods->host.engine, w->at);
}

static void end_wait_finish(struct end_wait *w)
{
	struct methods *m = w->methods;

	m->end_waited = w;
	rpc_session_call_again(w->session);
	m->end_waited = NULL;
	end_wait_free(w);
}

static void on_end_step(void *self)
{
	struct end_wait *w = self;
	uint64_t now_ns = clock_mono_ns();

	if (end_wait_lasts(w, now_ns))
		loop_timer_set(w->timer, now_ns + END_STEP_NS);
	else
		end_wait_finish(w);
}

void methods_finish_ends(struct methods *m)
{
	while (m->end_waits.len)
		end_wait_finish(m->end_waits.at[0]);
	vec_done(&m->end_waits);
}

/* The connection broke, but the end was read, and is not lost. */
static void end_at_once(void *self)
{
	struct end_wait *w = self;
	const struct job_row *row = job_roster_get(methods_jobs(w->methods), w->at);
	struct err ignored;

	if (row)
		(void)!end_job(w->methods, w->at, &w->report, &ignored);
	end_wait_free(w);
}

static int await_totals(struct methods *m, const struct rpc_server_peer *peer, job_handle at,
                        const struct end_report *report, struct err *err)
{
	struct end_wait *w = xcalloc(1, sizeof *w);
	const struct rpc_server_work work = { w, end_at_once, .keeps_order = true };
	uint64_t now_ns = clock_mono_ns();

	*w = (struct end_wait){ m, peer->session, at, *report, now_ns, NULL };
	w->timer = loop_add_timer(m->loop, now_ns + END_STEP_NS, on_end_step, w);
	*vec_push(&m->end_waits, SIZE_MAX) = w; /* bounded by the connections */
	rpc_session_defer(peer->session, &work);
	return err_set(err, EINPROGRESS, "the totals of its processes are to come");
}

METHOD(method_job_end)
{
	struct methods *m = self;
	struct end_report report = { 0 };
	const struct job *job;
	job_handle at;

	if (!m->host.daemon)
		return err_set(err, EALREADY, "this job ends with its command");
	if (methods_claim_job(m, peer, params, &at, err) < 0)
		return -err->code;
	if (m->end_waited)
		report = m->end_waited->report;
	else if (end_report(methods_job(m, at), params, &report, err) < 0)
		return -err->code;
	if (!m->end_waited && registry_awaits_totals(m->host.engine, at))
		return await_totals(m, peer, at, &report, err);
	if (end_job(m, at, &report, err) < 0)
		return -err->code;
	job = methods_job(m, at);
	if (!job->is_stored_by_other)
		return await_commit(m, peer, job, 0);
	write_job(result, job, report.stored == STORED_YES ? STORED_YES : STORED_NO);
	return 0;
}

/* ---- marks and phases ------------------------------------------------------------------------ */

static int data_param(const json_t *params, char **ret, struct err *err)
{
	if (input_redaction_object(params, "data", SERVE_DATA_MAX, ret, err) < 0)
		return -err->code;
	if (!*ret)
		*ret = xstrdup("{}");
	return 0;
}

void methods_publish_event(struct methods *m, const struct job *job, uint32_t sheet,
                           const struct job_input_event *event)
{
	uint64_t at_ns = event->at_ns ? event->at_ns : clock_wall_ns();
	struct json j = { .out = &m->scratch };

	if (!m->bus)
		return;
	buf_reset(&m->scratch);
	json_begin_object(&j);
	json_put_fixed(&j, "timestamp", at_ns / NS_PER_US, 6);
	json_put_str(&j, "event_type", event_name(event->kind));
	json_put_str(&j, "name", event->name);
	if (event->kind == EVENT_PHASE)
		json_put_fixed(&j, "seconds", (uint64_t)event->count / NS_PER_US, 6);
	json_key(&j, "data");
	json_raw(&j, event->data, strlen(event->data));
	json_end_object(&j);
	methods_publish_of_job(m, event->kind == EVENT_PHASE ? "job.phase" : "job.mark", job, sheet,
	                       m->scratch.at);
}

/* The name is required, the data is not. */
static int add_event(struct methods *m, const struct rpc_server_peer *peer, const json_t *params,
                     enum event_kind kind, struct json *result, struct err *err)
{
	cleanup(buf_done) struct buf safe_name = { 0 };
	cleanup(freep) char *data = NULL;
	const char *name = NULL;
	struct job_input_event added = { .kind = kind };
	uint64_t took_ns = 0;

	if (methods_claim_job(m, peer, params, &added.job, err) < 0 ||
	    rpc_params_text(params, "name", SERVE_NAME_MAX, &name, err) < 0)
		return -err->code;
	if (!name)
		return err_set(err, EINVAL, "name is needed");
	if (data_param(params, &data, err) < 0)
		return -err->code;
	if (kind == EVENT_PHASE && !rpc_params_has(params, "seconds"))
		return err_set(err, EINVAL, "seconds is needed");
	if (kind == EVENT_PHASE && rpc_params_seconds(params, "seconds", &took_ns, err) < 0)
		return -err->code;
	if (methods_job(m, added.job)->has_recorder &&
	    rpc_params_time(params, "at", &added.at_ns, err) < 0)
		return -err->code;
	added.at_ns = methods_clamp_time(methods_job(m, added.job), added.at_ns);
	added.name = input_redaction_text(name, &safe_name);
	added.data = data;
	added.count = (int64_t)took_ns;
	if (methods_check_quota(m, peer, added.job, safe_name.len + strlen(data), err) < 0 ||
	    job_input_event(m->host.engine, &added, err) < 0)
		return -err->code;
	methods_publish_event(m, methods_job(m, added.job), 0, &added);
	if (m->host.observer)
		m->host.observer->add_event(m->host.observer_self, kind, safe_name.at, took_ns,
		                            data);
	json_begin_object(result);
	json_end_object(result);
	return 0;
}

METHOD(method_job_mark)
{
	return add_event(self, peer, params, EVENT_MARK, result, err);
}

METHOD(method_job_phase)
{
	return add_event(self, peer, params, EVENT_PHASE, result, err);
}
