/* SPDX-License-Identifier: MIT */
#include "serve/serve.h"

#include <stddef.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "rpc/rpc_server.h"
#include "serve/event_publisher.h"
#include "serve/job_socket.h"
#include "serve/methods.h"
#include "serve/pattern_search.h"
#include "serve/type_history_loader.h"

#define CLIENTS_MAX 256 /* of one job */

struct serve {
	struct job_socket socket;
	struct methods methods;
	void (*left)(void *self); /* of serve_attach() */
	void *left_self;
};

static bool trusts(void *self, const struct rpc_server_peer *peer)
{
	(void)self;
	return methods_trusts(peer);
}

static struct serve *serve_new(struct loop *loop, const struct serve_host *host)
{
	struct serve *s = xcalloc(1, sizeof *s);

	s->methods.host = *host;
	s->methods.loop = loop;
	s->methods.worker = store_worker_new(loop, RPC_SERVER_REPLY_MAX);
	s->methods.process_worker = store_worker_new(loop, RPC_SERVER_REPLY_MAX);
	s->methods.start_worker = store_worker_new(loop, RPC_SERVER_REPLY_MAX);
	if (host->traces)
		s->methods.traces = traces_new(
			loop, host->engine ? engine_jobs(host->engine)->reader : NULL, host->traces);
	s->methods.opened_mono_ns = clock_mono_ns();
	job_socket_init(&s->socket);
	return s;
}

static void on_left(void *self)
{
	const struct serve *s = (const struct serve *)((char *)self - offsetof(struct serve, methods));

	if (s->left)
		s->left(s->left_self);
}

static int open_server(struct loop *loop, int take_fd, struct methods *m, struct err *err)
{
	const struct rpc_server_options options = {
		.methods = serve_methods,
		.self = m,
		.admits = m->host.daemon ? NULL : trusts, /* at a door: the owner of the job, and root */
		.trusts = trusts,
		.left = on_left,
		.clients_max = m->host.daemon ? m->host.clients_max : CLIENTS_MAX,
		.clients_per_uid_max = m->host.clients_per_uid_max,
	};

	return rpc_server_open(loop, take_fd, &options, &m->server, err);
}

int serve_open(struct loop *loop, const char *dir, const struct serve_host *host,
               struct serve **ret, struct err *err)
{
	cleanup(serve_closep) struct serve *s = serve_new(loop, host);
	int fd;

	if (job_socket_open(&s->socket, dir, &fd, err) < 0 ||
	    open_server(loop, fd, &s->methods, err) < 0)
		return err_wrap(err, "the door of the job");
	*ret = TAKE_PTR(s);
	return 0;
}

int serve_listen(struct loop *loop, int take_fd, const struct serve_host *host, struct serve **ret,
                 struct err *err)
{
	cleanup(serve_closep) struct serve *s = serve_new(loop, host);

	if (open_server(loop, take_fd, &s->methods, err) < 0)
		return -err->code;
	*ret = TAKE_PTR(s);
	return 0;
}

int serve_attach(struct loop *loop, int take_fd, const struct serve_host *host,
                 void (*left)(void *self), void *self, struct serve **ret, struct err *err)
{
	cleanup(serve_closep) struct serve *s = serve_new(loop, host);

	s->left = left;
	s->left_self = self;
	if (open_server(loop, -1, &s->methods, err) < 0) {
		close(take_fd);
		return -err->code;
	}
	rpc_server_adopt(s->methods.server, take_fd);
	*ret = TAKE_PTR(s);
	return 0;
}

bool serve_is_listened_to(const struct serve *serve)
{
	return serve->methods.bus != NULL;
}

/* Sheets that no call ended. */
static void publish_sheets(struct methods *m, const struct snapshot *snap)
{
	vec_each(&snap->sheets, sheet) {
		const struct job_end how = { .status = sheet->status, .signal = sheet->signal };

		if (!sheet->ends_now)
			continue;
		if (m->host.observer)
			m->host.observer->end_sheet(m->host.observer_self, sheet->num, &how);
		methods_publish_sheet(m, &snap->jobs.at[sheet->job], sheet);
	}
}

void serve_publish(struct serve *serve, const struct snapshot *snap)
{
	struct methods *m = &serve->methods;

	recent_events_add(&m->recent, snap);
	m->notable.is_notable = true;
	recent_events_add(&m->notable, snap);
	recent_deaths_add(&m->deaths, snap);
	if (m->bus)
		event_publisher_publish(m->bus, snap, &m->scratch);
	publish_sheets(m, snap);
	rpc_server_wake(m->server);
}

/* A client may have corrected the end since, which was published then. */
static bool is_current(const struct methods *m, const struct job *job)
{
	const struct job_row *row = job_roster_get(methods_jobs(m), job->handle);

	return !row || job_is_same_end(&row->job, job);
}

void serve_publish_ends(struct serve *serve, const struct snapshot *snap, bool is_stored)
{
	struct methods *m = &serve->methods;

	vec_each(&snap->jobs, job)
		if (job->ends_now && is_current(m, job))
			methods_publish_job(m, job, 0, is_stored ? STORED_YES : STORED_NO);
}

int serve_search_patterns(struct serve *serve, size_t min_jobs, serve_patterns_fn found, void *self,
                          struct err *err)
{
	const struct pattern_search search = { .db_path = serve->methods.host.db_path,
		                               .min_jobs = min_jobs,
		                               .found = found,
		                               .self = self };

	return pattern_search_begin(serve->methods.worker, &search, err);
}

int serve_load_past(struct serve *serve, const struct job *job, serve_past_fn found, void *self,
                    struct err *err)
{
	const struct type_history_loader how = { .db_path = serve->methods.host.db_path,
		                                 .job = job,
		                                 .found = found,
		                                 .self = self };

	return type_history_loader_start(serve->methods.worker, &how, err);
}

void serve_settle(struct serve *serve)
{
	methods_finish_ends(&serve->methods);
}

void serve_close(struct serve *serve)
{
	if (!serve)
		return;
	rpc_server_close(serve->methods.server); /* before the worker: it drops its requests */
	store_worker_free(serve->methods.worker);
	store_worker_free(serve->methods.process_worker);
	store_worker_free(serve->methods.start_worker);
	traces_free(serve->methods.traces);
	job_socket_close(&serve->socket);
	recent_events_done(&serve->methods.recent);
	recent_events_done(&serve->methods.notable);
	recent_deaths_done(&serve->methods.deaths);
	quota_done(&serve->methods.quota);
	quota_done(&serve->methods.publishing);
	bus_free(serve->methods.bus);
	vec_done(&serve->methods.end_waits);
	buf_done(&serve->methods.scratch);
	free(serve);
}
