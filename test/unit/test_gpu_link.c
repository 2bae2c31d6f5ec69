/* SPDX-License-Identifier: MIT */
/* The helper and both its sources against a library and a program that are fake, in all their
 * moods; all the rest is real. */
#include "probe/gpu/gpu_link.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/scan.h"
#include "fake_machine.h"

/* A wait for a helper that hangs would take for ever; a busy machine needs a moment to start a
 * process. */
#define TURN_MAX_NS (5 * NS_PER_S)
#define TURNS 2000 /* of 10 ms or more, until something must have happened */

static struct gpu_link *link_with(const char *source, uint64_t answer_ns)
{
	return gpu_link_new(&(struct gpu_link_options){
		.program = SELF,
		.source = source,
		.start_ns = PATIENCE_NS,
		.answer_ns = answer_ns,
		.gap_ns = 30 * NS_PER_MS, /* so that a state can be seen before the next question */
		.grace_ns = 5 * NS_PER_MS,
		.retry_ns = 10 * NS_PER_MS,
		.tries = 3,
	});
}

/* No helper is late that does not hang, however busy the machine is. */
static struct gpu_link *link_to(const char *source)
{
	return link_with(source, PATIENCE_NS);
}

/* Turns it until it is in this state, or our patience ends. No turn takes long. */
static void turn_until(struct gpu_link *l, enum gpu_link_state wanted)
{
	uint64_t end_ns = clock_mono_ns() + PATIENCE_NS;

	while (gpu_link_state(l) != wanted && clock_mono_ns() < end_ns) {
		uint64_t begin_ns = clock_mono_ns();

		gpu_link_turn(l, begin_ns);
		assert_true(clock_mono_ns() - begin_ns < TURN_MAX_NS);
		gpu_link_wait(l, 5 * NS_PER_MS);
	}
	if (gpu_link_state(l) != wanted)
		fail_msg("state %d, not %d: %s", gpu_link_state(l), wanted, l->reason);
}

static const struct gpu_report *ask(struct gpu_link *l)
{
	turn_until(l, GPU_LINK_WORKS);
	assert_true(l->has_report);
	return &l->report;
}

static void assert_gives_up(const char *source, const char *why)
{
	struct gpu_link *l = link_to(source);

	turn_until(l, GPU_LINK_GAVE_UP);
	if (!strstr(l->reason, why))
		fail_msg("'%s' is not in '%s'", why, l->reason);
	gpu_link_free(l);
}

/* ---- the library ---- */

static void test_gpu_probe__reports_what_the_library_reports(void **state)
{
	struct gpu_link *l = link_to(gpu_source_nvml);
	const struct gpu_report *r;

	use_library("fake-nvml.so", "gpus=2 pids=4711:512:37,4712:0:0");
	r = ask(l);
	assert_string_equal(r->text, "driver 535.104.05");
	assert_int_equal(r->gpu_count, 2);
	assert_string_equal(r->gpus[1].name, "Fake GPU 1");
	assert_int_equal(strlen(r->gpus[1].uuid), 40);
	assert_int_equal(r->gpus[1].r.present, (1 << GPU_METRIC_COUNT) - 1);
	assert_int_equal(r->gpus[1].r.value[GPU_UTIL], 51);
	assert_int_equal(r->gpus[1].r.value[GPU_MEM_UTIL], 20);
	assert_int_equal(r->gpus[1].r.value[GPU_MEM_USED], 1000 * MIB);
	assert_int_equal(r->gpus[1].r.value[GPU_MEM_TOTAL], 16384 * MIB);
	assert_int_equal(r->gpus[1].r.value[GPU_TEMPERATURE], 61);
	assert_int_equal(r->gpus[1].r.value[GPU_POWER], 123450);
	assert_int_equal(r->gpus[1].r.value[GPU_SM_CLOCK], 1410);
	assert_int_equal(r->gpus[1].r.value[GPU_MEM_CLOCK], 1215);
	assert_int_equal(r->use_count, 2);
	assert_int_equal(r->uses[0].r.value[GPU_USE_MEM], 512 * MIB);
	assert_int_equal(r->uses[0].r.value[GPU_USE_SM], 37);
	assert_false(readings_has(&r->uses[1].r, GPU_USE_MEM)); /* the library does not know */
	assert_true(r->cpu_ns > 0 && r->peak_bytes > MIB);
	gpu_link_free(l);
}

static void test_gpu_probe__makes_do_with_an_old_library(void **state)
{
	struct gpu_link *l = link_to(gpu_source_nvml);
	const struct gpu_report *r;

	use_library("fake-nvml-old.so", "pids=4711:512:37");
	r = ask(l);
	assert_int_equal(r->gpu_count, 1);
	assert_int_equal(r->gpus[0].r.value[GPU_MEM_USED], 1384 * MIB); /* of the older layout */
	assert_int_equal(r->uses[0].r.value[GPU_USE_MEM], 512 * MIB);
	assert_false(readings_has(&r->uses[0].r, GPU_USE_SM));
	gpu_link_free(l);
}

static void test_gpu_probe__leaves_absent_what_is_not_supported(void **state)
{
	struct gpu_link *l = link_to(gpu_source_nvml);
	const struct gpu_report *r;

	use_library("fake-nvml.so", "unsupported=power,utilization,processes pids=4711:512:37");
	r = ask(l);
	assert_int_equal(r->gpus[0].r.present,
	                 ((1 << GPU_METRIC_COUNT) - 1) &
	                         ~(1 << GPU_POWER | 1 << GPU_UTIL | 1 << GPU_MEM_UTIL));
	assert_int_equal(r->use_count, 0);
	gpu_link_free(l);
}

static void test_gpu_probe__knows_that_there_is_none(void **state)
{
	struct gpu_link *l = link_to(gpu_source_nvml);

	use_library("fake-nvml.so", "gpus=0");
	assert_int_equal(ask(l)->gpu_count, 0);
	gpu_link_free(l);
}

static void test_gpu_probe__survives_a_library_that_lies(void **state)
{
	struct gpu_link *l = link_to(gpu_source_nvml);
	const struct gpu_report *r;

	use_library("fake-nvml.so", "garbage gpus=4000000000 pids=4711:512:37");
	r = ask(l);
	assert_int_equal(r->gpu_count, GPUS_MAX);
	assert_int_equal(strlen(r->gpus[0].name), GPU_TEXT_MAX - 1);
	assert_false(readings_has(&r->uses[0].r, GPU_USE_SM));
	gpu_link_free(l);
}

static void test_gpu_probe__names_a_lost_gpu_and_knows_nothing_of_it(void **state)
{
	struct gpu_link *l = link_to(gpu_source_nvml);
	const struct gpu_report *r;

	use_library("fake-nvml.so", "gpus=2 lost=1 after=3");
	r = ask(l);
	assert_true(readings_has(&r->gpus[1].r, GPU_UTIL));
	for (int i = 0; i < TURNS && r->gpus[1].r.present; i++) {
		gpu_link_turn(l, clock_mono_ns());
		gpu_link_wait(l, 50 * NS_PER_MS);
	}
	assert_int_equal(gpu_link_state(l), GPU_LINK_WORKS);
	assert_int_equal(r->gpus[1].r.present, 0);
	assert_string_equal(r->gpus[1].name, "Fake GPU 1");
	assert_true(readings_has(&r->gpus[0].r, GPU_UTIL));
	gpu_link_free(l);
}

static void test_gpu_probe__gives_up_at_once_what_can_never_work(void **state)
{
	use_library("fake-nvml.so", "init=18");
	assert_gives_up(gpu_source_nvml, "Driver/library version mismatch (18)");
	use_library("fake-nvml.so", "init=9");
	assert_gives_up(gpu_source_nvml, "init");
	use_library("fake-nvml-empty.so", "");
	assert_gives_up(gpu_source_nvml, "has no nvmlInit_v2");
	setenv(GPU_ENV_NVML, "/nowhere/libnvidia-ml.so.1", 1);
	assert_gives_up(gpu_source_nvml, "not a file that only this user and root can change");
	setenv(GPU_ENV_NVML, "relative.so", 1);
	assert_gives_up(gpu_source_nvml, "not a file");
	set_path(GPU_ENV_NVML, "meson.build"); /* not there, or no library */
	assert_gives_up(gpu_source_nvml, "");
}

static void test_gpu_probe__does_not_load_what_others_can_change(void **state)
{
	struct tree t = tree_new();
	char path[128];

	tree_puts(&t, "lib.so", "x");
	snprintf(path, sizeof path, "%s/lib.so", t.path);
	chmod(path, 0666);
	setenv(GPU_ENV_NVML, path, 1);
	assert_gives_up(gpu_source_nvml, "only this user and root");
	chmod(path, 0644);
	assert_gives_up(gpu_source_nvml, "cannot be loaded");
	tree_remove(&t);
}

/* It may do so at any point of its life; three helpers try. */
static void test_gpu_probe__survives_a_library_that_aborts(void **state)
{
	use_library("fake-nvml.so", "abort=init");
	assert_gives_up(gpu_source_nvml, "signal 6");
	use_library("fake-nvml.so", "abort=power");
	assert_gives_up(gpu_source_nvml, "signal 6");
	use_library("fake-nvml.so", "count=999");
	assert_gives_up(gpu_source_nvml, "count: Unknown Error (999)");
}

/* Turns it until an answer comes that is newer than this. */
static void turn_until_answer(struct gpu_link *l, uint64_t since_ns)
{
	uint64_t end_ns = clock_mono_ns() + PATIENCE_NS;

	while (l->answered_ns <= since_ns && clock_mono_ns() < end_ns) {
		gpu_link_turn(l, clock_mono_ns());
		gpu_link_wait(l, 5 * NS_PER_MS);
	}
	assert_true(l->answered_ns > since_ns);
}

/* Each of them answers twice. */
static void test_gpu_probe__starts_a_new_helper_when_one_aborts(void **state)
{
	struct gpu_link *l = link_to(gpu_source_nvml);
	pid_t first;

	use_library("fake-nvml.so", "abort=power after=3");
	ask(l);
	first = l->child.pid;
	turn_until(l, GPU_LINK_FAILING);
	assert_int_equal(l->failures, 1);
	assert_non_null(strstr(l->reason, "signal 6"));
	turn_until_answer(l, clock_mono_ns());
	assert_true(kill(first, 0) < 0 && errno == ESRCH);
	gpu_link_free(l);
}

static void test_gpu_probe__ends_a_library_that_hangs(void **state)
{
	struct gpu_link *l = link_with(gpu_source_nvml, 300 * NS_PER_MS);
	uint64_t begin_ns = clock_mono_ns();

	use_library("fake-nvml.so", "hang=utilization after=2");
	ask(l);
	turn_until(l, GPU_LINK_FAILING);
	assert_true(clock_mono_ns() - begin_ns >= 300 * NS_PER_MS);
	assert_string_equal(l->reason, "no answer within 0.3 s");
	turn_until_answer(l, clock_mono_ns());
	gpu_link_free(l);
}

static void test_gpu_probe__never_waits_for_a_library_that_hangs(void **state)
{
	struct gpu_link *l = link_to(gpu_source_nvml);
	uint64_t worst_ns = 0, end_ns = clock_mono_ns() + 2 * NS_PER_S;

	use_library("fake-nvml.so", "hang=init");
	while (clock_mono_ns() < end_ns) {
		uint64_t begin_ns = clock_mono_ns();

		gpu_link_turn(l, begin_ns);
		worst_ns = MAX(worst_ns, clock_mono_ns() - begin_ns);
		usleep(20000);
	}
	assert_int_equal(gpu_link_state(l), GPU_LINK_QUIET);
	assert_true(worst_ns < TURN_MAX_NS);
	gpu_link_free(l);
}

static void test_gpu_probe__reports_a_helper_that_cannot_be_started(void **state)
{
	struct gpu_link *l = gpu_link_new(&(struct gpu_link_options){ .program = "/nowhere/proctor",
	                                                              .source = gpu_source_nvml,
	                                                              .start_ns = 10 * NS_PER_S,
	                                                              .tries = 3 });

	turn_until(l, GPU_LINK_GAVE_UP);
	assert_non_null(strstr(l->reason, "could not be started"));
	gpu_link_free(l);
}

static void test_gpu_probe__does_not_believe_another_program(void **state)
{
	struct gpu_link *l = gpu_link_new(&(struct gpu_link_options){ .program = "/bin/true",
	                                                              .source = gpu_source_nvml,
	                                                              .start_ns = 10 * NS_PER_S,
	                                                              .tries = 2 });

	turn_until(l, GPU_LINK_GAVE_UP);
	assert_non_null(strstr(l->reason, "exit status 0"));
	gpu_link_free(l);
}

/* ---- the helper's life ---- */

static int state_of(pid_t pid)
{
	char path[64], text[512], *paren;
	int fd;
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	paren = strrchr(text, ')');
	return paren ? paren[2] : 0;
}

/* The helper is its keeper's only child, once it is there. */
static pid_t helper_of(pid_t keeper)
{
	char path[64], text[64] = "";
	uint64_t pid = 0;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", keeper, keeper);
	for (int i = 0; i < TURNS && !pid; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, text, sizeof text);
		struct scan s = scan_mem(text, n > 0 ? (size_t)n : 0);

		if (!scan_u64(&s, &pid))
			usleep(10000);
		close(fd);
	}
	assert_true(pid > 0);
	return (pid_t)pid;
}

static bool is_gone(pid_t pid)
{
	for (int i = 0; i < TURNS; i++) {
		int s = state_of(pid);

		if (s == 0 || s == 'Z')
			return true;
		usleep(10000);
	}
	return false;
}

/* The recorder dies without a word while the library hangs. */
static void test_gpu_probe__the_helper_dies_with_the_recorder(void **state)
{
	int ready[2], status;
	pid_t recorder, helper, keeper;

	use_library("fake-nvml.so", "hang=init");
	assert_int_equal(pipe(ready), 0);
	recorder = fork();
	if (recorder == 0) {
		struct gpu_link *l = link_to(gpu_source_nvml);

		gpu_link_turn(l, clock_mono_ns());
		keeper = l->child.pid;
		usleep(300000); /* until it is in the library */
		(void)!write(ready[1], &keeper, sizeof keeper);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &keeper, sizeof keeper), sizeof keeper);
	assert_true(keeper > 0);
	helper = helper_of(keeper);
	kill(recorder, SIGKILL);
	waitpid(recorder, &status, 0);
	assert_true(is_gone(helper));
	assert_true(is_gone(keeper));
	close(ready[0]);
	close(ready[1]);
}

/* Also none that died while nobody waited for it. */
static bool has_no_child(void)
{
	pid_t pid = 0;

	for (int i = 0; i < TURNS && (pid = waitpid(-1, NULL, WNOHANG | __WALL)) >= 0; i++)
		usleep(10000);
	return pid < 0;
}

static void test_gpu_probe__leaves_no_helper_behind(void **state)
{
	struct gpu_link *l = link_to(gpu_source_nvml);
	pid_t helper;

	use_library("fake-nvml.so", "");
	ask(l);
	helper = helper_of(l->child.pid);
	gpu_link_free(l);
	assert_true(is_gone(helper));
	assert_true(has_no_child());
}

/* A launcher waits for all children, and must not take this one for the job's. */
static void test_gpu_probe__is_invisible_to_wait(void **state)
{
	struct gpu_link *l = link_to(gpu_source_nvml);

	use_library("fake-nvml.so", "");
	ask(l);
	assert_true(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	kill(helper_of(l->child.pid), SIGKILL);
	usleep(100000);
	assert_true(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	turn_until(l, GPU_LINK_FAILING);
	assert_non_null(strstr(l->reason, "signal 9"));
	gpu_link_free(l);
}

/* Also by those that a killed one leaves behind. */
static void test_gpu_smi__its_programs_are_not_seen_either(void **state)
{
	struct gpu_link *l = link_to(gpu_source_smi);
	pid_t helper, program;

	use_program("hang");
	gpu_link_turn(l, clock_mono_ns());
	helper = helper_of(l->child.pid);
	program = helper_of(helper);
	gpu_link_free(l);
	assert_true(is_gone(helper) && is_gone(program));
	assert_true(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

/* Somebody may end and reap the keeper. */
static void test_gpu_probe__does_without_the_helpers_last_words(void **state)
{
	struct gpu_link *l = link_to(gpu_source_nvml);
	pid_t helper;

	use_library("fake-nvml.so", "");
	ask(l);
	helper = l->child.pid;
	kill(helper, SIGKILL);
	assert_int_equal(waitpid(helper, NULL, __WALL), helper);
	turn_until(l, GPU_LINK_FAILING);
	assert_string_equal(l->reason, "its helper process does not answer any more");
	turn_until_answer(l, clock_mono_ns());
	gpu_link_free(l);
}

static void test_gpu_probe__the_helper_holds_none_of_our_files(void **state)
{
	struct gpu_link *l = link_to(gpu_source_nvml);
	int ends[2];
	char c;

	use_library("fake-nvml.so", "");
	assert_int_equal(pipe(ends), 0); /* not CLOEXEC: the caller's, as a build's job server */
	ask(l);
	close(ends[1]);
	assert_int_equal(read(ends[0], &c, 1), 0);
	close(ends[0]);
	gpu_link_free(l);
}

static void test_gpu_probe__the_helper_has_nothing_of_our_environment(void **state)
{
	struct gpu_link *l = link_to(gpu_source_nvml);
	char path[64], text[4096];
	ssize_t n;
	int fd;

	setenv("LD_LIBRARY_PATH", "/somewhere", 1);
	setenv("PROCTOR_JOB_ID", "train-1", 1);
	use_library("fake-nvml.so", "");
	ask(l);
	snprintf(path, sizeof path, "/proc/%d/environ", helper_of(l->child.pid));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = read(fd, text, sizeof text);
	assert_true(n > 0);
	assert_null(memmem(text, (size_t)n, "LD_LIBRARY_PATH", 15));
	assert_null(memmem(text, (size_t)n, "PROCTOR_JOB_ID", 14));
	unsetenv("LD_LIBRARY_PATH");
	unsetenv("PROCTOR_JOB_ID");
	close(fd);
	gpu_link_free(l);
}

/* ---- nvidia-smi ---- */

static void test_gpu_smi__reports_what_the_program_prints(void **state)
{
	struct gpu_link *l = link_to(gpu_source_smi);
	const struct gpu_report *r;

	use_program("works");
	setenv("PROCTOR_FAKE_PID", "4711", 1);
	r = ask(l);
	assert_int_equal(r->gpu_count, 2);
	assert_string_equal(r->gpus[1].name, "Fake GPU, 1");
	assert_int_equal(r->gpus[1].r.value[GPU_POWER], 123450);
	assert_int_equal(r->use_count, 2);
	assert_int_equal(r->uses[0].id.pid, 4711);
	assert_int_equal(r->uses[0].r.value[GPU_USE_MEM], 512 * MIB);
	assert_int_equal(r->uses[1].r.present, 0);
	gpu_link_free(l);
}

static void test_gpu_smi__names_a_lost_gpu(void **state)
{
	struct gpu_link *l = link_to(gpu_source_smi);
	const struct gpu_report *r;

	use_program("lost");
	r = ask(l);
	assert_int_equal(r->gpus[1].r.present, 0);
	assert_string_equal(r->gpus[1].name, "Fake GPU 1");
	gpu_link_free(l);
}

static void test_gpu_smi__knows_that_there_is_none(void **state)
{
	struct gpu_link *l = link_to(gpu_source_smi);

	use_program("none");
	assert_int_equal(ask(l)->gpu_count, 0);
	gpu_link_free(l);
}

static void test_gpu_smi__gives_up_what_cannot_work(void **state)
{
	use_program("mismatch");
	assert_gives_up(gpu_source_smi, "version mismatch (exit status 18)");
	use_program("nonsense");
	assert_gives_up(gpu_source_smi, "not understood");
	setenv(GPU_ENV_SMI, "/nowhere/nvidia-smi", 1);
	assert_gives_up(gpu_source_smi, "cannot be started");
}

/* The helper ends it within 2 s each time, so that the helper itself goes on. */
static void test_gpu_smi__ends_a_program_that_hangs_or_floods(void **state)
{
	static const char *const moods[] = { "hang", "mute", "endless" };

	for (size_t i = 0; i < ARRAY_LEN(moods); i++) {
		struct gpu_link *l = link_to(gpu_source_smi);

		use_program(moods[i]);
		turn_until(l, GPU_LINK_FAILING);
		assert_string_equal(l->reason, "no answer within 2 s");
		gpu_link_free(l);
	}
}

RUN_TESTS_OR_HELP(TEST(test_gpu_probe__reports_what_the_library_reports),
                  TEST(test_gpu_probe__makes_do_with_an_old_library),
                  TEST(test_gpu_probe__leaves_absent_what_is_not_supported),
                  TEST(test_gpu_probe__knows_that_there_is_none),
                  TEST(test_gpu_probe__survives_a_library_that_lies),
                  TEST(test_gpu_probe__names_a_lost_gpu_and_knows_nothing_of_it),
                  TEST(test_gpu_probe__gives_up_at_once_what_can_never_work),
                  TEST(test_gpu_probe__does_not_load_what_others_can_change),
                  TEST(test_gpu_probe__survives_a_library_that_aborts),
                  TEST(test_gpu_probe__starts_a_new_helper_when_one_aborts),
                  TEST(test_gpu_probe__ends_a_library_that_hangs),
                  TEST(test_gpu_probe__never_waits_for_a_library_that_hangs),
                  TEST(test_gpu_probe__reports_a_helper_that_cannot_be_started),
                  TEST(test_gpu_probe__does_not_believe_another_program),
                  TEST(test_gpu_probe__the_helper_dies_with_the_recorder),
                  TEST(test_gpu_probe__leaves_no_helper_behind),
                  TEST(test_gpu_probe__is_invisible_to_wait),
                  TEST(test_gpu_smi__its_programs_are_not_seen_either),
                  TEST(test_gpu_probe__does_without_the_helpers_last_words),
                  TEST(test_gpu_probe__the_helper_holds_none_of_our_files),
                  TEST(test_gpu_probe__the_helper_has_nothing_of_our_environment),
                  TEST(test_gpu_smi__reports_what_the_program_prints),
                  TEST(test_gpu_smi__names_a_lost_gpu),
                  TEST(test_gpu_smi__knows_that_there_is_none),
                  TEST(test_gpu_smi__gives_up_what_cannot_work),
                  TEST(test_gpu_smi__ends_a_program_that_hangs_or_floods))
