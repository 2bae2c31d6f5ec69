/* SPDX-License-Identifier: MIT */
/* Selects the events that are worth a note: most events are not, and of those that are, many are
 * the same. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "report/report.h"

#define GAP_MIN_NS NS_PER_S /* shorter ones are only in the events */

/* In the order in which they matter. */
static const unsigned char ranks[] = {
	[NOTE_OOM] = 0,     [NOTE_LIMIT] = 1,    [NOTE_KILL] = 2, [NOTE_ANOMALY] = 3,
	[NOTE_DEATH] = 4,   [NOTE_LOSS] = 5,     [NOTE_GAP] = 5,  [NOTE_CLOCK] = 5,
	[NOTE_SUSPEND] = 5, [NOTE_FAILURE] = 6,  [NOTE_LEFT] = 6, [NOTE_SIGNAL] = 7,
	[NOTE_PROBE] = 8,   [NOTE_RECORDER] = 8, [NOTE_GPU] = 3,
};

static uint64_t hash_text(uint64_t h, const char *text)
{
	return hash_bytes(h, text, strlen(text) + 1);
}

/* Times that are shown alike count as one. */
static int64_t shown_amount(const struct report_note *n)
{
	int64_t tenth = (int64_t)NS_PER_S / 10;

	if (n->kind != NOTE_GAP && n->kind != NOTE_CLOCK && n->kind != NOTE_SUSPEND)
		return n->amount;
	return n->amount / (llabs(n->amount) < (int64_t)(10 * NS_PER_S) ? tenth : 10 * tenth);
}

/* Anomalies of one kind and program are one note, with the words of the first. */
static uint64_t key_of(const struct report_note *n)
{
	const int64_t numbers[] = {
		n->kind,        n->pid,   n->exit_code, n->signal,
		n->core_dumped, n->lasts, n->severity,  shown_amount(n),
	};
	uint64_t h = hash_bytes(HASH_SEED, numbers, sizeof numbers);

	return hash_text(hash_text(h, n->name), n->kind == NOTE_ANOMALY ? "" : n->details);
}

/* Its index, or -1. */
static int64_t add_note(struct report *r, const struct event_record *e, struct report_note note)
{
	struct report_note *kept;
	uint64_t index;

	snprintf(note.details, sizeof note.details, "%s", e->details ? e->details : "");
	note.key = key_of(&note);
	if (map_get(&r->note_of, note.key, &index)) {
		if (!r->notes.at[index].count++)
			r->notes.at[index].first_ns = e->wall_ns;
		return (int64_t)index;
	}
	kept = vec_push(&r->notes, REPORT_NOTES_MAX);
	if (!kept) {
		r->notes_dropped++;
		return -1;
	}
	map_put(&r->note_of, note.key, r->notes.len - 1);
	*kept = note;
	kept->first_ns = e->wall_ns;
	kept->count = 1;
	kept->rank = ranks[note.kind];
	return (int64_t)r->notes.len - 1;
}

/* A note about a process has its name and not its pid: processes of one name share a note. */
static struct report_note note_of(const struct report *r, const struct event_record *e,
                                  enum report_note_kind kind)
{
	const char *name = report_name_of(r, e->process);
	struct report_note note = { .kind = kind };

	snprintf(note.name, sizeof note.name, "%s", name ? name : "");
	return note;
}

static void add_exit(struct report *r, const struct event_record *e)
{
	struct event_record bare = { .wall_ns = e->wall_ns };
	struct report_note note = note_of(r, e, e->signal ? NOTE_DEATH : NOTE_FAILURE);
	const struct failure_end end = { e->has_exit_code, e->exit_code, e->signal };
	uint64_t known;
	int64_t index;

	if (failure_owner_is_passed_on(&r->failures, e->process))
		return;
	/* A death whose signal is already listed with its sender is not listed again, nor is the failure
	 * of a shell that only ended as its command did. */
	if (e->signal && map_get(&r->signalled, proc_key(e->process), &known) &&
	    known >> e->signal & 1)
		return;
	if (!e->signal && map_get(&r->child_signals, (uint64_t)e->process.pid, &known) &&
	    failure_end_is_passed_on((struct failure_end){ .signal = (int)known }, end))
		return;
	note.signal = e->signal;
	note.exit_code = e->signal ? 0 : e->exit_code;
	note.core_dumped = e->signal && e->details && strstr(e->details, "core dumped");
	if (!e->signal && !(e->has_exit_code && e->exit_code))
		return;
	index = add_note(r, &bare, note);
	if (e->signal && index >= 0 && r->death_notes.len < REPORT_LIVES_MAX)
		map_put(&r->death_notes, proc_key(e->process), (uint64_t)index);
}

/* Broken pipes, faults and abort() come from the process itself: its death is reported. */
static bool is_from_itself(const struct event_record *e)
{
	char self[32];

	snprintf(self, sizeof self, "(pid %d,", e->process.pid);
	return e->details && strstr(e->details, self);
}

bool report_is_echo(const struct report *r, const struct event_record *e)
{
	return (e->kind == EVENT_SIGNAL || e->kind == EVENT_KILL) && is_from_itself(e) &&
	       failure_owner_is_passed_on(&r->failures, e->process);
}

/* The same where the event of the signal comes after that of the end. */
static void drop_death_note(struct report *r, const struct event_record *e)
{
	uint64_t index;

	if (map_get(&r->death_notes, proc_key(e->process), &index) &&
	    r->notes.at[index].signal == e->signal && r->notes.at[index].count) {
		r->notes.at[index].count--;
		map_del(&r->death_notes, proc_key(e->process));
	}
}

/* With the note of it, -1: none. */
static void mark_signalled(struct report *r, const struct event_record *e, int64_t note)
{
	uint64_t key = proc_key(e->process), known = 0;

	if (r->signalled.len >= REPORT_LIVES_MAX || e->signal <= 0 || e->signal >= 64)
		return;
	map_get(&r->signalled, key, &known);
	map_put(&r->signalled, key, known | UINT64_C(1) << e->signal);
	if (e->kind == EVENT_KILL && note >= 0)
		map_put(&r->kill_notes, key, (uint64_t)note);
}

static void add_sent(struct report *r, const struct event_record *e)
{
	struct report_note note = note_of(r, e, e->kind == EVENT_KILL ? NOTE_KILL : NOTE_SIGNAL);

	if ((e->kind == EVENT_SIGNAL && is_from_itself(e)) || report_is_echo(r, e))
		return;
	note.signal = e->signal;
	drop_death_note(r, e);
	mark_signalled(r, e, add_note(r, e, note));
}

/* The kernel's SIGKILL comes first, and then is known what it was for. */
static void drop_kill_note(struct report *r, struct proc_id id)
{
	uint64_t index;

	if (map_get(&r->kill_notes, proc_key(id), &index) && r->notes.at[index].count)
		r->notes.at[index].count--;
}

static void add_oom(struct report *r, const struct event_record *e)
{
	struct report_note note = note_of(r, e, NOTE_OOM);

	note.pid = e->process.pid;
	drop_kill_note(r, e->process);
	mark_signalled(r, &(struct event_record){ .process = e->process, .signal = SIGKILL }, -1);
	add_note(r, &(struct event_record){ .wall_ns = e->wall_ns }, note);
}

static void add_amount(struct report *r, const struct event_record *e, enum report_note_kind kind)
{
	add_note(r, e, (struct report_note){ .kind = kind, .amount = e->count });
}

static void add_limit(struct report *r, const struct event_record *e)
{
	struct report_note note = { .kind = NOTE_LIMIT };

	snprintf(note.name, sizeof note.name, "%s", e->name ? e->name : "");
	add_note(r, e, note);
}

/* Throttling is reported when it begins: its end may come after the job's. */
static void add_gpu(struct report *r, const struct event_record *e)
{
	struct report_note note = { .kind = NOTE_GPU };

	if (e->name && strcmp(e->name, "throttle_end") == 0)
		return;
	snprintf(note.name, sizeof note.name, "%s", e->name ? e->name : "");
	add_note(r, e, note);
}

static void add_mark(struct report *r, const struct event_record *e)
{
	struct report_mark *mark = vec_push(&r->marks, REPORT_MARKS_MAX);

	if (!mark) /* the first ones stay, and the latest take the places of those between */
		mark = &r->marks.at[REPORT_MARKS_MAX / 2 +
		                    r->marks_dropped++ % (REPORT_MARKS_MAX / 2)];
	mark->wall_ns = e->wall_ns;
	mark->took_ns = e->kind == EVENT_PHASE && e->count > 0 ? (uint64_t)e->count : 0;
	mark->sheet = e->sheet;
	snprintf(mark->name, sizeof mark->name, "%s", e->name ? e->name : "");
	snprintf(mark->data, sizeof mark->data, "%s", e->details ? e->details : "");
}

int report_add_event(void *report, const struct event_record *e)
{
	struct report *r = report;

	verdict_facts_add_event(&r->facts, e);
	switch (e->kind) {
	case EVENT_EXIT:
		add_exit(r, e);
		break;
	case EVENT_SIGNAL:
	case EVENT_KILL:
		add_sent(r, e);
		break;
	case EVENT_OOM:
		add_oom(r, e);
		break;
	case EVENT_LOSS:
		add_amount(r, e, NOTE_LOSS);
		break;
	case EVENT_GAP:
		if (e->count >= (int64_t)GAP_MIN_NS)
			add_amount(r, e, NOTE_GAP);
		break;
	case EVENT_CLOCK_STEP:
		add_amount(r, e, NOTE_CLOCK);
		break;
	case EVENT_SUSPEND:
		add_amount(r, e, NOTE_SUSPEND);
		break;
	case EVENT_PROBE:
		add_note(r, e, (struct report_note){ .kind = NOTE_PROBE });
		break;
	case EVENT_RECORDER:
		add_note(r, e, (struct report_note){ .kind = NOTE_RECORDER });
		break;
	case EVENT_LIMIT:
		add_limit(r, e);
		break;
	case EVENT_GPU:
		add_gpu(r, e);
		break;
	case EVENT_MARK:
	case EVENT_PHASE:
		add_mark(r, e);
		break;
	case EVENT_SPAWN:
	case EVENT_EXEC:
	case EVENT_TOTALS:
	case EVENT_ANOMALY: /* reported once, with its end: report_add_anomaly() */
	case EVENT_DISK:    /* a reason for the verdict */
	case EVENT_KIND_COUNT:
		break;
	}
	return 0;
}

/* Programs grow when they load their data. */
static bool is_ordinary(const struct report *r, const struct anomaly_record *a)
{
	const struct anomaly_info *spike = &anomaly_kinds[ANOMALY_MEMORY_SPIKE];
	double peak = isfinite(a->peak) ? a->peak : a->value;

	return strcmp(a->kind, spike->key) == 0 &&
	       !job_is_short_of_memory(&r->job, peak / spike->scale);
}

int report_add_anomaly(void *report, const struct anomaly_record *a)
{
	const struct event_record at = { .wall_ns = a->began_ns,
		                         .process = a->process,
		                         .details = a->description };
	struct report_note note;
	struct report *r = report;
	struct report_anomaly *kept = vec_push(&r->anomalies, REPORT_ANOMALIES_MAX);

	verdict_facts_add_anomaly(&r->facts, a);
	if (kept) {
		kept->a = *a;
		snprintf(kept->kind, sizeof kept->kind, "%s", a->kind);
		snprintf(kept->text, sizeof kept->text, "%s", a->description);
		kept->is_of_job = a->job_id != NULL;
	}
	if (is_ordinary(r, a))
		return 0;
	note = note_of(r, &at, NOTE_ANOMALY);
	snprintf(note.name + strlen(note.name), sizeof note.name - strlen(note.name), " %s",
	         a->kind);
	note.severity = a->severity;
	note.lasts = !a->ended_ns && r->job.status == JOB_RUNNING;
	add_note(r, &at, note);
	return 0;
}

/* Records point to the copies of their texts, now that these do not move any more. */
static void set_texts(struct report *r)
{
	for (size_t i = 0; i < r->n_costly; i++) {
		r->costly[i].p.comm = r->costly[i].name;
		r->costly[i].p.command = r->costly[i].command;
	}
	vec_each(&r->gpus, gpu)
		gpu->g.name = gpu->name;
	vec_each(&r->anomalies, one) {
		one->a.kind = one->kind;
		one->a.description = one->text;
		one->a.job_id = one->is_of_job ? r->job.id : NULL;
	}
	vec_each(&r->calls, call) {
		call->c.call = call->call;
		call->c.error = call->error;
		call->c.text = r->call_text.at + call->text_at;
	}
}

/* Those that became part of another. */
static void remove_empty_notes(struct report *r)
{
	size_t kept = 0;

	vec_each(&r->notes, note)
		if (note->count)
			r->notes.at[kept++] = *note;
	r->notes.len = kept;
	map_reset(&r->note_of);
}

static int by_time(const void *a, const void *b)
{
	const struct report_mark *x = a, *y = b;

	return (x->wall_ns > y->wall_ns) - (x->wall_ns < y->wall_ns);
}

void report_end(struct report *r)
{
	const struct event_record end = { .wall_ns = r->job.ended_ns };
	struct figure leaked = r->job.figures[JOB_FIGURE_LEAKED];

	set_texts(r);
	if (r->marks_dropped)
		qsort(r->marks.at, r->marks.len, sizeof *r->marks.at, by_time);
	remove_empty_notes(r);
	if (r->job.ended_ns && figure_is_known(leaked) && leaked.value)
		add_note(
			r, &end,
			(struct report_note){ .kind = NOTE_LEFT, .amount = (int64_t)leaked.value });
}
