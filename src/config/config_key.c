/* SPDX-License-Identifier: MIT */
#include "config/config_key.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define SECOND NS_PER_S
#define MINUTE (60 * NS_PER_S)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define MEBI (UINT64_C(1) << 20)
#define AT(member) offsetof(struct config, member), sizeof(((struct config *)0)->member)

const struct config_key config_keys[] = {
	{ "profiler", "enabled", CONFIG_BOOL, 0, AT(profiler.enabled), "true", NULL, NULL, false,
	  "collect data; false: the daemon answers status and collects nothing", true },
	{ "profiler", "interval_seconds", CONFIG_TIME, SECOND, AT(profiler.interval_ns), "5", "1",
	  "1h", false, "time between two snapshots" },
	{ "profiler", "strace_enabled", CONFIG_BOOL, 0, AT(profiler.strace_enabled), "false", NULL,
	  NULL, false, "count the system calls of jobs, which slows down those of all processes" },
	{ "profiler", "strace_full_on_demand", CONFIG_BOOL, 0, AT(profiler.strace_full_on_demand),
	  "true", NULL, NULL, false, "allow a full strace of a process on request", true },
	{ "profiler", "gpu_enabled", CONFIG_SWITCH, 0, AT(profiler.gpu), "auto", NULL, NULL, false,
	  "watch GPUs; auto: if there are any", true },
	{ "profiler", "storage_path", CONFIG_PATH, 0, AT(profiler.storage_path), "auto", NULL, NULL,
	  false, "the database; auto: proctor.db in the state directory", true },
	{ "profiler", "storage_per_host", CONFIG_SWITCH, 0, AT(profiler.storage_per_host), "auto",
	  NULL, NULL, false,
	  "a database for each host, in hosts/HOST beside it, with a rollback journal; auto: on a network file system",
	  true },
	{ "profiler", "jsonl_path", CONFIG_PATH, 0, AT(profiler.jsonl_path), "auto", NULL, NULL,
	  false, "one snapshot per line; auto: monitor.jsonl in the state directory", true },
	{ "profiler", "jsonl_max_bytes", CONFIG_BYTES, 1, AT(profiler.jsonl_max_bytes), "52428800",
	  "1M", "1024G", false, "size at which the JSONL file is rotated to .1 and .2", true },
	{ "profiler", "jsonl_processes", CONFIG_PROCESSES, 0, AT(profiler.jsonl_processes),
	  "jobs+20", NULL, NULL, false,
	  "processes in a JSONL line: jobs+20 (those of jobs, and the 10 largest others by CPU and by memory), all, or jobs",
	  true },
	{ "profiler", "run_summary", CONFIG_SWITCH, 0, AT(profiler.run_summary), "auto", NULL, NULL,
	  false, "whether run ends with what the job used; auto: on a terminal" },
	{ "profiler", "auto_tags", CONFIG_BOOL, 0, AT(profiler.auto_tags), "true", NULL, NULL,
	  false, "tags that run adds by itself: ids of Slurm and CI, and the git commit" },

	{ "retention", "full_resolution_hours", CONFIG_TIME, HOUR, AT(retention.full_resolution_ns),
	  "24", "1m", "3650d", false, "how long every snapshot is kept" },
	{ "retention", "downsampled_days", CONFIG_TIME, DAY, AT(retention.downsampled_ns), "7",
	  "1m", "3650d", false,
	  "how long one-minute averages, with minimum and maximum, are kept" },
	{ "retention", "events_days", CONFIG_TIME, DAY, AT(retention.events_ns), "30", "1m",
	  "3650d", false, "how long events are kept" },

	{ "anomaly", "memory_spike_threshold", CONFIG_FACTOR, 0, AT(anomaly.spike_factor), "1.5",
	  "1", "1000", true, "growth of resident memory within the window that counts as a spike" },
	{ "anomaly", "memory_spike_window_seconds", CONFIG_TIME, SECOND,
	  AT(anomaly.spike_window_ns), "30", "1", "1d", false,
	  "the window in which memory growth is measured" },
	{ "anomaly", "runaway_cpu_threshold", CONFIG_PERCENT, 0, AT(anomaly.runaway_cpu_ratio),
	  "90", "50", "100", false, "least percentage of one core that counts as a runaway" },
	{ "anomaly", "runaway_duration_seconds", CONFIG_TIME, SECOND,
	  AT(anomaly.runaway_duration_ns), "60", "1", "7d", false,
	  "how long the process must stay above it" },
	{ "anomaly", "gpu_idle_seconds", CONFIG_TIME, SECOND, AT(anomaly.gpu_idle_ns), "300", "1",
	  "7d", false, "how long a job may hold memory on GPUs while it runs nothing there" },

	{ "correlation", "interval_minutes", CONFIG_TIME, MINUTE, AT(correlation.interval_ns), "30",
	  "5", "7d", false, "time between two searches for patterns of the daemon", true },
	{ "correlation", "min_sample_size", CONFIG_COUNT, 0, AT(correlation.min_sample_size), "5",
	  "2", "1000000", false,
	  "finished jobs of a type that are needed before patterns are searched for",
	  true },

	{ "limits", "max_memory_mb", CONFIG_BYTES, MEBI, AT(limits.max_memory_bytes), "auto", "1",
	  "1048576G", false,
	  "memory that counts as full; auto: the smallest cgroup limit in force, else the machine's memory" },
	{ "limits", "max_processes", CONFIG_COUNT, 0, AT(limits.max_processes), "auto", "1",
	  "4194304", false,
	  "processes that count as full; auto: the smallest pids.max in force, else the process limit" },
	{ "limits", "max_clients", CONFIG_COUNT, 0, AT(limits.max_clients), "1024", "1", "65536",
	  false, "simultaneous connections to the daemon; read only when it starts", true },
	{ "limits", "max_clients_per_user", CONFIG_COUNT, 0, AT(limits.max_clients_per_user), "64",
	  "1", "65536", false,
	  "connections of one user other than root; read only when the daemon starts", true },
	{ "limits", "max_traces", CONFIG_COUNT, 0, AT(limits.max_traces), "8", "1", "64", false,
	  "traces that the daemon makes at a time; read only when it starts", true },
	{ "limits", "max_traces_per_user", CONFIG_COUNT, 0, AT(limits.max_traces_per_user), "2",
	  "1", "64", false,
	  "traces at a time of one user other than root; read only when the daemon starts", true },
	{ "limits", "max_trace_files", CONFIG_COUNT, 0, AT(limits.max_trace_files), "16", "1",
	  "1000", false, "traces of one user that are kept; the oldest are deleted", true },
	{ "limits", "max_trace_mb", CONFIG_BYTES, MEBI, AT(limits.max_trace_bytes), "64", "1",
	  "1048576G", false, "size at which a trace of the daemon ends", true },
	{ NULL },
};
static_assert(ARRAY_LEN(config_keys) <= CONFIG_KEYS_MAX, "ini.c keeps one of 64 bits per key");

const struct config_key *config_key_find(struct scan section, struct scan name)
{
	for (const struct config_key *key = config_keys; key->section; key++)
		if (scan_eq(&section, key->section) && scan_eq(&name, key->name))
			return key;
	return NULL;
}

bool config_has_section(struct scan section)
{
	for (const struct config_key *key = config_keys; key->section; key++)
		if (scan_eq(&section, key->section))
			return true;
	return false;
}

void config_init(struct config *c)
{
	struct err err;

	memset(c, 0, sizeof *c);
	for (const struct config_key *key = config_keys; key->section; key++)
		if (config_key_set(key, scan_str(key->otherwise), c, &err) < 0)
			abort(); /* the table contradicts itself; a test sets every default */
}

/* ---- one value, by the type and the bounds of its key ---------------------------------------- */

const char *config_type_values(enum config_type type)
{
	static const char *const values[] = {
		[CONFIG_BOOL] = "true or false",
		[CONFIG_SWITCH] = "auto, true or false",
		[CONFIG_TIME] = "a time",
		[CONFIG_BYTES] = "a size",
		[CONFIG_COUNT] = "a whole number",
		[CONFIG_FACTOR] = "a number",
		[CONFIG_PERCENT] = "a number",
		[CONFIG_PATH] = "an absolute path, or auto",
		[CONFIG_PROCESSES] = "jobs+20, all or jobs",
	};

	return values[type];
}

/* A parsed number: `whole` for times, sizes and counts, `real` for the rest; the other is 0. */
struct number {
	uint64_t whole;
	double real;
};

static const char *const type_hints[] = {
	[CONFIG_BOOL] = "write true or false",
	[CONFIG_SWITCH] = "write auto, true or false",
	[CONFIG_TIME] = "not a time; write a number, or 30s, 10m, 1h30m, 7d",
	[CONFIG_BYTES] = "not a size; write a number, or 64K, 50M, 2G",
	[CONFIG_COUNT] = "not a whole number",
	[CONFIG_FACTOR] = "not a number",
	[CONFIG_PERCENT] = "not a number",
	[CONFIG_PATH] = "not an absolute path",
	[CONFIG_PROCESSES] = "write jobs+20, all or jobs",
};

bool config_parse_bool(struct scan text, bool *ret)
{
	static const char *const yes[] = { "true", "yes", "on" }, *const no[] = { "false", "no",
		                                                                  "off" };

	for (size_t i = 0; i < ARRAY_LEN(yes); i++)
		if (scan_eq(&text, yes[i]) || scan_eq(&text, no[i])) {
			*ret = scan_eq(&text, yes[i]);
			return true;
		}
	return false;
}

/* micros × 10^-6 × unit; false on overflow. */
static bool scale(uint64_t micros, uint64_t unit, uint64_t *ret)
{
	unsigned __int128 wide = (unsigned __int128)micros * unit / 1000000;

	if (wide > UINT64_MAX)
		return false;
	*ret = (uint64_t)wide;
	return true;
}

static bool parse_time(struct scan text, uint64_t unit, uint64_t *ret)
{
	struct scan number = text;
	uint64_t micros;

	if (!scan_fixed(&number, 6, &micros))
		return false;
	return scan_at_end(&number) ? scale(micros, unit, ret) : clock_parse_duration(text, ret);
}

static bool parse_bytes(struct scan text, uint64_t unit, uint64_t *ret)
{
	static const struct {
		const char *suffix;
		unsigned shift;
	} units[] = { { "K", 10 }, { "M", 20 }, { "G", 30 } };
	uint64_t micros;

	if (!scan_fixed(&text, 6, &micros))
		return false;
	if (scan_at_end(&text))
		return scale(micros, unit, ret);
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (scan_eq(&text, units[i].suffix))
			return scale(micros, UINT64_C(1) << units[i].shift, ret);
	return false;
}

/* A larger value is a typo, and doubles of that size lose their decimals. */
#define REAL_MAX 1e12

static bool parse_number(const struct config_key *key, struct scan text, struct number *ret)
{
	struct number n = { 0 };
	bool ok;

	switch (key->type) {
	case CONFIG_TIME:
		ok = parse_time(text, key->unit, &n.whole);
		break;
	case CONFIG_BYTES:
		ok = parse_bytes(text, key->unit, &n.whole);
		break;
	case CONFIG_COUNT:
		ok = scan_u64(&text, &n.whole) && scan_at_end(&text);
		break;
	case CONFIG_FACTOR:
	case CONFIG_PERCENT:
		ok = scan_is_digit(*text.p) && scan_is_digit(text.end[-1]) &&
		     scan_double(&text, &n.real) && scan_at_end(&text) && fabs(n.real) < REAL_MAX;
		break;
	case CONFIG_BOOL:
	case CONFIG_SWITCH:
	case CONFIG_PATH:
	case CONFIG_PROCESSES:
	default:
		ok = false;
	}
	if (ok)
		*ret = n;
	return ok;
}

static int compare(const struct number *a, const struct number *b)
{
	if (a->whole != b->whole)
		return a->whole < b->whole ? -1 : 1;
	return (a->real > b->real) - (a->real < b->real);
}

static int out_of_range(const struct config_key *key, struct err *err)
{
	if (key->above_min)
		return err_set(err, EINVAL,
		               "out of range; it must be greater than %s and at most %s", key->min,
		               key->max);
	return err_set(err, EINVAL, "out of range; it must be at least %s and at most %s", key->min,
	               key->max);
}

static int check_range(const struct config_key *key, const struct number *n, struct err *err)
{
	struct number min, max;

	if (key->min && parse_number(key, scan_str(key->min), &min) &&
	    compare(n, &min) < (key->above_min ? 1 : 0))
		return out_of_range(key, err);
	if (key->max && parse_number(key, scan_str(key->max), &max) && compare(n, &max) > 0)
		return out_of_range(key, err);
	return 0;
}

static int wrong_type(const struct config_key *key, struct scan value, struct err *err)
{
	int shown = (int)MIN(scan_left(&value), (size_t)40);
	bool has_comment = memchr(value.p, '#', scan_left(&value)) ||
	                   memchr(value.p, ';', scan_left(&value));

	return err_set(err, EINVAL, "'%.*s': %s%s", shown, value.p, type_hints[key->type],
	               has_comment ? " (comments need a line of their own)" : "");
}

static int set_number(const struct config_key *key, struct scan value, void *to, struct err *err)
{
	struct number n;

	if (!parse_number(key, value, &n))
		return wrong_type(key, value, err);
	if (check_range(key, &n, err) < 0)
		return -err->code;
	if (key->type == CONFIG_FACTOR)
		*(double *)to = n.real;
	else if (key->type == CONFIG_PERCENT)
		*(double *)to = n.real / 100;
	else
		*(uint64_t *)to = n.whole;
	return 0;
}

static int set_path(const struct config_key *key, struct scan value, char *to, struct err *err)
{
	size_t n = scan_left(&value);

	if (*value.p != '/' || value.end[-1] == '/')
		return wrong_type(key, value, err);
	if (n >= CONFIG_PATH_MAX)
		return err_set(err, EINVAL, "the path is longer than %d bytes",
		               CONFIG_PATH_MAX - 1);
	memcpy(to, value.p, n);
	to[n] = '\0';
	return 0;
}

static int set_processes(const struct config_key *key, struct scan value,
                         enum process_selection *to, struct err *err)
{
	for (enum process_selection i = 0; i < PROCESS_SELECTION_COUNT; i++)
		if (scan_eq(&value, process_selection_names[i])) {
			*to = i;
			return 0;
		}
	return wrong_type(key, value, err);
}

int config_key_set(const struct config_key *key, struct scan value, struct config *to,
                   struct err *err)
{
	void *place = (char *)to + key->offset;
	bool on;

	if (scan_at_end(&value))
		return err_set(err, EINVAL, "no value after '='");
	if (scan_eq(&value, "auto") && strcmp(key->otherwise, "auto") == 0) {
		memset(place, 0, key->size); /* "", or SWITCH_AUTO */
		return 0;
	}
	if (key->type == CONFIG_PATH)
		return set_path(key, value, place, err);
	if (key->type == CONFIG_PROCESSES)
		return set_processes(key, value, place, err);
	if (key->type != CONFIG_BOOL && key->type != CONFIG_SWITCH)
		return set_number(key, value, place, err);
	if (!config_parse_bool(value, &on))
		return wrong_type(key, value, err);
	if (key->type == CONFIG_BOOL)
		*(bool *)place = on;
	else
		*(enum config_switch *)place = on ? SWITCH_ON : SWITCH_OFF;
	return 0;
}

bool config_key_eq(const struct config_key *key, const struct config *a, const struct config *b)
{
	const void *at_a = (const char *)a + key->offset, *at_b = (const char *)b + key->offset;

	return key->type == CONFIG_PATH ? strcmp(at_a, at_b) == 0
	                                : memcmp(at_a, at_b, key->size) == 0;
}
