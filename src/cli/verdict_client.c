/* SPDX-License-Identifier: MIT */
#include "cli/verdict_client.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "cli/daemon_client.h"
#include "rpc/rpc_answer.h"

#define PATIENCE_NS (50 * NS_PER_MS) /* in all: a user waits for the end of the job */

static void put_params(struct buf *to, const struct proc_id *killed, size_t n)
{
	struct json j = { .out = to };

	json_begin_object(&j);
	json_open_array(&j, "processes");
	for (size_t i = 0; i < n; i++) {
		json_begin_object(&j);
		json_put_i64(&j, "pid", killed[i].pid);
		json_put_i64(&j, "start_ticks", (int64_t)killed[i].start_ticks);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_end_object(&j);
}

/* {"pid":…,"uid":…,"name":…}; pid null: the kernel */
static void take_sender(const json_t *sender, struct cause_verdict *ret)
{
	const char *name = rpc_answer_text(sender, "name");

	if (!json_is_object(sender))
		return;
	ret->has_kill = true;
	ret->kill = (struct cause_signal){ .number = SIGKILL,
		                           .pid = (pid_t)rpc_answer_u64(sender, "pid"),
		                           .uid = (uint32_t)rpc_answer_u64(sender, "uid") };
	if (ret->kill.pid && name)
		snprintf(ret->kill.comm, sizeof ret->kill.comm, "%s", name);
}

static void take_answer(const json_t *answer, struct proc_id command, struct cause_verdict *ret)
{
	json_t *list = json_object_get(answer, "processes"), *one;
	size_t i;

	if (!rpc_answer_text(answer, "source")) /* it does not see what kills processes */
		return;
	json_array_foreach(list, i, one)
	{
		ret->is_known = true;
		ret->is_oom |= rpc_answer_is(one, "oom");
		if ((pid_t)rpc_answer_u64(one, "pid") == command.pid)
			take_sender(json_object_get(one, "sender"), ret);
	}
	ret->kill.is_from_itself = ret->has_kill && ret->kill.pid == command.pid;
}

void verdict_client_ask(struct proc_id command, const struct proc_id *killed, size_t n,
                        struct cause_verdict *ret)
{
	uint64_t deadline_ns = clock_mono_ns() + PATIENCE_NS;
	cleanup(rpc_client_closep) struct rpc_client *client = NULL;
	cleanup(buf_done) struct buf params = { 0 };
	char path[CONFIG_PATH_MAX];
	json_t *answer = NULL;
	struct err err;

	for (unsigned i = 0; !client && daemon_client_place(NULL, i, path); i++)
		if (rpc_client_open(path, deadline_ns, &client, &err) < 0)
			client = NULL;
	if (!client)
		return;
	put_params(&params, killed, n);
	if (rpc_client_call(client, "job.verdict", params.at, deadline_ns, &answer, &err) == 0)
		take_answer(answer, command, ret);
	json_decref(answer);
}
