/* SPDX-License-Identifier: MIT */
#include "serve/serve.h"

#include "base/clock.h"
#include "base/mem.h"
#include "rpc/server.h"
#include "serve/announce.h"
#include "serve/doorway.h"
#include "serve/methods.h"

#define CLIENTS_MAX 256 /* of one job */

struct serve {
	struct doorway doorway;
	struct methods methods;
};

/* Whose job it is, and root. */
static bool admits(void *self, const struct server_peer *peer)
{
	(void)self;
	return peer->uid == 0 || peer->uid == geteuid();
}

static struct serve *serve_new(struct loop *loop, const struct serve_host *host)
{
	struct serve *s = xcalloc(1, sizeof *s);

	s->methods.host = *host;
	s->methods.clerk = clerk_new(loop, SERVER_REPLY_MAX);
	s->methods.opened_mono_ns = clock_mono_ns();
	doorway_init(&s->doorway);
	return s;
}

int serve_open(struct loop *loop, const char *dir, const struct serve_host *host,
               struct serve **ret, struct err *err)
{
	cleanup(serve_closep) struct serve *s = serve_new(loop, host);
	const struct server_options options = {
		.methods = serve_methods,
		.self = &s->methods,
		.admits = admits,
		.clients_max = CLIENTS_MAX,
	};
	int fd, r;

	r = doorway_open(&s->doorway, dir, &fd, err);
	if (r == 0)
		r = server_open(loop, fd, &options, &s->methods.server, err);
	if (r < 0)
		return err_wrap(err, "the door of the job");
	*ret = TAKE_PTR(s);
	return 0;
}

int serve_listen(struct loop *loop, int take_fd, const struct serve_host *host, struct serve **ret,
                 struct err *err)
{
	cleanup(serve_closep) struct serve *s = serve_new(loop, host);
	const struct server_options options = {
		.methods = serve_methods,
		.self = &s->methods,
		.clients_max = host->clients_max,
		.clients_per_uid_max = host->clients_per_uid_max,
	};

	if (server_open(loop, take_fd, &options, &s->methods.server, err) < 0)
		return -err->code;
	*ret = TAKE_PTR(s);
	return 0;
}

unsigned serve_clients(const struct serve *serve)
{
	return server_clients(serve->methods.server);
}

/* Those that nobody told of by a call. */
static void tell_ends(struct methods *m, const struct snapshot *snap)
{
	vec_each(&snap->sheets, sheet)
		if (sheet->ends_now)
			methods_announce_sheet(m, &snap->jobs.at[sheet->job], sheet);
	vec_each(&snap->jobs, job)
		if (job->ends_now)
			methods_announce_job(m, job, 0);
}

bool serve_is_listened_to(const struct serve *serve)
{
	return serve->methods.bus != NULL;
}

void serve_note(struct serve *serve, const struct snapshot *snap)
{
	struct methods *m = &serve->methods;

	recent_note(&m->recent, snap);
	if (m->bus)
		announce_events(m->bus, snap, &m->scratch);
	tell_ends(m, snap);
	server_wake(m->server);
}

void serve_close(struct serve *serve)
{
	if (!serve)
		return;
	server_close(serve->methods.server); /* before the clerk: it drops its errands */
	clerk_free(serve->methods.clerk);
	doorway_close(&serve->doorway);
	recent_done(&serve->methods.recent);
	ration_done(&serve->methods.ration);
	bus_free(serve->methods.bus);
	seen_done(&serve->methods.seen);
	buf_done(&serve->methods.scratch);
	free(serve);
}
