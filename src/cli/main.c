/* SPDX-License-Identifier: MIT */
/* main.c - finds the verb and runs it. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/suggestion.h"
#include "cli/cli.h"
#include "history/sql_query.h"
#include "view/field_view.h"

/* In the order of `proctor --help`. */
/* clang-format off */
#define VERB_GROUPS(GROUP, X)                                                                      \
	GROUP("run and record", X(run) X(record))                                                  \
	GROUP("look back",      X(ls) X(report) X(why) X(events) X(diff) X(export) X(summary) X(sql)      \
	                        X(rm))                                                     \
	GROUP("learn",          X(insights) X(estimate) X(import) X(backtest))                     \
	GROUP("live",           X(snapshot) X(status) X(pressure) X(syscalls) X(trace))            \
	GROUP("inside a job",   X(sheet) X(mark) X(phase))                                         \
	GROUP("the machine",    X(daemon) X(doctor))

#define GROUP(title, verbs) verbs
#define X(name) extern const struct verb verb_##name;
VERB_GROUPS(GROUP, X) X(gpu_helper) /* internal */
#undef X
#define X(name) &verb_##name,
static const struct verb *const verbs[] = { VERB_GROUPS(GROUP, X) };
#undef GROUP
#define GROUP(title, verbs) { title, { verbs } },
static const struct {
	const char *title;
	const struct verb *verbs[16]; /* up to NULL */
} groups[] = { VERB_GROUPS(GROUP, X) };
#undef X
#undef GROUP
/* clang-format on */

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (strcmp(verbs[i]->name, name) == 0)
			return verbs[i];
	return strcmp(name, verb_gpu_helper.name) == 0 ? &verb_gpu_helper : NULL;
}

static int unknown_verb(const struct cli *cli, const char *name)
{
	struct suggestion near = { .word = name, .len = strlen(name) };

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		suggestion_offer(&near, verbs[i]->name);
	if (near.best)
		return cli_usage(cli, "'%s' is not a verb, did you mean '%s'?", name, near.best);
	return cli_usage(cli, "'%s' is not a verb", name);
}

/* Some verbs have no --json. */
static void put_json_help(struct buf *to)
{
	const char *before = "; not for ";

	buf_puts(to, "  --json            a JSON document");
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (!verbs[i]->instead_of_json)
			continue;
		buf_printf(to, "%s%s", before, verbs[i]->name);
		before = ", ";
	}
	buf_puts(to, "\n");
}

static void put_verbs(struct buf *to)
{
	buf_puts(to, "proctor: a job-aware resource profiler for Linux\n\n"
	             "usage: proctor VERB [OPTION…] [WORD…]\n");
	for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
		buf_printf(to, "\n%s:\n", groups[i].title);
		for (const struct verb *const *v = groups[i].verbs; *v; v++)
			buf_printf(to, "  %-18s%s\n", (*v)->name, (*v)->summary);
	}
}

static int print_help(void)
{
	cleanup(buf_done) struct buf out = { 0 };

	put_verbs(&out);
	buf_puts(&out, "\noptions of every verb:\n");
	put_json_help(&out);
	buf_puts(
		&out,
		"  --state-dir DIR   directory of the store and of running jobs\n"
		"  --config FILE     read only this configuration file\n"
		"  --color WHEN      auto, always or never\n"
		"  -h, --help        describe the verb and its options\n"
		"  -V, --version     version and build options\n\n"
		"exit status: 0 ok, 1 failed (or the answer is no), 2 usage error, 3 not found, 4 no daemon\n"
		"what every key and column means: proctor help fields\n");
	return cli_print(&out);
}

/* Without a verb. */
static int list_verbs(void)
{
	cleanup(buf_done) struct buf out = { 0 };

	put_verbs(&out);
	buf_puts(&out,
	         "\none verb and its options: proctor help VERB; what all have: proctor --help\n");
	(void)!io_write_timeout(STDERR_FILENO, out.at, out.len, LOG_TIMEOUT_NS);
	return CLI_USAGE;
}

static int print_version(const struct cli *cli)
{
	struct cli_page page;
	struct json *j = &page.json;

	cli_page_begin(&page, cli);
	if (cli->json) {
		json_begin_object(j);
		json_put_u64(j, "schema", 1);
		json_put_str(j, "version", PROCTOR_VERSION);
		json_put_bool(j, "bpf", strcmp(PROCTOR_HAS_BPF, "yes") == 0);
		json_put_str(j, "sqlite_version", sql_query_version());
		json_end_object(j);
	} else {
		buf_printf(&page.out,
		           "proctor " PROCTOR_VERSION "\nfeatures: BPF " PROCTOR_HAS_BPF
		           ", SQLite %s\n",
		           sql_query_version());
	}
	return cli_page_end(&page);
}

static int print_fields(const struct cli *cli)
{
	struct cli_page page;

	cli_page_begin(&page, cli);
	field_view(&page.canvas);
	return cli_page_end(&page);
}

static int run_verb(struct cli *cli, int argc, char **argv)
{
	const struct verb *verb = find_verb(argv[0]);

	if (!verb)
		return unknown_verb(cli, argv[0]);
	cli->verb = verb;
	return verb->run(cli, argc, argv);
}

/* If fd 0, 1 or 2 is closed at the start, the first files that we open would take their place and
 * receive our output. A command that we start finds them closed, as we did. */
static void keep_standard_fds(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC) != fd)
			_exit(CLI_FAILED); /* read and write fail on these, as they would on closed
			                      ones */
}

int main(int argc, char **argv)
{
	struct cli cli = { 0 };
	bool version = false;
	const struct opt opts[] = {
		{ "version", 'V', OPT_FLAG, &version, NULL, "version and build options" },
		CLI_COMMON_OPTS(&cli),
	};
	int first;

	mem_keep_small();
	keep_standard_fds();
	cli.sigpipe = signal(SIGPIPE,
	                     SIG_IGN); /* a failing write is noticed, and the verb ends in order */
	if (!cli_parse_command(&cli, opts, argc, argv, &first))
		return cli.status;
	if (version)
		return print_version(&cli);
	if (first < argc && strcmp(argv[first], "help") == 0) {
		cli.help = true;
		first++;
		if (first < argc && strcmp(argv[first], "fields") == 0)
			return print_fields(&cli);
	}
	if (first == argc)
		return cli.help ? print_help() : list_verbs();
	return run_verb(&cli, argc - first, argv + first);
}
