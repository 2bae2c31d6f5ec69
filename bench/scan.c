/* SPDX-License-Identifier: MIT */
/* scan bpf|proc|tasks|iterator TICKS INTERVAL_MS: takes that many snapshots, as the engine does, and
 * prints one line of JSON: how many processes there were and the CPU time of each snapshot. `tasks`
 * only reads the task probe of the BPF tier; `iterator` has the kernel go through all tasks and do
 * nothing: the least that any scan can cost. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "bare.h"
#include "engine/sampler.h"
#include "kernel/process_reader.h"
#include "probe/probe.h"

#define TICKS_MAX 10000
#define WARM_UP 2 /* first reads: command lines are read, memory is allocated */

struct scanner {
	struct sampler *sampler;
	struct bare *bare;
	struct snapshot snap;
	struct job_roster jobs;
	size_t procs;

	struct probe_env env; /* of the task probe */
	void *tasks;
	struct sample samples[2], *sample;
};

static int tasks_open(struct scanner *s, struct err *err)
{
	s->env = (struct probe_env){ .root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
		                     .is_live = true };
	s->env.reader = process_reader_new(s->env.root_fd);
	s->sample = s->samples;
	return probe_tasks_bpf.open(&s->env, &s->tasks, err);
}

/* Into two samples in turn, as the engine does. */
static int tasks_read(struct scanner *s, struct err *err)
{
	struct sample *last = s->sample;

	s->sample = s->sample == s->samples ? &s->samples[1] : s->samples;
	sample_reset(s->sample);
	s->sample->last = last;
	int r = probe_tasks_bpf.read(s->tasks, s->sample, err);
	s->procs = s->sample->procs.len;
	return r;
}

static int scanner_open(struct scanner *s, const char *how, struct err *err)
{
	if (strcmp(how, "iterator") == 0)
		return bare_open(&s->bare, err);
	if (strcmp(how, "tasks") == 0)
		return tasks_open(s, err);
	return sampler_open(&(struct sampler_options){ .no_bpf = strcmp(how, "proc") == 0 },
	                    &s->sampler, err);
}

static int scanner_read(struct scanner *s, struct err *err)
{
	if (s->bare)
		return bare_read(s->bare, err);
	if (s->tasks)
		return tasks_read(s, err);
	sampler_tick(s->sampler, &s->jobs, &s->snap);
	s->procs = s->snap.procs.len;
	return 0;
}

static void scanner_close(struct scanner *s)
{
	sampler_close(s->sampler);
	bare_close(s->bare);
	snapshot_done(&s->snap);
	if (s->tasks)
		probe_tasks_bpf.close(s->tasks);
	sample_done(&s->samples[0]);
	sample_done(&s->samples[1]);
	process_reader_free(s->env.reader);
}

/* The tier of each role in use: figures are worthless if the intended tier was not available. */
static void put_tiers(struct json *j, const struct scanner *s)
{
	struct role_health roles[ROLES_MAX];
	size_t n = s->sampler ? sampler_health(s->sampler, roles) : 0;

	json_key(j, "tiers");
	json_begin_object(j);
	for (size_t i = 0; i < n; i++) {
		json_key(j, roles[i].role);
		json_str(j, roles[i].tier);
	}
	json_end_object(j);
}

static int measure(struct scanner *s, size_t ticks, unsigned interval_ms, struct json *j,
                   struct err *err)
{
	json_begin_object(j);
	json_key(j, "cpu_us");
	json_begin_array(j);
	for (size_t i = 0; i < ticks + WARM_UP; i++) {
		uint64_t before = clock_process_cpu_ns();

		if (scanner_read(s, err) < 0)
			return -err->code;
		if (i >= WARM_UP)
			json_fixed(j, clock_process_cpu_ns() - before, 3);
		usleep(interval_ms * 1000);
	}
	json_end_array(j);
	json_key(j, "processes");
	json_u64(j, s->procs);
	put_tiers(j, s);
	json_end_object(j);
	return 0;
}

static bool parse_number(const char *text, uint64_t max, uint64_t *ret)
{
	struct scan s = scan_str(text);

	return scan_u64(&s, ret) && scan_at_end(&s) && *ret <= max;
}

int main(int argc, char **argv)
{
	uint64_t ticks, interval_ms;
	struct buf out = { 0 };
	struct json j = { .out = &out };
	struct scanner s = { 0 };
	struct err err;
	int r;

	if (argc != 4 || !parse_number(argv[2], TICKS_MAX, &ticks) ||
	    !parse_number(argv[3], 60000, &interval_ms)) {
		fprintf(stderr, "usage: scan bpf|proc|tasks|iterator TICKS INTERVAL_MS\n");
		return 2;
	}
	r = scanner_open(&s, argv[1], &err);
	if (r == 0)
		r = measure(&s, (size_t)ticks, (unsigned)interval_ms, &j, &err);
	if (r < 0)
		fprintf(stderr, "scan: %s\n", err.msg);
	else
		puts(out.at);
	scanner_close(&s);
	buf_done(&out);
	return r < 0;
}
