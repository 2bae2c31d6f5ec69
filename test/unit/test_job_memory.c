/* SPDX-License-Identifier: MIT */
#include "job/job_memory.h"

#include "check.h"

#define MIB ((uint64_t)1 << 20)
#define PAGES_PER_MIB 256

enum { SHELL = 7, SORT, SORT_AGAIN, PYTHON }; /* runs of programs */

struct process {
	pid_t pid, ppid;
	uint64_t exec_id;
	uint64_t anon_mib, faults_mib; /* faults in pages that make so much memory */
	uint64_t pss_anon_mib;         /* 0: not read at this tick */
	uint64_t pss_shmem_mib, mapped_mib;
	uint64_t shmem_mib;     /* undivided */
	bool is_kept;           /* PSS was read at an earlier tick */
	uint64_t mark_mib;      /* of resident memory; 0: not read */
	bool is_current;        /* … and none of its family has changed since */
	uint64_t read_anon_mib; /* when PSS was read; 0: as much as before */
	uint64_t shared_mib;    /* of that; 0: not known */
	bool mark_is_older;     /* than the job */
	uint64_t mark_shmem_mib;
};

static void add(struct job_memory *m, struct process p)
{
	struct proc_sample s = {
		.id = { p.pid, (uint64_t)p.pid },
		.ppid = p.ppid,
		.exec_id = p.exec_id,
		.anon_bytes = p.anon_mib * MIB,
		.shmem_bytes = p.shmem_mib * MIB,
		.mark_shmem_bytes = p.mark_shmem_mib * MIB,
		.pss = { .anon_bytes = p.pss_anon_mib * MIB,
		         .shmem_bytes = p.pss_shmem_mib * MIB,
		         .whole_anon_bytes = (p.read_anon_mib ? p.read_anon_mib : p.anon_mib) * MIB,
		         .shared_anon_bytes = p.shared_mib * MIB,
		         .knows_shared_anon = p.shared_mib > 0,
		         .is_fresh = p.pss_anon_mib > 0 && !p.is_kept,
		         .is_current = p.is_current },
	};

	readings_set(&s.r, PROC_RSS, (p.anon_mib + p.mapped_mib) * MIB);
	if (p.mark_mib)
		readings_set(&s.r, PROC_PEAK_RSS, p.mark_mib * MIB);
	readings_set(&s.r, PROC_MINOR_FAULTS, p.faults_mib * PAGES_PER_MIB);
	job_memory_add(m, &s, !p.mark_is_older);
}

static uint64_t sum_mib(struct job_memory *m)
{
	return job_memory_sum(m, UINT64_MAX) / MIB;
}

static void test_job_memory__counts_what_forked_processes_share_once(void **state)
{
	struct job_memory m = { 0 };

	add(&m, (struct process){ 10, 1, PYTHON, 2048, 2048 });
	assert_int_equal(sum_mib(&m), 2048);
	add(&m, (struct process){ 10, 1, PYTHON, 2048, 2048 });
	for (pid_t pid = 11; pid <= 22; pid++)
		add(&m, (struct process){ pid, 10, PYTHON, 2048, 0 });
	assert_int_equal(sum_mib(&m), 2048);
	/* One child allocates 50 MiB more. */
	add(&m, (struct process){ 10, 1, PYTHON, 2048, 2048 });
	add(&m, (struct process){ 11, 10, PYTHON, 2048, 0 });
	add(&m, (struct process){ 12, 10, PYTHON, 2098, 50 });
	assert_int_equal(sum_mib(&m), 2048 + 50);
	/* All but one have ended: it holds what it has. */
	add(&m, (struct process){ 11, 1, PYTHON, 2048, 0 });
	assert_int_equal(sum_mib(&m), 2048);
	job_memory_done(&m);
}

/* They have as many page faults as workers that write to what they share. */
static void test_job_memory__of_workers_that_free_and_allocate_again_does_not_grow(void **state)
{
	struct job_memory m = { 0 };

	(void)state;
	add(&m, (struct process){ 10, 1, PYTHON, 300, 300 });
	assert_int_equal(sum_mib(&m), 300);
	for (uint64_t tick = 1; tick <= 40; tick++) {
		bool is_read = tick % 10 == 5; /* when it had freed it, as it happens */

		add(&m, (struct process){ 10, 1, PYTHON, 300, 300 });
		for (pid_t pid = 11; pid <= 14; pid++)
			add(&m, (struct process){ pid, 10, PYTHON, 340, 40 * tick,
			                          .pss_anon_mib = is_read ? 60 : 0,
			                          .read_anon_mib = 300 });
		assert_int_equal(sum_mib(&m), 300 + 4 * 40);
	}
	job_memory_done(&m);
}

/* PSS of one worker shows what its page faults are; those of the others will be the same. */
static void test_job_memory__follows_workers_that_copy_what_they_share(void **state)
{
	struct job_memory m = { 0 };

	(void)state;
	add(&m, (struct process){ 10, 1, PYTHON, 300, 300 });
	(void)sum_mib(&m);
	for (uint64_t copied = 0; copied <= 60; copied += 30) {
		add(&m, (struct process){ 10, 1, PYTHON, 300, 300 });
		add(&m, (struct process){ 11, 10, PYTHON, 300, copied,
		                          .pss_anon_mib = copied == 30 ? 30 + 270 / 3 : 0 });
		add(&m, (struct process){ 12, 10, PYTHON, 300, copied });
		assert_int_equal(sum_mib(&m), copied == 0 ? 300 : copied == 30 ? 330 : 390);
	}
	job_memory_done(&m);
}

/* 200 MiB, two workers with 40 each of their own, and two workers of each of them with 15. */
static void add_two_levels(struct job_memory *m, bool has_workers)
{
	add(m, (struct process){ 10, 1, PYTHON, 200, 200 });
	for (pid_t pid = 11; has_workers && pid <= 12; pid++)
		add(m, (struct process){ pid, 10, PYTHON, 240, 40 });
	for (pid_t pid = 13; pid <= 16; pid++)
		add(m, (struct process){ pid, has_workers ? 11 + pid % 2 : 1, PYTHON, 255, 15 });
}

static void test_job_memory__counts_what_workers_share_with_workers_of_theirs(void **state)
{
	struct job_memory m = { 0 };

	add(&m, (struct process){ 10, 1, PYTHON, 200, 200 });
	assert_int_equal(sum_mib(&m), 200);
	add_two_levels(&m, true);
	assert_int_equal(sum_mib(&m), 200 + 2 * 40 + 4 * 15);
	add_two_levels(&m, true);
	assert_int_equal(sum_mib(&m), 200 + 2 * 40 + 4 * 15);
	add_two_levels(&m, false); /* what the workers had is now that of theirs */
	assert_int_equal(sum_mib(&m), 200 + 2 * 40 + 4 * 15);
	add_two_levels(&m, false);
	assert_int_equal(sum_mib(&m), 200 + 2 * 40 + 4 * 15);
	job_memory_done(&m);
}

/* 210 MiB, of which two workers copied 42 each before they forked two workers each, which have 20 more. So seven
 * share 168, and twice three share 42. */
static void add_copies(struct job_memory *m, bool is_read)
{
	uint64_t part = 168 / 7 + 42 / 3;

	add(m, (struct process){ 10, 1, PYTHON, 210, 210, is_read ? 42 + 168 / 7 : 0,
	                         .shared_mib = 168 });
	for (pid_t pid = 11; pid <= 12; pid++)
		add(m, (struct process){ pid, 10, PYTHON, 210, 42, is_read ? part : 0,
		                         .shared_mib = 210 });
	for (pid_t pid = 13; pid <= 16; pid++)
		add(m, (struct process){ pid, 11 + pid % 2, PYTHON, 230, 20,
		                         is_read ? 20 + part : 0, .shared_mib = 210 });
}

static void test_job_memory__finds_by_pss_what_workers_copied_before_they_forked(void **state)
{
	struct job_memory m = { 0 };

	add(&m, (struct process){ 10, 1, PYTHON, 210, 210 });
	assert_int_equal(sum_mib(&m), 210);
	add_copies(&m, false);
	assert_int_equal(sum_mib(&m), 210 + 4 * 20); /* faults alone show no copies */
	add_copies(&m, true);
	assert_in_range(sum_mib(&m), 210 + 2 * 42 + 4 * 20 - 1, 210 + 2 * 42 + 4 * 20 + 1);
	job_memory_done(&m);
}

static void test_job_memory__ignores_pss_of_the_program_that_runs_since(void **state)
{
	struct job_memory m = { 0 };

	add(&m, (struct process){ 10, 1, PYTHON, 100, 100 });
	assert_int_equal(sum_mib(&m), 100);
	add(&m, (struct process){ 10, 1, PYTHON, 100, 100 });
	add(&m, (struct process){ 11, 10, PYTHON, 100, 0, .pss_anon_mib = 5, .read_anon_mib = 5 });
	assert_int_equal(sum_mib(&m), 100);
	job_memory_done(&m);
}

static void test_job_memory__counts_programs_that_share_nothing_in_full(void **state)
{
	struct job_memory m = { 0 };

	add(&m, (struct process){ 10, 1, SHELL, 1, 1 });
	add(&m, (struct process){ 11, 10, SORT, 300, 300 });
	add(&m, (struct process){ 12, 10, SORT_AGAIN, 200, 200 });
	assert_int_equal(sum_mib(&m), 501);
	job_memory_done(&m);
}

static void test_job_memory__counts_a_worker_that_runs_another_program_in_full(void **state)
{
	struct job_memory m = { 0 };

	(void)state;
	add(&m, (struct process){ 10, 1, PYTHON, 400, 400 });
	add(&m, (struct process){ 11, 10, PYTHON, 400, 1 });
	assert_int_equal(sum_mib(&m), 400);
	add(&m, (struct process){ 10, 1, PYTHON, 400, 400 });
	add(&m, (struct process){ 11, 10, SORT, 300, 302 });
	assert_int_equal(sum_mib(&m), 700);
	job_memory_done(&m);
}

/* As after a double fork: those between them and their ancestor have ended, and at last that too. */
static void test_job_memory__counts_what_orphans_share_once(void **state)
{
	struct job_memory m = { 0 };

	(void)state;
	add(&m, (struct process){ 10, 1, PYTHON, 300, 300 });
	for (pid_t pid = 12; pid <= 22; pid += 2)
		add(&m, (struct process){ pid, 1, PYTHON, 310, 12 });
	assert_int_equal(sum_mib(&m), 300 + 6 * 10);
	for (pid_t pid = 12; pid <= 22; pid += 2)
		add(&m, (struct process){ pid, 1, PYTHON, 310, 12 });
	assert_int_equal(sum_mib(&m), 300 + 6 * 10);
	job_memory_done(&m);
}

static void test_job_memory__of_orphans_alone_counts_what_they_share_once(void **state)
{
	struct job_memory m = { 0 };

	(void)state;
	for (pid_t pid = 12; pid <= 17; pid++)
		add(&m, (struct process){ pid, 1, PYTHON, 300, 2 });
	assert_int_equal(sum_mib(&m), 300);
	job_memory_done(&m);
}

/* Where the kernel moves no addresses, two runs of a program resemble one. */
static void test_job_memory__of_several_runs_with_one_id_counts_all(void **state)
{
	struct job_memory m = { 0 };

	(void)state;
	for (pid_t pid = 12; pid <= 15; pid++)
		add(&m, (struct process){ pid, 1, SORT, 300, 300 });
	assert_int_equal(sum_mib(&m), 4 * 300);
	job_memory_done(&m);
}

static void test_job_memory__is_not_deceived_by_a_program_that_runs_itself(void **state)
{
	struct job_memory m = { 0 };

	add(&m, (struct process){ 10, 1, PYTHON, 500, 500 });
	add(&m, (struct process){ 11, 10, PYTHON + 1, 400, 1 });
	assert_int_equal(sum_mib(&m), 900);
	job_memory_done(&m);
}

/* Huge pages: few faults for much memory. */
/* PSS of both is all of it: the pages are mapped once. */
static void test_job_memory__counts_memory_that_a_child_of_vfork_borrows_once(void **state)
{
	struct job_memory m = { 0 };

	(void)state;
	for (int read = 0; read < 3; read++) { /* both, the parent, the child */
		add(&m, (struct process){ 10, 1, PYTHON, 100, 100,
		                          .pss_anon_mib = read < 2 ? 100 : 0 });
		add(&m, (struct process){ 11, 10, PYTHON, 100, 0,
		                          .pss_anon_mib = read != 1 ? 100 : 0, .mapped_mib = 5 });
		assert_int_equal(sum_mib(&m), 100);
	}
	add(&m, (struct process){ 10, 1, PYTHON, 100, 100 });
	add(&m, (struct process){ 11, 10, SORT, 80, 80 });
	assert_int_equal(sum_mib(&m), 180);
	job_memory_done(&m);
}

/* As young forks appear when only their parent was read, before it forked. */
static void test_job_memory__follows_forks_that_seemed_to_borrow(void **state)
{
	struct job_memory m = { 0 };

	(void)state;
	add(&m, (struct process){ 10, 1, PYTHON, 100, 100, .pss_anon_mib = 100 });
	add(&m, (struct process){ 11, 10, PYTHON, 100, 0 });
	assert_int_equal(sum_mib(&m), 100);
	add(&m, (struct process){ 10, 1, PYTHON, 100, 100 });
	add(&m, (struct process){ 11, 10, PYTHON, 150, 50 });
	assert_int_equal(sum_mib(&m), 150);
	add(&m, (struct process){ 10, 1, PYTHON, 100, 100, .pss_anon_mib = 50, .shared_mib = 100 });
	add(&m,
	    (struct process){ 11, 10, PYTHON, 150, 50, .pss_anon_mib = 100, .shared_mib = 100 });
	assert_int_equal(sum_mib(&m), 150);
	job_memory_done(&m);
}

static void test_job_memory__is_corrected_by_what_the_kernel_divided(void **state)
{
	struct job_memory m = { 0 };

	add(&m, (struct process){ 10, 1, PYTHON, 500, 1 });
	add(&m, (struct process){ 11, 10, PYTHON, 400, 1 });
	assert_int_equal(sum_mib(&m), 500);
	add(&m, (struct process){ 10, 1, PYTHON, 500, 1 });
	add(&m, (struct process){ 11, 10, PYTHON, 400, 1, .pss_anon_mib = 400 });
	assert_int_equal(sum_mib(&m), 900);
	job_memory_done(&m);
}

/* The worker copied 20 of 100 MiB and allocated 40 before it forked two that allocated 10 each: which pages
 * they share cannot be seen, but the shares of all are known in the end. */
static void test_job_memory__of_a_family_at_rest_is_the_sum_of_its_shares(void **state)
{
	struct job_memory m = { 0 };
	bool is_read = false;

	(void)state;
	for (int tick = 0; tick < 3; tick++) {
		add(&m, (struct process){ 10, 1, PYTHON, 100, 100, .pss_anon_mib = 40,
		                          .is_kept = tick > 1, .is_current = is_read });
		add(&m, (struct process){ 11, 10, PYTHON, 140, 60, .pss_anon_mib = 40,
		                          .is_kept = tick > 1, .is_current = true });
		add(&m, (struct process){ 12, 11, PYTHON, 150, 10, .pss_anon_mib = 50,
		                          .is_kept = tick > 1, .is_current = true });
		add(&m, (struct process){ 13, 11, PYTHON, 150, 10, .pss_anon_mib = 50,
		                          .is_kept = tick > 1, .is_current = true });
		if (is_read)
			assert_int_equal(sum_mib(&m), 180);
		else
			assert_int_not_equal(sum_mib(&m), 180);
		is_read = true;
	}
	job_memory_done(&m);
}

static void test_job_memory__adds_shares_of_shared_memory(void **state)
{
	struct job_memory m = { 0 };

	(void)state;
	add(&m,
	    (struct process){ 10, 1, SORT, 10, 10, 10, .pss_shmem_mib = 100, .shmem_mib = 150 });
	add(&m,
	    (struct process){ 11, 1, PYTHON, 20, 20, 20, .pss_shmem_mib = 100, .shmem_mib = 150 });
	assert_int_equal(sum_mib(&m), 230);
	job_memory_done(&m);
}

static void test_job_memory__counts_the_share_of_what_others_map_too(void **state)
{
	struct job_memory m = { 0 };

	(void)state;
	add(&m,
	    (struct process){ 10, 1, PYTHON, 10, 10, 10, .shmem_mib = 100, .pss_shmem_mib = 50 });
	assert_int_equal(sum_mib(&m), 10 + 50);
	/* It maps more of it. */
	add(&m, (struct process){ 10, 1, PYTHON, 10, 10, 10, .shmem_mib = 200, .pss_shmem_mib = 50,
	                          .is_kept = true });
	assert_int_equal(sum_mib(&m), 10 + 100);
	job_memory_done(&m);
}

static void test_job_memory__keeps_shares_of_shared_memory_until_they_are_read_again(void **state)
{
	struct job_memory m = { 0 };

	(void)state;
	add(&m, (struct process){ 10, 1, PYTHON, 10, 10, 10, .pss_shmem_mib = 100,
	                          .mapped_mib = 106, .shmem_mib = 100 });
	assert_int_equal(sum_mib(&m), 110);
	add(&m, (struct process){ 10, 1, PYTHON, 10, 10, .mapped_mib = 106 });
	assert_int_equal(sum_mib(&m), 110);
	/* It has unmapped most of it. */
	add(&m, (struct process){ 10, 1, PYTHON, 10, 10, .mapped_mib = 26 });
	assert_int_equal(sum_mib(&m), 36);
	add(&m, (struct process){ 10, 1, PYTHON, 10, 10, 10, .mapped_mib = 6 });
	assert_int_equal(sum_mib(&m), 10);
	job_memory_done(&m);
}

static void test_job_memory__follows_shared_memory_of_one_process_without_pss(void **state)
{
	struct job_memory m = { 0 };

	(void)state;
	add(&m, (struct process){ 10, 1, PYTHON, 10, 10, .mapped_mib = 46, .shmem_mib = 40 });
	assert_int_equal(sum_mib(&m), 50);
	add(&m, (struct process){ 10, 1, PYTHON, 10, 10, .mapped_mib = 206, .shmem_mib = 200 });
	assert_int_equal(sum_mib(&m), 210);
	add(&m, (struct process){ 10, 1, PYTHON, 10, 10, 10, .mapped_mib = 26, .shmem_mib = 20,
	                          .pss_shmem_mib = 20 });
	assert_int_equal(sum_mib(&m), 30);
	job_memory_done(&m);
}

struct sharers {
	uint64_t writer_mib, reader_mib;             /* what each maps */
	uint64_t writer_share_mib, reader_share_mib; /* 0: not read at this tick */
};

static uint64_t sum_of_sharers(struct job_memory *m, struct sharers s)
{
	add(m, (struct process){ 10, 1, PYTHON, 10, 10, 10, .shmem_mib = s.writer_mib,
	                         .pss_shmem_mib = s.writer_share_mib,
	                         .is_kept = !s.writer_share_mib });
	add(m, (struct process){ 11, 1, SORT, 10, 10, 10, .shmem_mib = s.reader_mib,
	                         .pss_shmem_mib = s.reader_share_mib,
	                         .is_kept = !s.reader_share_mib });
	return sum_mib(m) - 20;
}

static void test_job_memory__follows_shared_memory_that_grows_between_readings(void **state)
{
	struct job_memory m = { 0 };

	(void)state;
	assert_int_equal(sum_of_sharers(&m, (struct sharers){ 100, 50, 75, 25 }), 100);
	assert_int_equal(sum_of_sharers(&m, (struct sharers){ 140, 50 }), 140);
	/* The reader follows: these pages are not new. */
	assert_int_equal(sum_of_sharers(&m, (struct sharers){ 140, 120 }), 140);
	/* Both have unmapped most of it. */
	assert_int_equal(sum_of_sharers(&m, (struct sharers){ 30, 10 }), 40);
	job_memory_done(&m);
}

static void test_job_memory__adds_what_each_fills_if_that_was_new_before(void **state)
{
	struct job_memory m = { 0 };

	(void)state;
	assert_int_equal(sum_of_sharers(&m, (struct sharers){ 20, 20, 20, 20 }), 40);
	assert_int_equal(sum_of_sharers(&m, (struct sharers){ 30, 30, 30, 30 }), 60);
	assert_int_equal(sum_of_sharers(&m, (struct sharers){ 50, 45 }), 95);
	/* Since then both map the same. */
	assert_int_equal(sum_of_sharers(&m, (struct sharers){ 60, 60, 45, 45 }), 90);
	assert_int_equal(sum_of_sharers(&m, (struct sharers){ 80, 80, 45, 45 }), 90);
	assert_int_equal(sum_of_sharers(&m, (struct sharers){ 90, 90 }), 90);
	job_memory_done(&m);
}

/* The share that was read first is less: another one had not left. */
static void test_job_memory__does_not_mix_shares_of_two_ticks(void **state)
{
	struct job_memory m = { 0 };

	(void)state;
	assert_int_equal(sum_of_sharers(&m, (struct sharers){ 100, 100, 50, 50 }), 100);
	assert_int_equal(sum_of_sharers(&m, (struct sharers){ 100, 100, 100, 0 }), 100);
	job_memory_done(&m);
}

static void test_job_memory__adds_no_shared_memory_of_a_child_before_it_is_read(void **state)
{
	struct job_memory m = { 0 };

	(void)state;
	add(&m,
	    (struct process){ 10, 1, PYTHON, 10, 10, 5, .shmem_mib = 100, .pss_shmem_mib = 100 });
	assert_int_equal(sum_mib(&m), 10 + 100);
	add(&m,
	    (struct process){ 10, 1, PYTHON, 10, 10, 5, .shmem_mib = 100, .pss_shmem_mib = 100 });
	add(&m, (struct process){ 11, 10, PYTHON, 10, 0, .mapped_mib = 90, .shmem_mib = 90 });
	assert_int_equal(sum_mib(&m), 10 + 100);
	job_memory_done(&m);
}

static void test_job_memory__at_a_mark_counts_what_grew_after_the_last_tick(void **state)
{
	const struct proc_id id = { 10, 10 }, other = { 11, 11 };
	struct job_memory m = { 0 };

	(void)state;
	assert_int_equal(job_memory_at_largest_mark(&m, 100 * MIB), 0);
	add(&m, (struct process){ 10, 1, PYTHON, 60, 60, .mapped_mib = 20 });
	add(&m, (struct process){ 11, 1, SORT, 10, 10 });
	assert_int_equal(sum_mib(&m), 70);
	/* It shrank before it ended. */
	add(&m, (struct process){ 10, 1, PYTHON, 10, 60, .mapped_mib = 20 });
	add(&m, (struct process){ 11, 1, SORT, 15, 10 });
	assert_int_equal(sum_mib(&m), 25);
	/* A quarter of what it had were files. */
	assert_int_equal(job_memory_at_mark(&m, id, 100 * MIB, 0) / MIB, 70 + 15);
	assert_int_equal(job_memory_at_mark(&m, id, 50 * MIB, 0), 0); /* no more than a tick saw */
	assert_int_equal(job_memory_at_largest_mark(&m, 100 * MIB) / MIB, 70 + 15);
	assert_int_equal(job_memory_at_mark(&m, other, 25 * MIB, 0) / MIB, 25 + 10);
	/* It is a zombie by now: the program that it ran is no longer known. */
	add(&m, (struct process){ 10, 1, 0 });
	assert_int_equal(sum_mib(&m), 0);
	assert_int_equal(job_memory_at_mark(&m, id, 100 * MIB, 0) / MIB, 70 + 15);
	assert_int_equal(job_memory_at_mark(&m, (struct proc_id){ 12, 12 }, 25 * MIB, 0), 0);
	job_memory_done(&m);
}

static void test_job_memory__at_a_mark_follows_the_largest_process_of_a_group(void **state)
{
	struct proc_sample large = { .id = { 10, 10 }, .anon_bytes = 120 * MIB };
	const struct proc_sample small = { .id = { 11, 11 }, .anon_bytes = 10 * MIB };
	struct job_memory m = { 0 };

	readings_set(&large.r, PROC_RSS, 160 * MIB);
	readings_set(&large.r, PROC_PEAK_RSS, 160 * MIB);
	job_memory_note(&m, &small, true);
	job_memory_note(&m, &large, true);
	/* 20 MiB more than they have: half of what it maps is shared. */
	assert_int_equal(job_memory_take_sum(&m, 150 * MIB, 200 * MIB) / MIB, 150);
	assert_int_equal(job_memory_at_mark(&m, large.id, 240 * MIB, 0) / MIB, 150 + 70);
	assert_int_equal(job_memory_at_mark(&m, small.id, 240 * MIB, 0), 0);
	assert_int_equal(job_memory_at_mark(&m, large.id, 160 * MIB, 0), 0);
	assert_int_equal(job_memory_between(&m), 0);
	/* It had 240 MiB, of the same kinds as before, and freed most of them. */
	large.anon_bytes = 10 * MIB;
	readings_set(&large.r, PROC_RSS, 20 * MIB);
	readings_set(&large.r, PROC_PEAK_RSS, 240 * MIB);
	job_memory_note(&m, &large, true);
	job_memory_take_sum(&m, 20 * MIB, 30 * MIB);
	assert_int_equal(job_memory_between(&m) / MIB, 210);
	job_memory_note(&m, &large, true);
	job_memory_take_sum(&m, 20 * MIB, 30 * MIB);
	assert_int_equal(job_memory_between(&m), 0);
	job_memory_done(&m);
}

static void test_job_memory__counts_what_is_freed_while_the_group_is_read(void **state)
{
	struct proc_sample large = { .id = { 10, 10 }, .anon_bytes = 180 * MIB };
	struct job_memory m = { 0 };

	readings_set(&large.r, PROC_RSS, 190 * MIB);
	job_memory_note(&m, &large, true);
	assert_int_equal(job_memory_take_sum(&m, 150 * MIB, 185 * MIB) / MIB, 180);
	/* The rest was charged to the group that it came from. */
	job_memory_note(&m, &large, true);
	assert_int_equal(job_memory_take_sum(&m, 20 * MIB, 30 * MIB) / MIB, 30);
	job_memory_done(&m);
}

/* It had 300 MiB between two ticks, and freed them before others began. */
static void test_job_memory__does_not_add_a_mark_of_before_to_what_others_have_now(void **state)
{
	const struct proc_id id = { 10, 10 };
	struct job_memory m = { 0 };

	(void)state;
	add(&m, (struct process){ 10, 1, PYTHON, 10, 10, .mark_mib = 10 });
	assert_int_equal(sum_mib(&m), 10);
	assert_int_equal(job_memory_between(&m), 0);
	add(&m, (struct process){ 10, 1, PYTHON, 10, 310, .mark_mib = 310 });
	assert_int_equal(sum_mib(&m), 10);
	assert_int_equal(job_memory_between(&m) / MIB, 310);
	add(&m, (struct process){ 10, 1, PYTHON, 10, 310, .mark_mib = 310 });
	add(&m, (struct process){ 11, 10, SORT, 250, 250, .mark_mib = 250 });
	assert_int_equal(sum_mib(&m), 260);
	assert_int_equal(job_memory_between(&m), 0);
	assert_int_equal(job_memory_at_mark(&m, id, 310 * MIB, 0), 0);
	assert_int_equal(job_memory_at_largest_mark(&m, 310 * MIB), 0);
	job_memory_done(&m);
}

/* A program that maps a file touches few of its pages: the others come along. */
static void test_job_memory__at_a_mark_knows_heap_from_files_by_page_faults(void **state)
{
	const struct proc_id id = { 10, 10 };
	struct job_memory m = { 0 };

	add(&m, (struct process){ 10, 1, PYTHON, 5, 5, .mapped_mib = 5 });
	assert_int_equal(sum_mib(&m), 5);
	assert_int_equal(job_memory_at_mark(&m, id, 210 * MIB, 205 * PAGES_PER_MIB) / MIB, 205);
	assert_int_equal(job_memory_at_mark(&m, id, 210 * MIB, 20 * PAGES_PER_MIB) / MIB, 105);
	assert_int_equal(job_memory_at_mark(&m, id, 210 * MIB, 0) / MIB, 105);
	add(&m, (struct process){ 10, 1, PYTHON, 5, 20, .mapped_mib = 5, .mark_mib = 210 });
	assert_int_equal(sum_mib(&m), 5);
	assert_int_equal(job_memory_between(&m) / MIB, 105);
	job_memory_done(&m);
}

/* Marks are read in turns. */
static void test_job_memory__between_counts_a_mark_that_is_read_late(void **state)
{
	struct job_memory m = { 0 };

	for (int i = 0; i < 3; i++) {
		add(&m, (struct process){ 10, 1, PYTHON, 120, 120 });
		assert_int_equal(sum_mib(&m), 120);
	}
	add(&m, (struct process){ 10, 1, PYTHON, 137, 137, .mark_mib = 190 });
	assert_int_equal(sum_mib(&m), 137);
	assert_int_equal(job_memory_between(&m) / MIB, 190);
	job_memory_done(&m);
}

static void test_job_memory__between_leaves_out_a_mark_from_before_the_job(void **state)
{
	struct job_memory m = { 0 };

	add(&m, (struct process){ 10, 1, PYTHON, 10, 10, .mark_mib = 310, .mark_is_older = true });
	assert_int_equal(sum_mib(&m), 10);
	assert_int_equal(job_memory_between(&m), 0);
	add(&m, (struct process){ 10, 1, PYTHON, 10, 10, .mark_mib = 400 }); /* it rose since */
	assert_int_equal(sum_mib(&m), 10);
	assert_int_equal(job_memory_between(&m) / MIB, 400);
	job_memory_done(&m);
}

/* One ended and another began between two ticks: they need not have been there together. */
static void test_job_memory__between_two_ticks_counts_what_others_had_at_both(void **state)
{
	struct job_memory m = { 0 };

	(void)state;
	add(&m, (struct process){ 10, 1, PYTHON, 10, 10, .mark_mib = 10 });
	add(&m, (struct process){ 11, 1, SORT, 200, 200, .mark_mib = 200 });
	assert_int_equal(sum_mib(&m), 210);
	add(&m, (struct process){ 10, 1, PYTHON, 10, 310, .mark_mib = 310 });
	assert_int_equal(sum_mib(&m), 10);
	assert_int_equal(job_memory_between(&m) / MIB, 310);
	job_memory_done(&m);
}

/* Two workers map what their parent filled, while they are read. */
static void test_job_memory__between_counts_no_shared_memory_that_others_have(void **state)
{
	struct job_memory m = { 0 };

	for (int i = 0; i < 2; i++) {
		add(&m, (struct process){ 10, 1, PYTHON, 10, 260, 10, .mapped_mib = 255,
		                          .shmem_mib = 250, .pss_shmem_mib = 250, .is_kept = i == 1,
		                          .mark_mib = 265 });
		if (i == 1) {
			add(&m, (struct process){ 11, 10, PYTHON, 10, 8, .mapped_mib = 125,
			                          .shmem_mib = 120, .mark_mib = 215,
			                          .mark_shmem_mib = 200 });
			add(&m, (struct process){ 12, 10, PYTHON, 10, 1, .mapped_mib = 5,
			                          .mark_mib = 195, .mark_shmem_mib = 180 });
		}
		assert_int_equal(sum_mib(&m), 260);
		assert_in_range(job_memory_between(&m) / MIB, 0, 265);
	}
	assert_in_range(job_memory_at_mark(&m, (struct proc_id){ 11, 11 }, 265 * MIB, 0) / MIB, 0,
	                270);
	job_memory_done(&m);
}

/* … and one that maps more than all others. */
static void test_job_memory__between_counts_shared_memory_that_is_new(void **state)
{
	struct job_memory m = { 0 };

	for (int i = 0; i < 2; i++) {
		add(&m,
		    (struct process){ 10, 1, PYTHON, 10, 10, 10, .mapped_mib = 55, .shmem_mib = 50,
		                      .pss_shmem_mib = 50, .is_kept = i == 1, .mark_mib = 65 });
		if (i == 1)
			add(&m, (struct process){ 11, 10, PYTHON, 10, 1, .mapped_mib = 5,
			                          .mark_mib = 215, .mark_shmem_mib = 200 });
		assert_int_equal(sum_mib(&m), 60);
	}
	assert_int_equal(job_memory_between(&m) / MIB, 210);
	job_memory_done(&m);
}

static void test_job_memory__follows_what_is_freed(void **state)
{
	struct job_memory m = { 0 };

	add(&m, (struct process){ 10, 1, PYTHON, 100, 100 });
	add(&m, (struct process){ 11, 10, PYTHON, 100, 0 });
	assert_int_equal(sum_mib(&m), 100);
	add(&m, (struct process){ 10, 1, PYTHON, 100, 100 });
	add(&m, (struct process){ 11, 10, PYTHON, 400, 300 });
	assert_int_equal(sum_mib(&m), 400);
	add(&m, (struct process){ 10, 1, PYTHON, 100, 100 });
	add(&m, (struct process){ 11, 10, PYTHON, 150, 300 });
	assert_int_equal(sum_mib(&m), 150);
	job_memory_done(&m);
}

/* Each was read when fewer had mapped it than now. */
static void test_job_memory__counts_no_more_shared_memory_than_the_machine_has(void **state)
{
	struct job_memory m = { 0 };

	(void)state;
	for (pid_t pid = 10; pid <= 12; pid++)
		add(&m, (struct process){ pid, 1, (uint64_t)pid, 10, 10, 10, .shmem_mib = 120,
		                          .pss_shmem_mib = 120 / (uint64_t)(pid - 9) });
	assert_int_equal(job_memory_sum(&m, 126 * MIB), (30 + 126) * MIB);
	job_memory_done(&m);
}

static void test_job_memory__of_no_processes_is_nothing(void **state)
{
	struct job_memory m = { 0 };

	assert_int_equal(job_memory_sum(&m, UINT64_MAX), 0);
	job_memory_done(&m);
}

RUN_TESTS(TEST(test_job_memory__ignores_pss_of_the_program_that_runs_since),
          TEST(test_job_memory__counts_what_workers_share_with_workers_of_theirs),
          TEST(test_job_memory__finds_by_pss_what_workers_copied_before_they_forked),
          TEST(test_job_memory__counts_what_forked_processes_share_once),
          TEST(test_job_memory__of_workers_that_free_and_allocate_again_does_not_grow),
          TEST(test_job_memory__follows_workers_that_copy_what_they_share),
          TEST(test_job_memory__counts_programs_that_share_nothing_in_full),
          TEST(test_job_memory__counts_a_worker_that_runs_another_program_in_full),
          TEST(test_job_memory__counts_what_orphans_share_once),
          TEST(test_job_memory__of_orphans_alone_counts_what_they_share_once),
          TEST(test_job_memory__of_several_runs_with_one_id_counts_all),
          TEST(test_job_memory__is_not_deceived_by_a_program_that_runs_itself),
          TEST(test_job_memory__counts_memory_that_a_child_of_vfork_borrows_once),
          TEST(test_job_memory__follows_forks_that_seemed_to_borrow),
          TEST(test_job_memory__is_corrected_by_what_the_kernel_divided),
          TEST(test_job_memory__of_a_family_at_rest_is_the_sum_of_its_shares),
          TEST(test_job_memory__adds_shares_of_shared_memory),
          TEST(test_job_memory__keeps_shares_of_shared_memory_until_they_are_read_again),
          TEST(test_job_memory__follows_shared_memory_of_one_process_without_pss),
          TEST(test_job_memory__follows_shared_memory_that_grows_between_readings),
          TEST(test_job_memory__adds_no_shared_memory_of_a_child_before_it_is_read),
          TEST(test_job_memory__counts_the_share_of_what_others_map_too),
          TEST(test_job_memory__adds_what_each_fills_if_that_was_new_before),
          TEST(test_job_memory__does_not_mix_shares_of_two_ticks),
          TEST(test_job_memory__at_a_mark_counts_what_grew_after_the_last_tick),
          TEST(test_job_memory__at_a_mark_follows_the_largest_process_of_a_group),
          TEST(test_job_memory__at_a_mark_knows_heap_from_files_by_page_faults),
          TEST(test_job_memory__between_counts_a_mark_that_is_read_late),
          TEST(test_job_memory__between_leaves_out_a_mark_from_before_the_job),
          TEST(test_job_memory__counts_what_is_freed_while_the_group_is_read),
          TEST(test_job_memory__does_not_add_a_mark_of_before_to_what_others_have_now),
          TEST(test_job_memory__between_two_ticks_counts_what_others_had_at_both),
          TEST(test_job_memory__between_counts_no_shared_memory_that_others_have),
          TEST(test_job_memory__between_counts_shared_memory_that_is_new),
          TEST(test_job_memory__follows_what_is_freed),
          TEST(test_job_memory__counts_no_more_shared_memory_than_the_machine_has),
          TEST(test_job_memory__of_no_processes_is_nothing))
