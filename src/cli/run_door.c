/* SPDX-License-Identifier: MIT */
#include "cli/run_door.h"

#include <errno.h>

#include "base/mem.h"
#include "cli/report_reply.h"
#include "serve/serve.h"

struct run_door {
	struct jobhost *host;
	struct run_announcer *herald; /* NULL: the job is not announced */
	struct serve *serve;
	struct latest_snapshot latest;
};

static const struct job_roster *jobs(void *self)
{
	struct run_door *d = self;

	return &engine_jobs(jobhost_engine(d->host))->roster;
}

static const struct snapshot *latest(void *self)
{
	struct run_door *d = self;

	return d->latest.snap;
}

static const struct pressure *pressure(void *self)
{
	struct run_door *d = self;

	return engine_pressure(jobhost_engine(d->host));
}

static int begin_sheet(void *self, const struct job_input_sheet *begun, uint32_t *ret_num,
                       struct err *err)
{
	struct run_door *d = self;
	int r = job_input_begin_sheet(jobhost_engine(d->host), begun, ret_num, err);

	if (r == 0)
		run_announcer_begin_sheet(d->herald, begun, *ret_num);
	return r;
}

static int end_sheet(void *self, job_handle job, uint32_t num, const struct job_end *how,
                     struct err *err)
{
	struct run_door *d = self;
	int r = job_input_end_sheet(jobhost_engine(d->host), job, num, how, err);

	if (r == 0)
		run_announcer_end_sheet(d->herald, num, how);
	return r;
}

static int say(void *self, job_handle job, enum event_kind kind, const char *name, uint64_t took_ns,
               const char *data_json, struct err *err)
{
	struct run_door *d = self;
	int r = job_input_event(jobhost_engine(d->host), job, kind, name, (int64_t)took_ns,
	                        data_json, err);

	if (r == 0)
		run_announcer_say(d->herald, kind, name, took_ns, data_json);
	return r;
}

int run_door_open(struct loop *loop, const struct run_door_options *options, struct run_door **ret,
                  struct err *err)
{
	struct run_door *d = xcalloc(1, sizeof *d);
	cleanup(freep) char *dir = xasprintf("%s/jobs/%s", options->state_dir, options->job_id);
	const struct serve_host how = { .self = d,
		                        .reader = engine_process_reader(
						jobhost_engine(options->host)),
		                        .db_path = options->db_path,
		                        .report = report_reply,
		                        .jobs = jobs,
		                        .latest = latest,
		                        .pressure = pressure,
		                        .begin_sheet = begin_sheet,
		                        .end_sheet = end_sheet,
		                        .say = say };

	d->host = options->host;
	d->herald = options->herald;
	if (serve_open(loop, dir, &how, &d->serve, err) < 0) {
		free(d);
		return -err->code;
	}
	*ret = d;
	return 0;
}

void run_door_note(struct run_door *d, const struct snapshot *snap)
{
	if (!d)
		return;
	serve_note(d->serve, snap);
	if (!snap->events_only)
		latest_snapshot_take(&d->latest, snap);
}

void run_door_close(struct run_door *d)
{
	if (!d)
		return;
	serve_close(d->serve);
	latest_snapshot_done(&d->latest);
	free(d);
}
