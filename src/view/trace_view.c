/* SPDX-License-Identifier: MIT */
#include "view/trace_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/signal_name.h"
#include "model/snapshot_json.h"
#include "view/job_view.h"

/* Tracks that are not processes are numbered above any pid. */
#define LANE_TID 5000000
#define JOB_TID (LANE_TID - 1)
#define LIVES_MAX ((size_t)1 << 20)

/* Microseconds since the first job began. */
static void put_ts(struct trace_view *t, uint64_t wall_ns)
{
	json_put_fixed(&t->json, "ts", wall_ns > t->base_ns ? wall_ns - t->base_ns : 0, 3);
}

static void begin_event_of(struct trace_view *t, const char *phase, const char *name, uint64_t pid,
                           uint64_t tid)
{
	buf_putc(t->out, '\n'); /* a line each: large files stay readable */
	json_begin_object(&t->json);
	json_put_str(&t->json, "ph", phase);
	json_put_str(&t->json, "name", name);
	json_put_u64(&t->json, "pid", pid);
	json_put_u64(&t->json, "tid", tid);
}

static void begin_event(struct trace_view *t, const char *phase, const char *name, uint64_t tid)
{
	begin_event_of(t, phase, name, t->pid, tid);
}

static void end_event(struct trace_view *t)
{
	json_end_object(&t->json); /* of args */
	json_end_object(&t->json);
}

/* Names a track, and where it stands among the others. */
static void name_track(struct trace_view *t, const char *what, uint64_t tid, const char *name)
{
	begin_event(t, "M", what, tid);
	json_open_object(&t->json, "args");
	json_put_str(&t->json, "name", name);
	end_event(t);
}

static void sort_track(struct trace_view *t, const char *what, uint64_t tid, uint64_t index)
{
	begin_event(t, "M", what, tid);
	json_open_object(&t->json, "args");
	json_put_u64(&t->json, "sort_index", index);
	end_event(t);
}

/* From one time to another, with its arguments left open. */
static void begin_slice(struct trace_view *t, const char *category, const char *name, uint64_t tid,
                        uint64_t from_ns, uint64_t to_ns)
{
	begin_event(t, "X", name, tid);
	json_put_str(&t->json, "cat", category);
	put_ts(t, from_ns);
	json_put_fixed(&t->json, "dur", to_ns > from_ns ? to_ns - from_ns : 0, 3);
	json_open_object(&t->json, "args");
}

static void put_figure(struct json *j, const char *key, enum metric_unit unit, struct figure figure)
{
	if (!figure_is_known(figure))
		return;
	json_key(j, key);
	field_metric_json(j, unit, figure.value);
}

/* A process of the trace. */
static uint64_t add_pid(struct trace_view *t, const char *name)
{
	uint64_t pid = ++t->last_pid;

	begin_event_of(t, "M", "process_name", pid, 0);
	json_open_object(&t->json, "args");
	json_put_str(&t->json, "name", name);
	end_event(t);
	begin_event_of(t, "M", "process_sort_index", pid, 0);
	json_open_object(&t->json, "args");
	json_put_u64(&t->json, "sort_index", pid);
	end_event(t);
	return pid;
}

void trace_view_begin(struct trace_view *t, struct buf *out, const struct job *job)
{
	*t = (struct trace_view){ .out = out, .json = { .out = out }, .base_ns = job->started_ns };
	json_begin_object(&t->json);
	json_put_str(&t->json, "displayTimeUnit", "ms");
	json_open_object(&t->json, "otherData");
	json_put_str(&t->json, "job_id", job->id);
	json_put_str(&t->json, "job_type", job->type);
	json_put_str(&t->json, "result", job_view_result(job).at);
	json_key(&t->json, "started_at");
	field_metric_json(&t->json, UNIT_NS, job->started_ns);
	json_end_object(&t->json);
	json_open_array(&t->json, "traceEvents");
}

/* The whole job, with all that it used. */
static void put_job(struct trace_view *t)
{
	const struct job *job = t->job;

	name_track(t, "thread_name", JOB_TID, "job");
	sort_track(t, "thread_sort_index", JOB_TID, 0);
	begin_slice(t, "job", job->id, JOB_TID, job->started_ns, t->end_ns);
	json_put_str(&t->json, "result", job_view_result(job).at);
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++)
		put_figure(&t->json, job_figures[i].key, job_figures[i].unit, job->figures[i]);
	end_event(t);
}

void trace_view_begin_job(struct trace_view *t, const struct job *job, uint64_t now_ns)
{
	char name[JOB_ID_MAX + 8];

	t->job = job;
	t->sheets = (struct trace_view_lanes){ .name = "sheets", .first_tid = LANE_TID + 1 };
	t->phases = (struct trace_view_lanes){ .name = "phases",
		                               .first_tid = LANE_TID + 1 + TRACE_VIEW_LANES_MAX };
	t->end_ns = job->ended_ns ? job->ended_ns : now_ns;
	t->sum = (struct job_sum_record){ .wall_ns = job->started_ns };
	t->tick_ns = job->started_ns;
	snprintf(name, sizeof name, "job %s", job->id);
	t->pid = add_pid(t, name);
	put_job(t);
	name_track(t, "thread_name", LANE_TID, "marks");
	sort_track(t, "thread_sort_index", LANE_TID, 0);
}

static size_t first_to_end(const struct trace_view_lanes *lanes)
{
	size_t first = 0;

	for (size_t i = 1; i < lanes->n; i++)
		if (lanes->ends[i] < lanes->ends[first])
			first = i;
	return first;
}

/* The first track that is free by then. When all are taken and there can be no more, the one that
 * is free next: the slice begins there and then. */
static uint64_t find_lane(struct trace_view *t, struct trace_view_lanes *lanes, uint64_t *from_ns,
                          uint64_t to_ns)
{
	size_t lane = 0;

	while (lane < lanes->n && lanes->ends[lane] > *from_ns)
		lane++;
	if (lane == TRACE_VIEW_LANES_MAX) {
		lane = first_to_end(lanes);
		*from_ns = lanes->ends[lane];
	} else if (lane == lanes->n) {
		lanes->n++;
		name_track(t, "thread_name", lanes->first_tid + lane, lanes->name);
		sort_track(t, "thread_sort_index", lanes->first_tid + lane,
		           lanes->first_tid - LANE_TID + lane);
	}
	lanes->ends[lane] = MAX(to_ns, *from_ns);
	return lanes->first_tid + lane;
}

void trace_view_sheet(struct trace_view *t, const struct sheet_record *s)
{
	uint64_t start = MAX(s->s.started_ns, t->job->started_ns);
	uint64_t end = s->s.ended_ns ? s->s.ended_ns : t->end_ns;
	uint64_t lane = find_lane(t, &t->sheets, &start, end);
	char name[SHEET_LABEL_MAX + 24];

	snprintf(name, sizeof name, "sheet %u%s%s", s->s.num, *s->s.label ? " " : "", s->s.label);
	begin_slice(t, "sheet", name, lane, start, end);
	json_put_str(&t->json, "result", job_view_sheet_result(&s->s).at);
	json_put_u64(&t->json, "processes", s->use.processes);
	put_figure(&t->json, "cpu_seconds", UNIT_NS, s->use.figures[SHEET_FIGURE_CPU]);
	put_figure(&t->json, "peak_rss_mb", UNIT_MIB, s->use.figures[SHEET_FIGURE_PEAK_RSS]);
	end_event(t);
}

static void name_process(struct trace_view *t, const struct process_record *p)
{
	uint64_t known, pid = (uint64_t)p->id.pid;
	char name[COMM_LEN + 16];

	if (map_get(&t->starts, pid, &known)) /* a pid that was used again */
		return;
	snprintf(name, sizeof name, "%s %d", p->comm && *p->comm ? p->comm : "?", p->id.pid);
	name_track(t, "thread_name", pid, name);
	sort_track(t, "thread_sort_index", pid, 1 + 2 * TRACE_VIEW_LANES_MAX + t->starts.len);
}

/* Starts may be known in ticks only, so that a process seems older than its job, its parent, or the
 * process that had its pid before. */
static uint64_t place_start(struct trace_view *t, const struct process_record *p, uint64_t *end)
{
	uint64_t start = MAX(p->started_ns, t->job->started_ns), other;

	if (map_get(&t->starts, (uint64_t)p->ppid, &other))
		start = MAX(start, other);
	if (map_get(&t->ends, (uint64_t)p->id.pid, &other))
		start = MAX(start, other);
	*end = MAX(p->ended_ns ? p->ended_ns : t->end_ns, start);
	map_put(&t->starts, (uint64_t)p->id.pid, start);
	map_put(&t->ends, (uint64_t)p->id.pid, *end);
	return start;
}

static void put_end(struct json *j, const struct process_record *p)
{
	if (p->signal)
		json_put_str(j, "signal", signal_name(p->signal).at);
	else if (p->has_exit_code) {
		json_put_i64(j, "exit_code", p->exit_code);
	} else if (!p->ended_ns) {
		json_put_str(j, "end", "not seen");
	}
}

void trace_view_process(struct trace_view *t, const struct process_record *p)
{
	struct json *j = &t->json;
	uint64_t start, end;

	name_process(t, p);
	start = place_start(t, p, &end);
	begin_slice(t, "process", p->comm && *p->comm ? p->comm : "?", (uint64_t)p->id.pid, start,
	            end);
	json_put_str(j, "command", p->command);
	json_put_u64(j, "ppid", (uint64_t)p->ppid);
	if (!p->is_start_exact)
		json_put_str(j, "start", "known to 10 ms");
	if (p->sheet)
		json_put_u64(j, "sheet", p->sheet);
	put_end(j, p);
	put_figure(j, "cpu_seconds", UNIT_NS, p->cpu_time_ns);
	put_figure(j, "peak_rss_mb", UNIT_MIB, p->peak_rss_bytes);
	put_figure(j, "read_bytes", UNIT_BYTES, p->read_bytes);
	put_figure(j, "written_bytes", UNIT_BYTES, p->written_bytes);
	end_event(t);
}

static void put_phase(struct trace_view *t, const struct event_record *e)
{
	uint64_t took = e->count > 0 ? (uint64_t)e->count : 0;
	uint64_t start = MAX(e->wall_ns - MIN(took, e->wall_ns), t->job->started_ns);
	uint64_t lane = find_lane(t, &t->phases, &start, e->wall_ns);

	begin_slice(t, "phase", e->name ? e->name : "phase", lane, start, e->wall_ns);
	json_put_str(&t->json, "data", e->details);
	end_event(t);
}

/* An instant: on the track of its process, or across the whole job. */
static void put_instant(struct trace_view *t, const struct event_record *e, const char *name)
{
	bool has_track = e->process.pid > 0;

	begin_event(t, "i", name, has_track ? (uint64_t)e->process.pid : LANE_TID);
	json_put_str(&t->json, "cat", event_name(e->kind));
	put_ts(t, e->wall_ns);
	json_put_str(&t->json, "s", has_track ? "t" : "p");
	json_open_object(&t->json, "args");
	json_put_str(&t->json, "details", e->details);
	end_event(t);
}

void trace_view_event(struct trace_view *t, const struct event_record *e)
{
	if (e->kind == EVENT_PHASE)
		put_phase(t, e);
	else if (e->kind == EVENT_MARK || e->kind == EVENT_LIMIT || e->kind == EVENT_ANOMALY ||
	         e->kind == EVENT_GPU)
		put_instant(t, e, e->name ? e->name : event_name(e->kind));
	else if (e->kind == EVENT_SIGNAL || e->kind == EVENT_KILL)
		put_instant(t, e, signal_name(e->signal).at);
	else if (e->kind == EVENT_OOM || e->kind == EVENT_LOSS || e->kind == EVENT_GAP)
		put_instant(t, e, event_name(e->kind));
}

/* ---- counters -------------------------------------------------------------------------------- */

#define MIB (double)(1 << 20)

static void put_counter(struct trace_view *t, uint64_t pid, uint64_t wall_ns, const char *name,
                        const char *series, double value)
{
	if (!isfinite(value))
		return;
	begin_event_of(t, "C", name, pid, 0);
	put_ts(t, wall_ns);
	json_open_object(&t->json, "args");
	json_put_double(&t->json, series, value, 3);
	end_event(t);
}

static double mib_of(struct figure bytes)
{
	return figure_is_known(bytes) ? (double)bytes.value / MIB : NAN;
}

static double value_of(struct figure f, double unit)
{
	return figure_is_known(f) ? (double)f.value / unit : NAN;
}

static double mib_per_s(struct figure before, struct figure now, uint64_t elapsed_ns)
{
	return figure_is_known(now) ? metric_rate_per_s(before.value, now.value, elapsed_ns) / MIB
	                            : NAN;
}

static double watts(struct figure before, struct figure now, uint64_t elapsed_ns)
{
	return figure_is_known(now) ? metric_rate_per_s(before.value, now.value, elapsed_ns) / 1000
	                            : NAN;
}

void trace_view_sum(struct trace_view *t, const struct job_sum_record *s)
{
	uint64_t from = t->sum.wall_ns, at = MAX(s->wall_ns, from), elapsed = at - from;
	struct figure read = t->sum.sum.read, written = t->sum.sum.written,
		      energy = t->sum.sum.gpu_energy;

	put_counter(t, t->pid, at, "memory used (MiB)", "used", mib_of(s->sum.used));
	put_counter(t, t->pid, at, "memory charged (MiB)", "charged", mib_of(s->sum.charged));
	put_counter(t, t->pid, from, "CPU (cores)", "busy", s->sum.cpu_ratio);
	put_counter(t, t->pid, from, "I/O read (MiB/s)", "read",
	            mib_per_s(read, s->sum.read, elapsed));
	put_counter(t, t->pid, from, "I/O written (MiB/s)", "written",
	            mib_per_s(written, s->sum.written, elapsed));
	put_counter(t, t->pid, from, "GPU power for this job (W)", "power",
	            watts(energy, s->sum.gpu_energy, elapsed));
	put_counter(t, t->pid, at, "processes", "alive", s->sum.procs);
	t->sum = *s;
	t->sum.wall_ns = at;
	if (!figure_is_known(s->sum.gpu_energy))
		t->sum.sum.gpu_energy = energy;
	if (!figure_is_known(s->sum.read)) {
		t->sum.sum.read = read;
		t->sum.sum.written = written;
	}
}

void trace_view_gpu_sample(struct trace_view *t, const struct gpu_sample_record *s)
{
	const struct {
		const char *name, *series;
		double value;
	} counters[] = {
		{ "busy (%)", "busy", value_of(s->r[GPU_UTIL], 1) },
		{ "memory used (MiB)", "used", mib_of(s->r[GPU_MEM_USED]) },
		{ "power (W)", "power", value_of(s->r[GPU_POWER], 1000) },
		{ "busy by this job (%)", "busy", value_of(s->own_sm_pct, 1) },
		{ "memory of this job (MiB)", "used", mib_of(s->own_memory) },
	};
	struct figure used = t->job->figures[JOB_FIGURE_GPUS];

	if (figure_is_known(used) && !used.value) /* it is none of its business */
		return;
	for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
		char name[64];

		snprintf(name, sizeof name, "GPU %u %s", s->index, counters[i].name);
		put_counter(t, t->pid, MAX(s->wall_ns, t->tick_ns), name, counters[i].series,
		            counters[i].value);
	}
}

static const struct {
	const char *name, *series;
	bool is_rate;
} counters[TRACE_COUNTERS] = {
	[TRACE_CPU] = { "CPU (cores)", "busy", true },
	[TRACE_RSS] = { "RSS (MiB)", "resident", false },
	[TRACE_PSS] = { "PSS (MiB)", "proportional", false },
	[TRACE_READ] = { "I/O read (MiB/s)", "read", true },
	[TRACE_WRITTEN] = { "I/O written (MiB/s)", "written", true },
	[TRACE_GPU_MEMORY] = { "GPU memory (MiB)", "used", false },
};

/* Values that do not change are not repeated. */
static void show(struct trace_view *t, struct trace_view_series *s,
                 const double values[TRACE_COUNTERS], uint64_t from_ns, uint64_t at_ns)
{
	for (size_t i = 0; i < TRACE_COUNTERS; i++) {
		if (!isfinite(values[i]) || fabs(values[i] - s->shown[i]) < 0.0005)
			continue;
		put_counter(t, s->pid, counters[i].is_rate ? from_ns : at_ns, counters[i].name,
		            counters[i].series, values[i]);
		s->shown[i] = values[i];
	}
}

static void begin_series(struct trace_view *t, const struct process_sample_record *p)
{
	struct trace_view_series *s = vec_push(&t->lives, LIVES_MAX);

	if (!s)
		return;
	*s = (struct trace_view_series){ .before_ns = t->tick_ns,
		                         .read = p->read,
		                         .written = p->written };
	for (size_t i = 0; i < TRACE_COUNTERS; i++)
		s->shown[i] = s->first[i] = NAN;
	snprintf(s->name, sizeof s->name, "%s %d", p->comm && *p->comm ? p->comm : "?", p->id.pid);
	map_put(&t->series, proc_key(p->id), t->lives.len - 1);
}

static struct trace_view_series *find_series(struct trace_view *t,
                                             const struct process_sample_record *p)
{
	size_t *alive;
	uint64_t at;

	if (!map_get(&t->series, proc_key(p->id), &at)) {
		begin_series(t, p);
		if (!map_get(&t->series, proc_key(p->id), &at))
			return NULL;
		alive = vec_push(&t->alive, LIVES_MAX);
		if (alive)
			*alive = at;
	}
	return &t->lives.at[at];
}

/* A process that was sampled once has no course, and there may be very many of them. */
void trace_view_process_sample(struct trace_view *t, const struct process_sample_record *p)
{
	struct trace_view_series *s = find_series(t, p);
	uint64_t at = MAX(p->wall_ns, t->tick_ns); /* the clock may have been set back */
	uint64_t elapsed = s ? at - MIN(s->seen_ns, at) : 0;
	double values[TRACE_COUNTERS];

	if (!s)
		return;
	values[TRACE_CPU] = p->cpu_ratio;
	values[TRACE_RSS] = mib_of(p->rss);
	values[TRACE_PSS] = mib_of(p->pss);
	values[TRACE_READ] = s->seen_ns ? mib_per_s(s->read, p->read, elapsed) : NAN;
	values[TRACE_WRITTEN] = s->seen_ns ? mib_per_s(s->written, p->written, elapsed) : NAN;
	values[TRACE_GPU_MEMORY] = mib_of(p->gpu_memory);
	if (!s->seen_ns) {
		memcpy(s->first, values, sizeof s->first);
	} else {
		if (!s->pid) {
			s->pid = add_pid(t, s->name);
			show(t, s, s->first, s->before_ns, s->seen_ns);
		}
		show(t, s, values, s->seen_ns, at);
	}
	s->seen_ns = at;
	s->read = p->read;
	s->written = p->written;
}

/* Its spans and counters end with it. */
static void end_series(struct trace_view *t, struct trace_view_series *s, uint64_t wall_ns)
{
	double zero[TRACE_COUNTERS] = { 0 };

	for (size_t i = 0; i < TRACE_COUNTERS; i++)
		if (isnan(s->shown[i]))
			zero[i] = NAN;
	if (s->pid)
		show(t, s, zero, s->seen_ns, wall_ns);
}

void trace_view_end_tick(struct trace_view *t, uint64_t wall_ns)
{
	size_t kept = 0;

	wall_ns = MAX(wall_ns, t->tick_ns);
	vec_each(&t->alive, at) {
		struct trace_view_series *s = &t->lives.at[*at];

		if (s->seen_ns >= wall_ns)
			t->alive.at[kept++] = *at;
		else
			end_series(t, s, wall_ns);
	}
	t->alive.len = kept;
	t->tick_ns = wall_ns;
}

void trace_view_end_job(struct trace_view *t)
{
	if (t->job->ended_ns) {
		trace_view_end_tick(t, MAX(t->job->ended_ns, t->tick_ns + 1));
		put_counter(t, t->pid, t->sum.wall_ns, "CPU (cores)", "busy", 0);
		if (figure_is_known(t->sum.sum.read)) {
			put_counter(t, t->pid, t->sum.wall_ns, "I/O read (MiB/s)", "read", 0);
			put_counter(t, t->pid, t->sum.wall_ns, "I/O written (MiB/s)", "written", 0);
		}
		if (figure_is_known(t->sum.sum.gpu_energy))
			put_counter(t, t->pid, t->sum.wall_ns, "GPU power for this job (W)",
			            "power", 0);
	}
	map_done(&t->starts);
	map_done(&t->ends);
	map_done(&t->series);
	vec_done(&t->lives);
	vec_done(&t->alive);
}

void trace_view_end(struct trace_view *t)
{
	buf_putc(t->out, '\n');
	json_end_array(&t->json);
	json_end_object(&t->json);
	buf_putc(t->out, '\n');
}
