/* SPDX-License-Identifier: MIT */
#include "cli/daemon_client.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "config/socket_path.h"
#include "rpc/socket_address.h"

bool daemon_client_place(const char *socket, unsigned nth, char ret[static CONFIG_PATH_MAX])
{
	const struct socket_path_env env = socket_path_environment(socket);

	return socket_path_find(&env, nth, ret);
}

static bool is_absent(int r)
{
	return r == -ENOENT || r == -ECONNREFUSED || r == -ENOTDIR;
}

/* The pid of the listening process; 0: unknown. */
static pid_t pid_of(const struct daemon_client *ask)
{
	struct ucred cred;

	return ask->client && socket_address_peer(rpc_client_fd(ask->client), &cred) == 0 ? cred.pid
	                                                                                  : 0;
}

/* "the daemon at /run/proctor/daemon.sock, process 4711, does not answer …" */
static int name_it(const struct daemon_client *ask, int r, struct err *err)
{
	char process[32] = "";

	if (r != -ETIMEDOUT && r != -ECONNRESET && r != -EPIPE)
		return r;
	if (ask->pid)
		snprintf(process, sizeof process, "process %d, ", ask->pid);
	if (r == -ETIMEDOUT)
		return err_set(err, -r, "the daemon at %.160s, %sdoes not answer within %.3g s",
		               ask->path, process, (double)ask->patience_ns / 1e9);
	return err_set(err, -r, "the daemon at %.160s, %sclosed the connection", ask->path,
	               process);
}

int daemon_client_open_within(const char *socket, uint64_t patience_ns, struct daemon_client *ret,
                              struct err *err)
{
	int r = -ENOENT;

	*ret = (struct daemon_client){ .patience_ns = patience_ns };
	for (unsigned i = 0; is_absent(r) && daemon_client_place(socket, i, ret->path); i++)
		r = rpc_client_open(ret->path, clock_mono_ns() + patience_ns, &ret->client, err);
	if (is_absent(r))
		return err_set(err, ENOENT, "no daemon answers at %.200s", ret->path);
	ret->is_there = r == 0 || r == -ETIMEDOUT;
	ret->pid = pid_of(ret);
	return name_it(ret, r, err);
}

int daemon_client_open(const char *socket, struct daemon_client *ret, struct err *err)
{
	return daemon_client_open_within(socket, DAEMON_CLIENT_PATIENCE_NS, ret, err);
}

int daemon_client_call(struct daemon_client *ask, const char *method, const char *params,
                       json_t **ret, struct err *err)
{
	int r = rpc_client_call(ask->client, method, params, clock_mono_ns() + ask->patience_ns,
	                        ret, err);

	return name_it(ask, r, err);
}

void daemon_client_close(struct daemon_client *ask)
{
	rpc_client_close(ask->client);
	ask->client = NULL;
}

static const char *remedy(int code)
{
	switch (code) {
	case ENOENT:
		return "start one: proctor daemon, or as a service: systemctl start proctor";
	case ETIMEDOUT:
		return "if it was stopped, continue it with kill -CONT; else restart it: systemctl restart proctor";
	case EUSERS:
		return "close some, or raise max_clients or max_clients_per_user in [limits] and restart it";
	default:
		return NULL;
	}
}

int daemon_client_log(const struct err *err)
{
	const char *todo = remedy(err->code);

	log_error("%s", err->msg);
	if (todo)
		log_info("%s", todo);
	return CLI_DAEMON;
}
