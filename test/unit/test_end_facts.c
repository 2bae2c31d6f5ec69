/* SPDX-License-Identifier: MIT */
#include "job/end_facts.h"

#include <signal.h>

#include "check.h"

static const struct proc_id command = { 100, 7 };

static struct event sent(int signo, pid_t sender)
{
	return (struct event){ .kind = signo == SIGKILL ? EVENT_KILL : EVENT_SIGNAL,
		               .id = command,
		               .signal = signo,
		               .sender_pid = sender };
}

static void test_end_facts__keeps_the_last_signal_of_each_number(void **state)
{
	struct end_facts f = { .command = command };
	struct cause_facts facts;

	(void)state;
	for (int signo = 1; signo <= 20; signo++) {
		struct event e = sent(signo, 50 + signo);

		end_facts_take(&f, &e);
	}
	end_facts_take(
		&f, &(struct event){
			    .kind = EVENT_SIGNAL, .id = command, .signal = 19, .sender_pid = 3 });
	end_facts_summarize(&f, &facts);
	assert_int_equal(facts.n_sent, END_FACTS_SIGNALS);
	assert_int_equal(facts.sent[facts.n_sent - 1].number, 19);
	assert_int_equal(facts.sent[facts.n_sent - 1].pid, 3);
	assert_int_equal(facts.sent[facts.n_sent - 2].number, 20);
}

static void test_end_facts__keeps_what_others_sent_when_a_handler_repeats_it(void **state)
{
	struct end_facts f = { .command = command };
	struct event key = sent(SIGINT, 0), again = sent(SIGINT, command.pid);

	(void)state;
	end_facts_take(&f, &key);
	end_facts_take(&f, &again);
	assert_int_equal(f.n_sent, 1);
	assert_int_equal(f.sent[0].pid, 0);
}

static void test_end_facts__leaves_out_kills_whose_sender_is_known(void **state)
{
	struct end_facts f = { .command = command };
	struct event kill = sent(SIGKILL, 9);
	struct event dead = { .kind = EVENT_EXIT, .id = command, .signal = SIGKILL };
	struct event other = { .kind = EVENT_EXIT, .id = { 101, 8 }, .signal = SIGKILL };
	struct cause_facts facts;

	(void)state;
	end_facts_take(&f, &kill);
	end_facts_take(&f, &dead);
	end_facts_summarize(&f, &facts);
	assert_int_equal(facts.kills, 0);
	end_facts_take(&f, &other);
	end_facts_summarize(&f, &facts);
	assert_int_equal(facts.kills, 1);
	assert_int_equal(f.killed[1].pid, 101);
}

RUN_TESTS(TEST(test_end_facts__keeps_the_last_signal_of_each_number),
          TEST(test_end_facts__keeps_what_others_sent_when_a_handler_repeats_it),
          TEST(test_end_facts__leaves_out_kills_whose_sender_is_known))
