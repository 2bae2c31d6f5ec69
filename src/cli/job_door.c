/* SPDX-License-Identifier: MIT */
#include "cli/job_door.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "model/job.h"
#include "rpc/rpc_client.h"
#include "rpc/key_values.h"
#include "serve/serve.h"

#define PATIENCE_NS NS_PER_S

/* The id becomes part of a path, and the environment is not trusted. */
static int job_id(const char **ret, struct err *err)
{
	const char *id = getenv("PROCTOR_JOB_ID");

	if (!id || !*id)
		return err_set(err, ENOENT, "not in a job: PROCTOR_JOB_ID is not set; start the job with: proctor run");
	if (strlen(id) >= JOB_ID_MAX || strchr(id, '/') || id[0] == '.')
		return err_set(err, ENOENT, "not in a job: PROCTOR_JOB_ID is not the id of one; start the job with: proctor run");
	*ret = id;
	return 0;
}

static int door_path(const struct cli *cli, const char *id, char **ret, struct err *err)
{
	char state_dir[CONFIG_PATH_MAX];

	if (cli_state_dir(cli, state_dir) != CLI_OK)
		return err_set(err, EIO, "job '%s': its state directory is unknown", id);
	*ret = xasprintf("%s/jobs/%s/sock", state_dir, id);
	return 0;
}

/* A job that has ended cannot be distinguished from one whose state directory is gone. */
static int no_door(int r, const char *id, const char *path, struct err *err)
{
	if (r == -ENOENT || r == -ENOTDIR)
		return err_set(err, ENOENT,
		               "job '%s': no door at %s: the job has ended, or its state directory "
		               "was removed",
		               id, path);
	if (r == -ECONNREFUSED)
		return err_set(err, ENOENT, "job '%s': its recorder is gone: nothing listens at %s",
		               id, path);
	return err_wrap(err, "job '%s' does not answer", id);
}

int job_door_call(const struct cli *cli, const char *method, const char *params,
                  json_t **ret_result, struct err *err)
{
	uint64_t deadline_ns = clock_mono_ns() + PATIENCE_NS;
	cleanup(rpc_client_closep) struct rpc_client *client = NULL;
	cleanup(freep) char *path = NULL;
	const char *id = NULL;
	int r = job_id(&id, err);

	if (r == 0)
		r = door_path(cli, id, &path, err);
	if (r < 0)
		return r;
	r = rpc_client_open(path, deadline_ns, &client, err);
	if (r < 0)
		return no_door(r, id, path, err);
	if (rpc_client_call(client, method, params, deadline_ns, ret_result, err) < 0)
		return err_wrap(err, "job '%s' %s", id,
		                rpc_client_was_refused(client) ? "refuses" : "does not answer");
	return 0;
}

int job_door_note(const struct cli *cli, const char *name, char *const *pairs, size_t n,
                  struct buf *ret)
{
	struct json j = { .out = ret };
	struct err err;
	size_t before;

	if (!*name || strlen(name) > SERVE_NAME_MAX)
		return cli_usage(cli, "NAME must have 1 to %d bytes", SERVE_NAME_MAX);
	json_begin_object(&j);
	json_put_str(&j, "name", name);
	json_key(&j, "data");
	before = ret->len;
	if (key_values_put(&j, pairs, n, &err) < 0)
		return cli_usage(cli, "%s", err.msg);
	if (ret->len - before > SERVE_DATA_MAX)
		return cli_usage(cli, "the data is longer than %d bytes", SERVE_DATA_MAX);
	return CLI_OK;
}
