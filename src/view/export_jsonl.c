/* SPDX-License-Identifier: MIT */
#include "view/export_view.h"
#include "view/job_view.h"

static struct json begin(struct buf *out, const char *type)
{
	struct json j = { .out = out };

	json_begin_object(&j);
	json_put_str(&j, "type", type);
	return j;
}

static void end(struct json *j)
{
	json_end_object(j);
	buf_putc(j->out, '\n');
}

void export_job_line(struct buf *out, const struct job *job)
{
	struct json j = begin(out, "job");

	json_put_u64(&j, "schema", RECORD_SCHEMA);
	fields_json(&j, &job_fields, job);
	json_put_str(&j, "result", job_result(job).at);
	end(&j);
}

void export_record_line(struct buf *out, const char *type, const char *job_id,
                        const struct field_table *fields, const void *record)
{
	struct json j = begin(out, type);

	if (job_id) {
		json_put_str(&j, "job_id", job_id);
	}
	fields_json(&j, fields, record);
	end(&j);
}
