/* SPDX-License-Identifier: MIT */
#include "engine/anomaly_stage.h"

static struct text_ref add_text(struct snapshot *snap, const struct buf *text)
{
	struct text_ref ref = { (uint32_t)snap->text.len, (uint32_t)text->len };

	return buf_put(&snap->text, text->at, text->len) ? ref : (struct text_ref){ 0 };
}

static void describe(struct buf *to, const struct anomaly *a)
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
	describe(&text, a);
	e->text = add_text(snap, &text);
}

static void add_events(struct snapshot *snap)
{
	vec_each(&snap->anomalies, a)
		if (a->news == ANOMALY_BEGAN || a->news == ANOMALY_ENDED)
			add_event(snap, a);
}

static void detect(struct anomaly_stage *stage, struct snapshot *snap)
{
	process_history_feed(&stage->history, snap, &stage->config);
	anomaly_detect(snap, &stage->history, &stage->config, &stage->findings);
	episodes_feed(&stage->episodes, &stage->findings, snap, &snap->anomalies);
}

void anomaly_stage_run(void *self, struct snapshot *snap)
{
	struct anomaly_stage *stage = self;

	if (snap->is_last)
		episodes_end(&stage->episodes, snap, &snap->anomalies);
	else if (!snap->events_only && stage->config.spike_factor > 0)
		detect(stage, snap);
	add_events(snap);
}

void anomaly_stage_done(struct anomaly_stage *stage)
{
	process_history_done(&stage->history);
	vec_done(&stage->findings);
	episodes_done(&stage->episodes);
}
