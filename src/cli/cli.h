/* SPDX-License-Identifier: MIT */
/* cli.h - what every verb shares: the common options, where things are, words for people, exit
 * status. One verb = one file = one const struct; main.c lists them. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/opts.h"
#include "config/config.h"
#include "config/config_load.h"
#include "engine/engine.h"
#include "view/style.h"

enum cli_status {
	CLI_OK = 0,
	CLI_FAILED = 1,    /* no, or it could not be done */
	CLI_USAGE = 2,     /* the command line or a configuration file is wrong */
	CLI_NOT_FOUND = 3, /* what was asked for does not exist */
	CLI_DAEMON = 4,    /* the daemon is unreachable or refuses */
};

/* How verbs name the job that is meant, for their help. */
#define CLI_JOB_HELP                                                                                     \
	"JOB is an id, the beginning of one, a job type (its latest run; TYPE~1 is the one before) or\n" \
	"'last', the default."

struct cli;

struct verb {
	const char *name;
	const char *summary; /* one line in `proctor --help` */
	const char *usage;   /* what follows "proctor VERB" */
	const char *about;   /* more lines for `proctor VERB --help`, without a newline at the end;
	                        NULL: none */
	const char *instead_of_json; /* for a verb that answers nothing; NULL: --json works */
	int (*run)(struct cli *cli, int argc,
	           char **argv); /* argv[0] is the verb; returns the exit status */
};

extern const struct verb verb_doctor, verb_record, verb_run, verb_snapshot, verb_sql, verb_summary;
extern const struct verb verb_daemon, verb_pressure, verb_status;
extern const struct verb verb_gpu_helper;                   /* started by ourselves only */
extern const struct verb verb_mark, verb_phase, verb_sheet; /* called from within a job */
/* What was recorded. */
extern const struct verb verb_diff, verb_events, verb_export, verb_ls, verb_report;

/* Built in main, passed down. */
struct cli {
	const struct verb *verb;
	const char *state_dir, *config_file, *color; /* as given; NULL: not given */
	bool json, help;
	int status;                 /* when cli_parse() says not to go on */
	void (*sigpipe)(int signo); /* its disposition as we were given it */
};

/* The rows every verb puts at the end of its table of options. */
/* clang-format off */
#define CLI_COMMON_OPTS(cli)                                                                        \
	{ "json", 0, OPT_FLAG, &(cli)->json, NULL, "for programs: one JSON document" },             \
	{ "state-dir", 0, OPT_PATH, &(cli)->state_dir, "DIR", "where the store and the jobs live" }, \
	{ "config", 0, OPT_PATH, &(cli)->config_file, "FILE", "this configuration file, no other" }, \
	{ "color", 0, OPT_TEXT, &(cli)->color, "WHEN", "auto, always or never" },                   \
	{ "help", 'h', OPT_FLAG, &(cli)->help, NULL, "this text" },                                 \
	{ NULL }
/* clang-format on */

/* Options, the verb's own and the common ones. False: do not go on, return cli->status (help was
 * asked for and shown, or usage was bad and told). Options may stand behind words, unless "--"
 * stands before; the words are moved to argv[1…], *ret_words of them. */
bool cli_parse(struct cli *cli, const struct opt *opts, int argc, char **argv, int *ret_words);
/* The same for verbs that start a command: from argv[*ret_first] on everything is the command's. */
bool cli_parse_command(struct cli *cli, const struct opt *opts, int argc, char **argv,
                       int *ret_first);

/* One line on stderr with one hint; returns CLI_USAGE. */
int cli_usage(const struct cli *cli, const char *fmt, ...) printf_like(2, 3);
/* Tells the error; returns CLI_FAILED. */
int cli_failed(const struct err *err);
/* Writes to stdout; CLI_OK, or CLI_FAILED: told, unless nobody reads any more. */
int cli_print(const struct buf *out);

/* The configuration; CLI_OK, or CLI_USAGE with every problem told. `files` may be NULL. */
int cli_config(const struct cli *cli, struct config *ret, struct config_files *files);
/* The state directory into `ret` (CONFIG_PATH_MAX bytes); nothing is created. CLI_OK, or CLI_FAILED
 * and told. */
int cli_state_dir(const struct cli *cli, char *ret);
/* Whether who has our environment, but not our options and perhaps another directory to start from,
 * comes to this state directory too. */
bool cli_env_finds(const char *state_dir);
/* The state directory, and it exists and can be written; else CLI_FAILED with the reason and the
 * remedy told. */
int cli_make_state_dir(const struct cli *cli, char *ret);
/* A path from the configuration, or where it is "" the default: `name` in the state directory.
 * Owned by the caller. */
char *cli_path(const char *configured, const char *state_dir, const char *name);
/* What the configuration says about sources. */
void cli_sampler_options(const struct config *config, struct sampler_options *ret);
/* … and about anomalies. */
struct anomaly_config cli_anomaly_config(const struct config *config);
/* … about pressure, and about how long things are kept. */
struct pressure_limits cli_pressure_limits(const struct config *config);
struct store_retention cli_retention(const struct config *config);
/* The configuration once more, for who goes on with the old one: -errno and the first problem; all
 * are told. */
int cli_reload(const struct cli *cli, struct config *ret, struct err *err) must_check;
/* What stdout can show, or another fd. */
struct style cli_style(const struct cli *cli);
struct style cli_style_of(const struct cli *cli, int fd);
