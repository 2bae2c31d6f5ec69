/* SPDX-License-Identifier: MIT */
/* verb_describe.c - internal: all verbs with their options, and all keys of the configuration, as JSON. The build makes
 * the man pages and the sample configuration from it (scripts/make-manual). */
#include "cli/cli.h"
#include "cli/help.h"
#include "cli/verb_list.h"
#include "config/config_key.h"

struct description {
	struct cli *cli;
	struct json *j;
};

static void put_option(struct json *j, const struct opt *o)
{
	char letter[2] = { o->letter, '\0' };

	json_begin_object(j);
	json_put_str(j, "name", o->name);
	json_put_text(j, "letter", letter);
	json_put_str(j, "value", o->value);
	json_put_str(j, "help", o->help);
	json_put_str(j, "choices", o->choices);
	json_end_object(j);
}

static void on_options(void *self, const struct opt *opts, bool takes_command)
{
	const struct description *d = self;

	json_put_bool(d->j, "takes_command", takes_command);
	json_open_array(d->j, "options");
	for (; opts->name; opts++)
		if (help_has_option(d->cli, opts))
			put_option(d->j, opts);
	json_end_array(d->j);
}

static void put_verb(struct description *d, const struct verb *verb)
{
	json_begin_object(d->j);
	json_put_str(d->j, "name", verb->name);
	json_put_str(d->j, "summary", verb->summary);
	json_put_str(d->j, "usage", verb->usage);
	json_put_str(d->j, "about", verb->about);
	json_put_str(d->j, "example", verb->example);
	json_put_str(d->j, "instead_of_json", verb->instead_of_json);
	cli_read_options(d->cli, verb, on_options, d);
	json_end_object(d->j);
}

static void put_groups(struct description *d)
{
	json_open_array(d->j, "groups");
	for (const struct verb_group *g = verb_groups; g->title; g++) {
		json_begin_object(d->j);
		json_put_str(d->j, "title", g->title);
		json_open_array(d->j, "verbs");
		for (const struct verb *const *v = g->verbs; *v; v++)
			put_verb(d, *v);
		json_end_array(d->j);
		json_end_object(d->j);
	}
	json_end_array(d->j);
}

static void put_keys(struct json *j)
{
	json_open_array(j, "keys");
	for (const struct config_key *key = config_keys; key->section; key++) {
		json_begin_object(j);
		json_put_str(j, "section", key->section);
		json_put_str(j, "name", key->name);
		json_put_str(j, "default", key->otherwise);
		json_put_str(j, "values", config_type_values(key->type));
		json_put_str(j, "min", key->min);
		json_put_str(j, "max", key->max);
		json_put_bool(j, "above_min", key->above_min);
		json_put_str(j, "help", key->help);
		json_put_bool(j, "at_start", key->at_start);
		json_end_object(j);
	}
	json_end_array(j);
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct cli_page page;
	struct description d = { cli, &page.json };
	bool version;
	const struct opt opts[] = { CLI_MAIN_OPTS(cli, &version) };

	(void)argc, (void)argv;
	cli_page_begin(&page, cli);
	json_begin_object(d.j);
	json_put_str(d.j, "version", PROCTOR_VERSION);
	cli->verb = NULL;
	json_key(d.j, "main");
	json_begin_object(d.j);
	on_options(&d, opts, true);
	json_end_object(d.j);
	put_groups(&d);
	put_keys(d.j);
	json_end_object(d.j);
	return cli_page_end(&page);
}

const struct verb verb_describe = {
	.name = "describe",
	.run = run,
};
