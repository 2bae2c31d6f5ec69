/* SPDX-License-Identifier: MIT */
/* tick DIRECTORY TICKS INTERVAL_MS: the engine as `proctor record` runs it, store and JSONL
 * included, without a budget that would slow it down. Prints one line of JSON: CPU time per tick of
 * all threads, over stretches long enough to hold a keyframe each, and the engine's memory. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "engine/engine.h"

#define TICKS_MAX 100000
#define STRETCH_TICKS 256
#define STRETCHES_MAX 64

struct run {
	struct loop *loop;
	char db[512], jsonl[512];
	uint64_t ticks, interval_ns;
	uint64_t rss_bytes;

	struct loop_source *timer;
	uint64_t next_ns;                         /* when the stretch ends */
	uint64_t marks_cpu_ns[STRETCHES_MAX + 1]; /* our CPU time at the beginning and after each */
	size_t marks;
};

/* /proc/self/statm:  5132 1712 1580 …   pages: size, resident */
static uint64_t own_rss_bytes(void)
{
	char text[128];
	ssize_t n = io_read_at(-1, "/proc/self/statm", text, sizeof text);
	struct scan s = scan_mem(text, n > 0 ? (size_t)n : 0);
	uint64_t pages = 0;

	if (!scan_skip(&s, 1) || !scan_u64(&s, &pages))
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void end_of_run(void *self)
{
	struct run *run = self;

	run->rss_bytes = own_rss_bytes();
	loop_stop(run->loop);
}

static uint64_t stretch_ticks(const struct run *run)
{
	return MIN(run->ticks, (uint64_t)STRETCH_TICKS);
}

static void end_of_stretch(void *self)
{
	struct run *run = self;

	if (run->marks < ARRAY_LEN(run->marks_cpu_ns))
		run->marks_cpu_ns[run->marks++] = clock_process_cpu_ns();
	run->next_ns += stretch_ticks(run) * run->interval_ns;
	loop_timer_set(run->timer, run->next_ns);
}

static void add_timers(struct run *run)
{
	/* Half a tick late: the last tick of a stretch is in it, the next one is not. */
	uint64_t begin = clock_mono_ns() + run->interval_ns / 2;

	run->marks_cpu_ns[run->marks++] = clock_process_cpu_ns();
	run->next_ns = begin + stretch_ticks(run) * run->interval_ns;
	run->timer = loop_add_timer(run->loop, run->next_ns, end_of_stretch, run);
	loop_add_timer(run->loop, begin + run->ticks * run->interval_ns + run->interval_ns / 4,
	               end_of_run, run);
}

static int run_engine(struct run *run, struct engine_totals *ret, struct err *err)
{
	struct engine_options options = {
		.recorder = { .store = { .path = run->db, .interval_ns = run->interval_ns },
		              .jsonl_path = run->jsonl,
		              .jsonl_max_bytes = UINT64_C(50) << 20,
		              .retention = { 86400 * NS_PER_S, 7 * 86400 * NS_PER_S,
		                             30 * 86400 * NS_PER_S } },
		.interval_ns = run->interval_ns,
	};
	struct engine *engine;
	int r = engine_new(run->loop, &options, &engine, err);

	if (r < 0)
		return r;
	engine_set_pipeline(engine,
	                    &(struct pipeline){ .stages = { { "pressure", ON_TICKS,
	                                                      engine_stage_pressure, engine },
	                                                    { "anomalies", ON_BOTH,
	                                                      engine_stage_anomalies, engine } },
	                                        .sinks = { engine_sink_recorder(engine) } });
	add_timers(run);
	r = loop_run(run->loop, err);
	engine_stop(engine, ret);
	return r;
}

static void print_result(const struct run *run, const struct engine_totals *totals)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };

	json_begin_object(&j);
	json_key(&j, "ticks");
	json_u64(&j, totals->ticks);
	json_key(&j, "stored");
	json_u64(&j, totals->recorder.stored);
	json_key(&j, "cpu_us_per_tick");
	json_begin_array(&j);
	for (size_t i = 1; i < run->marks; i++)
		json_fixed(&j,
		           (run->marks_cpu_ns[i] - run->marks_cpu_ns[i - 1]) / stretch_ticks(run),
		           3);
	json_end_array(&j);
	json_key(&j, "rss_bytes");
	json_u64(&j, run->rss_bytes);
	json_end_object(&j);
	puts(out.at);
	buf_done(&out);
}

static bool parse_number(const char *text, uint64_t max, uint64_t *ret)
{
	struct scan s = scan_str(text);

	return scan_u64(&s, ret) && scan_at_end(&s) && *ret > 0 && *ret <= max;
}

int main(int argc, char **argv)
{
	struct engine_totals totals = { 0 };
	struct run run = { 0 };
	uint64_t interval_ms;
	struct err err;
	int r;

	if (argc != 4 || !parse_number(argv[2], TICKS_MAX, &run.ticks) ||
	    !parse_number(argv[3], 60000, &interval_ms)) {
		fprintf(stderr, "usage: tick DIRECTORY TICKS INTERVAL_MS\n");
		return 2;
	}
	run.interval_ns = interval_ms * NS_PER_MS;
	snprintf(run.db, sizeof run.db, "%s/proctor.db", argv[1]);
	snprintf(run.jsonl, sizeof run.jsonl, "%s/monitor.jsonl", argv[1]);
	r = loop_new(&run.loop, &err);
	if (r == 0)
		r = run_engine(&run, &totals, &err);
	if (r < 0)
		fprintf(stderr, "tick: %s\n", err.msg);
	else
		print_result(&run, &totals);
	loop_free(run.loop);
	return r < 0;
}
