/* SPDX-License-Identifier: MIT */
/* verb_sheet.c - `proctor sheet`: runs a command as one numbered step of the surrounding job. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/scan.h"
#include "cli/cli.h"
#include "cli/job_door.h"
#include "cli/spawn_unwatched.h"
#include "model/sheet_use.h"
#include "serve/serve.h"

struct sheet_call {
	struct cli *cli;
	uint64_t num, total; /* 0: not given */
	const char *label;
	char **command;
	bool is_open; /* the job knows of it */
};

/* ---- the command line ------------------------------------------------------------------------ */

/* "3" or "3/10". Returns why it is neither; NULL: it is. */
static const char *parse_number(const char *word, uint64_t *ret_num, uint64_t *ret_total)
{
	struct scan s = scan_str(word);
	uint64_t num, total = 0;
	bool has_total;

	if (!scan_u64(&s, &num))
		return "write 3 or 3/10";
	has_total = scan_lit(&s, "/");
	if ((has_total && !scan_u64(&s, &total)) || !scan_at_end(&s) || num == 0)
		return "write 3 or 3/10";
	if (num > SERVE_SHEET_MAX || total > SERVE_SHEET_MAX)
		return "the highest is 1000000";
	if (has_total && total < num)
		return "it is larger than the total";
	*ret_num = num;
	*ret_total = total;
	return NULL;
}

/* Whether the first word is the number of the sheet: it looks like one, or is followed by "--". `7z
 * x` and `ls -l` are commands. */
static bool is_meant_as_number(const char *word, const char *next)
{
	return word[strspn(word, "0123456789/")] == '\0' || (next && strcmp(next, "--") == 0);
}

static bool parse(struct sheet_call *c, const struct opt *opts, int argc, char **argv)
{
	struct cli *cli = c->cli;
	const char *why;
	int at, more;

	if (!cli_parse_command(cli, opts, argc, argv, &at))
		return false;
	if (at < argc && strcmp(argv[at - 1], "--") != 0 &&
	    is_meant_as_number(argv[at], at + 1 < argc ? argv[at + 1] : NULL)) {
		why = parse_number(argv[at], &c->num, &c->total);
		if (why) {
			cli->status = cli_usage(cli, "'%s' is not the number of a sheet; %s",
			                        argv[at], why);
			return false;
		}
		if (!cli_parse_command(cli, opts, argc - at, argv + at, &more))
			return false;
		at += more;
	}
	c->command = argv + at;
	if (at == argc)
		cli->status = cli_usage(cli, "no command given");
	return at < argc;
}

static_assert(SERVE_SHEET_MAX == 1000000, "the number above");

/* ---- calls to the job ------------------------------------------------------------------------ */

static void begin(struct sheet_call *c)
{
	struct buf params = { 0 };
	struct json j = { .out = &params };
	json_t *result = NULL;
	struct err err;

	json_begin_object(&j);
	json_put_any_u64(&j, "sheet_num", c->num);
	json_put_any_u64(&j, "total", c->total);
	json_put_any_str(&j, "label", c->label);
	json_put_bool(&j, "wrapper", true);
	json_end_object(&j);
	if (job_door_call(c->cli, "sheet.started", params.at, &result, &err) < 0) {
		log_warn("%s; the command runs without a sheet", err.msg);
	} else {
		c->num = (uint64_t)json_integer_value(json_object_get(result, "sheet_num"));
		c->is_open = true;
	}
	json_decref(result);
	buf_done(&params);
}

/* Passes the number to the command, which may not know it. */
static void set_environment(const struct sheet_call *c)
{
	char num[24];

	if (!c->is_open)
		return;
	snprintf(num, sizeof num, "%llu", (unsigned long long)c->num);
	setenv("PROCTOR_SHEET", num, 1);
}

/* wait4's totals are exact if nothing outlived the command: we are the subreaper. The command began
 * as a copy of this process, so a peak that is not above our own is an upper bound. */
static struct sheet_use use_of(const struct spawn_end *how)
{
	enum quality quality = how->is_complete ? QUALITY_EXACT : QUALITY_AT_LEAST;
	const struct rusage *u = &how->usage;
	struct rusage ours;
	struct sheet_use use = {
		.figures = {
			[SHEET_FIGURE_CPU] = { clock_timeval_ns(u->ru_utime) +
			                       clock_timeval_ns(u->ru_stime), quality },
			[SHEET_FIGURE_PEAK_RSS] = { (uint64_t)u->ru_maxrss * 1024, quality },
			[SHEET_FIGURE_MINOR_FAULTS] = { (uint64_t)u->ru_minflt, quality },
			[SHEET_FIGURE_MAJOR_FAULTS] = { (uint64_t)u->ru_majflt, quality },
		},
	};

	getrusage(RUSAGE_SELF, &ours);
	if (u->ru_maxrss <= ours.ru_maxrss)
		use.figures[SHEET_FIGURE_PEAK_RSS].quality = quality_join(quality, QUALITY_AT_MOST);
	if (!how->has_io)
		return use;
	use.figures[SHEET_FIGURE_READ] = (struct figure){ how->read_bytes, quality };
	use.figures[SHEET_FIGURE_WRITTEN] = (struct figure){ how->written_bytes, quality };
	return use;
}

/* `use` NULL: the command did not start. */
static void end(const struct sheet_call *c, const struct launch_end *how,
                const struct sheet_use *use)
{
	bool is_good = how->has_exit_code && how->exit_code == 0;
	struct buf params = { 0 };
	struct json j = { .out = &params };
	struct err err;

	if (!c->is_open)
		return;
	json_begin_object(&j);
	json_put_u64(&j, "sheet_num", c->num);
	if (!is_good)
		json_put_i64(&j, how->has_exit_code ? "exit_code" : "signal",
		             how->has_exit_code ? how->exit_code : how->signal);
	if (use) {
		json_key(&j, "usage");
		sheet_use_json(&j, use);
	}
	json_end_object(&j);
	if (job_door_call(c->cli, is_good ? "sheet.completed" : "sheet.failed", params.at, NULL,
	                  &err) < 0)
		log_warn("%s; the end of sheet %llu is not recorded", err.msg,
		         (unsigned long long)c->num);
	buf_done(&params);
}

/* ---------------------------------------------------------------------------------------------- */

/* Returns only when the command did not start. */
static int run_sheet(struct sheet_call *c)
{
	struct spawn_end how;
	struct sheet_use use;
	int status;

	begin(c);
	set_environment(c);
	status = spawn_unwatched(c->cli, c->command, &how);
	if (status) {
		end(c, &(struct launch_end){ .has_exit_code = true, .exit_code = status }, NULL);
		return status;
	}
	use = use_of(&how);
	end(c, &how.command, &use);
	launch_end_alike(&how.command);
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct sheet_call c = { .cli = cli };
	const struct opt opts[] = {
		{ "label", 'l', OPT_TEXT, &c.label, "TEXT", "name of the step" },
		CLI_COMMON_OPTS(cli),
	};

	return parse(&c, opts, argc, argv) ? run_sheet(&c) : cli->status;
}

const struct verb verb_sheet = {
	.name = "sheet",
	.summary = "run a command as one numbered step of the surrounding job",
	.usage = "[N[/TOTAL]] [--label TEXT] [--] COMMAND [ARG…]",
	.about =
		"N counts from 1 and defaults to the next number. The sheet's figures are those of the command and\n"
		"its descendants. The exit status is that of the command, which finds its number in PROCTOR_SHEET.\n"
		"Outside of a job the command just runs. Repeating a number starts another attempt.",
	.instead_of_json = "use `proctor report --json`",
	.example = "proctor sheet 2/5 --label train -- python3 train.py",
	.run = run,
};
