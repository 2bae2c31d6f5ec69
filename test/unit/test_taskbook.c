/* SPDX-License-Identifier: MIT */
#include "probe/taskbook.h"

#include "check.h"

struct stage {
	struct taskbook book;
	struct sample   out;
	_Alignas(8) char bytes[4096];
	size_t len;
};

static int stage_open(void **state)
{
	struct stage *s = calloc(1, sizeof *s);

	s->book.page_bytes = 4096;
	*state = s;
	return 0;
}

static int stage_close(void **state)
{
	struct stage *s = *state;

	taskbook_done(&s->book);
	sample_done(&s->out);
	free(s);
	return 0;
}

static void put(struct stage *s, const struct task_record *r)
{
	memcpy(s->bytes + s->len, r, r->head.size);
	s->len += r->head.size;
}

static void put_process(struct stage *s, uint32_t pid, char process_state, uint16_t flags)
{
	struct task_record r = {
		.head = { .kind = TASK_PROCESS, .size = TASK_PROCESS_BYTES, .tgid = pid },
		.counters = { .cpu_ns = 1000, .read_bytes = 1, .write_bytes = 2, .minor_faults = 3, .major_faults = 4 },
		.space = { .vm_pages = 100, .rss_pages = 10, .open_fds = 5, .flags = flags, .state = process_state },
		.start_boot_ns = 12345678901,
		.exec_id = 7 + pid,
		.fd_limit = 1024,
		.ppid = 1,
		.uid = 33,
		.threads = 2,
		.comm = "fifteen letters",
	};

	put(s, &r);
}

static void put_thread(struct stage *s, uint32_t pid, enum task_kind kind)
{
	struct task_record r = {
		.head = { .kind = (uint16_t)kind,
			  .size = kind == TASK_THREAD ? TASK_THREAD_BYTES : TASK_STANDIN_BYTES,
			  .tgid = pid },
		.counters = { .cpu_ns = 500, .read_bytes = 10, .write_bytes = 20, .minor_faults = 30, .major_faults = 40 },
		.space = { .vm_pages = 77, .rss_pages = 7, .open_fds = 3, .flags = TASK_HAS_RSS, .state = 'S' },
	};

	put(s, &r);
}

static void take_all(struct stage *s)
{
	taskbook_take(&s->book, s->bytes, s->len, &s->out);
	taskbook_finish(&s->book, &s->out);
}

static void test_taskbook__fills_every_field_of_a_process(void **state)
{
	struct stage *s = *state;
	struct proc_sample *p;

	put_process(s, 12, 'S', TASK_HAS_IO | TASK_HAS_RSS);
	take_all(s);
	assert_int_equal(s->out.procs.len, 1);
	p = s->out.procs.at;
	assert_int_equal(p->id.pid, 12);
	assert_int_equal(p->id.start_ticks, 1234);
	assert_int_equal(p->ppid, 1);
	assert_int_equal(p->uid, 33);
	assert_int_equal(p->state, 'S');
	assert_string_equal(p->comm, "fifteen letters");
	assert_int_equal(p->r.value[PROC_CPU_TIME], 1000);
	assert_int_equal(p->r.value[PROC_RSS], 40960);
	assert_int_equal(p->r.value[PROC_VMS], 409600);
	assert_int_equal(p->r.value[PROC_FDS], 5);
	assert_int_equal(p->r.value[PROC_FD_LIMIT], 1024);
	assert_int_equal(p->r.value[PROC_THREADS], 2);
	assert_int_equal(p->r.value[PROC_WRITE_BYTES], 2);
	assert_int_equal(p->r.value[PROC_MAJOR_FAULTS], 4);
	assert_int_equal(s->book.exec_ids.at[0], 19);
}

static void test_taskbook__what_the_kernel_does_not_keep_is_absent(void **state)
{
	struct stage *s = *state;

	put_process(s, 12, 'S', 0);
	take_all(s);
	assert_false(readings_has(&s->out.procs.at[0].r, PROC_RSS));
	assert_false(readings_has(&s->out.procs.at[0].r, PROC_READ_BYTES));
	assert_false(readings_has(&s->out.procs.at[0].r, PROC_WRITE_BYTES));
}

static void test_taskbook__adds_threads_to_their_leader(void **state)
{
	struct stage *s = *state;

	put_process(s, 12, 'S', TASK_HAS_IO | TASK_HAS_RSS);
	put_process(s, 13, 'R', TASK_HAS_IO | TASK_HAS_RSS);
	put_thread(s, 12, TASK_THREAD);
	put_thread(s, 13, TASK_THREAD);
	put_thread(s, 12, TASK_THREAD);
	take_all(s);
	assert_int_equal(s->out.procs.len, 2);
	assert_int_equal(s->out.procs.at[0].r.value[PROC_CPU_TIME], 2000);
	assert_int_equal(s->out.procs.at[0].r.value[PROC_WRITE_BYTES], 42);
	assert_int_equal(s->out.procs.at[0].r.value[PROC_RSS], 40960);
	assert_int_equal(s->out.procs.at[1].r.value[PROC_MINOR_FAULTS], 33);
}

static void test_taskbook__a_thread_may_come_before_its_leader(void **state)
{
	struct stage *s = *state;

	put_thread(s, 30000, TASK_THREAD);
	put_process(s, 12, 'S', 0);
	put_process(s, 30000, 'S', 0);
	take_all(s);
	assert_int_equal(s->out.procs.at[1].r.value[PROC_CPU_TIME], 1500);
}

static void test_taskbook__a_live_thread_speaks_for_a_leader_that_has_exited(void **state)
{
	struct stage *s = *state;

	put_process(s, 12, 'Z', TASK_HAS_RSS | TASK_LEADER_GONE);
	put_thread(s, 12, TASK_STANDIN);
	take_all(s);
	assert_int_equal(s->out.procs.at[0].state, 'S');
	assert_int_equal(s->out.procs.at[0].r.value[PROC_RSS], 7 * 4096);
	assert_int_equal(s->out.procs.at[0].r.value[PROC_FDS], 3);
	assert_int_equal(s->out.procs.at[0].r.value[PROC_CPU_TIME], 1500);
}

static void test_taskbook__a_thread_without_a_leader_is_left_out(void **state)
{
	struct stage *s = *state;

	put_thread(s, 40, TASK_THREAD);
	take_all(s);
	assert_int_equal(s->out.procs.len, 0);
}

static void test_taskbook__counts_bytes_that_are_no_record_and_keeps_the_rest(void **state)
{
	struct stage *s = *state;

	put_process(s, 12, 'S', 0);
	memset(s->bytes + s->len, 0xee, 100);
	s->len += 100;
	take_all(s);
	assert_int_equal(s->out.procs.len, 1);
	assert_int_equal(s->book.malformed, 100);
}

static void test_taskbook__leaves_a_record_that_is_cut_off_for_the_next_read(void **state)
{
	struct stage *s = *state;
	size_t used;

	put_process(s, 12, 'S', 0);
	put_process(s, 13, 'S', 0);
	used = taskbook_take(&s->book, s->bytes, s->len - 8, &s->out);
	assert_int_equal(used, TASK_PROCESS_BYTES);
	assert_int_equal(s->out.procs.len, 1);
	assert_int_equal(taskbook_take(&s->book, s->bytes + used, 4, &s->out), 0);
	assert_int_equal(taskbook_take(&s->book, s->bytes + used, s->len - used, &s->out), s->len - used);
	assert_int_equal(s->out.procs.len, 2);
	assert_int_equal(s->book.malformed, 0);
}

#define STAGED(name) cmocka_unit_test_setup_teardown(name, stage_open, stage_close)
RUN_TESTS(STAGED(test_taskbook__fills_every_field_of_a_process),
	  STAGED(test_taskbook__what_the_kernel_does_not_keep_is_absent),
	  STAGED(test_taskbook__adds_threads_to_their_leader),
	  STAGED(test_taskbook__a_thread_may_come_before_its_leader),
	  STAGED(test_taskbook__a_live_thread_speaks_for_a_leader_that_has_exited),
	  STAGED(test_taskbook__a_thread_without_a_leader_is_left_out),
	  STAGED(test_taskbook__counts_bytes_that_are_no_record_and_keeps_the_rest),
	  STAGED(test_taskbook__leaves_a_record_that_is_cut_off_for_the_next_read))
