/* SPDX-License-Identifier: MIT */
#include "cli/job_selection.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/store_locations.h"

#define EVENTS_PER_PAGE ((size_t)10000)

int job_selection_open(const struct cli *cli, struct job_selection *ret)
{
	char state_dir[CONFIG_PATH_MAX];
	struct config config;
	struct err err = { 0 };
	int status = cli_config(cli, &config, NULL), r;

	*ret = (struct job_selection){ 0 };
	if (status != CLI_OK || (status = cli_state_dir(cli, state_dir)) != CLI_OK)
		return status;
	ret->path = cli_path(config.profiler.storage_path, state_dir, "proctor.db");
	r = history_open(ret->path, &ret->reader, &err);
	if (r == -ENOENT)
		return store_locations_tell_missing(ret->path);
	return r < 0 ? cli_failed(&err) : CLI_OK;
}

void job_selection_close(struct job_selection *r)
{
	history_close(r->reader);
	free(r->path);
	*r = (struct job_selection){ 0 };
}

int job_selection_find(struct job_selection *r, const char *name, struct job *ret)
{
	struct err err = { 0 };
	int result = history_find_job(r->reader, geteuid(), name ? name : "last", ret, &err);
	bool is_last = !name || strcmp(name, "last") == 0;

	if (result == -ENOENT)
		return store_locations_tell_no_job(r->path, is_last ? NULL : name);
	return result < 0 ? cli_failed(&err) : CLI_OK;
}

static int add_sheet(void *self, const struct sheet_record *s)
{
	report_add_sheet(self, s);
	return 0;
}

static int add_process(void *self, const struct process_record *p)
{
	report_add_process(self, p);
	return 0;
}

static int add_event(void *self, const struct event_record *e)
{
	report_add_event(self, e);
	return 0;
}

static int add_anomaly(void *self, const struct anomaly_record *a)
{
	report_add_anomaly(self, a);
	return 0;
}

static int add_gpu(void *self, const struct gpu_record *g)
{
	report_add_gpu(self, g);
	return 0;
}

static int add_sum(void *self, const struct job_sum_record *s)
{
	report_add_sum(self, s);
	return 0;
}

int job_selection_events(struct job_selection *r, struct job_key key, uint64_t kinds, size_t limit,
                         reader_event_fn fn, int (*flush)(void *self), void *self, struct err *err)
{
	struct history_cursor at = { 0 };

	while (limit) {
		size_t page = MIN(limit, EVENTS_PER_PAGE);
		int n = history_job_events(r->reader, key, &at, kinds, page, fn, self, err);
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

int job_selection_report(struct job_selection *r, struct report *report, struct err *err)
{
	struct job_key key = job_key_of(&report->job);
	int n = history_sheets(r->reader, key, add_sheet, report, err);

	if (n >= 0)
		n = history_job_processes(r->reader, key, JOB_SELECTION_PROCESSES_MAX, add_process,
		                          report, err);
	if (n >= 0)
		n = history_job_sums(r->reader, key, REPORT_SUMS_MAX, add_sum, report, err);
	if (n >= 0)
		n = history_job_gpus(r->reader, key, add_gpu, report, err);
	if (n >= 0)
		n = history_job_anomalies(r->reader, key, REPORT_ANOMALIES_MAX, add_anomaly, report,
		                          err);
	if (n < 0)
		return n;
	n = job_selection_events(r, key, REPORT_KINDS, SIZE_MAX, add_event, NULL, report, err);
	report_add_rest(report);
	return n;
}
