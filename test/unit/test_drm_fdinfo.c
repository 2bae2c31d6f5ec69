/* SPDX-License-Identifier: MIT */
/* The kernel's text about open files of GPUs: of each driver, of old kernels, and malformed. */
#include "kernel/drm_fdinfo.h"

#include "fake_machine.h"

#define KIB UINT64_C(1024)

/* What the reader of processes finds of this one in the frozen tree. */
static struct scan files_of(struct probe_env *env, pid_t pid)
{
	static struct process_request q;

	q = (struct process_request){ .pid = pid, .files = 1U << PROCESS_DRM };
	process_reader_read(env->reader, &q, 1);
	assert_int_equal(q.error, 0);
	assert_int_equal(q.errors[PROCESS_DRM], 0);
	return q.text[PROCESS_DRM];
}

static struct drm_client first_client(pid_t pid)
{
	struct probe_env env = tree_frozen("gpu");
	struct scan text = files_of(&env, pid);
	struct drm_client c;

	assert_true(drm_fdinfo_next(&text, &c));
	close(env.root_fd);
	return c;
}

static struct drm_client parse(const char *text)
{
	struct scan s = scan_str(text);
	struct drm_client c;

	assert_true(drm_fdinfo_next(&s, &c));
	assert_false(drm_fdinfo_next(&s, &(struct drm_client){ 0 }));
	return c;
}

static void assert_engine(const struct drm_client *c, size_t i, const char *name, uint64_t busy,
                          uint64_t total, uint64_t capacity)
{
	assert_true(i < c->engine_count);
	assert_string_equal(c->engines[i].name, name);
	assert_int_equal(c->engines[i].busy, busy);
	assert_int_equal(c->engines[i].total, total);
	assert_int_equal(c->engines[i].capacity, capacity);
}

static void test_drm_fdinfo__reads_what_amdgpu_prints(void **state)
{
	struct drm_client c = first_client(100);

	assert_string_equal(c.driver, "amdgpu");
	assert_string_equal(c.bus, "0000:0b:00.0");
	assert_true(c.has_id && c.has_memory);
	assert_true(c.id == 8 || c.id == 9);
	assert_int_equal(c.memory_bytes, (c.id == 8 ? 75332 : 1024) * KIB); /* of vram alone */
	assert_int_equal(c.engine_count, 2);
}

static void test_drm_fdinfo__reads_what_i915_prints(void **state)
{
	struct drm_client c = first_client(102);

	assert_string_equal(c.node, "renderD128");
	assert_string_equal(c.driver, "i915");
	assert_int_equal(c.id, 13);
	assert_int_equal(c.memory_bytes, 30720 * KIB); /* resident, not total */
	assert_int_equal(c.engine_count, 4);
	assert_engine(&c, 0, "render", 9288864723, 0, 1);
	assert_engine(&c, 2, "video", 0, 0, 2);
}

static void test_drm_fdinfo__reads_the_cycles_of_xe(void **state)
{
	struct drm_client c = first_client(103);

	assert_string_equal(c.driver, "xe");
	assert_int_equal(c.memory_bytes, 23992 * KIB);
	assert_int_equal(c.engine_count, 2);
	assert_engine(&c, 0, "rcs", 28257900, 7655183225, 1);
	assert_engine(&c, 1, "vcs", 0, 7655183225, 2);
}

static void test_drm_fdinfo__knows_nouveau_by_name_only(void **state)
{
	struct drm_client c = first_client(104);

	assert_string_equal(c.driver, "nouveau");
	assert_true(c.has_id);
	assert_false(c.has_memory);
	assert_int_equal(c.engine_count, 0);
}

static void test_drm_fdinfo__prefers_the_time_of_panfrost_to_its_cycles(void **state)
{
	struct drm_client c = first_client(105);

	assert_string_equal(c.bus, "");
	assert_string_equal(c.node, "renderD132");
	assert_int_equal(c.memory_bytes, 36496 * KIB);
	assert_int_equal(c.engine_count, 2);
	assert_engine(&c, 0, "fragment", 1846584880, 0, 1);
	assert_engine(&c, 1, "vertex-tiler", 71932239, 0, 1);
}

static void test_drm_fdinfo__knows_nothing_from_a_kernel_without_the_keys(void **state)
{
	struct drm_client c = first_client(106);

	assert_string_equal(c.node, "renderD135");
	assert_string_equal(c.driver, "");
	assert_false(c.has_id || c.has_memory);
}

static void test_drm_fdinfo__takes_the_most_exact_key_of_a_region(void **state)
{
	static const char *const texts[] = {
		"@x\ndrm-driver: a\ndrm-total-vram: 9 KiB\ndrm-memory-vram: 7 KiB\ndrm-resident-vram: 5 KiB\n",
		"@x\ndrm-driver: a\ndrm-resident-vram: 5 KiB\ndrm-memory-vram: 7 KiB\ndrm-total-vram: 9 KiB\n",
		"@x\ndrm-driver: a\ndrm-total-vram: 9 KiB\ndrm-memory-vram: 5 KiB\n",
		"@x\ndrm-driver: a\ndrm-total-vram: 5120\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_int_equal(parse(texts[i]).memory_bytes, 5 * KIB);
}

static void test_drm_fdinfo__leaves_out_values_that_are_not_numbers(void **state)
{
	struct drm_client c = parse("@renderD128\n"
	                            "drm-driver:amdgpu  \n"
	                            "drm-client-id: -1\n"
	                            "drm-memory-vram: 99999999999999999999 KiB\n"
	                            "drm-resident-vram: 18446744073709551615 MiB\n"
	                            "drm-total-vram: 12 pages\n"
	                            "drm-engine-gfx: 5 s\n"
	                            "drm-engine-: 1 ns\n"
	                            "drm-engine-compute: 12ns\n"
	                            "drm-engine-capacity-compute: 0\n"
	                            "drm-engine-capacity-dma: 3\n"
	                            "drm-cycles-vcn: 1\n"
	                            "no colon\n"
	                            ":\n");

	assert_string_equal(c.driver, "amdgpu");
	assert_false(c.has_id || c.has_memory);
	assert_int_equal(c.engine_count, 1);
	assert_engine(&c, 0, "compute", 12, 0, 1);
}

static void test_drm_fdinfo__holds_no_more_than_it_has_room_for(void **state)
{
	char text[4096] = "@renderD128\ndrm-driver: x\n";

	for (int i = 0; i < 40; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text),
		         "drm-engine-e%d: 1 ns\ndrm-resident-r%d: 1 KiB\n", i, i);
	assert_int_equal(parse(text).engine_count, DRM_ENGINES_MAX);
	assert_int_equal(parse(text).memory_bytes, DRM_REGIONS_MAX * KIB);
	assert_string_equal(parse("@x\ndrm-driver: a-name-longer-than-any-driver-has\n").driver,
	                    "");
}

static void test_process_reader__reads_the_open_files_of_gpus_only(void **state)
{
	struct probe_env env = tree_frozen("gpu");
	struct scan text = files_of(&env, 100);
	struct drm_client c;
	int clients = 0;

	while (drm_fdinfo_next(&text, &c))
		clients++;
	assert_int_equal(clients, 3);
	text = files_of(&env, 107); /* a device that is gone, and a file by its name elsewhere */
	assert_true(scan_at_end(&text));
	text = files_of(&env, 108);
	assert_true(scan_at_end(&text));
	close(env.root_fd);
}

static void test_process_reader__marks_what_it_leaves_out(void **state)
{
	struct tree t = tree_new();
	struct drm_client c = { 0 };
	struct scan text;
	char path[64], long_text[2000];
	int clients = 0;

	memset(long_text, 'x', sizeof long_text - 1);
	long_text[sizeof long_text - 1] = '\0';
	tree_mkdirs(&t, "proc/42/fd/x");
	for (int i = 0; i < 40; i++) {
		snprintf(path, sizeof path, "proc/42/fd/%d", i);
		assert_int_equal(symlinkat("/dev/dri/renderD128", t.env.root_fd, path), 0);
		snprintf(path, sizeof path, "proc/42/fdinfo/%d", i);
		tree_puts(&t, path, long_text); /* no newline at its end */
	}
	text = files_of(&t.env, 42);
	while (drm_fdinfo_next(&text, &c))
		clients++;
	assert_true(clients > 8 && clients < 40);
	assert_true(drm_client_is_rest(&c));
	tree_remove(&t);
}

RUN_TESTS(TEST(test_drm_fdinfo__reads_what_amdgpu_prints),
          TEST(test_drm_fdinfo__reads_what_i915_prints),
          TEST(test_drm_fdinfo__reads_the_cycles_of_xe),
          TEST(test_drm_fdinfo__knows_nouveau_by_name_only),
          TEST(test_drm_fdinfo__prefers_the_time_of_panfrost_to_its_cycles),
          TEST(test_drm_fdinfo__knows_nothing_from_a_kernel_without_the_keys),
          TEST(test_drm_fdinfo__takes_the_most_exact_key_of_a_region),
          TEST(test_drm_fdinfo__leaves_out_values_that_are_not_numbers),
          TEST(test_drm_fdinfo__holds_no_more_than_it_has_room_for),
          TEST(test_process_reader__reads_the_open_files_of_gpus_only),
          TEST(test_process_reader__marks_what_it_leaves_out))
