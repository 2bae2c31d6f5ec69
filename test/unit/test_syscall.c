/* SPDX-License-Identifier: MIT */
#include "model/syscall.h"

#include <errno.h>
#include <sys/syscall.h>

#include "check.h"

static void add(struct syscall_counts *c, syscall_id call, uint32_t error, uint64_t count,
                uint64_t ns)
{
	assert_true(syscall_counts_add(
		c,
		&(struct syscall_count){ .call = call, .error = error, .count = count, .ns = ns }));
}

static void test_syscall__is_named_as_in_the_headers(void **state)
{
	char name[SYSCALL_NAME_MAX];

	(void)state;
	syscall_name(SYS_openat, name);
	assert_string_equal(name, "openat");
	syscall_name(SYS_exit_group, name);
	assert_string_equal(name, "exit_group");
	syscall_name(60000, name);
	assert_string_equal(name, "syscall_60000");
}

static void test_syscall__of_another_abi_is_the_native_one_of_that_name(void **state)
{
	char name[SYSCALL_NAME_MAX];

	(void)state;
#ifdef __x86_64__
	assert_int_equal(syscall_id_of(SYSCALL_IA32, 5), SYS_open);
	assert_int_equal(syscall_id_of(SYSCALL_X32, 0), SYS_read);
	syscall_name(syscall_id_of(SYSCALL_IA32, 102), name);
	assert_string_equal(name, "socketcall"); /* there is none of that name */
#else
	syscall_name(syscall_id_of(SYSCALL_IA32, 5), name);
	assert_string_equal(name, "syscall_5");
#endif
}

static void test_errors__have_the_names_that_programs_and_strace_use(void **state)
{
	char name[SYSCALL_ERROR_MAX];

	(void)state;
	syscall_error_name(ENOENT, name);
	assert_string_equal(name, "ENOENT");
	syscall_error_name(512, name);
	assert_string_equal(name, "ERESTARTSYS");
	syscall_error_name(4000, name);
	assert_string_equal(name, "errno_4000");
}

static void test_counts__add_up_and_stay_in_order(void **state)
{
	struct syscall_counts c = { 0 };

	(void)state;
	add(&c, 7, 0, 2, 100);
	add(&c, 3, 0, 1, 10);
	add(&c, 3, ENOENT, 1, 0);
	add(&c, 7, 0, 5, 1);
	assert_int_equal(c.list.len, 3);
	assert_int_equal(c.list.at[0].call, 3);
	assert_int_equal(c.list.at[0].error, 0);
	assert_int_equal(c.list.at[1].error, ENOENT);
	assert_int_equal(c.list.at[2].count, 7);
	assert_int_equal(c.list.at[2].ns, 101);
	syscall_counts_done(&c);
}

static void assert_json(void (*put)(struct json *, const struct syscall_count *, size_t),
                        const struct syscall_counts *c, const char *text)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };

	put(&j, c->list.at, c->list.len);
	buf_putc(&out, 0);
	assert_string_equal(out.at, text);
	buf_done(&out);
}

static void test_json__has_calls_time_and_errors(void **state)
{
	struct syscall_counts c = { 0 };

	(void)state;
	assert_json(syscall_counts_json_shares, &c, "{}");
	add(&c, SYS_close, 0, 3, 750);
	add(&c, SYS_close, EBADF, 2, 0);
	add(&c, SYS_close, EINTR, 1, 0);
	add(&c, SYS_getppid, 0, 1, 250);
	assert_json(syscall_counts_json, &c,
	            "{\"close\":[3,750,{\"EINTR\":1,\"EBADF\":2}],\"getppid\":[1,250]}");
	assert_json(syscall_counts_json_calls, &c, "{\"close\":3,\"getppid\":1}");
	assert_json(syscall_counts_json_shares, &c, "{\"close\":75.0,\"getppid\":25.0}");
	syscall_counts_done(&c);
}

static void test_hotspot__is_where_most_of_the_time_went(void **state)
{
	struct syscall_counts c = { 0 };
	syscall_id call;
	double share;

	(void)state;
	assert_false(syscall_counts_hotspot(NULL, 0, &call, &share));
	add(&c, SYS_close, 0, 1000, 100);
	add(&c, SYS_getppid, 0, 1, 300);
	assert_true(syscall_counts_hotspot(c.list.at, c.list.len, &call, &share));
	assert_int_equal(call, SYS_getppid);
	assert_true(share == 0.75);
	syscall_counts_done(&c);
}

RUN_TESTS(TEST(test_syscall__is_named_as_in_the_headers),
          TEST(test_syscall__of_another_abi_is_the_native_one_of_that_name),
          TEST(test_errors__have_the_names_that_programs_and_strace_use),
          TEST(test_counts__add_up_and_stay_in_order), TEST(test_json__has_calls_time_and_errors),
          TEST(test_hotspot__is_where_most_of_the_time_went))
