/* SPDX-License-Identifier: MIT */
/* resource_summary.h - how busy the machine and its GPUs were during one run: means and maxima of
 * samples, both our own and those in the CSV files of a run folder. Values are integers in
 * thousandths of the series' unit, so sums are exact and do not depend on the order. */
#pragma once

#include "base/json.h"

/* The accumulated series. With several GPUs, means are over all of them and maxima of any one. */
/* clang-format off */
#define RESOURCE_SERIES(X)                                                       \
	X(VRAM_MB)      /* memory in use on one GPU, MiB */                      \
	X(GPU_UTIL_PCT) /* time during which a kernel ran on it */               \
	X(MEM_UTIL_PCT) /* time during which its memory was accessed */          \
	X(POWER_WATTS)                                                           \
	X(CPU_USR_PCT)  /* of the whole machine: user and nice */                \
	X(CPU_IDLE_PCT)                                                          \
	X(JAX_PEAK_MB)  /* as reported by the program, MiB */

/* The keys of the summary, in order. X(id, key, series, MEAN or MAX, label, unit) */
#define RESOURCE_KEYS(X)                                                                       \
	X(PEAK_VRAM, "peak_vram_mb", VRAM_MB, MAX, "GPU memory, peak", "MiB")                  \
	X(GPU_UTIL_MEAN, "gpu_util_mean_pct", GPU_UTIL_PCT, MEAN, "GPU busy, mean", "%")       \
	X(GPU_UTIL_MAX, "gpu_util_max_pct", GPU_UTIL_PCT, MAX, "GPU busy, most", "%")          \
	X(MEM_UTIL_MEAN, "mem_util_mean_pct", MEM_UTIL_PCT, MEAN, "GPU memory busy, mean", "%") \
	X(MEM_UTIL_MAX, "mem_util_max_pct", MEM_UTIL_PCT, MAX, "GPU memory busy, most", "%")   \
	X(POWER_MEAN, "power_watts_mean", POWER_WATTS, MEAN, "GPU power, mean", "W")           \
	X(POWER_MAX, "power_watts_max", POWER_WATTS, MAX, "GPU power, most", "W")              \
	X(CPU_USR_MEAN, "cpu_usr_mean_pct", CPU_USR_PCT, MEAN, "CPU user, mean", "%")          \
	X(CPU_IDLE_MEAN, "cpu_idle_mean_pct", CPU_IDLE_PCT, MEAN, "CPU idle, mean", "%")       \
	X(JAX_PEAK, "jax_peak_bytes_mb", JAX_PEAK_MB, MAX, "JAX memory, peak", "MiB")
/* clang-format on */

#define X(id) RESOURCE_##id,
enum resource_series { RESOURCE_SERIES(X) RESOURCE_SERIES_COUNT };
#undef X
#define X(id, ...) RESOURCE_KEY_##id,
enum resource_key { RESOURCE_KEYS(X) RESOURCE_KEY_COUNT };
#undef X

struct resource_key_info {
	const char *key;
	enum resource_series series;
	bool is_max;
	const char *label, *unit;
};
extern const struct resource_key_info resource_keys[RESOURCE_KEY_COUNT];

/* Initialised as { 0 }. */
struct resource_summary {
	struct {
		uint64_t n, sum_milli, max_milli;
	} series[RESOURCE_SERIES_COUNT];
};

void resource_summary_add(struct resource_summary *s, enum resource_series series, uint64_t milli);
/* Copies the series that have no samples in `s`. */
void resource_summary_fill(struct resource_summary *s, const struct resource_summary *from);
/* In tenths, rounded; false: unknown. */
bool resource_summary_get(const struct resource_summary *s, enum resource_key key,
                          uint64_t *ret_tenths);
/* Writes the members into an open object; unknown ones are left out. */
void resource_summary_put(struct json *j, const struct resource_summary *s);
