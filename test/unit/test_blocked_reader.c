/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "kernel/blocked_reader.h"
#include "kernel/blocked_target.h"
#include "kernel/socket_peer.h"
#include "check.h"

static void test_blocked_reader_parse__finds_the_call_and_its_arguments(void **state)
{
	struct blocked_args a;

	(void)state;
	assert_true(blocked_reader_parse(
		scan_str("0 0x3 0x7ffd2f0a 0x1 0x0 0x0 0x7f 0x7ffd2f0a1b60 0x7f3a5d4b0992\n"), &a));
	assert_int_equal(a.abi, SYSCALL_NATIVE);
	assert_int_equal(a.number, 0);
	assert_int_equal(a.args[0], 3);
	assert_int_equal(a.args[5], 0x7f);
}

static void test_blocked_reader_parse__knows_programs_of_32_bits(void **state)
{
	struct blocked_args a;

	(void)state;
	assert_true(blocked_reader_parse(
		scan_str("162 0xff9c 0x0 0x0 0x0 0x0 0x0 0xff9c0d40 0xf7f1a579\n"), &a));
	assert_int_equal(a.abi, SYSCALL_IA32);
	assert_true(blocked_reader_parse(
		scan_str("1073741824 0x0 0x0 0x0 0x0 0x0 0x0 0xff9c0d40 0xf7f1a579\n"), &a));
	assert_int_equal(a.abi, SYSCALL_X32);
	assert_int_equal(a.number, 0);
}

static void test_blocked_reader_parse__refuses_what_is_no_call(void **state)
{
	static const char *const texts[] = { "", "running\n", "-1 0x7ffd 0x7f3a\n", "0 0x3 0x7\n",
		                             "0 1 2 3 4 5 6 7 8\n" };
	struct blocked_args a;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_false(blocked_reader_parse(scan_str(texts[i]), &a));
}

static void test_blocked_reader_parse_sched__finds_when_it_ran_last(void **state)
{
	uint64_t ns = 7;

	(void)state;
	assert_true(blocked_reader_parse_sched(
		scan_str("sleep (6901, #threads: 1)\n-----\n"
	                 "se.exec_start                  :      59457382.393648\n"),
		&ns));
	assert_int_equal(ns, 59457382393648);
	assert_false(blocked_reader_parse_sched(scan_str("se.exec_start\n"), &ns));
	assert_false(blocked_reader_parse_sched(scan_str(""), &ns));
}

static void test_blocked_target_parse__lists_the_files_of_poll_select_and_epoll(void **state)
{
	const struct pollfd polled[] = { { .fd = -1 }, { .fd = 7, .events = POLLOUT }, { .fd = 9 } };
	const struct scan sets[3] = { scan_mem("\x08\x02", 2), scan_mem("\x08", 1), scan_mem("", 0) };
	struct blocked_files f;

	(void)state;
	blocked_target_parse_poll(scan_mem((const char *)polled, sizeof polled), &f);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.fds[0], 7);
	assert_true(f.writes);
	blocked_target_parse_sets(sets, 10, &f);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.fds[0], 3);
	assert_int_equal(f.fds[1], 9);
	assert_false(f.writes);
	blocked_target_parse_sets(sets, 9, &f);
	assert_int_equal(f.n, 1);
	blocked_target_parse_epoll(scan_str("pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t42\n"
	                                    "tfd:        5 events:       19 data:                5  pos:0 ino:2a sdev:f\n"
	                                    "tfd:        6 events:        4 data:                6  pos:0 ino:2b sdev:f\n"),
	                           &f);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.fds[1], 6);
}

static void test_blocked_target_parse_maps__finds_the_same_memory_at_another_address(void **state)
{
	static const char ours[] = "55d0c4a00000-55d0c4a01000 rw-p 00000000 08:01 77    /bin/x\n"
				   "7f0000000000-7f0000003000 rw-s 00002000 00:01 12345 /dev/zero (deleted)\n";
	struct blocked_mapping m;

	(void)state;
	assert_true(blocked_target_parse_maps(scan_str(ours), 0x7f0000001008, &m));
	assert_int_equal(m.offset, 0x3008);
	assert_false(blocked_target_parse_maps(scan_str(ours), 0x55d0c4a00010, &m)); /* private */
	assert_true(blocked_target_has_mapping(
		scan_str("7e0000000000-7e0000004000 rw-s 00000000 00:01 12345 /dev/zero\n"), &m));
	assert_false(blocked_target_has_mapping(
		scan_str("7f0000000000-7f0000003000 rw-s 00002000 00:01 12346 /dev/zero\n"), &m));
	assert_false(blocked_target_has_mapping(
		scan_str("7e0000000000-7e0000003000 rw-s 00000000 00:01 12345 /dev/zero\n"), &m));
}

#define HEAD                                                                                       \
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
#define REST " 01 00000000:00000000 00:00000000 00000000     0        0 "

static void test_socket_peer_parse__finds_the_address_and_the_other_end(void **state)
{
	static const char table[] = HEAD
		"   0: 0100007F:1F90 00000000:0000" REST "100 1 0000000000000000 100 0 0 10 0\n"
		"   1: 0100007F:A2C4 0100007F:1F90" REST "101 1 0000000000000000 20 4 30 10 -1\n"
		"   2: 0100007F:1F90 0100007F:A2C4" REST "102 1 0000000000000000 20 4 30 10 -1\n"
		"   3: 0A00020F:A2C4 0101A8C0:0050" REST "103 1 0000000000000000 20 4 30 10 -1\n";
	struct socket_peer p;

	(void)state;
	assert_true(socket_peer_parse(scan_str(table), 101, &p));
	assert_string_equal(p.address, "127.0.0.1:8080");
	assert_int_equal(p.inode, 102);
	assert_false(p.is_own);
	assert_true(socket_peer_parse(scan_str(table), 103, &p));
	assert_string_equal(p.address, "192.168.1.1:80");
	assert_int_equal(p.inode, 0);
	assert_true(socket_peer_parse(scan_str(table), 100, &p)); /* it listens */
	assert_string_equal(p.address, "127.0.0.1:8080");
	assert_true(p.is_own && p.inode == 0);
	assert_false(socket_peer_parse(scan_str(table), 104, &p));
	assert_false(socket_peer_parse(scan_str(""), 0, &p));
}

static void test_socket_peer_parse__reads_long_addresses(void **state)
{
	static const char table[] = HEAD
		"   0: 00000000000000000000000001000000:1F90"
		" B80D01200000000000000000 01000000:0050" REST "7 1 0000000000000000 100\n"
		"   1: 00000000000000000000000001000000:1F90"
		" B80D0120000000000000000001000000:0050" REST "8 1 0000000000000000 100\n";
	struct socket_peer p;

	(void)state;
	assert_false(socket_peer_parse(scan_str(table), 7, &p));
	assert_true(socket_peer_parse(scan_str(table), 8, &p));
	assert_string_equal(p.address, "[2001:db8::1]:80");
}

/* Children that wait for a pipe, as long as we live; the last two have the other end, too. */
static void start_waiting(const int ends[2], struct proc_id *ids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char c;

		ids[i] = (struct proc_id){ .pid = fork() };
		assert_true(ids[i].pid >= 0);
		if (ids[i].pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (i + 2 < n)
			close(ends[1]);
		_exit(read(ends[0], &c, 1) < 0);
	}
}

static bool has_no_writer(const struct blocked_call *b)
{
	return b->thing == BLOCKED_ON_PIPE && !b->peer;
}

static bool list_all(struct process_reader *r, const struct proc_id *ids, size_t n,
                     uint64_t patience_ns, struct blocked_calls *ret)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	vec_reset(&ret->list);
	return blocked_reader_list_all(r, root_fd, ids, n, has_no_writer, patience_ns, ret);
}

/* The writer itself reads from another one. */
static bool all_read_from(const struct blocked_calls *calls, pid_t writer)
{
	for (size_t i = 0; i < calls->list.len; i++)
		if (calls->list.at[i].thing != BLOCKED_ON_PIPE ||
		    (calls->list.at[i].peer != writer && calls->list.at[i].id.pid != writer))
			return false;
	return true;
}

#define MANY (BLOCKED_PROCESSES_MAX + 1)

static void test_blocked_reader_list_all__lists_nothing_unless_all_wait(void **state)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(process_reader_freep) struct process_reader *r = process_reader_new(root_fd);
	struct blocked_calls calls = { 0 };
	struct proc_id ids[MANY];
	cpu_set_t before, after;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	start_waiting(ends, ids, MANY - 1);
	ids[MANY - 1] = ids[0];
	assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
	for (int i = 0; i < 1500 && !(list_all(r, ids, MANY - 1, 10 * NS_PER_S, &calls) &&
	                              all_read_from(&calls, ids[MANY - 3].pid));
	     i++)
		usleep(20000); /* a process that has just started waits for its memory, too */
	assert_int_equal(calls.list.len, MANY - 1);
	assert_true(all_read_from(&calls, ids[MANY - 3].pid));
	assert_int_equal(calls.list.at[0].since_ns, 0);
	assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
	assert_memory_equal(&before, &after, sizeof before);
	assert_false(list_all(r, ids, MANY, 10 * NS_PER_S, &calls));
	assert_int_equal(calls.list.len, 0);
	assert_false(list_all(r, ids, MANY - 1, 0, &calls));
	assert_int_equal(calls.list.len, 0);
	assert_false(list_all(r, ids, MANY - 3, 10 * NS_PER_S, &calls)); /* none can write */
	close(ends[1]);
	kill(ids[MANY - 2].pid, SIGKILL);
	kill(ids[MANY - 3].pid, SIGKILL);
	for (size_t i = 0; i < MANY - 1; i++)
		assert_int_equal(waitpid(ids[i].pid, NULL, 0), ids[i].pid);
	assert_false(list_all(r, ids, 1, 10 * NS_PER_S, &calls));
	close(ends[0]);
	vec_done(&calls.list);
}

RUN_TESTS(TEST(test_blocked_reader_list_all__lists_nothing_unless_all_wait),
          TEST(test_blocked_reader_parse__finds_the_call_and_its_arguments),
          TEST(test_blocked_reader_parse__knows_programs_of_32_bits),
          TEST(test_blocked_reader_parse__refuses_what_is_no_call),
          TEST(test_blocked_reader_parse_sched__finds_when_it_ran_last),
          TEST(test_blocked_target_parse__lists_the_files_of_poll_select_and_epoll),
          TEST(test_blocked_target_parse_maps__finds_the_same_memory_at_another_address),
          TEST(test_socket_peer_parse__finds_the_address_and_the_other_end),
          TEST(test_socket_peer_parse__reads_long_addresses))
