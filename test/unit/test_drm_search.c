/* SPDX-License-Identifier: MIT */
/* Which processes are searched for open files of GPUs, in frozen trees. */
#include "probe/gpu/drm_search.h"

#include "fake_machine.h"

#define KIB UINT64_C(1024)

static struct drm_devices devices;
static struct drm_clients *clients;
static struct drm_search *search;
static struct sample sample;

static void begin(void)
{
	devices = (struct drm_devices){ .count = 1, .at = { { .nodes = { "renderD128" } } } };
	clients = drm_clients_new();
	search = drm_search_new();
	sample_reset(&sample);
}

static void done(void)
{
	drm_search_free(search);
	drm_clients_free(clients);
	sample_done(&sample);
}

static const struct gpu_use *use_of(pid_t pid)
{
	vec_each(&sample.gpu_uses, use)
		if (use->id.pid == pid)
			return use;
	fail_msg("process %d uses no GPU", pid);
	return NULL;
}

static void add_procs(pid_t first, pid_t last)
{
	for (pid_t pid = first; pid <= last; pid++) {
		struct proc_sample *p = sample_add_proc(&sample);

		p->id = (struct proc_id){ pid, (uint64_t)pid };
	}
}

static void read_tree(const struct probe_env *env)
{
	for (size_t i = 0; i < devices.count; i++)
		(void)vec_push(&sample.gpus, GPUS_MAX);
	drm_search_read(search, clients, &devices, env->reader, 0, &sample);
}

static void test_drm_search__reads_the_processes_of_a_machine(void **state)
{
	struct probe_env env = tree_frozen("gpu");
	const struct proc_sample *p;

	begin();
	devices = (struct drm_devices){ 0 };
	drm_devices_find(env.root_fd, &devices);
	sample_reset(&sample);
	add_procs(100, 108);
	read_tree(&env);
	assert_int_equal(sample.gpu_uses.len, 5); /* 100 and 102 to 105: 101 has its parent's */
	assert_int_equal(use_of(100)->r.value[GPU_USE_MEM], (75332 + 1024) * KIB);
	assert_int_equal(use_of(104)->r.present, 0);
	p = sample_find_proc(&sample, 103);
	assert_int_equal(p->r.value[PROC_GPU_MEM], 23992 * KIB);
	assert_true(sample.gpus.at[1].knows_processes);
	assert_false(sample.gpus.at[6].knows_processes); /* its kernel reports nothing */
	done();
	close(env.root_fd);
}

/* The last of so many processes, with so many open files each, is on the GPU: how many ticks until it is found. */
static int search_crowd(struct tree *t, pid_t count, uint64_t files)
{
	char path[40];
	int ticks = 0;

	snprintf(path, sizeof path, "proc/%d/fd/x", count);
	tree_mkdirs(t, path);
	snprintf(path, sizeof path, "proc/%d/fd/5", count);
	assert_int_equal(symlinkat("/dev/dri/renderD128", t->env.root_fd, path), 0);
	snprintf(path, sizeof path, "proc/%d/fdinfo/5", count);
	tree_puts(t, path, "drm-driver: amdgpu\ndrm-client-id: 8\ndrm-memory-vram: 100 KiB\n");
	for (pid_t pid = 1; pid < count; pid++) {
		snprintf(path, sizeof path, "proc/%d/fd/x", pid);
		tree_mkdirs(t, path);
	}
	do {
		sample_reset(&sample);
		sample.request.focus_only = true;
		sample.mono_ns = (uint64_t)(ticks + 1) * NS_PER_S;
		add_procs(1, count);
		vec_each(&sample.procs, p) {
			readings_set(&p->r, PROC_FDS, files);
			*vec_push(&sample.request.focus, SIZE_MAX) = p->id;
		}
		read_tree(&t->env);
		assert_int_equal(sample.gpus.at[0].knows_processes, sample.gpu_uses.len == 1);
	} while (++ticks < 60 && !sample.gpu_uses.len);
	return ticks;
}

/* Many processes take several ticks; those found are read at each. */
static void test_drm_search__goes_through_a_crowd_a_few_at_a_time(void **state)
{
	struct tree t = tree_new();

	begin();
	assert_in_range(search_crowd(&t, 900, 3), 20, 40);
	sample_reset(&sample);
	sample.request.focus_only = true;
	add_procs(900, 900);
	read_tree(&t.env);
	assert_int_equal(sample.gpu_uses.len, 1);
	done();
	tree_remove(&t);
}

static void test_drm_search__reads_fewer_of_those_with_many_files(void **state)
{
	struct tree t = tree_new();

	begin();
	assert_in_range(search_crowd(&t, 60, 1000), 20, 40);
	done();
	tree_remove(&t);
}

RUN_TESTS(TEST(test_drm_search__reads_the_processes_of_a_machine),
          TEST(test_drm_search__goes_through_a_crowd_a_few_at_a_time),
          TEST(test_drm_search__reads_fewer_of_those_with_many_files))
