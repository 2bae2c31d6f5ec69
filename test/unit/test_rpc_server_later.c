/* SPDX-License-Identifier: MIT */
/* Answers that come later. */
#include "rpc/rpc_server.h"

#include "server_kit.h"

static void abandon(void *self)
{
	struct fixture *fx = self;

	fx->abandoned++;
}

static int later(void *self, const struct rpc_server_peer *peer, const json_t *params,
                 struct json *result, struct err *err)
{
	struct fixture *fx = self;
	struct rpc_server_work work = { fx, abandon };

	(void)params, (void)err;
	json_begin_array(result); /* what was written before does not get out */
	fx->later[fx->asked++] = peer->session;
	rpc_session_defer(peer->session, &work);
	return RPC_SERVER_LATER;
}

/* Answers the n-th request, with this text, or with an error. */
static int now(void *self, const struct rpc_server_peer *peer, const json_t *params,
               struct json *result, struct err *err)
{
	struct fixture *fx = self;
	json_int_t n = json_integer_value(json_object_get(params, "n"));
	const char *text = json_string_value(json_object_get(params, "text"));
	struct buf value = { 0 };
	struct err why;

	(void)peer, (void)err;
	if (text)
		buf_printf(&value, "\"%s\"", text);
	else
		err_set(&why, ENOENT, "nothing was found");
	rpc_session_answer(fx->later[n], text ? 0 : -ENOENT, &value, &why);
	buf_done(&value);
	json_bool(result, true);
	return 0;
}

/* Does its work when it is called again. */
static int twice(void *self, const struct rpc_server_peer *peer, const json_t *params,
                 struct json *result, struct err *err)
{
	struct fixture *fx = self;
	struct rpc_server_work work = { fx, abandon };

	if (fx->asked)
		return echo(self, peer, params, result, err);
	json_begin_array(result);
	fx->later[fx->asked++] = peer->session;
	rpc_session_defer(peer->session, &work);
	return err_set(err, EINPROGRESS, "not yet");
}

static int again(void *self, const struct rpc_server_peer *peer, const json_t *params,
                 struct json *result, struct err *err)
{
	struct fixture *fx = self;

	(void)peer, (void)params, (void)err;
	rpc_session_call_again(fx->later[0]);
	json_bool(result, true);
	return 0;
}

static const struct rpc_server_method methods[] = {
	{ "echo", echo },   { "note", note },   { "feed", feed },
	{ "more", more },   { "later", later }, { "now", now },
	{ "twice", twice }, { "again", again }, { NULL },
};

static int setup(void **state)
{
	return fixture_open(methods, state);
}

static void send_text(int fd, const char *text)
{
	(void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* What was sent was read, for this is answered behind it. */
static void await_note(int fd)
{
	char line[256];

	send_text(fd, CALL(9, "note", "{}"));
	(void)!recv(fd, line, sizeof line, 0);
}

/* One waits, with more lines behind; the other is answered meanwhile, and makes the answer. */
static void *wait_in_line(void *self)
{
	struct fixture *fx = self;
	int waiting = dial(fx), other = dial(fx);

	send_text(waiting, CALL(1, "later", "{}") CALL("x", "echo", "{\"text\":\"a\"}")
	                           CALL(2, "later", "{}") CALL(3, "echo", "{\"text\":\"b\"}"));
	shutdown(waiting, SHUT_WR);
	await_note(other);
	fx->code = (int)recv(waiting, &(char){ 0 }, 1, MSG_DONTWAIT);
	send_text(other, CALL(1, "now", "{\"n\":0,\"text\":\"done\"}"));
	await_note(other);
	send_text(other, CALL(1, "now", "{\"n\":1}"));
	read_to_end(waiting, &fx->answer);
	close(waiting);
	close(other);
	return client_ends(fx);
}

static void test_rpc_server_answer__precedes_the_answers_to_later_lines(void **state)
{
	struct fixture *fx = *state;

	run_with(fx, wait_in_line);
	assert_int_equal(fx->code, -1); /* nothing had come before */
	assert_string_equal(
		fx->answer.at,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"done\"}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":\"a\"}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32002,\"message\":\"nothing "
		"was found\",\"data\":{\"code\":\"not_found\"}}}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\"b\"}\n");
	assert_int_equal(fx->abandoned, 0);
}

static void *be_called_again(void *self)
{
	struct fixture *fx = self;
	int waiting = dial(fx), other = dial(fx);

	send_text(waiting,
	          CALL(1, "twice", "{\"text\":\"a\"}") CALL(2, "echo", "{\"text\":\"b\"}"));
	shutdown(waiting, SHUT_WR);
	await_note(other);
	fx->code = (int)recv(waiting, &(char){ 0 }, 1, MSG_DONTWAIT);
	send_text(other, CALL(1, "again", "{}"));
	read_to_end(waiting, &fx->answer);
	close(waiting);
	close(other);
	return client_ends(fx);
}

static void test_rpc_server_call_again__repeats_the_call_with_its_parameters(void **state)
{
	struct fixture *fx = *state;

	run_with(fx, be_called_again);
	assert_int_equal(fx->code, -1);
	assert_string_equal(fx->answer.at, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\"}\n"
	                                   "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"b\"}\n");
	assert_int_equal(fx->abandoned, 0);
}

/* As long as we do not listen, half a line is nobody's fault; another client that begins one is cut. */
static void *wait_with_half_a_line(void *self)
{
	struct fixture *fx = self;
	int waiting = dial(fx), slow = dial(fx), other = dial(fx);
	struct buf heard = { 0 };

	send_text(waiting, CALL(1, "later", "{}") "{\"half\"");
	send_text(slow, "{\"half\"");
	read_to_end(slow, &heard);
	send_text(other, CALL(1, "now", "{\"n\":0,\"text\":\"done\"}"));
	read_to_end(waiting, &fx->answer);
	buf_done(&heard);
	close(waiting);
	close(slow);
	close(other);
	return client_ends(fx);
}

static void test_rpc_server_answer__survives_an_unfinished_line_after_the_call(void **state)
{
	static const char expected[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"done\"}\n";
	struct fixture *fx = *state;

	fx->options.half_line_ns = 100 * NS_PER_MS;
	run_with(fx, wait_with_half_a_line);
	assert_ptr_equal(strstr(fx->answer.at, expected), fx->answer.at);
	assert_non_null(strstr(fx->answer.at, "\"frame_timeout\"")); /* its own time is up now */
}

static void *be_fed_while_waiting(void *self)
{
	struct fixture *fx = self;
	int waiting = dial(fx), other = dial(fx);

	send_text(waiting, CALL(1, "feed", "{}") CALL(2, "later", "{}"));
	await_note(other);
	send_text(other, CALL(1, "more", "{}"));
	(void)read_lines_until(waiting, "\n10", &fx->answer);
	send_text(other, CALL(1, "now", "{\"n\":0,\"text\":\"done\"}"));
	(void)read_lines_until(waiting, "}", &fx->answer);
	close(waiting);
	close(other);
	return client_ends(fx);
}

static void test_rpc_server_defer__does_not_stop_the_feed(void **state)
{
	struct fixture *fx = *state;

	run_with(fx, be_fed_while_waiting);
	assert_non_null(strstr(fx->answer.at, "\n9\n10\n{\"jsonrpc\":\"2.0\",\"id\":2,"));
}

/* Nobody waits for the second; notifications behind it are handled all the same, calls are not. */
static void *ask_and_go(void *self)
{
	struct fixture *fx = self;
	int waiting = dial(fx), other = dial(fx);

	send_text(waiting,
	          CALL(1, "later", "{}") "{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n" CALL(
			  2, "note", "{}") CALL(3, "later", "{}"));
	await_note(other);
	close(waiting);
	await_note(other);
	await_note(other);
	close(other);
	return client_ends(fx);
}

static void test_rpc_server_defer__is_abandoned_when_the_caller_is_gone(void **state)
{
	struct fixture *fx = *state;

	run_with(fx, ask_and_go);
	assert_int_equal(fx->asked, 1);
	assert_int_equal(fx->abandoned, 1);
	assert_int_equal(fx->noted, 4); /* the other's, and the notification */
}

static void test_rpc_server_defer__is_abandoned_for_a_notification(void **state)
{
	struct fixture *fx = *state;

	assert_string_equal(answer_to(fx, "{\"jsonrpc\":\"2.0\",\"method\":\"later\"}\n" CALL(
						  1, "echo", "{\"text\":\"a\"}")),
	                    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\"}\n");
	assert_int_equal(fx->abandoned, 1);
}

static void *ask_twice_and_stay(void *self)
{
	struct fixture *fx = self;
	int first = dial(fx), second = dial(fx), other = dial(fx);

	send_text(first, CALL(1, "later", "{}"));
	send_text(second, CALL(1, "later", "{}"));
	shutdown(second, SHUT_WR);
	await_note(other);
	return client_ends(fx); /* they stay open up to the end of the test */
}

static void test_rpc_server_close__abandons_outstanding_work(void **state)
{
	struct fixture *fx = *state;

	run_with(fx, ask_twice_and_stay);
	assert_int_equal(fx->abandoned, 0);
	rpc_server_close(fx->server);
	fx->server = NULL;
	assert_int_equal(fx->abandoned, 2);
}

#define SERVER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_close)

RUN_TESTS(SERVER_TEST(test_rpc_server_answer__precedes_the_answers_to_later_lines),
          SERVER_TEST(test_rpc_server_answer__survives_an_unfinished_line_after_the_call),
          SERVER_TEST(test_rpc_server_call_again__repeats_the_call_with_its_parameters),
          SERVER_TEST(test_rpc_server_defer__does_not_stop_the_feed),
          SERVER_TEST(test_rpc_server_defer__is_abandoned_when_the_caller_is_gone),
          SERVER_TEST(test_rpc_server_defer__is_abandoned_for_a_notification),
          SERVER_TEST(test_rpc_server_close__abandons_outstanding_work))
