/* SPDX-License-Identifier: MIT */
/* Patterns that the jobs of a type have in common. A pattern that is found again keeps its row; one
 * that later jobs contradict is kept with the time when it was retired. They are few, and kept as
 * long as jobs are. */
#include <string.h>

#include "model/pattern.h"
#include "store/store_handle.h"
#include "store/transaction.h"

static const struct migration migrations[] = {
	{ 8,
	  "CREATE TABLE pattern(id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, type TEXT NOT NULL,"
	  " job_type TEXT NOT NULL, subject TEXT NOT NULL, description TEXT NOT NULL,"
	  " confidence REAL NOT NULL, support INTEGER NOT NULL, above REAL, up_to REAL, p REAL,"
	  " q REAL, effect REAL, effect_low REAL, effect_high REAL, first_seen REAL NOT NULL,"
	  " last_seen REAL NOT NULL, retired REAL);"
	  "CREATE UNIQUE INDEX pattern_valid ON pattern(uid, type, job_type, subject)"
	  " WHERE retired IS NULL;",
	  NULL },
	{ 0 },
};

enum { PUT, RETIRE };

static const struct statement statements[] = {
	[PUT] = { "INSERT INTO pattern(uid, type, job_type, subject, description, confidence, support,"
	          " above, up_to, p, q, effect, effect_low, effect_high, first_seen, last_seen)"
	          " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
	          " ON CONFLICT(uid, type, job_type, subject) WHERE retired IS NULL DO UPDATE SET"
	          " description = ?5, confidence = ?6, support = ?7, above = ?8, up_to = ?9, p = ?10,"
	          " q = ?11, effect = ?12, effect_low = ?13, effect_high = ?14,"
	          " first_seen = min(first_seen, ?15), last_seen = max(last_seen, ?16)" },
	[RETIRE] = { "UPDATE pattern SET retired = ?5 WHERE uid = ?1 AND type = ?2 AND job_type = ?3"
	             " AND subject = ?4 AND retired IS NULL" },
	{ 0 },
};

static int retire(struct store *st, const struct pattern *p, struct err *err)
{
	return statement_run(st, &statements[RETIRE],
	                     BINDS(bind_int(p->uid), bind_str(pattern_type_name(p->type)),
	                           bind_str(p->job_type), bind_str(p->subject),
	                           bind_time(p->retired_ns)),
	                     err);
}

static int put_one(struct store *st, const struct pattern *p, struct err *err)
{
	return statement_run(
		st, &statements[PUT],
		BINDS(bind_int(p->uid), bind_str(pattern_type_name(p->type)), bind_str(p->job_type),
	              bind_str(p->subject), bind_str(p->description), bind_real(p->confidence),
	              bind_int((int64_t)p->support), bind_real(p->from), bind_real(p->to),
	              bind_real(p->p), bind_real(p->q), bind_real(p->effect), bind_real(p->low),
	              bind_real(p->high), bind_real(db_time(p->first_seen_ns)),
	              bind_real(db_time(p->last_seen_ns))),
		err);
}

static int put_all(struct store *st, const struct pattern *list, size_t n, struct err *err)
{
	int r = 0;

	/* Retired ones first: what replaces one may be called the same. */
	for (size_t i = 0; r == 0 && i < n; i++)
		if (list[i].retired_ns)
			r = retire(st, &list[i], err);
	for (size_t i = 0; r == 0 && i < n; i++)
		if (!list[i].retired_ns)
			r = put_one(st, &list[i], err);
	return r;
}

int store_update_patterns(struct store *st, const struct pattern *list, size_t n, struct err *err)
{
	int r = transaction_begin(st, TRANSACTION_START_NS, err);

	return r < 0 ? r : transaction_end(st, put_all(st, list, n, err), err);
}

static void put_patterns(struct buf *sql)
{
	buf_puts(
		sql,
		"CREATE VIEW patterns AS SELECT p.id AS id, p.type AS type, p.job_type AS job_type,"
		" p.subject AS subject, p.description AS description, p.confidence AS confidence,"
		" p.support AS support, p.above AS above, p.up_to AS up_to, p.p AS p, p.q AS q,"
		" p.effect AS effect, p.effect_low AS effect_low, p.effect_high AS effect_high,"
		" p.first_seen AS first_seen, p.last_seen AS last_seen, p.retired AS retired,"
		" p.uid AS uid FROM pattern p");
}

static const struct view views[] = { { "patterns", put_patterns }, { 0 } };

#define PATTERN_COLUMNS                                                                            \
	"uid, type, job_type, subject, description, confidence, support, above, up_to, p, q,"      \
	" effect, effect_low, effect_high, first_seen, last_seen, retired"

/* One that both files found is the later finding. */
static const struct table_import imports[] = {
	{ "pattern",
	  "INSERT INTO main.pattern(" PATTERN_COLUMNS ") SELECT " PATTERN_COLUMNS
	  " FROM side.pattern WHERE true ON CONFLICT(uid, type, job_type, subject)"
	  " WHERE retired IS NULL DO UPDATE SET"
	  " (description, confidence, support, above, up_to, p, q, effect, effect_low, effect_high)"
	  " = (excluded.description, excluded.confidence, excluded.support, excluded.above,"
	  " excluded.up_to, excluded.p, excluded.q, excluded.effect, excluded.effect_low,"
	  " excluded.effect_high), first_seen = min(first_seen, excluded.first_seen),"
	  " last_seen = excluded.last_seen WHERE excluded.last_seen > last_seen" },
	{ 0 },
};

const struct store_table pattern_table = {
	.name = "pattern",
	.migrations = migrations,
	.statements = statements,
	.views = views,
	.imports = imports,
};
