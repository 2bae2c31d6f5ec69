/* SPDX-License-Identifier: MIT */
#include "cli/report_reply.h"

#include "base/clock.h"
#include "cli/job_selection.h"
#include "cli/user_names.h"

#define TEXT_COLUMNS 100

static void put(struct json *j, const struct report *report)
{
	const struct style plain = { .width = TEXT_COLUMNS, .unicode = true };
	cleanup(buf_done) struct buf text = { 0 };

	report_view(report, CANVAS(&plain, &text));
	json_begin_object(j);
	json_key(j, "job_id");
	json_str(j, report->job.id);
	json_key(j, "text");
	json_strn(j, text.at ? text.at : "", text.len);
	json_key(j, "report");
	report_json(report, j);
	json_end_object(j);
}

int report_reply(const char *db_path, struct job_key key, const struct history_leash *leash,
                 struct json *result, struct err *err)
{
	cleanup(history_closep) struct history *reader = NULL;
	struct report report = { .now_ns = clock_wall_ns() };
	struct user_names users = { 0 };
	int r = history_open(db_path, &reader, err);

	if (r == 0) {
		history_heed(reader, leash);
		r = history_get_job(reader, key, &report.job, err);
	}
	if (r == 0) {
		struct job_selection recorded = { .reader = reader };

		report.user = user_names_name(&users, report.job.uid);
		r = job_selection_report(&recorded, &report, err);
	}
	if (r >= 0)
		put(result, &report);
	report_done(&report);
	user_names_done(&users);
	return MIN(r, 0);
}
