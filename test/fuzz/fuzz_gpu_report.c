/* SPDX-License-Identifier: MIT */
/* The GPU helper's answer, whose sender may have lost its mind: it is refused, or all in it is
 * within bounds. */
#include <string.h>

#include "fuzz.h"
#include "probe/gpu/gpu_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gpu_report r;
	struct err err = { 0 };

	if (gpu_report_decode(data, size, &r, &err) < 0) {
		FUZZ_CHECK(err.code);
		return 0;
	}
	FUZZ_CHECK(r.verdict <= GPU_IMPOSSIBLE && memchr(r.text, '\0', sizeof r.text));
	FUZZ_CHECK(r.gpu_count <= GPUS_MAX && r.use_count <= GPU_USES_MAX);
	for (uint32_t i = 0; i < r.gpu_count; i++)
		FUZZ_CHECK(memchr(r.gpus[i].name, '\0', GPU_TEXT_MAX) &&
		           memchr(r.gpus[i].uuid, '\0', GPU_TEXT_MAX));
	for (uint32_t i = 0; i < r.use_count; i++)
		FUZZ_CHECK(r.uses[i].gpu < r.gpu_count && r.uses[i].id.pid > 0);
	return 0;
}
