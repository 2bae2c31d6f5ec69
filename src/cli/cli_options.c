/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/suggestion.h"
#include "cli/cli.h"

int cli_usage(const struct cli *cli, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (cli->verb)
		log_error("%s: %s; see: proctor %s --help", cli->verb->name, text, cli->verb->name);
	else
		log_error("%s; see: proctor --help", text);
	return CLI_USAGE;
}

static void put_option(const struct opt *o, struct buf *to)
{
	char left[64];

	snprintf(left, sizeof left, "%s%c%s --%s%s%s", o->letter ? "-" : " ",
	         o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name, o->value ? " " : "",
	         o->value ? o->value : "");
	buf_printf(to, "  %-24s%s\n", left, o->help);
}

static int print_help(const struct cli *cli, const struct opt *opts)
{
	const struct verb *verb = cli->verb;
	cleanup(buf_done) struct buf out = { 0 };

	buf_printf(&out, "proctor %s: %s\n\nusage: proctor %s %s\n", verb->name, verb->summary,
	           verb->name, verb->usage);
	if (verb->about)
		buf_printf(&out, "\n%s\n", verb->about);
	buf_puts(&out, "\noptions:\n");
	for (; opts->name; opts++)
		if (opts->to != &cli->json || !verb->instead_of_json)
			put_option(opts, &out);
	return cli_print(&out);
}

/* The option that may have been meant by the unknown one. */
static const char *nearest_option(const struct opt *opts, int argc, char **argv,
                                  const char *message)
{
	struct suggestion near = { 0 };

	for (int i = 0; i < argc && !near.word; i++)
		if (strncmp(argv[i], "--", 2) == 0 && strstr(message, argv[i]))
			near = (struct suggestion){ .word = argv[i] + 2,
				                    .len = strcspn(argv[i] + 2, "=") };
	for (; near.word && opts->name; opts++)
		suggestion_offer(&near, opts->name);
	return near.best;
}

/* Parses one run of options from argv[at] on. Returns the index after it, or -1 with cli->status
 * set. */
static int parse_options(struct cli *cli, const struct opt *opts, int argc, char **argv, int at)
{
	struct err err = { 0 };
	int n = opts_parse(opts, argc - at + 1, argv + at - 1, &err);
	const char *meant = NULL;

	if (n >= 0)
		return at - 1 + n;
	if (strncmp(err.msg, "unknown", strlen("unknown")) == 0)
		meant = nearest_option(opts, argc - at, argv + at, err.msg);
	cli->status = meant ? cli_usage(cli, "%s, did you mean --%s?", err.msg, meant)
	                    : cli_usage(cli, "%s", err.msg);
	return -1;
}

static bool goes_on(struct cli *cli, const struct opt *opts)
{
	enum style_choice choice;

	if (cli->help && cli->verb) {
		cli->status = print_help(cli, opts);
		return false;
	}
	if (!style_parse_choice(cli->color, &choice)) {
		cli->status = cli_usage(cli, "--color '%s': write auto, always or never",
		                        cli->color);
		return false;
	}
	if (cli->json && cli->verb && cli->verb->instead_of_json) {
		cli->status = cli_usage(cli, "--json is not for this verb; %s",
		                        cli->verb->instead_of_json);
		return false;
	}
	return true;
}

bool cli_parse_command(struct cli *cli, const struct opt *opts, int argc, char **argv,
                       int *ret_first)
{
	int first = parse_options(cli, opts, argc, argv, 1);

	if (first < 0 || !goes_on(cli, opts))
		return false;
	*ret_first = first;
	return true;
}

static bool is_word(const char *arg)
{
	return arg[0] != '-' || arg[1] == '\0';
}

bool cli_parse(struct cli *cli, const struct opt *opts, int argc, char **argv, int *ret_words)
{
	int words = 0, at = 1;

	while (at < argc) {
		int next = parse_options(cli, opts, argc, argv, at);
		bool rest = next > at && strcmp(argv[next - 1], "--") == 0;

		if (next < 0)
			return false;
		for (at = next; at < argc && (rest || is_word(argv[at])); at++)
			argv[1 + words++] = argv[at];
	}
	if (!goes_on(cli, opts))
		return false;
	*ret_words = words;
	return true;
}
