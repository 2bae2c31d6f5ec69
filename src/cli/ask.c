/* SPDX-License-Identifier: MIT */
#include "cli/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "config/sockpath.h"
#include "rpc/address.h"

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

/* The kernel remembers who listens; 0: it is not known. */
static pid_t pid_of(const struct ask *ask)
{
	struct ucred cred;

	return ask->client && address_peer(client_fd(ask->client), &cred) == 0 ? cred.pid : 0;
}

/* Who it is that does not answer: "the daemon at /run/proctor/daemon.sock, process 4711,". */
static int name_it(const struct ask *ask, int r, struct err *err)
{
	char who[32] = "";

	if (r != -ETIMEDOUT && r != -ECONNRESET && r != -EPIPE)
		return r;
	if (ask->pid)
		snprintf(who, sizeof who, "process %d, ", ask->pid);
	if (r == -ETIMEDOUT)
		return err_set(err, -r, "the daemon at %.160s, %sdoes not answer within %d s",
		               ask->path, who, (int)(ASK_PATIENCE_NS / NS_PER_S));
	return err_set(err, -r, "the daemon at %.160s, %shung up without an answer", ask->path,
	               who);
}

int ask_open(const char *socket, struct ask *ret, struct err *err)
{
	int r = -ENOENT;

	*ret = (struct ask){ 0 };
	for (unsigned i = 0; is_absent(r) && ask_place(socket, i, ret->path); i++)
		r = client_open(ret->path, clock_mono_ns() + ASK_PATIENCE_NS, &ret->client, err);
	if (is_absent(r))
		return err_set(err, ENOENT, "no daemon answers at %.200s", ret->path);
	ret->is_there = r == 0 || r == -ETIMEDOUT;
	ret->pid = pid_of(ret);
	return name_it(ret, r, err);
}

int ask_call(struct ask *ask, const char *method, const char *params, json_t **ret, struct err *err)
{
	int r = client_call(ask->client, method, params, clock_mono_ns() + ASK_PATIENCE_NS, ret,
	                    err);

	return name_it(ask, r, err);
}

void ask_close(struct ask *ask)
{
	client_close(ask->client);
	ask->client = NULL;
}

static const char *remedy(int code)
{
	switch (code) {
	case ENOENT:
		return "start one: proctor daemon, or as a service: systemctl start proctor";
	case ETIMEDOUT:
		return "if it was stopped, kill -CONT wakes it; else start it anew: systemctl restart proctor";
	case EUSERS:
		return "close some, or raise max_clients or max_clients_per_user of [limits] and start it anew";
	default:
		return NULL;
	}
}

int ask_tell(const struct err *err)
{
	const char *todo = remedy(err->code);

	log_error("%s", err->msg);
	if (todo)
		log_info("%s", todo);
	return CLI_DAEMON;
}
