/* SPDX-License-Identifier: MIT */
#include "view/status_view.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "view/format.h"
#include "view/job_view.h"
#include "view/table.h"

printf_like(4, 5) static void add_line(struct table *t, const char *name, enum ink ink,
                                       const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	table_add(t, name, INK_LABEL);
	table_add(t, line, ink);
}

static void put_cost(struct table *t, const struct status_facts *s)
{
	add_line(t, "cost", INK_PLAIN, "%s of a core now, %s CPU time in all, %s resident memory",
	         format_percent(s->cpu_ratio).at, format_duration(s->cpu_ns).at,
	         isnan(s->rss_bytes) ? "-" : format_bytes((uint64_t)s->rss_bytes).at);
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void put_losses(struct table *t, const struct status_facts *s)
{
	bool any = s->lost_snapshots || s->lost_events || s->unread_events || s->missed_ticks;

	if (!any)
		add_line(t, "losses", INK_GOOD, "none");
	else
		add_line(t, "losses", INK_WARN,
		         "%s event%s not read, %s not stored; %s snapshot%s not stored; %s missed "
		         "tick%s",
		         format_count(s->unread_events).at, plural(s->unread_events),
		         format_count(s->lost_events).at, format_count(s->lost_snapshots).at,
		         plural(s->lost_snapshots), format_count(s->missed_ticks).at,
		         plural(s->missed_ticks));
	if (s->hanging_processes || s->refused_reads)
		add_line(t, "hanging", INK_WARN,
		         "%s process%s did not answer; %s read%s of others of their users left out",
		         format_count(s->hanging_processes).at,
		         s->hanging_processes == 1 ? "" : "es", format_count(s->refused_reads).at,
		         plural(s->refused_reads));
	if (s->over_quota_samples || s->over_quota_events)
		add_line(t, "quota", INK_WARN,
		         "%s sample%s and %s event%s dropped: users over their storage quota",
		         format_count(s->over_quota_samples).at, plural(s->over_quota_samples),
		         format_count(s->over_quota_events).at, plural(s->over_quota_events));
}

static void put_watching(struct table *t, const struct status_facts *s)
{
	bool is_slower = s->configured_interval_ns && s->interval_ns > s->configured_interval_ns;
	cleanup(buf_done) struct buf text = { 0 };

	if (!s->is_enabled) {
		add_line(t, "watching", INK_WARN, "nothing: profiler.enabled is false");
		return;
	}
	buf_printf(&text, "%s process%s every %g s", format_count(s->processes).at,
	           s->processes == 1 ? "" : "es", (double)s->interval_ns / 1e9);
	if (is_slower)
		buf_printf(&text, " (%g s is configured)", (double)s->configured_interval_ns / 1e9);
	buf_printf(&text, " (%s)", s->tier ? s->tier : "-");
	if (is_slower || s->left_out)
		buf_puts(&text, ", over its own budget");
	if (s->left_out)
		buf_printf(&text, ": %s left out", s->left_out);
	add_line(t, "watching", is_slower || s->left_out ? INK_WARN : INK_PLAIN, "%s", text.at);
}

/* 2: memory_spike 4711 (job train-7), zombie 4720 */
static void put_anomalies(struct table *t, const struct status_facts *s)
{
	size_t shown = MIN(s->anomalies_active, (uint64_t)STATUS_ANOMALIES);
	cleanup(buf_done) struct buf text = { 0 };

	if (!s->anomalies_active) {
		add_line(t, "anomalies", INK_GOOD, "none");
		return;
	}
	buf_printf(&text, "%s:", format_count(s->anomalies_active).at);
	for (size_t i = 0; i < shown; i++) {
		const struct status_anomaly *a = &s->anomalies[i];

		buf_printf(&text, "%s %s", i ? "," : "", a->type ? a->type : "-");
		if (a->pid)
			buf_printf(&text, " %d", (int)a->pid);
		if (a->job_id)
			buf_printf(&text, " (job %s)", a->job_id);
	}
	if (shown < s->anomalies_active)
		buf_printf(&text, " and %s more", format_count(s->anomalies_active - shown).at);
	add_line(t, "anomalies", INK_WARN, "%s", text.at);
}

static enum ink ink_of_pressure(const char *level)
{
	return strcmp(level, "none") == 0  ? INK_GOOD
	       : strcmp(level, "low") == 0 ? INK_PLAIN
	                                   : INK_WARN;
}

static void put_store(struct table *t, const struct status_facts *s)
{
	cleanup(buf_done) struct buf size = { 0 }, growth = { 0 };

	storage_view_put_size(&s->storage, &size);
	add_line(t, "store", s->trouble ? INK_BAD : INK_PLAIN, "%s, %s%s%s",
	         s->store_path ? s->store_path : "-", size.at, s->trouble ? "; not storing: " : "",
	         s->trouble ? s->trouble : "");
	storage_view_put_growth(&s->storage, &growth);
	if (growth.len)
		add_line(t, "", INK_PLAIN, "%s", growth.at);
}

static void put_lines(struct table *t, const struct status_facts *s)
{
	add_line(t, "daemon", INK_PLAIN, "running for %s, pid %d, version %s",
	         format_duration(s->uptime_ns).at, (int)s->pid, s->version ? s->version : "-");
	add_line(t, "socket", INK_PLAIN, "%s", s->socket);
	put_watching(t, s);
	put_cost(t, s);
	put_store(t, s);
	put_losses(t, s);
	add_line(t, "jobs", INK_PLAIN, "%s running, %s sheet%s", format_count(s->running_jobs).at,
	         format_count(s->active_sheets).at, plural(s->active_sheets));
	put_anomalies(t, s);
	if (s->pressure)
		add_line(t, "pressure", ink_of_pressure(s->pressure), "%s%s%s", s->pressure,
		         s->pressure_reason ? ": " : "",
		         s->pressure_reason ? s->pressure_reason : "");
	add_line(t, "clients", INK_PLAIN, "%s", format_count(s->clients).at);
	if (s->config_problem)
		add_line(t, "config", INK_BAD, "an older one is in force: %s", s->config_problem);
}

static void add_user(struct table *t, const struct status_job *job)
{
	char uid[16];

	snprintf(uid, sizeof uid, "%u", (unsigned)job->uid);
	table_add(t, job->user ? job->user : uid, INK_PLAIN);
}

static void put_jobs(const struct status_facts *s, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ "JOB", TABLE_LEFT, .min_width = 16 },
		{ "USER", TABLE_LEFT, 1 },
		{ "AGE", TABLE_RIGHT, 2 },
		{ "CPU", TABLE_RIGHT },
		{ "USED", TABLE_RIGHT },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };

	if (!s->n_jobs)
		return;
	for (size_t i = 0; i < s->n_jobs; i++) {
		const struct status_job *job = &s->jobs[i];

		table_add(&t, job->id ? job->id : "-", INK_PLAIN);
		add_user(&t, job);
		table_add(&t, format_duration(job->age_ns).at, INK_PLAIN);
		table_add_figure(&t,
		                 isnan(job->cpu_ratio) ? NULL : format_percent(job->cpu_ratio).at,
		                 INK_PLAIN);
		table_add_figure(
			&t,
			isnan(job->used_bytes) ? NULL : format_bytes((uint64_t)job->used_bytes).at,
			INK_PLAIN);
	}
	table_print_section(&t, "running jobs", MAX(s->running_jobs, s->n_jobs), "job", to);
}

void status_view(const struct status_facts *s, struct canvas *to)
{
	static const struct table_column columns[] = { { 0 }, { .wraps = true, .min_width = 20 } };
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns) };

	put_lines(&t, s);
	table_print(&t, to);
	table_done(&t);
	put_jobs(s, to);
}
