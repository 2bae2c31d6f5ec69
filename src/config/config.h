/* SPDX-License-Identifier: MIT */
/* config.h - the configuration, validated and in internal units. Plain data: copy it freely. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/anomaly.h"
#include "model/process_selection.h"

#define CONFIG_PATH_MAX 4096

enum config_switch {
	SWITCH_AUTO, /* on if the machine has it */
	SWITCH_ON,
	SWITCH_OFF,
};

struct config_profiler {
	bool enabled;
	uint64_t interval_ns;
	bool strace_enabled, strace_full_on_demand;
	enum config_switch gpu;
	char storage_path[CONFIG_PATH_MAX]; /* "": proctor.db in the state directory */
	enum config_switch storage_per_host;
	char jsonl_path[CONFIG_PATH_MAX]; /* "": monitor.jsonl in the state directory */
	uint64_t jsonl_max_bytes;
	enum process_selection jsonl_processes;
	enum config_switch run_summary; /* auto: on a terminal */
	bool auto_tags;                 /* of `run`: batch system, CI, git commit */
};

struct config_retention {
	uint64_t full_resolution_ns, downsampled_ns, events_ns;
};

struct config_correlation {
	uint64_t interval_ns;
	uint64_t min_sample_size;
};

struct config_limits {
	uint64_t max_memory_bytes; /* 0: the limit in force */
	uint64_t max_processes;    /* 0: the limit in force */
	uint64_t max_clients, max_clients_per_user;
	uint64_t max_traces, max_traces_per_user, max_trace_files, max_trace_bytes;
};

struct config {
	struct config_profiler profiler;
	struct config_retention retention;
	struct anomaly_config anomaly;
	struct config_correlation correlation;
	struct config_limits limits;
};

void config_init(struct config *c); /* the defaults */
