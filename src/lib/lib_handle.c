/* SPDX-License-Identifier: MIT */
#include "lib/lib_handle.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "config/socket_path.h"
#include "config/state_dir.h"
#include "rpc/rpc_message.h"

#define TIMEOUT_NS (5 * NS_PER_S)
#define PASSWD_MAX 4096 /* bytes of one entry in the user database */

/* ---- connecting ------------------------------------------------------------------------------ */

/* The id becomes part of a path, and the environment is not trusted. */
static bool is_id(const char *id)
{
	return id && *id && *id != '.' && strlen(id) < PROCTOR_ID_MAX && !strchr(id, '/');
}

/* Not getpwuid(): another thread of the program may be using its static buffer. */
static const char *home_dir(char *room, size_t size)
{
	const char *home = getenv("HOME");
	struct passwd entry, *found = NULL;

	if (home && *home)
		return home;
	return getpwuid_r(geteuid(), &entry, room, size, &found) == 0 && found ? found->pw_dir
	                                                                       : NULL;
}

/* The same search as that of the commands: `run` sets PROCTOR_STATE_DIR only where this would not
 * find the directory. */
static char *door_path(void)
{
	char cwd[PATH_MAX], room[PASSWD_MAX], dir[CONFIG_PATH_MAX];
	const struct state_dir_env env = { .ours = getenv("PROCTOR_STATE_DIR"),
		                           .systemd = getenv("STATE_DIRECTORY"),
		                           .xdg_state_home = getenv("XDG_STATE_HOME"),
		                           .home = home_dir(room, sizeof room),
		                           .cwd = getcwd(cwd, sizeof cwd),
		                           .is_root = geteuid() == 0 };
	const char *id = getenv("PROCTOR_JOB_ID");
	struct err err;

	if (!is_id(id) || state_dir_resolve(&env, dir, &err) < 0)
		return NULL;
	return xasprintf("%s/jobs/%s/sock", dir, id);
}

static char *daemon_path(unsigned nth)
{
	const struct socket_path_env env = { .ours = getenv("PROCTOR_SOCKET"),
		                             .xdg_runtime_dir = getenv("XDG_RUNTIME_DIR"),
		                             .is_root = geteuid() == 0 };
	char path[CONFIG_PATH_MAX];

	return socket_path_find(&env, nth, path) ? xstrdup(path) : NULL;
}

static bool is_absent(int r)
{
	return r == -ENOENT || r == -ECONNREFUSED || r == -ENOTDIR;
}

static int try_path(struct proctor *p, char *take_path)
{
	int r = rpc_client_open(take_path, lib_handle_deadline(p), &p->calls, &p->err);

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

uint64_t lib_handle_deadline(const struct proctor *p)
{
	return clock_mono_ns() + p->timeout_ns;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int call(struct proctor *p, const char *method, const char *params, json_t **ret_result)
{
	p->err = (struct err){ 0 };
	return rpc_client_call(p->calls, method, params, lib_handle_deadline(p), ret_result,
	                       &p->err);
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

void args_begin(struct args *a)
{
	*a = (struct args){ 0 };
	a->j.out = &a->text;
	json_begin_object(&a->j);
}

void args_str(struct args *a, const char *key, const char *value)
{
	if (!value)
		return;
	json_put_str(&a->j, key, value);
}

void args_num(struct args *a, const char *key, uint64_t value)
{
	if (!value)
		return;
	json_put_u64(&a->j, key, value);
}

void args_json(struct args *a, const char *key, const char *json)
{
	if (!json)
		return;
	json_key(&a->j, key);
	json_raw(&a->j, json, strlen(json));
}

int args_call(struct args *take_a, struct proctor *p, const char *method, json_t **ret_result)
{
	int r;

	json_end_object(&take_a->j);
	r = check_object(p, "the request", take_a->text.at);
	if (r == 0)
		r = call(p, method, take_a->text.at, ret_result);
	buf_done(&take_a->text);
	return r;
}
