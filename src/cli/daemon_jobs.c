/* SPDX-License-Identifier: MIT */
#include "cli/daemon_jobs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "serve/job_from_json.h"
#include "kernel/user_namespace.h"
#include "rpc/rpc_answer.h"
#include "rpc/rpc_message.h"

#define RENDER_PATIENCE_NS (60 * NS_PER_S) /* a page has every process, and earlier runs */
#define REPLY_TEXT_MAX ((size_t)64 << 20)  /* more than the client accepts as an answer */

static const json_t *list_of(const struct daemon_jobs *d)
{
	return json_object_get(d->answer, "jobs");
}

static void put_time(struct json *j, const char *name, uint64_t wall_ns)
{
	if (wall_ns)
		json_put_fixed(j, name, wall_ns / NS_PER_US, 6);
}

static void put_text(struct json *j, const char *name, const char *text)
{
	if (text)
		json_put_str(j, name, text);
}

/* A bare id means one's own job. */
static char *name_for_daemon(struct job_key key)
{
	return key.uid == user_namespace_own_uid() ? xstrdup(key.id)
	                                           : xasprintf("%u:%s", (unsigned)key.uid, key.id);
}

static void put_filter(struct json *j, const struct job_filter *f, size_t count)
{
	cleanup(freep) char *tag = NULL, *parent = NULL;

	if (f->parent)
		parent = name_for_daemon((struct job_key){ f->parent_uid, f->parent });
	if (f->tag_key)
		tag = xasprintf("%s%s%s", f->tag_key, f->tag_value ? "=" : "",
		                f->tag_value ? f->tag_value : "");
	json_begin_object(j);
	json_put_u64(j, "recorded", MIN(count, (size_t)DAEMON_JOBS_MAX));
	put_text(j, "job_type", f->type);
	put_text(j, "tag", tag);
	put_text(j, "outcome", f->outcome);
	put_text(j, "parent_job_id", parent);
	put_text(j, "part", f->part);
	put_time(j, "since", f->since_ns);
	put_time(j, "until", f->until_ns);
	if (f->outermost)
		json_put_bool(j, "outermost", true);
	json_end_object(j);
}

static bool is_path_of(const struct daemon_jobs *d, const char *path)
{
	const char *store = rpc_answer_text(d->answer, "store");

	return !store || strcmp(store, path) == 0;
}

void daemon_jobs_open(struct daemon_jobs *d, const char *socket, const char *path,
                      const struct job_filter *filter, size_t count)
{
	cleanup(buf_done) struct buf params = { 0 };
	struct json j = { .out = &params };
	struct err err;
	int r;

	daemon_jobs_close(d);
	put_filter(&j, filter, count);
	r = daemon_client_open_within(socket, DAEMON_CLIENT_BRIEF_NS, &d->ask, &err);
	if (r == 0)
		r = daemon_client_call(&d->ask, "job.list", params.at, &d->answer, &err);
	if (r == -ETIMEDOUT)
		log_warn("%s; its jobs are left out", err.msg);
	if (r == 0 && !is_path_of(d, path))
		return;
	json_decref(d->answer);
	d->answer = NULL;
}

void daemon_jobs_close(struct daemon_jobs *d)
{
	json_decref(d->answer);
	daemon_client_close(&d->ask);
	*d = (struct daemon_jobs){ 0 };
}

const char *daemon_jobs_store(const struct daemon_jobs *d)
{
	return rpc_answer_text(d->answer, "store");
}

size_t daemon_jobs_count(const struct daemon_jobs *d)
{
	return json_array_size(list_of(d));
}

struct job daemon_jobs_at(const struct daemon_jobs *d, size_t i)
{
	return job_from_json(json_array_get(list_of(d), i));
}

void daemon_jobs_put(const struct daemon_jobs *d, size_t i, struct json *j)
{
	json_t *job = json_array_get(list_of(d), i);

	json_object_set_new(job, "source", json_string(d->ask.path));
	rpc_message_put_value(j, job);
}

static void put_report(const struct daemon_client *ask, json_t *answer, struct cli_page *page,
                       bool is_json)
{
	json_t *report = json_object_get(answer, "report");
	const char *text = rpc_answer_text(answer, "text");

	if (is_json) {
		json_object_set_new(report, "source", json_string(ask->path));
		rpc_message_put_value(&page->json, report);
		return;
	}
	canvas_printf(&page->canvas, INK_PLAIN, "from the daemon at %s\n\n", ask->path);
	buf_puts(&page->out, text ? text : "");
}

/* `format` NULL: as text and as JSON. CLI_OK, or another status, logged. */
static int ask_report(struct daemon_jobs *d, const struct job *job, const char *format,
                      json_t **ret)
{
	cleanup(freep) char *name = name_for_daemon(job_key_of(job));
	cleanup(buf_done) struct buf params = { 0 };
	struct json j = { .out = &params };
	struct err err;

	json_begin_object(&j);
	json_put_str(&j, "job_id", name);
	put_text(&j, "format", format);
	json_end_object(&j);
	d->ask.patience_ns = format ? RENDER_PATIENCE_NS : DAEMON_CLIENT_PATIENCE_NS;
	return daemon_client_call(&d->ask, "job.report", params.at, ret, &err) < 0
	               ? daemon_client_log(&err)
	               : CLI_OK;
}

int daemon_jobs_report(struct daemon_jobs *d, const struct cli *cli, const struct job *job)
{
	struct cli_page page;
	json_t *answer = NULL;
	int status = ask_report(d, job, NULL, &answer);

	if (status != CLI_OK)
		return status;
	cli_page_begin(&page, cli);
	put_report(&d->ask, answer, &page, cli->json);
	status = cli_page_end(&page);
	json_decref(answer);
	return status;
}

/* A daemon that does not know the format answers without it. */
static int take_text(const struct daemon_jobs *d, const json_t *answer, const char *key,
                     struct buf *ret)
{
	const json_t *text = json_object_get(answer, key);

	if (!json_is_string(text)) {
		log_error(
			"the daemon at %s is older than this proctor and cannot do that; restart it: systemctl restart proctor",
			d->ask.path);
		return CLI_DAEMON;
	}
	ret->max = REPLY_TEXT_MAX;
	buf_put(ret, json_string_value(text), json_string_length(text));
	return CLI_OK;
}

int daemon_jobs_markdown(struct daemon_jobs *d, const struct job *job, struct buf *ret)
{
	json_t *answer = NULL;
	int status = ask_report(d, job, "markdown", &answer);

	if (status == CLI_OK)
		status = take_text(d, answer, "markdown", ret);
	json_decref(answer);
	return status;
}

int daemon_jobs_page(struct daemon_jobs *d, const struct job *job, struct page_parts *ret)
{
	json_t *answer = NULL;
	int status = ask_report(d, job, "page", &answer);

	if (status == CLI_OK)
		status = take_text(d, answer, "title", &ret->title);
	if (status == CLI_OK)
		status = take_text(d, answer, "body", &ret->body);
	if (status == CLI_OK)
		status = take_text(d, answer, "data", &ret->data);
	json_decref(answer);
	return status;
}
