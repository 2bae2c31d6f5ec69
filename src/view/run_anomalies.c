/* SPDX-License-Identifier: MIT */
#include "view/run_anomalies.h"

#include <stdio.h>

#include "view/format.h"

void run_anomalies_add(struct run_anomalies *notes, const struct anomaly *a)
{
	size_t at = notes->n;

	if (a->news != ANOMALY_ENDED || a->severity < SEVERITY_HIGH)
		return;
	while (at > 0 && (notes->worst[at - 1].severity < a->severity ||
	                  (notes->worst[at - 1].severity == a->severity &&
	                   notes->worst[at - 1].seq > a->seq)))
		at--;
	notes->more += notes->n == RUN_ANOMALIES;
	if (at == RUN_ANOMALIES)
		return;
	notes->n = MIN(notes->n + 1, (size_t)RUN_ANOMALIES);
	memmove(&notes->worst[at + 1], &notes->worst[at],
	        (notes->n - 1 - at) * sizeof *notes->worst);
	notes->worst[at] = *a;
}

/* "memory spike:", whose, and what there is to say: a narrow terminal has them in lines of their
 * own. */
static void put_note(struct facts *f, const struct anomaly *a, const struct canvas *to)
{
	struct buf text = { 0 };
	const char *name = anomaly_kinds[a->kind].name, *rest, *arrow;
	char who[COMM_LEN + 16] = "";

	anomaly_describe(a, &text);
	if (a->id.pid)
		snprintf(who, sizeof who, "%.*s %d ", COMM_LEN, a->comm, a->id.pid);
	rest = text.at + strlen(name) + 2 + strlen(who);
	arrow = to->unicode ? NULL : strstr(rest, "→");
	facts_begin(f, "note", severity_name(a->severity));
	facts_part(f, "%s:", name);
	if (*who)
		facts_join(f, FACT_WORD, "%.*s", (int)strlen(who) - 1, who);
	if (arrow)
		facts_join(f, FACT_WORD, "%.*s->%s", (int)(arrow - rest), rest,
		           arrow + strlen("→"));
	else
		facts_join(f, FACT_WORD, "%s", rest);
	buf_done(&text);
}

void run_anomalies_put(const struct run_anomalies *notes, const struct canvas *to, struct facts *f)
{
	for (size_t i = 0; i < notes->n; i++)
		put_note(f, &notes->worst[i], to);
	if (!notes->more)
		return;
	facts_begin(f, "", "");
	facts_part(f, "… and %s more", format_count(notes->more).at);
}
