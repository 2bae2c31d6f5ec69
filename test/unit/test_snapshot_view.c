/* SPDX-License-Identifier: MIT */
#include "view/snapshot_view.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/text.h"
#include "check.h"

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

static const char *name_of(void *self, uint32_t uid)
{
	return uid == 0 ? "root" : uid == 1000 ? "ana" : NULL;
}

static struct snapshot_view view_of(enum snapshot_sort sort, size_t top)
{
	return (struct snapshot_view){
		.host = "gpu-03",
		.kernel = "6.18.2",
		.cores = 8,
		.top = top,
		.sort = sort,
		.user_name = name_of,
	};
}

static struct proc_snap *add(struct snapshot *s, pid_t pid, char state, uint32_t uid,
                             const char *command, size_t len)
{
	struct proc_snap *p = vec_push(&s->procs, PROCS_MAX);

	p->s.id.pid = pid;
	p->s.id.start_ticks = pid == 1 ? 0 : 1;
	p->s.state = state;
	p->s.uid = uid;
	p->s.command = (struct text_ref){ (uint32_t)s->text.len, (uint32_t)len };
	snprintf(p->s.comm, sizeof p->s.comm, "comm");
	buf_put(&s->text, command, len);
	p->cpu_ratio = p->read_bytes_per_s = p->write_bytes_per_s = NAN;
	p->job = -1;
	return p;
}

/* One with every figure, one hostile, one of which nothing is known. */
static void fill_processes(struct snapshot *s)
{
	static const char hostile[] = "sh -c \x1b[2J\nrm ) R 1 \xff\xfe %n \xe2\x80\xae";
	struct proc_snap *p;

	add(s, 1, 'S', 0, "", 0);
	p = add(s, 2417, 'R', 1000, "python train.py --epochs 12", 27);
	p->cpu_ratio = 3.98;
	p->read_bytes_per_s = 8.0 * MIB;
	p->write_bytes_per_s = 0;
	p->age_ns = 492 * NS_PER_S;
	readings_set(&p->s.r, PROC_RSS, 4915 * MIB);
	readings_set(&p->s.r, PROC_PSS, 4711 * MIB);
	readings_set(&p->s.r, PROC_THREADS, 34);
	readings_set(&p->s.r, PROC_FDS, 1112);
	p = add(s, 4194304, 'Z', 4294967294, hostile, sizeof hostile - 1);
	p->cpu_ratio = 0.034;
	p->age_ns = 3 * NS_PER_S;
	readings_set(&p->s.r, PROC_RSS, 12 * MIB);
	readings_set(&p->s.r, PROC_THREADS, 1);
}

static void fill_host(struct snapshot *s)
{
	s->wall_ns = UINT64_C(1794751401) * NS_PER_S;
	s->boot_ns = (3 * 86400 + 4 * 3600) * NS_PER_S;
	s->cpu_busy_ratio = 0.62;
	s->cpu_iowait_ratio = 0.021;
	s->cpu_steal_ratio = 0;
	s->psi_cpu_ratio = 0.012;
	s->psi_mem_ratio = 0.004;
	s->psi_io_ratio = NAN;
	readings_set(&s->host, HOST_MEM_TOTAL, 32 * GIB);
	readings_set(&s->host, HOST_MEM_AVAILABLE, 10 * GIB);
	readings_set(&s->host, HOST_MEM_USED, 22 * GIB);
	readings_set(&s->host, HOST_SWAP_TOTAL, 8 * GIB);
	readings_set(&s->host, HOST_SWAP_FREE, 7 * GIB);
	readings_set(&s->host, HOST_LOAD_1, 4120);
	readings_set(&s->host, HOST_LOAD_5, 3900);
	readings_set(&s->host, HOST_LOAD_15, 3550);
	readings_set(&s->cgroup, CGROUP_CPU_LIMIT, 2500);
	readings_set(&s->cgroup, CGROUP_MEM_LIMIT_USED, 3 * GIB);
	readings_set(&s->cgroup, CGROUP_MEM_LIMIT, 4 * GIB);
	readings_set(&s->cgroup, CGROUP_PIDS_LIMIT_USED, 34);
	readings_set(&s->cgroup, CGROUP_PIDS_LIMIT, 4096);
}

static int setup(void **state)
{
	struct snapshot *s = xcalloc(1, sizeof *s);

	setenv("TZ", "UTC", 1);
	fill_host(s);
	fill_processes(s);
	s->procs_complete = true;
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	snapshot_done(*state);
	free(*state);
	return 0;
}

static void assert_view(const struct snapshot *s, struct snapshot_view view, struct style style,
                        const char *golden)
{
	struct buf out = { 0 };

	snapshot_view_put(s, &view, CANVAS(&style, &out));
	assert_golden(golden, &out);
	assert_null(strstr(out.at, " \n")); /* no line ends in a blank */
	if (!style.color)
		assert_null(memchr(out.at, '\x1b', out.len));
	buf_done(&out);
}

static void test_snapshot_view__fills_a_wide_terminal(void **state)
{
	assert_view(*state, view_of(SORT_SHARE, SIZE_MAX),
	            (struct style){ .unicode = true, .width = 120 }, "snapshot-120.txt");
}

static void assert_fits(const struct snapshot *s, size_t width)
{
	struct buf out = { 0 };
	struct snapshot_view view = view_of(SORT_SHARE, 2);
	const struct style style = { .unicode = true, .width = width };

	snapshot_view_put(s, &view, CANVAS(&style, &out));
	for (const char *line = out.at; *line; line = strchr(line, '\n') + 1)
		assert_true(text_columns(line, (size_t)(strchr(line, '\n') - line)) <= width);
	buf_done(&out);
}

static void test_snapshot_view__fits_40_and_80_columns(void **state)
{
	assert_fits(*state, 40);
	assert_fits(*state, 80);
	assert_view(*state, view_of(SORT_SHARE, 2), (struct style){ .unicode = true, .width = 80 },
	            "snapshot-80.txt");
}

static void test_snapshot_view__cuts_nothing_where_the_width_is_not_limited(void **state)
{
	assert_view(*state, view_of(SORT_PID, SIZE_MAX), (struct style){ .width = SIZE_MAX },
	            "snapshot-pipe.txt");
}

static void test_snapshot_view__colours_quietly(void **state)
{
	assert_view(*state, view_of(SORT_CPU, 2),
	            (struct style){ .color = true, .unicode = true, .width = 100 },
	            "snapshot-color.txt");
}

static void test_snapshot_view__shows_what_is_unknown(void **state)
{
	struct snapshot *s = *state;

	s->host = (struct host_readings){ 0 };
	s->cgroup = (struct cgroup_readings){ 0 };
	s->cpu_busy_ratio = s->cpu_iowait_ratio = s->cpu_steal_ratio = NAN;
	s->psi_cpu_ratio = s->psi_mem_ratio = s->psi_io_ratio = NAN;
	s->procs_complete = false;
	assert_view(s, (struct snapshot_view){ .top = SIZE_MAX, .sort = SORT_RSS },
	            (struct style){ .width = 100 }, "snapshot-unknown.txt");
}

static void test_snapshot_view__has_a_line_for_each_gpu(void **state)
{
	struct snapshot *s = *state;
	struct gpu_sample *gpu = vec_push(&s->gpus, GPUS_MAX);

	*gpu = (struct gpu_sample){ .name = "NVIDIA A100-SXM4-40GB" };
	readings_set(&gpu->r, GPU_UTIL, 83);
	readings_set(&gpu->r, GPU_MEM_USED, 31 * GIB);
	readings_set(&gpu->r, GPU_MEM_TOTAL, 40 * GIB);
	readings_set(&gpu->r, GPU_TEMPERATURE, 61);
	readings_set(&gpu->r, GPU_POWER, 231450);
	gpu = vec_push(&s->gpus, GPUS_MAX);
	gpu->index = 1;
	snprintf(gpu->name, sizeof gpu->name, "bad \x1b[2J name");
	gpu = vec_push(&s->gpus, GPUS_MAX); /* figures of its processes, and slow */
	*gpu = (struct gpu_sample){ .index = 64, .name = "Intel 8086:9a49", .bus = "0000:00:02.0" };
	readings_set(&gpu->r, GPU_UTIL, 40);
	readings_set(&gpu->r, GPU_MEM_USED, 30 * GIB);
	gpu->at_least = UINT64_C(1) << GPU_UTIL | UINT64_C(1) << GPU_MEM_USED;
	gpu->health.throttle = 1U << GPU_THROTTLE_POWER_CAP;
	gpu = vec_push(&s->gpus, GPUS_MAX);
	*gpu = (struct gpu_sample){ .index = 65,
		                    .name = "NVIDIA 10de:1c03",
		                    .bus = "0000:04:00.0" };
	assert_view(s, view_of(SORT_PID, 1), (struct style){ .unicode = true, .width = 80 },
	            "snapshot-gpu.txt");
}

static void test_snapshot_sort__knows_its_names(void **state)
{
	enum snapshot_sort sort = SORT_RSS;

	assert_true(snapshot_view_parse_sort("cpu", &sort));
	assert_int_equal(sort, SORT_CPU);
	assert_false(snapshot_view_parse_sort("", &sort));
	assert_false(snapshot_view_parse_sort("memory", &sort));
	assert_int_equal(sort, SORT_CPU);
}

#define VIEW_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
RUN_TESTS(VIEW_TEST(test_snapshot_view__fills_a_wide_terminal),
          VIEW_TEST(test_snapshot_view__fits_40_and_80_columns),
          VIEW_TEST(test_snapshot_view__cuts_nothing_where_the_width_is_not_limited),
          VIEW_TEST(test_snapshot_view__colours_quietly),
          VIEW_TEST(test_snapshot_view__shows_what_is_unknown),
          VIEW_TEST(test_snapshot_view__has_a_line_for_each_gpu),
          TEST(test_snapshot_sort__knows_its_names))
