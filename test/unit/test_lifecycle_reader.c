/* SPDX-License-Identifier: MIT */
#include "probe/lifecycle/lifecycle_reader.h"

#include <signal.h>

#include "check.h"
#include "probe/bpf/lifecycle_record.h"

#define AT (1000 * NS_PER_S)
#define START (990 * NS_PER_S + 1234567)

struct stage {
	struct lifecycle_reader book;
	struct sample out;
};

static int stage_open(void **state)
{
	struct stage *s = calloc(1, sizeof *s);

	s->book.page_bytes = 4096;
	s->out.events_complete = true;
	*state = s;
	return 0;
}

static int stage_close(void **state)
{
	struct stage *s = *state;

	lifecycle_reader_done(&s->book);
	sample_done(&s->out);
	free(s);
	return 0;
}

static struct life_head head(uint32_t kind, uint32_t pid)
{
	return (struct life_head){
		.kind = kind,
		.pid = pid,
		.tgid = pid,
		.uid = 33,
		.at_ns = AT,
		.start_ns = START,
		.comm = "worker",
	};
}

static void take_exit(struct stage *s, uint32_t pid, uint32_t status)
{
	struct life_exit r = { .head = head(LIFE_EXIT, pid),
		               .status = status,
		               .peak_rss_pages = 300 };

	lifecycle_reader_take(&s->book, &r, sizeof r, &s->out);
}

static void take_free_of(struct stage *s, uint32_t tgid, uint64_t cpu_ns)
{
	struct life_free r = {
		.head = head(LIFE_FREE, tgid),
		.counters = { .cpu_ns = cpu_ns,
		              .read_bytes = 4096,
		              .write_bytes = 8192,
		              .minor_faults = 19,
		              .major_faults = 1 },
		.status = 3 << 8,
		.has_io = 1,
	};

	r.head.pid = 0;
	lifecycle_reader_take(&s->book, &r, sizeof r, &s->out);
}

static void take_free(struct stage *s, uint32_t tgid)
{
	take_free_of(s, tgid, 20500000);
}

static void test_lifecycle_reader__a_fork_is_a_spawn_with_its_parent(void **state)
{
	struct stage *s = *state;
	struct life_fork r = { .head = head(LIFE_FORK, 12), .ppid = 7 };
	struct event *e;

	lifecycle_reader_take(&s->book, &r, sizeof r, &s->out);
	assert_int_equal(s->out.events.len, 1);
	e = s->out.events.at;
	assert_int_equal(e->kind, EVENT_SPAWN);
	assert_int_equal(e->id.pid, 12);
	assert_int_equal(e->id.start_ticks, 99000);
	assert_int_equal(e->ppid, 7);
	assert_int_equal(e->uid, 33);
	assert_int_equal(e->boot_ns, AT);
	assert_string_equal(e->comm, "worker");
}

static void take_exec(struct stage *s, const char *argv, uint32_t argv_len, size_t room)
{
	_Alignas(8) char bytes[sizeof(struct life_exec) + LIFE_ARGV_MAX] = { 0 };
	struct life_exec *r = (void *)bytes;

	r->head = head(LIFE_EXEC, 12);
	r->argv_len = argv_len;
	memcpy(r->argv, argv, MIN(argv_len, room));
	lifecycle_reader_take(&s->book, r, sizeof *r + room, &s->out);
}

static const char *text_of(const struct stage *s, const struct event *e)
{
	static char text[COMMAND_MAX + 1];

	memset(text, 0, sizeof text);
	memcpy(text, s->out.text.at + e->text.at, e->text.len);
	return text;
}

static void test_lifecycle_reader__an_exec_carries_the_command_line(void **state)
{
	struct stage *s = *state;

	take_exec(s, "sh\0-c\0exit 3", 13, 128);
	assert_int_equal(s->out.events.at[0].kind, EVENT_EXEC);
	assert_string_equal(text_of(s, s->out.events.at), "sh -c exit 3");
}

static void test_lifecycle_reader__never_reads_arguments_past_the_record(void **state)
{
	struct stage *s = *state;

	take_exec(s, "abcdefgh", 4000000, 8);
	assert_string_equal(text_of(s, s->out.events.at), "abcdefgh");
}

static void test_lifecycle_reader__an_exit_waits_for_its_totals(void **state)
{
	struct stage *s = *state;
	struct event *e;

	take_exit(s, 12, 3 << 8);
	lifecycle_reader_settle(&s->book, AT + LIFECYCLE_READER_PATIENCE_NS - 1, &s->out);
	assert_int_equal(s->out.events.len, 0);
	take_free(s, 12);
	assert_int_equal(s->out.events.len, 1);
	e = s->out.events.at;
	assert_int_equal(e->kind, EVENT_EXIT);
	assert_true(e->has_exit_code);
	assert_int_equal(e->exit_code, 3);
	assert_int_equal(e->final.value[PROC_CPU_TIME], 20500000);
	assert_int_equal(e->final.value[PROC_PEAK_RSS], 300 * 4096);
	assert_int_equal(e->final.value[PROC_WRITE_BYTES], 8192);
	assert_true(readings_has(&e->final, PROC_MAJOR_FAULTS));
	assert_int_equal(s->book.held.len, 0);
}

static void test_lifecycle_reader__no_process_ends_with_a_cpu_time_of_0(void **state)
{
	struct stage *s = *state;

	take_exit(s, 12, 0);
	take_free_of(s, 12, 0);
	assert_int_equal(s->out.events.len, 1);
	assert_false(readings_has(&s->out.events.at[0].final, PROC_CPU_TIME));
	assert_true(readings_has(&s->out.events.at[0].final, PROC_MINOR_FAULTS));
}

static void test_lifecycle_reader__a_zombie_is_reported_without_totals_which_follow(void **state)
{
	struct stage *s = *state;

	take_exit(s, 12, SIGSEGV | 0x80);
	lifecycle_reader_settle(&s->book, AT + LIFECYCLE_READER_PATIENCE_NS, &s->out);
	lifecycle_reader_settle(&s->book, AT + 9 * LIFECYCLE_READER_PATIENCE_NS, &s->out);
	assert_int_equal(s->out.events.len, 1);
	assert_int_equal(s->out.events.at[0].kind, EVENT_EXIT);
	assert_false(s->out.events.at[0].has_exit_code);
	assert_int_equal(s->out.events.at[0].signal, SIGSEGV);
	assert_true(s->out.events.at[0].core_dumped);
	assert_int_equal(s->out.events.at[0].final.present, 1 << PROC_PEAK_RSS);
	assert_int_equal(s->out.events.at[0].final.value[PROC_PEAK_RSS], 300 * 4096);

	take_free(s, 12);
	assert_int_equal(s->out.events.len, 2);
	assert_int_equal(s->out.events.at[1].kind, EVENT_TOTALS);
	assert_int_equal(s->out.events.at[1].id.pid, 12);
	assert_int_equal(s->out.events.at[1].final.value[PROC_CPU_TIME], 20500000);
}

static void test_lifecycle_reader__an_end_reported_by_two_threads_is_emitted_once(void **state)
{
	struct stage *s = *state;

	take_exit(s, 12, 0);
	take_exit(s, 12, 0);
	take_free(s, 12);
	assert_int_equal(s->out.events.len, 1);
}

static void test_lifecycle_reader__keeps_many_held_exits_apart(void **state)
{
	struct stage *s = *state;

	for (uint32_t pid = 1; pid <= 100; pid++)
		take_exit(s, pid, pid << 8);
	for (uint32_t pid = 1; pid <= 100; pid += 2)
		take_free(s, pid);
	assert_int_equal(s->out.events.len, 50);
	for (uint32_t pid = 100; pid >= 2; pid -= 2)
		take_free(s, pid);
	assert_int_equal(s->out.events.len, 100);
	vec_each(&s->out.events, e)
		assert_int_equal(e->exit_code, e->id.pid);
	assert_int_equal(s->book.held.len, 0);
}

static void test_lifecycle_reader__after_a_loss_reports_what_it_held_at_once(void **state)
{
	struct stage *s = *state;

	take_exit(s, 12, 0);
	lifecycle_reader_give_up(&s->book, &s->out);
	assert_int_equal(s->out.events.len, 1);
	assert_false(readings_has(&s->out.events.at[0].final, PROC_CPU_TIME));
	take_free(s, 12);
	assert_int_equal(s->out.events.at[1].kind, EVENT_TOTALS);
}

static bool is_pid_12(void *arg, struct proc_id id)
{
	(void)arg;
	return id.pid == 12;
}

static void test_lifecycle_reader__reports_at_once_what_is_asked_for_and_its_totals_later(
	void **state)
{
	struct stage *s = *state;

	for (int nested = 0; nested < 2; nested++) {
		s->book.is_nested = nested;
		vec_reset(&s->out.events);
		take_exit(s, 12, 0);
		take_exit(s, 13, 0);
		for (int again = 0; again < 2; again++)
			lifecycle_reader_report(&s->book, is_pid_12, NULL, &s->out);
		assert_int_equal(s->out.events.len, 1);
		assert_int_equal(s->out.events.at[0].id.pid, 12);
		assert_int_equal(lifecycle_reader_pending_totals(&s->book, is_pid_12, NULL), 0);
		take_free(s, 12);
		take_free(s, 13);
		assert_int_equal(s->out.events.len, 3);
		assert_int_equal(s->out.events.at[1].kind, EVENT_TOTALS);
		assert_int_equal(s->out.events.at[1].id.pid, 12);
		assert_int_equal(s->out.events.at[2].kind, EVENT_EXIT);
		assert_int_equal(s->book.held.len, 0);
	}
}

static void test_lifecycle_reader__does_not_grow_when_some_are_never_reported_as_freed(void **state)
{
	struct stage *s = *state;

	for (int nested = 0; nested < 2; nested++) {
		s->book.is_nested = nested;
		for (uint32_t pid = 1; pid <= 1000; pid++)
			take_exit(s, pid, 0);
		lifecycle_reader_settle(&s->book, AT + LIFECYCLE_READER_PATIENCE_NS, &s->out);
		assert_int_equal(s->book.held.len, nested ? 1000 : 0);
		lifecycle_reader_settle(&s->book, AT + LIFECYCLE_READER_MEMORY_NS, &s->out);
		assert_int_equal(s->book.held.len, 0);
		assert_int_equal(s->book.index.len, 0);
	}
	assert_int_equal(s->out.events.len, 2000);
}

static void test_lifecycle_reader__in_a_namespace_remembers_the_pid_of_a_zombie(void **state)
{
	struct stage *s = *state;
	struct life_exit r = { .head = head(LIFE_EXIT, 3) };

	s->book.is_nested = true;
	r.head.tgid = 901;
	lifecycle_reader_take(&s->book, &r, sizeof r, &s->out);
	lifecycle_reader_settle(&s->book, AT + LIFECYCLE_READER_PATIENCE_NS, &s->out);
	take_free(s, 901);
	assert_int_equal(s->out.events.len, 2);
	assert_int_equal(s->out.events.at[1].kind, EVENT_TOTALS);
	assert_int_equal(s->out.events.at[1].id.pid, 3);
}

static void test_lifecycle_reader__in_a_namespace_ignores_the_reaped_it_does_not_know(void **state)
{
	struct stage *s = *state;
	struct life_exit r = { .head = head(LIFE_EXIT, 3) };

	s->book.is_nested = true;
	take_free(s, 900);
	assert_int_equal(s->out.events.len, 0);
	r.head.tgid = 901;
	lifecycle_reader_take(&s->book, &r, sizeof r, &s->out);
	take_free(s, 901);
	assert_int_equal(s->out.events.len, 1);
	assert_int_equal(s->out.events.at[0].id.pid, 3);
}

static struct event *take_signal(struct stage *s, uint32_t number, int32_t code, uint32_t sender)
{
	struct life_signal r = {
		.head = head(LIFE_SIGNAL, 12),
		.number = number,
		.code = code,
		.sender_pid = sender,
		.sender_uid = 5,
		.sender_comm = "bash",
	};

	lifecycle_reader_take(&s->book, &r, sizeof r, &s->out);
	return &s->out.events.at[s->out.events.len - 1];
}

static void test_lifecycle_reader__names_the_sender_of_a_signal(void **state)
{
	struct event *e = take_signal(*state, SIGTERM, SI_USER, 77);

	assert_int_equal(e->kind, EVENT_SIGNAL);
	assert_int_equal(e->signal, SIGTERM);
	assert_int_equal(e->sender_pid, 77);
	assert_int_equal(e->sender_uid, 5);
	assert_string_equal(e->sender_comm, "bash");
	assert_int_equal(take_signal(*state, SIGKILL, SI_TKILL, 77)->kind, EVENT_KILL);
	assert_int_equal(take_signal(*state, SIGTERM, SI_USER, 0)->sender_pid, -1);
}

static void test_lifecycle_reader__blames_the_kernel_and_not_the_running_process(void **state)
{
	struct event *e = take_signal(*state, SIGSEGV, SEGV_MAPERR, 12);

	assert_int_equal(e->sender_pid, 0);
	assert_string_equal(e->sender_comm, "");
	assert_int_equal(take_signal(*state, SIGINT, SI_KERNEL, 3)->sender_pid, 0);
	assert_int_equal(take_signal(*state, SIGUSR1, SI_TIMER, 3)->sender_pid, 0);
}

static void test_lifecycle_reader__reports_an_out_of_memory_victim(void **state)
{
	struct stage *s = *state;
	struct life_exit r = { .head = head(LIFE_EXIT, 12), .is_oom_victim = 1 };

	lifecycle_reader_take(&s->book, &r, sizeof r, &s->out);
	lifecycle_reader_take(&s->book, &r, sizeof r,
	                      &s->out); /* a second thread that died at once */
	assert_int_equal(s->out.events.len, 1);
	assert_int_equal(s->out.events.at[0].kind, EVENT_OOM);
	assert_int_equal(s->out.events.at[0].id.pid, 12);
}

static void test_lifecycle_reader__a_mark_that_may_be_the_parents_is_a_bound(void **state)
{
	struct stage *s = *state;
	struct life_exit r = { .head = head(LIFE_EXIT, 12),
		               .peak_rss_pages = 5,
		               .is_peak_bound = 1 };

	lifecycle_reader_take(&s->book, &r, sizeof r, &s->out);
	lifecycle_reader_give_up(&s->book, &s->out);
	assert_int_equal(s->out.events.len, 1);
	assert_true(s->out.events.at[0].is_peak_bound);
	assert_true(readings_has(&s->out.events.at[0].final, PROC_PEAK_RSS));
}

static void test_lifecycle_reader__counts_records_it_does_not_know(void **state)
{
	struct stage *s = *state;
	struct life_exit r = { .head = head(99, 12) };

	lifecycle_reader_take(&s->book, &r, sizeof r, &s->out);
	r.head.kind = 0;
	lifecycle_reader_take(&s->book, &r, sizeof r, &s->out);
	r.head.kind = LIFE_EXIT;
	lifecycle_reader_take(&s->book, &r, sizeof r - 8, &s->out);
	lifecycle_reader_take(&s->book, &r, 4, &s->out);
	assert_int_equal(s->book.malformed, 4);
	assert_int_equal(s->out.events.len, 0);
}

static void test_lifecycle_reader__gives_its_memory_back_when_many_have_ended(void **state)
{
	struct stage *s = *state;

	for (uint32_t pid = 1; pid <= 5000; pid++)
		take_exit(s, pid, 0);
	assert_true(s->book.held.cap >= 5000);
	for (uint32_t pid = 1; pid < 5000; pid++)
		take_free(s, pid);
	lifecycle_reader_settle(&s->book, AT, &s->out);
	assert_int_equal(s->book.held.cap, VEC_SMALL);
	assert_true(s->book.index.cap <= 1024);
	take_free(s, 5000);
	assert_int_equal(s->out.events.len, 5000);
	assert_int_equal(s->out.events.at[4999].id.pid, 5000);
}

#define STAGED(name) cmocka_unit_test_setup_teardown(name, stage_open, stage_close)
RUN_TESTS(STAGED(test_lifecycle_reader__a_fork_is_a_spawn_with_its_parent),
          STAGED(test_lifecycle_reader__an_exec_carries_the_command_line),
          STAGED(test_lifecycle_reader__never_reads_arguments_past_the_record),
          STAGED(test_lifecycle_reader__an_exit_waits_for_its_totals),
          STAGED(test_lifecycle_reader__no_process_ends_with_a_cpu_time_of_0),
          STAGED(test_lifecycle_reader__a_zombie_is_reported_without_totals_which_follow),
          STAGED(test_lifecycle_reader__an_end_reported_by_two_threads_is_emitted_once),
          STAGED(test_lifecycle_reader__keeps_many_held_exits_apart),
          STAGED(test_lifecycle_reader__gives_its_memory_back_when_many_have_ended),
          STAGED(test_lifecycle_reader__after_a_loss_reports_what_it_held_at_once),
          STAGED(test_lifecycle_reader__reports_at_once_what_is_asked_for_and_its_totals_later),
          STAGED(test_lifecycle_reader__does_not_grow_when_some_are_never_reported_as_freed),
          STAGED(test_lifecycle_reader__in_a_namespace_remembers_the_pid_of_a_zombie),
          STAGED(test_lifecycle_reader__in_a_namespace_ignores_the_reaped_it_does_not_know),
          STAGED(test_lifecycle_reader__names_the_sender_of_a_signal),
          STAGED(test_lifecycle_reader__a_mark_that_may_be_the_parents_is_a_bound),
          STAGED(test_lifecycle_reader__blames_the_kernel_and_not_the_running_process),
          STAGED(test_lifecycle_reader__reports_an_out_of_memory_victim),
          STAGED(test_lifecycle_reader__counts_records_it_does_not_know))
