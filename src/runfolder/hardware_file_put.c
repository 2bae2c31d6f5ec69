/* SPDX-License-Identifier: MIT */
/* hardware_file_put.c - the lines we write ourselves; hardware_file.c reads them back to the same sums. */
#include <time.h>

#include "base/clock.h"
#include "runfolder/hardware_file.h"

void hardware_file_put_time(struct buf *to, uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NS_PER_S);
	char text[40];
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(text, sizeof text, "%Y/%m/%d %H:%M:%S", &tm);
	buf_printf(to, "%s.%03u", text, (unsigned)(wall_ns % NS_PER_S / NS_PER_MS));
}

void hardware_file_put_cpu(struct buf *to, uint64_t wall_ns, uint64_t usr_tenths,
                           uint64_t idle_tenths)
{
	hardware_file_put_time(to, wall_ns);
	buf_printf(to, ",%llu.%llu,%llu.%llu\n", (unsigned long long)usr_tenths / 10,
	           (unsigned long long)usr_tenths % 10, (unsigned long long)idle_tenths / 10,
	           (unsigned long long)idle_tenths % 10);
}

#define MIB_SHIFT 20

/* Memory in whole MiB and power in hundredths of a watt, as nvidia-smi prints them. */
static uint64_t mib_of(uint64_t bytes)
{
	return (bytes >> MIB_SHIFT) + (bytes >> (MIB_SHIFT - 1) & 1);
}

static uint64_t centiwatts_of(uint64_t milliwatts)
{
	return milliwatts / 10 + (milliwatts % 10 >= 5);
}

bool hardware_file_gpu_milli(const struct gpu_sample *gpu, enum hardware_file_role role,
                             uint64_t *ret_milli)
{
	static const struct {
		enum hardware_file_role role;
		enum gpu_metric metric;
	} known[] = {
		{ HARDWARE_FILE_UTIL, GPU_UTIL },
		{ HARDWARE_FILE_MEM_UTIL, GPU_MEM_UTIL },
		{ HARDWARE_FILE_VRAM, GPU_MEM_USED },
		{ HARDWARE_FILE_POWER, GPU_POWER },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		uint64_t value = gpu->r.value[known[i].metric];

		if (known[i].role != role || !readings_has(&gpu->r, known[i].metric))
			continue;
		if (role == HARDWARE_FILE_VRAM)
			value = mib_of(value);
		*ret_milli = role == HARDWARE_FILE_POWER ? centiwatts_of(value) * 10 : value * 1000;
		return true;
	}
	return false;
}

static void put_field(struct buf *to, const struct gpu_sample *gpu, enum gpu_metric metric)
{
	unsigned long long value = gpu->r.value[metric];

	if (!readings_has(&gpu->r, metric)) {
		buf_puts(to, ", [N/A]");
		return;
	}
	if (metric == GPU_MEM_USED || metric == GPU_MEM_TOTAL)
		value = mib_of(value);
	if (metric == GPU_POWER)
		buf_printf(to, ", %llu.%02llu", (unsigned long long)centiwatts_of(value) / 100,
		           (unsigned long long)centiwatts_of(value) % 100);
	else
		buf_printf(to, ", %llu", value);
}

void hardware_file_put_gpu(struct buf *to, uint64_t wall_ns, const struct gpu_sample *gpu)
{
	static const enum gpu_metric order[] = { GPU_UTIL,      GPU_MEM_UTIL, GPU_MEM_USED,
		                                 GPU_MEM_TOTAL, GPU_POWER,    GPU_TEMPERATURE,
		                                 GPU_SM_CLOCK,  GPU_MEM_CLOCK };

	hardware_file_put_time(to, wall_ns);
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		put_field(to, gpu, order[i]);
	buf_putc(to, '\n');
}

void hardware_file_put_dmon(struct buf *to, const struct gpu_sample *gpu)
{
	static const enum hardware_file_role order[] = { HARDWARE_FILE_UTIL, HARDWARE_FILE_MEM_UTIL,
		                                         HARDWARE_FILE_VRAM };
	uint64_t milli;

	buf_printf(to, "%5u", gpu->index);
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		if (hardware_file_gpu_milli(gpu, order[i], &milli))
			buf_printf(to, " %6llu", (unsigned long long)milli / 1000);
		else
			buf_puts(to, "      -");
	}
	buf_putc(to, '\n');
}
