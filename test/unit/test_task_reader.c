/* SPDX-License-Identifier: MIT */
#include "probe/tasks/task_reader.h"

#include "check.h"

#define RECORD sizeof(struct task_record)

struct stage {
	struct task_reader book;
	struct sample out;
	struct task_record records[4];
};

static int stage_open(void **state)
{
	struct stage *s = calloc(1, sizeof *s);

	s->book.page_bytes = 4096;
	for (uint32_t i = 0; i < ARRAY_LEN(s->records); i++)
		s->records[i] = (struct task_record){
			.size = RECORD,
			.tgid = 12 + i,
			.ppid = 1,
			.uid = 33,
			.start_boot_ns = 12345678901,
			.exec_id = 7 + i,
			.fd_limit = 1024,
			.vm_pages = 100,
			.rss_pages = 10,
			.open_fds = 5,
			.threads = 2,
			.counters = { 1000, 1, 2, 3, 4 },
			.flags = TASK_HAS_IO | TASK_HAS_RSS,
			.state = 1,
			.comm = "fifteen letters",
		};
	*state = s;
	return 0;
}

static int stage_close(void **state)
{
	struct stage *s = *state;

	task_reader_done(&s->book);
	sample_done(&s->out);
	free(s);
	return 0;
}

static void test_task_reader__fills_every_field_of_a_process(void **state)
{
	struct stage *s = *state;
	struct proc_sample *p;

	assert_int_equal(task_reader_take(&s->book, s->records, RECORD, &s->out), RECORD);
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
	assert_int_equal(p->r.value[PROC_READ_BYTES], 1);
	assert_int_equal(p->r.value[PROC_WRITE_BYTES], 2);
	assert_int_equal(p->r.value[PROC_MINOR_FAULTS], 3);
	assert_int_equal(p->r.value[PROC_MAJOR_FAULTS], 4);
}

static void test_task_reader__shows_states_as_proc_does(void **state)
{
	static const struct {
		uint32_t state, exit_state;
		char letter;
	} known[] = {
		{ 0, 0, 'R' },       { 1, 0, 'S' },     { 2, 0, 'D' },      { 4, 0, 'T' },
		{ 8, 0, 't' },       { 0x40, 0, 'P' },  { 0x402, 0, 'I' },  { 0x80, 0x20, 'Z' },
		{ 0x80, 0x10, 'X' }, { 0x102, 0, 'D' }, { 0x2001, 0, 'S' }, { 0x8000, 0, 'D' },
		{ 0x1000, 0, 'D' },  { 0x104, 0, 'T' },
	};
	struct stage *s = *state;

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		s->records[0].state = known[i].state;
		s->records[0].exit_state = known[i].exit_state;
		task_reader_take(&s->book, s->records, RECORD, &s->out);
		assert_int_equal(s->out.procs.at[i].state, known[i].letter);
	}
}

static void test_task_reader__keeps_the_exec_ids_beside_the_processes(void **state)
{
	struct stage *s = *state;

	task_reader_take(&s->book, s->records, 3 * RECORD, &s->out);
	assert_int_equal(s->book.exec_ids.len, 3);
	assert_int_equal(s->book.exec_ids.at[2], 9);
	task_reader_reset(&s->book);
	assert_int_equal(s->book.exec_ids.len, 0);
}

static void test_task_reader__what_the_kernel_does_not_keep_is_absent(void **state)
{
	struct stage *s = *state;

	s->records[0].flags = 0;
	task_reader_take(&s->book, s->records, RECORD, &s->out);
	assert_false(readings_has(&s->out.procs.at[0].r, PROC_RSS));
	assert_false(readings_has(&s->out.procs.at[0].r, PROC_READ_BYTES));
	assert_false(readings_has(&s->out.procs.at[0].r, PROC_WRITE_BYTES));
}

static void test_task_reader__ends_a_name_that_has_no_end(void **state)
{
	struct stage *s = *state;

	memset(s->records[0].comm, 'x', sizeof s->records[0].comm);
	task_reader_take(&s->book, s->records, RECORD, &s->out);
	assert_string_equal(s->out.procs.at[0].comm, "xxxxxxxxxxxxxxx");
}

static void test_task_reader__counts_bytes_that_are_no_record_and_keeps_the_rest(void **state)
{
	struct stage *s = *state;

	s->records[1].size = 77;
	assert_int_equal(task_reader_take(&s->book, s->records, 3 * RECORD, &s->out), 3 * RECORD);
	assert_int_equal(s->out.procs.len, 1);
	assert_int_equal(s->book.malformed, 2 * RECORD);
}

static void test_task_reader__leaves_a_record_that_is_cut_off_for_the_next_read(void **state)
{
	struct stage *s = *state;

	assert_int_equal(task_reader_take(&s->book, s->records, 2 * RECORD - 8, &s->out), RECORD);
	assert_int_equal(s->out.procs.len, 1);
	assert_int_equal(task_reader_take(&s->book, &s->records[1], 4, &s->out), 0);
	assert_int_equal(task_reader_take(&s->book, &s->records[1], RECORD, &s->out), RECORD);
	assert_int_equal(s->out.procs.len, 2);
	assert_int_equal(s->book.malformed, 0);
}

#define STAGED(name) cmocka_unit_test_setup_teardown(name, stage_open, stage_close)
RUN_TESTS(STAGED(test_task_reader__fills_every_field_of_a_process),
          STAGED(test_task_reader__shows_states_as_proc_does),
          STAGED(test_task_reader__keeps_the_exec_ids_beside_the_processes),
          STAGED(test_task_reader__what_the_kernel_does_not_keep_is_absent),
          STAGED(test_task_reader__ends_a_name_that_has_no_end),
          STAGED(test_task_reader__counts_bytes_that_are_no_record_and_keeps_the_rest),
          STAGED(test_task_reader__leaves_a_record_that_is_cut_off_for_the_next_read))
