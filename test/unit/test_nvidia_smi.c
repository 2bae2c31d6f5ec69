/* SPDX-License-Identifier: MIT */
#include "probe/gpu/nvidia_smi.h"

#include "check.h"

#define MIB (UINT64_C(1) << 20)

static struct gpu_report report;

static size_t parse(const char *text)
{
	report = (struct gpu_report){ 0 };
	return nvidia_smi_parse_gpus(scan_str(text), false, &report);
}

static void test_smi_parse_gpus__reads_what_the_program_prints(void **state)
{
	assert_int_equal(
		parse("0, GPU-5d1f5a4e-2c2b-11ee-be56-0242ac120002, 34, 12, 1234, 40536, 45, 123.45, "
	              "1410, 1215, NVIDIA A100-SXM4-40GB\n"
	              "1, GPU-9a, 0, 0, 3, 40536, 30, 52.07, 210, 1215, NVIDIA A100-SXM4-40GB\n"),
		2);
	assert_int_equal(report.gpu_count, 2);
	assert_string_equal(report.gpus[0].uuid, "GPU-5d1f5a4e-2c2b-11ee-be56-0242ac120002");
	assert_string_equal(report.gpus[0].name, "NVIDIA A100-SXM4-40GB");
	assert_int_equal(report.gpus[0].r.value[GPU_UTIL], 34);
	assert_int_equal(report.gpus[0].r.value[GPU_MEM_UTIL], 12);
	assert_int_equal(report.gpus[0].r.value[GPU_MEM_USED], 1234 * MIB);
	assert_int_equal(report.gpus[0].r.value[GPU_MEM_TOTAL], 40536 * MIB);
	assert_int_equal(report.gpus[0].r.value[GPU_TEMPERATURE], 45);
	assert_int_equal(report.gpus[0].r.value[GPU_POWER], 123450);
	assert_int_equal(report.gpus[0].r.value[GPU_SM_CLOCK], 1410);
	assert_int_equal(report.gpus[0].r.value[GPU_MEM_CLOCK], 1215);
	assert_int_equal(report.gpus[1].index, 1);
	assert_true(readings_has(&report.gpus[1].r, GPU_UTIL)); /* zero is not absent */
}

static void test_smi_parse_gpus__leaves_absent_what_is_not_a_number(void **state)
{
	assert_int_equal(parse("0, GPU-1, [N/A], [Not Supported], [Unknown Error], N/A, , "
	                       "[GPU is lost], 1e3, -5, Tesla K80"),
	                 1);
	assert_int_equal(report.gpus[0].r.present, 0);
	assert_string_equal(report.gpus[0].name, "Tesla K80");
}

static void test_smi_parse_gpus__refuses_figures_beyond_reason(void **state)
{
	assert_int_equal(parse("0, GPU-1, 101, 4294967295, 18446744073709551615, "
	                       "99999999999999999999, 4000, 18446744073709551615.5, 1, 2, x"),
	                 1);
	assert_int_equal(report.gpus[0].r.present, 1 << GPU_SM_CLOCK | 1 << GPU_MEM_CLOCK);
}

static void test_smi_parse_gpus__keeps_a_name_with_commas(void **state)
{
	assert_int_equal(parse("0, GPU-1, 1, 1, 1, 1, 1, 1, 1, 1, Fast, very fast \r\n"), 1);
	assert_string_equal(report.gpus[0].name, "Fast, very fast");
}

static void test_smi_parse_gpus__passes_over_what_is_no_gpu(void **state)
{
	assert_int_equal(
		parse("Unable to determine the device handle for GPU 0000:0B:00.0: GPU is lost.\n"
	              "\n,,,,,\nindex, uuid\n0, GPU-1, 1, 1\n"
	              "2, GPU-2, 1, 1, 1, 1, 1, 1, 1, 1, ok\n"),
		1);
	assert_int_equal(report.gpus[0].index, 2);
}

static void test_smi_parse_gpus__stops_at_the_ceiling(void **state)
{
	struct buf text = { 0 };

	for (unsigned i = 0; i < 2 * GPUS_MAX; i++)
		buf_printf(&text, "%u, GPU-%u, 1, 1, 1, 1, 1, 1, 1, 1, x\n", i, i);
	assert_int_equal(parse(text.at), GPUS_MAX);
	buf_done(&text);
}

static void test_smi_parse_apps__finds_the_gpu_by_its_uuid(void **state)
{
	parse("0, GPU-a, 1, 1, 1, 1, 1, 1, 1, 1, x\n1, GPU-b, 1, 1, 1, 1, 1, 1, 1, 1, x\n");
	assert_int_equal(nvidia_smi_parse_apps(scan_str("GPU-b, 4711, 1024\nGPU-a, 12, [N/A]\n"
	                                                "GPU-c, 13, 5\nGPU-a, 0, 5\nGPU-a, 4711\n"
	                                                "No running processes found\n"),
	                                       &report),
	                 2);
	assert_int_equal(report.uses[0].gpu, 1);
	assert_int_equal(report.uses[0].id.pid, 4711);
	assert_int_equal(report.uses[0].r.value[GPU_USE_MEM], 1024 * MIB);
	assert_int_equal(report.uses[1].gpu, 0);
	assert_int_equal(report.uses[1].r.present, 0);
}

static void test_smi_parse_gpus__reads_throttling_and_memory_errors(void **state)
{
	const struct gpu_health *h = &report.gpus[0].health;

	report = (struct gpu_report){ 0 };
	assert_int_equal(
		nvidia_smi_parse_gpus(
			scan_str("0, GPU-1, 1, 2, 3, 4, 5, 6, 7, 8, 0x0000000000000029, 7, "
	                         "[N/A], A, B\n"
	                         "1, GPU-2, 1, 2, 3, 4, 5, 6, 7, 8, [Not Supported], , 0x1, "
	                         "C\n"
	                         "2, GPU-3, 1, 2, 3, 4, 5, 6, 7, 8, 0x1\n"),
			true, &report),
		2);
	assert_true(h->knows_throttle);
	assert_int_equal(h->throttle,
	                 1U << GPU_THROTTLE_HW_SLOWDOWN | 1U << GPU_THROTTLE_SW_THERMAL);
	assert_true(h->knows_corrected && h->ecc_corrected == 7);
	assert_false(h->knows_uncorrected);
	assert_string_equal(report.gpus[0].name, "A, B");
	assert_false(report.gpus[1].health.knows_throttle ||
	             report.gpus[1].health.knows_corrected ||
	             report.gpus[1].health.knows_uncorrected);
}

RUN_TESTS(TEST(test_smi_parse_gpus__reads_throttling_and_memory_errors),
          TEST(test_smi_parse_gpus__reads_what_the_program_prints),
          TEST(test_smi_parse_gpus__leaves_absent_what_is_not_a_number),
          TEST(test_smi_parse_gpus__refuses_figures_beyond_reason),
          TEST(test_smi_parse_gpus__keeps_a_name_with_commas),
          TEST(test_smi_parse_gpus__passes_over_what_is_no_gpu),
          TEST(test_smi_parse_gpus__stops_at_the_ceiling),
          TEST(test_smi_parse_apps__finds_the_gpu_by_its_uuid))
