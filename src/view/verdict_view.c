/* SPDX-License-Identifier: MIT */
#include "view/verdict_view.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/signal_name.h"
#include "model/record_fields.h"
#include "view/blocked_view.h"
#include "view/label_lines.h"
#include "view/flight_view.h"
#include "view/format.h"
#include "view/job_view.h"
#include "view/table.h"
#include "view/verdict_advice.h"

#define COSTLY_SHOWN 5

/* ---- evidence in words -------------------------------------------------------------------------- */

struct evidence_words {
	char text[VERDICT_TEXT_MAX + 64], value[VERDICT_TEXT_MAX + 64];
};

static struct words process_words(const struct evidence *e)
{
	struct words w;

	if (*e->name)
		snprintf(w.at, sizeof w.at, "%.15s (pid %d)", e->name, e->process.pid);
	else if (e->process.pid)
		snprintf(w.at, sizeof w.at, "pid %d", e->process.pid);
	else
		snprintf(w.at, sizeof w.at, "the command");
	return w;
}

static struct words sender_words(const struct evidence *e)
{
	struct words w;

	if (e->sender_pid > 0)
		snprintf(w.at, sizeof w.at, "from %s (pid %d, uid %u)",
		         *e->sender ? e->sender : "a process that was gone", e->sender_pid,
		         e->sender_uid);
	else
		snprintf(w.at, sizeof w.at,
		         e->signal == SIGINT || e->signal == SIGQUIT ? "from the terminal"
		                                                     : "from the kernel");
	return w;
}

static struct words amount_words(enum metric_unit unit, uint64_t value)
{
	struct words w;

	snprintf(w.at, sizeof w.at, "%s",
	         unit == UNIT_BYTES ? format_bytes(value).at
	         : unit == UNIT_NS  ? format_duration(value).at
	                            : format_count(value).at);
	return w;
}

#define TEXT(...) snprintf(w.text, sizeof w.text, __VA_ARGS__)
#define VALUE(...) snprintf(w.value, sizeof w.value, __VA_ARGS__)

static struct evidence_words end_evidence(const struct evidence *e)
{
	struct evidence_words w = { 0 };

	TEXT(e->kind == EVIDENCE_COMMAND_END ? "the command ended: %s" : "ended: %s",
	     process_words(e).at);
	VALUE("%s",
	      job_view_exit_words(e->has_exit_code, e->exit_code, e->signal, e->core_dumped).at);
	return w;
}

static struct evidence_words evidence_words(const struct evidence *e)
{
	struct evidence_words w = { 0 };

	switch (e->kind) {
	case EVIDENCE_COMMAND_END:
	case EVIDENCE_PROCESS_END:
		return end_evidence(e);
	case EVIDENCE_OOM_KILL:
		TEXT("chosen by the kernel's OOM killer");
		VALUE("%s", process_words(e).at);
		break;
	case EVIDENCE_OOM_COUNT:
	case EVIDENCE_OOM_LIKELY:
	case EVIDENCE_ANOMALY:
	case EVIDENCE_GPU:
		TEXT("%s", e->text);
		break;
	case EVIDENCE_MEMORY_USED:
		TEXT("memory used, of what was allowed");
		VALUE("%s", format_bytes_of(e->value, e->of).at);
		break;
	case EVIDENCE_MEMORY_FREE:
		TEXT("memory available on the machine");
		VALUE("%s", format_bytes_of(e->value, e->of).at);
		break;
	case EVIDENCE_GPU_MEMORY:
		TEXT("memory in use on its GPUs, at most");
		VALUE("%s", format_bytes_of(e->value, e->of).at);
		break;
	case EVIDENCE_SENDER:
		TEXT("%s to %s", signal_name(e->signal).at, process_words(e).at);
		VALUE("%s", sender_words(e).at);
		break;
	case EVIDENCE_LIMIT:
		TEXT("limit reached: %s", *e->text ? e->text : "of its control group");
		if (e->value)
			VALUE("%s", amount_words(e->unit, e->value).at);
		break;
	case EVIDENCE_CALL_FAILED:
		TEXT("%s", e->text);
		if (e->value)
			VALUE("%s time%s", format_count(e->value).at, e->value == 1 ? "" : "s");
		break;
	case EVIDENCE_DISK:
		TEXT("room left in %s", e->text);
		VALUE("%s%s", amount_words(e->unit, e->value).at,
		      e->unit == UNIT_COUNT ? " inodes" : "");
		break;
	case EVIDENCE_READ_ONLY:
		TEXT("%s", e->text);
		VALUE("read-only");
		break;
	case EVIDENCE_STACK:
		TEXT("touched memory at the limit of its stack");
		VALUE("%s", process_words(e).at);
		break;
	case EVIDENCE_CPU_LIMIT:
		TEXT("used up its limit of CPU time");
		VALUE("%s", process_words(e).at);
		break;
	case EVIDENCE_BOOT:
		TEXT("the machine was started again");
		break;
	case EVIDENCE_RECORDER:
		TEXT("last sign of the recorder");
		break;
	case EVIDENCE_IDLE:
		TEXT("CPU time in the last %s", format_duration(e->of).at);
		VALUE("%s", format_duration(e->value).at);
		break;
	case EVIDENCE_BLOCKED:
		TEXT("%s waits for", process_words(e).at);
		VALUE("%s", e->text);
		break;
	case EVIDENCE_KIND_COUNT:
		break;
	}
	return w;
}

#undef TEXT
#undef VALUE

/* ---- one line ----------------------------------------------------------------------------------- */

static const struct evidence *find_end(const struct verdict *v)
{
	for (size_t i = 0; i < v->n_evidence; i++)
		if (v->evidence[i].kind == EVIDENCE_PROCESS_END)
			return &v->evidence[i];
	return NULL;
}

static bool is_fault(enum verdict_code code)
{
	return code >= VERDICT_SEGFAULT && code <= VERDICT_ARITHMETIC_ERROR;
}

/* Causes that the job's status and the sender of its signal do not show. */
static bool is_hidden(const struct job *job, const struct verdict *v)
{
	return v->code >= VERDICT_RLIMIT_CPU || v->code == VERDICT_STACK_OVERFLOW ||
	       ((v->code == VERDICT_NOT_FOUND || v->code == VERDICT_NOT_EXECUTABLE) &&
	        job->exit_code && job_view_count(job, JOB_FIGURE_PROCESSES)) ||
	       (v->code == VERDICT_TERMINAL_HANGUP && job->cause.sender == CAUSE_SENDER_PROCESS) ||
	       ((is_fault(v->code) || v->code == VERDICT_KILLED_BY_PROCESS) && !job->signal &&
	        !find_end(v)) ||
	       (v->code == VERDICT_TIMEOUT_COMMAND &&
	        (!job->signal || job->cause.sender == CAUSE_SENDER_ITSELF));
}

/* The end of the process that failed first, unless the command passed it on, and at least its
 * name. */
static void put_end(const struct job *job, const struct evidence *end, struct buf *to)
{
	bool is_same = end->has_exit_code && job->has_exit_code && end->exit_code == job->exit_code;

	if (!is_same)
		buf_printf(to, ": %s %s", process_words(end).at,
		           job_view_exit_words(end->has_exit_code, end->exit_code, end->signal,
		                               end->core_dumped)
		                   .at);
	else if (*end->name)
		buf_printf(to, " of %s", process_words(end).at);
}

void verdict_view_line(const struct job *job, const struct verdict *v, struct buf *to)
{
	const struct evidence *end = find_end(v);

	buf_puts(to, job_view_result(job).at);
	if (job->status != JOB_FAILED)
		return;
	if (is_hidden(job, v))
		buf_printf(to, ": %s%s", v->confidence == CONFIDENCE_HIGH ? "" : "probably ",
		           verdict_code_words(v->code));
	else if (end && !job_is_oom(job))
		put_end(job, end, to);
}

/* ---- the page ----------------------------------------------------------------------------------- */

static void put_head(const struct verdict_page *page, struct canvas *to)
{
	const struct job *job = &page->report->job;
	const struct verdict *v = page->verdict;
	struct label_lines f = { .indent = 2, .label_columns = 10 };
	char right[48];

	snprintf(right, sizeof right, "confidence %s", verdict_confidence_name(v->confidence));
	label_lines_begin_head(&f, job->id, job->status == JOB_RUNNING ? "" : right);
	if (job->status == JOB_RUNNING)
		label_lines_part(&f, "running");
	else
		label_lines_part(&f, "%s%s",
		                 job->status == JOB_FAILED ? "FAILED: "
		                 : job->status == JOB_LOST ? "LOST: "
		                                           : "",
		                 verdict_code_words(v->code));
	label_lines_ink(&f, job_view_ink(job->status));
	if (*job->command) {
		label_lines_begin(&f, "command", "");
		label_lines_part(&f, "%.300s", job->command);
	}
	if (v->culprit.process.pid && job->status != JOB_COMPLETED) {
		label_lines_begin(&f, "process", "");
		label_lines_part(&f, "%s%s%d", v->culprit.name, *v->culprit.name ? " " : "pid ",
		                 v->culprit.process.pid);
		if (v->culprit.sheet)
			label_lines_comma(&f, "sheet %u", v->culprit.sheet);
	}
	label_lines_begin(&f, "cause", "");
	label_lines_part(&f, "%s", job->status == JOB_RUNNING ? "-" : verdict_code_name(v->code));
	label_lines_begin(&f, "ended", "");
	label_lines_part(&f, "%s", job_view_result(job).at);
	label_lines_part(&f, "after %s",
	                 format_duration(job_took_ns(job, page->report->now_ns)).at);
	label_lines_print(&f, to);
	label_lines_done(&f);
}

static void put_evidence(const struct verdict_page *page, struct canvas *to)
{
	static const struct table_column columns[] = { { .min_width = 24, .in_middle = true },
		                                       { .min_width = 12 },
		                                       { .drop = 2 },
		                                       { .drop = 1 } };
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };
	const struct verdict *v = page->verdict;

	for (size_t i = 0; i < v->n_evidence; i++) {
		const struct evidence *e = &v->evidence[i];
		struct evidence_words w = evidence_words(e);

		table_add(&t, w.text, INK_PLAIN);
		table_add(&t, w.value, INK_STRONG);
		table_add(&t, e->at_ns ? format_clock(e->at_ns).at : "", INK_PLAIN);
		table_add(&t, verdict_source(e->kind), INK_QUALITY);
	}
	table_print_section(&t, "Evidence", v->n_evidence, "item", to);
}

static void put_costly(const struct report *r, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ .name = "process" },
		{ .name = "pid", .align = TABLE_RIGHT },
		{ .name = "peak", .align = TABLE_RIGHT },
		{ .name = "cpu", .align = TABLE_RIGHT },
		{ .name = "ended" },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };
	size_t n = MIN(r->n_costly, (size_t)COSTLY_SHOWN);

	for (size_t i = 0; i < n; i++) {
		const struct process_record *p = &r->costly[i].p;
		char pid[16];

		snprintf(pid, sizeof pid, "%d", p->id.pid);
		table_add(&t, r->costly[i].name, INK_PLAIN);
		table_add(&t, pid, INK_PLAIN);
		job_view_add_figure(&t, p->peak_rss_bytes, UNIT_MIB, to->unicode);
		job_view_add_figure(&t, p->cpu_time_ns, UNIT_NS, to->unicode);
		table_add(&t,
		          p->ended_ns ? job_view_exit_words(p->has_exit_code, p->exit_code,
		                                            p->signal, p->core_dumped)
		                                .at
		                      : "running",
		          p->signal ? INK_BAD : INK_PLAIN);
	}
	table_print_section(&t, "Used the most", n, "process", to);
}

static void put_advice(const struct verdict_page *page, struct canvas *to)
{
	struct advice list[ADVICE_MAX];
	size_t n = verdict_advice(page->report, page->verdict, list);

	if (!n)
		return;
	canvas_title(to, "What to do");
	for (size_t i = 0; i < n; i++) {
		table_print_prose(to, list[i].text, INK_PLAIN, 2);
		if (*list[i].command) {
			canvas_put(to, INK_PLAIN, "    ");
			canvas_text(to, INK_STRONG, list[i].command, strlen(list[i].command),
			            SIZE_MAX);
			canvas_newline(to);
		}
	}
}

void verdict_view(const struct verdict_page *page, struct canvas *to)
{
	const struct report *r = page->report;

	put_head(page, to);
	put_evidence(page, to);
	if (r->blocked.list.len)
		blocked_view(r->blocked.list.at, r->blocked.list.len, to);
	if (r->job.status != JOB_COMPLETED)
		put_costly(r, to);
	if (r->flights.len)
		flight_view_of(r, page->verdict->culprit.process, to);
	put_advice(page, to);
}

void verdict_view_reasons(const struct verdict_page *page, struct canvas *to)
{
	put_evidence(page, to);
	put_advice(page, to);
}

/* ---- for programs ------------------------------------------------------------------------------- */

static void put_culprit(struct json *j, const struct verdict *v)
{
	json_key(j, "culprit");
	if (!v->culprit.process.pid) {
		json_nil(j);
		return;
	}
	json_begin_object(j);
	json_put_i64(j, "pid", v->culprit.process.pid);
	json_put_text(j, "command", v->culprit.name);
	json_key(j, "sheet");
	if (v->culprit.sheet)
		json_u64(j, v->culprit.sheet);
	else
		json_nil(j);
	json_end_object(j);
}

void verdict_view_json(const struct verdict_page *page, struct json *j)
{
	const struct job *job = &page->report->job;
	const struct verdict *v = page->verdict;
	bool has_ended = job->status != JOB_RUNNING;
	struct advice advice[ADVICE_MAX];
	size_t n = has_ended ? verdict_advice(page->report, v, advice) : 0;

	json_begin_object(j);
	json_put_u64(j, "schema", RECORD_SCHEMA);
	json_put_str(j, "job_id", job->id);
	json_put_str(j, "cause", has_ended ? verdict_code_name(v->code) : NULL);
	json_put_str(j, "confidence", has_ended ? verdict_confidence_name(v->confidence) : NULL);
	put_culprit(j, v);
	json_put_str(j, "how_it_ended", job_view_result(job).at);
	json_open_array(j, "evidence");
	for (size_t i = 0; i < v->n_evidence; i++) {
		struct evidence_words w = evidence_words(&v->evidence[i]);

		json_begin_object(j);
		json_key(j, "at");
		if (v->evidence[i].at_ns)
			field_metric_json(j, UNIT_NS, v->evidence[i].at_ns);
		else
			json_nil(j);
		json_put_str(j, "source", verdict_source(v->evidence[i].kind));
		json_put_str(j, "text", w.text);
		json_put_text(j, "value", w.value);
		json_end_object(j);
	}
	json_end_array(j);
	json_open_array(j, "advice");
	for (size_t i = 0; i < n; i++) {
		json_begin_object(j);
		json_put_str(j, "text", advice[i].text);
		json_put_text(j, "command", advice[i].command);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}
