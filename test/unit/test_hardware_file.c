/* SPDX-License-Identifier: MIT */
#include "runfolder/hardware_file.h"

#include "base/clock.h"
#include "check.h"

/* Real lines of nvidia-smi, dmon of two generations, and mpstat. */
#define QUERY "2024/05/01 12:34:56.789, 62, 40, 8123, 24576, 214.53, 61, 1980, 9501"
#define QUERY_HEAD                                                                                 \
	"timestamp, utilization.gpu [%], utilization.memory [%], memory.used [MiB], "              \
	"memory.total [MiB], power.draw [W], temperature.gpu, clocks.current.sm [MHz], "           \
	"clocks.current.memory [MHz]\n"
#define DMON_OLD                                                                                   \
	"# gpu    sm   mem   enc   dec    fb  bar1\n"                                              \
	"# Idx     %     %     %     %    MB    MB\n"
#define DMON_NEW                                                                                   \
	"# gpu     fb   bar1   ccpm     sm    mem    enc    dec    jpg    ofa \n"                  \
	"# Idx     MB     MB     MB      %      %      %      %      %      % \n"
#define MPSTAT                                                                                     \
	"Linux 6.1.0-18-amd64 (node7) \t05/01/2024 \t_x86_64_\t(8 CPU)\n\n"                        \
	"12:47:01 PM  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  "       \
	"%gnice   %idle\n"

static void take(struct hardware_file *f, enum hardware_file_kind kind, const char *text)
{
	struct scan rest = scan_str(text), line;

	hardware_file_init(f, kind);
	while (scan_line(&rest, &line))
		hardware_file_read_line(f, line);
}

struct wanted {
	const char *text;
	const char *summary;
	struct hardware_file_counts counts;
};

static void assert_all(enum hardware_file_kind kind, const struct wanted *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct buf out = { 0 };
		struct json j = { .out = &out };
		struct hardware_file f;

		take(&f, kind, cases[i].text);
		json_begin_object(&j);
		resource_summary_put(&j, &f.sums);
		json_end_object(&j);
		if (strcmp(out.at, cases[i].summary) != 0)
			fail_msg("%s\ngives  %s\nwanted %s", cases[i].text, out.at,
			         cases[i].summary);
		if (memcmp(&f.counts, &cases[i].counts, sizeof f.counts) != 0)
			fail_msg("%s\nis counted wrong: used %d heads %d comments %d short %d "
			         "unusable %d values %d",
			         cases[i].text, (int)f.counts.used, (int)f.counts.heads,
			         (int)f.counts.comments, (int)f.counts.too_short,
			         (int)f.counts.unusable, (int)f.counts.values_skipped);
		buf_done(&out);
	}
}

#define ONE_GPU                                                                                    \
	"{\"peak_vram_mb\":8123.0,\"gpu_util_mean_pct\":62.0,\"gpu_util_max_pct\":62.0,"           \
	"\"mem_util_mean_pct\":40.0,\"mem_util_max_pct\":40.0,"                                    \
	"\"power_watts_mean\":214.5,\"power_watts_max\":214.5}"

static void test_hardware_file__reads_nvidia_smi_queries(void **state)
{
	static const struct wanted cases[] = {
		{ "", "{}", { 0 } },
		{ QUERY "\n", ONE_GPU, { .used = 1 } },
		{ QUERY "\r\n\r\n  \n" QUERY, ONE_GPU, { .used = 2 } },
		{ QUERY_HEAD "2024/05/01 12:34:56.789, 62 %, 40 %, 8123 MiB, 24576 MiB, 214.53 W, "
		             "61, 1980 MHz, 9501 MHz\n",
		  ONE_GPU,
		  { .used = 1, .heads = 1 } },
		/* Other columns, in another order: the head is believed. */
		{ "index, timestamp, power.draw [W], name, memory.used [MiB]\n"
		  "0, 2024/05/01 12:34:56.789, 100.25, NVIDIA H100 80GB HBM3, 5000\n"
		  "1, 2024/05/01 12:34:56.791, 50.25, NVIDIA H100 80GB HBM3, 7000\n"
		  "1, 2024/05/01 12:34\n",
		  "{\"peak_vram_mb\":7000.0,\"power_watts_mean\":75.3,\"power_watts_max\":100.3}",
		  { .used = 2, .heads = 1, .too_short = 1 } },
		/* No power meter, and a GPU that fell off the bus. */
		{ "t, 10, 20, 30, 40, [N/A], 60, 70, 80\nt, 10, 20, 30, 40, [Not Supported], 60, 70, 80\n"
		  "t, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], x, x, x\n",
		  "{\"peak_vram_mb\":30.0,\"gpu_util_mean_pct\":10.0,\"gpu_util_max_pct\":10.0,"
		  "\"mem_util_mean_pct\":20.0,\"mem_util_max_pct\":20.0}",
		  { .used = 2, .unusable = 1, .values_skipped = 6 } },
		/* Eight fields, a comment, words. */
		{ "t, 1, 2, 3, 4, 5, 6, 7\n# x\nNo devices were found\n",
		  "{}",
		  { .comments = 1, .too_short = 2 } },
		/* What is no number, and what cannot be. */
		{ "t, nan, -5, 1e3, 4, inf, 6, 7, 8\nt, 101, 0x10, 9999999999, 4, 5.5., 6, 7, 8\n"
		  "t, +1, 1 KiB, ., 4, 1,5, 7, 8\n",
		  "{\"power_watts_mean\":1.0,\"power_watts_max\":1.0}",
		  { .used = 1, .unusable = 2, .values_skipped = 11 } },
		{ "t, 0, 0, 0, 0, 0.00, 0, 0, 0\nt, 100, 100.0, 1, 1, .5, 0, 0, 0\n",
		  "{\"peak_vram_mb\":1.0,\"gpu_util_mean_pct\":50.0,\"gpu_util_max_pct\":100.0,"
		  "\"mem_util_mean_pct\":50.0,\"mem_util_max_pct\":100.0,"
		  "\"power_watts_mean\":0.0,\"power_watts_max\":0.0}",
		  { .used = 2, .values_skipped = 1 } },
	};

	assert_all(HARDWARE_FILE_METRICS, cases, ARRAY_LEN(cases));
}

static void test_hardware_file__reads_dmon_by_its_head(void **state)
{
	static const struct wanted cases[] = {
		{ "    0    62    40  8123\n",
		  "{\"peak_vram_mb\":8123.0,\"gpu_util_mean_pct\":62.0,\"gpu_util_max_pct\":62.0,"
		  "\"mem_util_mean_pct\":40.0,\"mem_util_max_pct\":40.0}",
		  { .used = 1 } },
		{ DMON_OLD "    0    62    40     1     2  8123     5\n",
		  "{\"peak_vram_mb\":8123.0,\"gpu_util_mean_pct\":62.0,\"gpu_util_max_pct\":62.0,"
		  "\"mem_util_mean_pct\":40.0,\"mem_util_max_pct\":40.0}",
		  { .used = 1, .comments = 2 } },
		{ DMON_NEW
		  "    0   8123      4      0     62     40      0      0      0      0 \n"
		  "    1    100      4      0      -      -      0      0      0      0 \n",
		  "{\"peak_vram_mb\":8123.0,\"gpu_util_mean_pct\":62.0,\"gpu_util_max_pct\":62.0,"
		  "\"mem_util_mean_pct\":40.0,\"mem_util_max_pct\":40.0}",
		  { .used = 2, .comments = 2, .values_skipped = 2 } },
		/* nvidia-smi dmon -o DT -s pu */
		{ "#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem    enc    dec\n"
		  "#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %      %      %\n"
		  " 20240501   12:34:56      0    214     61      -     62     40      0      0\n",
		  "{\"gpu_util_mean_pct\":62.0,\"gpu_util_max_pct\":62.0,"
		  "\"mem_util_mean_pct\":40.0,\"mem_util_max_pct\":40.0,"
		  "\"power_watts_mean\":214.0,\"power_watts_max\":214.0}",
		  { .used = 1, .comments = 2 } },
		/* nvidia-smi dmon --format csv */
		{ "#gpu, sm, mem, fb\n0, 10, 20, 30\n",
		  "{\"peak_vram_mb\":30.0,\"gpu_util_mean_pct\":10.0,\"gpu_util_max_pct\":10.0,"
		  "\"mem_util_mean_pct\":20.0,\"mem_util_max_pct\":20.0}",
		  { .used = 1, .comments = 1 } },
		{ "#\n# \n    0    62\n    0     -     -     -\n",
		  "{}",
		  { .comments = 2, .too_short = 1, .unusable = 1, .values_skipped = 3 } },
	};

	assert_all(HARDWARE_FILE_DMON, cases, ARRAY_LEN(cases));
}

static void test_hardware_file__reads_cpu_files(void **state)
{
	static const struct wanted cases[] = {
		{ HARDWARE_FILE_CPU_HEAD "2024-05-01T12:34:56.789+00:00,12.5,80.0\nx,13.5,-\n",
		  "{\"cpu_usr_mean_pct\":13.0,\"cpu_idle_mean_pct\":80.0}",
		  { .used = 2, .heads = 1, .values_skipped = 1 } },
		{ "t,1,2\nt,1\nt,a,b\n# c\n",
		  "{\"cpu_usr_mean_pct\":1.0,\"cpu_idle_mean_pct\":2.0}",
		  { .used = 1,
		    .too_short = 1,
		    .unusable = 1,
		    .comments = 1,
		    .values_skipped = 2 } },
		{ "timestamp,idle_pct,usr_pct\nt,90,5\n",
		  "{\"cpu_usr_mean_pct\":5.0,\"cpu_idle_mean_pct\":90.0}",
		  { .used = 1, .heads = 1 } },
		/* Niced time is user time; each CPU by itself and the average are not samples. */
		{ MPSTAT
		  "12:47:02 PM  all    4.00    1.00    1.51    0.00    0.00    0.00    0.00    "
		  "0.00    0.00   94.40\n"
		  "12:47:02 PM    0   99.00    1.00    1.51    0.00    0.00    0.00    0.00    "
		  "0.00    0.00    0.00\n\n"
		  "Average:     all   99.00    1.00    1.51    0.00    0.00    0.00    0.00    "
		  "0.00    0.00    0.00\n",
		  "{\"cpu_usr_mean_pct\":5.0,\"cpu_idle_mean_pct\":94.4}",
		  { .used = 1, .heads = 1, .too_short = 1, .unusable = 2, .values_skipped = 2 } },
		{ "12:47:01     CPU    %usr   %nice   %idle\n"
		  "12:47:02     all    4.00    1.00   94.40\n"
		  "Average:     all   99.00    1.00    0.00\n",
		  "{\"cpu_usr_mean_pct\":5.0,\"cpu_idle_mean_pct\":94.4}",
		  { .used = 1, .heads = 1, .unusable = 1 } },
		{ "timestamp,CPU,%usr,%nice,%idle\nt,all,60,50,-\nt,all,x,50,10\n",
		  "{\"cpu_usr_mean_pct\":100.0,\"cpu_idle_mean_pct\":10.0}",
		  { .used = 2, .heads = 1, .values_skipped = 2 } },
	};

	assert_all(HARDWARE_FILE_CPU, cases, ARRAY_LEN(cases));
}

static void test_hardware_file__survives_nuls_and_many_fields(void **state)
{
	static const char nuls[] = QUERY "\n\0\0\0\0\0\0\0\0\n1,\0,3,4,5,6,7,8,9\n";
	struct scan rest = scan_mem(nuls, sizeof nuls - 1), line;
	char many[4000];
	struct hardware_file f;

	hardware_file_init(&f, HARDWARE_FILE_METRICS);
	while (scan_line(&rest, &line))
		hardware_file_read_line(&f, line);
	memset(many, ',', sizeof many);
	hardware_file_read_line(&f, scan_mem(many, sizeof many));
	assert_int_equal(f.counts.used, 2);
	assert_int_equal(f.counts.too_short, 1);
	assert_int_equal(f.counts.unusable, 1);
	assert_int_equal(f.counts.values_skipped, 1 + 4);
	assert_int_equal(hardware_file_lines(&f.counts), 4);
}

static void test_hardware_file__distinguishes_gpus_where_the_file_does(void **state)
{
	struct hardware_file f;

	take(&f, HARDWARE_FILE_DMON,
	     "0 1 2 3\n3 1 2 3\n0 1 2 3\n63 1 2 3\n64 1 2 3\nx 1 2 3\n-1 1 2 3\n");
	assert_int_equal(f.counts.used, 7);
	assert_int_equal(f.gpus_seen, UINT64_C(1) << 63 | 1 << 3 | 1);
	take(&f, HARDWARE_FILE_METRICS, QUERY);
	assert_int_equal(f.gpus_seen, 0);
}

static struct gpu_sample full_gpu(void)
{
	struct gpu_sample gpu = { .index = 1 };

	readings_set(&gpu.r, GPU_UTIL, 62);
	readings_set(&gpu.r, GPU_MEM_UTIL, 40);
	readings_set(&gpu.r, GPU_MEM_USED, (UINT64_C(8123) << 20) + 1000);
	readings_set(&gpu.r, GPU_MEM_TOTAL, UINT64_C(24576) << 20);
	readings_set(&gpu.r, GPU_POWER, 214526);
	readings_set(&gpu.r, GPU_TEMPERATURE, 61);
	readings_set(&gpu.r, GPU_SM_CLOCK, 1980);
	readings_set(&gpu.r, GPU_MEM_CLOCK, 9501);
	return gpu;
}

static void test_hardware_file_put__writes_what_nvidia_smi_would(void **state)
{
	const struct gpu_sample full = full_gpu(), blind = { .index = 12 };
	uint64_t at_ns = UINT64_C(1714566896) * NS_PER_S + 789 * NS_PER_MS;
	struct buf out = { 0 };

	setenv("TZ", "UTC", 1);
	hardware_file_put_gpu(&out, at_ns, &full);
	hardware_file_put_gpu(&out, at_ns, &blind);
	assert_string_equal(out.at, QUERY "\n2024/05/01 12:34:56.789, [N/A], [N/A], [N/A], [N/A], "
	                                  "[N/A], [N/A], [N/A], [N/A]\n");
	buf_reset(&out);
	buf_puts(&out, HARDWARE_FILE_DMON_HEAD);
	hardware_file_put_dmon(&out, &full);
	hardware_file_put_dmon(&out, &blind);
	assert_string_equal(out.at, "# gpu     sm    mem     fb\n"
	                            "# Idx      %      %     MB\n"
	                            "    1     62     40   8123\n"
	                            "   12      -      -      -\n");
	buf_reset(&out);
	hardware_file_put_cpu(&out, at_ns, 1000, 7);
	assert_string_equal(out.at, "2024/05/01 12:34:56.789,100.0,0.7\n");
	buf_done(&out);
}

/* What goes into our sums is what a reader of the lines gets. */
static void test_hardware_file_add_gpu__adds_what_the_lines_show(void **state)
{
	static const enum hardware_file_role order[] = { HARDWARE_FILE_UTIL, HARDWARE_FILE_MEM_UTIL,
		                                         HARDWARE_FILE_VRAM, HARDWARE_FILE_POWER };
	struct resource_summary sums = { 0 };
	struct gpu_sample gpu = full_gpu();
	struct buf out = { 0 };
	struct hardware_file f;

	hardware_file_put_gpu(&out, 0, &gpu);
	take(&f, HARDWARE_FILE_METRICS, out.at);
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		hardware_file_add_gpu(&sums, &gpu, order[i]);
	assert_memory_equal(&sums, &f.sums, sizeof sums);
	gpu.r.present &= ~(UINT64_C(1) << GPU_POWER);
	hardware_file_add_gpu(&sums, &gpu, HARDWARE_FILE_POWER);
	assert_memory_equal(&sums, &f.sums, sizeof sums);
	buf_done(&out);
}

RUN_TESTS(TEST(test_hardware_file__reads_nvidia_smi_queries),
          TEST(test_hardware_file__reads_dmon_by_its_head),
          TEST(test_hardware_file__reads_cpu_files),
          TEST(test_hardware_file__survives_nuls_and_many_fields),
          TEST(test_hardware_file__distinguishes_gpus_where_the_file_does),
          TEST(test_hardware_file_put__writes_what_nvidia_smi_would),
          TEST(test_hardware_file_add_gpu__adds_what_the_lines_show))
