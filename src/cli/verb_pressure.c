/* SPDX-License-Identifier: MIT */
/* verb_pressure.c - `proctor pressure`: shows how full the machine is, or waits until it has room. */
#include <time.h>

#include "base/clock.h"
#include "base/json.h"
#include "cli/daemon_client.h"
#include "cli/admission.h"

#define POLL_NS NS_PER_S

static const char about[] =
	"Prints the level (none, low, medium, high or critical) and, after a colon, the reason.\n"
	"--wait LEVEL returns when the level is LEVEL or lower, or 1 after --timeout. The answer comes\n"
	"from the daemon or, without one, from a sample of this program's own (`source` in --json).\n"
	"A daemon that does not answer is reported on stderr. With --socket only that daemon is asked:\n"
	"if it does not answer, the exit status is 4, and --json has a `problem`.";

struct request {
	const char *wait;
	uint64_t timeout_ns;
	enum pressure_level at_most;
};

/* The same document even without an answer (`a` is NULL); `problem` is then the reason. */
static int print(const struct cli *cli, const struct admission_answer *a, const char *problem)
{
	struct cli_page page;
	struct json *j = &page.json;

	cli_page_begin(&page, cli);
	if (cli->json) {
		json_begin_object(j);
		json_put_u64(j, "schema", 1);
		json_put_str(j, "level", a ? pressure_name(a->pressure.level) : NULL);
		json_put_str(j, "reason", a && a->pressure.why[0] ? a->pressure.why : NULL);
		json_key(j, "delay_seconds");
		a ? json_u64(j, a->delay_ns / NS_PER_S) : json_nil(j);
		json_key(j, "admits_job");
		a ? json_bool(j, a->admits_job) : json_nil(j);
		json_put_str(j, "source", !a ? NULL : a->is_from_daemon ? "daemon" : "sample");
		json_put_str(j, "problem", problem);
		json_end_object(j);
	} else if (a) {
		buf_printf(&page.out, "%s%s%s\n", pressure_name(a->pressure.level),
		           a->pressure.why[0] ? ": " : "", a->pressure.why);
	}
	return cli_page_end(&page);
}

static int answer(const struct cli *cli, struct admission *room, const struct request *rq)
{
	const struct timespec step = { .tv_sec = POLL_NS / NS_PER_S };
	uint64_t began_ns = clock_mono_ns();
	struct admission_answer a;
	struct err err;

	for (;;) {
		if (admission_ask(room, NULL, &a, &err) < 0)
			break;
		if (!rq->wait || a.pressure.level <= rq->at_most)
			return print(cli, &a, NULL);
		if (clock_mono_ns() - began_ns >= rq->timeout_ns) {
			(void)print(cli, &a, NULL);
			return CLI_FAILED;
		}
		nanosleep(&step, NULL);
	}
	(void)print(cli, NULL, err.msg);
	return room->socket ? daemon_client_log(&err) : cli_failed(&err);
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct request rq = { .timeout_ns = UINT64_MAX };
	struct admission room = { 0 };
	struct config config;
	const struct opt opts[] = {
		{ "wait", 0, OPT_TEXT, &rq.wait, "LEVEL", "wait until it is LEVEL or lower" },
		{ "timeout", 0, OPT_DURATION, &rq.timeout_ns, "TIME",
		  "with --wait: give up after this time" },
		DAEMON_CLIENT_OPT(&room.socket),
		CLI_COMMON_OPTS(cli),
	};
	int words, status;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words)
		return cli_usage(cli, "takes options only");
	if (rq.wait && !pressure_parse(rq.wait, &rq.at_most))
		return cli_usage(cli, "--wait '%s': write none, low, medium, high or critical",
		                 rq.wait);
	if (!rq.wait && rq.timeout_ns != UINT64_MAX)
		return cli_usage(cli, "--timeout needs --wait LEVEL");
	status = cli_config_to_read(cli, &config);
	if (status != CLI_OK)
		return status;
	room.limits = cli_pressure_limits(&config);
	status = answer(cli, &room, &rq);
	admission_done(&room);
	return status;
}

const struct verb verb_pressure = {
	.name = "pressure",
	.summary = "show how full the machine is, or --wait for room",
	.usage = "[--wait LEVEL [--timeout TIME]] [--json]",
	.about = about,
	.example = "proctor pressure --wait low --timeout 10m",
	.run = run,
};
