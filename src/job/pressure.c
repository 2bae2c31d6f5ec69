/* SPDX-License-Identifier: MIT */
#include "job/pressure.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define FALL_MARGIN 0.05 /* how far below its threshold a figure must be for the level to fall */

static const struct {
	const char *name;
	unsigned delay_s;
} levels[] = {
#define X(id, name, delay) { name, delay },
	PRESSURE_LEVELS(X)
#undef X
};

/* The thresholds of the levels from low on; NAN: this figure does not reach the level. */
struct scale {
	double above[PRESSURE_LEVEL_COUNT - 1];
};

static const struct scale memory_scale = { { 0.50, 0.70, 0.85, 0.95 } };
static const struct scale process_scale = { { NAN, NAN, NAN, 0.80 } };
static const struct scale stall_scale = { { 0.05, 0.15, 0.40, NAN } };

const char *pressure_name(enum pressure_level level)
{
	return levels[level].name;
}

unsigned pressure_delay_s(enum pressure_level level)
{
	return levels[level].delay_s;
}

bool pressure_parse(const char *name, enum pressure_level *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(levels); i++)
		if (strcmp(levels[i].name, name) == 0) {
			*ret = (enum pressure_level)i;
			return true;
		}
	return false;
}

bool pressure_admits(enum pressure_level level, bool is_new_job)
{
	return level < (is_new_job ? PRESSURE_HIGH : PRESSURE_CRITICAL);
}

/* As RLIMIT_NPROC counts: including threads. */
static uint64_t tasks_of(const struct snapshot *snap, uint32_t uid)
{
	uint64_t n = 0;

	vec_each(&snap->procs, p)
		if (p->s.uid == uid)
			n += MAX(readings_or(&p->s.r, PROC_THREADS, 1), UINT64_C(1));
	return n;
}

/* The root of a hierarchy has no limit, unless it is that of a container. */
static void set_group(const char *group, const char *name, const char *otherwise,
                      const char **ret_name, char ret_group[static CAUSE_GROUP_MAX])
{
	bool is_named = *group && strcmp(group, "/") != 0;

	*ret_name = is_named ? name : otherwise;
	snprintf(ret_group, CAUSE_GROUP_MAX, "%s", is_named ? group : "");
}

struct pressure_facts pressure_facts(const struct snapshot *snap,
                                     const struct pressure_limits *limits)
{
	bool knows_used = readings_has(&snap->cgroup, CGROUP_MEM_LIMIT_USED);
	uint64_t cgroup_limit = knows_used ? readings_or(&snap->cgroup, CGROUP_MEM_LIMIT, 0) : 0;
	uint64_t job_cgroup_pids = readings_or(&snap->cgroup, CGROUP_PIDS_LIMIT, 0);
	struct pressure_facts f = {
		.machine_total = readings_or(&snap->host, HOST_MEM_TOTAL, 0),
		.machine_used = readings_or(&snap->host, HOST_MEM_USED, 0),
		.memory_used = readings_or(&snap->cgroup, CGROUP_MEM_LIMIT_USED, 0),
		.memory_limit = cgroup_limit,
		.processes = snap->procs.len,
		.processes_limit = limits->own_processes,
		.memory_stall_ratio = snap->psi_mem_ratio,
		.is_blind = !snap->procs_complete || !readings_has(&snap->host, HOST_MEM_USED),
	};

	if (cgroup_limit)
		set_group(snap->limit_groups.memory, "the memory limit",
		          "the control group's memory limit", &f.memory_limit_name, f.memory_group);
	f.processes_limit_name = limits->own_processes ? "the user's process limit" : NULL;
	if (limits->own_processes)
		f.processes = tasks_of(snap, limits->uid);
	if (job_cgroup_pids) {
		set_group(snap->limit_groups.pids, "pids.max", "the control group's pids.max",
		          &f.processes_limit_name, f.processes_group);
		f.processes = readings_or(&snap->cgroup, CGROUP_PIDS_LIMIT_USED, f.processes);
		f.processes_limit = job_cgroup_pids;
	}
	if (limits->memory) {
		f.memory_limit = limits->memory;
		f.memory_limit_name = "max_memory_mb";
		f.memory_group[0] = '\0';
		f.memory_used = cgroup_limit ? f.memory_used : f.machine_used;
	}
	if (limits->processes) {
		f.processes = job_cgroup_pids ? f.processes : snap->procs.len;
		f.processes_limit = limits->processes;
		f.processes_limit_name = "max_processes";
		f.processes_group[0] = '\0';
	}
	return f;
}

/* The level of this figure alone. */
static enum pressure_level level_of(const struct scale *s, double ratio, enum pressure_level before)
{
	enum pressure_level level = PRESSURE_NONE;

	for (size_t i = 0; i < ARRAY_LEN(s->above); i++) {
		enum pressure_level next = (enum pressure_level)(i + 1);
		double margin = next <= before ? MIN(FALL_MARGIN, s->above[i] / 2) : 0;

		if (ratio > s->above[i] - margin) /* false for each NAN */
			level = next;
	}
	return level;
}

static double share(uint64_t used, uint64_t limit)
{
	return limit ? (double)used / (double)limit : NAN;
}

struct judged {
	const struct scale *scale;
	double ratio;
	const char *what;      /* how much of it is in use */
	const char *group;     /* … and whose it is; "" or NULL: not of a control group */
	uint64_t bytes, count; /* its size, one of both; 0: it has none */
};

/* " of …/slurm/job_77". Any user who may create a group chooses its name. */
static void put_group(const char *group, struct buf *to)
{
	const char *shown = group && *group ? cause_shorten_group(group) : NULL;

	if (!shown)
		return;
	buf_printf(to, " of %s", shown == group ? "" : "…");
	text_display(to, shown, strlen(shown), CAUSE_GROUP_COLUMNS + 1);
}

static void explain(struct pressure *p, const struct judged *j)
{
	char size[TEXT_BYTES_MAX + 3] = "", bytes[TEXT_BYTES_MAX];
	cleanup(buf_done) struct buf group = { 0 };

	if (j->bytes) {
		text_put_bytes((double)j->bytes, bytes);
		snprintf(size, sizeof size, " (%s)", bytes);
	} else if (j->count) {
		snprintf(size, sizeof size, " (%" PRIu64 ")", j->count);
	}
	put_group(j->group, &group);
	snprintf(p->why, sizeof p->why, "%.0f %% of %s%s%s%s", j->ratio * 100, j->what,
	         group.len ? group.at : "", size, *size ? " is in use" : "");
}

static const char *name_or(const char *name, const char *otherwise)
{
	return name ? name : otherwise;
}

struct pressure pressure_judge(const struct pressure_facts *facts, enum pressure_level before)
{
	const struct judged figures[] = {
		{ &memory_scale, share(facts->memory_used, facts->memory_limit),
		  name_or(facts->memory_limit_name, "the memory limit in force"),
		  .group = facts->memory_group, .bytes = facts->memory_limit },
		{ &memory_scale, share(facts->machine_used, facts->machine_total),
		  "the machine's memory", .bytes = facts->machine_total },
		{ &process_scale, share(facts->processes, facts->processes_limit),
		  name_or(facts->processes_limit_name, "the processes allowed"),
		  .group = facts->processes_group, .count = facts->processes_limit },
		{ &stall_scale, facts->memory_stall_ratio, "the time some task waited for memory" },
	};
	struct pressure p = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(figures); i++) {
		enum pressure_level level = level_of(figures[i].scale, figures[i].ratio, before);

		if (level <= p.level)
			continue;
		p.level = level;
		explain(&p, &figures[i]);
	}
	if (facts->is_blind)
		p = (struct pressure){ PRESSURE_CRITICAL,
			               "a probe failed: it is not known how full it is" };
	p.facts = *facts;
	return p;
}

bool pressure_has_room(const struct pressure_facts *facts, uint64_t bytes, uint64_t *ret_available)
{
	const struct {
		uint64_t used, most;
	} memory[] = { { facts->memory_used, facts->memory_limit },
		       { facts->machine_used, facts->machine_total } };
	uint64_t available = UINT64_MAX, most = UINT64_MAX;

	for (size_t i = 0; i < ARRAY_LEN(memory); i++) {
		if (!memory[i].most)
			continue;
		most = MIN(most, memory[i].most);
		available = MIN(available, memory[i].most - MIN(memory[i].used, memory[i].most));
	}
	if (bytes <= available || bytes > most)
		return true;
	*ret_available = available;
	return false;
}

void pressure_no_room_words(uint64_t bytes, uint64_t available, char ret[static PRESSURE_WHY_MAX])
{
	snprintf(ret, PRESSURE_WHY_MAX,
	         "an estimated %llu MiB do not fit into the %llu MiB available",
	         (unsigned long long)bytes >> 20, (unsigned long long)available >> 20);
}
