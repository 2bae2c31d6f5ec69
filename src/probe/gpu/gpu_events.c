/* SPDX-License-Identifier: MIT */
#include "probe/gpu/gpu_events.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define EPISODE_ENDS_NS (10 * NS_PER_S) /* without throttling */
#define ECC_GAP_NS (10 * NS_PER_S)      /* between two events of corrected errors */

static void emit(struct sample *out, const struct gpu_sample *gpu, const char *name, int64_t count,
                 const char *what)
{
	struct event *e = sample_add_event(out, EVENT_GPU);
	char text[400];

	if (!e)
		return;
	snprintf(text, sizeof text, "GPU %u%s%s%s: %s", gpu->index, gpu->name[0] ? " (" : "",
	         gpu->name, gpu->name[0] ? ")" : "", what);
	e->boot_ns = out->boot_ns;
	e->gpu = gpu->index;
	e->count = count;
	e->name = sample_add_text(out, name, strlen(name));
	e->text = sample_add_text(out, text, strlen(text));
}

static struct gpu_history *find(struct gpu_events *e, uint32_t index)
{
	for (size_t i = 0; i < e->count; i++)
		if (e->at[i].index == index)
			return &e->at[i];
	if (e->count == GPUS_MAX)
		return NULL;
	e->at[e->count] = (struct gpu_history){ .index = index };
	return &e->at[e->count++];
}

/* ---- losses ---------------------------------------------------------------------------------- */

static void lose(struct gpu_history *h, const struct gpu_sample *gpu, struct sample *out)
{
	if (!h->has_answered || h->is_lost)
		return;
	h->is_lost = true;
	h->lost_ns = out->mono_ns;
	emit(out, gpu, "lost", 0, "does not answer any more");
}

static void find_again(struct gpu_history *h, const struct gpu_sample *gpu, struct sample *out)
{
	uint64_t lasted_ns = out->mono_ns - h->lost_ns;
	char what[80];

	h->is_lost = false;
	snprintf(what, sizeof what, "answers again, after %.1f s",
	         (double)lasted_ns / (double)NS_PER_S);
	emit(out, gpu, "lost_end", (int64_t)lasted_ns, what);
}

/* A GPU that never answered may not be visible to this process, and is not lost. */
static void feed_answer(struct gpu_history *h, const struct gpu_sample *gpu, struct sample *out)
{
	h->fed_ns = out->mono_ns;
	h->is_part = gpu->is_part;
	memcpy(h->name, gpu->name, sizeof h->name);
	if (gpu->is_lost) {
		lose(h, gpu, out);
	} else if (gpu->r.present) {
		h->has_answered = true;
		if (h->is_lost)
			find_again(h, gpu, out);
	}
}

/* A part may be gone because the GPU was divided anew. */
void gpu_events_end_tick(struct gpu_events *e, struct sample *out)
{
	for (struct gpu_history *h = e->at; h < e->at + e->count; h++) {
		struct gpu_sample gpu = { .index = h->index };

		if (h->fed_ns == out->mono_ns || h->is_part)
			continue;
		memcpy(gpu.name, h->name, sizeof gpu.name);
		lose(h, &gpu, out);
	}
}

/* ---- throttling ------------------------------------------------------------------------------ */

static void begin_episode(struct gpu_history *h, const struct gpu_sample *gpu, struct sample *out)
{
	char reasons[200], what[240];

	h->is_throttled = true;
	h->began_ns = out->mono_ns;
	h->reasons = gpu->health.throttle;
	gpu_throttle_words(h->reasons, reasons, sizeof reasons);
	snprintf(what, sizeof what, "throttled: %s", reasons);
	emit(out, gpu, "throttle", 0, what);
}

static void end_episode(struct gpu_history *h, const struct gpu_sample *gpu, struct sample *out)
{
	uint64_t lasted_ns = h->seen_ns - h->began_ns;
	char reasons[200], what[280];

	h->is_throttled = false;
	gpu_throttle_words(h->reasons, reasons, sizeof reasons);
	snprintf(what, sizeof what, "no longer throttled, after %.1f s: %s",
	         (double)lasted_ns / (double)NS_PER_S, reasons);
	emit(out, gpu, "throttle_end", (int64_t)lasted_ns, what);
}

static void feed_throttle(struct gpu_history *h, const struct gpu_sample *gpu, struct sample *out)
{
	if (gpu->health.throttle) {
		if (!h->is_throttled)
			begin_episode(h, gpu, out);
		h->reasons |= gpu->health.throttle;
		h->seen_ns = out->mono_ns;
	} else if (h->is_throttled && out->mono_ns - h->seen_ns >= EPISODE_ENDS_NS) {
		end_episode(h, gpu, out);
	}
}

/* ---- memory errors --------------------------------------------------------------------------- */

static void emit_ecc(const struct gpu_sample *gpu, uint64_t n, const char *kind, struct sample *out)
{
	char what[120];

	snprintf(what, sizeof what, "%llu %s memory error%s (ECC)", (unsigned long long)n, kind,
	         n == 1 ? "" : "s");
	emit(out, gpu, "ecc", (int64_t)n, what);
}

/* A counter that fell was reset, by a new driver or an administrator. */
static bool rose(bool had, uint64_t before, uint64_t now)
{
	return had && now > before;
}

/* Uncorrected ones are reported at once. */
static void feed_ecc(struct gpu_history *h, const struct gpu_sample *gpu, struct sample *out)
{
	const struct gpu_health *now = &gpu->health;
	bool is_late = !h->reported_ns || out->mono_ns - h->reported_ns >= ECC_GAP_NS;

	if (now->knows_uncorrected) {
		if (rose(h->has_uncorrected, h->uncorrected, now->ecc_uncorrected))
			emit_ecc(gpu, now->ecc_uncorrected - h->uncorrected, "uncorrectable", out);
		h->has_uncorrected = true;
		h->uncorrected = now->ecc_uncorrected;
	}
	if (!now->knows_corrected)
		return;
	if (rose(h->has_corrected, h->corrected, now->ecc_corrected)) {
		if (!is_late)
			return;
		emit_ecc(gpu, now->ecc_corrected - h->corrected, "corrected", out);
		h->reported_ns = out->mono_ns;
	}
	h->has_corrected = true;
	h->corrected = now->ecc_corrected;
}

void gpu_events_feed(struct gpu_events *e, const struct gpu_sample *gpu, struct sample *out)
{
	struct gpu_history *h = find(e, gpu->index);

	if (!h)
		return;
	feed_answer(h, gpu, out);
	if (gpu->health.knows_throttle)
		feed_throttle(h, gpu, out);
	feed_ecc(h, gpu, out);
}

/* ---- critical errors ------------------------------------------------------------------------- */

/* The names in NVIDIA's documentation, shortened. */
static const struct {
	uint32_t code;
	const char *words;
} xids[] = {
	{ 13, "graphics engine exception" },
	{ 31, "memory page fault" },
	{ 32, "invalid or corrupted push buffer" },
	{ 43, "stopped processing" },
	{ 45, "preemptive cleanup, due to previous errors" },
	{ 48, "double bit ECC error" },
	{ 61, "internal micro-controller breakpoint" },
	{ 62, "internal micro-controller halt" },
	{ 63, "ECC page retirement or row remapping" },
	{ 64, "ECC page retirement or row remapping failed" },
	{ 68, "video processor exception" },
	{ 69, "graphics engine class error" },
	{ 74, "NVLink error" },
	{ 79, "fallen off the bus" },
	{ 92, "high rate of single bit ECC errors" },
	{ 94, "contained ECC error" },
	{ 95, "uncontained ECC error" },
	{ 119, "GSP remote call timed out" },
	{ 120, "GSP error" },
};

void gpu_events_xid(const struct gpu_sample *gpu, uint32_t code, struct sample *out)
{
	const char *words = NULL;
	char what[120];

	for (size_t i = 0; i < ARRAY_LEN(xids); i++)
		if (xids[i].code == code)
			words = xids[i].words;
	snprintf(what, sizeof what, "XID %u%s%s", code, words ? ", " : "", words ? words : "");
	emit(out, gpu, "xid", code, what);
}
