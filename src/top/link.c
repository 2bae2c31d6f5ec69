/* SPDX-License-Identifier: MIT */
#include "top/link.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "config/socket_path.h"
#include "rpc/rpc_answer.h"
#include "top/snapshot_text.h"
#include "top/top_host.h"

#define PATIENCE_NS (2 * NS_PER_S)
#define TOP_MAX ((size_t)64 << 20)

/* ---- the daemon ------------------------------------------------------------------------------ */

/* One that watches nothing has nothing to show. */
static bool is_watching(struct rpc_client *client)
{
	json_t *status = NULL;
	struct err err;
	bool is_enabled;

	if (rpc_client_call(client, "daemon.status", NULL, clock_mono_ns() + PATIENCE_NS, &status,
	                    &err) < 0)
		return false;
	is_enabled = rpc_answer_is(status, "enabled");
	json_decref(status);
	return is_enabled;
}

static int open_daemon(struct link *l, struct err *err)
{
	const struct socket_path_env env = socket_path_environment(l->options.socket);
	char path[CONFIG_PATH_MAX];

	for (unsigned i = 0; socket_path_find(&env, i, path); i++) {
		if (rpc_client_open(path, clock_mono_ns() + PATIENCE_NS, &l->client, err) < 0)
			continue;
		if (is_watching(l->client)) {
			l->source = FRAME_DAEMON;
			return 0;
		}
		rpc_client_close(l->client);
		l->client = NULL;
	}
	return err_set(err, ENOENT, "no daemon answers");
}

/* ---- a host of our own ----------------------------------------------------------------------- */

static void become_host(const struct link_options *o, int fd)
{
	char interval[32];
	const char *words[12] = { "proctor", TOP_HOST_VERB };
	size_t n = 2;
	int null = open("/dev/null", O_RDWR);

	snprintf(interval, sizeof interval, "--interval=%llums",
	         (unsigned long long)(o->interval_ns / NS_PER_MS));
	words[n++] = interval;
	if (o->no_bpf)
		words[n++] = "--no-bpf";
	if (o->state_dir) {
		words[n++] = "--state-dir";
		words[n++] = o->state_dir;
	}
	if (o->config_file) {
		words[n++] = "--config";
		words[n++] = o->config_file;
	}
	words[n] = NULL;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (o->is_quiet)
		dup2(null, STDERR_FILENO);
	if (fd == TOP_HOST_FD ? fcntl(fd, F_SETFD, 0) < 0 : dup2(fd, TOP_HOST_FD) < 0)
		_exit(127);
	execv(o->program, (char *const *)(uintptr_t)words);
	_exit(127);
}

static int open_host(struct link *l, struct err *err)
{
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0)
		return err_set(err, errno, "make a pair of sockets: %s", strerror(errno));
	l->host = fork();
	if (l->host == 0)
		become_host(&l->options, sv[1]);
	close(sv[1]);
	if (l->host < 0) {
		close(sv[0]);
		l->host = 0;
		return err_set(err, errno, "start a process: %s", strerror(errno));
	}
	l->client = rpc_client_adopt(sv[0]);
	l->source = FRAME_OWN;
	return 0;
}

int link_open(struct link *l, bool only_daemon, struct err *err)
{
	uint64_t ignored;
	int r = l->options.no_daemon ? -ENOENT : open_daemon(l, err);

	if (r < 0 && !only_daemon)
		r = open_host(l, err);
	if (r < 0)
		return r;
	l->waiting = 0;
	return rpc_client_post(l->client, "daemon.top.stream", "{\"subscribe\":true}",
	                       clock_mono_ns() + PATIENCE_NS, &ignored, err);
}

static void forget(struct link *l)
{
	json_decref(l->snapshot);
	l->snapshot = NULL;
	l->processes = (struct scan){ 0 };
	for (unsigned i = 0; i < LINK_ANSWERS; i++) {
		json_decref(l->answer[i]);
		l->answer[i] = NULL;
		l->asked[i] = 0;
	}
}

void link_close(struct link *l)
{
	rpc_client_close(l->client);
	l->client = NULL;
	forget(l);
	buf_done(&l->top);
	live_frame_names_done(&l->names);
	if (l->host > 0) { /* it ends because its socket is closed */
		uint64_t deadline_ns = clock_mono_ns() + NS_PER_S;

		while (waitpid(l->host, NULL, WNOHANG) == 0) {
			if (clock_mono_ns() > deadline_ns) {
				kill(l->host, SIGKILL);
				waitpid(l->host, NULL, 0);
				break;
			}
			usleep(2000);
		}
	}
	l->host = 0;
}

int link_fd(const struct link *l)
{
	return l->client ? rpc_client_fd(l->client) : -1;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int ask(struct link *l, enum link_answer what, const char *method, const char *params,
               struct err *err)
{
	int r = rpc_client_post(l->client, method, params, clock_mono_ns() + PATIENCE_NS,
	                        &l->asked[what], err);

	l->waiting += r == 0;
	return r;
}

static int ask_all(struct link *l, struct err *err)
{
	char params[64];

	if (ask(l, LINK_STATUS, "daemon.status", NULL, err) < 0 ||
	    ask(l, LINK_JOBS, "job.list", NULL, err) < 0 ||
	    ask(l, LINK_EVENTS, "daemon.events", "{\"limit\":200,\"notable\":true}", err) < 0)
		return -err->code;
	if (!l->context_of)
		return 0;
	snprintf(params, sizeof params, "{\"pid\":%d}", (int)l->context_of);
	return ask(l, LINK_CONTEXT, "context.get", params, err);
}

static int load(struct scan text, json_t **ret, struct err *err)
{
	json_error_t error;

	*ret = json_loadb(text.p, scan_left(&text), 0, &error);
	return *ret ? 0 : err_set(err, EPROTO, "read an answer: %s", error.text);
}

static int take_answer(struct link *l, struct scan line, struct err *err)
{
	json_t *message;
	uint64_t id;

	if (load(line, &message, err) < 0)
		return -err->code;
	id = rpc_answer_u64(message, "id");
	for (unsigned i = 0; id && i < LINK_ANSWERS; i++) {
		if (l->asked[i] != id)
			continue;
		json_decref(l->answer[i]);
		l->answer[i] = json_incref(json_object_get(message, "result"));
		l->asked[i] = 0;
		l->waiting -= l->waiting > 0;
	}
	json_decref(message);
	return 0;
}

static void keep(struct link *l, struct scan snapshot)
{
	buf_reset(&l->top);
	l->top.max = TOP_MAX;
	buf_put(&l->top, snapshot.p, scan_left(&snapshot));
}

/* A snapshot that comes while answers are missing waits for the next: they belong to this one. */
static int take_snapshot(struct link *l, struct scan snapshot, struct err *err)
{
	cleanup(buf_done) struct buf head = { 0 };
	json_t *loaded;

	if (l->waiting)
		return 0;
	keep(l, snapshot);
	if (!snapshot_text_split(scan_mem(l->top.at, l->top.len), &head, &l->processes))
		return err_set(err, EPROTO, "a snapshot that is no object");
	if (load(scan_mem(head.at, head.len), &loaded, err) < 0)
		return -err->code;
	json_decref(l->snapshot);
	l->snapshot = loaded;
	return ask_all(l, err);
}

int link_read(struct link *l, struct err *err)
{
	for (;;) {
		unsigned before = l->waiting;
		struct scan line, params;
		int r = rpc_client_poll(l->client, &line, err);

		if (r == -EAGAIN)
			return 0;
		if (r == 0)
			r = snapshot_text_find(line, &params) ? take_snapshot(l, params, err)
			                                      : take_answer(l, line, err);
		if (r < 0)
			return r;
		if (before && !l->waiting)
			return 1;
	}
}

int link_read_snapshot(struct link *l, struct err *err)
{
	for (;;) {
		struct scan line, params;
		int r = rpc_client_poll(l->client, &line, err);

		if (r < 0)
			return r == -EAGAIN ? 0 : r;
		if (!snapshot_text_find(line, &params))
			continue;
		keep(l, params);
		return 1;
	}
}

void link_fill(struct link *l, const struct job_key *only, struct frame *ret)
{
	const struct live_answers answers = { .snapshot = l->snapshot,
		                              .status = l->answer[LINK_STATUS],
		                              .jobs = l->answer[LINK_JOBS],
		                              .events = l->answer[LINK_EVENTS],
		                              .processes = l->processes,
		                              .names = &l->names };

	live_frame_fill(&answers, l->source, only, ret);
}

void link_blocked(const struct link *l, char *ret, size_t cap)
{
	live_frame_blocked(l->answer[LINK_CONTEXT], ret, cap);
}
