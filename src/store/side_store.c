/* SPDX-License-Identifier: MIT */
#include "store/side_store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "sqlite/db_file.h"
#include "store/store_schema.h"
#include "store/store_handle.h"

#define FIRST_VERSION 5 /* older programs refuse a newer database instead */

/* A recorder that has not ended and holds its byte in the lock. 1, 0 or -errno. */
static int has_live_recorder(sqlite3 *db, const struct db_lock *lock, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_prepare(db, "SELECT id FROM recorder WHERE ended IS NULL", &stmt, err);

	if (r < 0)
		return r;
	while ((r = db_step(stmt, err)) > 0) {
		int64_t id = sqlite3_column_int64(stmt, 0);

		if (id > 0 && db_lock_is_taken(lock, id))
			return 1;
	}
	return r;
}

/* Whether another connection is open, in whatever process: SQLite grants exclusive access only without
 * one. Ours must be closed meanwhile. 1, 0 or -errno. */
static int is_open_elsewhere(const char *path, struct err *err)
{
	cleanup(db_closep) sqlite3 *db = NULL;
	struct err busy;
	int r = db_open(path, DB_WRITE, &db, err);

	if (r < 0)
		return r;
	sqlite3_busy_timeout(db, 0);
	r = db_exec(db, "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; ROLLBACK", &busy);
	if (r < 0 && r != -EBUSY)
		*err = busy;
	return r == -EBUSY ? 1 : r;
}

/* A brief recorder adds its row, and takes its byte, only after it has opened the database: without one
 * in sight, anyone who has it open may be about to. Nobody else opens it while we hold the lock. */
int side_store_is_blocked(struct store *st, struct err *err)
{
	int64_t version = 0;
	int r = db_int(st->db, "PRAGMA user_version", NULL, 0, &version, err);

	if (r < 0 || version == 0 || version >= SCHEMA_VERSION)
		return r;
	r = has_live_recorder(st->db, &st->write, err);
	if (r)
		return r;
	db_close(st->db);
	st->db = NULL;
	r = is_open_elsewhere(st->path, err);
	return r ? r : db_open(st->path, DB_WRITE, &st->db, err);
}

int side_store_path(const char *path, int version, char *ret, size_t size, struct err *err)
{
	const char *slash = strrchr(path, '/');
	int n = snprintf(ret, size, "%.*sside-v%d/%s", slash ? (int)(slash - path + 1) : 0, path,
	                 version, slash ? slash + 1 : path);

	return n < (int)size ? 0 : err_set(err, ENAMETOOLONG, "'%s': name too long", path);
}

/* How far the ids of each kind move. Those of processes move by whole rounds of slots, so that each
 * keeps its slot in its keyframe. */
static int read_offsets(sqlite3 *db, int64_t ret[ID_KINDS], struct err *err)
{
	static const char *const texts[ID_KINDS] = {
		[ID_RECORDER] = "SELECT coalesce(max(id), 0) FROM main.recorder",
		[ID_KEYFRAME] = "SELECT coalesce(max(id), 0) FROM main.keyframe",
		[ID_SNAPSHOT] = "SELECT coalesce(max(id), 0) FROM main.snapshot",
		[ID_PROCESS] =
			"SELECT (coalesce(max(id), 0) / 1048576 + 1) * 1048576 FROM main.process",
		[ID_JOB] = "SELECT coalesce(max(id), 0) FROM main.job",
		[ID_EVENT] = "SELECT coalesce(max(id), 0) FROM main.event",
	};
	int r = 0;

	static_assert(SCHEMA_SLOTS == 1048576, "the number above");
	for (int i = 0; r == 0 && i < ID_KINDS; i++)
		if (texts[i])
			r = db_int(db, texts[i], NULL, 0, &ret[i], err);
	ret[ID_ANOMALY] = ret[ID_RECORDER] << SCHEMA_EPISODE_BITS;
	ret[ID_SAMPLE] = ret[ID_KEYFRAME] << SCHEMA_AT_BITS;
	return r;
}

static enum id_kind kind_of(const struct table_ids *t, const char *column)
{
	for (size_t i = 0; i < ARRAY_LEN(t->ids) && t->ids[i].column; i++)
		if (!strcmp(t->ids[i].column, column))
			return t->ids[i].kind;
	return ID_NONE;
}

/* INSERT INTO main.T(a, b) SELECT a + offset, b FROM side.T */
static int import_table(sqlite3 *db, const struct table_ids *t, const int64_t offsets[ID_KINDS],
                        struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	cleanup(buf_done) struct buf names = { 0 }, values = { 0 }, sql = { 0 };
	int r = db_query(db, "SELECT name FROM pragma_table_info(?1, 'side')",
	                 BINDS(bind_str(t->table)), &stmt, err);

	if (r < 0)
		return r;
	while ((r = db_step(stmt, err)) > 0) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);
		enum id_kind kind = kind_of(t, name);

		buf_printf(&names, "%s%s", names.len ? ", " : "", name);
		buf_puts(&values, values.len ? ", " : "");
		if (kind == ID_DEVICE)
			buf_printf(&values,
			           "(SELECT n.id FROM side.gpu_device o JOIN main.gpu_device n"
			           " ON n.uuid = o.uuid AND n.name = o.name WHERE o.id = s.%s)",
			           name);
		else
			buf_printf(&values, kind ? "s.%s + %lld" : "s.%s", name,
			           (long long)offsets[kind]);
	}
	if (r < 0)
		return r;
	buf_printf(&sql, "INSERT INTO main.%s(%s) SELECT %s FROM side.%s s", t->table, names.at,
	           values.at, t->table);
	return db_exec(db, sql.at, err);
}

/* A job whose id the user has used again meanwhile becomes ID.2, ID.3 …, as usual. */
static const char rename_jobs[] =
	"UPDATE side.job AS s SET job_id = (WITH RECURSIVE c(n) AS (SELECT 2 UNION ALL SELECT n + 1"
	" FROM c WHERE n < 100000) SELECT s.job_id || '.' || n FROM c WHERE NOT EXISTS (SELECT 1"
	" FROM main.job m WHERE m.job_id = s.job_id || '.' || n AND m.uid = s.uid) AND NOT EXISTS"
	" (SELECT 1 FROM side.job o WHERE o.job_id = s.job_id || '.' || n AND o.uid = s.uid) LIMIT 1)"
	" WHERE EXISTS (SELECT 1 FROM main.job m WHERE m.job_id = s.job_id AND m.uid = s.uid)";

static int import_one_table(sqlite3 *db, const struct store_table *table,
                            const int64_t offsets[ID_KINDS], struct err *err)
{
	int r = 0;

	for (const struct table_import *t = table->imports; r == 0 && t && t->table; t++)
		r = db_exec(db, t->sql, err);
	for (const struct table_ids *t = table->ids; r == 0 && t && t->table; t++)
		r = import_table(db, t, offsets, err);
	return r;
}

static int import_tables(sqlite3 *db, const char *mark, struct err *err)
{
	int64_t offsets[ID_KINDS] = { 0 };
	int r = read_offsets(db, offsets, err);

	if (r == 0)
		r = db_exec(db, rename_jobs, err);
	for (size_t i = 0; r == 0 && i < store_table_count; i++)
		r = import_one_table(db, store_tables[i], offsets, err);
	return r < 0 ? r
	             : db_do(db, "INSERT OR REPLACE INTO main.meta VALUES('imported', ?1)",
	                     BINDS(bind_str(mark)), err);
}

/* Unless it was imported before, and only its removal is left. */
static int import_attached(struct store *st, const char *mark, struct err *err)
{
	int64_t is_imported = 0;
	int r = db_int(st->db, "SELECT value = ?1 FROM main.meta WHERE key = 'imported'",
	               BINDS(bind_str(mark)), &is_imported, err);

	if (r < 0 || is_imported)
		return r;
	r = db_exec(st->db, "BEGIN IMMEDIATE", err);
	if (r < 0)
		return r;
	r = import_tables(st->db, mark, err);
	if (r == 0)
		r = db_exec(st->db, "COMMIT", err);
	if (r < 0)
		sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

/* 1 when it may be imported: no recorder writes to it, and it has our schema now. */
static int prepare_side(const char *path, const struct db_lock *lock, struct err *err)
{
	cleanup(db_closep) sqlite3 *db = NULL;
	bool is_new = false;
	int r = db_open(path, DB_WRITE, &db, err);

	if (r == 0)
		r = db_file_judge(db, &is_new, err);
	if (r == 0 && !is_new)
		r = has_live_recorder(db, lock, err);
	if (r)
		return MIN(r, 0);
	r = store_schema_apply(db, false, err);
	return r < 0 ? r : 1;
}

static void remove_side(const char *path)
{
	static const char *const ends[] = { "", "-wal", "-shm" };
	char name[4200];

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		snprintf(name, sizeof name, "%s%s", path, ends[i]);
		unlink(name);
	}
	db_file_beside(path, "write.lock", name, sizeof name);
	unlink(name);
	*strrchr(name, '/') = '\0';
	rmdir(name); /* unless something else is in it */
}

static int import_locked(struct store *st, const char *path, const struct db_lock *lock,
                         struct err *err)
{
	struct stat file;
	char mark[64];
	int r = prepare_side(path, lock, err);

	if (r <= 0 || stat(path, &file) < 0)
		return MIN(r, 0);
	snprintf(mark, sizeof mark, "%llu.%lld.%09ld", (unsigned long long)file.st_ino,
	         (long long)file.st_ctim.tv_sec, file.st_ctim.tv_nsec);
	r = db_do(st->db, "ATTACH ?1 AS side", BINDS(bind_str(path)), err);
	if (r < 0)
		return r;
	r = import_attached(st, mark, err);
	sqlite3_exec(st->db, "DETACH side", NULL, NULL, NULL);
	if (r == 0)
		remove_side(path);
	return r;
}

static int import_one(struct store *st, const char *path, struct err *err)
{
	struct db_lock lock = { .fd = -1 };
	char name[4096];
	int r;

	db_file_beside(path, "write.lock", name, sizeof name);
	r = db_lock_open(&lock, name, err);
	if (r < 0)
		return r;
	r = db_lock_take(&lock, DB_LOCK_WRITING, 0);
	if (r == 0)
		r = import_locked(st, path, &lock, err);
	else if (r == -EBUSY)
		r = 0; /* next time */
	db_lock_close(&lock);
	return r;
}

int side_store_import(struct store *st, struct err *err)
{
	char path[4096];
	int r = 0;

	for (int version = FIRST_VERSION; r == 0 && version <= SCHEMA_VERSION; version++) {
		r = side_store_path(st->path, version, path, sizeof path, err);
		if (r == 0 && access(path, F_OK) == 0)
			r = import_one(st, path, err);
	}
	return r < 0 ? err_wrap(err, "import what was recorded beside it") : 0;
}
