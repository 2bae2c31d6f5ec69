/* SPDX-License-Identifier: MIT */
#include "model/cause.h"

#include <signal.h>

#include "check.h"

#define COUNTED(n)                                                                                 \
	{                                                                                          \
		.is_known = true, .kills = (n)                                                     \
	}

static void test_cause__is_out_of_memory_as_far_as_the_facts_go(void **state)
{
	static const struct {
		const char *why;
		struct cause_facts facts;
		enum cause_proof proof;
		enum cause_source source;
	} rows[] = {
		{ "the recorder saw it",
		  { .ooms = 1, .sees_ooms = true },
		  CAUSE_PROOF_PROVEN,
		  CAUSE_SOURCE_BPF },
		{ "the job went on for long",
		  { .ooms = 1, .sees_ooms = true, .after_kill_ns = 11 * NS_PER_S },
		  CAUSE_PROOF_SURVIVED,
		  CAUSE_SOURCE_BPF },
		{ "the job went on for a moment",
		  { .ooms = 1, .sees_ooms = true, .after_kill_ns = 9 * NS_PER_S },
		  CAUSE_PROOF_PROVEN,
		  CAUSE_SOURCE_BPF },
		{ "the recorder would have seen it",
		  { .kills = 1, .ends_are_seen = true, .sees_ooms = true, .group = COUNTED(1) },
		  CAUSE_PROOF_NONE,
		  CAUSE_SOURCE_NONE },
		{ "the job's own group counted it",
		  { .own = COUNTED(1) },
		  CAUSE_PROOF_PROVEN,
		  CAUSE_SOURCE_CGROUP },
		{ "the job's own group would have counted it",
		  { .kills = 1, .ends_are_seen = true, .own = COUNTED(0), .group = COUNTED(1) },
		  CAUSE_PROOF_NONE,
		  CAUSE_SOURCE_NONE },
		{ "a daemon saw it",
		  { .kills = 1,
		    .ends_are_seen = true,
		    .verdict = { .is_known = true, .is_oom = true } },
		  CAUSE_PROOF_PROVEN,
		  CAUSE_SOURCE_DAEMON },
		{ "a daemon saw another kill",
		  { .kills = 1,
		    .ends_are_seen = true,
		    .group = COUNTED(1),
		    .verdict = { .is_known = true } },
		  CAUSE_PROOF_NONE,
		  CAUSE_SOURCE_NONE },
		{ "as many kills as were counted",
		  { .kills = 1, .ends_are_seen = true, .group = COUNTED(1) },
		  CAUSE_PROOF_PROVEN,
		  CAUSE_SOURCE_CGROUP },
		{ "some of the kills were of others",
		  { .kills = 1, .ends_are_seen = true, .group = COUNTED(2) },
		  CAUSE_PROOF_LIKELY,
		  CAUSE_SOURCE_CGROUP },
		{ "the kill may have been of others",
		  { .kills = 1,
		    .ends_are_seen = true,
		    .group = { .is_known = true, .kills = 1, .is_shared = true } },
		  CAUSE_PROOF_LIKELY,
		  CAUSE_SOURCE_CGROUP },
		{ "a kill was counted, and ends are not seen",
		  { .group = COUNTED(1) },
		  CAUSE_PROOF_LIKELY,
		  CAUSE_SOURCE_CGROUP },
		{ "a kill was counted, and no process of the job was killed",
		  { .ends_are_seen = true, .group = COUNTED(1) },
		  CAUSE_PROOF_NONE,
		  CAUSE_SOURCE_NONE },
		{ "killed, and nothing counted",
		  { .kills = 1, .ends_are_seen = true, .group = COUNTED(0), .is_full = true },
		  CAUSE_PROOF_NONE,
		  CAUSE_SOURCE_NONE },
		{ "only the machine counts",
		  { .kills = 1, .ends_are_seen = true, .machine = COUNTED(1) },
		  CAUSE_PROOF_LIKELY,
		  CAUSE_SOURCE_VMSTAT },
		{ "the machine counted none",
		  { .kills = 1, .ends_are_seen = true, .machine = COUNTED(0) },
		  CAUSE_PROOF_NONE,
		  CAUSE_SOURCE_NONE },
		{ "nothing counts, the limit was reached",
		  { .kills = 1, .ends_are_seen = true, .is_full = true },
		  CAUSE_PROOF_LIKELY,
		  CAUSE_SOURCE_LIMIT },
		{ "nothing counts, no limit was reached",
		  { .kills = 1, .ends_are_seen = true },
		  CAUSE_PROOF_NONE,
		  CAUSE_SOURCE_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct cause cause;

		cause_judge(&rows[i].facts, &cause);
		if (cause.oom != rows[i].proof || cause.oom_source != rows[i].source)
			fail_msg("%s: %d by %d", rows[i].why, cause.oom, cause.oom_source);
	}
}

static void test_cause__names_the_limit_only_where_memory_ran_out(void **state)
{
	struct cause_facts facts = { .kills = 1,
		                     .ends_are_seen = true,
		                     .group = COUNTED(1),
		                     .is_full = true,
		                     .limit_bytes = 500 << 20,
		                     .limit_group = "/slurm/job_77" };
	struct cause cause;

	(void)state;
	cause_judge(&facts, &cause);
	assert_int_equal(cause.oom_limit_bytes, 500 << 20);
	assert_string_equal(cause.oom_group, "/slurm/job_77");
	facts.group.kills = 0;
	cause_judge(&facts, &cause);
	assert_int_equal(cause.oom_limit_bytes, 0);
	assert_string_equal(cause.oom_group, "");
}

static void test_cause__names_the_sender_that_is_known(void **state)
{
	const struct cause_signal own = { SIGTERM, 5, 1, "python3", true },
				  other = { SIGTERM, 77, 1, "timeout", false },
				  key = { .number = SIGINT },
				  unknown = { .number = SIGKILL, .pid = -1 },
				  kernel = { .number = SIGKILL };
	const struct {
		int signal;
		const struct cause_signal *sent[2];
		enum cause_sender sender;
		pid_t pid;
	} rows[] = {
		{ SIGTERM, { &other }, CAUSE_SENDER_PROCESS, 77 },
		{ SIGTERM, { &other, &own }, CAUSE_SENDER_PROCESS, 77 },
		{ SIGTERM, { &own, &other }, CAUSE_SENDER_PROCESS, 77 },
		{ SIGTERM, { &own }, CAUSE_SENDER_ITSELF, 5 },
		{ SIGINT, { &key }, CAUSE_SENDER_TERMINAL, 0 },
		{ SIGINT, { &other }, CAUSE_SENDER_NONE, 0 },
		{ SIGKILL, { &unknown }, CAUSE_SENDER_NONE, 0 },
		{ SIGKILL, { &kernel }, CAUSE_SENDER_KERNEL, 0 },
		{ SIGKILL, { NULL }, CAUSE_SENDER_NONE, 0 },
		{ 0, { &other }, CAUSE_SENDER_NONE, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct cause_signal sent[2];
		struct cause_facts facts = { .signal = rows[i].signal,
			                     .sent = sent,
			                     .sent_source = CAUSE_SOURCE_BPF };
		struct cause cause;

		for (; facts.n_sent < 2 && rows[i].sent[facts.n_sent]; facts.n_sent++)
			sent[facts.n_sent] = *rows[i].sent[facts.n_sent];
		cause_judge(&facts, &cause);
		assert_int_equal(cause.sender, rows[i].sender);
		assert_int_equal(cause.sender_pid, rows[i].pid);
		assert_int_equal(cause.sender_source,
		                 cause.sender ? CAUSE_SOURCE_BPF : CAUSE_SOURCE_NONE);
	}
}

static void test_cause__takes_the_sender_from_a_daemon_if_it_saw_none(void **state)
{
	const struct cause_facts facts = { .signal = SIGKILL,
		                           .verdict = { .is_known = true,
		                                        .has_kill = true,
		                                        .kill = { SIGKILL, 9, 0, "slurmstepd",
		                                                  false } } };
	struct cause cause;

	(void)state;
	cause_judge(&facts, &cause);
	assert_int_equal(cause.sender, CAUSE_SENDER_PROCESS);
	assert_int_equal(cause.sender_source, CAUSE_SOURCE_DAEMON);
	assert_string_equal(cause.sender_comm, "slurmstepd");
}

RUN_TESTS(TEST(test_cause__is_out_of_memory_as_far_as_the_facts_go),
          TEST(test_cause__names_the_limit_only_where_memory_ran_out),
          TEST(test_cause__names_the_sender_that_is_known),
          TEST(test_cause__takes_the_sender_from_a_daemon_if_it_saw_none))
