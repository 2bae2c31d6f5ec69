/* SPDX-License-Identifier: MIT */
#include "config/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"

#define REMEDY "choose another with --state-dir DIR or PROCTOR_STATE_DIR"

static bool is_set(const char *value)
{
	return value && *value;
}

static bool is_absolute(const char *value)
{
	return value && value[0] == '/';
}

/* A user without HOME (cron, setpriv) still has one in the user database. Not getpwuid(): another
 * thread of a program that uses libproctor may be using its static buffer. */
static const char *home_dir(char *room)
{
	const char *home = getenv("HOME");
	struct passwd entry, *found = NULL;

	if (is_set(home))
		return home;
	return getpwuid_r(geteuid(), &entry, room, STATE_DIR_ROOM, &found) == 0 && found
	               ? found->pw_dir
	               : NULL;
}

/* Root of a container that runs as a plain user has not all rights: /var/lib may be another's. */
static bool may_use_machines(void)
{
	static const char *const dirs[] = { STATE_DIR_MACHINE, "/var/lib", "/var", "/" };

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		if (faccessat(AT_FDCWD, dirs[i], F_OK, AT_EACCESS) == 0)
			return faccessat(AT_FDCWD, dirs[i], W_OK | X_OK, AT_EACCESS) == 0 ||
			       errno != EACCES;
	return true;
}

struct state_dir_env state_dir_environment(char room[static STATE_DIR_ROOM])
{
	return (struct state_dir_env){ .ours = getenv("PROCTOR_STATE_DIR"),
		                       .systemd = getenv("STATE_DIRECTORY"),
		                       .xdg_state_home = getenv("XDG_STATE_HOME"),
		                       .home = home_dir(room),
		                       .is_root = geteuid() == 0 && may_use_machines() };
}

static int set_path(char *ret, struct err *err, const char *base, const char *rest)
{
	int n = snprintf(ret, CONFIG_PATH_MAX, "%s%s", base, rest);

	if (n < 0 || n >= CONFIG_PATH_MAX)
		return err_set(err, ENAMETOOLONG,
		               "state directory: the path is longer than %d bytes",
		               CONFIG_PATH_MAX - 1);
	while (n > 1 && ret[n - 1] == '/')
		ret[--n] = '\0';
	return 0;
}

/* A path from the user may be relative. It is stored as absolute, because the process may change its
 * directory later. */
static int set_given(char *ret, struct err *err, const char *given, const char *cwd)
{
	cleanup(freep) char *joined = NULL;

	if (is_absolute(given))
		return set_path(ret, err, given, "");
	if (!is_absolute(cwd))
		return err_set(
			err, ENOENT,
			"state directory '%s': the current directory is gone; give an absolute path",
			given);
	joined = xasprintf("%s/%s", strcmp(cwd, "/") == 0 ? "" : cwd, given);
	return set_path(ret, err, joined, "");
}

static int set_first(char *ret, struct err *err, const char *list)
{
	cleanup(freep) char *first = xstrndup(list, strcspn(list, ":"));

	return set_path(ret, err, first, "");
}

int state_dir_resolve(const struct state_dir_env *env, char ret[static CONFIG_PATH_MAX],
                      struct err *err)
{
	if (is_set(env->option))
		return set_given(ret, err, env->option, env->cwd);
	if (is_set(env->ours))
		return set_given(ret, err, env->ours, env->cwd);
	if (is_absolute(env->systemd))
		return set_first(ret, err, env->systemd);
	if (env->is_root)
		return set_path(ret, err, STATE_DIR_MACHINE, "");
	if (is_absolute(env->xdg_state_home))
		return set_path(ret, err, env->xdg_state_home, "/proctor");
	if (is_absolute(env->home))
		return set_path(ret, err, env->home, "/.local/state/proctor");
	return err_set(err, ENOENT,
	               "no state directory: neither HOME nor XDG_STATE_HOME is set; " REMEDY);
}

int state_dir_prepare(const char *path, bool is_root, struct err *err)
{
	struct stat st;

	if (io_mkdir_all(path, is_root ? 0750 : 0700, err) < 0)
		return err_set(err, err->code,
		               "state directory '%s': cannot be created: %s; " REMEDY, path,
		               strerror(err->code));
	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return err_set(err, ENOTDIR, "state directory '%s': not a directory; " REMEDY,
		               path);
	if (faccessat(AT_FDCWD, path, R_OK | W_OK | X_OK, AT_EACCESS) < 0)
		return err_set(err, errno, "state directory '%s': not writable: %s; " REMEDY, path,
		               strerror(errno));
	return 0;
}
