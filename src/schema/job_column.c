/* SPDX-License-Identifier: MIT */
#include "schema/job_column.h"

#include <stdio.h>
#include <string.h>

#define RECORD struct job
const struct field job_columns[JOB_COLUMN_LIMITS] = {
	{ "job_id", FIELD(CHARS, id) },
	{ "type", FIELD(CHARS, type) },
	{ "status", FIELD(NUMBER, status) },
	{ "started", FIELD(ORDINAL, started_ns), .unit = UNIT_NS },
	{ "ended", FIELD(ORDINAL, ended_ns), .unit = UNIT_NS },
	{ "exit_code", FIELD(CODE, exit_code), .has = offsetof(struct job, has_exit_code) },
	{ "signal", FIELD(ORDINAL, signal) },
	{ "total_sheets", FIELD(ORDINAL, total_sheets) },
	{ "last_completed_sheet", FIELD(NUMBER, last_completed_sheet) },
	{ "current_sheet", FIELD(ORDINAL, current_sheet) },
	{ "type_given", FIELD(BOOL, type_is_given) },
	{ "parent", FIELD(TEXT, parent) },
	{ "command", FIELD(TEXT, command) },
	{ "cwd", FIELD(TEXT, cwd) },
	{ "uid", FIELD(NUMBER, uid) },
	{ "tags", FIELD(TEXT, tags) },
	{ "tier", FIELD(TEXT, tier) },
	{ "interval_us", FIELD(ORDINAL, interval_ns), .unit = UNIT_NS },
	{ "took_us", FIELD(ORDINAL, took_ns), .unit = UNIT_NS },
	{ "core_dumped", FIELD(BOOL, core_dumped) },
	{ "limits_hit", FIELD(ORDINAL, limits_hit) },
	{ "root_pid", FIELD(ORDINAL, root.pid) },
	{ "root_ticks", FIELD(ORDINAL, root.start_ticks) },
	{ "registrar_pid", FIELD(ORDINAL, registrar.pid) },
	{ "registrar_ticks", FIELD(ORDINAL, registrar.start_ticks) },
	{ "oom", FIELD(ORDINAL, cause.oom) },
	{ "oom_source", FIELD(ORDINAL, cause.oom_source) },
	{ "oom_limit", FIELD(ORDINAL, cause.oom_limit_bytes) },
	{ "oom_group", FIELD(TEXT, cause.oom_group) },
	{ "sender", FIELD(ORDINAL, cause.sender) },
	{ "sender_source", FIELD(ORDINAL, cause.sender_source) },
	{ "sender_pid", FIELD(ORDINAL, cause.sender_pid) },
	{ "sender_uid", FIELD(NUMBER, cause.sender_uid) },
	{ "sender_comm", FIELD(TEXT, cause.sender_comm) },
	{ "allowed_cpus", FIELD(ORDINAL, allowed.cpus) },
	{ "allowed_cores", FIELD(ORDINAL, allowed.milli_cores) },
	{ "allowed_memory", FIELD(ORDINAL, allowed.memory_bytes) },
	{ "allowed_source", FIELD(TEXT, allowed.memory_source) },
	{ "allowed_time_us", FIELD(ORDINAL, allowed.time_ns), .unit = UNIT_NS },
	{ "parent_uid", FIELD(CODE, parent_uid), .has = offsetof(struct job, has_parent_uid) },
	{ "recorded_as", FIELD(TEXT, recorded_as) },
	{ "recording", FIELD(TEXT, recording) },
	[JOB_COLUMN_LARGEST] = { "hungriest_pid", FIELD(ORDINAL, largest_pid) },
	{ "hungriest", FIELD(TEXT, largest_name) },
};
#undef RECORD

const char *job_column_name(size_t column, char buf[COLUMN_NAME_MAX])
{
	size_t at;

	if (column < JOB_COLUMN_LIMITS)
		return job_columns[column].key;
	if (column == JOB_COLUMN_RECORDER)
		return "recorder";
	if (column < JOB_COLUMN_FIGURES) {
		snprintf(buf, COLUMN_NAME_MAX, "limit_%s",
		         job_limit_name((enum job_limit)(column - JOB_COLUMN_LIMITS)));
		return buf;
	}
	at = column - JOB_COLUMN_FIGURES;
	column_name(&job_figures[at / 2], buf);
	if (at % 2)
		snprintf(buf + strlen(buf), COLUMN_NAME_MAX - strlen(buf), "_q");
	return buf;
}
