/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "view/export_view.h"
#include "view/job_view.h"

static void put_text(struct query_result *r, const char *text)
{
	if (text)
		query_result_text(r, text, strlen(text));
	else
		query_result_null(r);
}

/* Seconds; 0 is not known. */
static void put_time(struct query_result *r, uint64_t ns)
{
	if (ns)
		query_result_real(r, (double)(ns / NS_PER_US) / 1e6);
	else
		query_result_null(r);
}

static void put_number(struct query_result *r, int64_t n)
{
	if (n)
		query_result_i64(r, n);
	else
		query_result_null(r);
}

static void put_figure(struct query_result *r, struct figure figure, double scale)
{
	if (!figure_is_known(figure))
		query_result_null(r);
	else if (scale == 1)
		query_result_i64(r, (int64_t)figure.value);
	else
		query_result_real(r, (double)figure.value / scale);
	put_text(r, quality_key(figure.quality));
}

static void put_real(struct query_result *r, double value)
{
	if (isfinite(value))
		query_result_real(r, value);
	else
		query_result_null(r);
}

static void put_end(struct query_result *r, bool has_exit_code, int exit_code, int signal)
{
	if (has_exit_code)
		query_result_i64(r, exit_code);
	else
		query_result_null(r);
	put_number(r, signal);
}

void csv_processes(struct query_result *r)
{
	static const char *const names[] = {
		"pid",
		"ppid",
		"uid",
		"sheet_num",
		"name",
		"command",
		"started_at",
		"ended_at",
		"exit_code",
		"signal_num",
		"cpu_seconds",
		"cpu_quality",
		"peak_rss_mb",
		"peak_rss_quality",
		"read_bytes",
		"read_quality",
		"written_bytes",
		"written_quality",
		"max_cpu_pct",
		"max_cpu_quality",
		"started_quality",
	};

	query_result_begin(r, names, ARRAY_LEN(names));
}

void csv_process(struct query_result *r, const struct process_record *p)
{
	query_result_i64(r, p->id.pid);
	put_number(r, p->ppid);
	query_result_i64(r, p->uid);
	put_number(r, p->sheet);
	put_text(r, p->comm);
	put_text(r, p->command);
	put_time(r, p->started_ns);
	put_time(r, p->ended_ns);
	put_end(r, p->has_exit_code, p->exit_code, p->signal);
	put_figure(r, p->cpu_time_ns, 1e9);
	put_figure(r, p->peak_rss_bytes, 1 << 20);
	put_figure(r, p->read_bytes, 1);
	put_figure(r, p->written_bytes, 1);
	put_real(r, p->max_cpu_ratio * 100);
	put_text(r, quality_key(share_quality(p->max_cpu_ratio)));
	put_text(r, quality_key(p->is_start_exact ? QUALITY_EXACT : QUALITY_SAMPLED));
	query_result_end_row(r);
}

void csv_events(struct query_result *r)
{
	static const char *const names[] = {
		"timestamp",  "event_type", "pid",   "sheet_num", "exit_code",
		"signal_num", "name",       "count", "inferred",  "details",
	};

	query_result_begin(r, names, ARRAY_LEN(names));
}

void csv_event(struct query_result *r, const struct event_record *e)
{
	put_time(r, e->wall_ns);
	put_text(r, event_name(e->kind));
	put_number(r, e->process.pid);
	put_number(r, e->sheet);
	put_end(r, e->has_exit_code, e->exit_code, e->signal);
	put_text(r, e->name);
	put_number(r, e->count);
	query_result_i64(r, e->inferred);
	put_text(r, e->details);
	query_result_end_row(r);
}

void csv_samples(struct query_result *r)
{
	static const char *const names[] = { "timestamp", "processes", "rss_mb", "cpu_percent" };

	query_result_begin(r, names, ARRAY_LEN(names));
}

void csv_sample(struct query_result *r, const struct job_sum_record *s)
{
	put_time(r, s->wall_ns);
	query_result_i64(r, s->sum.procs);
	query_result_real(r, (double)s->sum.rss_bytes / (1 << 20));
	put_real(r, s->sum.cpu_ratio * 100);
	query_result_end_row(r);
}
