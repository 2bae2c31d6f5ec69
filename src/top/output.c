/* SPDX-License-Identifier: MIT */
#include "top/output.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/user_names.h"
#include "model/record_fields.h"
#include "model/snapshot_json.h"
#include "rpc/rpc_answer.h"
#include "rpc/rpc_message.h"
#include "top/past.h"
#include "top/wait_words.h"
#include "view/top_view.h"

#define FAILED 1
#define NOT_FOUND 3
#define RECONNECT_MS 1000
#define FIRST_FRAME_NS (60 * NS_PER_S)

static int fail(const struct err *err)
{
	dprintf(STDERR_FILENO, "proctor: %s\n", err->msg);
	return err->code == ENOENT ? NOT_FOUND : FAILED;
}

/* A reader that has closed the pipe is no failure of ours. */
static int write_out(const struct buf *out, struct err *err)
{
	int r = io_write_all(STDOUT_FILENO, out->at, out->len);

	return r < 0 ? err_set(err, -r, "write to standard output: %s", strerror(-r)) : 0;
}

static int wait_readable(const struct link *l, uint64_t deadline_ns)
{
	struct pollfd p = { .fd = link_fd(l), .events = POLLIN };
	uint64_t now = clock_mono_ns();
	uint64_t left_ms = deadline_ns > now ? (deadline_ns - now) / NS_PER_MS + 1 : 0;

	return poll(&p, 1, (int)MIN(left_ms, (uint64_t)60000));
}

/* ---- JSON lines ------------------------------------------------------------------------------ */

static bool is_of_job(const json_t *item, struct job_key job)
{
	const json_t *uid = json_object_get(item, "job_uid");
	const char *id = rpc_answer_text(item, "job_id");

	return id && strcmp(id, job.id) == 0 &&
	       (!json_is_integer(uid) || (uint32_t)json_integer_value(uid) == job.uid);
}

static void keep_job(json_t *snapshot, const char *list, struct job_key job)
{
	json_t *items = json_object_get(snapshot, list);

	for (size_t i = json_array_size(items); i-- > 0;)
		if (!is_of_job(json_array_get(items, i), job))
			json_array_remove(items, i);
}

static int filter(const struct buf *text, struct job_key only, struct buf *to, struct err *err)
{
	struct json j = { .out = to };
	json_error_t error;
	json_t *snapshot = json_loadb(text->at, text->len, 0, &error);

	if (!snapshot)
		return err_set(err, EPROTO, "read a snapshot: %s", error.text);
	keep_job(snapshot, "processes", only);
	keep_job(snapshot, "job_progress", only);
	rpc_message_put_value(&j, snapshot);
	json_decref(snapshot);
	return 0;
}

static int put_line(struct job_key only, const struct link *l, struct buf *line, struct err *err)
{
	buf_reset(line);
	line->max = (size_t)128 << 20;
	if (!only.id)
		buf_put(line, l->top.at, l->top.len);
	else if (filter(&l->top, only, line, err) < 0)
		return -err->code;
	buf_putc(line, '\n');
	return write_out(line, err);
}

/* The daemon may tick more often than was asked for. */
static bool is_due(uint64_t *next_ns, uint64_t interval_ns)
{
	uint64_t now = clock_mono_ns();

	if (now + interval_ns / 10 < *next_ns)
		return false;
	*next_ns = now + interval_ns;
	return true;
}

/* The first sample of our own has no rates yet. */
static bool is_first(const struct link *l)
{
	static const char start[] = "{\"schema\":1,\"seq\":1,";

	return l->source == FRAME_OWN && l->top.len > strlen(start) &&
	       memcmp(l->top.at, start, strlen(start)) == 0;
}

/* Until the daemon answers again. -EPIPE: the reader of our output is gone. */
static int reconnect(struct link *l, struct err *err)
{
	struct pollfd out = { .fd = STDOUT_FILENO };
	int r;

	dprintf(STDERR_FILENO,
	        "proctor: the daemon is gone; the stream goes on when it answers again\n");
	link_close(l);
	do
		r = poll(&out, 1, RECONNECT_MS) > 0 && out.revents & POLLERR
		            ? -EPIPE
		            : link_open(l, true, err);
	while (r < 0 && r != -EPIPE);
	return r;
}

static int read_snapshot(const struct top_options *o, struct link *l, struct err *err)
{
	int r = link_read_snapshot(l, err);

	return r < 0 && l->source == FRAME_DAEMON && !o->once ? reconnect(l, err) : r;
}

int output_lines(const struct top_options *o)
{
	struct link l = { .options = o->link };
	cleanup(buf_done) struct buf line = { 0 };
	uint64_t next_ns = 0;
	struct err err;
	int r = link_open(&l, false, &err);

	while (r >= 0) {
		r = read_snapshot(o, &l, &err);
		if (r == 0)
			wait_readable(&l, UINT64_MAX);
		else if (r > 0 && !(o->once && is_first(&l)) && is_due(&next_ns, o->link.interval_ns))
			r = put_line(o->job, &l, &line, &err);
		if (r > 0)
			r = 0;
		if (r >= 0 && o->once && next_ns)
			break;
	}
	link_close(&l);
	if (r == -EPIPE)
		return 0;
	return r < 0 ? fail(&err) : 0;
}

/* ---- one screen ------------------------------------------------------------------------------ */

static int read_frame(const struct top_options *o, struct link *l, struct frame *f, struct err *err)
{
	uint64_t deadline_ns = clock_mono_ns() + FIRST_FRAME_NS;
	bool is_rated = false;
	int r = link_open(l, false, err);

	/* The first sample of our own has no rates yet. */
	while (r >= 0 && !is_rated) {
		r = link_read(l, err);
		if (r > 0) {
			link_fill(l, o->job.id ? &o->job : NULL, f);
			is_rated = rpc_answer_u64(l->snapshot, "seq") > 1;
		} else if (r == 0 && wait_readable(l, deadline_ns) == 0 &&
		           clock_mono_ns() > deadline_ns) {
			return err_set(err, ETIMEDOUT,
			               "no snapshot came within a minute; see: proctor doctor");
		}
	}
	return MIN(r, 0);
}

static int print_frame(const struct top_options *o, const struct frame *f, struct top_state *s)
{
	struct user_names users = { 0 };
	struct wait_words waits = { 0 };
	pid_t pids[TOP_WAITING_MAX];
	cleanup(buf_done) struct buf out = { 0 };
	struct grid g = { 0 };
	struct top_layout layout;
	struct err err;
	int r;

	s->user_name = user_names_name;
	s->users = &users;
	s->job = o->job.id;
	if (!s->is_past) {
		top_state_note(s, f);
		top_state_arrange(s, f);
	}
	grid_begin(&g, o->style.width, o->height, o->style.unicode);
	top_view_scroll(s, &g);
	if (!s->is_past) { /* they are known of now only */
		wait_words_read(&waits, pids, top_view_waiting(f, s, &g, pids));
		s->wait_words = &waits.of;
	}
	top_view(f, s, false, &g, &layout);
	grid_show(&g, CANVAS(&o->style, &out));
	r = write_out(&out, &err);
	grid_done(&g);
	user_names_done(&users);
	wait_words_done(&waits);
	return r < 0 && r != -EPIPE ? fail(&err) : 0;
}

int output_once(const struct top_options *o)
{
	struct link l = { .options = o->link };
	struct top_state s = { 0 };
	struct frame f = { 0 };
	struct err err;
	int r, status;

	if (o->history_ns != UINT64_MAX)
		r = past_first_frame(o, &s, &f, &err);
	else
		r = read_frame(o, &l, &f, &err);
	status = r < 0 ? fail(&err) : print_frame(o, &f, &s);
	link_close(&l);
	frame_done(&f);
	top_state_done(&s);
	return status;
}

/* ---- the past as one document ---------------------------------------------------------------- */

struct dump {
	const struct top_options *o;
	struct history *history;
	struct buf out;
	struct json j;
	uint64_t since_ns, snapshots, events;
};

/* In pieces: an hour of a busy machine is larger than memory should be. */
static int drain(struct dump *d, struct err *err)
{
	if (d->out.len < (size_t)1 << 20)
		return 0;
	if (write_out(&d->out, err) < 0)
		return -err->code;
	buf_reset(&d->out);
	return 0;
}

static int dump_snapshots(struct dump *d, struct err *err)
{
	const struct snapshot_scope of_job = past_scope(&d->o->job);
	struct history_cursor at = { .since_ns = d->since_ns };
	struct snapshot snap = { 0 };
	int r;

	while ((r = history_next_snapshot(d->history, &at, &snap, err)) > 0) {
		d->snapshots++;
		snapshot_json(&d->j, &snap, d->o->job.id ? &of_job : NULL);
		if (drain(d, err) < 0) {
			r = -err->code;
			break;
		}
	}
	snapshot_done(&snap);
	return r;
}

static int dump_event(void *self, const struct event_record *e)
{
	struct dump *d = self;
	struct err err;

	if (!past_has_event(d->o->job, e))
		return 0;
	d->events++;
	field_table_json_object(&d->j, &event_fields, e);
	return drain(d, &err);
}

static int dump_events(struct dump *d, struct err *err)
{
	struct history_cursor at = { .since_ns = d->since_ns };
	int n;

	do
		n = history_events(d->history, &at, 0, 1000, dump_event, d, err);
	while (n == 1000);
	return MIN(n, 0);
}

static int dump(struct dump *d, struct err *err)
{
	struct json *j = &d->j;

	json_begin_object(j);
	json_put_fixed(j, "duration_seconds", d->o->history_ns / NS_PER_MS, 3);
	json_open_array(j, "snapshots");
	if (dump_snapshots(d, err) < 0)
		return -err->code;
	json_end_array(j);
	json_open_array(j, "events");
	if (dump_events(d, err) < 0)
		return -err->code;
	json_end_array(j);
	json_put_u64(j, "snapshot_count", d->snapshots);
	json_put_u64(j, "event_count", d->events);
	json_end_object(j);
	buf_putc(&d->out, '\n');
	return write_out(&d->out, err);
}

int output_history(const struct top_options *o)
{
	struct dump d = { .o = o };
	uint64_t now = clock_wall_ns();
	struct err err;
	int r = -ENOENT;

	d.j.out = &d.out;
	d.since_ns = now - MIN(o->history_ns, now);
	if (!o->store)
		err_set(&err, ENOENT, "there is no store");
	else
		r = history_open(o->store, &d.history, &err);
	if (r == 0)
		r = dump(&d, &err);
	history_close(d.history);
	buf_done(&d.out);
	return r < 0 && r != -EPIPE ? fail(&err) : 0;
}
