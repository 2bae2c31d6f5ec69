/* SPDX-License-Identifier: MIT */
#include "probe/lifecycle/connector_queue.h"

#include <stdlib.h>
#include <string.h>

void connector_queue_done(struct connector_queue *q)
{
	vec_done(&q->events);
}

void connector_queue_add(struct connector_queue *q, const struct connector_message_event *ev)
{
	struct connector_message_event *to = vec_push(&q->events, CONNECTOR_QUEUE_MAX);

	if (to)
		*to = *ev;
	else
		q->dropped++;
}

/* Within a CPU, by the sequence number, which wraps around. */
static int compare_events(const void *a_, const void *b_)
{
	const struct connector_message_event *a = a_, *b = b_;

	if (a->mono_ns != b->mono_ns)
		return a->mono_ns < b->mono_ns ? -1 : 1;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	return (int32_t)(a->seq - b->seq) < 0 ? -1 : a->seq != b->seq;
}

void connector_queue_release(struct connector_queue *q, uint64_t until_mono_ns)
{
	size_t n = q->events.len - q->ready;

	if (!n)
		return;
	qsort(q->events.at + q->ready, n, sizeof *q->events.at, compare_events);
	while (q->ready < q->events.len && q->events.at[q->ready].mono_ns <= until_mono_ns)
		q->ready++;
}

void connector_queue_release_all(struct connector_queue *q)
{
	q->ready = q->events.len;
}

bool connector_queue_is_empty(const struct connector_queue *q)
{
	return q->taken == q->events.len;
}

size_t connector_queue_ready(const struct connector_queue *q)
{
	return q->ready - q->taken;
}

/* Moves what is left to the beginning once that is the smaller part. */
static void compact(struct connector_queue *q)
{
	size_t left = q->events.len - q->taken;

	if (!left) {
		vec_relax(&q->events);
	} else if (q->taken >= left) {
		memcpy(q->events.at, q->events.at + q->taken, left * sizeof *q->events.at);
		q->events.len = left;
		vec_shrink(&q->events);
	} else {
		return;
	}
	q->ready -= q->taken;
	q->taken = 0;
}

size_t connector_queue_take(struct connector_queue *q, struct connector_message_event *to,
                            size_t max)
{
	size_t n = MIN(max, connector_queue_ready(q));

	if (n)
		memcpy(to, q->events.at + q->taken, n * sizeof *to);
	q->taken += n;
	compact(q);
	return n;
}
