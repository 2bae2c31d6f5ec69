/* SPDX-License-Identifier: MIT */
#include "cli/report_answer.h"

#include "base/clock.h"
#include "cli/recorded.h"
#include "cli/users.h"

#define TEXT_COLUMNS 100

static void put(struct json *j, const struct report *report)
{
	const struct style plain = { .width = TEXT_COLUMNS, .unicode = true };
	cleanup(buf_done) struct buf text = { 0 };

	report_view(report, &plain, &text);
	json_begin_object(j);
	json_key(j, "job_id");
	json_str(j, report->job.id);
	json_key(j, "text");
	json_strn(j, text.at ? text.at : "", text.len);
	json_key(j, "report");
	report_json(report, j);
	json_end_object(j);
}

int report_answer(const char *db_path, const char *job_id, const struct reader_leash *leash,
                  struct json *result, struct err *err)
{
	cleanup(reader_closep) struct reader *reader = NULL;
	struct report report = { .now_ns = clock_wall_ns() };
	struct users users = { 0 };
	int r = reader_open(db_path, &reader, err);

	if (r == 0) {
		reader_heed(reader, leash);
		r = reader_get_job(reader, job_id, &report.job, err);
	}
	if (r == 0) {
		struct recorded recorded = { .reader = reader };

		report.user = users_name(&users, report.job.uid);
		r = recorded_report(&recorded, &report, err);
	}
	if (r >= 0)
		put(result, &report);
	report_done(&report);
	users_done(&users);
	return MIN(r, 0);
}
