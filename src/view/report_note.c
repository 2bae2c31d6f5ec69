/* SPDX-License-Identifier: MIT */
/* What is worth knowing of what happened: most events are not, and of those that are, many say the
 * same. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/signal_name.h"
#include "view/format.h"
#include "view/job_view.h"
#include "view/report.h"

#define GAP_TOLD_NS NS_PER_S /* shorter ones are in the events */

/* In the order in which they matter. */
enum rank {
	RANK_OOM,
	RANK_LIMIT,
	RANK_KILL,
	RANK_ANOMALY,
	RANK_DEATH, /* by a signal */
	RANK_LOSS,
	RANK_FAILURE, /* an exit with another code than 0 */
	RANK_SIGNAL,
	RANK_PROBE,
};

static uint64_t hash_text(uint64_t h, const char *text)
{
	return hash_bytes(h, text, strlen(text) + 1);
}

/* The note of this key, new when its count is 0; NULL at the ceiling. */
static struct report_note *find_note(struct report *r, uint64_t key)
{
	struct report_note *note;
	uint64_t index;

	if (map_get(&r->note_of, key, &index))
		return &r->notes.at[index];
	note = vec_push(&r->notes, REPORT_NOTES_MAX);
	if (note)
		map_put(&r->note_of, key, r->notes.len - 1);
	return note;
}

static void add_note(struct report *r, const struct event_record *e, enum rank rank, enum ink ink,
                     const char *what, const char *text)
{
	uint64_t key = hash_text(hash_text(HASH_SEED + rank, what), text);
	struct report_note *note = find_note(r, key);

	if (!note) {
		r->notes_dropped++;
		return;
	}
	if (!note->count) {
		*note = (struct report_note){
			.key = key, .first_ns = e->wall_ns, .ink = ink, .rank = rank
		};
		snprintf(note->what, sizeof note->what, "%s", what);
		snprintf(note->text, sizeof note->text, "%s", text);
	}
	note->count++;
}

/* By name, without the pid: those of one name are told together. */
static struct words who(const struct report *r, const struct event_record *e)
{
	const char *name = report_name_of(r, e->process);
	struct words w;

	snprintf(w.at, sizeof w.at, "%s", name ? name : "a process of unknown name");
	return w;
}

static void add_exit(struct report *r, const struct event_record *e)
{
	bool has_core = e->details && strstr(e->details, "core dumped");

	uint64_t known;

	if (map_get(&r->passed, proc_key(e->process), &known))
		return;
	/* Who was told to have been killed, and by whom, need not be told to have died of it. */
	if (e->signal == SIGKILL && map_get(&r->killed, proc_key(e->process), &known))
		return;
	if (e->signal)
		add_note(r, e, RANK_DEATH, INK_BAD, exit_words(false, 0, e->signal, has_core).at,
		         who(r, e).at);
	else if (e->has_exit_code && e->exit_code)
		add_note(r, e, RANK_FAILURE, INK_WARN, exit_words(true, e->exit_code, 0, false).at,
		         who(r, e).at);
}

/* Broken pipes, faults and abort() come from the process itself: that it died of them is told. */
static bool is_from_itself(const struct event_record *e)
{
	char self[32];

	snprintf(self, sizeof self, "(pid %d,", e->process.pid);
	return e->details && strstr(e->details, self);
}

bool report_is_echo(const struct report *r, const struct event_record *e)
{
	uint64_t known;

	return (e->kind == EVENT_SIGNAL || e->kind == EVENT_KILL) && is_from_itself(e) &&
	       map_get(&r->passed, proc_key(e->process), &known);
}

static void add_sent(struct report *r, const struct event_record *e)
{
	char text[REPORT_TEXT_MAX];

	if ((e->kind == EVENT_SIGNAL && is_from_itself(e)) || report_is_echo(r, e))
		return;
	if (e->kind == EVENT_KILL && r->killed.len < REPORT_LIVES_MAX)
		map_put(&r->killed, proc_key(e->process), 1);
	snprintf(text, sizeof text, "to %s, %s", who(r, e).at,
	         e->details && *e->details ? e->details : "sender not known");
	add_note(r, e, e->kind == EVENT_KILL ? RANK_KILL : RANK_SIGNAL,
	         e->kind == EVENT_KILL ? INK_BAD : INK_PLAIN, signal_name(e->signal).at, text);
}

static void add_oom(struct report *r, const struct event_record *e)
{
	char text[REPORT_TEXT_MAX];

	snprintf(text, sizeof text, "%s %d was chosen by the kernel's OOM killer", who(r, e).at,
	         e->process.pid);
	add_note(r, e, RANK_OOM, INK_BAD, "out of memory", text);
}

static void add_word(struct report *r, const struct event_record *e, enum rank rank,
                     const char *what)
{
	add_note(r, e, rank, INK_WARN, what, e->details ? e->details : "");
}

static void add_span(struct report *r, const struct event_record *e, const char *what,
                     const char *fmt_text)
{
	char text[REPORT_TEXT_MAX];
	uint64_t ns = (uint64_t)llabs(e->count);

	snprintf(text, sizeof text, "%s%s%s%s%s", fmt_text, format_duration(ns).at,
	         e->details && *e->details ? " (" : "", e->details ? e->details : "",
	         e->details && *e->details ? ")" : "");
	add_note(r, e, RANK_LOSS, INK_WARN, what, text);
}

static void add_loss(struct report *r, const struct event_record *e)
{
	char text[REPORT_TEXT_MAX];

	if (e->count > 0)
		snprintf(text, sizeof text, "%s events%s%s", format_count((uint64_t)e->count).at,
		         e->details && *e->details ? ": " : "", e->details ? e->details : "");
	else
		snprintf(text, sizeof text, "an unknown number of events%s%s",
		         e->details && *e->details ? ": " : "", e->details ? e->details : "");
	add_note(r, e, RANK_LOSS, INK_WARN, "lost", text);
}

static void add_mark(struct report *r, const struct event_record *e)
{
	struct report_mark *mark = vec_push(&r->marks, REPORT_MARKS_MAX);

	if (!mark) {
		r->marks_dropped++;
		return;
	}
	mark->wall_ns = e->wall_ns;
	mark->took_ns = e->kind == EVENT_PHASE && e->count > 0 ? (uint64_t)e->count : 0;
	mark->sheet = e->sheet;
	snprintf(mark->name, sizeof mark->name, "%s", e->name ? e->name : "");
	snprintf(mark->data, sizeof mark->data, "%s", e->details ? e->details : "");
}

void report_add_event(struct report *r, const struct event_record *e)
{
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
		add_loss(r, e);
		break;
	case EVENT_GAP:
		if (e->count >= (int64_t)GAP_TOLD_NS)
			add_span(r, e, "gap", "nothing was stored for ");
		break;
	case EVENT_CLOCK_STEP:
		add_span(r, e, "clock", e->count < 0 ? "set back by " : "set forward by ");
		break;
	case EVENT_SUSPEND:
		add_span(r, e, "suspend", "the machine slept for ");
		break;
	case EVENT_PROBE:
		add_word(r, e, RANK_PROBE, "probe");
		break;
	case EVENT_RECORDER:
		add_word(r, e, RANK_PROBE, "recorder");
		break;
	case EVENT_LIMIT:
		add_word(r, e, RANK_LIMIT, e->name && *e->name ? e->name : "limit");
		break;
	case EVENT_MARK:
	case EVENT_PHASE:
		add_mark(r, e);
		break;
	case EVENT_SPAWN:
	case EVENT_EXEC:
	case EVENT_TOTALS:
	case EVENT_ANOMALY: /* told once, with its end: report_add_anomaly() */
	case EVENT_KIND_COUNT:
		break;
	}
}

static void keep_anomaly(struct report *r, const struct anomaly_record *a)
{
	struct report_anomaly *kept = vec_push(&r->anomalies, REPORT_ANOMALIES_MAX);

	if (!kept)
		return;
	kept->a = *a;
	kept->a.kind = kept->a.job_id = kept->a.description = NULL;
	snprintf(kept->kind, sizeof kept->kind, "%s", a->kind);
	snprintf(kept->text, sizeof kept->text, "%s", a->description);
}

void report_add_anomaly(struct report *r, const struct anomaly_record *a)
{
	const struct event_record at = { .wall_ns = a->began_ns };
	char text[REPORT_TEXT_MAX];

	keep_anomaly(r, a);
	snprintf(text, sizeof text, "%.150s, %s%s", a->description, severity_name(a->severity),
	         a->ended_ns || r->job.status != JOB_RUNNING ? "" : ", it lasts");
	add_note(r, &at, RANK_ANOMALY, a->severity == SEVERITY_CRITICAL ? INK_BAD : INK_WARN,
	         "anomaly", text);
}

void report_add_rest(struct report *r)
{
	const struct event_record end = { .wall_ns = r->job.ended_ns };
	struct figure leaked = r->job.figures[JOB_FIGURE_LEAKED];
	char text[REPORT_TEXT_MAX + 32];

	if (!r->job.ended_ns || !figure_is_known(leaked) || !leaked.value)
		return;
	if (leaked.value == r->unended && *r->left)
		snprintf(text, sizeof text, "%s%s", r->left, leaked.value > 5 ? ", …" : "");
	else
		snprintf(text, sizeof text, "%s process%s", format_count(leaked.value).at,
		         leaked.value == 1 ? "" : "es");
	add_note(r, &end, RANK_FAILURE, INK_WARN, "left behind", text);
}
