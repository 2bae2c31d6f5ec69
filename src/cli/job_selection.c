/* SPDX-License-Identifier: MIT */
#include "cli/job_selection.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "config/state_dir.h"

/* Those of root, of the user who called sudo, and our own. */
static void offer(const char *dir, const char *missing, bool *ret_found)
{
	cleanup(freep) char *path = xasprintf("%s/proctor.db", dir);

	if (strcmp(path, missing) == 0 || access(path, R_OK) < 0)
		return;
	log_info("there is a store in %s: --state-dir %s", dir, dir);
	*ret_found = true;
}

static void offer_home(const struct passwd *pw, const char *missing, bool *ret_found)
{
	const struct state_dir_env env = { .home = pw ? pw->pw_dir : NULL };
	char dir[CONFIG_PATH_MAX];
	struct err err;

	if (pw && state_dir_resolve(&env, dir, &err) == 0)
		offer(dir, missing, ret_found);
}

/* On a network file system those of the other hosts: DIR/hosts/HOST. */
static void offer_hosts(const char *missing, bool *ret_found)
{
	cleanup(freep) char *hosts = xstrdup(missing);
	struct dirent **names = NULL;
	int n = 0;

	for (int up = 0; up < 2 && strrchr(hosts, '/'); up++)
		*strrchr(hosts, '/') = '\0';
	if (strrchr(hosts, '/') && strcmp(strrchr(hosts, '/'), "/hosts") == 0)
		n = scandir(hosts, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		cleanup(freep) char *dir = xasprintf("%s/%s", hosts, names[i]->d_name);

		offer(dir, missing, ret_found);
		free(names[i]);
	}
	free(names);
}

static bool offer_others(const char *missing)
{
	const char *sudo_user = getenv("SUDO_USER");
	bool found = false;

	offer_hosts(missing, &found);
	offer("/var/lib/proctor", missing, &found);
	offer_home(getpwuid(getuid()), missing, &found);
	if (sudo_user)
		offer_home(getpwnam(sudo_user), missing, &found);
	return found;
}

int job_selection_no_store(const char *path)
{
	log_error("no store at '%s'", path);
	if (!offer_others(path))
		log_info("nothing is recorded yet; start with: proctor run -- COMMAND");
	return CLI_NOT_FOUND;
}

static int no_job(const char *path, const char *name)
{
	if (!name || strcmp(name, "last") == 0)
		log_error("no job in '%s' yet; record one with: proctor run -- COMMAND", path);
	else
		log_error("no job '%s' in '%s'; see: proctor ls", name, path);
	offer_others(path);
	return CLI_NOT_FOUND;
}

int job_selection_open(const struct cli *cli, struct job_selection *ret)
{
	struct err err = { 0 };
	int status = cli_store_path(cli, &ret->path), r;

	if (status != CLI_OK)
		return status;
	r = history_open(ret->path, &ret->reader, &err);
	if (r == -ENOENT)
		return job_selection_no_store(ret->path);
	return r < 0 ? cli_failed(&err) : CLI_OK;
}

int job_selection_find(struct job_selection *r, const char *name, struct job *ret)
{
	struct err err = { 0 };
	int result = history_find_job(r->reader, geteuid(), name ? name : "last", ret, &err);

	if (result == -ENOENT)
		return no_job(r->path, name);
	return result < 0 ? cli_failed(&err) : CLI_OK;
}

bool job_selection_has(const struct cli *cli, const char *name)
{
	cleanup(job_selection_close) struct job_selection recorded = { 0 };
	struct err err = { 0 };
	struct job job;

	return cli_store_path(cli, &recorded.path) == CLI_OK &&
	       history_open(recorded.path, &recorded.reader, &err) == 0 &&
	       history_find_job(recorded.reader, geteuid(), name, &job, &err) != -ENOENT;
}

void job_selection_close(struct job_selection *r)
{
	history_close(r->reader);
	free(r->path);
}

int job_selection_report(const struct cli *cli, const char *name, struct report *ret)
{
	cleanup(job_selection_close) struct job_selection recorded = { 0 };
	struct err err = { 0 };
	int status = job_selection_open(cli, &recorded);

	if (status == CLI_OK)
		status = job_selection_find(&recorded, name, &ret->job);
	ret->now_ns = clock_wall_ns();
	if (status == CLI_OK && report_gather(ret, recorded.reader, &err) < 0)
		status = cli_failed(&err);
	return status;
}
