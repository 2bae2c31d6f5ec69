/* SPDX-License-Identifier: MIT */
#include "rpc/rpc_server.h"

#include "rpc/rpc_client.h"
#include "rpc/rpc_frame.h"
#include "server_kit.h"

#define BIG ((size_t)4 << 20)

static int break_off(void *self, const struct rpc_server_peer *peer, const json_t *params,
                     struct json *result, struct err *err)
{
	(void)self, (void)peer, (void)params;
	json_begin_object(result); /* what was written before does not get out */
	return err_set(err, ENOENT, "there is no such thing");
}

static int big(void *self, const struct rpc_server_peer *peer, const json_t *params,
               struct json *result, struct err *err)
{
	char *text = xmalloc(BIG);

	(void)self, (void)peer, (void)params, (void)err;
	memset(text, 'b', BIG);
	json_strn(result, text, BIG);
	free(text);
	return 0;
}

static int too_big(void *self, const struct rpc_server_peer *peer, const json_t *params,
                   struct json *result, struct err *err)
{
	json_begin_array(result);
	for (size_t i = 0; i < RPC_SERVER_REPLY_MAX / BIG + 2; i++)
		(void)!big(self, peer, params, result, err);
	json_end_array(result);
	return 0;
}

/* The largest that there is, nearly. */
static int full(void *self, const struct rpc_server_peer *peer, const json_t *params,
                struct json *result, struct err *err)
{
	json_begin_array(result);
	for (size_t i = 0; i < RPC_SERVER_REPLY_MAX / BIG - 1; i++)
		(void)!big(self, peer, params, result, err);
	json_end_array(result);
	return 0;
}

static const struct rpc_server_method methods[] = {
	{ "echo", echo },
	{ "fail", break_off },
	{ "note", note },
	{ "look", note, .only_reads = true },
	{ "big", big, .only_reads = true },
	{ "full", full, .only_reads = true },
	{ "too_big", too_big, .only_reads = true },
	{ "feed", feed },
	{ "more", more },
	{ NULL },
};

static int setup(void **state)
{
	return fixture_open(methods, state);
}

static void test_rpc_server__answers_pipelined_calls_in_order_even_after_a_bad_one(void **state)
{
	struct fixture *fx = *state;

	assert_string_equal(
		answer_to(fx, CALL(1, "echo", "{\"text\":\"a\"}") "{broken\n" CALL(
				      2, "echo", "{\"text\":\"b\"}")),
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\"}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":"
		"\"invalid JSON, near byte 7\",\"data\":{\"code\":\"parse_error\"}}}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"b\"}\n");
}

static void test_rpc_server__returns_errors_of_the_table_and_of_methods(void **state)
{
	struct fixture *fx = *state;

	assert_string_equal(
		answer_to(fx, CALL(1, "fail", "{}") CALL(2, "nothing", "{}")),
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32002,\"message\":\"there is no "
		"such thing\",\"data\":{\"code\":\"not_found\"}}}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32601,\"message\":\"no method "
		"'nothing'\",\"data\":{\"code\":\"method_not_found\"}}}\n");
}

static void test_rpc_server__executes_a_notification_without_an_answer(void **state)
{
	struct fixture *fx = *state;

	assert_string_equal(answer_to(fx, "{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n"
	                                  "{\"jsonrpc\":\"2.0\",\"method\":\"nothing\"}\n"),
	                    "");
	assert_int_equal(fx->noted, 1);
}

static void test_rpc_server__does_not_execute_a_notification_that_only_reads(void **state)
{
	struct fixture *fx = *state;

	assert_string_equal(answer_to(fx, "{\"jsonrpc\":\"2.0\",\"method\":\"look\"}\n"), "");
	assert_int_equal(fx->noted, 0);
	assert_non_null(strstr(answer_to(fx, CALL(1, "look", "{}")), "\"result\":true"));
	assert_int_equal(fx->noted, 1);
}

static bool trusts_nobody(void *self, const struct rpc_server_peer *peer)
{
	(void)self, (void)peer;
	return false;
}

/* Those that have something to read within a moment. */
static unsigned count_answered(const int *fds, size_t n)
{
	struct pollfd polled[6] = { 0 };
	unsigned answered = 0;

	for (size_t i = 0; i < n; i++)
		polled[i] = (struct pollfd){ fds[i], POLLIN, 0 };
	(void)poll(polled, n, 1000);
	usleep(20000); /* others would have come, too */
	(void)poll(polled, n, 0);
	for (size_t i = 0; i < n; i++)
		answered += (polled[i].revents & POLLIN) != 0;
	return answered;
}

/* Six ask for 4 MiB each. The last one reads nothing before the others have read all. */
static void *read_one_after_another(void *self)
{
	struct fixture *fx = self;
	int fds[6];

	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		fds[i] = dial(fx);
		(void)!send(fds[i], CALL(1, "big", "{}"), strlen(CALL(1, "big", "{}")), 0);
		shutdown(fds[i], SHUT_WR);
	}
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		fx->code += count_answered(fds + i, ARRAY_LEN(fds) - i) == 1;
		buf_reset(&fx->answer);
		read_to_end(fds[i], &fx->answer);
		fx->code += fx->answer.len > BIG;
		close(fds[i]);
	}
	return client_ends(fx);
}

static void test_rpc_server__makes_large_answers_of_a_user_one_after_another(void **state)
{
	struct fixture *fx = *state;

	fx->options.trusts = trusts_nobody;
	run_with(fx, read_one_after_another);
	assert_int_equal(fx->code, 2 * 6);
}

/* One does not read; another one's large answer waits for that, its small one does not. */
static void *wait_for_one_that_does_not_read(void *self)
{
	struct fixture *fx = self;
	int slow = dial(fx), other = dial(fx);
	struct buf small = { 0 };

	(void)!send(slow, CALL(1, "big", "{}"), strlen(CALL(1, "big", "{}")), 0);
	(void)!recv(slow, &(char){ 0 }, 1, 0);
	(void)!send(other, CALL(1, "note", "{}"), strlen(CALL(1, "note", "{}")), 0);
	(void)read_lines_until(other, "}", &small);
	(void)!send(other, CALL(1, "big", "{}"), strlen(CALL(1, "big", "{}")), 0);
	shutdown(other, SHUT_WR);
	read_to_end(other, &fx->answer);
	buf_reset(&small);
	read_to_end(slow, &small);
	fx->code = (int)small.len;
	buf_done(&small);
	close(slow);
	close(other);
	return client_ends(fx);
}

static void test_rpc_server__disconnects_a_stranger_that_does_not_read_a_large_answer(void **state)
{
	struct fixture *fx = *state;

	fx->options.trusts = trusts_nobody;
	fx->options.large_answer_ns = 100 * NS_PER_MS;
	run_with(fx, wait_for_one_that_does_not_read);
	assert_int_equal(fx->noted, 1);
	assert_true(fx->answer.len > BIG);
	assert_in_range(fx->code, 1, BIG - 1);
}

static void test_rpc_server__skips_calls_whose_caller_is_gone(void **state)
{
	static const char text[] = CALL(1, "note",
	                                "{}") "{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n";
	struct fixture *fx = *state;
	int fd;

	serve(fx);
	fd = dial(fx); /* waits in the queue: the loop does not run yet */
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
	close(fd);
	answer_to(fx, CALL(2, "note", "{}"));
	assert_int_equal(fx->noted, 2); /* the notification, and the client that stayed */
	assert_int_equal(rpc_server_clients(fx->server), 0);
}

static void test_rpc_server__accepts_a_last_line_without_newline(void **state)
{
	struct fixture *fx = *state;

	assert_string_equal(answer_to(fx, "{\"jsonrpc\":\"2.0\",\"method\":\"note\"}"), "");
	assert_int_equal(fx->noted, 1);
	assert_string_equal(answer_to(fx, "\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\","
	                                  "\"params\":{\"text\":\"a\"}}"),
	                    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\"}\n");
	assert_string_equal(answer_to(fx, "{\"jsonrpc\":\"2.0\",\"meth"),
	                    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
	                    "\"message\":\"invalid JSON: incomplete, near byte 22\","
	                    "\"data\":{\"code\":\"parse_error\"}}}\n");
	assert_string_equal(answer_to(fx, " "), "");
}

static void test_rpc_server__answers_hundreds_of_calls_at_once(void **state)
{
	struct fixture *fx = *state;
	struct buf text = { 0 };
	size_t lines = 0;

	for (int i = 0; i < 1500; i++)
		buf_puts(&text, CALL(1, "note", "{}"));
	answer_to(fx, text.at);
	for (size_t i = 0; i < fx->answer.len; i++)
		lines += fx->answer.at[i] == '\n';
	assert_int_equal(fx->noted, 1500);
	assert_int_equal(lines, 1500);
	buf_done(&text);
}

static void test_rpc_server__sends_answers_larger_than_the_socket_buffer(void **state)
{
	struct fixture *fx = *state;

	answer_to(fx, CALL(1, "big", "{}") CALL(2, "big", "{}") CALL(3, "too_big", "{}"));
	assert_true(fx->answer.len > 2 * BIG && fx->answer.len < 2 * BIG + 1000);
	assert_non_null(strstr(fx->answer.at + 2 * BIG, "\"reply_too_large\""));
}

static void test_rpc_server__sends_one_large_answer_after_another(void **state)
{
	struct fixture *fx = *state;
	const size_t each = RPC_SERVER_REPLY_MAX - BIG;

	fx->answer.max = 5 * RPC_SERVER_REPLY_MAX;
	answer_to(fx, CALL(1, "full", "{}") CALL(2, "full", "{}") CALL(3, "full", "{}")
	                      CALL(4, "full", "{}"));
	assert_true(fx->answer.len > 4 * each && fx->answer.len < 4 * each + 1000);
}

static void *send_endless_line(void *self)
{
	struct fixture *fx = self;
	char chunk[4096];
	int fd = dial(fx);

	memset(chunk, ' ', sizeof chunk);
	for (size_t n = 0; n <= 2 * RPC_FRAME_MAX; n += sizeof chunk)
		if (send(fd, chunk, sizeof chunk, MSG_NOSIGNAL) < 0)
			break;
	read_to_end(fd, &fx->answer);
	close(fd);
	return client_ends(fx);
}

static void test_rpc_server__refuses_an_endless_line_and_disconnects(void **state)
{
	struct fixture *fx = *state;

	run_with(fx, send_endless_line);
	assert_non_null(strstr(fx->answer.at, "\"frame_too_long\""));
	assert_non_null(strstr(answer_to(fx, CALL(1, "echo", "{\"text\":\"a\"}")), "\"a\""));
}

static void *send_half_and_wait(void *self)
{
	struct fixture *fx = self;
	int fd = dial(fx);

	(void)!send(fd, "{\"id\"", 5, MSG_NOSIGNAL);
	read_to_end(fd, &fx->answer);
	close(fd);
	return client_ends(fx);
}

static void test_rpc_server__disconnects_a_client_that_stops_within_a_line(void **state)
{
	struct fixture *fx = *state;

	fx->options.half_line_ns = 100 * NS_PER_MS;
	run_with(fx, send_half_and_wait);
	assert_non_null(strstr(fx->answer.at, "\"frame_timeout\""));
	assert_int_equal(rpc_server_clients(fx->server), 0);
}

/* Asks and never reads; the server hangs up. */
static void *ask_and_not_read(void *self)
{
	struct fixture *fx = self;
	int fd = dial(fx);
	struct pollfd p = { .fd = fd, .events = 0 }; /* a hang-up is always reported */

	for (int i = 0; i < 3; i++)
		(void)!send(fd, CALL(1, "big", "{}"), strlen(CALL(1, "big", "{}")), MSG_NOSIGNAL);
	fx->code = poll(&p, 1, 10000) == 1 && (p.revents & POLLHUP);
	close(fd);
	return client_ends(fx);
}

static void test_rpc_server__disconnects_a_client_that_does_not_read(void **state)
{
	struct fixture *fx = *state;

	fx->options.slow_reader_ns = 100 * NS_PER_MS;
	run_with(fx, ask_and_not_read);
	assert_true(fx->code);
	assert_int_equal(rpc_server_clients(fx->server), 0);
}

/* ---- feeds ----------------------------------------------------------------------------------- */

/* One is fed and has ended its own words; another asks for more. */
static void *eat(void *self)
{
	struct fixture *fx = self;
	int eater = dial(fx), other = dial(fx);
	struct buf heard = { 0 };

	(void)!send(eater, CALL(1, "feed", "{}"), strlen(CALL(1, "feed", "{}")), 0);
	shutdown(eater, SHUT_WR);
	fx->code = (int)read_lines_until(eater, "\n20000", &fx->answer);
	(void)!send(other, CALL(1, "more", "{}"), strlen(CALL(1, "more", "{}")), 0);
	fx->code += (int)read_lines_until(eater, "\n20010", &fx->answer);
	(void)read_lines_until(other, "}", &heard);
	buf_done(&heard);
	close(eater);
	close(other);
	while (rpc_server_clients(fx->server))
		usleep(1000);
	return client_ends(fx);
}

static void test_rpc_server__feeds_a_subscriber_after_the_answer_and_when_woken(void **state)
{
	struct fixture *fx = *state;

	fx->feed_end = 20000; /* more than a socket holds */
	run_with(fx, eat);
	assert_int_equal(fx->code, 1 + 20010);
	assert_non_null(strstr(fx->answer.at, "\"result\":true}\n1\n2\n3\n"));
	assert_int_equal(fx->feeds, 0);
}

static void *be_fed_and_not_read(void *self)
{
	struct fixture *fx = self;
	int fd = dial(fx);
	char c;

	(void)!send(fd, CALL(1, "feed", "{}"), strlen(CALL(1, "feed", "{}")), 0);
	(void)!recv(fd, &c, 1, 0);
	while (rpc_server_clients(fx->server))
		usleep(1000);
	close(fd);
	return client_ends(fx);
}

static void test_rpc_server__disconnects_a_subscriber_that_does_not_read(void **state)
{
	struct fixture *fx = *state;

	fx->feed_end = 10000000;
	fx->options.slow_reader_ns = 100 * NS_PER_MS;
	run_with(fx, be_fed_and_not_read);
	assert_true(fx->fed < 1000000); /* what nobody reads is not written either */
	assert_int_equal(fx->feeds, 0);
}

static void *fill_up(void *self)
{
	struct fixture *fx = self;
	int fds[8], last;

	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		char line[256];

		fds[i] = dial(fx);
		(void)!send(fds[i], CALL(1, "note", "{}"), strlen(CALL(1, "note", "{}")), 0);
		fx->code = (int)recv(fds[i], line, sizeof line, 0); /* it was let in */
	}
	last = dial(fx);
	read_to_end(last, &fx->answer);
	close(last);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
	return client_ends(fx);
}

static void test_rpc_server__refuses_one_client_too_many_and_recovers(void **state)
{
	struct fixture *fx = *state;

	run_with(fx, fill_up);
	assert_int_equal(fx->noted, 8);
	assert_non_null(strstr(fx->answer.at, "\"too_many_clients\""));
	assert_non_null(strstr(answer_to(fx, CALL(1, "echo", "{\"text\":\"a\"}")), "\"a\""));
}

static void *call_by_client(void *self)
{
	struct fixture *fx = self;
	uint64_t deadline = clock_mono_ns() + 5 * NS_PER_S;
	struct rpc_client *c = NULL;
	struct err err = { 0 };
	json_t *result = NULL;

	fx->code = rpc_client_open(fx->path, deadline, &c, &err);
	if (fx->code == 0)
		fx->code = rpc_client_call(c, "echo", fx->text, deadline, &result, &err);
	buf_puts(&fx->answer, fx->code < 0 ? err.msg : json_string_value(result));
	json_decref(result);
	rpc_client_close(c);
	return client_ends(fx);
}

static void test_rpc_client__returns_results_and_errors(void **state)
{
	struct fixture *fx = *state;

	fx->text = "{\"text\":\"hello\"}";
	run_with(fx, call_by_client);
	assert_string_equal(fx->answer.at, "hello");
	buf_reset(&fx->answer);
	fx->text = NULL;
	run_with(fx, call_by_client);
	assert_string_equal(fx->answer.at, "text is needed");
	assert_int_equal(fx->code, -EINVAL);
}

static void test_rpc_client__reports_why_the_connection_was_refused(void **state)
{
	struct fixture *fx = *state;

	fx->admits = false;
	run_with(fx, call_by_client);
	assert_int_equal(fx->code, -EACCES);
	assert_string_equal(fx->answer.at, "your user may not use this socket");
}

static void test_rpc_client__waits_for_an_answer_only_until_the_deadline(void **state)
{
	struct fixture *fx = *state;
	uint64_t began = clock_mono_ns();
	struct rpc_client *c;
	struct err err;
	int fd = -1;

	/* A server that never polls. */
	assert_int_equal(socket_address_listen(fx->dir_fd, fx->dir, "sock", 0, &fd, &err), 0);
	assert_int_equal(rpc_client_open(fx->path, began + 50 * NS_PER_MS, &c, &err), 0);
	assert_int_equal(rpc_client_call(c, "echo", NULL, began + 100 * NS_PER_MS, NULL, &err),
	                 -ETIMEDOUT);
	rpc_client_close(c);
	assert_true(clock_mono_ns() - began < 10 * NS_PER_S);
	close(fd);
}

static void test_rpc_client__waits_for_the_connection_only_until_the_deadline(void **state)
{
	struct fixture *fx = *state;
	uint64_t began = clock_mono_ns();
	struct rpc_client *c[8] = { NULL };
	struct err err;
	int fd = -1, r = 0;

	/* … and whose queue is full after one or two. */
	assert_int_equal(socket_address_listen(fx->dir_fd, fx->dir, "sock", 0, &fd, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(c) && r == 0; i++)
		r = rpc_client_open(fx->path, clock_mono_ns() + 50 * NS_PER_MS, &c[i], &err);
	assert_int_equal(r, -ETIMEDOUT);
	assert_true(clock_mono_ns() - began < 10 * NS_PER_S);
	for (size_t i = 0; i < ARRAY_LEN(c); i++)
		rpc_client_close(c[i]);
	close(fd);
}

static void test_rpc_client__reports_a_missing_server(void **state)
{
	struct fixture *fx = *state;
	struct rpc_client *c;
	struct err err;

	assert_int_equal(rpc_client_open(fx->path, clock_mono_ns() + NS_PER_S, &c, &err), -ENOENT);
}

#define SERVER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_close)

RUN_TESTS(SERVER_TEST(test_rpc_server__answers_pipelined_calls_in_order_even_after_a_bad_one),
          SERVER_TEST(test_rpc_server__returns_errors_of_the_table_and_of_methods),
          SERVER_TEST(test_rpc_server__executes_a_notification_without_an_answer),
          SERVER_TEST(test_rpc_server__does_not_execute_a_notification_that_only_reads),
          SERVER_TEST(test_rpc_server__makes_large_answers_of_a_user_one_after_another),
          SERVER_TEST(test_rpc_server__disconnects_a_stranger_that_does_not_read_a_large_answer),
          SERVER_TEST(test_rpc_server__skips_calls_whose_caller_is_gone),
          SERVER_TEST(test_rpc_server__accepts_a_last_line_without_newline),
          SERVER_TEST(test_rpc_server__answers_hundreds_of_calls_at_once),
          SERVER_TEST(test_rpc_server__sends_answers_larger_than_the_socket_buffer),
          SERVER_TEST(test_rpc_server__sends_one_large_answer_after_another),
          SERVER_TEST(test_rpc_server__refuses_an_endless_line_and_disconnects),
          SERVER_TEST(test_rpc_server__feeds_a_subscriber_after_the_answer_and_when_woken),
          SERVER_TEST(test_rpc_server__disconnects_a_subscriber_that_does_not_read),
          SERVER_TEST(test_rpc_server__disconnects_a_client_that_stops_within_a_line),
          SERVER_TEST(test_rpc_server__disconnects_a_client_that_does_not_read),
          SERVER_TEST(test_rpc_server__refuses_one_client_too_many_and_recovers),
          SERVER_TEST(test_rpc_client__returns_results_and_errors),
          SERVER_TEST(test_rpc_client__reports_why_the_connection_was_refused),
          SERVER_TEST(test_rpc_client__waits_for_an_answer_only_until_the_deadline),
          SERVER_TEST(test_rpc_client__waits_for_the_connection_only_until_the_deadline),
          SERVER_TEST(test_rpc_client__reports_a_missing_server))
