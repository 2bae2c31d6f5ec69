/* SPDX-License-Identifier: MIT */
#include "view/blocked_view.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "view/label_lines.h"
#include "view/format.h"

#define SHOWN 8
#define LABEL_COLUMNS 24

static void put_peer(struct label_lines *f, const struct blocked_call *b, const char *before)
{
	if (b->peer)
		label_lines_join(f, LABEL_WORD, "%s %s %d", before, b->peer_name, b->peer);
}

static void put_lock(struct label_lines *f, const struct blocked_call *b)
{
	if (b->owner && b->peer == b->id.pid)
		label_lines_join(f, LABEL_WORD, "held by its thread %d", b->owner);
	else if (b->owner)
		put_peer(f, b, "held by");
	else if (b->sharers > 1)
		label_lines_join(f, LABEL_WORD, "shared with %u processes", b->sharers);
	else
		put_peer(f, b, "shared with");
}

static void put_thing(struct label_lines *f, const struct blocked_call *b)
{
	switch (b->thing) {
	case BLOCKED_ON_FILE:
		label_lines_join(f, LABEL_WORD, "on");
		label_lines_join(f, LABEL_WORD, "%s", *b->text ? b->text : "an open file");
		break;
	case BLOCKED_ON_PIPE:
		label_lines_join(f, LABEL_WORD, "on a pipe");
		put_peer(f, b, b->writes ? "to" : "from");
		break;
	case BLOCKED_ON_SOCKET:
		label_lines_join(f, LABEL_WORD, "on a socket");
		if (*b->text)
			label_lines_join(f, LABEL_WORD, "%s %s", blocked_call_socket_word(b),
			                 b->text);
		put_peer(f, b, "of");
		break;
	case BLOCKED_ON_CHILD:
		label_lines_join(f, LABEL_WORD, b->peer ? "for" : "for its children");
		if (b->peer)
			label_lines_join(f, LABEL_WORD, "%s %d", b->peer_name, b->peer);
		break;
	case BLOCKED_ON_LOCK:
		label_lines_join(f, LABEL_WORD, "on a lock");
		label_lines_join(f, LABEL_WORD, "(%s)", b->text);
		put_lock(f, b);
		break;
	case BLOCKED_ON_FILES:
		if (!b->files) {
			label_lines_join(f, LABEL_WORD, "on several files");
			break;
		}
		label_lines_join(f, LABEL_WORD, "on %u files", b->files);
		label_lines_join(f, LABEL_WORD, "(%s%s)", b->text, b->files > 3 ? ", …" : "");
		break;
	case BLOCKED_ON_TIMER:
	case BLOCKED_ON_UNKNOWN:
	case BLOCKED_THING_COUNT:
		break;
	}
}

static void put_call(struct label_lines *f, const struct blocked_call *b)
{
	char label[COMM_LEN + 16];

	snprintf(label, sizeof label, "%s %d", b->name, b->id.pid);
	label_lines_begin(f, label, "");
	if (b->state == 'T' || b->state == 't') {
		label_lines_part(f,
		                 b->state == 'T' ? "stopped by a signal" : "stopped by a debugger");
		return;
	}
	if (*b->call)
		label_lines_part(f, "%s", b->call);
	else
		label_lines_part(f, "sleeps%s%s", *b->wchan ? " in " : "", b->wchan);
	put_thing(f, b);
	if (b->threads > 1)
		label_lines_comma(f, "%u threads", b->threads);
	if (b->since_ns)
		label_lines_comma(f, "for %s", format_duration(b->since_ns).at);
	if (b->state == 'D')
		label_lines_comma(f, "cannot be interrupted");
}

/* The most informative comes first. */
static int by_weight(const void *a, const void *b)
{
	static const unsigned char weights[BLOCKED_THING_COUNT] = {
		[BLOCKED_ON_FILE] = 0,  [BLOCKED_ON_SOCKET] = 0,  [BLOCKED_ON_PIPE] = 1,
		[BLOCKED_ON_LOCK] = 2,  [BLOCKED_ON_FILES] = 3,   [BLOCKED_ON_TIMER] = 4,
		[BLOCKED_ON_CHILD] = 6, [BLOCKED_ON_UNKNOWN] = 5,
	};
	const struct blocked_call *x = *(const struct blocked_call *const *)a;
	const struct blocked_call *y = *(const struct blocked_call *const *)b;

	if (weights[x->thing] != weights[y->thing])
		return weights[x->thing] < weights[y->thing] ? -1 : 1;
	return x < y ? -1 : x > y;
}

void blocked_view(const struct blocked_call *calls, size_t n, struct canvas *to)
{
	struct label_lines f = { .indent = 2, .label_columns = LABEL_COLUMNS };
	cleanup(freep) const struct blocked_call **order = xcalloc(n, sizeof *order);

	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		order[i] = &calls[i];
	qsort(order, n, sizeof *order, by_weight);
	canvas_title(to, "Waiting now");
	for (size_t i = 0; i < MIN(n, (size_t)SHOWN); i++)
		put_call(&f, order[i]);
	if (n > SHOWN) {
		label_lines_begin(&f, "", "");
		label_lines_part(&f, "and %zu more", n - SHOWN);
	}
	label_lines_print(&f, to);
	label_lines_done(&f);
}
