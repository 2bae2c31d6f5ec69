/* SPDX-License-Identifier: MIT */
#include "view/note_view.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/signal_name.h"
#include "view/format.h"
#include "view/job_view.h"

static void say(struct note_words *w, const char *what, const char *fmt, ...) printf_like(3, 4);
static void say(struct note_words *w, const char *what, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	snprintf(w->what, sizeof w->what, "%s", what);
	vsnprintf(w->text, sizeof w->text, fmt, ap);
	va_end(ap);
}

static void put_span(struct note_words *w, const struct report_note *n, const char *what,
                     const char *before)
{
	say(w, what, "%s%s%s%s%s", before, format_duration((uint64_t)llabs(n->amount)).at,
	    *n->details ? " (" : "", n->details, *n->details ? ")" : "");
}

static void put_loss(struct note_words *w, const struct report_note *n)
{
	const char *colon = *n->details ? ": " : "";

	if (n->amount > 0)
		say(w, "lost", "%s events%s%s", format_count((uint64_t)n->amount).at, colon,
		    n->details);
	else
		say(w, "lost", "an unknown number of events%s%s", colon, n->details);
}

static void put_left(struct note_words *w, const struct report *r, uint64_t leaked)
{
	struct buf names = { 0 };

	if (leaked == r->unended)
		for (size_t i = 0; i < MIN(leaked, (uint64_t)REPORT_LEFT); i++)
			buf_printf(&names, "%s%s %d", i ? ", " : "", r->left[i].name,
			           r->left[i].pid);
	if (names.len)
		say(w, "left behind", "%s%s", names.at, leaked > REPORT_LEFT ? ", …" : "");
	else
		say(w, "left behind", "%s process%s", format_count(leaked).at,
		    leaked == 1 ? "" : "es");
	buf_done(&names);
}

struct note_words note_view(const struct report *r, const struct report_note *n)
{
	const char *name = *n->name ? n->name : "a process of unknown name";
	struct note_words w = { .ink = INK_WARN };

	switch (n->kind) {
	case NOTE_OOM:
		w.ink = INK_BAD;
		say(&w, "out of memory", "%s %d was chosen by the kernel's OOM killer", name,
		    n->pid);
		break;
	case NOTE_LIMIT:
		say(&w, *n->name ? n->name : "limit", "%s", n->details);
		break;
	case NOTE_KILL:
	case NOTE_SIGNAL:
		w.ink = n->kind == NOTE_KILL ? INK_BAD : INK_PLAIN;
		say(&w, signal_name(n->signal).at, "to %s, %s", name,
		    *n->details ? n->details : "sender not known");
		break;
	case NOTE_ANOMALY:
		w.ink = n->severity == SEVERITY_CRITICAL ? INK_BAD : INK_WARN;
		say(&w, "anomaly", "%.150s, %s%s", n->details, severity_name(n->severity),
		    n->lasts ? ", it lasts" : "");
		break;
	case NOTE_DEATH:
	case NOTE_FAILURE:
		w.ink = n->kind == NOTE_DEATH ? INK_BAD : INK_WARN;
		say(&w, exit_words(!n->signal, n->exit_code, n->signal, n->core_dumped).at, "%s",
		    name);
		break;
	case NOTE_LOSS:
		put_loss(&w, n);
		break;
	case NOTE_GAP:
		put_span(&w, n, "gap", "nothing was stored for ");
		break;
	case NOTE_CLOCK:
		put_span(&w, n, "clock", n->amount < 0 ? "set back by " : "set forward by ");
		break;
	case NOTE_SUSPEND:
		put_span(&w, n, "suspend", "the machine slept for ");
		break;
	case NOTE_LEFT:
		put_left(&w, r, (uint64_t)n->amount);
		break;
	case NOTE_PROBE:
		say(&w, "probe", "%s", n->details);
		break;
	case NOTE_RECORDER:
		say(&w, "recorder", "%s", n->details);
		break;
	}
	return w;
}
