/* SPDX-License-Identifier: MIT */
#include "view/doctor_view.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "view/format.h"
#include "view/table.h"

static const struct {
	const char *name;
	enum ink ink;
} states[] = {
	[DOCTOR_WORKS] = { "works", INK_GOOD },
	[DOCTOR_DEGRADED] = { "degraded", INK_WARN },
	[DOCTOR_ABSENT] = { "absent", INK_BAD },
};

const char *doctor_state_name(enum doctor_state state)
{
	return states[state].name;
}

void doctor_done(struct doctor *d)
{
	vec_done(&d->roles);
	vec_done(&d->plain);
	vec_done(&d->files);
}

/* On a narrow terminal source and note share a column: words stay together where there is room for
 * a few. */
static const struct table_column wide[] = {
	{ NULL, TABLE_LEFT },
	{ NULL, TABLE_LEFT },
	{ NULL, TABLE_LEFT },
	{ NULL, TABLE_LEFT, 0, 24, true },
};
static const struct table_column narrow[] = {
	{ NULL, TABLE_LEFT },
	{ NULL, TABLE_LEFT },
	{ NULL, TABLE_LEFT, 0, 24, true },
};
#define WIDE_COLUMNS 110

static void add_line(struct table *t, const struct doctor_line *line)
{
	bool is_wide = t->columns == wide;
	struct buf note = { 0 };

	table_add(t, line->name, INK_PLAIN);
	table_add(t, states[line->state].name, states[line->state].ink);
	if (is_wide)
		table_add(t, line->source[0] ? line->source : "-", INK_PLAIN);
	else if (line->source[0])
		buf_printf(&note, "%s: ", line->source);
	buf_puts(&note, line->note);
	if (line->lost)
		buf_printf(&note, "; %s events lost", format_count(line->lost).at);
	table_addn(t, note.at, note.len, INK_PLAIN);
	buf_done(&note);
}

static void put_lines(const struct doctor_line *lines, size_t n, const struct style *style,
                      struct buf *to)
{
	bool is_wide = style->width >= WIDE_COLUMNS;
	struct table t = {
		.columns = is_wide ? wide : narrow,
		.n_columns = is_wide ? ARRAY_LEN(wide) : ARRAY_LEN(narrow),
		.indent = 2,
	};

	for (size_t i = 0; i < n; i++)
		add_line(&t, &lines[i]);
	table_print(&t, style, to);
	table_done(&t);
}

static void put_text(struct buf *to, const char *text)
{
	text_display(to, text, strlen(text), SIZE_MAX);
}

static void put_heading(const struct style *style, struct buf *to, const char *text)
{
	buf_putc(to, '\n');
	style_begin(style, INK_BOLD, to);
	buf_puts(to, text);
	style_end(style, INK_BOLD, to);
	buf_putc(to, '\n');
}

static void put_store(const struct doctor *d, const struct style *style, struct buf *to)
{
	put_heading(style, to, "store");
	buf_puts(to, "  ");
	put_text(to, d->store_path);
	buf_putc(to, '\n');
	if (d->store_state == DOCTOR_ABSENT)
		buf_puts(to, "  nothing is recorded yet (proctor record begins it)");
	else
		buf_printf(to, "  %s, %s", format_bytes(d->store_bytes).at,
		           d->store_state == DOCTOR_WORKS ? "healthy" : "not usable");
	if (d->store_note[0]) {
		buf_puts(to, ": ");
		put_text(to, d->store_note);
	}
	if (d->has_disk_free)
		buf_printf(to, "; %s left on the disk", format_bytes(d->disk_free_bytes).at);
	buf_putc(to, '\n');
}

static void put_files(const struct doctor *d, const struct style *style, struct buf *to)
{
	put_heading(style, to, "configuration");
	if (!d->files.len)
		buf_puts(to, "  no file; the defaults hold\n");
	vec_each(&d->files, f) {
		buf_puts(to, "  ");
		put_text(to, f->path);
		buf_puts(to, f->skipped ? "   (not readable for this user: passed over)\n" : "\n");
	}
}

static void put_plain(const struct doctor *d, const struct style *style, struct buf *to)
{
	if (!d->plain_tried)
		return;
	if (!d->plain.len) {
		put_heading(style, to, "a plain user would lose nothing");
		return;
	}
	put_heading(style, to, "a plain user would have instead");
	put_lines(d->plain.at, d->plain.len, style, to);
}

void doctor_view_put(const struct doctor *d, const struct style *style, struct buf *to)
{
	style_begin(style, INK_BOLD, to);
	buf_printf(to, "proctor %s", d->version);
	style_end(style, INK_BOLD, to);
	buf_puts(to, " on Linux ");
	put_text(to, d->kernel);
	buf_puts(to, ", ");
	put_text(to, d->user);
	buf_putc(to, '\n');
	put_lines(d->roles.at, d->roles.len, style, to);
	put_store(d, style, to);
	put_files(d, style, to);
	put_plain(d, style, to);
}

static void json_line(struct json *j, const struct doctor_line *line)
{
	json_begin_object(j);
	json_key(j, "role");
	json_str(j, line->name);
	json_key(j, "source");
	json_str(j, line->source[0] ? line->source : NULL);
	json_key(j, "state");
	json_str(j, states[line->state].name);
	json_key(j, "note");
	json_str(j, line->note);
	json_key(j, "events_lost");
	json_u64(j, line->lost);
	json_end_object(j);
}

static void json_store(const struct doctor *d, struct json *j)
{
	json_key(j, "store");
	json_begin_object(j);
	json_key(j, "path");
	json_str(j, d->store_path);
	json_key(j, "state");
	json_str(j, states[d->store_state].name);
	json_key(j, "note");
	json_str(j, d->store_note[0] ? d->store_note : NULL);
	json_key(j, "bytes");
	if (d->store_state == DOCTOR_ABSENT)
		json_nil(j);
	else
		json_u64(j, d->store_bytes);
	json_key(j, "disk_free_bytes");
	if (d->has_disk_free)
		json_u64(j, d->disk_free_bytes);
	else
		json_nil(j);
	json_end_object(j);
}

static void json_files(const struct doctor *d, struct json *j)
{
	json_key(j, "configuration");
	json_begin_array(j);
	vec_each(&d->files, f) {
		json_begin_object(j);
		json_key(j, "path");
		json_str(j, f->path);
		json_key(j, "read");
		json_bool(j, !f->skipped);
		json_end_object(j);
	}
	json_end_array(j);
}

void doctor_json_put(const struct doctor *d, struct json *j)
{
	json_begin_object(j);
	json_key(j, "schema");
	json_u64(j, 1);
	json_key(j, "version");
	json_str(j, d->version);
	json_key(j, "kernel");
	json_str(j, d->kernel);
	json_key(j, "user");
	json_str(j, d->user);
	json_key(j, "root");
	json_bool(j, d->is_root);
	json_key(j, "roles");
	json_begin_array(j);
	vec_each(&d->roles, line)
		json_line(j, line);
	json_end_array(j);
	json_store(d, j);
	json_files(d, j);
	json_key(j, "plain_user");
	if (d->plain_tried) {
		json_begin_array(j);
		vec_each(&d->plain, line)
			json_line(j, line);
		json_end_array(j);
	} else {
		json_nil(j);
	}
	json_end_object(j);
}
