/* SPDX-License-Identifier: MIT */
/* verb_complete.c - internal: what may stand at the cursor, for the completion scripts of shells.
 *
 *	proctor complete [--quoted] -- WORD…
 *
 * WORD… is what follows "proctor" up to the cursor; the last may be incomplete or "". Prints one candidate per line, with
 * a tab and a description where there is one. A line that begins with a tab asks the shell for candidates of its own:
 * files, dirs, pids, or `command N`, the completion of a command that begins after N of the words. Whatever is wrong, it
 * prints nothing and succeeds: it is called while a user types. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/verb_list.h"
#include "history/job_query.h"
#include "job/pressure.h"
#include "kernel/user_namespace.h"
#include "model/event.h"
#include "model/verdict.h"
#include "view/format.h"

#define READ_MAX 200                    /* the newest that are read */
#define STORE_TIME_NS (80 * NS_PER_MS)  /* for reading them */

struct request {
	struct cli *cli;
	char **words; /* after the verb */
	size_t n, before; /* … and how many there are before them */
	struct completion_words kinds;
	struct completion at;
	struct buf out;
};

/* ---- candidates ------------------------------------------------------------------------------- */

static bool is_printable(const char *word)
{
	for (; *word; word++)
		if ((unsigned char)*word < ' ' || *word == 0x7f)
			return false;
	return true;
}

/* `word` takes the place of what is typed of it; what stands before in the same argument ("--color=") is repeated. */
static void offer_after(struct request *rq, const char *before, size_t before_len,
                        const char *word, const char *description)
{
	const char *last = rq->words[rq->n - 1];

	if (strncmp(word, rq->at.typed + before_len, strlen(rq->at.typed + before_len)) != 0 ||
	    !*word || !is_printable(word))
		return;
	buf_put(&rq->out, last, (size_t)(rq->at.typed - last));
	buf_put(&rq->out, before, before_len);
	buf_puts(&rq->out, word);
	if (description && *description)
		buf_printf(&rq->out, "\t%s", description);
	buf_putc(&rq->out, '\n');
}

static void offer(struct request *rq, const char *word, const char *description)
{
	offer_after(rq, "", 0, word, description);
}

static void ask_shell(struct request *rq, const char *what)
{
	buf_printf(&rq->out, "\t%s\n", what);
}

static void offer_verbs(struct request *rq)
{
	for (const struct verb *const *v = verb_list; *v; v++)
		offer(rq, (*v)->name, (*v)->summary);
}

static void offer_options(struct request *rq, const struct opt *opts)
{
	for (; opts->name; opts++) {
		cleanup(freep) char *name = xasprintf("--%s", opts->name);
		char letter[] = { '-', opts->letter, '\0' };

		if (!help_has_option(rq->cli, opts))
			continue;
		offer(rq, name, opts->help);
		if (opts->letter && strcmp(rq->at.typed, letter) == 0)
			offer(rq, letter, opts->help);
	}
}

static void offer_choices(struct request *rq, const char *choices)
{
	while (*choices) {
		size_t n = strcspn(choices, " ");
		cleanup(freep) char *word = xstrndup(choices, n);

		offer(rq, word, NULL);
		choices += n + (choices[n] == ' ');
	}
}

/* ---- recorded jobs ---------------------------------------------------------------------------- */

struct offers {
	struct request *rq;
	VEC(char *) types;
	uint64_t now_ns;
	bool ids;
};

static void add_type(struct offers *o, const char *type)
{
	char **place;

	vec_each(&o->types, known)
		if (strcmp(*known, type) == 0)
			return;
	place = vec_push(&o->types, READ_MAX);
	if (place)
		*place = xstrdup(type);
}

static int on_job(void *self, const struct job_offer *job)
{
	struct offers *o = self;
	uint64_t age_ns = o->now_ns - MIN(o->now_ns, job->started_ns);
	cleanup(freep) char *about = xasprintf("%s, %s ago", job->type, format_duration(age_ns).at);

	if (o->ids && !o->types.len)
		offer(o->rq, "last", "the latest job");
	if (o->ids)
		offer(o->rq, job->id, is_printable(about) ? about : NULL);
	add_type(o, job->type);
	return 0;
}

static void read_jobs(struct offers *o)
{
	const struct history_cancel limit = { .until_ns = clock_mono_ns() + STORE_TIME_NS };
	const struct job_filter filter = { .of_one_user = true, .uid = user_namespace_own_uid() };
	cleanup(history_closep) struct history *past = NULL;
	cleanup(freep) char *path = NULL;
	struct err err;

	if (cli_store_path(o->rq->cli, &path) != CLI_OK || history_open(path, &past, &err) < 0)
		return;
	history_obey_cancel(past, &limit);
	(void)!history_offer_jobs(past, &filter, READ_MAX, on_job, o, &err);
}

static void offer_recorded(struct request *rq, bool ids)
{
	struct offers o = { .rq = rq, .now_ns = clock_wall_ns(), .ids = ids };

	read_jobs(&o);
	vec_each(&o.types, type) {
		offer(rq, *type, ids ? "the latest run of this type" : NULL);
		free(*type);
	}
	vec_done(&o.types);
}

static void offer_jobs(struct request *rq)
{
	offer_recorded(rq, true);
}

static void offer_types(struct request *rq)
{
	offer_recorded(rq, false);
}

/* ---- what placeholders stand for -------------------------------------------------------------- */

static void offer_files(struct request *rq)
{
	ask_shell(rq, "files");
}

static void offer_dirs(struct request *rq)
{
	ask_shell(rq, "dirs");
}

static void offer_pids(struct request *rq)
{
	ask_shell(rq, "pids");
}

static void offer_levels(struct request *rq)
{
	for (enum pressure_level i = 0; i < PRESSURE_LEVEL_COUNT; i++)
		offer(rq, pressure_name(i), NULL);
}

/* Several, separated by commas: the last is completed. */
static void offer_kinds(struct request *rq)
{
	const char *comma = strrchr(rq->at.typed, ',');
	size_t kept = comma ? (size_t)(comma + 1 - rq->at.typed) : 0;

	for (enum event_kind i = 0; i < EVENT_KIND_COUNT; i++)
		offer_after(rq, rq->at.typed, kept, event_name(i), NULL);
}

static void offer_causes(struct request *rq)
{
	for (enum verdict_code i = 0; i < VERDICT_CODE_COUNT; i++)
		offer(rq, verdict_code_name(i), verdict_code_words(i));
}

static const struct source {
	const char *placeholder;
	void (*offer)(struct request *rq);
} sources[] = {
	{ "JOB", offer_jobs },   { "TYPE", offer_types },  { "FILE", offer_files },
	{ "PATH", offer_files }, { "DIR", offer_dirs },    { "PID", offer_pids },
	{ "LEVEL", offer_levels }, { "KIND,…", offer_kinds }, { "CAUSE", offer_causes },
};

static void offer_value(struct request *rq, const struct opt *o)
{
	if (o->choices)
		offer_choices(rq, o->choices);
	for (size_t i = 0; i < ARRAY_LEN(sources); i++)
		if (o->value && strcmp(o->value, sources[i].placeholder) == 0)
			sources[i].offer(rq);
}

static void offer_words(struct request *rq)
{
	for (size_t i = 0; i < ARRAY_LEN(sources); i++)
		if (completion_takes(&rq->kinds, sources[i].placeholder))
			sources[i].offer(rq);
}

/* ---- the command line ------------------------------------------------------------------------- */

/* Where the store is, as the command line has it. */
static void take_places(struct request *rq, const struct opt *opts)
{
	const char *dir = completion_value(opts, rq->words, rq->n - 1, "state-dir");
	const char *file = completion_value(opts, rq->words, rq->n - 1, "config");

	rq->cli->state_dir = dir ? dir : rq->cli->state_dir;
	rq->cli->config_file = file ? file : rq->cli->config_file;
}

static void offer_at(struct request *rq, const struct opt *opts)
{
	if (rq->at.command != COMPLETION_NO_COMMAND)
		buf_printf(&rq->out, "\tcommand %zu\n", rq->before + rq->at.command);
	else if (rq->at.value_of)
		offer_value(rq, rq->at.value_of);
	else if (rq->at.is_option)
		offer_options(rq, opts);
	else if (rq->cli->verb)
		offer_words(rq);
	else
		offer_verbs(rq);
}

static void on_verb_options(void *self, const struct opt *opts, bool takes_command)
{
	struct request *rq = self;

	completion_read_usage(rq->cli->verb->usage, opts, takes_command, &rq->kinds);
	completion_find(opts, &rq->kinds, rq->words, rq->n, &rq->at);
	if (rq->at.command == COMPLETION_NO_COMMAND)
		take_places(rq, opts);
	offer_at(rq, opts);
}

static void complete_help(struct request *rq)
{
	if (rq->n != 1)
		return;
	rq->at = (struct completion){ .typed = rq->words[0] };
	offer_verbs(rq);
	offer(rq, "fields", "what keys and columns mean");
}

static void complete(struct request *rq)
{
	const struct completion_words verbs = { .takes_command = true };
	bool version;
	const struct opt opts[] = { CLI_MAIN_OPTS(rq->cli, &version) };
	const struct verb *verb;
	size_t first;

	completion_find(opts, &verbs, rq->words, rq->n, &rq->at);
	first = rq->at.command;
	if (first == COMPLETION_NO_COMMAND || first + 1 >= rq->n) { /* up to the verb */
		rq->at.command = COMPLETION_NO_COMMAND;
		offer_at(rq, opts);
		if (first != COMPLETION_NO_COMMAND)
			offer(rq, "help", "describe a verb and its options");
		return;
	}
	take_places(rq, opts);
	verb = verb_find(rq->words[first]);
	rq->before = first + 1;
	rq->words += rq->before;
	rq->n -= rq->before;
	if (strcmp(rq->words[-1], "help") == 0)
		complete_help(rq);
	else if (verb && verb->usage)
		cli_read_options(rq->cli, verb, on_verb_options, rq);
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct request rq = { .cli = cli };
	bool quoted = false;
	const struct opt opts[] = {
		{ "quoted", 0, OPT_FLAG, &quoted, NULL, "the words are as typed, with quotes" },
		{ NULL },
	};
	cleanup(closep) int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct err err;
	bool ended;
	int first = opts_parse(opts, argc, argv, &ended, &err);

	if (nowhere < 0 || dup2(nowhere, STDERR_FILENO) < 0 || first < 0 || first == argc)
		return CLI_OK;
	rq.words = argv + first;
	rq.n = (size_t)(argc - first);
	for (size_t i = 0; quoted && i < rq.n; i++)
		completion_unquote(rq.words[i]);
	cli->verb = NULL;
	complete(&rq);
	(void)!cli_print(&rq.out);
	buf_done(&rq.out);
	return CLI_OK;
}

const struct verb verb_complete = {
	.name = "complete",
	.run = run,
};
