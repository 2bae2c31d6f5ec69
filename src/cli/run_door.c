/* SPDX-License-Identifier: MIT */
#include "cli/run_door.h"

#include <errno.h>

#include "base/mem.h"
#include "serve/serve.h"

struct run_door {
	struct jobhost *host;
	struct serve *serve;
	struct snapshot latest; /* ours: the one that was stored belongs to the recorder */
	bool has_latest;
};

static const struct jobtab *jobs(void *self)
{
	struct run_door *d = self;

	return engine_jobs(jobhost_engine(d->host));
}

static const struct snapshot *latest(void *self)
{
	struct run_door *d = self;

	return d->has_latest ? &d->latest : NULL;
}

static const struct pressure *pressure(void *self)
{
	struct run_door *d = self;

	return engine_pressure(jobhost_engine(d->host));
}

static int begin_sheet(void *self, uint32_t num, uint32_t total, const char *label, pid_t pid,
                       uint32_t *ret_num, struct err *err)
{
	struct run_door *d = self;

	return jobhost_begin_sheet(d->host, num, total, label, pid, ret_num, err);
}

static int end_sheet(void *self, uint32_t num, enum job_status status, bool has_exit_code,
                     int exit_code, int signal, struct err *err)
{
	struct run_door *d = self;
	struct sheet how = { .status = status,
		             .has_exit_code = has_exit_code,
		             .exit_code = exit_code,
		             .signal = signal };

	return jobhost_end_sheet(d->host, num, &how, err);
}

static int mark(void *self, const char *name, const char *data_json, struct err *err)
{
	struct run_door *d = self;

	return jobhost_say(d->host, EVENT_MARK, name, 0, data_json, err);
}

static int phase(void *self, const char *name, uint64_t took_ns, const char *data_json,
                 struct err *err)
{
	struct run_door *d = self;

	return jobhost_say(d->host, EVENT_PHASE, name, (int64_t)took_ns, data_json, err);
}

int run_door_open(struct loop *loop, const char *state_dir, const char *job_id,
                  struct jobhost *host, struct run_door **ret, struct err *err)
{
	struct run_door *d = xcalloc(1, sizeof *d);
	cleanup(freep) char *dir = xasprintf("%s/jobs/%s", state_dir, job_id);
	const struct serve_host how = { .self = d,
		                        .jobs = jobs,
		                        .latest = latest,
		                        .pressure = pressure,
		                        .begin_sheet = begin_sheet,
		                        .end_sheet = end_sheet,
		                        .mark = mark,
		                        .phase = phase };

	d->host = host;
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
	if (snap->events_only)
		return;
	snapshot_copy(snap, &d->latest);
	d->has_latest = true;
}

void run_door_close(struct run_door *d)
{
	if (!d)
		return;
	serve_close(d->serve);
	snapshot_done(&d->latest);
	free(d);
}
