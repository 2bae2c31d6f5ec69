/* SPDX-License-Identifier: MIT */
#include "view/status_view.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "view/format.h"
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
	add_line(t, "cost", INK_PLAIN, "%s of a core now, %s CPU time in all, %s",
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

static void put_lines(struct table *t, const struct status_facts *s)
{
	add_line(t, "daemon", INK_PLAIN, "running for %s, pid %d, version %s",
	         format_duration(s->uptime_ns).at, (int)s->pid, s->version ? s->version : "-");
	add_line(t, "socket", INK_PLAIN, "%s", s->socket);
	put_watching(t, s);
	put_cost(t, s);
	add_line(t, "store", s->trouble ? INK_BAD : INK_PLAIN, "%s, %s%s%s",
	         s->store_path ? s->store_path : "-", format_bytes(s->store_bytes).at,
	         s->trouble ? "; not storing: " : "", s->trouble ? s->trouble : "");
	put_losses(t, s);
	add_line(t, "jobs", INK_PLAIN, "%s running, %s sheet%s", format_count(s->running_jobs).at,
	         format_count(s->active_sheets).at, plural(s->active_sheets));
	put_anomalies(t, s);
	if (s->pressure)
		add_line(t, "pressure", ink_of_pressure(s->pressure), "%s", s->pressure);
	add_line(t, "clients", INK_PLAIN, "%s", format_count(s->clients).at);
	if (s->config_problem)
		add_line(t, "config", INK_BAD, "an older one is in force: %s", s->config_problem);
}

void status_view(const struct status_facts *s, struct canvas *to)
{
	static const struct table_column columns[] = { { 0 }, { .wraps = true, .min_width = 20 } };
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns) };

	put_lines(&t, s);
	table_print(&t, to);
	table_done(&t);
}
