/* SPDX-License-Identifier: MIT */
/* cli.h - what every verb shares: the common options, paths, messages, exit status. One verb = one
 * file = one const struct; main.c lists them. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/opts.h"
#include "config/config.h"
#include "config/config_load.h"
#include "config/state_dir.h"
#include "config/store_place.h"
#include "engine/engine.h"
#include "view/canvas.h"

enum cli_status {
	CLI_OK = 0,
	CLI_FAILED = 1,    /* the answer is no, or a failure */
	CLI_USAGE = 2,     /* an error in the command line or in a configuration file */
	CLI_NOT_FOUND = 3, /* the object does not exist */
	CLI_DAEMON = 4,    /* the daemon is unreachable or refuses */
};

/* How a job is named, for help texts. */
#define CLI_JOB_HELP                                                                                           \
	"JOB is an id or any unique part of one, a job type or the beginning of one (its latest run; TYPE~1\n" \
	"is the one before), or 'last', the default of [JOB]. Jobs of other users are USER:JOB."

struct cli;

struct verb {
	const char *name;
	const char *summary; /* one line in `proctor --help` */
	const char *usage;   /* what follows "proctor VERB" */
	const char
		*about; /* more lines for `proctor VERB --help`, no newline at the end, or NULL */
	const char *example;         /* one command line, for help */
	const char *instead_of_json; /* why a verb has no --json; NULL: it has */
	/* argv[0] is the verb; returns the exit status. */
	int (*run)(struct cli *cli, int argc, char **argv);
};

/* Receives a verb's table of options; what it points to is valid only meanwhile. `takes_command`: the first
 * word begins a command, whose options are its own. */
typedef void (*cli_options_fn)(void *self, const struct opt *opts, bool takes_command);

/* Built in main, passed down. */
struct cli {
	const struct verb *verb;
	const char *state_dir, *config_file, *color; /* as given; NULL: not given */
	bool json, help;
	bool keeps_quiet;            /* no warning about where it records */
	int status;                  /* the exit status if cli_parse() returns false */
	void (*sigpipe)(int signo);  /* the inherited disposition */
	cli_options_fn read_options; /* inside cli_read_options(); else NULL */
	void *reader;
};

/* The last rows of every verb's table of options. */
/* clang-format off */
#define CLI_COMMON_OPTS(cli)                                                                        \
	{ "json", 0, OPT_FLAG, &(cli)->json, NULL, "print one JSON document" },             \
	{ "state-dir", 0, OPT_PATH, &(cli)->state_dir, "DIR", "directory of the store and of running jobs" }, \
	{ "config", 0, OPT_PATH, &(cli)->config_file, "FILE", "read only this configuration file" }, \
	{ "color", 0, OPT_TEXT, &(cli)->color, "WHEN", "auto, always or never", "auto always never" }, \
	{ "help", 'h', OPT_FLAG, &(cli)->help, NULL, "print this help" },                                 \
	{ NULL }
/* The table of main(), for options before a verb. */
#define CLI_MAIN_OPTS(cli, version)                                                                 \
	{ "version", 'V', OPT_FLAG, version, NULL, "version and build options" },           \
	CLI_COMMON_OPTS(cli)
/* clang-format on */

/* Parses the verb's own options and the common ones. False: exit with cli->status (help was printed,
 * or a usage error reported). Options may follow words, except after "--"; the words are moved to
 * argv[1…], *ret_words of them. */
bool cli_parse(struct cli *cli, const struct opt *opts, int argc, char **argv, int *ret_words);
/* The same for verbs that start a command, which is argv[*ret_first] and everything after it. */
bool cli_parse_command(struct cli *cli, const struct opt *opts, int argc, char **argv,
                       int *ret_first);

/* Calls `fn` with the verb's table of options. The verb itself does not run. */
void cli_read_options(struct cli *cli, const struct verb *verb, cli_options_fn fn, void *self);

/* Whether a word is the number of a process. */
bool cli_is_pid(const char *word, pid_t *ret);

/* Logs one line with a hint; returns CLI_USAGE. */
int cli_usage(const struct cli *cli, const char *fmt, ...) printf_like(2, 3);
/* Logs the error; returns CLI_FAILED. */
int cli_failed(const struct err *err);
/* … and what to do next. */
int cli_failed_then(const struct err *err, const char *next);
/* Logs why the command did not start and returns the exit status; a NULL command: our own failure. */
int cli_command_failed(const char *command, struct err *err);
/* Writes to stdout; CLI_OK, or CLI_FAILED, logged unless the reader has closed the pipe. */
int cli_print(const struct buf *out);

/* The output of a verb: JSON, or text on a canvas that suits stdout. */
struct cli_page {
	struct buf out;
	struct json json;
	struct canvas canvas;
};
#define CLI_PAGE_MAX ((size_t)4 << 30) /* a snapshot of all the pids there can be */

void cli_page_begin(struct cli_page *page, const struct cli *cli);
/* Prints and frees it; a JSON document ends its line. As cli_print(). */
int cli_page_end(struct cli_page *page);

/* Reads the configuration, for recorders: CLI_OK, or CLI_USAGE with every problem logged. */
int cli_config(const struct cli *cli, struct config *ret);
/* The same for verbs that only read: a problem in a file that was found is a warning, its setting is
 * ignored and the others hold. In a file that --config names it is an error all the same. */
int cli_config_to_read(const struct cli *cli, struct config *ret);
/* The same for `doctor`, which shows the problems itself. */
int cli_config_to_show(const struct cli *cli, struct config *ret, struct config_files *files,
                       struct config_problems *problems);
/* The state directory, for verbs that read. CLI_OK, or CLI_FAILED and logged. */
int cli_find_state_dir(const struct cli *cli, struct state_dir *ret);
/* Its path only, into `ret` (CONFIG_PATH_MAX bytes). */
int cli_state_dir(const struct cli *cli, char *ret);
/* Whether a process with our environment, but without our options and perhaps in another directory,
 * finds this state directory, too, without testing what it may write. */
bool cli_env_finds(const char *state_dir);
/* Whether no directory can be used; *ret then has the fallbacks that were refused. */
bool cli_state_dir_is_nowhere(const struct cli *cli, struct buf *ret);
/* For recorders: creates it and checks that it is writable; errors have reason and remedy. One that is
 * used instead of the usual one is logged, and so are the fallbacks if all were refused. */
int cli_make_state_dir(const struct cli *cli, char *ret, struct err *err) must_check;
/* The absolute path of this program, owned by the caller; NULL: it was removed or replaced. */
char *cli_program(void);
/* Where the store is, by the configuration, and how it is written. */
void cli_store_place(const struct config *config, const char *state_dir, struct store_place *ret);
/* … and the file of lines beside it; owned by the caller. */
char *cli_jsonl_path(const struct config *config, const char *state_dir,
                     const struct store_place *place);
/* The same, for recorders: its directory is created. */
int cli_make_store_place(const struct config *config, const char *state_dir,
                         struct store_place *ret, struct err *err) must_check;
/* Its path only. CLI_OK, or another status, logged. */
int cli_store_path(const struct cli *cli, char **ret);
/* Parts of the configuration, as the engine needs them. */
void cli_sampler_options(const struct config *config, struct sampler_options *ret);
struct pressure_limits cli_pressure_limits(const struct config *config);
struct store_retention cli_retention(const struct config *config);
/* Reads the configuration again. On failure returns -errno with the first problem; all are logged. */
int cli_reload(const struct cli *cli, struct config *ret, struct err *err) must_check;
/* The style that stdout, or another fd, can display. */
struct style cli_style(const struct cli *cli);
struct style cli_style_of(const struct cli *cli, int fd);
