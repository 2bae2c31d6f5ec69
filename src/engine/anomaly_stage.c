/* SPDX-License-Identifier: MIT */
#include "engine/anomaly_stage.h"

static struct text_ref add_text(struct snapshot *snap, const struct buf *text)
{
	struct text_ref ref = { (uint32_t)snap->text.len, (uint32_t)text->len };

	return buf_put(&snap->text, text->at, text->len) ? ref : (struct text_ref){ 0 };
}

static void put_words(struct buf *to, const struct anomaly *a)
{
	if (a->news == ANOMALY_ENDED)
		buf_puts(to, "over: ");
	anomaly_describe(a, to);
	buf_printf(to, ", %s", severity_name(a->severity));
}

static void add_event(struct snapshot *snap, const struct anomaly *a)
{
	cleanup(buf_done) struct buf text = { 0 };
	struct event *e = vec_push(&snap->events, EVENTS_MAX);

	if (!e)
		return;
	e->kind = EVENT_ANOMALY;
	e->boot_ns = snap->boot_ns;
	e->wall_ns = snap->wall_ns;
	e->id = a->id;
	memcpy(e->comm, a->comm, sizeof e->comm);
	e->job = a->job;
	e->sheet = a->sheet;
	if (a->news == ANOMALY_ENDED)
		e->count = (int64_t)(a->ended_wall_ns - a->began_wall_ns);
	buf_puts(&text, anomaly_kinds[a->kind].key);
	e->name = add_text(snap, &text);
	buf_reset(&text);
	put_words(&text, a);
	e->text = add_text(snap, &text);
}

static void add_events(struct snapshot *snap)
{
	vec_each(&snap->anomalies, a)
		if (a->news == ANOMALY_BEGAN || a->news == ANOMALY_ENDED)
			add_event(snap, a);
}

static void judge(struct anomaly_stage *w, struct snapshot *snap)
{
	process_history_feed(&w->history, snap, &w->config);
	anomaly_detect(snap, &w->history, &w->config, &w->findings);
	episodes_feed(&w->episodes, &w->findings, snap, &snap->anomalies);
}

void anomaly_stage_run(void *self, struct snapshot *snap)
{
	struct anomaly_stage *w = self;

	if (snap->is_last)
		episodes_end(&w->episodes, snap, &snap->anomalies);
	else if (!snap->events_only && w->config.spike_factor > 0)
		judge(w, snap);
	add_events(snap);
}

bool anomaly_stage_has_open(const struct anomaly_stage *w)
{
	return w->episodes.open.len > 0;
}

void anomaly_stage_done(struct anomaly_stage *w)
{
	process_history_done(&w->history);
	vec_done(&w->findings);
	episodes_done(&w->episodes);
}
