/* SPDX-License-Identifier: MIT */
#include "runfolder/run_log.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/json_read.h"

int run_log_create(int dir_fd, struct run_log *ret, struct err *err)
{
	struct line_file file;
	int r = line_file_create(dir_fd, "run.jsonl", &file, err);

	if (r == 0)
		*ret = (struct run_log){ .file = file };
	return r;
}

void run_log_close(struct run_log *log)
{
	line_file_close(&log->file);
	buf_done(&log->line);
}

static struct json begin_line(struct run_log *log, uint64_t wall_ns, const char *type)
{
	struct json j = { .out = &log->line };
	char ts[32];

	buf_reset(&log->line);
	clock_format_utc(wall_ns, ts, sizeof ts);
	json_begin_object(&j);
	json_put_str(&j, "ts", ts);
	json_put_str(&j, "type", type);
	return j;
}

static int write_line(struct run_log *log, struct json *j, struct err *err)
{
	json_end_object(j);
	buf_putc(&log->line, '\n');
	return line_file_put(&log->file, log->line.at, log->line.len, err);
}

/* Lost lines come first. While that line does not fit either, the next one is lost in its place. */
static int log_loss(struct run_log *log, uint64_t wall_ns, struct err *err)
{
	struct json j;
	int r;

	if (!log->unreported)
		return 0;
	j = begin_line(log, wall_ns, "event");
	json_put_str(&j, "event", "lines_lost");
	json_open_object(&j, "data");
	json_put_u64(&j, "lines", log->unreported);
	json_end_object(&j);
	r = write_line(log, &j, err);
	log->unreported = r < 0 ? log->unreported + 1 : 0;
	return r;
}

static int end_line(struct run_log *log, struct json *j, struct err *err)
{
	int r = write_line(log, j, err);

	log->unreported += r < 0;
	return r;
}

/* Newlines in well-formed JSON are blanks between its tokens, never inside a string. */
static void put_raw(struct buf *to, struct scan text)
{
	for (; text.p < text.end; text.p++)
		buf_putc(to, *text.p == '\n' || *text.p == '\r' ? ' ' : *text.p);
}

static void put_data(struct json *j, struct scan data)
{
	if (!scan_left(&data))
		return;
	if (scan_left(&data) > RUN_LOG_DATA_MAX) {
		json_put_u64(j, "data_bytes_left_out", scan_left(&data));
		return;
	}
	json_key(j, "data");
	if (json_read_is_object(data))
		put_raw(j->out, data);
	else
		json_strn(j, data.p, scan_left(&data));
	j->need_comma = true;
}

int run_log_event(struct run_log *log, uint64_t wall_ns, struct scan name, struct scan data,
                  struct err *err)
{
	struct json j;
	int r = log_loss(log, wall_ns, err);

	if (r < 0)
		return r;
	j = begin_line(log, wall_ns, "event");
	json_key(&j, "event");
	json_strn(&j, name.p, scan_left(&name));
	put_data(&j, data);
	return end_line(log, &j, err);
}

/* The members of a well-formed object, after a comma, without its braces. */
static void put_members(struct json *j, struct scan object)
{
	while (*object.p++ != '{')
		;
	while (*--object.end != '}')
		;
	while (object.p < object.end && (unsigned char)*object.p <= ' ')
		object.p++;
	if (scan_at_end(&object))
		return;
	buf_putc(j->out, ',');
	put_raw(j->out, object);
}

static bool fits_beside(struct scan data)
{
	static const char *const taken[] = { "ts", "type", "name", "seconds", "data" };
	struct scan value;

	if (scan_left(&data) > RUN_LOG_DATA_MAX || !json_read_is_object(data))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(taken); i++)
		if (json_read_find(data, taken[i], &value))
			return false;
	return true;
}

int run_log_phase(struct run_log *log, uint64_t wall_ns, struct scan name, uint64_t took_ns,
                  struct scan data, struct err *err)
{
	struct json j;
	int r = log_loss(log, wall_ns, err);

	if (r < 0)
		return r;
	j = begin_line(log, wall_ns, "phase");
	json_key(&j, "name");
	json_strn(&j, name.p, scan_left(&name));
	json_put_fixed(&j, "seconds", (took_ns + NS_PER_MS / 2) / NS_PER_MS, 3);
	if (fits_beside(data))
		put_members(&j, data);
	else
		put_data(&j, data);
	return end_line(log, &j, err);
}
