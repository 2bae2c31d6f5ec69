/* SPDX-License-Identifier: MIT */
/* Recorded data. On the loop a request is only checked; the store worker reads the store, within the
 * reader's time limit, its own, and the limits here. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "analyze/verdict_rules.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/user_names.h"
#include "kernel/blocked_reader.h"
#include "kernel/kernel_file.h"
#include "model/job_search.h"
#include "model/record_fields.h"
#include "rpc/rpc_params.h"
#include "serve/methods.h"
#include "history/job_query.h"
#include "view/job_view.h"
#include "view/jobs_view.h"
#include "view/page_view.h"
#include "view/report_view.h"

#define POINTS_DEFAULT 1000
#define POINTS_MAX 10000
#define OTHERS_MAX 1000 /* jobs with ids like one that was not found */

/* Which jobs to list, with copies of the texts; "" means any. */
struct listed {
	char type[JOB_ID_MAX], outcome[16], parent[USER_NAME_MAX + JOB_ID_MAX], part[JOB_ID_MAX];
	char tag_key[2 * JOB_TAG_MAX];
	size_t tag_value; /* where it begins in there, behind the key's NUL; 0: any value */
	bool outermost;
	uint64_t since_ns, until_ns;
};

enum report_format { REPORT_AS_TEXT_AND_JSON, REPORT_AS_MARKDOWN, REPORT_AS_PAGE };

/* All that the store worker needs for the answer. */
struct query {
	struct rpc_server_peer peer; /* its session belongs to the loop */
	struct store_worker *worker; /* for its process reader */
	const char *db_path;
	char job_id[JOB_ID_MAX];
	pid_t pid;
	struct history_cursor since;
	size_t limit;
	struct listed listed;
	enum report_format format;
};

static void send_answer(void *self, int r, const struct buf *result, const struct err *err)
{
	struct query *q = self;

	rpc_session_answer(q->peer.session, r, result, err);
}

static void drop_request(void *self)
{
	store_worker_drop(self);
}

static int defer(const struct methods *m, const struct rpc_server_peer *peer,
                 const struct query *query, store_worker_fn work, struct err *err)
{
	struct store_worker_task task = {
		.uid = peer->uid, .work = work, .done = send_answer, .free = free
	};
	struct rpc_server_work later = { .abandon = drop_request };
	struct store_request *request;
	struct query *q;

	if (!m->host.db_path)
		return err_set(err, ENOENT, "nothing is recorded here");
	if (!rpc_session_may_defer(peer->session))
		return RPC_SERVER_WAIT;
	task.self = q = xmalloc(sizeof *q);
	*q = *query;
	q->peer = *peer;
	q->worker = m->worker;
	q->db_path = m->host.db_path;
	if (store_worker_take(m->worker, &task, &request, err) < 0)
		return -err->code;
	later.self = request;
	rpc_session_defer(peer->session, &later);
	return RPC_SERVER_LATER;
}

/* About a job, by its full id; at a door its own job by default. */
static int defer_job(const struct methods *m, const struct rpc_server_peer *peer,
                     const json_t *params, enum report_format format, store_worker_fn work,
                     struct err *err)
{
	const struct job_roster *t = methods_jobs(m);
	const char *id = !m->host.daemon && t->rows.len ? t->rows.at[0]->job.id : NULL;
	struct query q = { .format = format };

	if (rpc_params_text(params, "job_id", sizeof q.job_id - 1, &id, err) < 0)
		return -err->code;
	if (!id)
		return err_set(err, EINVAL, "job_id is needed");
	snprintf(q.job_id, sizeof q.job_id, "%s", id);
	return defer(m, peer, &q, work, err);
}

/* ---- on the store worker's thread -------------------------------------------------------------- */

static int open_store(const struct query *q, const struct history_cancel *cancel,
                      struct history **ret, struct err *err)
{
	int r = history_open(q->db_path, ret, err);

	if (r == 0)
		history_obey_cancel(*ret, cancel);
	return r == -ENOENT ? err_set(err, ENOENT, "nothing is recorded yet") : r;
}

/* The peer's own job; a trusted peer may also ask for jobs of other users, as USER:ID. */
static int find_named(const struct query *q, struct history *reader, const char *name,
                      struct job *ret, struct err *err)
{
	const char *colon = methods_trusts(&q->peer) ? strchr(name, ':') : NULL;
	struct job_key key = { q->peer.uid, name };
	int r = history_get_job(reader, key, ret, err);

	if (r != -ENOENT || !colon || !user_names_parse(name, (size_t)(colon - name), &key.uid))
		return r;
	key.id = colon + 1;
	return history_get_job(reader, key, ret, err);
}

struct named_jobs {
	const char *id;
	struct buf others;
};

static int note_other(void *self, const struct job *job)
{
	struct named_jobs *named = self;

	if (strcmp(job->id, named->id) == 0)
		methods_note_other(&named->others, job);
	return 0;
}

static int report_missing(const struct query *q, struct history *reader, struct err *err)
{
	const struct job_filter filter = { .part = q->job_id };
	struct named_jobs named = { .id = q->job_id };
	struct err ignored;
	int r;

	if (methods_trusts(&q->peer))
		(void)!history_jobs(reader, &filter, OTHERS_MAX, note_other, &named, &ignored);
	r = methods_report_missing(q->job_id, &named.others, err);
	buf_done(&named.others);
	return r;
}

/* Opens the store and finds the job that the request is about. */
static int find_job(const struct query *q, const struct history_cancel *cancel,
                    struct history **ret, struct job *ret_job, struct err *err)
{
	int r = open_store(q, cancel, ret, err);

	if (r < 0)
		return r;
	r = find_named(q, *ret, q->job_id, ret_job, err);
	return r == -ENOENT ? report_missing(q, *ret, err) : r;
}

/* The reader's -ETIME would mean something else to a client. */
static int map_timeout(int r, struct err *err)
{
	return r == -ETIME ? err_set(err, EAGAIN, "reading it takes too long") : r;
}

static void put_buf(struct json *j, const char *key, const struct buf *text)
{
	json_key(j, key);
	json_strn(j, text->at ? text->at : "", text->len);
}

/* As text for people and agents, and as `proctor report --json` prints it. */
static void write_report(struct json *j, const struct report *report)
{
	cleanup(buf_done) struct buf text = { 0 };

	report_view_text(report, &text);
	put_buf(j, "text", &text);
	json_key(j, "report");
	report_view_json(report, j);
}

static void write_markdown(struct json *j, const struct report *report, const struct verdict *v)
{
	cleanup(buf_done) struct buf text = { 0 };

	report_view_markdown(report, v, &text);
	put_buf(j, "markdown", &text);
}

static void write_page(struct json *j, const struct page_report *page, const struct verdict *v)
{
	cleanup(page_parts_done) struct page_parts parts = { 0 };

	page_view(page, v, &parts);
	put_buf(j, "title", &parts.title);
	put_buf(j, "body", &parts.body);
	put_buf(j, "data", &parts.data);
}

static void write_as(struct json *j, enum report_format format, const struct page_report *page)
{
	const struct report *report = &page->report;
	struct verdict verdict = { 0 };

	if (report->job.status != JOB_RUNNING)
		verdict_rules_judge(&report->job, &report->facts, &verdict);
	json_begin_object(j);
	json_put_str(j, "job_id", report->job.id);
	switch (format) {
	case REPORT_AS_TEXT_AND_JSON:
		write_report(j, report);
		break;
	case REPORT_AS_MARKDOWN:
		write_markdown(j, report, &verdict);
		break;
	case REPORT_AS_PAGE:
		write_page(j, page, &verdict);
		break;
	}
	json_end_object(j);
}

/* Adds what processes wait for, of those that the peer might trace itself. */
static void add_blocked(const struct query *q, int root_fd, struct report *report)
{
	struct process_reader *reader = store_worker_process_reader(q->worker);
	size_t n = 0;

	vec_each(&report->living, id)
		if (methods_may_trace(&q->peer, reader, root_fd, id->pid))
			report->living.at[n++] = *id;
	blocked_reader_list(reader, root_fd, report->living.at, n, &report->blocked);
}

static int read_report(void *self, const struct history_cancel *cancel, struct json *result,
                       struct err *err)
{
	const struct query *q = self;
	cleanup(history_closep) struct history *reader = NULL;
	cleanup(page_report_done) struct page_report page = { 0 };
	struct report *report = &page.report;
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char boot_id[sizeof report->boot_id] = "";
	int r = root_fd < 0 ? err_set(err, errno, "open '/': %s", strerror(errno))
	                    : find_job(q, cancel, &reader, &report->job, err);

	report->reader_uid = q->peer.uid;
	(void)kernel_file_boot_id(root_fd, boot_id);
	report_set_now(report, clock_wall_ns(), clock_boot_ns(), boot_id);
	if (r == 0)
		r = report_gather(report, reader, err);
	if (r >= 0 && q->format == REPORT_AS_PAGE)
		r = page_report_gather(&page, reader, err);
	if (r >= 0 && q->format == REPORT_AS_PAGE)
		page_report_add_band(&page, reader);
	if (r >= 0) {
		add_blocked(q, root_fd, report);
		write_as(result, q->format, &page);
	}
	return map_timeout(MIN(r, 0), err);
}

static int write_job(void *self, const struct job *job)
{
	jobs_view_add_json(self, job);
	return 0;
}

static const char *text_or_null(const char *text)
{
	return *text ? text : NULL;
}

/* A trusted peer sees those of every user. */
static struct job_filter filter_of(const struct query *q)
{
	const struct listed *l = &q->listed;

	return (struct job_filter){ .type = text_or_null(l->type),
		                    .tag_key = text_or_null(l->tag_key),
		                    .tag_value = l->tag_value ? l->tag_key + l->tag_value : NULL,
		                    .outcome = text_or_null(l->outcome),
		                    .parent = text_or_null(l->parent),
		                    .parent_uid = q->peer.uid,
		                    .part = text_or_null(l->part),
		                    .outermost = l->outermost,
		                    .since_ns = l->since_ns,
		                    .until_ns = l->until_ns,
		                    .of_one_user = !methods_trusts(&q->peer),
		                    .uid = q->peer.uid };
}

/* It may be gone, or another user's, and what it started still be there. `parent` holds its id. */
static int set_parent(const struct query *q, struct history *reader, struct job_filter *filter,
                      struct job *parent, struct err *err)
{
	int r = find_named(q, reader, filter->parent, parent, err);
	struct job_key key = { q->peer.uid, filter->parent };

	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 0)
		key = job_key_of(parent);
	else
		(void)job_search_parse_key(filter->parent, &key);
	filter->parent = key.id;
	filter->parent_uid = key.uid;
	return 0;
}

static int read_jobs(void *self, const struct history_cancel *cancel, struct json *result,
                     struct err *err)
{
	const struct query *q = self;
	struct job_filter filter = filter_of(q);
	cleanup(history_closep) struct history *reader = NULL;
	struct job parent;
	int r = open_store(q, cancel, &reader, err);

	if (r == 0 && filter.parent)
		r = set_parent(q, reader, &filter, &parent, err);
	if (r < 0)
		return map_timeout(r, err);
	json_begin_object(result);
	json_put_str(result, "store", q->db_path);
	json_open_array(result, "jobs");
	r = history_jobs(reader, &filter, q->limit, write_job, result, err);
	json_end_array(result);
	json_end_object(result);
	return map_timeout(MIN(r, 0), err);
}

static int read_profile(void *self, const struct history_cancel *cancel, struct json *result,
                        struct err *err)
{
	const struct query *q = self;
	cleanup(history_closep) struct history *reader = NULL;
	cleanup(history_record_profile_done) struct job_profile profile = { 0 };
	struct job job;
	int r = find_job(q, cancel, &reader, &job, err);

	if (r == 0)
		r = history_profile(reader, job_key_of(&job), &profile, err);
	if (r == 0)
		field_table_json_object(result, &profile_fields, &profile);
	return map_timeout(r, err);
}

#define RECORD struct history_point
static const struct field point_rows[] = {
	{ "timestamp", FIELD(NUMBER, wall_ns), .unit = UNIT_NS },
	{ "snapshot_id", FIELD(NUMBER, snapshot) },
	{ "start_ticks", FIELD(NUMBER, process.start_ticks) },
	{ "state", FIELD(LETTER, state) },
	{ "cpu_percent", FIELD(RATIO, cpu_ratio), .decimals = 2 },
	FIELD_METRICS(r, proc_metrics),
};
#undef RECORD

static int write_point(void *self, const struct history_point *p)
{
	static const struct field_table fields = FIELD_TABLE(point_rows);

	field_table_json_object(self, &fields, p);
	return 0;
}

static int read_history(void *self, const struct history_cancel *cancel, struct json *result,
                        struct err *err)
{
	const struct query *q = self;
	uint32_t uid = methods_trusts(&q->peer) ? HISTORY_ANY_UID : q->peer.uid;
	cleanup(history_closep) struct history *reader = NULL;
	struct history_cursor at = q->since;
	int n;

	if (open_store(q, cancel, &reader, err) < 0)
		return -err->code;
	json_begin_object(result);
	json_put_u64(result, "pid", (uint64_t)q->pid);
	json_open_array(result, "points");
	n = history_process(reader, q->pid, uid, &at, q->limit, write_point, result, err);
	json_end_array(result);
	json_put_bool(result, "more", n >= 0 && (size_t)n == q->limit);
	json_end_object(result);
	return map_timeout(MIN(n, 0), err);
}

/* ---- on the loop ----------------------------------------------------------------------------- */

static int copy_text(const json_t *params, const char *name, char *to, size_t size, struct err *err)
{
	const char *text = "";

	if (rpc_params_text(params, name, size - 1, &text, err) < 0)
		return -err->code;
	snprintf(to, size, "%s", text);
	return 0;
}

static int parse_listed(const json_t *params, struct listed *ret, struct err *err)
{
	char *equals;

	if (copy_text(params, "job_type", ret->type, sizeof ret->type, err) < 0 ||
	    copy_text(params, "outcome", ret->outcome, sizeof ret->outcome, err) < 0 ||
	    copy_text(params, "parent_job_id", ret->parent, sizeof ret->parent, err) < 0 ||
	    copy_text(params, "part", ret->part, sizeof ret->part, err) < 0 ||
	    copy_text(params, "tag", ret->tag_key, sizeof ret->tag_key, err) < 0 ||
	    rpc_params_bool(params, "outermost", &ret->outermost, err) < 0 ||
	    rpc_params_time(params, "since", &ret->since_ns, err) < 0 ||
	    rpc_params_time(params, "until", &ret->until_ns, err) < 0)
		return -err->code;
	equals = strchr(ret->tag_key, '=');
	if (equals) {
		*equals = '\0';
		ret->tag_value = (size_t)(equals - ret->tag_key) + 1;
	}
	return 0;
}

int methods_list_recorded(struct methods *m, const struct rpc_server_peer *peer,
                          const json_t *params, size_t limit, struct err *err)
{
	struct query q = { .limit = limit };

	if (parse_listed(params, &q.listed, err) < 0)
		return -err->code;
	return defer(m, peer, &q, read_jobs, err);
}

static int parse_format(const json_t *params, enum report_format *ret, struct err *err)
{
	static const char *const names[] = {
		[REPORT_AS_MARKDOWN] = "markdown", [REPORT_AS_PAGE] = "page"
	};
	const char *name = NULL;

	if (rpc_params_text(params, "format", 16, &name, err) < 0)
		return -err->code;
	*ret = REPORT_AS_TEXT_AND_JSON;
	for (enum report_format i = REPORT_AS_MARKDOWN; name && i < ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0)
			*ret = i;
	return name && *ret == REPORT_AS_TEXT_AND_JSON
	               ? err_set(err, EINVAL, "format is 'markdown' or 'page'")
	               : 0;
}

METHOD(method_job_report)
{
	enum report_format format;

	(void)result;
	if (parse_format(params, &format, err) < 0)
		return -err->code;
	return defer_job(self, peer, params, format, read_report, err);
}

METHOD(method_job_profile)
{
	(void)result;
	return defer_job(self, peer, params, REPORT_AS_TEXT_AND_JSON, read_profile, err);
}

METHOD(method_process_history)
{
	uint64_t pid = 0, limit = POINTS_DEFAULT;
	struct query q = { 0 };

	(void)result;
	if (rpc_params_u64(params, "pid", 1, INT32_MAX, &pid, err) < 0 ||
	    rpc_params_time(params, "since", &q.since.since_ns, err) < 0 ||
	    rpc_params_u64(params, "limit", 1, POINTS_MAX, &limit, err) < 0)
		return -err->code;
	if (!pid)
		return err_set(err, EINVAL, "pid is needed");
	q.pid = (pid_t)pid;
	q.limit = limit;
	return defer(self, peer, &q, read_history, err);
}
