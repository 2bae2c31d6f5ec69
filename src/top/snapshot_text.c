/* SPDX-License-Identifier: MIT */
#include "top/snapshot_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_read.h"

/* Our own servers write it so; others are read by the members of the message. */
static const char start[] = "{\"jsonrpc\":\"2.0\",\"method\":\"daemon.top\",\"params\":";

bool snapshot_text_find(struct scan line, struct scan *ret)
{
	size_t n = strlen(start);
	struct scan method;

	if (scan_left(&line) > n + 1 && memcmp(line.p, start, n) == 0 && line.end[-1] == '}') {
		*ret = (struct scan){ line.p + n, line.end - 1 };
		return true;
	}
	if (scan_left(&line) > 11 && memcmp(line.p, "{\"jsonrpc\"", 10) == 0 &&
	    memmem(line.p, MIN(scan_left(&line), (size_t)200), "\"id\":", 5))
		return false; /* an answer */
	return json_read_find(line, "method", &method) && scan_eq(&method, "\"daemon.top\"") &&
	       json_read_find(line, "params", ret);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Behind blanks. */
static bool is_next(struct scan *s, char c)
{
	scan_blanks(s);
	return s->p < s->end && *s->p == c;
}

/* NAN: null, or no number. */
static double number_of(struct scan v)
{
	double value, sign = 1;

	if (v.p < v.end && *v.p == '-') {
		sign = -1;
		v.p++;
	}
	return v.p < v.end && *v.p >= '0' && *v.p <= '9' && scan_double(&v, &value) ? sign * value : (double)NAN;
}

static uint64_t u64_of(struct scan v)
{
	uint64_t value;

	return v.p < v.end && *v.p >= '0' && *v.p <= '9' && scan_u64(&v, &value) ? value : 0;
}

/* The inside of a string; false: it is none. */
static bool inside_of(struct scan v, struct scan *ret)
{
	if (scan_left(&v) < 2 || *v.p != '"')
		return false;
	*ret = (struct scan){ v.p + 1, v.end - 1 };
	return true;
}

/* ---- a snapshot ------------------------------------------------------------------------------ */

bool snapshot_text_split(struct scan snapshot, struct buf *ret_head, struct scan *ret_processes)
{
	struct scan at = snapshot, name, value;

	*ret_processes = (struct scan){ snapshot.p, snapshot.p };
	buf_reset(ret_head);
	if (!is_next(&at, '{'))
		return false;
	buf_putc(ret_head, '{');
	while (json_read_next(&at, &name, &value)) {
		if (scan_eq(&name, "processes")) {
			*ret_processes = value;
			continue;
		}
		if (ret_head->len > 1)
			buf_putc(ret_head, ',');
		buf_put(ret_head, name.p - 1, scan_left(&name) + 2);
		buf_putc(ret_head, ':');
		buf_put(ret_head, value.p, scan_left(&value));
	}
	return buf_putc(ret_head, '}');
}

/* ---- a process ------------------------------------------------------------------------------- */

static frame_text keep_text(struct frame *f, struct scan v, struct buf *scratch)
{
	struct scan inside;

	if (!inside_of(v, &inside))
		return 0;
	if (!memchr(inside.p, '\\', scan_left(&inside)))
		return frame_keep(f, inside.p, scan_left(&inside));
	return json_read_text(inside, scratch) ? frame_keep(f, scratch->at, scratch->len)
	                                       : frame_keep(f, inside.p, scan_left(&inside));
}

/* "futex 41%": the call that takes most of its time in calls. */
static frame_text keep_call(struct frame *f, struct scan shares)
{
	struct scan name, value, most = { NULL, NULL };
	double max = 0;
	char text[80];

	while (json_read_next(&shares, &name, &value)) {
		double share = number_of(value);

		if (!(share > max))
			continue;
		max = share;
		most = name;
	}
	if (!most.p)
		return 0;
	snprintf(text, sizeof text, "%.*s %.0f%%", (int)MIN(scan_left(&most), (size_t)60), most.p, max);
	return frame_keep_str(f, text);
}

/* There are dozens of members in each of thousands of processes: lengths are known when we are compiled. */
static inline bool is_text(struct scan name, const char *text, size_t len)
{
	return (size_t)(name.end - name.p) == len && memcmp(name.p, text, len) == 0;
}
#define IS(name, text) is_text(name, text, sizeof(text) - 1)

/* How a process names its job. */
struct job_name {
	struct scan id; /* as it is written */
	uint32_t uid;
};

/* Its index. */
static int32_t job_of(const struct frame *f, const struct job_name *name)
{
	struct scan inside;
	char id[JOB_ID_MAX];

	if (!inside_of(name->id, &inside) || scan_left(&inside) >= sizeof id)
		return -1;
	memcpy(id, inside.p, scan_left(&inside));
	id[scan_left(&inside)] = '\0';
	return frame_find_job(f, (struct job_key){ name->uid, id });
}

static bool take_job_name(struct job_name *to, struct scan name, struct scan v)
{
	if (IS(name, "job_id"))
		to->id = v;
	else if (IS(name, "job_uid"))
		to->uid = isnan(number_of(v)) ? FRAME_ANY_UID : (uint32_t)u64_of(v);
	else
		return false;
	return true;
}

static bool take_figure(struct frame_proc *p, struct scan name, struct scan v)
{
	static const struct {
		const char *key, *other;
		size_t len, other_len;
		double factor;
	} figures[] = {
#define X(id, key, other, factor, ...)                                                             \
	[FRAME_##id] = { key, other, sizeof(key) - 1, sizeof(other) - 1, factor },
		FRAME_FIGURES(X)
#undef X
	};
	double n;

	for (size_t i = 0; i < ARRAY_LEN(figures); i++) {
		if (!is_text(name, figures[i].key, figures[i].len) &&
		    !(figures[i].other_len &&
		      is_text(name, figures[i].other, figures[i].other_len)))
			continue;
		n = number_of(v) * figures[i].factor;
		if (!isnan(n))
			p->figure[i] = isnan(p->figure[i]) ? n : p->figure[i] + n;
		return true;
	}
	return false;
}

static void take_text(struct frame *f, struct frame_proc *p, struct scan name, struct scan v, struct buf *scratch)
{
	if (IS(name, "command"))
		p->command = keep_text(f, v, scratch);
	else if (IS(name, "state") && scan_left(&v) == 3)
		p->state = v.p[1];
	else if (IS(name, "syscall_time_pct"))
		p->call = keep_call(f, v);
}

static bool take_number(struct frame_proc *p, struct scan name, struct scan v)
{
	double n;

	if (IS(name, "pid"))
		p->pid = (pid_t)u64_of(v);
	else if (IS(name, "ppid"))
		p->ppid = (pid_t)u64_of(v);
	else if (IS(name, "age_seconds"))
		p->age_ns = (n = number_of(v)) > 0 && n < 1e9 ? (uint64_t)(n * 1e9) : 0;
	else if (IS(name, "sheet_num"))
		p->sheet = (uint32_t)u64_of(v);
	else if (IS(name, "uid"))
		p->uid = (uint32_t)u64_of(v);
	else
		return take_figure(p, name, v);
	return true;
}

void snapshot_text_fill(struct scan processes, struct frame *ret)
{
	cleanup(buf_done) struct buf scratch = { 0 };
	struct scan name, value;

	if (!is_next(&processes, '['))
		return;
	do {
		struct job_name job = { .uid = FRAME_ANY_UID };
		struct frame_proc *p;

		processes.p++;
		if (!is_next(&processes, '{'))
			return;
		p = frame_add_proc(ret);
		while (p && json_read_next(&processes, &name, &value))
			if (!take_number(p, name, value) && !take_job_name(&job, name, value))
				take_text(ret, p, name, value, &scratch);
		if (p)
			p->job = job_of(ret, &job);
		if (!p || !is_next(&processes, '}'))
			return;
		processes.p++;
	} while (is_next(&processes, ','));
}
