/* SPDX-License-Identifier: MIT */
#include "config/socket_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MACHINE "/run/proctor/daemon.sock"

struct socket_path_env socket_path_environment(const char *option)
{
	return (struct socket_path_env){ .option = option,
		                         .ours = getenv("PROCTOR_SOCKET"),
		                         .systemd = getenv("RUNTIME_DIRECTORY"),
		                         .xdg_runtime_dir = getenv("XDG_RUNTIME_DIR"),
		                         .is_root = geteuid() == 0 };
}

static bool is_absolute(const char *value)
{
	return value && value[0] == '/';
}

static const char *given(const struct socket_path_env *env)
{
	if (env->option && *env->option)
		return env->option;
	return env->ours && *env->ours ? env->ours : NULL;
}

static bool set_joined(char *ret, const char *dir, size_t n, const char *rest)
{
	int len = snprintf(ret, CONFIG_PATH_MAX, "%.*s%s", (int)n, dir, rest);

	return len > 0 && len < CONFIG_PATH_MAX;
}

static bool set_path(char *ret, const char *path)
{
	return set_joined(ret, path, strlen(path), "");
}

static bool set_user_path(const struct socket_path_env *env, char *ret)
{
	const char *dir = env->xdg_runtime_dir;

	return !env->is_root && is_absolute(dir) &&
	       set_joined(ret, dir, strlen(dir), "/proctor/daemon.sock");
}

int socket_path_own(const struct socket_path_env *env, char ret[static CONFIG_PATH_MAX],
                    struct err *err)
{
	const char *named = given(env);

	if (named && (!is_absolute(named) || !set_path(ret, named)))
		return err_set(err, EINVAL, "socket '%.100s': must be an absolute path", named);
	if (named)
		return 0;
	if (is_absolute(env->systemd) &&
	    set_joined(ret, env->systemd, strcspn(env->systemd, ":"), "/daemon.sock"))
		return 0;
	if (env->is_root ? set_path(ret, MACHINE) : set_user_path(env, ret))
		return 0;
	return err_set(err, ENOENT,
	               "no directory for the socket: XDG_RUNTIME_DIR is not set; choose one with "
	               "--socket PATH or PROCTOR_SOCKET");
}

bool socket_path_find(const struct socket_path_env *env, unsigned nth,
                      char ret[static CONFIG_PATH_MAX])
{
	const char *named = given(env);

	if (named)
		return nth == 0 && set_path(ret, named);
	if (set_user_path(env, ret) && nth == 0)
		return true;
	return nth == (set_user_path(env, ret) ? 1 : 0) && set_path(ret, MACHINE);
}
