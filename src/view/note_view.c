/* SPDX-License-Identifier: MIT */
#include "view/note_view.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/signal_name.h"
#include "view/format.h"
#include "view/job_view.h"

/* Those whose head and ink do not depend on the note; `span`: the words before a time. */
static const struct {
	enum ink ink;
	const char *what, *span;
} kinds[] = {
	[NOTE_OOM] = { INK_BAD, "out of memory" },
	[NOTE_LIMIT] = { INK_WARN, "limit" },
	[NOTE_KILL] = { INK_BAD },
	[NOTE_ANOMALY] = { INK_WARN, "anomaly" },
	[NOTE_DEATH] = { INK_BAD },
	[NOTE_LOSS] = { INK_WARN, "lost" },
	[NOTE_GAP] = { INK_WARN, "gap", "nothing was stored for " },
	[NOTE_CLOCK] = { INK_WARN, "clock", "set forward by " },
	[NOTE_SUSPEND] = { INK_WARN, "suspend", "the machine slept for " },
	[NOTE_FAILURE] = { INK_WARN },
	[NOTE_LEFT] = { INK_WARN, "left behind" },
	[NOTE_SIGNAL] = { INK_PLAIN },
	[NOTE_PROBE] = { INK_WARN, "probe" },
	[NOTE_GPU] = { INK_WARN, "gpu" },
	[NOTE_RECORDER] = { INK_WARN, "recorder" },
};

static void put_left(struct buf *to, const struct report *r, uint64_t leaked)
{
	if (leaked != r->unended) {
		buf_printf(to, "%s process%s", format_count(leaked).at, leaked == 1 ? "" : "es");
		return;
	}
	for (size_t i = 0; i < MIN(leaked, (uint64_t)REPORT_LEFT); i++)
		buf_printf(to, "%s%s %d", i ? ", " : "", r->left[i].name, r->left[i].pid);
	if (leaked > REPORT_LEFT)
		buf_puts(to, ", …");
}

static void put_text(struct buf *to, const struct report *r, const struct report_note *n)
{
	const char *name = *n->name ? n->name : "a process of unknown name";

	switch (n->kind) {
	case NOTE_OOM:
		buf_printf(to, "%s %d was chosen by the kernel's OOM killer", name, n->pid);
		break;
	case NOTE_KILL:
	case NOTE_SIGNAL:
		buf_printf(to, "to %s, %s", name, *n->details ? n->details : "sender not known");
		break;
	case NOTE_ANOMALY:
		buf_printf(to, "%.150s, %s%s", n->details, anomaly_severity_name(n->severity),
		           n->lasts ? ", it lasts" : "");
		break;
	case NOTE_DEATH:
	case NOTE_FAILURE:
		buf_puts(to, name);
		break;
	case NOTE_LOSS:
		buf_printf(to, "%s events%s%s",
		           n->amount > 0 ? format_count((uint64_t)n->amount).at
		                         : "an unknown number of",
		           *n->details ? ": " : "", n->details);
		break;
	case NOTE_GAP:
	case NOTE_CLOCK:
	case NOTE_SUSPEND:
		buf_printf(to, "%s%s%s%s%s",
		           n->kind == NOTE_CLOCK && n->amount < 0 ? "set back by "
		                                                  : kinds[n->kind].span,
		           format_duration((uint64_t)llabs(n->amount)).at, *n->details ? " (" : "",
		           n->details, *n->details ? ")" : "");
		break;
	case NOTE_LEFT:
		put_left(to, r, (uint64_t)n->amount);
		break;
	case NOTE_LIMIT:
	case NOTE_PROBE:
	case NOTE_GPU:
	case NOTE_RECORDER:
		buf_puts(to, n->details);
		break;
	}
}

struct note_words note_view(const struct report *r, const struct report_note *n)
{
	bool is_critical = n->kind == NOTE_ANOMALY && n->severity == SEVERITY_CRITICAL;
	bool is_sent = n->kind == NOTE_KILL || n->kind == NOTE_SIGNAL;
	struct note_words w = { .ink = is_critical ? INK_BAD : kinds[n->kind].ink };
	struct words how = job_view_exit_words(!n->signal, n->exit_code, n->signal, n->core_dumped);
	cleanup(buf_done) struct buf text = { 0 };

	put_text(&text, r, n);
	snprintf(w.text, sizeof w.text, "%s", text.at ? text.at : "");
	snprintf(w.what, sizeof w.what, "%.23s",
	         is_sent                             ? signal_name(n->signal).at
	         : n->kind == NOTE_LIMIT && *n->name ? n->name
	         : kinds[n->kind].what               ? kinds[n->kind].what
	                                             : how.at);
	return w;
}
