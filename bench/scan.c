/* SPDX-License-Identifier: MIT */
/* scan bpf|proc|tasks|iterator TICKS INTERVAL_MS: takes that many snapshots, as the engine does, and
 * prints one line of JSON: how many processes there were and the CPU time of each snapshot. `tasks`
 * only reads the task probe of the BPF tier; `iterator` has the kernel go through all tasks and do
 * nothing: the floor under every way to scan. */
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
#define WARM_UP 2 /* first sights: command lines are read, memory is allocated */

struct look {
	struct sampler *sampler;
	struct bare *bare;
	struct snapshot snap;
	struct job_roster jobs;
	size_t procs;

	struct probe_env env; /* of the task probe */
	void *tasks;
	struct sample samples[2], *sample;
};

static int tasks_open(struct look *l, struct err *err)
{
	l->env = (struct probe_env){ .root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
		                     .is_live = true };
	l->env.reader = process_reader_new(l->env.root_fd);
	l->sample = l->samples;
	return probe_tasks_bpf.open(&l->env, &l->tasks, err);
}

/* Into two samples in turn, as the engine does. */
static int tasks_read(struct look *l, struct err *err)
{
	struct sample *last = l->sample;

	l->sample = l->sample == l->samples ? &l->samples[1] : l->samples;
	sample_reset(l->sample);
	l->sample->last = last;
	int r = probe_tasks_bpf.read(l->tasks, l->sample, err);
	l->procs = l->sample->procs.len;
	return r;
}

static int look_open(struct look *l, const char *how, struct err *err)
{
	if (strcmp(how, "iterator") == 0)
		return bare_open(&l->bare, err);
	if (strcmp(how, "tasks") == 0)
		return tasks_open(l, err);
	return sampler_open(&(struct sampler_options){ .no_bpf = strcmp(how, "proc") == 0 },
	                    &l->sampler, err);
}

static int look_once(struct look *l, struct err *err)
{
	if (l->bare)
		return bare_read(l->bare, err);
	if (l->tasks)
		return tasks_read(l, err);
	sampler_tick(l->sampler, &l->jobs, &l->snap);
	l->procs = l->snap.procs.len;
	return 0;
}

static void look_close(struct look *l)
{
	sampler_close(l->sampler);
	bare_close(l->bare);
	snapshot_done(&l->snap);
	if (l->tasks)
		probe_tasks_bpf.close(l->tasks);
	sample_done(&l->samples[0]);
	sample_done(&l->samples[1]);
	process_reader_free(l->env.reader);
}

/* Who played each role: a figure of a tier that was not there is worth nothing. */
static void put_tiers(struct json *j, const struct look *l)
{
	struct role_health roles[ROLES_MAX];
	size_t n = l->sampler ? sampler_health(l->sampler, roles) : 0;

	json_key(j, "tiers");
	json_begin_object(j);
	for (size_t i = 0; i < n; i++) {
		json_key(j, roles[i].role);
		json_str(j, roles[i].tier);
	}
	json_end_object(j);
}

static int measure(struct look *l, size_t ticks, unsigned interval_ms, struct json *j,
                   struct err *err)
{
	json_begin_object(j);
	json_key(j, "cpu_us");
	json_begin_array(j);
	for (size_t i = 0; i < ticks + WARM_UP; i++) {
		uint64_t before = clock_process_cpu_ns();

		if (look_once(l, err) < 0)
			return -err->code;
		if (i >= WARM_UP)
			json_fixed(j, clock_process_cpu_ns() - before, 3);
		usleep(interval_ms * 1000);
	}
	json_end_array(j);
	json_key(j, "processes");
	json_u64(j, l->procs);
	put_tiers(j, l);
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
	struct look l = { 0 };
	struct err err;
	int r;

	if (argc != 4 || !parse_number(argv[2], TICKS_MAX, &ticks) ||
	    !parse_number(argv[3], 60000, &interval_ms)) {
		fprintf(stderr, "usage: scan bpf|proc|tasks|iterator TICKS INTERVAL_MS\n");
		return 2;
	}
	r = look_open(&l, argv[1], &err);
	if (r == 0)
		r = measure(&l, (size_t)ticks, (unsigned)interval_ms, &j, &err);
	if (r < 0)
		fprintf(stderr, "scan: %s\n", err.msg);
	else
		puts(out.at);
	look_close(&l);
	buf_done(&out);
	return r < 0;
}
