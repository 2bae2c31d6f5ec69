/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/format.h"
#include "view/graph.h"
#include "view/top_view.h"

#define WARN_RATIO 0.8
#define BAD_RATIO 0.95
#define NARROW 60 /* below, only what changes is shown */

enum ink top_ink_of_ratio(double ratio)
{
	return ratio >= BAD_RATIO ? INK_BAD : ratio >= WARN_RATIO ? INK_WARN : INK_GOOD;
}

static enum ink ink_of_pressure(const char *level)
{
	if (strcmp(level, "critical") == 0 || strcmp(level, "high") == 0)
		return INK_BAD;
	return strcmp(level, "medium") == 0 ? INK_WARN : INK_PLAIN;
}

static const char *source_words(const struct frame *f, const struct top_state *s)
{
	if (s->is_past)
		return "recorded";
	switch (f->source) {
	case FRAME_DAEMON:
		return "daemon";
	case FRAME_OWN:
		return "own sampling";
	case FRAME_PAST:
		return "recorded";
	case FRAME_NONE:
	default:
		return "waiting for the first sample";
	}
}

/* At the right end, if there is room behind `x`. */
static void put_pressure(const struct frame *f, struct grid *g, size_t y, size_t x)
{
	const char *level = frame_str(f, f->head.pressure);
	const char *why = frame_str(f, f->head.pressure_reason);
	char text[200];

	if (!*level)
		return;
	snprintf(text, sizeof text, "pressure %s%s%s", level, *why ? ": " : "", why);
	if (x + 2 + strlen(text) > g->width)
		snprintf(text, sizeof text, "pressure %s", level);
	if (x + 2 + strlen(text) <= g->width)
		grid_right(g, y, g->width, g->width - x, ink_of_pressure(level), text);
}

static void put_title(const struct frame *f, const struct top_state *s, struct grid *g, size_t y)
{
	size_t w = g->width,
	       x = w >= NARROW ? grid_put(g, y, 0, w, INK_STRONG, "proctor top  ") : 0;
	const struct frame_head *h = &f->head;

	if (h->wall_ns)
		x = grid_put(g, y, x, w, INK_STRONG,
		             s->is_past && w >= NARROW ? format_time(h->wall_ns).at
		                                       : format_clock(h->wall_ns).at);
	if (s->trouble[0]) {
		grid_printf(g, y, x, w, INK_BAD, "  %s", s->trouble);
		return;
	}
	x = grid_printf(g, y, x, w, s->is_past ? INK_WARN : INK_LABEL, "%s%s", x ? "  " : "",
	                source_words(f, s));
	if (s->place[0])
		x = grid_part(g, y, x, INK_WARN, ", %s", s->place);
	else if (s->is_paused)
		x = grid_part(g, y, x, INK_WARN, ", paused");
	else if (h->interval_s > 0 && w >= NARROW)
		x = grid_part(g, y, x, INK_LABEL, " every %.3g s", round(h->interval_s * 10) / 10);
	if (h->uptime_ns && w >= 100)
		x = grid_part(g, y, x, INK_LABEL, "  up %s", format_duration(h->uptime_ns).at);
	put_pressure(f, g, y, x);
}

static size_t put_cpu(const struct frame *f, const struct top_state *s, struct grid *g, size_t y)
{
	const struct top_trail *t = top_state_trail(s, TOP_KEY_MACHINE);
	size_t spark = g->width >= 120 ? 24 : g->width >= 70 ? 12 : 0, x, w = g->width;
	double ratio = f->head.cpu_ratio;

	x = grid_put(g, y, 0, w, INK_LABEL, "cpu ");
	if (spark && t)
		graph_spark(g, y, x, spark, top_ink_of_ratio(ratio), t->cpu, t->len, 1);
	else if (spark)
		graph_bar(g, y, x, spark, top_ink_of_ratio(ratio), ratio);
	x += spark;
	x = grid_printf(g, y, x, w, INK_STRONG, " %4s", format_percent(ratio).at);
	if (!isnan(f->head.cores))
		x = grid_printf(g, y, x, w, INK_LABEL, " of %.0f", f->head.cores);
	return x;
}

static size_t put_amount(struct grid *g, size_t y, size_t x, const char *name, double used,
                         double total)
{
	size_t bar = g->width >= 120 ? 20 : g->width >= 70 ? 10 : 0, w = g->width;
	double ratio = used / total;
	char words[96];

	snprintf(words, sizeof words, "%s/%s", format_bytes_short((uint64_t)used).at,
	         format_bytes_short((uint64_t)total).at);
	if (x + 3 + strlen(name) + bar + (bar > 0) + strlen(words) > w)
		return x;
	x = grid_printf(g, y, x, w, INK_LABEL, "  %s ", name);
	if (bar)
		graph_bar(g, y, x, bar, top_ink_of_ratio(ratio), ratio);
	return grid_put(g, y, x + bar + (bar > 0), w, INK_STRONG, words);
}

static void put_use(const struct frame *f, const struct top_state *s, struct grid *g, size_t y)
{
	const struct frame_head *h = &f->head;
	size_t x = put_cpu(f, s, g, y);

	if (!isnan(h->mem_total) && !isnan(h->mem_available))
		x = put_amount(g, y, x, "mem", h->mem_total - h->mem_available, h->mem_total);
	if (h->swap_total > 0 && !isnan(h->swap_free))
		x = put_amount(g, y, x, "swap", h->swap_total - h->swap_free, h->swap_total);
	else if (!isnan(h->swap_total) && g->width >= 70)
		x = grid_part(g, y, x, INK_QUIET, "  no swap");
	for (size_t i = 0; i < h->gpus; i++) {
		const struct frame_gpu *gpu = &h->gpu[i];

		x = grid_part(g, y, x, INK_STRONG, "  gpu%u %s", gpu->index,
		              format_percent(gpu->util_ratio).at);
		if (!isnan(gpu->used_bytes) && !isnan(gpu->total_bytes))
			x = grid_part(g, y, x, INK_LABEL, " %s/%s",
			              format_bytes_short((uint64_t)gpu->used_bytes).at,
			              format_bytes_short((uint64_t)gpu->total_bytes).at);
	}
}

static size_t put_psi(struct grid *g, size_t y, size_t x, const char *name, double ratio)
{
	const struct fmt words = format_percent(ratio);

	if (x + strlen(name) + strlen(words.at) + 2 > g->width)
		return x;
	x = grid_printf(g, y, x, g->width, INK_LABEL, " %s ", name);
	return grid_put(g, y, x, g->width,
	                ratio >= 0.4    ? INK_BAD
	                : ratio >= 0.15 ? INK_WARN
	                                : INK_PLAIN,
	                words.at);
}

static void put_waits(const struct frame *f, struct grid *g, size_t y)
{
	const struct frame_head *h = &f->head;
	size_t x = 0;

	if (!isnan(h->psi_cpu) || !isnan(h->psi_mem) || !isnan(h->psi_io)) {
		x = grid_part(g, y, x, INK_LABEL, "waiting for");
		x = put_psi(g, y, x, "cpu", h->psi_cpu);
		x = put_psi(g, y, x, "mem", h->psi_mem);
		x = put_psi(g, y, x, "io", h->psi_io);
		x = grid_part(g, y, x, INK_LABEL, "  ");
	}
	if (!isnan(h->load[0]))
		x = grid_part(g, y, x, INK_LABEL, "load %.1f %.1f %.1f  ", h->load[0], h->load[1],
		              h->load[2]);
	x = grid_part(g, y, x, INK_LABEL, "%s processes", format_count(f->procs_all).at);
	if (!f->is_complete)
		x = grid_part(g, y, x, INK_WARN, " (not all)");
	if (!isnan(h->own_cpu_ratio))
		x = grid_part(g, y, x, INK_QUIET, "  recorder %s%s%s",
		              format_percent(h->own_cpu_ratio).at, isnan(h->own_rss) ? "" : " ",
		              isnan(h->own_rss) ? "" : format_bytes_short((uint64_t)h->own_rss).at);
	if (h->left_out && x + 12 <= g->width)
		grid_printf(g, y, x, g->width, INK_WARN, "  not read: %s",
		            frame_str(f, h->left_out));
}

size_t top_header_view(const struct frame *f, const struct top_state *s, struct grid *g, size_t y,
                       size_t lines)
{
	if (lines > 0)
		put_title(f, s, g, y);
	if (lines > 1)
		put_use(f, s, g, y + 1);
	if (lines > 2)
		put_waits(f, g, y + 2);
	return y + lines;
}
