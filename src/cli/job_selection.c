/* SPDX-License-Identifier: MIT */
#include "cli/job_selection.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/store_locations.h"

int job_selection_open(const struct cli *cli, struct job_selection *ret)
{
	char state_dir[CONFIG_PATH_MAX];
	struct config config;
	struct err err = { 0 };
	int status = cli_config(cli, &config, NULL), r;

	*ret = (struct job_selection){ 0 };
	if (status != CLI_OK || (status = cli_state_dir(cli, state_dir)) != CLI_OK)
		return status;
	ret->path = cli_path(config.profiler.storage_path, state_dir, "proctor.db");
	r = history_open(ret->path, &ret->reader, &err);
	if (r == -ENOENT)
		return store_locations_tell_missing(ret->path);
	return r < 0 ? cli_failed(&err) : CLI_OK;
}

void job_selection_close(struct job_selection *r)
{
	history_close(r->reader);
	free(r->path);
	*r = (struct job_selection){ 0 };
}

int job_selection_find(struct job_selection *r, const char *name, struct job *ret)
{
	struct err err = { 0 };
	int result = history_find_job(r->reader, geteuid(), name ? name : "last", ret, &err);
	bool is_last = !name || strcmp(name, "last") == 0;

	if (result == -ENOENT)
		return store_locations_tell_no_job(r->path, is_last ? NULL : name);
	return result < 0 ? cli_failed(&err) : CLI_OK;
}
