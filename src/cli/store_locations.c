/* SPDX-License-Identifier: MIT */
#include "cli/store_locations.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cli/cli.h"
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

static bool offer_others(const char *missing)
{
	const char *sudo_user = getenv("SUDO_USER");
	bool found = false;

	offer("/var/lib/proctor", missing, &found);
	offer_home(getpwuid(getuid()), missing, &found);
	if (sudo_user)
		offer_home(getpwnam(sudo_user), missing, &found);
	return found;
}

int store_locations_tell_missing(const char *path)
{
	log_error("no store at '%s'", path);
	if (!offer_others(path))
		log_info("nothing is recorded yet; start with: proctor run -- COMMAND");
	return CLI_NOT_FOUND;
}

int store_locations_tell_no_job(const char *path, const char *name)
{
	if (name)
		log_error("no job '%s' in '%s'; see: proctor ls", name, path);
	else
		log_error("no job in '%s' yet; record one with: proctor run -- COMMAND", path);
	offer_others(path);
	return CLI_NOT_FOUND;
}
