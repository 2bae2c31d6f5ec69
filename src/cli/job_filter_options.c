/* SPDX-License-Identifier: MIT */
#include "cli/job_filter_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/time_parse.h"

bool job_filter_options_given(const struct job_filter_options *o)
{
	return o->type || o->tag || o->outcome || o->since || o->until;
}

void job_filter_options_done(struct job_filter_options *o)
{
	free(o->tag_key);
}

static int parse_time(const struct cli *cli, const char *option, const char *text, uint64_t now_ns,
                      uint64_t *ret)
{
	if (text && !time_parse(scan_str(text), now_ns, ret))
		return cli_usage(cli, "--%s '%s': not a time; write " TIME_GRAMMAR, option, text);
	return CLI_OK;
}

static bool is_outcome(const char *word)
{
	static const char *const words[] = { "ok",  "failed", "running", "lost",
		                             "oom", "signal", "limit" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return false;
}

int job_filter_options_make(const struct cli *cli, struct job_filter_options *o, uint64_t now_ns,
                            struct job_filter *ret)
{
	const char *equals = o->tag ? strchr(o->tag, '=') : NULL;
	int status;

	*ret = (struct job_filter){ .type = o->type, .outcome = o->outcome };
	if (o->outcome && !is_outcome(o->outcome))
		return cli_usage(
			cli,
			"--outcome '%s': write ok, failed, running, lost, signal, oom or limit",
			o->outcome);
	if (o->tag && (!*o->tag || equals == o->tag))
		return cli_usage(cli, "--tag '%s': write a key, or KEY=VALUE", o->tag);
	if (o->type && !*o->type)
		return cli_usage(cli, "--type: write a job type, as the column TYPE shows it");
	if (o->tag) {
		o->tag_key = xstrndup(o->tag, equals ? (size_t)(equals - o->tag) : strlen(o->tag));
		ret->tag_key = o->tag_key;
		ret->tag_value = equals ? equals + 1 : NULL;
	}
	status = parse_time(cli, "since", o->since, now_ns, &ret->since_ns);
	return status ? status : parse_time(cli, "until", o->until, now_ns, &ret->until_ns);
}
