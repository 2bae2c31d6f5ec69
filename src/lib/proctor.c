/* SPDX-License-Identifier: MIT */
#include "lib/proctor.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "config/socket_path.h"
#include "config/state_dir.h"
#include "rpc/rpc_message.h"
#include "rpc/rpc_client.h"

#define EXPORT __attribute__((visibility("default")))
#define TIMEOUT_NS (5 * NS_PER_S)

struct proctor {
	struct rpc_client *calls;
	/* A connection of its own, so that answers do not queue behind events; NULL: not subscribed */
	struct rpc_client *feed;
	char *path;
	uint64_t timeout_ns;
	json_t *event; /* the last one that was returned */
	char *data;    /* the text of its data */
	struct err err;
};

static uint64_t deadline_ns(const struct proctor *p)
{
	return clock_mono_ns() + p->timeout_ns;
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* The id becomes part of a path, and the environment is not trusted. */
static bool is_id(const char *id)
{
	return id && *id && *id != '.' && strlen(id) < PROCTOR_ID_MAX && !strchr(id, '/');
}

/* The same search as that of the commands: `run` sets PROCTOR_STATE_DIR only where this would not
 * find the directory. */
static char *door_path(void)
{
	char cwd[PATH_MAX], room[STATE_DIR_ROOM], dir[CONFIG_PATH_MAX];
	struct state_dir_env env = state_dir_environment(room);
	const char *id = getenv("PROCTOR_JOB_ID");
	struct err err;

	env.cwd = getcwd(cwd, sizeof cwd);
	if (!is_id(id) || state_dir_resolve(&env, dir, &err) < 0)
		return NULL;
	return xasprintf("%s/jobs/%s/sock", dir, id);
}

static char *daemon_path(unsigned nth)
{
	const struct socket_path_env env = socket_path_environment(NULL);
	char path[CONFIG_PATH_MAX];

	return socket_path_find(&env, nth, path) ? xstrdup(path) : NULL;
}

static bool is_absent(int r)
{
	return r == -ENOENT || r == -ECONNREFUSED || r == -ENOTDIR;
}

static int try_path(struct proctor *p, char *take_path)
{
	int r = rpc_client_open(take_path, deadline_ns(p), &p->calls, &p->err);

	free(p->path);
	p->path = take_path;
	return r;
}

static int find_server(struct proctor *p)
{
	char *path = door_path();
	int r = path ? try_path(p, path) : -ENOENT;

	for (unsigned i = 0; is_absent(r) && (path = daemon_path(i)); i++)
		r = try_path(p, path);
	return is_absent(r) ? -ENOENT : r;
}

EXPORT int proctor_open(const char *socket, struct proctor **ret)
{
	struct proctor *p = xcalloc(1, sizeof *p);
	int r;

	*ret = NULL;
	p->timeout_ns = TIMEOUT_NS;
	r = socket ? try_path(p, xstrdup(socket)) : find_server(p);
	if (r < 0)
		proctor_close(p);
	else
		*ret = p;
	return is_absent(r) ? -ENOENT : r;
}

EXPORT void proctor_close(struct proctor *p)
{
	if (!p)
		return;
	rpc_client_close(p->calls);
	rpc_client_close(p->feed);
	json_decref(p->event);
	free(p->data);
	free(p->path);
	free(p);
}

EXPORT const char *proctor_error(const struct proctor *p)
{
	return p ? p->err.msg : "not connected";
}

EXPORT void proctor_set_timeout(struct proctor *p, int ms)
{
	if (p && ms >= 0)
		p->timeout_ns = (uint64_t)ms * NS_PER_MS;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int call(struct proctor *p, const char *method, const char *params, json_t **ret_result)
{
	p->err = (struct err){ 0 };
	return rpc_client_call(p->calls, method, params, deadline_ns(p), ret_result, &p->err);
}

/* Text that is not an object would break the line that it becomes part of. */
static int check_object(struct proctor *p, const char *name, const char *text)
{
	json_error_t why;
	json_t *parsed = json_loads(text, JSON_REJECT_DUPLICATES, &why);
	bool is_object = json_is_object(parsed);
	struct err fault;

	if (!parsed)
		rpc_message_json_error(scan_str(text), &why, &fault);
	else if (!is_object)
		err_set(&fault, EINVAL, "another type");
	json_decref(parsed);
	if (is_object)
		return 0;
	return err_set(&p->err, EINVAL, "%s is not a JSON object: %s", name, fault.msg);
}

EXPORT int proctor_call(struct proctor *p, const char *method, const char *params,
                        char **ret_result)
{
	json_t *result = NULL;
	int r;

	if (!p)
		return -ENOTCONN;
	r = params ? check_object(p, "params", params) : 0;
	if (r == 0)
		r = call(p, method, params, &result);
	if (r == 0 && ret_result)
		*ret_result = json_dumps(result, JSON_ENCODE_ANY | JSON_COMPACT);
	json_decref(result);
	return r;
}

/* The parameters of a call. Absent ones are not sent. */
struct args {
	struct buf text;
	struct json j;
};

static void args_begin(struct args *a)
{
	*a = (struct args){ 0 };
	a->j.out = &a->text;
	json_begin_object(&a->j);
}

static void args_str(struct args *a, const char *key, const char *value)
{
	if (!value)
		return;
	json_put_str(&a->j, key, value);
}

static void args_json(struct args *a, const char *key, const char *json)
{
	if (!json)
		return;
	json_key(&a->j, key);
	json_raw(&a->j, json, strlen(json));
}

/* Calls the method and frees the parameters. The caller owns the result. */
static int args_call(struct args *take_a, struct proctor *p, const char *method,
                     json_t **ret_result)
{
	int r = p ? 0 : -ENOTCONN;

	json_end_object(&take_a->j);
	if (r == 0)
		r = check_object(p, "the request", take_a->text.at);
	if (r == 0)
		r = call(p, method, take_a->text.at, ret_result);
	buf_done(&take_a->text);
	return r;
}

/* ---- jobs and sheets ------------------------------------------------------------------------- */

/* A member that only a later header knows would be ignored silently. */
static int check_room(struct proctor *p, void *const reserved[static PROCTOR_ROOM])
{
	for (int i = 0; i < PROCTOR_ROOM; i++)
		if (reserved[i])
			return err_set(
				&p->err, EINVAL,
				"the struct was not initialised with zeros, or needs a newer library");
	return 0;
}

static int copy_job_id(struct proctor *p, json_t *take_result, char ret_id[static PROCTOR_ID_MAX])
{
	const char *id = json_string_value(json_object_get(take_result, "job_id"));
	int r = 0;

	if (!id)
		r = err_set(&p->err, EPROTO, "the answer has no job_id");
	else if (strlen(id) >= PROCTOR_ID_MAX)
		r = err_set(&p->err, EPROTO, "the job_id of the answer is longer than %d bytes",
		            PROCTOR_ID_MAX - 1);
	else
		snprintf(ret_id, PROCTOR_ID_MAX, "%s", id);
	json_decref(take_result);
	return r;
}

EXPORT int proctor_job_start(struct proctor *p, const struct proctor_job *job,
                             char ret_id[PROCTOR_ID_MAX])
{
	json_t *result = NULL;
	struct args a;
	int r;

	if (!p)
		return -ENOTCONN;
	r = check_room(p, job->reserved);
	if (r < 0)
		return r;
	args_begin(&a);
	args_str(&a, "job_id", job->id);
	args_str(&a, "job_type", job->type);
	args_str(&a, "command", job->command);
	args_str(&a, "cwd", job->cwd);
	args_json(&a, "tags", job->tags);
	if (job->pid >= 0)
		json_put_i64(&a.j, "pid", job->pid ? job->pid : getpid());
	json_put_any_u64(&a.j, "total_sheets", job->total_sheets);
	args_str(&a, "workspace", job->workspace);
	r = args_call(&a, p, "job.start", &result);
	return r < 0 ? r : copy_job_id(p, result, ret_id);
}

static void put_end(struct args *a, const struct proctor_end *how)
{
	if (how && how->signal)
		json_put_any_u64(&a->j, "signal", (uint64_t)how->signal);
	else if (how)
		json_put_any_u64(&a->j, "exit_code", (uint64_t)how->exit_code);
}

static bool is_success(const struct proctor_end *how)
{
	return !how || (!how->signal && !how->exit_code);
}

EXPORT int proctor_job_end(struct proctor *p, const char *id, const struct proctor_end *how)
{
	struct args a;

	args_begin(&a);
	args_str(&a, "job_id", id);
	args_str(&a, "status", is_success(how) ? "completed" : "failed");
	put_end(&a, how);
	return args_call(&a, p, "job.end", NULL);
}

EXPORT int proctor_sheet_start(struct proctor *p, const struct proctor_sheet *sheet)
{
	json_t *result = NULL;
	struct args a;
	int r;

	if (!p)
		return -ENOTCONN;
	r = check_room(p, sheet->reserved);
	if (r < 0)
		return r;
	args_begin(&a);
	args_str(&a, "job_id", sheet->job_id);
	json_put_any_u64(&a.j, "sheet_num", sheet->num);
	json_put_any_u64(&a.j, "total", sheet->total);
	json_put_any_u64(&a.j, "pid", (uint64_t)sheet->pid);
	json_put_any_str(&a.j, "label", sheet->label);
	r = args_call(&a, p, "sheet.started", &result);
	if (r == 0)
		r = (int)json_integer_value(json_object_get(result, "sheet_num"));
	json_decref(result);
	return r;
}

EXPORT int proctor_sheet_end(struct proctor *p, const char *job_id, unsigned num,
                             const struct proctor_end *how)
{
	struct args a;

	args_begin(&a);
	args_str(&a, "job_id", job_id);
	json_put_any_u64(&a.j, "sheet_num", num);
	if (!is_success(how))
		put_end(&a, how);
	return args_call(&a, p, is_success(how) ? "sheet.completed" : "sheet.failed", NULL);
}

/* ---- marks and phases ------------------------------------------------------------------------ */

EXPORT int proctor_mark(struct proctor *p, const char *name, const char *data)
{
	struct args a;

	args_begin(&a);
	args_str(&a, "name", name);
	args_json(&a, "data", data);
	return args_call(&a, p, "job.mark", NULL);
}

EXPORT int proctor_phase(struct proctor *p, const char *name, double seconds, const char *data)
{
	struct args a;

	if (p && !isfinite(seconds))
		return err_set(&p->err, EINVAL, "seconds is not a finite number");
	args_begin(&a);
	args_str(&a, "name", name);
	json_key(&a.j, "seconds");
	json_exact(&a.j, seconds);
	args_json(&a, "data", data);
	return args_call(&a, p, "job.phase", NULL);
}

/* ---- context --------------------------------------------------------------------------------- */

static double number(const json_t *from, const char *key)
{
	const json_t *v = json_object_get(from, key);

	return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static long count(const json_t *from, const char *key)
{
	const json_t *v = json_object_get(from, key);

	return json_is_integer(v) ? (long)json_integer_value(v) : -1;
}

/* Joins as many names as fit. */
static void join_names(const json_t *from, char *to, size_t size)
{
	size_t i, len = 0;
	json_t *item;

	to[0] = '\0';
	json_array_foreach(from, i, item)
	{
		const char *text = json_string_value(item);

		if (!text || len + strlen(text) + 2 > size)
			continue;
		len += (size_t)snprintf(to + len, size - len, "%s%s", len ? "," : "", text);
	}
}

/* With a NULL answer every member is unknown. */
static void fill_context(const json_t *answer, struct proctor_context *ret)
{
	const char *pressure = json_string_value(json_object_get(answer, "pressure_level"));

	*ret = (struct proctor_context){ .rss_mb = number(answer, "rss_mb"),
		                         .cpu_pct = number(answer, "cpu_pct"),
		                         .daemon_rss_mb = number(answer, "daemon_rss_mb"),
		                         .running_jobs = count(answer, "running_jobs"),
		                         .active_sheets = count(answer, "active_sheets") };
	snprintf(ret->pressure, sizeof ret->pressure, "%s", pressure ? pressure : "");
	join_names(json_object_get(answer, "anomalies_active"), ret->anomalies,
	           sizeof ret->anomalies);
}

EXPORT int proctor_context(struct proctor *p, pid_t pid, struct proctor_context *ret)
{
	json_t *result = NULL;
	struct args a;
	int r;

	fill_context(NULL, ret);
	args_begin(&a);
	json_put_any_u64(&a.j, "pid", (uint64_t)pid);
	r = args_call(&a, p, "context.get", &result);
	if (r < 0)
		return r;
	fill_context(result, ret);
	json_decref(result);
	return 0;
}

/* ---- the event bus --------------------------------------------------------------------------- */

/* A new subscription replaces the old one together with its unread events. */
EXPORT int proctor_subscribe(struct proctor *p, const char *filter, const char *job_id,
                             uint64_t since_seq)
{
	struct rpc_client *feed = NULL, *calls;
	struct args a;
	int r;

	if (!p)
		return -ENOTCONN;
	p->err = (struct err){ 0 };
	r = rpc_client_open(p->path, deadline_ns(p), &feed, &p->err);
	if (r < 0)
		return r;
	rpc_client_close(p->feed);
	p->feed = feed;
	args_begin(&a);
	json_put_any_str(&a.j, "filter", filter);
	args_str(&a, "job_id", job_id);
	json_put_any_u64(&a.j, "since_seq", since_seq);
	calls = p->calls;
	p->calls = feed;
	r = args_call(&a, p, "bus.subscribe", NULL);
	p->calls = calls;
	return r;
}

static const char *text_or_empty(const json_t *from, const char *key)
{
	const char *v = json_string_value(json_object_get(from, key));

	return v ? v : "";
}

/* The strings of *ret belong to the handle, until the next event. */
static void fill_event(struct proctor *p, json_t *take_message, struct proctor_event *ret)
{
	const json_t *params = json_object_get(take_message, "params");
	const json_t *data = json_object_get(params, "data");
	const char *name = text_or_empty(params, "event");

	json_decref(p->event);
	p->event = take_message;
	free(p->data);
	p->data = data ? json_dumps(data, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	*ret = (struct proctor_event){
		.seq = (uint64_t)json_integer_value(json_object_get(params, "seq")),
		.timestamp = json_number_value(json_object_get(params, "timestamp")),
		.name = *name ? name : text_or_empty(take_message, "method"),
		.job_id = text_or_empty(params, "job_id"),
		.data = p->data ? p->data : "{}",
		.lost = (uint64_t)json_integer_value(json_object_get(params, "lost")),
	};
}

EXPORT int proctor_next(struct proctor *p, int timeout_ms, struct proctor_event *ret)
{
	uint64_t until_ns = timeout_ms < 0 ? UINT64_MAX
	                                   : clock_mono_ns() + (uint64_t)timeout_ms * NS_PER_MS;
	json_t *message = NULL;
	int r;

	if (!p || !p->feed)
		return -ENOTCONN;
	p->err = (struct err){ 0 };
	r = rpc_client_next(p->feed, until_ns, &message, &p->err);
	if (r == -ETIMEDOUT) {
		p->err = (struct err){ 0 }; /* a timeout is not an error */
		return 0;
	}
	if (r < 0)
		return r;
	fill_event(p, message, ret);
	return 1;
}

EXPORT int proctor_fd(const struct proctor *p)
{
	return p && p->feed ? rpc_client_fd(p->feed) : -ENOTCONN;
}

EXPORT int proctor_publish(struct proctor *p, const char *name, const char *data)
{
	struct args a;

	args_begin(&a);
	args_str(&a, "event", name);
	args_json(&a, "data", data);
	return args_call(&a, p, "bus.publish", NULL);
}
