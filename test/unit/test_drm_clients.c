/* SPDX-License-Identifier: MIT */
/* What processes do on GPUs, by their open files: which count, and for which process. */
#include "probe/gpu/drm_clients.h"

#include "fake_machine.h"

#define KIB UINT64_C(1024)

static struct drm_devices devices;
static struct sample sample;

static struct drm_clients *begin(void)
{
	devices = (struct drm_devices){
		.count = 2,
		.at = { { .bus = "0000:0b:00.0", .nodes = { "renderD128" } },
		        { .bus = "ff9a0000.gpu", .nodes = { "card4", "renderD132" } } }
	};
	return drm_clients_new();
}

static void next_tick(struct drm_clients *c, uint64_t mono_ms)
{
	sample_reset(&sample);
	sample.mono_ns = mono_ms * NS_PER_MS;
	(void)vec_push(&sample.gpus, GPUS_MAX);
	(void)vec_push(&sample.gpus, GPUS_MAX);
	drm_clients_begin(c, sample.mono_ns);
}

static bool add(struct drm_clients *c, pid_t pid, const char *text)
{
	return drm_clients_add(c, &devices, (struct proc_id){ pid, (uint64_t)pid }, scan_str(text));
}

/* A client of the first device. */
static const char *client(unsigned id, unsigned kib, uint64_t busy_ms)
{
	static char texts[8][240];
	static unsigned next;
	char *text = texts[next++ % 8];

	snprintf(text, sizeof texts[0],
	         "@renderD128\ndrm-driver: amdgpu\ndrm-pdev: 0000:0b:00.0\ndrm-client-id: %u\n"
	         "drm-memory-vram: %u KiB\ndrm-engine-gfx: %llu ns\n",
	         id, kib, (unsigned long long)(busy_ms * NS_PER_MS));
	return text;
}

static void end(struct drm_clients *c)
{
	drm_clients_end(c, &devices, 0, &sample);
}

static const struct gpu_use *use_of(pid_t pid)
{
	vec_each(&sample.gpu_uses, use)
		if (use->id.pid == pid)
			return use;
	fail_msg("process %d uses no GPU", pid);
	return NULL;
}

static void test_drm_clients__count_a_duplicated_descriptor_once(void **state)
{
	struct drm_clients *c = begin();
	char text[600];

	snprintf(text, sizeof text, "%s%s%s", client(8, 100, 0), client(8, 100, 0),
	         client(9, 20, 0));
	next_tick(c, 1000);
	assert_true(add(c, 42, text));
	end(c);
	assert_int_equal(sample.gpu_uses.len, 1);
	assert_int_equal(use_of(42)->r.value[GPU_USE_MEM], 120 * KIB);
	assert_false(readings_has(&use_of(42)->r, GPU_USE_SM)); /* of one tick, no load is known */
	drm_clients_free(c);
}

static void test_drm_clients__count_an_inherited_one_for_the_process_that_had_it(void **state)
{
	struct drm_clients *c = begin();

	next_tick(c, 1000);
	add(c, 50, client(8, 100, 0)); /* the child is met first */
	add(c, 42, client(8, 100, 0));
	end(c);
	assert_int_equal(sample.gpu_uses.len, 1);
	assert_int_equal(use_of(42)->r.value[GPU_USE_MEM], 100 * KIB);
	next_tick(c, 2000);
	add(c, 50, client(8, 100, 500)); /* its parent is gone */
	add(c, 60, client(8, 100, 500));
	end(c);
	assert_int_equal(sample.gpu_uses.len, 1);
	assert_int_equal(use_of(50)->r.value[GPU_USE_SM], 50);
	next_tick(c, 3000);
	add(c, 30, client(8, 100, 500)); /* an older process that was sent it */
	add(c, 50, client(8, 100, 500));
	end(c);
	assert_int_equal(use_of(50)->r.value[GPU_USE_MEM], 100 * KIB);
	drm_clients_free(c);
}

static void test_drm_clients__take_the_load_from_the_growth_of_the_busiest_engine(void **state)
{
	static const char text[] = "@renderD128\ndrm-driver: x\ndrm-client-id: 1\n"
				   "drm-engine-render: %llu ns\ndrm-engine-video: %llu ns\n"
				   "drm-engine-capacity-video: 2\n";
	struct drm_clients *c = begin();
	char now[240];

	for (unsigned i = 0; i < 2; i++) {
		next_tick(c, 1000 + 2000 * i);
		snprintf(now, sizeof now, text, 500ull * NS_PER_MS * i, 3000ull * NS_PER_MS * i);
		add(c, 42, now);
		end(c);
	}
	/* 25 % of the one, 150 % of two of the other */
	assert_int_equal(use_of(42)->r.value[GPU_USE_SM], 75);
	drm_clients_free(c);
}

static void test_drm_clients__take_the_load_of_xe_from_cycles(void **state)
{
	static const char text[] = "@renderD128\ndrm-driver: xe\ndrm-client-id: 1\n"
				   "drm-cycles-rcs: %u\ndrm-total-cycles-rcs: %u\n";
	struct drm_clients *c = begin();
	char now[240];

	for (unsigned i = 1; i <= 2; i++) {
		next_tick(c, 1000 * i);
		snprintf(now, sizeof now, text, 300 * i, 1000 * i);
		add(c, 42, now);
		end(c);
	}
	assert_int_equal(use_of(42)->r.value[GPU_USE_SM], 30);
	drm_clients_free(c);
}

static void test_drm_clients__know_no_load_when_a_counter_went_back(void **state)
{
	struct drm_clients *c = begin();

	next_tick(c, 1000);
	add(c, 42, client(8, 1, 900));
	end(c);
	next_tick(c, 2000);
	add(c, 42, client(8, 1, 100));
	end(c);
	assert_false(readings_has(&use_of(42)->r, GPU_USE_SM));
	assert_false(readings_has(&sample.gpus.at[0].r, GPU_UTIL));
	drm_clients_free(c);
}

static void test_drm_clients__that_were_closed_are_forgotten(void **state)
{
	struct drm_clients *c = begin();

	next_tick(c, 1000);
	add(c, 42, client(8, 1, 100));
	end(c);
	next_tick(c, 2000);
	end(c);
	assert_int_equal(sample.gpu_uses.len, 0);
	next_tick(c, 3000);
	add(c, 42, client(8, 1, 900)); /* the number is used again */
	end(c);
	assert_false(readings_has(&use_of(42)->r, GPU_USE_SM));
	drm_clients_free(c);
}

static void test_drm_clients__add_up_to_at_least_what_a_device_does(void **state)
{
	struct drm_clients *c = begin();

	for (unsigned i = 0; i < 2; i++) {
		next_tick(c, 1000 + 1000 * i);
		add(c, 42, client(8, 100, 200 * i));
		add(c, 43, client(9, 50, 300 * i));
		readings_set(&sample.gpus.at[1].r, GPU_UTIL, 7);
		add(c, 44,
		    "@renderD132\ndrm-driver: panfrost\ndrm-client-id: 3\n"
		    "drm-resident-memory: 2 KiB\n");
		end(c);
	}
	assert_int_equal(sample.gpus.at[0].r.value[GPU_UTIL], 50);
	assert_int_equal(sample.gpus.at[0].r.value[GPU_MEM_USED], 150 * KIB);
	assert_int_equal(sample.gpus.at[0].at_least,
	                 UINT64_C(1) << GPU_UTIL | UINT64_C(1) << GPU_MEM_USED);
	assert_int_equal(sample.gpus.at[1].r.value[GPU_UTIL],
	                 7); /* the device's own figure stays */
	assert_int_equal(sample.gpus.at[1].at_least, UINT64_C(1) << GPU_MEM_USED);
	assert_int_equal(use_of(44)->gpu, 1); /* by its node: it is on no PCI bus */
	drm_clients_free(c);
}

static void test_drm_clients__without_an_id_count_the_largest_of_a_process(void **state)
{
	struct drm_clients *c = begin();

	next_tick(c, 1000);
	add(c, 42,
	    "@renderD128\ndrm-driver: x\ndrm-memory-vram: 30 KiB\n"
	    "@renderD128\ndrm-driver: x\ndrm-memory-vram: 50 KiB\n"
	    "@renderD128\ndrm-driver: x\ndrm-memory-vram: 20 KiB\n");
	add(c, 43, "@renderD128\ndrm-driver: x\ndrm-memory-vram: 5 KiB\n");
	end(c);
	assert_int_equal(sample.gpu_uses.len, 2);
	assert_int_equal(use_of(42)->r.value[GPU_USE_MEM], 50 * KIB);
	assert_int_equal(use_of(43)->r.value[GPU_USE_MEM], 5 * KIB);
	drm_clients_free(c);
}

static void test_drm_clients__mark_a_process_whose_files_were_cut(void **state)
{
	struct drm_clients *c = begin();
	char text[300];

	snprintf(text, sizeof text, "%s@\n", client(8, 100, 0));
	next_tick(c, 1000);
	add(c, 42, text);
	add(c, 43, client(9, 1, 0));
	end(c);
	assert_true(use_of(42)->is_partial);
	assert_false(use_of(43)->is_partial);
	drm_clients_free(c);
}

static void test_drm_clients__ignore_devices_that_are_not_theirs(void **state)
{
	struct drm_clients *c = begin();

	next_tick(c, 1000);
	assert_false(add(c, 42, "@renderD140\ndrm-driver: nvidia-drm\ndrm-client-id: 1\n"));
	assert_false(add(c, 43, ""));
	end(c);
	assert_int_equal(sample.gpu_uses.len, 0);
	drm_clients_free(c);
}

RUN_TESTS(TEST(test_drm_clients__count_a_duplicated_descriptor_once),
          TEST(test_drm_clients__count_an_inherited_one_for_the_process_that_had_it),
          TEST(test_drm_clients__take_the_load_from_the_growth_of_the_busiest_engine),
          TEST(test_drm_clients__take_the_load_of_xe_from_cycles),
          TEST(test_drm_clients__know_no_load_when_a_counter_went_back),
          TEST(test_drm_clients__that_were_closed_are_forgotten),
          TEST(test_drm_clients__add_up_to_at_least_what_a_device_does),
          TEST(test_drm_clients__without_an_id_count_the_largest_of_a_process),
          TEST(test_drm_clients__mark_a_process_whose_files_were_cut),
          TEST(test_drm_clients__ignore_devices_that_are_not_theirs))
