/* SPDX-License-Identifier: MIT */
#include "probe/gpu/gpu_report.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define PIDS_MAX (UINT64_C(1) << 22)
#define HEAD_BYTES offsetof(struct gpu_report, gpus)

void gpu_report_begin(struct gpu_report *r)
{
	r->verdict = GPU_REPORTED;
	r->gpu_count = r->use_count = r->xid_count = 0;
	r->listed = 0;
	r->text[0] = '\0';
}

void gpu_report_refuse(struct gpu_report *r, enum gpu_verdict verdict, const char *fmt, ...)
{
	va_list ap;

	gpu_report_begin(r);
	r->verdict = verdict;
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
	return buf_put(to, r, HEAD_BYTES) && buf_put(to, r->gpus, r->gpu_count * sizeof *r->gpus) &&
	       buf_put(to, r->uses, r->use_count * sizeof *r->uses);
}

static bool is_text(const char *text, size_t cap)
{
	return memchr(text, '\0', cap) != NULL;
}

static bool head_is_sane(const struct gpu_report *r, size_t n)
{
	return (unsigned)r->verdict <= GPU_IMPOSSIBLE && r->gpu_count <= GPUS_MAX &&
	       r->use_count <= GPU_USES_MAX && r->xid_count <= GPU_XIDS_MAX &&
	       is_text(r->text, sizeof r->text) &&
	       n == HEAD_BYTES + r->gpu_count * sizeof *r->gpus + r->use_count * sizeof *r->uses;
}

/* Memory that was written over may hold any byte there. */
static bool is_flag(const bool *flag)
{
	unsigned char byte;

	memcpy(&byte, flag, sizeof byte);
	return byte <= 1;
}

static bool flags_are_sane(const struct gpu_sample *g)
{
	return is_flag(&g->is_part) && is_flag(&g->is_lost) && is_flag(&g->knows_processes) &&
	       is_flag(&g->health.knows_throttle) && is_flag(&g->health.knows_corrected) &&
	       is_flag(&g->health.knows_uncorrected);
}

static bool lists_are_sane(const struct gpu_report *r)
{
	for (const struct gpu_sample *g = r->gpus; g < r->gpus + r->gpu_count; g++)
		if (!is_text(g->name, sizeof g->name) || !is_text(g->uuid, sizeof g->uuid) ||
		    !is_text(g->bus, sizeof g->bus) || g->r.present >> GPU_METRIC_COUNT ||
		    g->at_least >> GPU_METRIC_COUNT || g->health.throttle >> GPU_THROTTLE_COUNT ||
		    !flags_are_sane(g))
			return false;
	for (uint32_t i = 0; i < r->xid_count; i++)
		if (r->xids[i].gpu >= r->gpu_count)
			return false;
	for (const struct gpu_use *u = r->uses; u < r->uses + r->use_count; u++)
		if (u->gpu >= r->gpu_count || u->id.pid <= 0 || (uint64_t)u->id.pid > PIDS_MAX ||
		    u->r.present >> GPU_USE_METRIC_COUNT || !is_flag(&u->is_partial))
			return false;
	return true;
}

static void drop(uint64_t *present, unsigned id, bool is_nonsense)
{
	if (is_nonsense)
		*present &= ~(UINT64_C(1) << id);
}

/* Some drivers fill in nonsense: shares above 100 %, and more memory than there is. */
static void drop_nonsense(struct gpu_report *r)
{
	for (struct gpu_sample *g = r->gpus; g < r->gpus + r->gpu_count; g++) {
		uint64_t total = readings_or(&g->r, GPU_MEM_TOTAL, UINT64_MAX);

		drop(&g->r.present, GPU_UTIL, g->r.value[GPU_UTIL] > 100);
		drop(&g->r.present, GPU_MEM_UTIL, g->r.value[GPU_MEM_UTIL] > 100);
		drop(&g->r.present, GPU_MEM_USED, g->r.value[GPU_MEM_USED] > total);
	}
	for (struct gpu_use *u = r->uses; u < r->uses + r->use_count; u++) {
		uint64_t total = readings_or(&r->gpus[u->gpu].r, GPU_MEM_TOTAL, UINT64_MAX);

		drop(&u->r.present, GPU_USE_SM, u->r.value[GPU_USE_SM] > 100);
		drop(&u->r.present, GPU_USE_MEM, u->r.value[GPU_USE_MEM] > total);
	}
}

int gpu_report_decode(const void *bytes, size_t n, struct gpu_report *ret, struct err *err)
{
	const char *gpus = (const char *)bytes + HEAD_BYTES;

	if (n < HEAD_BYTES)
		return err_set(err, EBADMSG, "the GPU helper's answer is short");
	memcpy(ret, bytes, HEAD_BYTES);
	if (!head_is_sane(ret, n))
		return err_set(err, EBADMSG, "the GPU helper's answer is garbled");
	memcpy(ret->gpus, gpus, ret->gpu_count * sizeof *ret->gpus);
	memcpy(ret->uses, gpus + ret->gpu_count * sizeof *ret->gpus,
	       ret->use_count * sizeof *ret->uses);
	if (!lists_are_sane(ret))
		return err_set(err, EBADMSG, "the GPU helper's answer is garbled");
	drop_nonsense(ret);
	for (uint32_t i = 0; i < ret->use_count; i++) { /* the recorder alone knows these */
		ret->uses[i].has_host_pid = false;
		ret->uses[i].job = -1;
	}
	return 0;
}
