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
#include "cli/help.h"
#include "cli/verb_list.h"
#include "history/sql_query.h"
#include "view/field_view.h"

static int unknown_verb(const struct cli *cli, const char *name)
{
	struct suggestion near = { .word = name, .len = strlen(name) };

	for (const struct verb *const *v = verb_list; *v; v++)
		suggestion_offer(&near, (*v)->name);
	if (near.best)
		return cli_usage(cli, "'%s' is not a verb, did you mean '%s'?", name, near.best);
	return cli_usage(cli, "'%s' is not a verb", name);
}

/* Without a verb. */
static int list_verbs(void)
{
	cleanup(buf_done) struct buf out = { 0 };

	help_put_verbs(&out);
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
	const struct verb *verb = verb_find(argv[0]);

	if (!verb || (cli->help && !verb->usage))
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
	const struct opt opts[] = { CLI_MAIN_OPTS(&cli, &version) };
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
		return cli.help ? help_print_all(&cli, opts) : list_verbs();
	return run_verb(&cli, argc - first, argv + first);
}
