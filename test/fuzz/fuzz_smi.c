/* SPDX-License-Identifier: MIT */
/* What nvidia-smi printed, or anything else: the lists stay within their bounds, texts end, and
 * what is understood is sane enough to be sent. */
#include <string.h>

#include "fuzz.h"
#include "probe/gpu/nvidia_smi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gpu_report r, back;
	struct scan text = scan_mem((const char *)data, size);
	struct buf bytes = { 0 };
	struct err err;

	gpu_report_begin(&r);
	FUZZ_CHECK(nvidia_smi_parse_gpus(text, true, &r) == r.gpu_count);
	gpu_report_begin(&r);
	FUZZ_CHECK(nvidia_smi_parse_gpus(text, false, &r) == r.gpu_count);
	FUZZ_CHECK(nvidia_smi_parse_apps(text, &r) >= r.use_count);
	for (uint32_t i = 0; i < r.gpu_count; i++)
		FUZZ_CHECK(r.gpus[i].r.present == 0 ||
		           readings_or(&r.gpus[i].r, GPU_UTIL, 0) <= 100);
	FUZZ_CHECK(gpu_report_encode(&r, &bytes));
	FUZZ_CHECK(gpu_report_decode(bytes.at, bytes.len, &back, &err) == 0);
	FUZZ_CHECK(back.gpu_count == r.gpu_count && back.use_count == r.use_count);
	buf_done(&bytes);
	return 0;
}
