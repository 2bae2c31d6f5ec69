/* SPDX-License-Identifier: MIT */
#include "cli/recorded.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "cli/stores.h"

#define EVENTS_PER_PAGE ((size_t)10000)

int recorded_open(const struct cli *cli, struct recorded *ret)
{
	char state_dir[CONFIG_PATH_MAX];
	struct config config;
	struct err err = { 0 };
	int status = cli_config(cli, &config, NULL), r;

	*ret = (struct recorded){ 0 };
	if (status != CLI_OK || (status = cli_state_dir(cli, state_dir)) != CLI_OK)
		return status;
	ret->path = cli_path(config.profiler.storage_path, state_dir, "proctor.db");
	r = reader_open(ret->path, &ret->reader, &err);
	if (r == -ENOENT)
		return stores_tell_missing(ret->path);
	return r < 0 ? cli_failed(&err) : CLI_OK;
}

void recorded_close(struct recorded *r)
{
	reader_close(r->reader);
	free(r->path);
	*r = (struct recorded){ 0 };
}

int recorded_find(struct recorded *r, const char *name, struct job *ret)
{
	struct err err = { 0 };
	int result = reader_find_job(r->reader, name ? name : "last", ret, &err);
	bool is_last = !name || strcmp(name, "last") == 0;

	if (result == -ENOENT)
		return stores_tell_no_job(r->path, is_last ? NULL : name);
	return result < 0 ? cli_failed(&err) : CLI_OK;
}

static int add_sheet(void *self, const struct reader_sheet *s)
{
	report_add_sheet(self, s);
	return 0;
}

static int add_process(void *self, const struct reader_process *p)
{
	report_add_process(self, p);
	return 0;
}

static int add_event(void *self, const struct reader_event *e)
{
	report_add_event(self, e);
	return 0;
}

static int add_anomaly(void *self, const struct reader_anomaly *a)
{
	report_add_anomaly(self, a);
	return 0;
}

static int add_gpu(void *self, const struct reader_gpu *g)
{
	report_add_gpu(self, g);
	return 0;
}

static int add_sum(void *self, const struct reader_sum *s)
{
	report_add_sum(self, s);
	return 0;
}

int recorded_events(struct recorded *r, const char *job_id, uint64_t kinds, size_t limit,
                    reader_event_fn fn, int (*flush)(void *self), void *self, struct err *err)
{
	struct reader_cursor at = { 0 };

	while (limit) {
		size_t page = MIN(limit, EVENTS_PER_PAGE);
		int n = reader_job_events(r->reader, job_id, &at, kinds, page, fn, self, err);
		int result = n < 0 ? n : flush ? flush(self) : 0;

		if (result < 0 || (size_t)n < page)
			return result;
		limit -= page;
	}
	return 0;
}

/* Most of what happens is ordinary, and a report does not tell it. */
#define REPORT_KINDS                                                                               \
	(~(UINT64_C(1) << EVENT_SPAWN | UINT64_C(1) << EVENT_EXEC | UINT64_C(1) << EVENT_TOTALS |  \
	   UINT64_C(1) << EVENT_ANOMALY) &                                                         \
	 ((UINT64_C(1) << EVENT_KIND_COUNT) - 1))

int recorded_report(struct recorded *r, struct report *report, struct err *err)
{
	const char *id = report->job.id;
	int n = reader_sheets(r->reader, id, add_sheet, report, err);

	if (n >= 0)
		n = reader_job_processes(r->reader, id, RECORDED_PROCESSES_MAX, add_process, report,
		                         err);
	if (n >= 0)
		n = reader_job_sums(r->reader, id, REPORT_SUMS_MAX, add_sum, report, err);
	if (n >= 0)
		n = reader_job_gpus(r->reader, id, add_gpu, report, err);
	if (n >= 0)
		n = reader_job_anomalies(r->reader, id, REPORT_ANOMALIES_MAX, add_anomaly, report,
		                         err);
	if (n < 0)
		return n;
	n = recorded_events(r, id, REPORT_KINDS, SIZE_MAX, add_event, NULL, report, err);
	report_add_rest(report);
	return n;
}
