/* SPDX-License-Identifier: MIT */
/* GPUs of AMD, by the files that the driver amdgpu keeps in sysfs. Which exist depends on the chip and
 * the kernel: each may be missing, empty or refuse to be read. */
#include <stdio.h>
#include <string.h>

#include "kernel/kernel_file.h"
#include "probe/gpu/amdgpu.h"
#include "probe/gpu/drm_devices.h"

/* 0: 500Mhz
 * 1: 1410Mhz *        the one in use */
bool amdgpu_parse_clock(struct scan text, uint64_t *ret)
{
	struct scan line, level;
	uint64_t mhz;

	while (scan_line(&text, &line)) {
		if (!scan_until(&line, ':', &level) || !scan_u64(&line, &mhz) ||
		    (!scan_lit(&line, "Mhz") && !scan_lit(&line, "MHz")))
			continue;
		scan_blanks(&line);
		if (!scan_eq(&line, "*"))
			continue;
		*ret = mhz;
		return true;
	}
	return false;
}

static void read_clock(int device_fd, const char *name, enum gpu_metric id, struct gpu_readings *to)
{
	char text[2048];
	ssize_t n = kernel_file_read(device_fd, name, text, sizeof text);
	uint64_t mhz;

	if (n > 0 && amdgpu_parse_clock(scan_mem(text, (size_t)n), &mhz))
		readings_set(to, id, mhz);
}

/* The first line of a small file, behind what it begins with. */
static void read_text(int device_fd, const char *name, const char *before, char to[GPU_TEXT_MAX])
{
	char text[GPU_TEXT_MAX - 8];
	ssize_t n = kernel_file_read(device_fd, name, text, sizeof text);
	struct scan s = scan_mem(text, n > 0 ? (size_t)n : 0), line;

	if (!scan_line(&s, &line))
		return;
	scan_blanks(&line);
	if (!scan_at_end(&line) && !memchr(line.p, '\0', scan_left(&line)))
		snprintf(to, GPU_TEXT_MAX, "%s%.*s", before, (int)scan_left(&line), line.p);
}

static void amdgpu_read(int device_fd, int card_fd, struct gpu_sample *to)
{
	(void)card_fd;
	read_text(device_fd, "product_name", "", to->name);
	read_text(device_fd, "unique_id", "AMD-", to->uuid);
	drm_read_reading(device_fd, "gpu_busy_percent", 1, GPU_UTIL, &to->r);
	drm_read_reading(device_fd, "mem_busy_percent", 1, GPU_MEM_UTIL, &to->r);
	drm_read_reading(device_fd, "mem_info_vram_used", 1, GPU_MEM_USED, &to->r);
	drm_read_reading(device_fd, "mem_info_vram_total", 1, GPU_MEM_TOTAL, &to->r);
	read_clock(device_fd, "pp_dpm_sclk", GPU_SM_CLOCK, &to->r);
	read_clock(device_fd, "pp_dpm_mclk", GPU_MEM_CLOCK, &to->r);
	drm_read_sensors(device_fd, &to->r);
}

const struct drm_driver drm_amdgpu = { "amdgpu", "AMD", amdgpu_read };
