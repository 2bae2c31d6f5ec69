/* SPDX-License-Identifier: MIT */
#include "view/doctor_view.h"

#include <stdio.h>
#include <string.h>

#include "view/format.h"
#include "view/job_view.h"
#include "view/table.h"

static const struct {
	const char *name;
	enum ink ink;
} states[] = {
	[DOCTOR_WORKS] = { "works", INK_GOOD },
	[DOCTOR_DEGRADED] = { "degraded", INK_WARN },
	[DOCTOR_ABSENT] = { "absent", INK_BAD },
};

void doctor_done(struct doctor *d)
{
	vec_done(&d->roles);
	vec_done(&d->plain);
	vec_done(&d->files);
	vec_done(&d->problems);
	vec_done(&d->unused);
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
	{ NULL, TABLE_LEFT, 0, 18, true },
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

static void put_lines(const struct doctor_line *lines, size_t n, struct canvas *to)
{
	bool is_wide = to->width >= WIDE_COLUMNS;
	struct table t = {
		.columns = is_wide ? wide : narrow,
		.n_columns = is_wide ? ARRAY_LEN(wide) : ARRAY_LEN(narrow),
		.indent = 2,
	};

	for (size_t i = 0; i < n; i++)
		add_line(&t, &lines[i]);
	table_print(&t, to);
	table_done(&t);
}

static void put_text(struct canvas *to, const char *text)
{
	canvas_text(to, INK_PLAIN, text, strlen(text), SIZE_MAX);
}

/* How it is written, and why so. */
static void put_place(const struct doctor *d, struct canvas *to)
{
	cleanup(buf_done) struct buf text = { 0 };
	bool is_risky = !d->store_is_per_host && d->file_system;

	if (d->store_is_per_host)
		buf_printf(&text, "one store per host, with a rollback journal: %s%s",
		           d->file_system ? "the file system is " : "storage_per_host is set",
		           d->file_system ? d->file_system : "");
	else if (is_risky)
		buf_printf(&text,
		           "a write-ahead log on %s: two hosts would damage it "
		           "(storage_per_host is off)",
		           d->file_system);
	else
		buf_puts(&text, "one store with a write-ahead log, on a local disk");
	table_print_prose(to, text.at, is_risky ? INK_WARN : INK_PLAIN, 2);
}

static void add_size(const struct doctor *d, struct buf *to)
{
	bool works = d->store_state == DOCTOR_WORKS;

	if (d->store_state == DOCTOR_ABSENT) {
		buf_puts(to, "nothing is recorded yet; start with: proctor run -- COMMAND");
		return;
	}
	if (d->storage.store_bytes || works) {
		storage_view_put_size(&d->storage, to);
		buf_puts(to, ", ");
	}
	buf_puts(to, works ? "healthy" : "not usable");
}

static void put_store(const struct doctor *d, struct canvas *to)
{
	bool is_bad = d->store_state != DOCTOR_WORKS && d->store_state != DOCTOR_ABSENT;
	cleanup(buf_done) struct buf size = { 0 }, growth = { 0 }, fallback = { 0 };

	canvas_title(to, "store");
	canvas_put(to, INK_PLAIN, "  ");
	put_text(to, d->store_path);
	canvas_newline(to);
	if (d->fallback_reason) {
		buf_printf(&fallback, "not in the usual place: %s", d->fallback_reason);
		table_print_prose(to, fallback.at, INK_WARN, 2);
	}
	add_size(d, &size);
	if (d->store_note[0])
		buf_printf(&size, ": %s", d->store_note);
	if (d->has_disk_free)
		buf_printf(&size, "; %s free on the disk", format_bytes(d->disk_free_bytes).at);
	table_print_prose(to, size.at, is_bad ? INK_BAD : INK_PLAIN, 2);
	if (d->refused) {
		buf_printf(&fallback, "no fallback can be used: %s", d->refused);
		table_print_prose(to, fallback.at, INK_BAD, 2);
	}
	storage_view_put_growth(&d->storage, &growth);
	if (growth.len)
		table_print_prose(to, growth.at, INK_PLAIN, 2);
	put_place(d, to);
}

static void put_title(struct canvas *to, const char *title)
{
	canvas_newline(to);
	table_print_prose(to, title, INK_TITLE, 0);
}

static void put_problems(const struct doctor *d, struct canvas *to)
{
	if (!d->problems.len)
		return;
	put_title(to, "errors in the configuration: record and daemon refuse it");
	vec_each(&d->problems, text)
		table_print_prose(to, *text, INK_BAD, 2);
	if (d->problems_dropped)
		canvas_printf(to, INK_BAD, "  and %zu more\n", d->problems_dropped);
}

static void put_key(const struct doctor_key *key, struct canvas *to)
{
	canvas_printf(to, INK_WARN, "  [%s] %s\n", key->section, key->name);
	table_print_prose(to, key->reason, INK_PLAIN, 4);
}

static void put_unused(const struct doctor *d, struct canvas *to)
{
	if (!d->unused.len)
		return;
	put_title(to, "configured, but without effect for this user");
	vec_each(&d->unused, key)
		put_key(key, to);
}

static void put_files(const struct doctor *d, struct canvas *to)
{
	canvas_title(to, "configuration");
	if (!d->files.len)
		canvas_put(to, INK_PLAIN, "  no file: defaults apply\n");
	vec_each(&d->files, f) {
		canvas_put(to, INK_PLAIN, "  ");
		put_text(to, f->path);
		canvas_newline(to);
		if (f->skipped)
			table_print_prose(to, "(not readable by this user: ignored)", INK_PLAIN, 4);
	}
}

static void put_plain(const struct doctor *d, struct canvas *to)
{
	if (!d->plain_tried)
		return;
	if (!d->plain.len) {
		canvas_title(to, "a plain user would lose nothing");
		return;
	}
	canvas_title(to, "a plain user would have instead");
	put_lines(d->plain.at, d->plain.len, to);
}

void doctor_view_put(const struct doctor *d, struct canvas *to)
{
	cleanup(buf_done) struct buf first = { 0 };

	buf_printf(&first, "proctor %s on Linux %s, %s", d->version, d->kernel, d->user);
	table_print_prose(to, first.at, INK_TITLE, 0);
	put_lines(d->roles.at, d->roles.len, to);
	put_store(d, to);
	put_files(d, to);
	put_problems(d, to);
	put_unused(d, to);
	put_plain(d, to);
}

static void json_line(struct json *j, const struct doctor_line *line)
{
	json_begin_object(j);
	json_put_str(j, "role", line->name);
	json_put_text(j, "source", line->source);
	json_put_str(j, "state", states[line->state].name);
	json_put_str(j, "note", line->note);
	json_put_u64(j, "events_lost", line->lost);
	json_end_object(j);
}

static void json_store(const struct doctor *d, struct json *j)
{
	json_open_object(j, "store");
	json_put_str(j, "path", d->store_path);
	json_put_str(j, "state", states[d->store_state].name);
	json_put_text(j, "note", d->store_note);
	json_put_str(j, "fallback_reason", d->fallback_reason);
	json_put_str(j, "fallbacks_refused", d->refused);
	json_put_bool(j, "per_host", d->store_is_per_host);
	json_put_str(j, "journal", d->store_is_per_host ? "rollback" : "wal");
	json_put_str(j, "network_file_system", d->file_system);
	json_key(j, "bytes");
	d->store_state == DOCTOR_ABSENT ? json_nil(j) : json_u64(j, d->storage.store_bytes);
	json_put_u64(j, "wal_bytes", d->storage.wal_bytes);
	json_put_u64(j, "jsonl_bytes", d->storage.jsonl_bytes);
	json_put_double(j, "growth_bytes_per_day_estimate", d->storage.growth_bytes_per_day, 0);
	json_put_double(j, "retention_frees_bytes_per_day_estimate", d->storage.freed_bytes_per_day,
	                0);
	json_key(j, "disk_free_bytes");
	d->has_disk_free ? json_u64(j, d->disk_free_bytes) : json_nil(j);
	json_end_object(j);
}

static void json_files(const struct doctor *d, struct json *j)
{
	json_open_array(j, "configuration");
	vec_each(&d->files, f) {
		json_begin_object(j);
		json_put_str(j, "path", f->path);
		json_put_bool(j, "read", !f->skipped);
		json_end_object(j);
	}
	json_end_array(j);
	json_open_array(j, "configuration_problems");
	vec_each(&d->problems, text)
		json_str(j, *text);
	json_end_array(j);
	json_put_u64(j, "configuration_problems_omitted", d->problems_dropped);
	json_open_array(j, "configuration_without_effect");
	vec_each(&d->unused, key) {
		json_begin_object(j);
		json_put_str(j, "section", key->section);
		json_put_str(j, "key", key->name);
		json_put_str(j, "reason", key->reason);
		json_end_object(j);
	}
	json_end_array(j);
}

void doctor_view_json_put(const struct doctor *d, struct json *j)
{
	json_begin_object(j);
	json_put_u64(j, "schema", 1);
	json_put_str(j, "version", d->version);
	json_put_str(j, "kernel", d->kernel);
	json_put_str(j, "user", d->user);
	json_put_bool(j, "root", d->is_root);
	json_open_array(j, "roles");
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
