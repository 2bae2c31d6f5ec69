/* SPDX-License-Identifier: MIT */
#include "probe/tasks/task_reader.h"

#include "check.h"

#define RECORD sizeof(struct task_record)

struct stage {
	struct task_reader reader;
	struct sample out, last;
	struct task_record records[4];
};

static int stage_open(void **state)
{
	struct stage *s = calloc(1, sizeof *s);

	s->reader.page_bytes = 4096;
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
			.counters = { .cpu_ns = 1000,
			              .read_bytes = 1,
			              .write_bytes = 2,
			              .minor_faults = 3,
			              .major_faults = 4 },
			.flags = TASK_HAS_IO | TASK_HAS_RSS,
			.state = 1,
			.comm = "fifteen letters",
		};
	task_reader_begin(&s->reader, &s->out);
	*state = s;
	return 0;
}

static int stage_close(void **state)
{
	struct stage *s = *state;

	task_reader_done(&s->reader);
	sample_done(&s->out);
	sample_done(&s->last);
	free(s);
	return 0;
}

static void test_task_reader__fills_every_field_of_a_process(void **state)
{
	struct stage *s = *state;
	struct proc_sample *p;

	assert_int_equal(task_reader_take(&s->reader, s->records, RECORD, &s->out), RECORD);
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
		task_reader_take(&s->reader, s->records, RECORD, &s->out);
		assert_int_equal(s->out.procs.at[i].state, known[i].letter);
	}
}

static void test_task_reader__lists_what_was_read_in_full(void **state)
{
	struct stage *s = *state;

	task_reader_take(&s->reader, s->records, 3 * RECORD, &s->out);
	assert_int_equal(s->reader.fresh.len, 3);
	assert_int_equal(s->reader.fresh.at[2], 14);
	assert_int_equal(s->out.procs.at[2].exec_id, 9);
	task_reader_begin(&s->reader, &s->out);
	assert_int_equal(s->reader.fresh.len, 0);
}

static void test_task_reader__what_the_kernel_does_not_keep_is_absent(void **state)
{
	struct stage *s = *state;

	s->records[0].flags = 0;
	task_reader_take(&s->reader, s->records, RECORD, &s->out);
	assert_false(readings_has(&s->out.procs.at[0].r, PROC_RSS));
	assert_false(readings_has(&s->out.procs.at[0].r, PROC_READ_BYTES));
	assert_false(readings_has(&s->out.procs.at[0].r, PROC_WRITE_BYTES));
}

static void test_task_reader__ends_a_name_that_has_no_end(void **state)
{
	struct stage *s = *state;

	memset(s->records[0].comm, 'x', sizeof s->records[0].comm);
	task_reader_take(&s->reader, s->records, RECORD, &s->out);
	assert_string_equal(s->out.procs.at[0].comm, "xxxxxxxxxxxxxxx");
}

static void test_task_reader__counts_bytes_that_are_no_record_and_keeps_the_rest(void **state)
{
	struct stage *s = *state;

	s->records[1].size = 77;
	assert_int_equal(task_reader_take(&s->reader, s->records, 3 * RECORD, &s->out), 3 * RECORD);
	assert_int_equal(s->out.procs.len, 1);
	assert_int_equal(s->reader.malformed, 2 * RECORD);
}

static void test_task_reader__leaves_a_record_that_is_cut_off_for_the_next_read(void **state)
{
	struct stage *s = *state;

	assert_int_equal(task_reader_take(&s->reader, s->records, 2 * RECORD - 8, &s->out), RECORD);
	assert_int_equal(s->out.procs.len, 1);
	assert_int_equal(task_reader_take(&s->reader, &s->records[1], 4, &s->out), 0);
	assert_int_equal(task_reader_take(&s->reader, &s->records[1], RECORD, &s->out), RECORD);
	assert_int_equal(s->out.procs.len, 2);
	assert_int_equal(s->reader.malformed, 0);
}

/* ---- what did not change --------------------------------------------------------------------- */

#define SHORT sizeof(struct task_unchanged)

static struct task_unchanged unchanged(const struct task_record *r)
{
	return (struct task_unchanged){ SHORT, r->tgid, r->start_boot_ns };
}

/* As the sampler does between two ticks. */
static void turn(struct stage *s)
{
	struct sample oldest = s->last;

	s->last = s->out;
	s->out = oldest;
	sample_reset(&s->out);
	s->out.last = &s->last;
}

/* A whole pass over the first n records. */
static void pass(struct stage *s, size_t n)
{
	static const char *const commands[] = { "one", "the second", "", "four" };

	turn(s);
	task_reader_begin(&s->reader, &s->out);
	task_reader_take(&s->reader, s->records, n * RECORD, &s->out);
	for (size_t i = 0; i < n; i++)
		s->out.procs.at[i].command = sample_add_text(&s->out, commands[i],
		                                             strlen(commands[i]));
}

/* The next one, of a sample that has some text already: what it reports of one that did not change. */
static const struct proc_sample *pass_unchanged(struct stage *s, const struct task_record *r)
{
	struct task_unchanged record = unchanged(r);

	turn(s);
	sample_add_text(&s->out, "an event's", 10);
	task_reader_begin(&s->reader, &s->out);
	assert_int_equal(task_reader_take(&s->reader, &record, SHORT, &s->out), SHORT);
	return s->out.procs.len ? s->out.procs.at : NULL;
}

static void test_task_reader__fills_in_a_process_that_did_not_change_from_the_last_sample(
	void **state)
{
	struct stage *s = *state;
	struct proc_sample was;
	const struct proc_sample *p;

	pass(s, 4);
	was = s->out.procs.at[1];
	p = pass_unchanged(s, &s->records[1]);
	assert_non_null(p);
	assert_memory_equal(&p->r, &was.r, sizeof was.r);
	assert_true(proc_id_eq(p->id, was.id));
	assert_int_equal(p->ppid, was.ppid);
	assert_int_equal(p->uid, was.uid);
	assert_int_equal(p->state, was.state);
	assert_string_equal(p->comm, was.comm);
	assert_int_equal(p->command.len, 10);
	assert_memory_equal(s->out.text.at + p->command.at, "the second", 10);
	assert_int_equal(s->reader.fresh.len, 0);
}

static void test_task_reader__leaves_out_what_other_probes_added_to_the_last_sample(void **state)
{
	struct stage *s = *state;
	const struct proc_sample *p;

	pass(s, 2);
	readings_set(&s->out.procs.at[1].r, PROC_PSS, 77);
	s->out.procs.at[1].pss = (struct proc_pss){ .anon_bytes = 7, .is_fresh = true };
	p = pass_unchanged(s, &s->records[1]);
	assert_false(readings_has(&p->r, PROC_PSS));
	assert_true(readings_has(&p->r, PROC_RSS));
	assert_int_equal(p->pss.anon_bytes, 0);
	assert_false(p->pss.is_fresh);
}

static void test_task_reader__takes_short_and_full_records_in_any_order(void **state)
{
	struct stage *s = *state;
	char bytes[2 * SHORT + 2 * RECORD];
	struct task_unchanged first = unchanged(&s->records[0]), third = unchanged(&s->records[2]);

	pass(s, 4);
	s->records[1].counters.cpu_ns = 5000;
	memcpy(bytes, &first, SHORT);
	memcpy(bytes + SHORT, &s->records[1], RECORD);
	memcpy(bytes + SHORT + RECORD, &third, SHORT);
	memcpy(bytes + 2 * SHORT + RECORD, &s->records[3], RECORD);
	turn(s);
	task_reader_begin(&s->reader, &s->out);
	assert_int_equal(task_reader_take(&s->reader, bytes, sizeof bytes - 1, &s->out),
	                 2 * SHORT + RECORD);
	assert_int_equal(s->out.procs.len, 3);
	assert_int_equal(s->out.procs.at[1].r.value[PROC_CPU_TIME], 5000);
	assert_int_equal(s->out.procs.at[2].id.pid, 14);
	assert_int_equal(s->reader.malformed, 0);
}

static void test_task_reader__keeps_the_latest_full_record(void **state)
{
	struct stage *s = *state;

	pass(s, 4);
	s->records[1].rss_pages = 77;
	pass(s, 4);
	assert_int_equal(pass_unchanged(s, &s->records[1])->r.value[PROC_RSS], 77 * 4096);
}

static void test_task_reader__does_not_take_one_process_for_another(void **state)
{
	struct stage *s = *state;

	pass(s, 2);
	s->records[1].start_boot_ns += NS_PER_S;
	assert_null(pass_unchanged(s, &s->records[1])); /* the same pid, another life */
	assert_int_equal(s->reader.unknown, 1);
	assert_null(pass_unchanged(s, &s->records[2])); /* never seen */
	assert_int_equal(s->reader.unknown, 1);
}

static void test_task_reader__forgets_ended_processes(void **state)
{
	struct stage *s = *state;

	pass(s, 4);
	pass(s, 2);
	assert_int_equal(s->out.procs.len, 2);
	assert_null(pass_unchanged(s, &s->records[3]));
}

static void test_task_reader__reports_when_parents_changed(void **state)
{
	struct stage *s = *state;

	pass(s, 2);
	assert_true(s->reader.families_changed);
	pass(s, 2);
	assert_false(s->reader.families_changed);
	s->records[0].ppid = 2;
	pass(s, 2);
	assert_true(s->reader.families_changed);
}

#define STAGED(name) cmocka_unit_test_setup_teardown(name, stage_open, stage_close)
RUN_TESTS(STAGED(test_task_reader__fills_every_field_of_a_process),
          STAGED(test_task_reader__shows_states_as_proc_does),
          STAGED(test_task_reader__lists_what_was_read_in_full),
          STAGED(test_task_reader__what_the_kernel_does_not_keep_is_absent),
          STAGED(test_task_reader__ends_a_name_that_has_no_end),
          STAGED(test_task_reader__counts_bytes_that_are_no_record_and_keeps_the_rest),
          STAGED(test_task_reader__leaves_a_record_that_is_cut_off_for_the_next_read),
          STAGED(test_task_reader__fills_in_a_process_that_did_not_change_from_the_last_sample),
          STAGED(test_task_reader__leaves_out_what_other_probes_added_to_the_last_sample),
          STAGED(test_task_reader__takes_short_and_full_records_in_any_order),
          STAGED(test_task_reader__keeps_the_latest_full_record),
          STAGED(test_task_reader__does_not_take_one_process_for_another),
          STAGED(test_task_reader__forgets_ended_processes),
          STAGED(test_task_reader__reports_when_parents_changed))
