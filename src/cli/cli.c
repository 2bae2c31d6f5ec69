/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/suggestion.h"
#include "cli/help.h"
#include "job/launch/exec_error.h"
#include "kernel/user_namespace.h"

int cli_failed(const struct err *err)
{
	log_error("%s", err->msg);
	return CLI_FAILED;
}

int cli_failed_then(const struct err *err, const char *next)
{
	log_error("%s; %s", err->msg, next);
	return CLI_FAILED;
}

int cli_command_failed(const char *command, struct err *err)
{
	enum exec_error_status status = command ? exec_error_status(err->code) : EXEC_ERROR_OURS;

	if (status != EXEC_ERROR_OURS)
		exec_error_describe(command, err->code, err);
	if (status == EXEC_ERROR_OURS || strchr(err->msg, ';')) /* with a remedy of its own */
		log_error("%s", err->msg);
	else
		log_error("%s; check its name, PATH and permissions", err->msg);
	return (int)status;
}

int cli_print(const struct buf *out)
{
	int r = out->len ? io_write_all(STDOUT_FILENO, out->at, out->len) : 0;

	if (r < 0 && r != -EPIPE) /* a closed pipe is not worth a message */
		log_error("write to stdout: %s", strerror(-r));
	if (r == 0 && out->full) {
		log_error("the output is larger than %zu bytes and was cut",
		          out->max ? out->max : BUF_MAX_DEFAULT);
		return CLI_FAILED;
	}
	return r < 0 ? CLI_FAILED : CLI_OK;
}

void cli_page_begin(struct cli_page *page, const struct cli *cli)
{
	const struct style style = cli_style(cli);

	*page = (struct cli_page){ .out.max = CLI_PAGE_MAX };
	page->json.out = &page->out;
	page->canvas = *CANVAS(&style, &page->out);
}

int cli_page_end(struct cli_page *page)
{
	int status;

	if (page->json.need_comma) /* it holds a document */
		buf_putc(&page->out, '\n');
	status = cli_print(&page->out);
	buf_done(&page->out);
	return status;
}

static void load_config(const struct cli *cli, struct config *ret, struct config_files *files,
                        struct config_problems *problems)
{
	char room[STATE_DIR_ROOM];
	const struct config_env env = {
		.file = cli->config_file,
		.configuration_dir = getenv("CONFIGURATION_DIRECTORY"),
		.xdg_config_home = getenv("XDG_CONFIG_HOME"),
		.home = state_dir_environment(room).home,
		.is_root = geteuid() == 0,
	};

	config_load(&env, ret, files, problems);
	vec_each(&files->list, f)
		if (f->skipped)
			log_warn("'%s' cannot be read by this user; it is skipped", f->path);
}

/* Logs all problems; -EINVAL with the first. */
static int refuse_problems(const struct config_problems *problems, struct err *err)
{
	vec_each(&problems->list, p)
		log_error("%s", p->text);
	if (problems->dropped)
		log_error("… and %zu more problems", problems->dropped);
	return problems->list.len ? err_set(err, EINVAL, "%s", problems->list.at[0].text) : 0;
}

int cli_reload(const struct cli *cli, struct config *ret, struct err *err)
{
	cleanup(config_files_done) struct config_files files = { 0 };
	cleanup(ini_problems_done) struct config_problems problems = { 0 };

	load_config(cli, ret, &files, &problems);
	return refuse_problems(&problems, err);
}

int cli_config(const struct cli *cli, struct config *ret)
{
	struct err err;

	return cli_reload(cli, ret, &err) < 0 ? CLI_USAGE : CLI_OK;
}

int cli_config_to_show(const struct cli *cli, struct config *ret, struct config_files *files,
                       struct config_problems *problems)
{
	struct err err;

	load_config(cli, ret, files, problems);
	return cli->config_file && refuse_problems(problems, &err) < 0 ? CLI_USAGE : CLI_OK;
}

int cli_config_to_read(const struct cli *cli, struct config *ret)
{
	cleanup(config_files_done) struct config_files files = { 0 };
	cleanup(ini_problems_done) struct config_problems problems = { 0 };
	int status = cli_config_to_show(cli, ret, &files, &problems);

	if (status == CLI_OK && problems.list.len == 1)
		log_warn("%s; ignored", problems.list.at[0].text);
	else if (status == CLI_OK && problems.list.len)
		log_warn("%s; ignored, and %zu more: see proctor doctor", problems.list.at[0].text,
		         problems.list.len - 1 + problems.dropped);
	return status;
}

typedef int state_dir_search(const struct state_dir_env *env, struct state_dir *ret,
                             struct err *err);

struct state_dir_room {
	char home[STATE_DIR_ROOM], cwd[PATH_MAX];
};

static struct state_dir_env state_dir_env(const struct cli *cli, struct state_dir_room *room)
{
	struct state_dir_env env = state_dir_environment(room->home);

	env.option = cli->state_dir;
	env.cwd = getcwd(room->cwd, sizeof room->cwd);
	env.uid = user_namespace_own_uid();
	return env;
}

static int search_state_dir(const struct cli *cli, state_dir_search *search, struct state_dir *ret,
                            struct err *err)
{
	struct state_dir_room room;
	const struct state_dir_env env = state_dir_env(cli, &room);

	return search(&env, ret, err);
}

bool cli_state_dir_is_nowhere(const struct cli *cli, struct buf *ret)
{
	struct state_dir_room room;
	const struct state_dir_env env = state_dir_env(cli, &room);

	return state_dir_is_nowhere(&env, ret);
}

/* The error is about the usual place. */
static void log_refused(const struct cli *cli)
{
	cleanup(buf_done) struct buf tried = { 0 };

	if (!cli->keeps_quiet && cli_state_dir_is_nowhere(cli, &tried) && tried.len)
		log_error("no fallback of the state directory can be used: %s", tried.at);
}

int cli_find_state_dir(const struct cli *cli, struct state_dir *ret)
{
	struct err err;

	return search_state_dir(cli, state_dir_find, ret, &err) < 0 ? cli_failed(&err) : CLI_OK;
}

int cli_state_dir(const struct cli *cli, char *ret)
{
	struct state_dir found;
	int status = cli_find_state_dir(cli, &found);

	if (status == CLI_OK)
		memcpy(ret, found.path, CONFIG_PATH_MAX);
	return status;
}

bool cli_env_finds(const char *state_dir)
{
	char found[CONFIG_PATH_MAX], room[STATE_DIR_ROOM];
	struct state_dir_env env = state_dir_environment(room);
	struct err err;

	env.is_root = geteuid() == 0; /* clients do not test what root of a container may write */
	return state_dir_resolve(&env, found, &err) == 0 && strcmp(found, state_dir) == 0;
}

int cli_make_state_dir(const struct cli *cli, char *ret, struct err *err)
{
	struct state_dir chosen;
	int r = search_state_dir(cli, state_dir_choose, &chosen, err);

	if (r == 0)
		r = state_dir_prepare(&chosen, geteuid() == 0, err);
	if (r < 0) {
		log_refused(cli);
		return r;
	}
	if (chosen.is_fallback && !cli->keeps_quiet)
		log_warn("%s; recording into '%s'", chosen.why.msg, chosen.path);
	memcpy(ret, chosen.path, CONFIG_PATH_MAX);
	return 0;
}

char *cli_program(void)
{
	static const char gone[] = " (deleted)";
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path);

	if (n <= 0 || n == sizeof path || path[0] != '/')
		return NULL;
	if ((size_t)n > strlen(gone) && memcmp(path + n - strlen(gone), gone, strlen(gone)) == 0)
		return NULL;
	return xstrndup(path, (size_t)n);
}

/* A path from the configuration or, if that is "", `name` in the state directory. Owned by the
 * caller. */
static char *path_or_default(const char *configured, const char *state_dir, const char *name)
{
	return *configured ? xstrdup(configured) : xasprintf("%s/%s", state_dir, name);
}

void cli_store_place(const struct config *config, const char *state_dir, struct store_place *ret)
{
	cleanup(freep) char *path = path_or_default(config->profiler.storage_path, state_dir,
	                                            "proctor.db");

	store_place_find(path, config->profiler.storage_per_host, ret);
}

/* Two hosts must not write the same lines' file either: it is beside the store of this host. */
char *cli_jsonl_path(const struct config *config, const char *state_dir,
                     const struct store_place *place)
{
	const char *slash = strrchr(place->path, '/');

	if (*config->profiler.jsonl_path || !place->is_per_host)
		return path_or_default(config->profiler.jsonl_path, state_dir, "monitor.jsonl");
	return xasprintf("%.*s/monitor.jsonl", (int)(slash - place->path), place->path);
}

int cli_make_store_place(const struct config *config, const char *state_dir,
                         struct store_place *ret, struct err *err)
{
	cleanup(freep) char *dir = NULL;

	cli_store_place(config, state_dir, ret);
	if (!ret->is_per_host)
		return 0;
	dir = xstrndup(ret->path, (size_t)(strrchr(ret->path, '/') - ret->path));
	return io_mkdir_all(dir, geteuid() == 0 ? 0750 : 0700, err);
}

int cli_store_path(const struct cli *cli, char **ret)
{
	char state_dir[CONFIG_PATH_MAX];
	struct store_place place;
	struct config config;
	int status = cli_config_to_read(cli, &config);

	if (status == CLI_OK)
		status = cli_state_dir(cli, state_dir);
	if (status == CLI_OK)
		cli_store_place(&config, state_dir, &place);
	if (status == CLI_OK)
		*ret = place.path;
	return status;
}

void cli_sampler_options(const struct config *config, struct sampler_options *ret)
{
	if (config->profiler.gpu == SWITCH_OFF)
		return;
	ret->gpu_helper = "/proc/self/exe"; /* this program, even if its file was replaced */
	ret->gpu_insist = config->profiler.gpu == SWITCH_ON;
}

struct pressure_limits cli_pressure_limits(const struct config *config)
{
	struct pressure_limits limits = { .memory = config->limits.max_memory_bytes,
		                          .processes = config->limits.max_processes,
		                          .uid = geteuid() };
	struct rlimit tasks;

	/* The process limit does not apply to root. */
	if (limits.uid != 0 && getrlimit(RLIMIT_NPROC, &tasks) == 0 &&
	    tasks.rlim_cur != RLIM_INFINITY)
		limits.own_processes = tasks.rlim_cur;
	return limits;
}

struct store_retention cli_retention(const struct config *config)
{
	return (struct store_retention){
		.full_resolution_ns = config->retention.full_resolution_ns,
		.downsampled_ns = config->retention.downsampled_ns,
		.events_ns = config->retention.events_ns,
	};
}

struct style cli_style(const struct cli *cli)
{
	return cli_style_of(cli, STDOUT_FILENO);
}

struct style cli_style_of(const struct cli *cli, int fd)
{
	struct winsize size = { 0 };
	bool is_tty = isatty(fd);
	const struct style_env env = {
		.is_tty = is_tty,
		.tty_width = is_tty && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0,
		.no_color = getenv("NO_COLOR"),
		.clicolor_force = getenv("CLICOLOR_FORCE"),
		.term = getenv("TERM"),
		.columns = getenv("COLUMNS"),
		.lc_all = getenv("LC_ALL"),
		.lc_ctype = getenv("LC_CTYPE"),
		.lang = getenv("LANG"),
	};
	enum style_choice choice = STYLE_AUTO;

	style_parse_choice(cli->color, &choice); /* validated by cli_parse() */
	return style_choose(choice, &env);
}

/* ---- options --------------------------------------------------------------------------------- */

bool cli_is_pid(const char *word, pid_t *ret)
{
	struct scan s = scan_str(word);
	uint64_t n;

	if (!scan_u64(&s, &n) || !scan_at_end(&s) || !n || n > INT32_MAX)
		return false;
	*ret = (pid_t)n;
	return true;
}

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

/* The option that begins with this letter. */
static const char *first_option(const struct opt *opts, char letter)
{
	while (opts->name && opts->name[0] != letter)
		opts++;
	return opts->name;
}

/* The option that may have been meant by the unknown one. */
static const char *nearest_option(const struct opt *opts, int argc, char **argv,
                                  const char *message)
{
	static const char before[] = "unknown option '-";
	struct suggestion near = { 0 };

	if (strncmp(message, before, strlen(before)) != 0)
		return NULL;
	if (message[strlen(before)] != '-')
		return first_option(opts, message[strlen(before)]);
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
static int parse_options(struct cli *cli, const struct opt *opts, int argc, char **argv, int at,
                         bool *ret_ended)
{
	struct err err = { 0 };
	int n = opts_parse(opts, argc - at + 1, argv + at - 1, ret_ended, &err);
	const char *meant;

	if (n >= 0)
		return at - 1 + n;
	meant = nearest_option(opts, argc - at, argv + at, err.msg);
	cli->status = meant ? cli_usage(cli, "%s, did you mean --%s?", err.msg, meant)
	                    : cli_usage(cli, "%s", err.msg);
	return -1;
}

static bool goes_on(struct cli *cli, const struct opt *opts)
{
	enum style_choice choice;

	if (cli->help && cli->verb) {
		cli->status = help_print_verb(cli, opts);
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

void cli_read_options(struct cli *cli, const struct verb *verb, cli_options_fn fn, void *self)
{
	char *argv[] = { xstrdup(verb->name), NULL };

	cli->verb = verb;
	cli->read_options = fn;
	cli->reader = self;
	(void)verb->run(cli, 1, argv);
	cli->read_options = NULL;
	free(argv[0]);
}

/* Whether the table was all that was wanted. */
static bool is_read(struct cli *cli, const struct opt *opts, bool takes_command)
{
	if (!cli->read_options)
		return false;
	cli->read_options(cli->reader, opts, takes_command);
	cli->status = CLI_OK;
	return true;
}

bool cli_parse_command(struct cli *cli, const struct opt *opts, int argc, char **argv,
                       int *ret_first)
{
	bool ended;
	int first;

	if (is_read(cli, opts, true))
		return false;
	first = parse_options(cli, opts, argc, argv, 1, &ended);
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

	if (is_read(cli, opts, false))
		return false;
	while (at < argc) {
		bool rest;
		int next = parse_options(cli, opts, argc, argv, at, &rest);

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
