/* SPDX-License-Identifier: MIT */
/* The timeline of a frame: what happened to processes, and when its jobs and sheets began and ended. */
#include <stdio.h>
#include <string.h>

#include "base/signal_name.h"
#include "view/frame.h"

#define WORDS_MAX 240
#define SHEETS_SHOWN 100

/* Adds an event; its texts are copied. */
struct happening {
	uint64_t wall_ns;
	const char *kind, *what;
	struct job_key job; /* id NULL: none */
	enum severity severity;
	pid_t pid;
	bool is_trouble, is_anomaly;
};

static void add(struct frame *f, const struct happening *h)
{
	struct frame_event *e = h->wall_ns ? vec_push(&f->events, FRAME_EVENTS_MAX) : NULL;

	if (!e)
		return;
	*e = (struct frame_event){ .wall_ns = h->wall_ns,
		                   .job_uid = h->job.uid,
		                   .severity = h->severity,
		                   .pid = h->pid,
		                   .is_trouble = h->is_trouble,
		                   .is_anomaly = h->is_anomaly };
	e->kind = frame_keep_str(f, h->kind);
	e->job = frame_keep_str(f, h->job.id);
	e->what = frame_keep_str(f, h->what);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Births, and ends that went well, would push the rest off the screen; so would what happens outside of jobs. */
static bool matters(const struct event_record *e)
{
	switch (e->kind) {
	case EVENT_EXIT:
		return e->job_id && e->signal;
	case EVENT_KILL:
		return e->job_id != NULL;
	case EVENT_ANOMALY:
		return !e->count; /* it began */
	case EVENT_OOM:
	case EVENT_LIMIT:
	case EVENT_DISK:
	case EVENT_GPU:
	case EVENT_MARK:
	case EVENT_PHASE:
	case EVENT_GAP:
		return true;
	case EVENT_SPAWN:
	case EVENT_SIGNAL: /* if it is deadly, the end shows it */
	case EVENT_EXEC:
	case EVENT_TOTALS:
	case EVENT_LOSS:
	case EVENT_CLOCK_STEP:
	case EVENT_SUSPEND:
	case EVENT_PROBE:
	case EVENT_RECORDER:
	case EVENT_KIND_COUNT:
	default:
		return false;
	}
}

static void put_words(const struct event_record *e, char ret[static WORDS_MAX])
{
	const char *comm = e->comm ? e->comm : "process";
	const char *details = e->details && strcmp(e->details, "{}") != 0 ? e->details
	                                                                  : ""; /* no data */
	const char *name = e->name ? e->name : "";
	int pid = (int)e->process.pid;

	if (e->kind == EVENT_EXIT)
		snprintf(ret, WORDS_MAX, "%s %d died of %s", comm, pid, signal_name(e->signal).at);
	else if (e->kind == EVENT_OOM)
		snprintf(ret, WORDS_MAX, "%s %d killed: out of memory", comm, pid);
	else if (e->kind == EVENT_ANOMALY && *details)
		snprintf(ret, WORDS_MAX, "%s", details); /* it names the process */
	else if (pid)
		snprintf(ret, WORDS_MAX, "%s %d: %s%s%s", comm, pid,
		         e->signal ? signal_name(e->signal).at : name,
		         e->signal || *name ? " " : "", details);
	else
		snprintf(ret, WORDS_MAX, "%s%s%s", name, *name && *details ? " " : "", details);
}

void frame_add_event(struct frame *f, const struct event_record *e)
{
	bool is_death = e->kind == EVENT_OOM || e->kind == EVENT_KILL || e->kind == EVENT_DISK;
	bool is_trouble = is_death || e->kind == EVENT_EXIT || e->kind == EVENT_ANOMALY ||
	                  e->kind == EVENT_LIMIT;
	char what[WORDS_MAX];

	if (!matters(e))
		return;
	put_words(e, what);
	add(f,
	    &(struct happening){ .wall_ns = e->wall_ns,
	                         .kind = event_name(e->kind),
	                         .what = what,
	                         .job = { e->has_job_uid ? e->job_uid : FRAME_ANY_UID, e->job_id },
	                         .severity = is_death     ? SEVERITY_HIGH
	                                     : is_trouble ? SEVERITY_MEDIUM
	                                                  : SEVERITY_LOW,
	                         .pid = e->process.pid,
	                         .is_trouble = is_trouble,
	                         .is_anomaly = e->kind == EVENT_ANOMALY });
}

/* ---- anomalies ------------------------------------------------------------------------------- */

void frame_add_anomaly(struct frame *f, const struct anomaly_record *a)
{
	const struct job_key job = { a->has_job_uid ? a->job_uid : FRAME_ANY_UID, a->job_id };
	struct frame_anomaly *to = vec_push(&f->anomalies, FRAME_EVENTS_MAX);

	if (!to)
		return;
	*to = (struct frame_anomaly){ .job_uid = job.uid,
		                      .severity = a->severity,
		                      .pid = a->process.pid,
		                      .began_ns = a->began_ns };
	to->kind = frame_keep_str(f, a->kind);
	to->job = frame_keep_str(f, job.id);
	to->what = frame_keep_str(f, a->description);
}

/* ---- jobs and sheets ------------------------------------------------------------------------- */

/* Its id is copied: the frame's texts move when one is added. */
static struct job_key copy_key(const struct frame *f, size_t job, char id[static JOB_ID_MAX])
{
	snprintf(id, JOB_ID_MAX, "%s", frame_str(f, f->jobs.at[job].id));
	return (struct job_key){ f->jobs.at[job].uid, id };
}

static void add_job(struct frame *f, size_t index)
{
	const struct frame_job job = f->jobs.at[index];
	bool failed = job.status == JOB_FAILED;
	char id[JOB_ID_MAX], what[WORDS_MAX];
	const struct job_key key = copy_key(f, index, id);

	add(f, &(struct happening){
		       .wall_ns = job.started_ns, .kind = "job", .what = "started", .job = key });
	snprintf(what, sizeof what, "%s%s", failed ? "FAILED: " : "",
	         failed                        ? frame_str(f, job.result)
	         : job.status == JOB_COMPLETED ? "completed"
	                                       : "its recorder is gone");
	add(f, &(struct happening){ .wall_ns = job.ended_ns,
	                            .kind = "job",
	                            .what = what,
	                            .job = key,
	                            .severity = failed ? SEVERITY_HIGH : SEVERITY_LOW,
	                            .is_trouble = failed || job.status == JOB_LOST });
}

static void add_sheet(struct frame *f, size_t index)
{
	const struct frame_sheet s = f->sheets.at[index];
	bool failed = s.status == JOB_FAILED;
	char id[JOB_ID_MAX], began[WORDS_MAX], ended[WORDS_MAX];
	const struct job_key key = copy_key(f, (size_t)s.job, id);
	const char *label = frame_str(f, s.label);

	snprintf(began, sizeof began, "sheet %u%s%.80s began", s.num, *label ? " " : "", label);
	snprintf(ended, sizeof ended, "sheet %u%s%.80s %s", s.num, *label ? " " : "", label,
	         failed                 ? "FAILED"
	         : s.status == JOB_LOST ? "was not closed"
	                                : "is done");
	add(f, &(struct happening){
		       .wall_ns = s.started_ns, .kind = "sheet", .what = began, .job = key });
	add(f, &(struct happening){ .wall_ns = s.ended_ns,
	                            .kind = "sheet",
	                            .what = ended,
	                            .job = key,
	                            .severity = failed ? SEVERITY_HIGH : SEVERITY_LOW,
	                            .is_trouble = failed });
}

/* When something happened to it last. */
static uint64_t changed_ns(const struct frame *f, size_t sheet)
{
	return MAX(f->sheets.at[sheet].started_ns, f->sheets.at[sheet].ended_ns);
}

/* Into the list of the latest ones, the latest first. */
static void insert_latest(const struct frame *f, size_t sheet, size_t latest[static SHEETS_SHOWN],
                          size_t *len)
{
	size_t at = *len;

	while (at && changed_ns(f, latest[at - 1]) < changed_ns(f, sheet))
		at--;
	if (at == SHEETS_SHOWN)
		return;
	*len = MIN(*len + 1, (size_t)SHEETS_SHOWN);
	memmove(latest + at + 1, latest + at, (*len - at - 1) * sizeof *latest);
	latest[at] = sheet;
}

void frame_add_jobs(struct frame *f)
{
	for (size_t i = 0; i < f->jobs.len; i++)
		add_job(f, i);
}

/* From the end, where the latest are, mostly. */
void frame_add_latest_sheets(struct frame *f, const struct job_key *job)
{
	int32_t only = job ? frame_find_job(f, *job) : -1;
	size_t latest[SHEETS_SHOWN], len = 0;

	for (size_t i = f->sheets.len; i-- > 0;)
		if (!job || f->sheets.at[i].job == only)
			insert_latest(f, i, latest, &len);
	for (size_t i = 0; i < len; i++)
		add_sheet(f, latest[i]);
}

void frame_add_sheets(struct frame *f)
{
	for (size_t i = f->sheets.len; i-- > 0;)
		add_sheet(f, i);
}
