/* SPDX-License-Identifier: MIT */
#include "cli/ask.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "config/sockpath.h"

bool ask_place(const char *socket, unsigned nth, char ret[static CONFIG_PATH_MAX])
{
	const struct sockpath_env env = {
		.option = socket,
		.ours = getenv("PROCTOR_SOCKET"),
		.xdg_runtime_dir = getenv("XDG_RUNTIME_DIR"),
		.is_root = geteuid() == 0,
	};

	return sockpath_find(&env, nth, ret);
}

static bool is_absent(int r)
{
	return r == -ENOENT || r == -ECONNREFUSED || r == -ENOTDIR;
}

int ask_open(const char *socket, struct ask *ret, struct err *err)
{
	int r = -ENOENT;

	*ret = (struct ask){ 0 };
	for (unsigned i = 0; is_absent(r) && ask_place(socket, i, ret->path); i++)
		r = client_open(ret->path, clock_mono_ns() + ASK_PATIENCE_NS, &ret->client, err);
	return is_absent(r) ? err_set(err, ENOENT, "no daemon answers at %.200s", ret->path) : r;
}

int ask_call(struct ask *ask, const char *method, const char *params, json_t **ret, struct err *err)
{
	return client_call(ask->client, method, params, clock_mono_ns() + ASK_PATIENCE_NS, ret,
	                   err);
}

void ask_close(struct ask *ask)
{
	client_close(ask->client);
	ask->client = NULL;
}

int ask_tell(const struct err *err)
{
	log_error("%s", err->msg);
	if (err->code == ENOENT)
		log_info("start one: proctor daemon, or as a service: systemctl start proctor");
	return CLI_DAEMON;
}
