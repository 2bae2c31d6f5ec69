/* SPDX-License-Identifier: MIT */
#include "view/top_view.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "view/format.h"

/* ---- the timeline ---------------------------------------------------------------------------- */

/* How many anomalies of one kind and job, one after the other, end with that one. */
static unsigned count_alike(const struct frame *f, size_t last)
{
	const struct frame_event *e = &f->events.at[last], *o = e;
	unsigned n = 1;

	while (e->is_anomaly && o-- > f->events.at && o->is_anomaly &&
	       frame_is_of_job(f, o->job, o->job_uid, (struct job_key){ e->job_uid, frame_str(f, e->job) }) &&
	       frame_is_alike(f, o->what, e->what))
		n++;
	return n;
}

static void draw_timeline(const struct frame *f, struct grid *g, size_t y, size_t lines)
{
	size_t left = f->events.len, w = g->width;
	size_t job_width = w >= 110 ? 28 : w >= 70 ? 18 : 10;

	if (!left && lines)
		grid_put(g, y, 1, w, INK_QUIET, "no events yet");
	for (size_t end = y + lines; left && y < end; y++) { /* the newest on top */
		const struct frame_event *e = &f->events.at[left - 1];
		unsigned times = count_alike(f, left - 1);
		size_t x = grid_put(g, y, 1, w, INK_LABEL, format_clock(e->wall_ns).at);

		grid_text(g, y, x + 1, 8, top_ink_of_severity(e->severity), frame_str(f, e->kind));
		grid_text(g, y, x + 10, job_width, INK_LABEL, frame_str(f, e->job));
		grid_counted(g, y, x + 11 + job_width,
		             e->severity == SEVERITY_LOW ? INK_PLAIN : top_ink_of_severity(e->severity),
		             frame_str(f, e->what), times);
		left -= times;
	}
}

/* ---- the last line --------------------------------------------------------------------------- */

static size_t put_key(struct grid *g, size_t y, size_t x, const char *key, const char *what)
{
	size_t need = text_columns(key, strlen(key)) + text_columns(what, strlen(what)) + 1;

	if (x + need > g->width)
		return x;
	x = grid_put(g, y, x, g->width, INK_STRONG, key);
	return grid_printf(g, y, x, g->width, INK_LABEL, " %s", what) + 2;
}

static void put_keys(const struct top_state *s, struct grid *g, size_t y)
{
	size_t x = put_key(g, y, 0, "F1", "help");

	x = put_key(g, y, x, "q", "quit");
	if (s->is_past) {
		x = put_key(g, y, x, g->unicode ? "← →" : "< >", "step");
		x = put_key(g, y, x, "p", "peak");
		x = put_key(g, y, x, "n", "next trouble");
		x = put_key(g, y, x, "g", "go to a time");
		x = put_key(g, y, x, "Esc", "now");
		return;
	}
	x = put_key(g, y, x, "/", "find");
	x = put_key(g, y, x, "F4", "filter");
	x = put_key(g, y, x, "F6", "sort");
	if (s->has_store)
		x = put_key(g, y, x, "t", "time travel");
	x = put_key(g, y, x, "w", "why");
	x = put_key(g, y, x, "x", "trace");
	x = put_key(g, y, x, "F9", "kill");
	x = put_key(g, y, x, "Space", "mark");
	put_key(g, y, x, "z", "pause");
}

static void put_prompt(struct grid *g, size_t y, const char *prompt, const char *input)
{
	size_t x = grid_printf(g, y, 0, g->width, INK_STRONG, "%s: ", prompt);

	x = grid_text(g, y, x, g->width - MIN(x, g->width), INK_PLAIN, input);
	grid_put(g, y, x, 1, INK_SELECTED, " ");
}

/* The name is shortened, never the pid or the keys. */
static void put_kill(const struct top_state *s, struct grid *g, size_t y)
{
	bool is_wide = g->width >= 72;
	const char *signal = s->menu ? "SIGKILL" : "SIGTERM",
		   *other = s->menu ? "SIGTERM" : "SIGKILL";
	char before[64], after[64];
	size_t x, taken;

	snprintf(before, sizeof before, is_wide ? "Send %s to " : "%s to ", signal);
	if (!s->victim_pid)
		snprintf(before + strlen(before), sizeof before - strlen(before),
		         is_wide ? "all %zu processes of " : "all %zu of ", s->victim_count);
	after[0] = '\0';
	if (s->victim_pid)
		snprintf(after, sizeof after, is_wide ? " (pid %d)" : " %d", (int)s->victim_pid);
	taken = strlen(before) + strlen(after) +
	        (is_wide ? strlen("?  y yes  n no  Tab SIGKILL") : strlen("? y n Tab"));
	x = grid_put(g, y, 0, g->width, INK_BAD, before);
	x = grid_text(g, y, x, g->width > taken ? g->width - taken : 1, INK_STRONG, s->victim_name);
	x = grid_printf(g, y, x, g->width, INK_BAD, is_wide ? "%s?  " : "%s? ", after);
	if (!is_wide) {
		grid_put(g, y, x, g->width, INK_STRONG, "y n Tab");
		return;
	}
	x = put_key(g, y, x, "y", "yes");
	x = put_key(g, y, x, "n", "no");
	put_key(g, y, x, "Tab", other);
}

static void put_footer(const struct top_state *s, struct grid *g, size_t y)
{
	if (s->mode == TOP_FILTER)
		put_prompt(g, y, "show only rows with", s->input);
	else if (s->mode == TOP_SEARCH)
		put_prompt(g, y, "find", s->input);
	else if (s->mode == TOP_GOTO)
		put_prompt(g, y, "time (14:03, 10m ago)", s->input);
	else if (s->mode == TOP_KILLING)
		put_kill(s, g, y);
	else if (s->mode == TOP_READING)
		put_key(g, y, put_key(g, y, 0, "Esc", "back"), g->unicode ? "↑ ↓" : "j k", "scroll");
	else if (s->message[0])
		grid_text(g, y, 0, g->width, s->is_bad ? INK_BAD : INK_STRONG, s->message);
	else
		put_keys(s, g, y);
}

/* ---- a page over the tree -------------------------------------------------------------------- */

/* How many bytes of the text fit into so many columns: up to a blank, if there is one. */
static size_t fitting(const char *text, size_t n, size_t columns)
{
	size_t end = 0, blank = 0;

	while (end < n) {
		size_t len = MAX(text_utf8_len(text + end, n - end), (size_t)1);

		if (text_columns(text, end + len) > columns)
			return blank ? blank : MAX(end, len);
		if (text[end] == ' ' && end)
			blank = end;
		end += len;
	}
	return n;
}

/* A line of a page in as many of the screen as it needs; those that continue it are indented. */
struct page_line {
	const char *at;
	size_t n, indent;
};

/* From *at on, which is moved behind it; false: the page is at its end. */
static bool next_line(const char **at, bool *continues, size_t width, struct page_line *ret)
{
	size_t n = strcspn(*at, "\n"), room;

	if (!**at)
		return false;
	ret->indent = *continues ? MIN((size_t)8, width / 5) : 0;
	room = width > ret->indent + 2 ? width - ret->indent - 1 : 1;
	ret->at = *at;
	ret->n = fitting(*at, n, room);
	n -= ret->n;
	for (*at += ret->n; n && **at == ' '; ++*at)
		n--;
	*continues = n > 0;
	*at += !n && **at == '\n';
	return true;
}

static size_t count_lines(const char *page, size_t width)
{
	struct page_line line;
	bool continues = false;
	size_t n = 0;

	while (next_line(&page, &continues, width, &line))
		n++;
	return n;
}

static const char *page_of(const struct top_state *s)
{
	return s->page.at ? s->page.at : "";
}

static size_t page_height(const struct grid *g)
{
	return g->height > 3 ? g->height - 3 : 0;
}

static void put_page(const struct top_state *s, struct grid *g, size_t y)
{
	const char *at = page_of(s);
	struct page_line line;
	bool continues = false;

	for (size_t i = 0;
	     i < s->menu + page_height(g) && next_line(&at, &continues, g->width, &line); i++) {
		char part[1024];

		snprintf(part, sizeof part, "%.*s", (int)MIN(line.n, sizeof part - 1), line.at);
		if (i >= s->menu)
			grid_text(g, y + i - s->menu, 1 + line.indent, g->width, INK_PLAIN, part);
	}
}

static void put_sorts(const struct top_state *s, struct grid *g, size_t y, size_t lines)
{
	for (size_t i = 0; i < TOP_SORT_COUNT && i < lines; i++) {
		grid_fill(g, y + i, 0, 24, INK_PLAIN, " ");
		grid_printf(g, y + i, 0, 24, i == s->menu ? INK_SELECTED : INK_PLAIN,
		            " sort by %-12s ", top_sort_name((unsigned)i));
	}
}

/* ---- all ------------------------------------------------------------------------------------- */

static void put_rule(struct grid *g, size_t y, const char *title)
{
	size_t x = grid_put(g, y, 0, 2, INK_QUIET, g->unicode ? "──" : "--");

	x = grid_printf(g, y, x, g->width, INK_LABEL, " %s ", title);
	grid_fill(g, y, x, g->width - MIN(x, g->width), INK_QUIET, g->unicode ? "─" : "-");
}

/* The lines of each part, for any height. */
struct parts {
	size_t header, tree, timeline, detail; /* with their rules */
};

static struct parts divide(size_t height)
{
	struct parts p = { .header = height >= 9 ? 3 : height >= 4 ? 1 : 0 };

	if (height >= 16)
		p.detail = height >= 44 ? 11 : height >= 32 ? 9 : height >= 22 ? 6 : 4;
	if (height >= 20)
		p.timeline = height >= 44 ? 10 : height >= 32 ? 7 : height >= 22 ? 4 : 3;
	p.tree = height - (height > 2) - p.header - p.timeline - p.detail;
	return p;
}

static void put_parts(const struct frame *f, const struct top_state *s, bool cursor, struct grid *g,
                      struct top_layout *ret)
{
	struct parts parts = divide(g->height);
	size_t y = top_header_view(f, s, g, 0, parts.header);

	top_tree_view(f, s, cursor, g, y, parts.tree, ret);
	y += parts.tree;
	if (parts.timeline) {
		put_rule(g, y, s->is_past ? "events up to then" : "events");
		draw_timeline(f, g, y + 1, parts.timeline - 1);
		y += parts.timeline;
	}
	if (parts.detail) {
		put_rule(g, y, "selected");
		top_detail_view(f, s, g, y + 1, parts.detail - 1);
	}
}

void top_view_scroll(struct top_state *s, const struct grid *g)
{
	size_t lines = page_height(g), all;

	if (s->mode != TOP_READING) {
		top_tree_scroll(s, divide(g->height).tree);
		return;
	}
	all = count_lines(page_of(s), g->width);
	s->menu = MIN(s->menu, all > lines ? all - lines : 0);
}

size_t top_view_waiting(const struct frame *f, const struct top_state *s, const struct grid *g,
                        pid_t ret[static TOP_WAITING_MAX])
{
	return s->mode == TOP_READING ? 0 : top_tree_waiting(f, s, g, divide(g->height).tree, ret);
}

void top_view(const struct frame *f, const struct top_state *s, bool cursor, struct grid *g,
              struct top_layout *ret)
{
	*ret = (struct top_layout){ 0 };
	if (!g->width || !g->height)
		return;
	ret->footer_y = g->height - 1;
	if (s->mode == TOP_READING) {
		grid_put(g, 0, 0, g->width, INK_TITLE, s->page_title);
		put_page(s, g, 2);
	} else {
		put_parts(f, s, cursor, g, ret);
	}
	if (s->mode == TOP_SORTING)
		put_sorts(s, g, ret->rows_y, g->height - MIN(ret->rows_y, g->height));
	if (g->height > 2 && cursor)
		put_footer(s, g, ret->footer_y);
}
