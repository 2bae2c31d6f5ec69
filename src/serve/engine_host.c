/* SPDX-License-Identifier: MIT */
#include "serve/engine_host.h"

static const struct job_roster *get_jobs(void *self)
{
	static const struct job_roster none;
	const struct engine_host *h = self;

	return h->engine ? &engine_jobs(h->engine)->roster : &none;
}

static const struct snapshot *get_latest(void *self)
{
	const struct engine_host *h = self;

	return h->latest.snap;
}

static const struct pressure *get_pressure(void *self)
{
	const struct engine_host *h = self;

	return h->engine ? engine_pressure(h->engine) : NULL;
}

/* The process may be younger than the last tick. */
static job_handle job_of(void *self, pid_t pid)
{
	const struct engine_host *h = self;

	if (!h->engine)
		return -1;
	engine_read_events(h->engine);
	return jobs_find_process(engine_jobs(h->engine), pid);
}

static int begin_sheet(void *self, const struct job_input_sheet *begun, uint32_t *ret_num,
                       struct err *err)
{
	const struct engine_host *h = self;
	int r = job_input_begin_sheet(h->engine, begun, ret_num, err);

	if (r == 0 && h->observer)
		h->observer->begin_sheet(h->observer_self, begun, *ret_num);
	return r;
}

static int end_sheet(void *self, job_handle job, uint32_t num, const struct job_end *how,
                     struct err *err)
{
	const struct engine_host *h = self;
	int r = job_input_end_sheet(h->engine, job, num, how, err);

	if (r == 0 && h->observer)
		h->observer->end_sheet(h->observer_self, num, how);
	return r;
}

static int add_event(void *self, job_handle job, enum event_kind kind, const char *name,
                     uint64_t took_ns, const char *data_json, struct err *err)
{
	const struct engine_host *h = self;
	int r = job_input_event(h->engine, job, kind, name, (int64_t)took_ns, data_json, err);

	if (r == 0 && h->observer)
		h->observer->add_event(h->observer_self, kind, name, took_ns, data_json);
	return r;
}

struct serve_host engine_host_serve(struct engine_host *h)
{
	return (struct serve_host){ .self = h,
		                    .reader = h->engine ? engine_jobs(h->engine)->reader : NULL,
		                    .jobs = get_jobs,
		                    .latest = get_latest,
		                    .pressure = get_pressure,
		                    .job_of = job_of,
		                    .begin_sheet = begin_sheet,
		                    .end_sheet = end_sheet,
		                    .add_event = add_event };
}
