/* SPDX-License-Identifier: MIT */
#include "probe/gpu/nvidia_smi.h"

#include <stdio.h>
#include <string.h>

#define BLANKS " \t\r"

static void trim(struct scan *s)
{
	while (s->p < s->end && strchr(BLANKS, *s->p))
		s->p++;
	while (s->end > s->p && strchr(BLANKS, s->end[-1]))
		s->end--;
}

/* Up to the next comma, without the blanks around. False when there is none left. */
static bool next_field(struct scan *line, struct scan *ret)
{
	if (!line->p)
		return false;
	if (!scan_until(line, ',', ret)) {
		*ret = *line;
		line->p = line->end = NULL;
	}
	trim(ret);
	return true;
}

/* The number alone: "[N/A]", "1e5" and "12 W" are none. */
static bool is_number(struct scan field, unsigned decimals, uint64_t *ret)
{
	uint64_t v;

	if (!scan_fixed(&field, decimals, &v) || !scan_at_end(&field))
		return false;
	*ret = v;
	return true;
}

static void copy_text(struct scan field, char to[GPU_TEXT_MAX])
{
	size_t n = MIN(scan_left(&field), (size_t)GPU_TEXT_MAX - 1);

	if (n && !memchr(field.p, '\0', n))
		memcpy(to, field.p, n);
}

#define MIB (UINT64_C(1) << 20)
#define MIB_MAX (UINT64_MAX / MIB)

/* "0, GPU-5d1f5a4e-…, 34, 12, 1234, 40536, 45, 123.45, 1410, 1215, NVIDIA A100-SXM4-40GB" */
static bool parse_gpu(struct scan line, struct gpu_sample *ret)
{
	static const struct {
		enum gpu_metric id;
		unsigned decimals;
		uint64_t unit, max;
	} columns[] = {
		{ GPU_UTIL, 0, 1, 100 },
		{ GPU_MEM_UTIL, 0, 1, 100 },
		{ GPU_MEM_USED, 0, MIB, MIB_MAX },
		{ GPU_MEM_TOTAL, 0, MIB, MIB_MAX },
		{ GPU_TEMPERATURE, 0, 1, 1000 },
		{ GPU_POWER, 3, 1, UINT64_MAX },
		{ GPU_SM_CLOCK, 0, 1, UINT64_MAX },
		{ GPU_MEM_CLOCK, 0, 1, UINT64_MAX },
	};
	struct gpu_sample gpu = { 0 };
	struct scan field;
	uint64_t v;

	if (!next_field(&line, &field) || !is_number(field, 0, &v) || v > UINT32_MAX)
		return false;
	gpu.index = (uint32_t)v;
	if (!next_field(&line, &field))
		return false;
	copy_text(field, gpu.uuid);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		if (!next_field(&line, &field))
			return false;
		if (is_number(field, columns[i].decimals, &v) && v <= columns[i].max)
			readings_set(&gpu.r, columns[i].id, v * columns[i].unit);
	}
	if (line.p) {
		trim(&line);
		copy_text(line, gpu.name);
	}
	*ret = gpu;
	return true;
}

size_t nvidia_smi_parse_gpus(struct scan text, struct gpu_report *ret)
{
	struct scan line;
	size_t understood = 0;

	while (scan_line(&text, &line)) {
		struct gpu_sample gpu;

		if (ret->gpu_count == GPUS_MAX || !parse_gpu(line, &gpu))
			continue;
		ret->gpus[ret->gpu_count++] = gpu;
		understood++;
	}
	return understood;
}

static bool find_gpu(const struct gpu_report *r, struct scan uuid, uint32_t *ret)
{
	for (uint32_t i = 0; i < r->gpu_count; i++)
		if (r->gpus[i].uuid[0] && scan_eq(&uuid, r->gpus[i].uuid)) {
			*ret = i;
			return true;
		}
	return false;
}

/* "GPU-5d1f5a4e-…, 4711, 1024" */
static bool parse_app(struct scan line, struct gpu_report *to)
{
	struct scan uuid, field;
	struct gpu_use *u;
	uint32_t gpu;
	uint64_t pid, mib;

	if (!next_field(&line, &uuid) || !next_field(&line, &field) || !is_number(field, 0, &pid) ||
	    !next_field(&line, &field) || !find_gpu(to, uuid, &gpu))
		return false;
	u = gpu_report_use(to, gpu, pid);
	if (!u)
		return false;
	if (is_number(field, 0, &mib) && mib <= MIB_MAX)
		readings_set(&u->r, GPU_USE_MEM, mib * MIB);
	return true;
}

size_t nvidia_smi_parse_apps(struct scan text, struct gpu_report *ret)
{
	struct scan line;
	size_t understood = 0;

	while (scan_line(&text, &line))
		understood += parse_app(line, ret);
	return understood;
}
