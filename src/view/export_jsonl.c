/* SPDX-License-Identifier: MIT */
#include "model/job_json.h"
#include "view/export_view.h"
#include "view/job_view.h"

static struct json begin(struct buf *out, const char *type, const char *job_id)
{
	struct json j = { .out = out };

	json_begin_object(&j);
	json_key(&j, "type");
	json_str(&j, type);
	if (job_id) {
		json_key(&j, "job_id");
		json_str(&j, job_id);
	}
	return j;
}

static void end(struct json *j)
{
	json_end_object(j);
	buf_putc(j->out, '\n');
}

void jsonl_job(struct buf *out, const struct job *job)
{
	struct json j = begin(out, "job", NULL);

	json_key(&j, "schema");
	json_u64(&j, CODEC_JOB_SCHEMA);
	job_json_members(&j, job);
	json_key(&j, "result");
	json_str(&j, job_result(job).at);
	end(&j);
}

void jsonl_sheet(struct buf *out, const char *job_id, const struct sheet_record *s)
{
	struct json j = begin(out, "sheet", job_id);

	sheet_json_members(&j, s);
	end(&j);
}

void jsonl_process(struct buf *out, const char *job_id, const struct process_record *p)
{
	struct json j = begin(out, "process", job_id);

	process_json_members(&j, p);
	end(&j);
}

void jsonl_event(struct buf *out, const struct event_record *e)
{
	struct json j = begin(out, "event", NULL);

	event_json_members(&j, e);
	end(&j);
}

void jsonl_sample(struct buf *out, const char *job_id, const struct job_sum_record *s)
{
	struct json j = begin(out, "sample", job_id);

	job_sum_json_members(&j, s);
	end(&j);
}
