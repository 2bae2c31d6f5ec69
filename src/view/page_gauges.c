/* SPDX-License-Identifier: MIT */
#include "view/page_gauges.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/format.h"
#include "view/html.h"
#include "view/job_view.h"

#define GPUS_SHOWN 4

/* A share of a whole; of none (NAN) there is no bar. Pages have no styles in attributes, so it is a picture. */
static void put_bar(struct buf *to, double share, bool is_bad)
{
	if (!isfinite(share))
		return;
	buf_printf(
		to,
		"<svg class=\"bar%s\" viewBox=\"0 0 100 6\" preserveAspectRatio=\"none\" role=\"img\" "
		"aria-label=\"%s\"><rect class=\"track\" width=\"100\" height=\"6\"/>"
		"<rect class=\"fill\" width=\"%.1f\" height=\"6\"/></svg>",
		is_bad ? " bad" : "", format_percent(share).at, 100 * fmin(fmax(share, 0), 1));
}

static void put_span(struct buf *to, const char *class, const char *text)
{
	buf_printf(to, "<span class=\"%s\">", class);
	html_put_text(to, text, strlen(text));
	buf_puts(to, "</span>");
}

static void put_gauge(struct buf *to, const char *label, const char *value, const char *aside,
                      double share, bool is_bad)
{
	buf_puts(to, "<div class=\"gauge\">");
	put_span(to, "label", label);
	put_span(to, "value", value);
	put_bar(to, share, is_bad);
	put_span(to, "quiet", aside);
	buf_puts(to, "</div>\n");
}

static double share_of(double part, uint64_t whole)
{
	return whole ? part / (double)whole : NAN;
}

static void put_time(const struct report *r, struct buf *to)
{
	uint64_t took_ns = job_took_ns(&r->job, r->now_ns), most_ns = r->job.allowed.time_ns;
	char aside[80] = "";

	if (most_ns)
		snprintf(aside, sizeof aside, "of %s allowed", format_duration(most_ns).at);
	else if (r->job.status == JOB_RUNNING)
		snprintf(aside, sizeof aside, "so far");
	put_gauge(to, "Time", format_duration(took_ns).at, aside,
	          share_of((double)took_ns, most_ns), r->job.limits_hit >> JOB_LIMIT_TIME & 1);
}

static void put_memory(const struct job *job, struct buf *to)
{
	const struct allowance *a = &job->allowed;
	struct figure used = job->figures[JOB_FIGURE_PEAK_USED];
	bool is_each = strcmp(a->memory_source, ALLOWANCE_ULIMIT) == 0;

	if (!figure_is_known(used))
		return;
	put_gauge(to, "Memory used", job_view_figure(used, UNIT_MIB, true).at,
	          job_view_allowed_memory_words(job).at,
	          share_of((double)used.value, is_each ? 0 : a->memory_bytes),
	          job_is_oom(job) || job->limits_hit >> JOB_LIMIT_MEM & 1);
}

static void put_cpu(const struct report *r, struct buf *to)
{
	const struct job *job = &r->job;
	struct words busy = job_view_cores_words(job, r->cpus);
	uint64_t most = job->allowed.milli_cores ? job->allowed.milli_cores
	                                         : r->cpus * UINT64_C(1000);
	struct figure cpu = job->figures[JOB_FIGURE_CPU];
	char aside[sizeof(struct words) + 16];

	if (!*busy.at)
		return;
	snprintf(aside, sizeof aside, "%s CPU time", job_view_figure(cpu, UNIT_NS, true).at);
	put_gauge(to, "CPU", busy.at, aside,
	          share_of((double)cpu.value / (double)job->took_ns * 1000, most), false);
}

static void put_gpus(const struct report *r, struct buf *to)
{
	size_t shown = 0;

	vec_each(&r->gpus, gpu) {
		const struct gpu_record *g = &gpu->g;
		char label[24], aside[80] = "";

		if (!g->is_used || !isfinite(g->util_mean_ratio) || shown++ >= GPUS_SHOWN)
			continue;
		snprintf(label, sizeof label, "GPU %u", g->index);
		if (isfinite(g->mem_peak_bytes) && isfinite(g->mem_total_bytes))
			snprintf(aside, sizeof aside, "busy, %s held",
			         format_bytes_of((uint64_t)g->mem_peak_bytes,
			                         (uint64_t)g->mem_total_bytes)
			                 .at);
		put_gauge(to, label, format_percent(g->util_mean_ratio).at, aside,
		          g->util_mean_ratio, false);
	}
}

static void put_processes(const struct job *job, struct buf *to)
{
	uint64_t failed = job_view_count(job, JOB_FIGURE_FAILED);
	uint64_t signalled = job_view_count(job, JOB_FIGURE_SIGNALLED);
	char aside[120];

	if (!job_view_knows(job, JOB_FIGURE_PROCESSES))
		return;
	snprintf(aside, sizeof aside, "%s failed", format_count(failed).at);
	if (signalled)
		snprintf(aside, sizeof aside, "%s failed, %s died of a signal",
		         format_count(failed).at, format_count(signalled).at);
	put_gauge(to, "Processes",
	          job_view_figure(job->figures[JOB_FIGURE_PROCESSES], UNIT_COUNT, true).at,
	          job_view_knows(job, JOB_FIGURE_FAILED) ? aside : "", NAN, false);
}

static void put_next(const struct next_request *next, struct buf *to)
{
	char value[64], aside[120] = "";

	if (!next->memory_bytes)
		return;
	snprintf(value, sizeof value, "--mem %s", format_memory_option(next->memory_bytes).at);
	if (next->largest_bytes)
		snprintf(aside, sizeof aside, "largest of %s run%s: %s",
		         format_count(next->runs).at, next->runs == 1 ? "" : "s",
		         format_bytes(next->largest_bytes).at);
	put_gauge(to, "Request next time", value, aside, NAN, false);
}

void page_gauges(const struct report *r, struct buf *to)
{
	buf_puts(to, "<div class=\"gauges\">\n");
	put_time(r, to);
	put_memory(&r->job, to);
	put_cpu(r, to);
	put_gpus(r, to);
	put_processes(&r->job, to);
	put_next(&r->next, to);
	buf_puts(to, "</div>\n");
}
