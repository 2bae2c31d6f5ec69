/* SPDX-License-Identifier: MIT */
/* status_view.h - the health of a daemon, as `proctor status` shows it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "view/canvas.h"
#include "view/storage_view.h"

#define STATUS_ANOMALIES 5 /* shown of those that last; of the rest, how many */

struct status_anomaly {
	const char *type, *job_id; /* NULL: in none */
	pid_t pid;                 /* 0: of the whole machine */
};

#define STATUS_JOBS 20

struct status_job {
	const char *id, *user; /* user NULL: only the number is known */
	uint32_t uid;
	uint64_t age_ns;
	double cpu_ratio, used_bytes; /* NAN: not known */
};

/* As the daemon reported it; a text that it left out is NULL, a figure NAN. */
struct status_facts {
	const char *socket, *version, *tier, *pressure, *pressure_reason, *store_path, *trouble,
		*config_problem, *left_out;
	pid_t pid;
	bool is_enabled;
	uint64_t uptime_ns, interval_ns, cpu_ns;
	uint64_t configured_interval_ns; /* 0: not reported */
	double cpu_ratio, rss_bytes;
	uint64_t processes, running_jobs, active_sheets, clients;
	struct storage_facts storage;
	struct status_job jobs[STATUS_JOBS]; /* of those that run, the first */
	size_t n_jobs;
	struct status_anomaly anomalies[STATUS_ANOMALIES]; /* the worst first */
	uint64_t anomalies_active;
	uint64_t lost_snapshots, lost_events, unread_events, missed_ticks;
	uint64_t hanging_processes, refused_reads;
	uint64_t over_quota_samples, over_quota_events; /* of users that stored too much */
};

void status_view(const struct status_facts *s, struct canvas *to);
