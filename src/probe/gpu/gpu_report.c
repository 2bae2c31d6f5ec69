/* SPDX-License-Identifier: MIT */
#include "probe/gpu/gpu_report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAGIC UINT32_C(0x70677031) /* "pgp1" */
#define PIDS_MAX (UINT64_C(1) << 22)

/* Sender and receiver are one binary, so that structs may go as they are. */
struct head {
	uint32_t magic, verdict, gpus, uses;
	uint64_t took_ns, cpu_ns, peak_bytes;
	char text[sizeof(((struct gpu_report *)0)->text)];
};

void gpu_report_refuse(struct gpu_report *r, enum gpu_verdict verdict, const char *fmt, ...)
{
	va_list ap;

	r->verdict = verdict;
	r->gpu_count = r->use_count = 0;
	va_start(ap, fmt);
	vsnprintf(r->text, sizeof r->text, fmt, ap);
	va_end(ap);
}

struct gpu_use *gpu_report_use(struct gpu_report *r, uint32_t gpu, uint64_t pid)
{
	struct gpu_use *u;

	if (pid == 0 || pid > PIDS_MAX)
		return NULL;
	for (uint32_t i = 0; i < r->use_count; i++)
		if (r->uses[i].gpu == gpu && r->uses[i].id.pid == (pid_t)pid)
			return &r->uses[i];
	if (r->use_count == GPU_USES_MAX)
		return NULL;
	u = &r->uses[r->use_count++];
	*u = (struct gpu_use){ .gpu = gpu, .id.pid = (pid_t)pid, .job = -1 };
	return u;
}

bool gpu_report_encode(const struct gpu_report *r, struct buf *to)
{
	struct head head = {
		.magic = MAGIC,
		.verdict = r->verdict,
		.gpus = r->gpu_count,
		.uses = r->use_count,
		.took_ns = r->took_ns,
		.cpu_ns = r->cpu_ns,
		.peak_bytes = r->peak_bytes,
	};

	snprintf(head.text, sizeof head.text, "%s", r->text);
	return buf_put(to, &head, sizeof head) &&
	       buf_put(to, r->gpus, r->gpu_count * sizeof *r->gpus) &&
	       buf_put(to, r->uses, r->use_count * sizeof *r->uses);
}

static bool is_text(const char *text, size_t cap)
{
	return memchr(text, '\0', cap) != NULL;
}

static bool gpu_is_sane(const struct gpu_sample *g)
{
	return is_text(g->name, sizeof g->name) && is_text(g->uuid, sizeof g->uuid) &&
	       g->r.present >> GPU_METRIC_COUNT == 0;
}

static bool use_is_sane(const struct gpu_use *u, uint32_t gpus)
{
	return u->gpu < gpus && u->id.pid > 0 && (uint64_t)u->id.pid <= PIDS_MAX &&
	       u->r.present >> GPU_USE_METRIC_COUNT == 0;
}

static bool head_is_sane(const struct head *h, size_t n)
{
	return h->magic == MAGIC && h->verdict <= GPU_IMPOSSIBLE && h->gpus <= GPUS_MAX &&
	       h->uses <= GPU_USES_MAX && is_text(h->text, sizeof h->text) &&
	       n == sizeof *h + h->gpus * sizeof(struct gpu_sample) +
	                       h->uses * sizeof(struct gpu_use);
}

static bool body_is_sane(const struct head *h, const char *gpus, const char *uses)
{
	struct gpu_sample g;
	struct gpu_use u;

	for (uint32_t i = 0; i < h->gpus; i++) {
		memcpy(&g, gpus + i * sizeof g, sizeof g);
		if (!gpu_is_sane(&g))
			return false;
	}
	for (uint32_t i = 0; i < h->uses; i++) {
		memcpy(&u, uses + i * sizeof u, sizeof u);
		if (!use_is_sane(&u, h->gpus))
			return false;
	}
	return true;
}

int gpu_report_decode(const void *bytes, size_t n, struct gpu_report *ret, struct err *err)
{
	const char *gpus = (const char *)bytes + sizeof(struct head), *uses;
	struct head head;

	if (n < sizeof head)
		return err_set(err, EBADMSG, "the GPU helper's answer is short");
	memcpy(&head, bytes, sizeof head);
	if (!head_is_sane(&head, n))
		return err_set(err, EBADMSG, "the GPU helper's answer is garbled");
	uses = gpus + head.gpus * sizeof(struct gpu_sample);
	if (!body_is_sane(&head, gpus, uses))
		return err_set(err, EBADMSG, "the GPU helper's answer is garbled");
	ret->verdict = (enum gpu_verdict)head.verdict;
	memcpy(ret->text, head.text, sizeof ret->text);
	ret->took_ns = head.took_ns;
	ret->cpu_ns = head.cpu_ns;
	ret->peak_bytes = head.peak_bytes;
	ret->gpu_count = head.gpus;
	ret->use_count = head.uses;
	memcpy(ret->gpus, gpus, head.gpus * sizeof *ret->gpus);
	memcpy(ret->uses, uses, head.uses * sizeof *ret->uses);
	for (uint32_t i = 0; i < head.uses; i++) { /* what only we can tell */
		ret->uses[i].is_foreign = false;
		ret->uses[i].job = -1;
	}
	return 0;
}
