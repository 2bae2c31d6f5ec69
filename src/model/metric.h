/* SPDX-License-Identifier: MIT */
/* metric.h - every number proctor knows, one line each. The tables drive JSON keys, SQL columns,
 * labels and help; adding a metric touches its table and one probe (docs/writing-a-probe.md). */
#pragma once

#include <assert.h>
#include <stdint.h>

#include "base/defs.h"
#include "model/quality.h"

#define MJ_PER_WH 3600000

/* How a value is held inside, and how it is shown outside. */
enum metric_unit {
	UNIT_COUNT, /* a plain number */
	UNIT_BYTES, /* bytes, shown as bytes */
	UNIT_MIB,   /* bytes, shown as MiB: the keys that end in _mb */
	UNIT_NS,    /* nanoseconds, shown as seconds */
	UNIT_MILLI, /* thousandths, shown as the number itself: load averages, cores */
	UNIT_PCT,   /* thousandths, shown as percent with one decimal */
	UNIT_WH,    /* millijoules, shown as Wh */
};

enum metric_kind {
	METRIC_GAUGE,   /* how much there is now */
	METRIC_COUNTER, /* only grows while its owner lives; rates are taken from it */
};

enum metric_need {
	METRIC_ALWAYS,   /* part of SPEC's records: null in JSON when absent */
	METRIC_OPTIONAL, /* left out of JSON when absent */
};

struct metric {
	const char *key; /* JSON key and SQL column */
	enum metric_unit unit;
	enum metric_kind kind;
	enum metric_need need;
	const char *label; /* its line where jobs are compared; NULL: none */
	const char *help;
};

/* The machine. */
/* clang-format off */
#define HOST_METRICS(X)                                                                                            \
	X(MEM_TOTAL, "system_memory_total_mb", MIB, GAUGE, ALWAYS, "memory of the machine")                        \
	X(MEM_AVAILABLE, "system_memory_available_mb", MIB, GAUGE, ALWAYS, "memory that can be had without swapping") \
	X(MEM_USED, "system_memory_used_mb", MIB, GAUGE, ALWAYS, "total less available")                           \
	X(SELF_RSS, "daemon_rss_mb", MIB, GAUGE, ALWAYS, "resident memory of the recorder itself")                 \
	X(LOAD_1, "load_avg_1", MILLI, GAUGE, ALWAYS, "load average over 1 minute")                                \
	X(LOAD_5, "load_avg_5", MILLI, GAUGE, ALWAYS, "load average over 5 minutes")                               \
	X(LOAD_15, "load_avg_15", MILLI, GAUGE, ALWAYS, "load average over 15 minutes")                            \
	X(SWAP_TOTAL, "swap_total_mb", MIB, GAUGE, OPTIONAL, "swap space")                                         \
	X(SWAP_FREE, "swap_free_mb", MIB, GAUGE, OPTIONAL, "swap space not in use")                                \
	X(CPU_TOTAL, "cpu_total_seconds", NS, COUNTER, OPTIONAL, "time of all CPUs, idle included")                \
	X(CPU_USER, "cpu_user_seconds", NS, COUNTER, OPTIONAL, "user time of all CPUs, niced included")            \
	X(CPU_SYSTEM, "cpu_system_seconds", NS, COUNTER, OPTIONAL, "kernel time of all CPUs, interrupts included") \
	X(CPU_IDLE, "cpu_idle_seconds", NS, COUNTER, OPTIONAL, "idle time of all CPUs, without iowait")            \
	X(CPU_IOWAIT, "cpu_iowait_seconds", NS, COUNTER, OPTIONAL, "idle while a disk was awaited")                \
	X(CPU_STEAL, "cpu_steal_seconds", NS, COUNTER, OPTIONAL, "taken by the hypervisor")                        \
	X(PSI_CPU_SOME, "psi_cpu_some_seconds", NS, COUNTER, OPTIONAL, "some task waited for a CPU")               \
	X(PSI_MEM_SOME, "psi_memory_some_seconds", NS, COUNTER, OPTIONAL, "some task waited for memory")           \
	X(PSI_MEM_FULL, "psi_memory_full_seconds", NS, COUNTER, OPTIONAL, "all tasks waited for memory")           \
	X(PSI_IO_SOME, "psi_io_some_seconds", NS, COUNTER, OPTIONAL, "some task waited for I/O")                   \
	X(PSI_IO_FULL, "psi_io_full_seconds", NS, COUNTER, OPTIONAL, "all tasks waited for I/O")                   \
	X(DISK_READ, "disk_read_bytes", BYTES, COUNTER, OPTIONAL, "read from whole disks")                         \
	X(DISK_WRITE, "disk_write_bytes", BYTES, COUNTER, OPTIONAL, "written to whole disks")                      \
	X(NET_RX, "net_rx_bytes", BYTES, COUNTER, OPTIONAL, "received on all interfaces but loopback")             \
	X(NET_TX, "net_tx_bytes", BYTES, COUNTER, OPTIONAL, "sent on all interfaces but loopback")                 \
	X(FORKS, "forks", COUNT, COUNTER, OPTIONAL, "processes and threads started since boot")                    \
	X(RUNNING, "procs_running", COUNT, GAUGE, OPTIONAL, "tasks that run or wait for a CPU")                    \
	X(BLOCKED, "procs_blocked", COUNT, GAUGE, OPTIONAL, "tasks that wait for I/O")                             \
	X(SELF_CPU, "recorder_cpu_seconds", NS, COUNTER, OPTIONAL, "CPU time of the recorder itself")              \
	X(MEM_SHARED, "system_memory_shared_mb", MIB, GAUGE, OPTIONAL, "shared memory and files in tmpfs")
/* clang-format on */

/* One process: all its threads. */
/* clang-format off */
#define PROC_METRICS(X)                                                                                    \
	X(RSS, "rss_mb", MIB, GAUGE, ALWAYS, "resident memory")                                            \
	X(VMS, "vms_mb", MIB, GAUGE, ALWAYS, "address space")                                              \
	X(THREADS, "threads", COUNT, GAUGE, ALWAYS, "threads")                                             \
	X(FDS, "open_fds", COUNT, GAUGE, ALWAYS, "open file descriptors")                                  \
	X(CPU_TIME, "cpu_time_seconds", NS, COUNTER, OPTIONAL, "CPU time, user and system")                \
	X(READ_BYTES, "read_bytes", BYTES, COUNTER, OPTIONAL, "bytes it had read from storage")            \
	X(WRITE_BYTES, "write_bytes", BYTES, COUNTER, OPTIONAL, "bytes it had written to storage")         \
	X(MINOR_FAULTS, "minor_faults", COUNT, COUNTER, OPTIONAL, "page faults served from memory")        \
	X(MAJOR_FAULTS, "major_faults", COUNT, COUNTER, OPTIONAL, "page faults that needed the disk")      \
	X(FD_LIMIT, "fd_limit", COUNT, GAUGE, OPTIONAL, "file descriptors it may open (soft limit)")       \
	X(PSS, "pss_mb", MIB, GAUGE, OPTIONAL, "resident memory, shared pages divided by their users")     \
	X(USS, "uss_mb", MIB, GAUGE, OPTIONAL, "resident memory that no other process shares")                       \
	X(PEAK_RSS, "peak_rss_mb", MIB, GAUGE, OPTIONAL, "most resident memory it ever had")               \
	X(GPU_MEM, "gpu_memory_mb", MIB, GAUGE, OPTIONAL, "memory it holds on all GPUs together")          \
	X(GPU_SM, "gpu_sm_pct", COUNT, GAUGE, OPTIONAL, "percent of one GPU's processors, all GPUs added")
/* clang-format on */

/* One control group, v1 or v2. Limits are the smallest in force, own or an ancestor's, and what is
 * used of them is what all in that group use. */
/* clang-format off */
#define CGROUP_METRICS(X)                                                                                  \
	X(CPU, "cpu_seconds", NS, COUNTER, OPTIONAL, "CPU time of the group")                              \
	X(CPU_USER, "cpu_user_seconds", NS, COUNTER, OPTIONAL, "user CPU time of the group")               \
	X(CPU_SYSTEM, "cpu_system_seconds", NS, COUNTER, OPTIONAL, "kernel CPU time of the group")         \
	X(CPU_THROTTLED, "cpu_throttled_seconds", NS, COUNTER, OPTIONAL, "held back by the CPU limit")     \
	X(CPU_LIMIT, "cpu_limit_cores", MILLI, GAUGE, OPTIONAL, "cores it may use")                        \
	X(MEM, "memory_mb", MIB, GAUGE, OPTIONAL, "memory charged to the group")                           \
	X(MEM_PEAK, "memory_peak_mb", MIB, GAUGE, OPTIONAL, "most memory ever charged")                    \
	X(MEM_LIMIT, "memory_limit_mb", MIB, GAUGE, OPTIONAL, "memory it may be charged")                  \
	X(MEM_LIMIT_HITS, "memory_limit_hits", COUNT, COUNTER, OPTIONAL, "times the limit was met")        \
	X(OOM_KILLS, "oom_kills", COUNT, COUNTER, OPTIONAL, "processes killed for lack of memory")         \
	X(PIDS, "pids", COUNT, GAUGE, OPTIONAL, "tasks in the group")                                      \
	X(PIDS_LIMIT, "pids_limit", COUNT, GAUGE, OPTIONAL, "tasks it may have")                           \
	X(MEM_LIMIT_USED, "memory_limit_used_mb", MIB, GAUGE, OPTIONAL, "used of that limit, without file cache") \
	X(PIDS_LIMIT_USED, "pids_limit_used", COUNT, GAUGE, OPTIONAL, "tasks that count against that limit") \
	X(MEM_USED, "memory_used_mb", MIB, GAUGE, OPTIONAL, "memory that dropping the page cache cannot free")
/* clang-format on */

/* One GPU. Percents are whole numbers, as the driver gives them. */
/* clang-format off */
#define GPU_METRICS(X)                                                                                     \
	X(UTIL, "utilization_pct", COUNT, GAUGE, ALWAYS, "share of the time in which it computed")         \
	X(MEM_UTIL, "memory_util_pct", COUNT, GAUGE, ALWAYS, "share of the time its memory was accessed")  \
	X(MEM_USED, "memory_used_mb", MIB, GAUGE, ALWAYS, "memory in use")                                 \
	X(MEM_TOTAL, "memory_total_mb", MIB, GAUGE, ALWAYS, "memory it has")                               \
	X(TEMPERATURE, "temperature_c", COUNT, GAUGE, ALWAYS, "temperature of the chip")                   \
	X(POWER, "power_w", MILLI, GAUGE, ALWAYS, "electric power it draws")                               \
	X(SM_CLOCK, "sm_clock_mhz", COUNT, GAUGE, ALWAYS, "clock of its processors")                       \
	X(MEM_CLOCK, "mem_clock_mhz", COUNT, GAUGE, ALWAYS, "clock of its memory")

/* The use of one GPU by one process. */
#define GPU_USE_METRICS(X)                                                                                 \
	X(MEM, "memory_used_mb", MIB, GAUGE, ALWAYS, "memory the process holds on this GPU")               \
	X(SM, "sm_pct", COUNT, GAUGE, ALWAYS, "percent of this GPU's processors it kept busy")
/* clang-format on */

#define X(id, ...) HOST_##id,
enum host_metric { HOST_METRICS(X) HOST_METRIC_COUNT };
#undef X
#define X(id, ...) PROC_##id,
enum proc_metric { PROC_METRICS(X) PROC_METRIC_COUNT };
#undef X
#define X(id, ...) CGROUP_##id,
enum cgroup_metric { CGROUP_METRICS(X) CGROUP_METRIC_COUNT };
#undef X
#define X(id, ...) GPU_##id,
enum gpu_metric { GPU_METRICS(X) GPU_METRIC_COUNT };
#undef X
#define X(id, ...) GPU_USE_##id,
enum gpu_use_metric { GPU_USE_METRICS(X) GPU_USE_METRIC_COUNT };
#undef X

static_assert(HOST_METRIC_COUNT <= 64 && PROC_METRIC_COUNT <= 64 && CGROUP_METRIC_COUNT <= 64,
              "readings.present is a 64-bit set");

extern const struct metric host_metrics[HOST_METRIC_COUNT];
extern const struct metric proc_metrics[PROC_METRIC_COUNT];
extern const struct metric cgroup_metrics[CGROUP_METRIC_COUNT];
extern const struct metric gpu_metrics[GPU_METRIC_COUNT];
extern const struct metric gpu_use_metrics[GPU_USE_METRIC_COUNT];

/* Values of one scope; a value counts only when its bit in `present` is set. */
#define READINGS(scope, count)                                                                     \
	struct scope##_readings {                                                                  \
		uint64_t present;                                                                  \
		uint64_t value[count];                                                             \
	}
READINGS(host, HOST_METRIC_COUNT);
READINGS(proc, PROC_METRIC_COUNT);
READINGS(cgroup, CGROUP_METRIC_COUNT);
READINGS(gpu, GPU_METRIC_COUNT);
READINGS(gpu_use, GPU_USE_METRIC_COUNT);

/* For readings of any scope: readings_set(&proc->r, PROC_RSS, bytes). */
#define readings_set(r, id, v)                                                                     \
	({                                                                                         \
		typeof(r) set_ = (r);                                                              \
		set_->value[id] = (v);                                                             \
		set_->present |= UINT64_C(1) << (id);                                              \
		(void)0;                                                                           \
	})
#define readings_has(r, id) (((r)->present >> (id)) & 1)
/* The value, or `otherwise` when absent. */
#define readings_or(r, id, otherwise) (readings_has(r, id) ? (r)->value[id] : (otherwise))

/* What a value inside is divided by as it is shown: 2^20 for UNIT_MIB, 1e9 for UNIT_NS. */
double metric_unit_scale(enum metric_unit unit);
/* Growth per second; NAN when the counter restarted or no time passed: the rate is unknown then. */
double metric_rate_per_s(uint64_t prev, uint64_t cur, uint64_t elapsed_ns);
