/* SPDX-License-Identifier: MIT */
/* The size of a store, and how it changes. SQLite does not report how many bytes a row has, so each
 * row of the large tables (samples and events) counts as the same part of the file. */
#include <math.h>

#include "history/history_handle.h"
#include "schema/schema_format.h"

#define DAY_S 86400.0
#define SPAN_MIN_S 3600.0 /* a shorter span is no sample of a whole day */

/* Rows of keyframes `k`. */
#define SAMPLES                                                                                    \
	"coalesce(sum((SELECT count(*) FROM sample_base b WHERE b.id BETWEEN k.id AND k.id +"      \
	" 1048575) + (SELECT count(*) FROM sample_change c WHERE c.id BETWEEN k.id << 12 AND"      \
	" (k.id + 1048576 << 12) - 1)), 0)"
static_assert(SCHEMA_SLOTS == 1048576 && SCHEMA_AT_BITS == 12, "the numbers above");

static int ask(struct history *r, const char *sql, double from, double to, double *ret,
               struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int result = db_query(r->db, sql, BINDS(bind_real(from), bind_real(to)), &stmt, err);

	if (result == 0)
		result = db_step(stmt, err);
	if (result > 0)
		*ret = db_column_real(stmt, 0);
	return MIN(result, 0);
}

struct rows {
	double all, recent;         /* recent: since ?1 */
	double full, means, events; /* due until ?2, each by its own limit */
	double per_minute;          /* snapshots at full resolution that become one */
	double used_bytes, first_s; /* of the file; the oldest time that is stored */
};

static int count(struct history *r, const struct history_keep *keep, double now_s, double window_s,
                 struct rows *ret, struct err *err)
{
	const double soon_s = now_s + DAY_S;
	const struct {
		const char *sql;
		double from, to;
		double *ret;
	} questions[] = {
		{ "SELECT (SELECT page_count FROM pragma_page_count()) -"
		  " (SELECT freelist_count FROM pragma_freelist_count())",
		  0, 0, &ret->used_bytes },
		{ "SELECT min(t) FROM (SELECT min(begins) AS t FROM keyframe UNION ALL"
		  " SELECT min(time) FROM event)",
		  0, 0, &ret->first_s },
		{ "SELECT (SELECT count(*) FROM sample_base) + (SELECT count(*) FROM sample_change)"
		  " + (SELECT count(*) FROM event)",
		  0, 0, &ret->all },
		{ "SELECT (SELECT " SAMPLES " FROM keyframe k WHERE k.resolution IS NULL"
		  " AND k.begins >= ?1) + (SELECT count(*) FROM event WHERE time >= ?1)",
		  now_s - window_s, 0, &ret->recent },
		{ "SELECT " SAMPLES " FROM keyframe k WHERE k.resolution IS NULL AND k.begins < ?2",
		  0, soon_s - db_time(keep->full_resolution_ns), &ret->full },
		{ "SELECT " SAMPLES
		  " FROM keyframe k WHERE k.resolution IS NOT NULL AND k.ends < ?2",
		  0, soon_s - db_time(MAX(keep->downsampled_ns, keep->full_resolution_ns)),
		  &ret->means },
		{ "SELECT count(*) FROM event WHERE time < ?2", 0,
		  soon_s - db_time(keep->events_ns), &ret->events },
		{ "SELECT count(*) * 60.0 / (SELECT sum(coalesce(ends, begins) - begins) FROM keyframe"
		  " WHERE resolution IS NULL) FROM snapshot WHERE resolution IS NULL",
		  0, 0, &ret->per_minute },
	};

	for (size_t i = 0; i < ARRAY_LEN(questions); i++)
		if (ask(r, questions[i].sql, questions[i].from, questions[i].to, questions[i].ret,
		        err) < 0)
			return -err->code;
	return 0;
}

int history_storage(struct history *r, const struct history_keep *keep, uint64_t now_ns,
                    struct history_storage *ret, struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	const double now_s = db_time(now_ns);
	double window_s = MIN(DAY_S, db_time(keep->full_resolution_ns)), per_row, condensed;
	int64_t page_bytes = 0;
	struct rows rows = { 0 };
	int result = history_begin(r, &scope, err);

	if (result == 0)
		result = db_int(r->db, "PRAGMA page_size", NULL, 0, &page_bytes, err);
	if (result == 0)
		result = count(r, keep, now_s, window_s, &rows, err);
	if (result < 0)
		return result;
	*ret = (struct history_storage){ (double)NAN, (double)NAN };
	window_s = MIN(window_s, now_s - rows.first_s);
	if (!(rows.all > 0) || !(window_s >= SPAN_MIN_S))
		return 0;
	per_row = rows.used_bytes * (double)page_bytes / rows.all;
	condensed = rows.per_minute > 1 ? 1 - 1 / rows.per_minute : 0;
	ret->growth_bytes_per_day = rows.recent * per_row * DAY_S / window_s;
	ret->freed_bytes_per_day = (rows.full * condensed + rows.means + rows.events) * per_row;
	return 0;
}
