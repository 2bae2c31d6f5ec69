/* SPDX-License-Identifier: MIT */
#include "probe/tasks/command_cache.h"

#include "kernel/hidepid.h"
#include "kernel/kernel_file.h"
#include "model/process_slots.h"
#include "fake_machine.h"

static struct command_cache *open_commands(const struct tree *t)
{
	return command_cache_new(t->env.reader, 0);
}

/* A scan that sees one process, and what the cache has of it; valid until the next call. */
static const char *command_of(struct command_cache *c, struct sample *s, struct proc_id id,
                              const char *comm, uint64_t exec_id)
{
	static char text[COMMAND_MAX + 1];
	struct proc_sample *p;

	sample_reset(s);
	p = sample_add_proc(s);
	assert_non_null(p);
	p->id = id;
	p->state = 'S';
	snprintf(p->comm, sizeof p->comm, "%s", comm);
	readings_set(&p->r, PROC_VMS, 4096);
	p->exec_id = exec_id;
	command_cache_fill(c, s, p);
	command_cache_end_tick(c, s);
	memcpy(text, s->text.at + p->command.at, p->command.len);
	text[p->command.len] = '\0';
	return text;
}

static void test_command_cache__reads_once_per_program(void **state)
{
	struct tree t = tree_new();
	struct sample s = { 0 };
	struct proc_id id = { 7, 100 };
	struct command_cache *c;

	(void)state;
	tree_write(&t, "proc/7/cmdline", "one\0x\0", 6);
	c = open_commands(&t);
	assert_string_equal(command_of(c, &s, id, "one", 5), "one x");
	tree_write(&t, "proc/7/cmdline", "two\0", 4);
	assert_string_equal(command_of(c, &s, id, "one", 5),
	                    "one x"); /* the same program: not asked again */
	assert_string_equal(command_of(c, &s, id, "one", 0), "one x"); /* not known is no change */
	assert_string_equal(command_of(c, &s, id, "one", 6), "two");   /* another exec */
	tree_write(&t, "proc/7/cmdline", "three\0", 6);
	assert_string_equal(command_of(c, &s, id, "new", 6), "three"); /* another name */
	tree_write(&t, "proc/7/cmdline", "four\0", 5);
	id.start_ticks = 101;
	assert_string_equal(command_of(c, &s, id, "new", 6),
	                    "four"); /* another process with the same pid */
	command_cache_free(c);
	sample_done(&s);
	tree_remove(&t);
}

static void test_command_cache__hides_secrets_before_they_are_kept(void **state)
{
	struct tree t = tree_new();
	struct sample s = { 0 };
	struct command_cache *c;

	(void)state;
	tree_write(&t, "proc/7/cmdline", "x\0--password\0canary\0", 20);
	c = open_commands(&t);
	assert_string_equal(command_of(c, &s, (struct proc_id){ 7, 1 }, "x", 1),
	                    "x --password ***");
	assert_null(memmem(s.text.at, s.text.len, "canary", 6));
	command_cache_free(c);
	sample_done(&s);
	tree_remove(&t);
}

static void test_command_cache__asks_again_when_an_exec_was_caught_half_way(void **state)
{
	struct tree t = tree_new();
	struct sample s = { 0 };
	struct proc_id id = { 7, 100 };
	struct command_cache *c;

	(void)state;
	tree_puts(&t, "proc/7/cmdline", "");
	c = open_commands(&t);
	assert_string_equal(command_of(c, &s, id, "sh", 5), "[sh]");
	tree_write(&t, "proc/7/cmdline", "sh\0-c\0", 6);
	assert_string_equal(command_of(c, &s, id, "sh", 5), "sh -c");
	command_cache_free(c);
	sample_done(&s);
	tree_remove(&t);
}

static void test_command_cache__gives_up_on_a_process_that_wiped_its_arguments(void **state)
{
	struct tree t = tree_new();
	struct sample s = { 0 };
	struct proc_id id = { 7, 100 };
	struct command_cache *c;

	(void)state;
	tree_puts(&t, "proc/7/cmdline", "");
	c = open_commands(&t);
	for (int i = 0; i < 5; i++)
		assert_string_equal(command_of(c, &s, id, "sh", 5), "[sh]");
	tree_write(&t, "proc/7/cmdline", "late\0", 5);
	assert_string_equal(command_of(c, &s, id, "sh", 5), "[sh]");
	command_cache_free(c);
	sample_done(&s);
	tree_remove(&t);
}

/* The cache's answer for every `step`th of a crowd, each with a command line of its own. */
static void check_crowd(struct command_cache *c, struct sample *s, int n, int step)
{
	sample_reset(s);
	for (int i = 0; i < n; i += step) {
		struct proc_sample *p = sample_add_proc(s);

		p->id = (struct proc_id){ 100 + i, 9 };
		p->state = 'S';
		snprintf(p->comm, sizeof p->comm, "c%d", i);
		readings_set(&p->r, PROC_VMS, 0); /* a kernel thread: asked once */
		p->exec_id = 1;
		command_cache_fill(c, s, p);
	}
	command_cache_end_tick(c, s);
	vec_each(&s->procs, p) {
		char right[COMM_LEN + 2];

		snprintf(right, sizeof right, "[%s]", p->comm);
		assert_int_equal(p->command.len, strlen(right));
		assert_memory_equal(s->text.at + p->command.at, right, p->command.len);
	}
}

static void test_command_cache__is_right_for_remaining_processes_when_a_crowd_ends(void **state)
{
	struct tree t = tree_new();
	struct sample s = { 0 };
	struct command_cache *c;

	(void)state;
	tree_puts(&t, "proc/version", "");
	c = open_commands(&t);
	for (int round = 0; round < 2; round++) {
		check_crowd(c, &s, 3000, 1);
		for (int i = 0; i < 4; i++)
			check_crowd(c, &s, 3000, 700);
	}
	command_cache_free(c);
	sample_done(&s);
	tree_remove(&t);
}

static void count_release(void *entry)
{
	**(int **)entry += 1;
}

static void see_every(struct process_slots *slots, int *released, int n, int step)
{
	for (int i = 0; i < n; i += step) {
		int **entry = process_slots_see(slots, (struct proc_id){ 100 + i, 1 });

		assert_true(!*entry || *entry == released);
		*entry = released;
	}
	process_slots_end_tick(slots);
}

static void test_process_slots__forget_a_crowd_that_is_gone(void **state)
{
	int released = 0;
	struct process_slots slots = { .entry_bytes = sizeof(int *), .release = count_release };

	(void)state;
	see_every(&slots, &released, 5000, 1);
	see_every(&slots, &released, 5000, 500);
	assert_int_equal(released, 0); /* it may come back */
	see_every(&slots, &released, 5000, 500);
	assert_int_equal(released, 4990);
	assert_int_equal(slots.all.len, 10);
	assert_true(slots.all.cap <= VEC_SMALL && slots.index.cap <= 1024);
	assert_non_null(process_slots_find(&slots, (struct proc_id){ 600, 1 }));
	assert_null(process_slots_find(&slots, (struct proc_id){ 600, 2 })); /* another life */
	assert_null(process_slots_find(&slots, (struct proc_id){ 601, 1 }));
	process_slots_done(&slots);
	assert_int_equal(released, 5000);
}

static void test_hidepid__knows_the_words_of_old_and_new_kernels(void **state)
{
	static const struct {
		const char *options;
		bool is_set;
	} cases[] = { { "rw", false },
		      { "rw,hidepid=0", false },
		      { "rw,hidepid=off", false },
		      { "rw,hidepid=1", true },
		      { "rw,hidepid=2", true },
		      { "rw,gid=4,hidepid=invisible", true },
		      { "rw,hidepid=ptraceable", true } };
	char text[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(text, sizeof text,
		         "22 27 0:21 / /proc rw,relatime shared:5 - proc proc %s\n",
		         cases[i].options);
		assert_int_equal(hidepid_parse_mountinfo(scan_str(text)).is_set, cases[i].is_set);
	}
	/* Another proc, mounted elsewhere, hides nothing from us; a later one on the same place
	 * covers the first. */
	assert_false(hidepid_parse_mountinfo(
			     scan_str("9 1 0:9 / /jail/proc rw - proc proc rw,hidepid=2\n"))
	                     .is_set);
	assert_false(
		hidepid_parse_mountinfo(scan_str("22 27 0:21 / /proc rw - proc proc rw,hidepid=2\n"
	                                         "99 27 0:22 / /proc rw - proc proc rw\n"))
			.is_set);
}

static void test_hidepid__lets_tracers_and_members_of_the_group_pass(void **state)
{
	struct hidepid plain = { .is_set = true },
		       grouped = { .is_set = true, .has_gid = true, .gid = 27 };
	const char *user =
		"Gid:\t1000\t1000\t1000\t1000\nGroups:\t4 27 \nCapEff:\t0000000000000000\n";

	(void)state;
	assert_false(hidepid_lets_pass(scan_str(user), &plain));
	assert_true(hidepid_lets_pass(scan_str(user), &grouped));
	assert_true(hidepid_lets_pass(scan_str("CapEff:\t000001fffeffffff\n"), &plain));
	assert_false(hidepid_lets_pass(scan_str(""), &grouped));
}

static void test_kfile__reads_more_than_a_page_and_stops_at_the_ceiling(void **state)
{
	struct tree t = tree_new();
	struct buf b = { .max = 64 << 10 };
	char *big = calloc(1, 100 << 10);

	(void)state;
	memset(big, 'x', 100 << 10);
	tree_write(&t, "some", big, 50 << 10);
	assert_int_equal(kernel_file_load(t.env.root_fd, "some", &b), 0);
	assert_int_equal(b.len, 50 << 10);
	tree_write(&t, "some", big, 100 << 10);
	assert_int_equal(kernel_file_load(t.env.root_fd, "some", &b), -EFBIG);
	assert_int_equal(kernel_file_load(t.env.root_fd, "none", &b), -ENOENT);
	buf_done(&b);
	free(big);
	tree_remove(&t);
}

RUN_TESTS(TEST(test_command_cache__reads_once_per_program),
          TEST(test_command_cache__hides_secrets_before_they_are_kept),
          TEST(test_command_cache__asks_again_when_an_exec_was_caught_half_way),
          TEST(test_command_cache__gives_up_on_a_process_that_wiped_its_arguments),
          TEST(test_command_cache__is_right_for_remaining_processes_when_a_crowd_ends),
          TEST(test_process_slots__forget_a_crowd_that_is_gone),
          TEST(test_hidepid__knows_the_words_of_old_and_new_kernels),
          TEST(test_hidepid__lets_tracers_and_members_of_the_group_pass),
          TEST(test_kfile__reads_more_than_a_page_and_stops_at_the_ceiling))
