/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "job/cgroup/cgroup_name.h"
#include "job/job_ident.h"
#include "job/cgroup/own_cgroup.h"
#include "job/signature.h"
#include "rpc/rpc_params.h"
#include "serve/resource_context.h"
#include "serve/input_redaction.h"
#include "serve/job_list.h"
#include "serve/methods.h"
#include "serve/announced_job.h"

METHOD(method_job_list)
{
	const struct methods *m = self;

	(void)params, (void)err;
	job_list_put(m->host.jobs(m->host.self), peer, result);
	return 0;
}

/* ---- job.start ------------------------------------------------------------------------------- */

static int name_param(const json_t *params, const char *name, char ret[static JOB_ID_MAX],
                      struct err *err)
{
	const char *text = NULL;
	int r = rpc_params_text(params, name, JOB_NAME_MAX, &text, err);

	if (r == 0 && text && job_ident_check(text, err) < 0)
		return err_wrap(err, "%s", name);
	if (r == 0 && text)
		snprintf(ret, JOB_ID_MAX, "%s", text);
	return r;
}

/* Secrets are redacted, and what does not fit is cut off. */
static int text_param(const json_t *params, const char *name, char *ret, size_t size,
                      struct err *err)
{
	cleanup(buf_done) struct buf safe = { 0 };
	const char *text = NULL;
	int r = rpc_params_text(params, name, 65536, &text, err);

	if (r == 0 && text)
		snprintf(ret, size, "%s", input_redaction_text(text, &safe));
	return r;
}

/* Becomes a tag. */
static int put_workspace(json_t *params, struct err *err)
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
	json_t *safe = json_deep_copy(params);
	const char *key;
	json_t *value;
	int r = 0;

	json_object_foreach(json_object_get(safe, "tags"), key, value)
	{
		if (!json_is_string(value))
			r = err_set(err, EINVAL, "tags: '%.64s' must be a text", key);
	}
	if (r == 0)
		r = put_workspace(safe, err);
	input_redaction_members(json_object_get(safe, "tags"));
	if (r == 0)
		r = rpc_params_object_text(safe, "tags", JOB_TAGS_MAX - 1, &text, err);
	json_decref(safe);
	if (r == 0 && text)
		snprintf(ret, JOB_TAGS_MAX, "%s", text);
	return r;
}

static int start_params(const json_t *params, struct job *ret, struct err *err)
{
	uint64_t total = 0;

	if (name_param(params, "job_id", ret->id, err) < 0 ||
	    name_param(params, "job_type", ret->type, err) < 0 ||
	    name_param(params, "parent_job_id", ret->parent, err) < 0 ||
	    text_param(params, "command", ret->command, sizeof ret->command, err) < 0 ||
	    text_param(params, "cwd", ret->cwd, sizeof ret->cwd, err) < 0 ||
	    text_param(params, "tier", ret->tier, sizeof ret->tier, err) < 0 ||
	    tags_param(params, ret->tags, err) < 0 ||
	    rpc_params_bool(params, "has_recorder", &ret->is_foreign, err) < 0 ||
	    rpc_params_time(params, "started_at", &ret->started_ns, err) < 0 ||
	    rpc_params_u64(params, "total_sheets", 1, SERVE_SHEET_MAX, &total, err) < 0)
		return -err->code;
	ret->total_sheets = (uint32_t)total;
	ret->type_is_given = ret->type[0] != '\0';
	return 0;
}

/* A batch system or systemd has named it, if it has a control group of its own. */
static bool name_by_group(const struct methods *m, pid_t pid, struct job *job)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(freep) char *group = own_cgroup_find(root_fd, m->host.reader, pid, job->registrar);
	struct cgroup_job known;

	if (!group || !cgroup_job_name(group, &known) ||
	    job_roster_find_key(m->host.jobs(m->host.self),
	                        (struct job_key){ job->uid, known.id }) >= 0)
		return false;
	snprintf(job->id, sizeof job->id, "%s", known.id);
	return true;
}

/* What the caller left out is taken from the process. */
static void fill_in(struct methods *m, pid_t pid, struct job *job)
{
	const struct snapshot *snap = m->host.latest(m->host.self);
	const struct proc_snap *p = snap ? snapshot_find(snap, pid) : NULL;
	uint64_t random = 0;

	if (p && !job->command[0])
		snprintf(job->command, sizeof job->command, "%.*s", (int)p->s.command.len,
		         snapshot_text(snap, p->s.command));
	if (!job->type[0])
		snprintf(job->type, sizeof job->type, "job");
	if (job->id[0] || name_by_group(m, pid, job))
		return;
	(void)!getrandom(&random, sizeof random, GRND_NONBLOCK);
	job_ident_new(job->type, clock_wall_ns(), pid, random, job->id);
}

static void put_stored(struct json *j, enum stored stored)
{
	json_key(j, "stored");
	if (stored == STORED_UNKNOWN)
		json_nil(j);
	else
		json_bool(j, stored == STORED_YES);
}

void methods_announce_job(struct methods *m, const struct job *job, pid_t pid, enum stored stored)
{
	static const char *const names[JOB_STATUS_COUNT] = {
		[JOB_RUNNING] = "job.started",
		[JOB_COMPLETED] = "job.completed",
		[JOB_FAILED] = "job.failed",
		[JOB_LOST] = "job.lost",
	};
	struct json j = { .out = &m->scratch };

	if (!m->bus)
		return;
	buf_reset(&m->scratch);
	json_begin_object(&j);
	json_put_str(&j, "job_type", job->type);
	json_put_str(&j, "status", job_status_name(job->status));
	json_key(&j, "exit_code");
	job->has_exit_code ? json_i64(&j, job->exit_code) : json_nil(&j);
	json_key(&j, "signal_num");
	job->signal ? json_i64(&j, job->signal) : json_nil(&j);
	put_stored(&j, stored);
	json_key(&j, "context");
	resource_context_put(methods_latest(m), NULL, pid, &j);
	json_end_object(&j);
	methods_publish(m, names[job->status], job->id, job->uid, m->scratch.at);
}

static void on_announcer_gone(void *self, job_handle job)
{
	struct methods *m = self;
	const struct job_row *row = job_roster_get(m->host.jobs(m->host.self), job);

	if (!row || row->job.status != JOB_RUNNING)
		return;
	m->host.daemon->lose_job(m->host.daemon_self, job);
	methods_announce_job(m, &row->job, 0, STORED_UNKNOWN);
}

static void put_job(struct json *result, const struct job *job, bool is_stored)
{
	json_begin_object(result);
	json_put_str(result, "job_id", job->id);
	json_put_str(result, "job_type", job->type);
	json_put_str(result, "status", job_status_name(job->status));
	json_put_bool(result, "stored", is_stored);
	json_end_object(result);
}

METHOD(method_job_start)
{
	struct methods *m = self;
	struct job job = { 0 };
	char sent_id[JOB_ID_MAX];
	uid_t owner;
	pid_t pid;
	int r;

	if (!m->host.daemon)
		return err_set(err, EALREADY, "this is the door of one job: ask the daemon");
	if (start_params(params, &job, err) < 0 ||
	    methods_find_pid(m, peer, params, &pid, &owner, err) < 0)
		return -err->code;
	job.uid = owner;
	job.registrar = peer->pid;
	fill_in(m, pid, &job);
	if (!job.is_foreign && methods_take_room(m, peer, -1, sizeof job.tags, err) < 0)
		return -err->code;
	memcpy(sent_id, job.id, sizeof sent_id);
	r = m->host.daemon->start_job(m->host.daemon_self, &job, pid, err);
	if (r < 0)
		return r;
	if (job.is_foreign)
		announced_job_new(peer, job.handle, sent_id, on_announcer_gone, m);
	put_job(result, &job, r == 0);
	methods_announce_job(m, &job, pid, job.is_foreign ? STORED_UNKNOWN : r == 0);
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

bool methods_is_same_end(const struct job *a, const struct job *b)
{
	return a->status == b->status && a->signal == b->signal &&
	       a->has_exit_code == b->has_exit_code && a->exit_code == b->exit_code;
}

/* What only the recorder of the job knows: when it ended, and whether that is stored. */
static int recorder_params(const struct job *job, const json_t *params, struct job_end *how,
                           enum stored *ret, struct err *err)
{
	bool is_stored = false;

	if (!job->is_foreign)
		return 0;
	if (rpc_params_time(params, "ended_at", &how->ended_ns, err) < 0 ||
	    rpc_params_bool(params, "stored", &is_stored, err) < 0)
		return -err->code;
	*ret = !rpc_params_has(params, "stored") ? STORED_UNKNOWN : is_stored;
	return 0;
}

METHOD(method_job_end)
{
	struct methods *m = self;
	enum stored stored = STORED_UNKNOWN;
	struct job_end how = { 0 };
	const struct job *job;
	struct job was;
	job_handle at;
	int r;

	if (!m->host.daemon)
		return err_set(err, EALREADY, "this job ends with its command");
	if (methods_claim_job(m, peer, params, &at, err) < 0 || status_param(params, &how, err) < 0)
		return -err->code;
	was = *methods_job(m, at);
	if (recorder_params(&was, params, &how, &stored, err) < 0)
		return -err->code;
	r = m->host.daemon->end_job(m->host.daemon_self, at, &how, err);
	if (r < 0)
		return r;
	job = methods_job(m, at);
	if (!job->is_foreign)
		stored = r == 0;
	put_job(result, job, stored == STORED_YES);
	/* The end of its process was published already; only a correction is news. */
	if (!methods_is_same_end(&was, job))
		methods_announce_job(m, job, 0, stored);
	return 0;
}

/* ---- marks and phases ------------------------------------------------------------------------- */

/* A mark or a phase: the name is required, the data is not. */
struct note {
	struct buf name;
	char *data; /* JSON */
};

static void note_done(struct note *note)
{
	buf_done(&note->name);
	free(note->data);
}

static int note_params(const json_t *params, struct note *ret, struct err *err)
{
	const char *name = NULL;
	json_t *safe;
	int r = rpc_params_text(params, "name", SERVE_NAME_MAX, &name, err);

	if (r == 0 && !name)
		return err_set(err, EINVAL, "name is needed");
	if (r < 0)
		return r;
	input_redaction_text(name, &ret->name);
	safe = json_deep_copy(params);
	input_redaction_members(json_object_get(safe, "data"));
	r = rpc_params_object_text(safe, "data", SERVE_DATA_MAX, &ret->data, err);
	json_decref(safe);
	if (r == 0 && !ret->data)
		ret->data = xstrdup("{}");
	return r;
}

static size_t note_bytes(const struct note *note)
{
	return note->name.len + strlen(note->data);
}

static void put_done(struct json *result)
{
	json_begin_object(result);
	json_end_object(result);
}

METHOD(method_job_mark)
{
	struct methods *m = self;
	cleanup(note_done) struct note note = { 0 };
	job_handle job;

	if (methods_claim_job(m, peer, params, &job, err) < 0 ||
	    note_params(params, &note, err) < 0 ||
	    methods_take_room(m, peer, job, note_bytes(&note), err) < 0 ||
	    m->host.say(m->host.self, job, EVENT_MARK, note.name.at, 0, note.data, err) < 0)
		return -err->code;
	put_done(result);
	return 0;
}

METHOD(method_job_phase)
{
	struct methods *m = self;
	cleanup(note_done) struct note note = { 0 };
	uint64_t took_ns = 0;
	job_handle job;

	if (methods_claim_job(m, peer, params, &job, err) < 0 ||
	    note_params(params, &note, err) < 0)
		return -err->code;
	if (!rpc_params_has(params, "seconds"))
		return err_set(err, EINVAL, "seconds is needed");
	if (rpc_params_seconds(params, "seconds", &took_ns, err) < 0 ||
	    methods_take_room(m, peer, job, note_bytes(&note), err) < 0 ||
	    m->host.say(m->host.self, job, EVENT_PHASE, note.name.at, took_ns, note.data, err) < 0)
		return -err->code;
	put_done(result);
	return 0;
}
