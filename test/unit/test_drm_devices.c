/* SPDX-License-Identifier: MIT */
/* GPUs in a frozen /sys/class/drm: which are found, and what their drivers report. */
#include "probe/gpu/drm_devices.h"

#include "fake_machine.h"
#include "probe/gpu/amdgpu.h"

static struct gpu_report report;
static struct drm_devices devices;

static void read_frozen(void)
{
	struct probe_env env = tree_frozen("gpu");

	devices = (struct drm_devices){ 0 };
	drm_devices_read(env.root_fd, &devices, &report);
	close(env.root_fd);
}

static const struct gpu_sample *gpu_at(const char *bus)
{
	int at = drm_devices_by_bus(&devices, bus);

	assert_true(at >= 0);
	assert_string_equal(report.gpus[at].bus, bus);
	return &report.gpus[at];
}

static void test_drm_devices__finds_gpus_in_the_order_of_their_cards(void **state)
{
	static const char *const wanted[] = { "0000:00:02.0", "0000:0b:00.0", "0000:03:00.0",
		                              "0000:04:00.0", "ff9a0000.gpu", "0000:0c:00.0",
		                              "0000:0d:00.0" };

	read_frozen();
	assert_int_equal(report.verdict, GPU_REPORTED);
	assert_int_equal(report.gpu_count, ARRAY_LEN(wanted)); /* no ast, no nvidia */
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		assert_string_equal(report.gpus[i].bus, wanted[i]);
}

static void test_drm_devices__are_found_by_the_node_of_an_open_file(void **state)
{
	read_frozen();
	assert_int_equal(drm_devices_by_node(&devices, "renderD129"), 1);
	assert_int_equal(drm_devices_by_node(&devices, "card1"), 1);
	assert_int_equal(drm_devices_by_node(&devices, "renderD132"), 4);
	assert_int_equal(drm_devices_by_node(&devices, "renderD133"), -1); /* NVIDIA's */
	assert_int_equal(drm_devices_by_node(&devices, ""), -1);
}

static void test_amdgpu__reports_every_figure(void **state)
{
	const struct gpu_sample *gpu;

	read_frozen();
	gpu = gpu_at("0000:0b:00.0");
	assert_string_equal(gpu->name, "AMD Radeon PRO W6800");
	assert_string_equal(gpu->uuid, "AMD-5a1c35e8c0ffee00");
	assert_int_equal(gpu->r.present, (UINT64_C(1) << GPU_METRIC_COUNT) - 1);
	assert_int_equal(gpu->r.value[GPU_UTIL], 37);
	assert_int_equal(gpu->r.value[GPU_MEM_UTIL], 12);
	assert_int_equal(gpu->r.value[GPU_MEM_USED], 1024 * MIB);
	assert_int_equal(gpu->r.value[GPU_MEM_TOTAL], 16368 * MIB);
	assert_int_equal(gpu->r.value[GPU_TEMPERATURE], 61);
	assert_int_equal(gpu->r.value[GPU_POWER], 123450);
	assert_int_equal(gpu->r.value[GPU_SM_CLOCK], 2250);
	assert_int_equal(gpu->r.value[GPU_MEM_CLOCK], 1000);
}

static void test_amdgpu__leaves_absent_what_an_old_kernel_lacks(void **state)
{
	const struct gpu_sample *gpu;

	read_frozen();
	gpu = gpu_at("0000:0d:00.0");
	assert_string_equal(gpu->name, "AMD 1002:164e");
	assert_string_equal(gpu->uuid, "0000:0d:00.0");
	assert_int_equal(gpu->r.present, UINT64_C(1) << GPU_MEM_TOTAL | UINT64_C(1) << GPU_POWER);
	assert_int_equal(gpu->r.value[GPU_POWER], 14000); /* power1_input */
}

static void test_drm_devices__do_not_wake_a_gpu_that_sleeps(void **state)
{
	read_frozen();
	assert_int_equal(gpu_at("0000:0c:00.0")->r.present, 0);
}

static void test_intel__reports_clock_and_temperature(void **state)
{
	read_frozen();
	assert_int_equal(gpu_at("0000:00:02.0")->r.value[GPU_SM_CLOCK], 1300);
	assert_int_equal(gpu_at("0000:03:00.0")->r.value[GPU_SM_CLOCK], 2050);
	assert_int_equal(gpu_at("0000:03:00.0")->r.value[GPU_TEMPERATURE], 48);
	assert_false(readings_has(&gpu_at("0000:03:00.0")->r, GPU_UTIL));
}

static void put_card(const struct tree *t, unsigned card, const char *bus)
{
	char path[80], text[80];

	snprintf(path, sizeof path, "sys/class/drm/card%u/device/uevent", card);
	snprintf(text, sizeof text, "DRIVER=amdgpu\nPCI_SLOT_NAME=%s\n", bus);
	tree_puts(t, path, text);
}

static void test_drm_devices__keep_their_places_when_others_come_and_go(void **state)
{
	struct tree t = tree_new();

	devices = (struct drm_devices){ 0 };
	drm_devices_read(t.env.root_fd, &devices, &report); /* no such directory */
	assert_int_equal(report.gpu_count, 0);
	put_card(&t, 1, "0000:01:00.0");
	put_card(&t, 2, "0000:02:00.0");
	drm_devices_read(t.env.root_fd, &devices, &report);
	assert_int_equal(report.gpu_count, 2);
	put_card(&t, 0, "0000:03:00.0"); /* a new one, with a lower number */
	assert_int_equal(unlinkat(t.env.root_fd, "sys/class/drm/card1/device/uevent", 0), 0);
	drm_devices_read(t.env.root_fd, &devices, &report);
	assert_int_equal(report.gpu_count, 3);
	assert_string_equal(report.gpus[0].bus, "0000:01:00.0");
	assert_string_equal(report.gpus[1].bus, "0000:02:00.0");
	assert_string_equal(report.gpus[2].bus, "0000:03:00.0");
	tree_remove(&t);
}

static void test_drm_devices__have_a_ceiling(void **state)
{
	struct tree t = tree_new();
	char bus[24];

	for (unsigned i = 0; i < DRM_DEVICES_MAX + 4; i++) {
		snprintf(bus, sizeof bus, "0000:%02x:00.0", i);
		put_card(&t, i, bus);
	}
	devices = (struct drm_devices){ 0 };
	drm_devices_find(t.env.root_fd, &devices);
	assert_int_equal(devices.count, DRM_DEVICES_MAX);
	tree_remove(&t);
}

static void test_amdgpu_parse_clock__takes_the_marked_line(void **state)
{
	uint64_t mhz = 7;

	assert_true(amdgpu_parse_clock(scan_str("0: 500Mhz\n1: 800Mhz *\n2: 900Mhz"), &mhz));
	assert_int_equal(mhz, 800);
	assert_false(amdgpu_parse_clock(scan_str("0: 500Mhz \n1: 99999999999999999999Mhz *\n2 *"),
	                                &mhz));
	assert_int_equal(mhz, 800);
}

RUN_TESTS(TEST(test_drm_devices__finds_gpus_in_the_order_of_their_cards),
          TEST(test_drm_devices__are_found_by_the_node_of_an_open_file),
          TEST(test_amdgpu__reports_every_figure),
          TEST(test_amdgpu__leaves_absent_what_an_old_kernel_lacks),
          TEST(test_drm_devices__do_not_wake_a_gpu_that_sleeps),
          TEST(test_intel__reports_clock_and_temperature),
          TEST(test_drm_devices__keep_their_places_when_others_come_and_go),
          TEST(test_drm_devices__have_a_ceiling),
          TEST(test_amdgpu_parse_clock__takes_the_marked_line))
