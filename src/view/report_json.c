/* SPDX-License-Identifier: MIT */
/* A report for programs: the keys of the job resource profile on top, then all that is known. */
#include "model/record_fields.h"
#include "view/flight_view.h"
#include "view/job_view.h"
#include "view/note_view.h"
#include "view/report_tables.h"
#include "view/report_view.h"
#include "view/syscall_view.h"

static void put_quality(struct json *j, const char *key, enum quality quality)
{
	json_put_str(j, key, quality_key(quality));
}

/* The number of recorded processes: exact only where all were reported. */
static enum quality unique_pids_quality(const struct report *r)
{
	struct figure processes = r->job.figures[JOB_FIGURE_PROCESSES];
	bool is_whole = processes.quality == QUALITY_EXACT && r->processes >= processes.value &&
	                r->processes <= REPORT_LIVES_MAX;

	return is_whole ? QUALITY_EXACT : QUALITY_AT_LEAST;
}

static void put_profile_quality(const struct report *r, const struct job_profile *p, struct json *j)
{
	static const struct {
		const char *key;
		enum job_figure id;
	} own[] = {
		{ "total_cpu_seconds", JOB_FIGURE_CPU },
		{ "process_spawn_count", JOB_FIGURE_PROCESSES },
	};

	json_open_object(j, "quality");
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		put_quality(j, own[i].key, r->job.figures[own[i].id].quality);
	put_quality(j, "unique_pid_count", unique_pids_quality(r));
	put_quality(j, "syscall_hotspots", r->job.figures[JOB_FIGURE_SYSCALL_TIME].quality);
	json_key(j, "sheet_metrics");
	record_fields_sheet_qualities_json(j, p);
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++)
		if (job_shows_figure(&r->job, (enum job_figure)i))
			put_quality(j, job_figures[i].key, r->job.figures[i].quality);
	json_end_object(j);
}

static void put_profile(const struct report *r, struct json *j)
{
	struct job_profile p = { 0 };

	report_profile(r, &p);
	json_put_u64(j, "schema", RECORD_SCHEMA);
	field_table_json(j, &profile_fields, &p);
	put_profile_quality(r, &p, j);
	history_record_profile_done(&p);
}

#define RECORD struct report_program
static const struct field program_rows[] = {
	{ "name", FIELD(CHARS, name), .help = "short name of its processes" },
	{ "processes", FIELD(NUMBER, processes), .help = "how many processes had it" },
	{ "failed", FIELD(NUMBER, failed), .help = "… that ended with another status than 0" },
	{ "signalled", FIELD(NUMBER, signalled), .help = "… that died of a signal" },
	{ "cpu_seconds", FIELD(FIGURE, cpu_time_ns), .unit = UNIT_NS, .help = "their CPU time" },
	{ "peak_rss_mb", FIELD(FIGURE, peak_rss_bytes), .unit = UNIT_MIB,
	  .help = "peak of the largest of them" },
	{ "quality", FIELD_QUALITY, .help = "exact, at_least, at_most, sampled or missing" },
};
#undef RECORD
const struct field_table report_program_fields = FIELD_TABLE(program_rows);

struct shown_note {
	struct report_note note;
	struct note_words words;
};

#define RECORD struct shown_note
static const struct field note_rows[] = {
	{ "timestamp", FIELD(NUMBER, note.first_ns), .unit = UNIT_NS,
	  .help = "when it happened first, seconds since 1970" },
	{ "what", FIELD(CHARS, words.what), .help = "out of memory, gap, probe, a signal, …" },
	{ "text", FIELD(CHARS, words.text), .help = "the same in a sentence" },
	{ "count", FIELD(NUMBER, note.count), .help = "how often it happened" },
};
#undef RECORD
const struct field_table report_note_fields = FIELD_TABLE(note_rows);

static void put_notes(struct json *j, const void *record)
{
	const struct report *r = record;

	json_begin_array(j);
	vec_each(&r->notes, n)
		field_table_json_object(j, &report_note_fields,
		                        &(struct shown_note){ *n, note_view(r, n) });
	json_end_array(j);
}

#define RECORD struct report_mark
static const struct field mark_rows[] = {
	{ "timestamp", FIELD(NUMBER, wall_ns), .unit = UNIT_NS,
	  .help = "when, or when the phase began, seconds since 1970" },
	{ "name", FIELD(CHARS, name), .help = "its name" },
	{ "seconds", FIELD(ORDINAL, took_ns), .unit = UNIT_NS,
	  .help = "length of the phase; null: a mark" },
	{ "data", FIELD(CHARS, data), .help = "what the program added to it" },
};
#undef RECORD
const struct field_table report_mark_fields = FIELD_TABLE(mark_rows);

/* An array of records, or of structs that begin with one. */
#define PUT_RECORDS(j, fields, list)                                                               \
	do {                                                                                       \
		json_begin_array(j);                                                               \
		vec_each(list, one_)                                                               \
			field_table_json_object(j, fields, one_);                                  \
		json_end_array(j);                                                                 \
	} while (0)

static void put_gpus(struct json *j, const void *record)
{
	const struct report *r = record;

	PUT_RECORDS(j, &gpu_fields, &r->gpus);
}

static void put_programs(struct json *j, const void *record)
{
	const struct report *r = record;

	PUT_RECORDS(j, &report_program_fields, &r->programs);
}

static void put_anomalies(struct json *j, const void *record)
{
	const struct report *r = record;

	PUT_RECORDS(j, &anomaly_fields, &r->anomalies);
}

static void put_marks(struct json *j, const void *record)
{
	const struct report *r = record;

	PUT_RECORDS(j, &report_mark_fields, &r->marks);
}

static void put_blocked(struct json *j, const void *record)
{
	const struct report *r = record;

	PUT_RECORDS(j, &blocked_call_fields, &r->blocked.list);
}

/* A record, and the calls of the sheet or process. */
static void put_caller(const struct report *r, const struct field_table *fields, const void *record,
                       uint32_t sheet, struct proc_id id, struct json *j)
{
	const struct report_caller *c = report_find_caller(r, sheet, id);

	json_begin_object(j);
	field_table_json(j, fields, record);
	json_key(j, "syscalls");
	syscall_view_json(j, c ? r->syscalls.at + c->at : NULL, c ? c->len : 0);
	json_end_object(j);
}

static void put_sheets(struct json *j, const void *record)
{
	const struct report *r = record;

	json_begin_array(j);
	vec_each(&r->sheets, s)
		put_caller(r, &sheet_fields, s, s->s.num, (struct proc_id){ 0 }, j);
	json_end_array(j);
}

static void put_costly(struct json *j, const void *record)
{
	const struct report *r = record;

	json_begin_array(j);
	for (size_t i = 0; i < r->n_costly; i++)
		put_caller(r, &process_fields, &r->costly[i], 0, r->costly[i].p.id, j);
	json_end_array(j);
}

#define RECORD struct next_request
static const struct field next_request_rows[] = {
	{ "memory_mb", FIELD(NUMBER, memory_bytes), .unit = UNIT_MIB,
	  .help = "memory to request for the next run" },
	{ "largest_mb", FIELD(NUMBER, largest_bytes), .unit = UNIT_MIB,
	  .help = "most that one of these runs used" },
	{ "runs", FIELD(NUMBER, runs), .help = "how many runs that was learned from" },
};
#undef RECORD
const struct field_table report_next_request_fields = FIELD_TABLE(next_request_rows);

static void put_next_request(struct json *j, const void *record)
{
	const struct report *r = record;

	if (r->next.memory_bytes)
		field_table_json_object(j, &report_next_request_fields, &r->next);
	else
		json_nil(j);
}

static void put_has_data(struct json *j, const void *record)
{
	json_bool(j, report_has_data(record));
}

static void put_result(struct json *j, const void *record)
{
	const struct report *r = record;

	json_str(j, job_view_result(&r->job).at);
}

static void put_job(struct json *j, const void *record)
{
	const struct report *r = record;

	field_table_json_object(j, &job_fields, &r->job);
}

static void put_calls(struct json *j, const void *record)
{
	const struct report *r = record;

	syscall_view_json(j, r->syscalls.at, r->n_syscalls);
}

/* Behind those of the profile. */
#define RECORD struct report
static const struct field rows[] = {
	{ "has_data", FIELD_PUT, .put = put_has_data, .help = "whether anything of the job was measured" },
	{ "result", FIELD_PUT, .put = put_result, .help = "how it ended, as ls shows it" },
	{ "host", FIELD(TEXT, host), .help = "the machine; null: not known" },
	{ "user", FIELD(TEXT, user), .help = "the user who ran it; null: not known" },
	{ "job", FIELD_PUT, .put = put_job, .help = "all that is recorded of it" },
	{ "sheets", FIELD_PUT, .put = put_sheets, .help = "its sheets, each with its syscalls" },
	{ "gpus", FIELD_PUT, .put = put_gpus, .help = "the GPUs that it used" },
	{ "programs", FIELD_PUT, .put = put_programs, .help = "its processes, summed by name" },
	{ "costly_processes", FIELD_PUT, .put = put_costly,
	  .help = "those with the most CPU time or memory, each with its syscalls" },
	{ "anomalies", FIELD_PUT, .put = put_anomalies, .help = "what was unusual, and when" },
	{ "marks", FIELD_PUT, .put = put_marks, .help = "its marks and phases" },
	{ "notes", FIELD_PUT, .put = put_notes, .help = "what is worth knowing" },
	{ "next_request", FIELD_PUT, .put = put_next_request,
	  .help = "what to request for the next run; null: nothing was learned" },
	{ "syscalls", FIELD_PUT, .put = put_calls,
	  .help = "system calls by name; empty: they were not counted" },
	{ "last_calls", FIELD_PUT, .put = flight_view_json,
	  .help = "the last calls of processes; null: there was no flight recorder" },
	{ "last_calls_left_out", FIELD_PUT, .put = flight_view_left_out_json,
	  .help = "processes whose last calls were not kept" },
	{ "blocked", FIELD_PUT, .put = put_blocked,
	  .help = "the calls that its processes wait in now" },
};
#undef RECORD
const struct field_table report_fields = FIELD_TABLE(rows);

void report_view_json(const struct report *r, struct json *j)
{
	json_begin_object(j);
	put_profile(r, j);
	field_table_json(j, &report_fields, r);
	json_end_object(j);
}
