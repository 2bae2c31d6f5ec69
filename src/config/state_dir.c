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
		                       .xdg_runtime_dir = getenv("XDG_RUNTIME_DIR"),
		                       .tmpdir = getenv("TMPDIR"),
		                       .uid = geteuid(),
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

static bool is_named(const struct state_dir_env *env)
{
	return is_set(env->option) || is_set(env->ours) || is_absolute(env->systemd);
}

static int set_named(const struct state_dir_env *env, char *ret, struct err *err)
{
	if (is_set(env->option))
		return set_given(ret, err, env->option, env->cwd);
	if (is_set(env->ours))
		return set_given(ret, err, env->ours, env->cwd);
	return set_first(ret, err, env->systemd);
}

enum place_kind {
	PLACE_USUAL,
	PLACE_RUNTIME, /* of one user, until the last session ends */
	PLACE_SHARED,  /* by all users: others may prepare a trap there */
};

struct place {
	enum place_kind kind;
	const char *base; /* not absolute: there is none */
	const char *rest; /* NULL: named after the user */
};

#define PLACES_MAX 7
static void list_places(const struct state_dir_env *env, struct place ret[static PLACES_MAX])
{
	const struct place places[PLACES_MAX] = {
		{ PLACE_USUAL, env->is_root ? STATE_DIR_MACHINE : NULL, "" },
		{ PLACE_USUAL, env->xdg_state_home, "/proctor" },
		{ PLACE_USUAL, env->home, "/.local/state/proctor" },
		{ PLACE_RUNTIME, env->xdg_runtime_dir, "/proctor/state" },
		{ PLACE_SHARED, env->tmpdir, NULL },
		{ PLACE_SHARED, "/var/tmp", NULL },
		{ PLACE_SHARED, "/tmp", NULL },
	};

	memcpy(ret, places, sizeof places);
}

static int set_place(const struct state_dir_env *env, const struct place *p, char *ret,
                     struct err *err)
{
	cleanup(freep) char *own = xasprintf("/proctor-%u", env->uid);

	return set_path(ret, err, p->base, p->rest ? p->rest : own);
}

int state_dir_resolve(const struct state_dir_env *env, char ret[static CONFIG_PATH_MAX],
                      struct err *err)
{
	struct place places[PLACES_MAX];

	if (is_named(env))
		return set_named(env, ret, err);
	list_places(env, places);
	for (size_t i = 0; i < PLACES_MAX && places[i].kind == PLACE_USUAL; i++)
		if (is_absolute(places[i].base))
			return set_place(env, &places[i], ret, err);
	return err_set(err, ENOENT,
	               "no state directory: neither HOME nor XDG_STATE_HOME is set; " REMEDY);
}

/* Errors that another directory may not have; a file server that does not answer, for one, is an error
 * of the moment, and the records would be in two places. */
static bool is_lasting(int error)
{
	return error == EACCES || error == EPERM || error == EROFS || error == ENOTDIR ||
	       error == ELOOP;
}

/* 0, or the errno for which the directory cannot be used: by its own rights, or if it does not exist, by
 * those of the nearest directory above. */
static int check_rights(const char *path)
{
	cleanup(freep) char *dir = xstrdup(path);
	int need = R_OK | W_OK | X_OK;
	struct stat st;

	while (stat(dir, &st) < 0) {
		char *slash = strrchr(dir, '/');

		if (errno != ENOENT || !slash)
			return errno;
		need = W_OK | X_OK;
		slash[slash == dir] = '\0';
	}
	if (!S_ISDIR(st.st_mode))
		return ENOTDIR;
	return faccessat(AT_FDCWD, dir, need, AT_EACCESS) < 0 ? errno : 0;
}

static int check_own(const char *dir)
{
	struct stat st;

	if (lstat(dir, &st) < 0)
		return errno;
	if (!S_ISDIR(st.st_mode))
		return S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
	return st.st_uid != geteuid() || (st.st_mode & 077) ? EPERM : 0;
}

/* Others must not be able to replace the directory, nor to have made it. */
static int check_shared(const char *base, const char *path)
{
	struct stat st;
	int r;

	if (stat(base, &st) < 0)
		return errno;
	if ((st.st_mode & 022) && !(st.st_mode & S_ISVTX))
		return EPERM;
	r = check_own(path);
	return r == ENOENT ? 0 : r;
}

static int check_place(const struct place *p, const char *path)
{
	int r = 0;

	if (p->kind == PLACE_SHARED)
		r = check_shared(p->base, path);
	else if (p->kind == PLACE_RUNTIME)
		r = check_own(p->base);
	if (r == 0)
		r = check_rights(path);
	/* A fallback must work; the usual place reports what is wrong with it. */
	return p->kind != PLACE_USUAL || is_lasting(r) ? r : 0;
}

static void set_reason(const struct state_dir *d, int error, struct err *ret)
{
	if (*d->usual)
		err_set(ret, error, "state directory '%.120s': not writable: %s", d->usual,
		        strerror(error));
	else
		err_set(ret, ENOENT, "neither HOME nor XDG_STATE_HOME is set");
}

static int choose(const struct state_dir_env *env, struct state_dir *d, struct err *err)
{
	struct place places[PLACES_MAX];
	struct err ignored;
	int why = 0, no_usual = state_dir_resolve(env, d->usual, err);

	if (no_usual < 0 && no_usual != -ENOENT)
		return no_usual;
	list_places(env, places);
	for (size_t i = 0; i < PLACES_MAX; i++) {
		int r;

		if (!is_absolute(places[i].base) ||
		    set_place(env, &places[i], d->path, &ignored) < 0)
			continue;
		r = check_place(&places[i], d->path);
		if (r == 0) {
			d->is_fallback = strcmp(d->path, d->usual) != 0;
			d->is_shared_place = places[i].kind == PLACE_SHARED;
			if (d->is_fallback)
				set_reason(d, why, &d->why);
			return 0;
		}
		why = why ? why : r;
	}
	memcpy(d->path, d->usual, sizeof d->path);
	return no_usual;
}

int state_dir_choose(const struct state_dir_env *env, struct state_dir *ret, struct err *err)
{
	struct state_dir d = { 0 };
	int r = is_named(env) ? set_named(env, d.path, err) : choose(env, &d, err);

	if (r < 0)
		return r;
	if (is_named(env))
		memcpy(d.usual, d.path, sizeof d.usual);
	*ret = d;
	return 0;
}

static const char *reason_of(enum place_kind kind, int error)
{
	if (kind != PLACE_USUAL && error == EPERM)
		return "another user's, or others may change it";
	return kind != PLACE_USUAL && error == ELOOP ? "a link" : strerror(error);
}

bool state_dir_is_nowhere(const struct state_dir_env *env, struct buf *ret)
{
	char path[CONFIG_PATH_MAX], usual[CONFIG_PATH_MAX] = "";
	struct place places[PLACES_MAX];
	struct err ignored;
	int r;

	buf_reset(ret);
	if (is_named(env))
		return false;
	(void)!state_dir_resolve(env, usual, &ignored);
	list_places(env, places);
	for (size_t i = 0; i < PLACES_MAX; i++) {
		if (!is_absolute(places[i].base) || set_place(env, &places[i], path, &ignored) < 0)
			continue;
		r = check_place(&places[i], path);
		if (r == 0)
			return false;
		if (strcmp(path, usual) != 0)
			buf_printf(ret, "%s'%s' (%s)", ret->len ? ", " : "", path,
			           reason_of(places[i].kind, r));
	}
	return true;
}

int state_dir_find(const struct state_dir_env *env, struct state_dir *ret, struct err *err)
{
	int r = state_dir_choose(env, ret, err);

	if (r < 0 || !ret->is_fallback || access(ret->path, F_OK) == 0 || !*ret->usual ||
	    access(ret->usual, R_OK | X_OK) < 0)
		return r;
	memcpy(ret->path, ret->usual, sizeof ret->path);
	ret->is_fallback = ret->is_shared_place = false;
	return 0;
}

int state_dir_prepare(const struct state_dir *dir, bool is_root, struct err *err)
{
	bool is_private = dir->is_fallback || !is_root;
	const char *path = dir->path;
	struct stat st;
	int r;

	if (io_mkdir_all(path, is_private ? 0700 : 0750, err) < 0)
		return err_set(err, err->code,
		               "state directory '%s': cannot be created: %s; " REMEDY, path,
		               strerror(err->code));
	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return err_set(err, ENOTDIR, "state directory '%s': not a directory; " REMEDY,
		               path);
	/* Another user may have been faster than we. */
	r = dir->is_shared_place ? check_own(path) : 0;
	if (r == 0 && faccessat(AT_FDCWD, path, R_OK | W_OK | X_OK, AT_EACCESS) < 0)
		r = errno;
	return r ? err_set(err, r, "state directory '%s': not writable: %s; " REMEDY, path,
	                   strerror(r))
	         : 0;
}
