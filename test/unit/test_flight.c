/* SPDX-License-Identifier: MIT */
#include "model/flight.h"

#include <linux/futex.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "check.h"

#define TYPE_OF(mode) ((uint8_t)((mode) >> 12))

static struct flight_call call_of(long number, int64_t result)
{
	return (struct flight_call){ .entered_ns = 1000,
		                     .left_ns = 1500,
		                     .call = (syscall_id)number,
		                     .tid = 7,
		                     .result = result };
}

static void set_text(struct flight_call *c, const char *text, const char *more)
{
	c->text_len = (uint8_t)strlen(text);
	memcpy(c->text, text, c->text_len);
	c->more_len = (uint8_t)strlen(more);
	memcpy(c->text + c->text_len, more, c->more_len);
}

/* The text of the last one. */
static void assert_text(const struct flight_call *calls, size_t n, const char *text)
{
	cleanup(buf_done) struct buf out = { 0 }, expected = { 0 };
	struct json j = { .out = &out }, k = { .out = &expected };

	flight_json(&j, calls, n, false, 0);
	json_str(&k, text);
	buf_puts(&expected, "]]");
	assert_true(out.len > expected.len);
	assert_string_equal(out.at + out.len - expected.len, expected.at);
}

static void assert_call(const struct flight_call *c, const char *text)
{
	assert_text(c, 1, text);
}

/* These have no mode of access, so that 0 is not O_RDONLY. */
static void test_text__has_no_mode_of_access_where_there_is_none(void **state)
{
	struct flight_call c = call_of(SYS_pipe2, 0);

	c.args[0] = 0x1000;
	assert_call(&c, "pipe2(..., 0) = 0");
	c.args[1] = O_CLOEXEC | O_NONBLOCK;
	assert_call(&c, "pipe2(..., O_NONBLOCK|O_CLOEXEC) = 0");
	c = call_of(SYS_dup3, 7);
	c.args[0] = 3;
	c.args[1] = 7;
	c.args[2] = O_CLOEXEC;
	assert_call(&c, "dup3(3, 7, O_CLOEXEC) = 7");
}

static void test_text__has_the_path_and_the_names_of_flags(void **state)
{
	struct flight_call c = call_of(SYS_openat, -ENOENT);

	c.args[0] = (uint64_t)AT_FDCWD;
	c.args[2] = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
	c.args[3] = 0644;
	set_text(&c, "/nowhere/at all", "");
	assert_call(&c, "openat(AT_FDCWD, \"/nowhere/at all\", O_WRONLY|O_CREAT|O_TRUNC|O_CLOEXEC, "
	                "0644) = -1 ENOENT");
	c.args[2] = O_RDONLY;
	c.result = 3;
	assert_call(&c, "openat(AT_FDCWD, \"/nowhere/at all\", O_RDONLY) = 3");
}

static void test_text__of_two_paths_has_both(void **state)
{
	struct flight_call c = call_of(SYS_rename, 0);

	set_text(&c, "old", "new");
	c.more_is_cut = true;
	assert_call(&c, "rename(\"old\", \"new\"...) = 0");
	c.more_is_unread = true;
	c.args[1] = 0xdead;
	assert_call(&c, "rename(\"old\", 0xdead) = 0");
}

static void test_path__is_escaped_and_cut_after_a_whole_character(void **state)
{
	struct flight_call c = call_of(SYS_chdir, 0);

	set_text(&c, "a\x1b[31m\"\\\n\xff\xc3\xa4", "");
	assert_call(&c, "chdir(\"a\\x1b[31m\\\"\\\\\\n\\xff\xc3\xa4\") = 0");
	set_text(&c, "ab\xc3", "");
	c.path_is_cut = true;
	assert_call(&c, "chdir(\"ab\"...) = 0");
}

static void test_path__that_could_not_be_read_is_an_address(void **state)
{
	struct flight_call c = call_of(SYS_chdir, -EFAULT);

	c.path_is_unread = true;
	assert_call(&c, "chdir(NULL) = -1 EFAULT");
	c.args[0] = 0x10;
	assert_call(&c, "chdir(0x10) = -1 EFAULT");
}

static void test_text__names_signals_sizes_and_other_flags(void **state)
{
	struct flight_call c = call_of(SYS_tgkill, 0);

	c.args[0] = c.args[1] = 4711;
	c.args[2] = SIGABRT;
	assert_call(&c, "tgkill(4711, 4711, SIGABRT) = 0");
	c = call_of(SYS_mmap, 0x7f0000001000);
	c.args[1] = 8192;
	c.args[2] = PROT_READ | PROT_WRITE;
	c.args[3] = MAP_PRIVATE | MAP_ANONYMOUS;
	c.args[4] = (uint64_t)-1;
	assert_call(&c,
	            "mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = "
	            "0x7f0000001000");
	c = call_of(SYS_futex, -EAGAIN);
	c.args[0] = 0x1000;
	c.args[1] = FUTEX_WAIT | FUTEX_PRIVATE_FLAG;
	c.args[2] = 2;
	assert_call(&c, "futex(0x1000, FUTEX_WAIT_PRIVATE, 2) = -1 EAGAIN");
	c = call_of(SYS_socket, 5);
	c.args[0] = AF_INET6;
	c.args[1] = SOCK_STREAM | SOCK_CLOEXEC;
	assert_call(&c, "socket(AF_INET6, SOCK_STREAM|SOCK_CLOEXEC, 0) = 5");
	c = call_of(SYS_newfstatat, 0);
	c.args[0] = 3;
	c.args[2] = 1;
	c.args[3] = AT_EMPTY_PATH | 0x80000000;
	assert_call(&c, "newfstatat(3, \"\", ..., AT_EMPTY_PATH|0x80000000) = 0");
	c = call_of(SYS_mprotect, 0);
	assert_call(&c, "mprotect(NULL, 0, PROT_NONE) = 0");
	c = call_of(SYS_lseek, 0);
	c.args[1] = (uint64_t)-10;
	c.args[2] = 9;
	assert_call(&c, "lseek(0, -10, 0x9) = 0");
	c = call_of(60000, -ENOSYS);
	assert_call(&c, "syscall_60000(...) = -1 ENOSYS");
}

static struct flight_call read_of(uint64_t file, mode_t type, const char *name)
{
	struct flight_call c = call_of(SYS_read, 1);

	c.args[0] = file;
	c.args[1] = 0x1000;
	c.args[2] = 512;
	c.file_type = TYPE_OF(type);
	c.file_inode = 99;
	set_text(&c, name, "");
	return c;
}

static void test_file__is_shown_as_what_it_is(void **state)
{
	struct flight_call c = read_of(0, S_IFIFO, "");

	assert_call(&c, "read(0<pipe:[99]>, ..., 512) = 1");
	c = read_of(0, S_IFIFO, "/tmp/fifo");
	assert_call(&c, "read(0</tmp/fifo>, ..., 512) = 1");
	c = read_of(0, S_IFSOCK, "TCP");
	assert_call(&c, "read(0<socket:[99]>, ..., 512) = 1");
	c = read_of(0, S_IFREG, "[eventfd]");
	assert_call(&c, "read(0<anon_inode:[eventfd]>, ..., 512) = 1");
	c = read_of(0, S_IFREG, "rest/of a path");
	c.name_is_cut = true;
	assert_call(&c, "read(0<...rest/of a path>, ..., 512) = 1");
	c.file_type = 0;
	assert_call(&c, "read(0, ..., 512) = 1");
}

static void assert_address(const void *address, size_t len, const char *text)
{
	struct flight_call c = call_of(SYS_connect, -ECONNREFUSED);

	c.args[0] = 3;
	c.args[1] = 0x1000;
	c.args[2] = len;
	c.text_is_address = true;
	c.text_len = (uint8_t)len;
	memcpy(c.text, address, len);
	assert_call(&c, text);
}

static void test_address__of_a_socket_is_decoded(void **state)
{
	struct sockaddr_in inet = { .sin_family = AF_INET, .sin_port = htons(5432) };
	struct sockaddr_in6 inet6 = { .sin6_family = AF_INET6, .sin6_port = htons(80) };
	struct sockaddr_un local = { .sun_family = AF_UNIX, .sun_path = "/run/\x1bx" };

	inet.sin_addr.s_addr = htonl(0x0a000001);
	inet6.sin6_addr.s6_addr[15] = 1;
	assert_address(&inet, sizeof inet, "connect(3, 10.0.0.1:5432, 16) = -1 ECONNREFUSED");
	assert_address(&inet, 3, "connect(3, ..., 3) = -1 ECONNREFUSED");
	assert_address(&inet6, sizeof inet6, "connect(3, [::1]:80, 28) = -1 ECONNREFUSED");
	assert_address(&local, sizeof local, "connect(3, \"/run/\\x1bx\", 110) = -1 ECONNREFUSED");
	local.sun_path[0] = '\0';
	assert_address(&local, 6, "connect(3, @\"run\", 6) = -1 ECONNREFUSED");
	assert_address(&local, 2, "connect(3, ..., 2) = -1 ECONNREFUSED");
}

/* The kernel names the file that has the number at the end. */
static void test_file__that_was_closed_since_is_not_taken_for_its_successor(void **state)
{
	struct flight_call calls[] = { read_of(3, S_IFREG, "/second"), call_of(SYS_close, 0),
		                       call_of(SYS_openat, 3), read_of(3, S_IFREG, "/second") };

	calls[1].args[0] = 3;
	calls[1].file_type = TYPE_OF(S_IFREG);
	set_text(&calls[1], "/first", "");
	set_text(&calls[2], "second", "");
	calls[2].args[0] = (uint64_t)AT_FDCWD;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		calls[i].entered_ns = i;
	assert_text(calls, 4, "read(3</second>, ..., 512) = 1");
	cleanup(buf_done) struct buf out = { 0 };
	flight_json(&(struct json){ .out = &out }, calls, 4, false, 0);
	assert_non_null(strstr(out.at, "read(3</first>, ..., 512) = 1"));
	assert_non_null(strstr(out.at, "close(3</first>) = 0"));
}

static void test_file__that_dup2_replaced_is_not_known_before(void **state)
{
	struct flight_call calls[] = { read_of(1, S_IFREG, "/later"), call_of(SYS_dup2, 1) };
	cleanup(buf_done) struct buf out = { 0 };

	calls[1].args[0] = 4;
	calls[1].args[1] = 1;
	flight_json(&(struct json){ .out = &out }, calls, 2, false, 0);
	assert_non_null(strstr(out.at, "read(1, ..., 512) = 1"));
}

static void test_call__that_did_not_return_is_unfinished(void **state)
{
	struct flight_call calls[] = { call_of(SYS_read, 0), call_of(SYS_exit_group, 0) };

	calls[0].left_ns = 0;
	calls[0].args[1] = 1;
	assert_text(calls, 1, "read(0, ..., 0 <unfinished>");
	calls[0].left_ns = 2000; /* the signal that killed it ended the call */
	calls[0].result = -512;
	assert_text(calls, 1, "read(0, ..., 0 <unfinished>");
	calls[1].left_ns = 0;
	calls[1].args[0] = 3;
	assert_text(calls, 2, "exit_group(3) = ?");
	cleanup(buf_done) struct buf out = { 0 };
	flight_json(&(struct json){ .out = &out }, calls, 2, false, 0);
	assert_non_null(strstr(out.at, "read(0, ..., 0) = ? ERESTARTSYS"));
}

static void test_json__has_times_results_and_what_is_missing(void **state)
{
	struct flight_call c = call_of(SYS_getpid, 7);
	cleanup(buf_done) struct buf out = { 0 };

	flight_json(&(struct json){ .out = &out }, &c, 1, true, 1000000);
	assert_string_equal(out.at, "[[1001000,null,null,null,null,null,"
	                            "\"(some calls are missing: there was no memory for them)\"],"
	                            "[1001000,500,7,\"getpid\",7,null,\"getpid() = 7\"]]");
}

static void test_select__keeps_the_last_calls_and_those_that_threads_wait_in(void **state)
{
	struct flight_call calls[10];

	for (size_t i = 0; i < 10; i++) {
		calls[i] = call_of(SYS_getpid, (int64_t)i);
		calls[i].entered_ns = 9 - i; /* the pages of threads come in any order */
	}
	calls[9] = call_of(SYS_futex, 0);
	calls[9].entered_ns = 0;
	calls[9].left_ns = 0;
	calls[9].tid = 8;
	assert_int_equal(flight_keep(calls, 10, 3), 4);
	assert_int_equal(calls[0].call, SYS_futex);
	assert_int_equal(calls[1].entered_ns, 7);
	assert_int_equal(calls[3].entered_ns, 9);
	assert_int_equal(flight_keep(calls, 4, 64), 4);
	assert_int_equal(flight_keep(NULL, 0, 64), 0);
}

static void test_signatures__are_in_order_and_can_be_found(void **state)
{
	const struct syscall_signature *s = syscall_signature_find("linkat");

	assert_non_null(s);
	assert_int_equal(syscall_signature_position(s, SYSCALL_ARG_PATH, 0), 2);
	assert_int_equal(syscall_signature_position(s, SYSCALL_ARG_PATH, 1), 4);
	assert_int_equal(syscall_signature_position(s, SYSCALL_ARG_PATH, 2), 0);
	assert_int_equal(syscall_signature_file(s), 1);
	assert_int_equal(syscall_signature_file(syscall_signature_find("mmap")), 5);
	assert_true(syscall_signature_closes(syscall_signature_find("close")));
	assert_non_null(syscall_signature_find("accept"));
	assert_non_null(syscall_signature_find("writev"));
	assert_null(syscall_signature_find("no such call"));
	assert_ptr_equal(syscall_signature_of(SYSCALL_NATIVE, SYS_openat),
	                 syscall_signature_find("openat"));
#ifdef __x86_64__
	assert_ptr_equal(syscall_signature_of(SYSCALL_IA32, 5), syscall_signature_find("open"));
#endif
}

RUN_TESTS(TEST(test_text__has_the_path_and_the_names_of_flags),
          TEST(test_text__has_no_mode_of_access_where_there_is_none),
          TEST(test_text__of_two_paths_has_both),
          TEST(test_path__is_escaped_and_cut_after_a_whole_character),
          TEST(test_path__that_could_not_be_read_is_an_address),
          TEST(test_text__names_signals_sizes_and_other_flags),
          TEST(test_file__is_shown_as_what_it_is), TEST(test_address__of_a_socket_is_decoded),
          TEST(test_file__that_was_closed_since_is_not_taken_for_its_successor),
          TEST(test_file__that_dup2_replaced_is_not_known_before),
          TEST(test_call__that_did_not_return_is_unfinished),
          TEST(test_json__has_times_results_and_what_is_missing),
          TEST(test_select__keeps_the_last_calls_and_those_that_threads_wait_in),
          TEST(test_signatures__are_in_order_and_can_be_found))
