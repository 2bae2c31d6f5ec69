/* SPDX-License-Identifier: MIT */
#include "model/failure_owner.h"

#include "check.h"
#include "model/own_process.h"

static const struct proc_id sheet = { .pid = 100, .start_ticks = 7 };
static const pid_t command = 101;

static void begin(struct failure_owner *f)
{
	failure_owner_exec(f, sheet, OURS_NAME);
	failure_owner_birth(f, command, sheet.pid);
}

static void test_failure_owner__takes_back_a_failure_that_was_only_passed_on(void **state)
{
	struct failure_owner f = { 0 };
	struct failure_change change;

	(void)state;
	begin(&f);
	assert_true(failure_owner_end(&f, sheet.pid, 0, true, false).counts);
	change = failure_owner_end(&f, command, failure_owner_parent(&f, command), false, true);
	assert_true(change.counts);
	assert_true(change.parent_failed);
	assert_false(change.parent_signalled);
	assert_true(failure_owner_is_passed_on(&f, sheet));
	failure_owner_done(&f);
}

static void test_failure_owner__does_not_count_a_program_of_ours_after_its_command(void **state)
{
	struct failure_owner f = { 0 };
	struct failure_change change;

	(void)state;
	begin(&f);
	change = failure_owner_end(&f, command, failure_owner_parent(&f, command), true, false);
	assert_true(change.counts);
	assert_false(change.parent_failed);
	assert_false(failure_owner_end(&f, sheet.pid, 0, true, false).counts);
	failure_owner_done(&f);
}

static void test_failure_owner__forgets_a_program_whose_pid_is_reused(void **state)
{
	struct failure_owner f = { 0 };

	(void)state;
	begin(&f);
	(void)failure_owner_end(&f, sheet.pid, 0, true, false);
	failure_owner_birth(&f, sheet.pid, 1);
	assert_false(failure_owner_end(&f, command, sheet.pid, true, false).parent_failed);
	assert_true(failure_owner_end(&f, sheet.pid, 1, true, false).counts);
	assert_false(failure_owner_is_passed_on(&f, sheet));
	failure_owner_done(&f);
}

static void test_failure_end__is_passed_on_with_its_code_its_signal_or_as_shells_do(void **state)
{
	const struct failure_end code = { .has_exit_code = true, .exit_code = 3 };
	const struct failure_end killed = { .signal = 9 };
	const struct failure_end shell = { .has_exit_code = true, .exit_code = 137 };

	(void)state;
	assert_true(failure_end_is_passed_on(code, code));
	assert_true(failure_end_is_passed_on(killed, killed));
	assert_true(failure_end_is_passed_on(killed, shell));
	assert_false(failure_end_is_passed_on(shell, killed));
	assert_false(failure_end_is_passed_on(killed, code));
	assert_false(failure_end_is_passed_on(code, (struct failure_end){ .signal = 3 }));
}

RUN_TESTS(TEST(test_failure_end__is_passed_on_with_its_code_its_signal_or_as_shells_do),
          TEST(test_failure_owner__takes_back_a_failure_that_was_only_passed_on),
          TEST(test_failure_owner__does_not_count_a_program_of_ours_after_its_command),
          TEST(test_failure_owner__forgets_a_program_whose_pid_is_reused))
