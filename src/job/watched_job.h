/* SPDX-License-Identifier: MIT */
/* watched_job.h - one job under watch, whether it was launched, registered or announced by its own
 * recorder: the job and its sheets, what it used, and how it ended. It never moves; jobs.h owns
 * it. */
#pragma once

#include "job/cgroup/oom_watch.h"
#include "job/end_facts.h"
#include "job/gpu_account.h"
#include "job/job_memory.h"
#include "job/job_usage.h"
#include "job/sheet_account.h"
#include "model/type_history.h"

/* Marks of processes that belong to the job though they do not descend from its processes
 * (adoption.h). */
struct job_claim {
	char *cgroup, *workspace; /* owned; NULL: none */
	uint64_t serial;
	uint64_t id_hash; /* 0: not computed yet */
	uint64_t cgroup_rests_until_ns;
};

/* The hooks of the host of a launched job. Each may be NULL. */
struct watched_job_hooks {
	/* Before anything is counted: adds what the events of the command itself lack. */
	void (*complete_events)(void *self, struct snapshot *snap);
	/* Before the figures are computed: limits that were hit. Returns the readings of the job's
	 * own control group; NULL: it has none. */
	const struct cgroup_readings *(*measure)(void *self, const struct snapshot *snap);
	/* … and after: the end. */
	void (*complete)(void *self, const struct snapshot *snap);
	/* When it failed: adds what others know about why. */
	void (*explain)(void *self, struct cause_facts *facts);
};

struct watched_job {
	struct job_row *row; /* as snapshots show it */
	struct accounting accounting;
	struct end_facts end_facts;
	struct oom_watch *oom; /* of the group it was started in; NULL: of that nothing is known */
	uint64_t seen_kills, oom_kills; /* SIGKILLs of members, and what the watch counted then */
	struct job_memory memory;
	struct job_usage usage;
	struct gpu_account gpus;
	const struct cgroup_readings *group; /* its own, of this snapshot; NULL: it has none */
	/* The CPU time that was spread over the ticks so far, and until when. */
	uint64_t spread_cpu_ns, spread_boot_ns;
	uint64_t spread_growth_ns, spread_elapsed_ns; /* … with the last tick */
	uint64_t memory_limit;  /* the largest that was in force when it was exceeded; 0: never */
	uint64_t tasks;         /* of its processes at this tick */
	bool exceeds_allowance; /* it uses more CPUs than it was allowed as it started */
	bool exceeds_tasks;     /* … than it was seen to have tasks */
	bool is_resumed; /* it was not watched all the time: CPU time of before is not spread */
	struct sheet_accounts sheet_accounts; /* of sheets that run */
	struct job_claim claim;
	struct type_history *past; /* what earlier runs of its type used; NULL: not known (yet) */
	uint64_t ended_mono_ns;    /* 0: it runs */
	uint64_t outlived;         /* were there when its command ended */
	uint64_t leaked;           /* … and when it was over */
	uint64_t released;         /* … and left it then, because it was registered */
	bool has_outlived, has_leaked;
	bool is_published;            /* its end was in a snapshot */
	struct cause announced_cause; /* by its own recorder */
	bool end_is_inferred;         /* from the end of its process: it was not reported */
	bool is_past; /* it ended before us: its figures are those that were stored */
	bool sheets_end_with_opener; /* a sheet fails when the process ends that opened it */
	bool is_launched; /* by us: it ends with its command, and its processes are all that use its memory */
	const struct watched_job_hooks *hooks; /* NULL: none */
	void *hooks_self;
};

void watched_job_free(struct watched_job *w); /* not its row */
/* Counts kills for lack of memory in the control group of this process (0: ours), from now on. */
void watched_job_watch_oom(struct watched_job *w, int root_fd, pid_t pid);
/* Ends the job, or corrects its end if it is called again. Sheets that are open fail with the first
 * end, and all of them are put into the next snapshot: there may be no later one. */
void watched_job_end(struct watched_job *w, const struct job_end *how);
/* If the process had left the job for another, it is counted already. */
void watched_job_take_back(struct watched_job *w, struct proc_id id);
/* The sheets in the snapshot need not be put into the next. */
void watched_job_sheets_are_shown(struct watched_job *w);
/* All of them are put into the next snapshot, because it is the last one or because some were lost. */
void watched_job_show_all_sheets(struct watched_job *w);
