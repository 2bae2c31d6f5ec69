/* SPDX-License-Identifier: MIT */
/* engine.h - the conductor: each tick reads the probes, builds the snapshot and hands it to stages and
 * sinks. Hosted by `record`, `run` and the daemon. It never logs: notices for users go to the host's
 * notice function. */
#pragma once

#include "base/loop.h"
#include "engine/budget.h"
#include "engine/pipeline.h"
#include "engine/recorder.h"
#include "engine/sampler.h"
#include "job/jobs.h"
#include "job/pressure.h"
#include "kernel/process_reader.h"

struct engine;

struct engine_options {
	struct sampler_options sampler;
	struct recorder_options recorder;
	uint64_t interval_ns;
	double budget_ratio;           /* of one core; 0: no budget */
	bool keep_interval;            /* the budget may not stretch it */
	bool starts_fine;              /* short intervals at first, growing up to interval_ns */
	struct anomaly_config anomaly; /* zeros: nothing is detected */
	struct pressure_limits limits;
	void (*notice)(void *self, const char *text);
	void *notice_self;
};

struct engine_totals {
	uint64_t ticks, missed_ticks;
	uint64_t cpu_ns; /* our own */
	uint64_t processes, events;
	uint64_t unread_events; /* lost before we could read them */
	struct process_reader_hangs hangs;
	struct recorder_status recorder; /* … and what was read and not stored */
	bool loss_is_reported;           /* that something could not be stored */
};

int engine_new(struct loop *loop, const struct engine_options *options, struct engine **ret,
               struct err *err) must_check;
void engine_free(struct engine *e); /* stores what waits; NULL is fine */
DEFINE_CLEANUP(struct engine *, engine_free)
/* Sets the pipeline of its snapshots, before the loop runs: the host's list of stages and sinks.
 * These parts of the engine can stand in it; `self` of the stages is the engine. */
void engine_set_pipeline(struct engine *e, const struct pipeline *pipeline);
void engine_stage_pressure(void *self, struct snapshot *snap);
void engine_stage_anomalies(void *self, struct snapshot *snap);
void engine_stage_jobs(void *self, struct snapshot *snap);
struct sink engine_sink_recorder(struct engine *e);
/* Stores what waits, returns the totals, and frees it. */
void engine_stop(struct engine *take_e, struct engine_totals *ret);

/* The same while it runs. */
struct engine_status {
	uint64_t interval_ns;            /* between two ticks, as it is now … */
	uint64_t configured_interval_ns; /* … and as it was configured */
	/* The readings that are left out while our cost exceeds the budget: "PSS and other details,
	 * open files and I/O"; NULL: everything is read. */
	const char *left_out;
	struct engine_totals totals;
};
void engine_status(struct engine *e, struct engine_status *ret);

/* As recorder_introduce(). */
bool engine_introduce(struct engine *e, uint64_t patience_ns, struct recorder_place *ret);
/* As recorder_claim_job_id(). */
int engine_claim_job_id(struct engine *e, uint32_t uid, char id[JOB_ID_MAX], uint64_t patience_ns,
                        struct err *err) must_check;
/* As recorder_put_patterns(). */
void engine_put_patterns(struct engine *e, struct patterns *take_found);
struct sampler *engine_sampler(struct engine *e);
struct jobs *engine_jobs(struct engine *e);
/* The one way in for events that no probe reports: marks, limits, forwarded signals, the birth of
 * the command. Without a process the event belongs to the job whose handle it has (-1: none);
 * boot_ns 0: now. `name` and `text` may be NULL. False: too many events wait. */
bool engine_emit(struct engine *e, const struct event *event, const char *name, const char *text);
/* Begins to count the system calls of a command that is about to run its program, if that is
 * enabled. Returns the source, as far as it matters, or what else is kept: "strace", "flight
 * recorder"; NULL: neither. */
const char *engine_trace_command(struct engine *e, struct proc_id command);
/* As of the last tick; NULL before the first. */
const struct pressure *engine_pressure(const struct engine *e);

/* The options that can be changed while it runs. */
struct engine_tuning {
	uint64_t interval_ns;
	struct anomaly_config anomaly;
	struct pressure_limits limits;
	struct store_retention retention;
	bool traces_syscalls;
};
void engine_tune(struct engine *e, const struct engine_tuning *to);

#define ENGINE_TOTALS_NS (50 * NS_PER_MS) /* the kernel reports totals a moment after an end */
/* Waits a moment for totals of which engine_awaits_totals() reports that they are to come: for hosts without other clients. */
void engine_await_totals(struct engine *e, bool (*matches)(void *self, struct proc_id id),
                         void *self);
/* Whether totals are still to come of processes that have ended by now and that `matches` accepts. */
bool engine_awaits_totals(struct engine *e, bool (*matches)(void *self, struct proc_id id),
                          void *self);
/* … which are not waited for: as far as events were read, the ends are known from now on. */
void engine_report_ends(struct engine *e, bool (*matches)(void *self, struct proc_id id),
                        void *self);
/* Pushes the current state of all jobs to the recorder, and returns the number of that snapshot. */
uint64_t engine_store_jobs(struct engine *e);
/* Whether they are stored, as recorder_await() returns it. */
enum stored engine_await_stored(struct engine *e, uint64_t number, bool have_ended,
                                uint64_t patience_ns);
/* Stores the last calls of processes that still run, if a flight recorder has them. */
void engine_record_living(struct engine *e);
/* Learns of the births and ends up to now. */
void engine_read_events(struct engine *e);
/* … and hands them out at once, in a snapshot of events only. */
void engine_flush(struct engine *e);
/* A tick ahead of time. */
void engine_tick(struct engine *e);
/* The last flush of a job: its events up to now, after waiting up to `patience_ns` for totals of
 * ended processes that `matches` accepts, and for the ends of all but `living` members. */
void engine_settle(struct engine *e, uint64_t patience_ns, uint64_t living,
                   bool (*matches)(void *self, struct proc_id id), void *self);
