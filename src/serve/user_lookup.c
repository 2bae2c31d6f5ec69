/* SPDX-License-Identifier: MIT */
#include "serve/user_lookup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/user_names.h"

struct user_lookup {
	struct methods *methods;
	struct rpc_session *session;
	char name[USER_NAME_MAX];
	uint32_t uid;
	bool exists;
};

/* On the store worker's thread. */
static int look_up(void *self, const struct history_cancel *cancel, struct json *result,
                   struct err *err)
{
	struct user_lookup *u = self;

	(void)cancel, (void)err;
	u->exists = user_names_parse(u->name, strlen(u->name), &u->uid);
	json_bool(result, u->exists);
	return 0;
}

static void call_again(void *self, int r, const struct buf *result, const struct err *err)
{
	struct user_lookup *u = self;

	(void)r, (void)result, (void)err;
	u->methods->looked_up = u;
	rpc_session_call_again(u->session);
	u->methods->looked_up = NULL;
}

static void drop_request(void *self)
{
	store_worker_drop(self);
}

static int defer(struct methods *m, const struct rpc_server_peer *peer, const char *text, size_t n,
                 struct err *err)
{
	struct store_worker_task task = {
		.uid = peer->uid, .work = look_up, .done = call_again, .free = free
	};
	struct rpc_server_work later = { .abandon = drop_request };
	struct store_request *request;
	struct user_lookup *u = xcalloc(1, sizeof *u);

	u->methods = m;
	u->session = peer->session;
	memcpy(u->name, text, n);
	task.self = u;
	if (store_worker_take(m->worker, &task, &request, err) < 0)
		return -err->code;
	later.self = request;
	rpc_session_defer(peer->session, &later);
	return err_set(err, EINPROGRESS, "user '%s' is being looked up", u->name);
}

int user_lookup(struct methods *m, const struct rpc_server_peer *peer, const char *text, size_t n,
                uint32_t *ret, struct err *err)
{
	const struct user_lookup *known = m->looked_up;

	if (user_names_parse_number(text, n, ret))
		return 1;
	if (n == 0 || n >= USER_NAME_MAX)
		return 0;
	if (!known || strlen(known->name) != n || memcmp(known->name, text, n) != 0)
		return defer(m, peer, text, n, err);
	*ret = known->uid;
	return known->exists;
}
