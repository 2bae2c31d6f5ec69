/* SPDX-License-Identifier: MIT */
#include "config/config_key.h"

#include <assert.h>
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
	  NULL, false, "summarise syscalls with strace where BPF cannot" },
	{ "profiler", "strace_full_on_demand", CONFIG_BOOL, 0, AT(profiler.strace_full_on_demand),
	  "true", NULL, NULL, false, "allow a full strace of a process on request" },
	{ "profiler", "gpu_enabled", CONFIG_SWITCH, 0, AT(profiler.gpu), "auto", NULL, NULL, false,
	  "watch GPUs; auto: if there are any", true },
	{ "profiler", "storage_path", CONFIG_PATH, 0, AT(profiler.storage_path), "auto", NULL, NULL,
	  false, "the database; auto: proctor.db in the state directory", true },
	{ "profiler", "jsonl_path", CONFIG_PATH, 0, AT(profiler.jsonl_path), "auto", NULL, NULL,
	  false, "one snapshot per line; auto: monitor.jsonl in the state directory", true },
	{ "profiler", "jsonl_max_bytes", CONFIG_BYTES, 1, AT(profiler.jsonl_max_bytes), "52428800",
	  "1M", "1024G", false, "size at which the JSONL file is rotated to .1 and .2", true },
	{ "profiler", "jsonl_processes", CONFIG_PROCESSES, 0, AT(profiler.jsonl_processes),
	  "jobs+20", NULL, NULL, false,
	  "processes in a JSONL line: jobs+20 (those of jobs, and the 10 largest others by CPU and by memory), all, or jobs",
	  true },

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

	{ "correlation", "interval_minutes", CONFIG_TIME, MINUTE, AT(correlation.interval_ns), "30",
	  "5", "7d", false, "time between two searches for patterns" },
	{ "correlation", "min_sample_size", CONFIG_COUNT, 0, AT(correlation.min_sample_size), "5",
	  "2", "1000000", false, "finished jobs needed before patterns are searched for" },

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
