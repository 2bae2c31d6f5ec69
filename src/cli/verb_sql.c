/* SPDX-License-Identifier: MIT */
/* verb_sql.c - `proctor sql`: runs one query on the store. */
#include "history/sql_query.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/job_selection.h"
#include "view/row_writer.h"

#define QUERY_MAX ((size_t)1 << 20)
#define LIMIT_MAX_NS (3600 * NS_PER_S)
#define GRACE_NS (200 * NS_PER_MS) /* SQLite itself gives up first, if it can */
#define FLUSH_BYTES ((size_t)64 << 10)
#define TOO_LONG "the query took too long"
#define LIMIT_NEXT "allow it more time with --limit-seconds S"

struct answer {
	struct row_writer result;
	struct buf out;
	bool is_cut;
	int written; /* CLI_OK, or the status of a failed write */
};

/* ---- the limit of time ----------------------------------------------------------------------- */

/* SQLite looks at the clock between the steps of its machine, and a single call of a function may take long. */
static void give_up(int signal)
{
	static const char text[] = "proctor: " TOO_LONG "; " LIMIT_NEXT "\n";

	(void)signal;
	(void)!write(STDERR_FILENO, text, sizeof text - 1);
	_exit(CLI_FAILED);
}

static void give_up_after(uint64_t limit_ns)
{
	const struct itimerval when = { .it_value = { .tv_sec = (time_t)(limit_ns / NS_PER_S),
		                                      .tv_usec = (suseconds_t)(limit_ns % NS_PER_S /
		                                                               NS_PER_US) } };
	const struct sigaction action = { .sa_handler = give_up };

	if (sigaction(SIGALRM, &action, NULL) == 0)
		(void)!setitimer(ITIMER_REAL, &when, NULL);
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* Writes what there is, so that memory does not grow with the result. A pager may wait for its user: only the query has a limit. */
static int flush(struct answer *a)
{
	struct itimerval left;

	(void)!setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, &left);
	a->written = cli_print(&a->out);
	buf_reset(&a->out);
	(void)!setitimer(ITIMER_REAL, &left, NULL);
	return a->written == CLI_OK ? 0 : -EPIPE;
}

static int put_columns(void *self, const char *const *names, size_t n)
{
	struct answer *a = self;

	a->result.out = &a->out;
	row_writer_begin(&a->result, names, n);
	return 0;
}

static void put_value(struct row_writer *r, const struct sql_value *v)
{
	switch (v->type) {
	case SQL_NULL:
		row_writer_null(r);
		break;
	case SQL_INTEGER:
		row_writer_i64(r, v->integer);
		break;
	case SQL_REAL:
		row_writer_real(r, v->real);
		break;
	case SQL_TEXT:
		row_writer_text(r, v->text, v->n);
		break;
	case SQL_BLOB:
		row_writer_blob(r, v->text, v->n);
		break;
	}
}

static int put_row(void *self, const struct sql_value *values, size_t n)
{
	struct answer *a = self;

	for (size_t i = 0; i < n; i++)
		put_value(&a->result, &values[i]);
	if (!row_writer_end_row(&a->result)) {
		a->is_cut = true;
		return -E2BIG;
	}
	return a->out.len >= FLUSH_BYTES ? flush(a) : 0;
}

static const char *next_step(int r, const struct err *err)
{
	if (r == -ETIME)
		return LIMIT_NEXT;
	return strstr(err->msg, "no such") ? "what there is: proctor help fields"
	                                   : "see: proctor sql --help";
}

static int ask(const char *path, const char *query, uint64_t limit_ns, struct answer *a)
{
	const struct sql_sink sink = { .self = a, .columns = put_columns, .row = put_row };
	struct err err = { 0 };
	int r;

	give_up_after(limit_ns + GRACE_NS);
	r = sql_query_run(path, query, limit_ns, &sink, &err);
	give_up_after(0); /* never */

	if (a->written != CLI_OK)
		return a->written;
	if (r == -ENOENT)
		return job_selection_no_store(path);
	if (r < 0 && !a->is_cut)
		return cli_failed_then(&err, next_step(r, &err));
	row_writer_end(&a->result);
	if (flush(a) < 0)
		return a->written;
	if (a->is_cut)
		log_error("only the first %zu rows are shown; --csv and --json show all",
		          a->result.rows);
	return a->is_cut ? CLI_FAILED : CLI_OK;
}

/* The query: the argument, or stdin for "-". */
static int load_query(const char *word, struct buf *to)
{
	int r = 0;

	to->max = QUERY_MAX;
	if (strcmp(word, "-") == 0)
		r = io_load_fd(STDIN_FILENO, to);
	else
		buf_puts(to, word);
	if (r == 0)
		return CLI_OK;
	log_error("read the query from stdin: %s",
	          r == -EFBIG ? "larger than 1 MiB" : strerror(-r));
	return CLI_FAILED;
}

static int answer_query(const struct cli *cli, const char *word, uint64_t limit_ns, bool csv)
{
	cleanup(freep) char *path = NULL;
	struct answer a = { .result.format = csv         ? ROW_WRITER_CSV
		                             : cli->json ? ROW_WRITER_JSON
		                                         : ROW_WRITER_TABLE };
	struct buf query = { 0 };
	int status = cli_store_path(cli, &path);

	if (status != CLI_OK)
		return status;
	a.result.style = cli_style(cli);
	a.out.max = (size_t)1 << 30;
	status = load_query(word, &query);
	if (status == CLI_OK)
		status = ask(path, query.at ? query.at : "", limit_ns, &a);
	row_writer_done(&a.result);
	buf_done(&a.out);
	buf_done(&query);
	return status;
}

static int run(struct cli *cli, int argc, char **argv)
{
	uint64_t limit_ns = SQL_TIME_DEFAULT_NS;
	bool csv = false;
	const struct opt opts[] = {
		{ "csv", 0, OPT_FLAG, &csv, NULL, "comma-separated, with a header line" },
		{ "limit-seconds", 0, OPT_DURATION, &limit_ns, "S", "give up after this time (5)" },
		CLI_COMMON_OPTS(cli),
	};
	int words;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words != 1)
		return cli_usage(cli,
		                 words ? "one query only; put it in quotes" : "no query given");
	if (csv && cli->json)
		return cli_usage(cli, "--csv and --json exclude each other");
	if (limit_ns == 0 || limit_ns > LIMIT_MAX_NS)
		return cli_usage(cli, "--limit-seconds: write a time above 0 and up to 1h");
	return answer_query(cli, argv[1], limit_ns, csv);
}

const struct verb verb_sql = {
	.name = "sql",
	.summary = "query the store in SQL (read-only)",
	.usage = "[--json | --csv] [--limit-seconds S] QUERY|-",
	.about =
		"QUERY is one SELECT; '-' reads it from stdin. Useful views: snapshots, process_metrics,\n"
		"process_events; what their columns mean: proctor help fields. Recording is not disturbed.",
	.example = "proctor sql --csv - < query.sql",
	.run = run,
};
