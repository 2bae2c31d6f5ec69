/* SPDX-License-Identifier: MIT */
/* fresh_schema_writer.c - a program of the build: runs all migrations in an empty database and prints the schema that
 * they lead to, as the source of `fresh_schema`. */
#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "store/fresh_schema.h"
#include "store/store_schema.h"

const char fresh_schema[] = "", fresh_schema_stamp[] = "";

/* As characters: compilers need not accept a text of this length. */
static void print_text(const char *name, const char *text)
{
	printf("const char %s[] = {", name);
	for (const char *c = text; *c; c++)
		printf("'\\x%02x',", (unsigned char)*c);
	printf("0};\n");
}

/* The texts that the query selects, each with a ';'. */
static int read_texts(sqlite3 *db, const char *sql, struct buf *to, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_prepare(db, sql, &stmt, err);

	while (r == 0 && (r = db_step(stmt, err)) > 0) {
		buf_printf(to, "%s;", (const char *)sqlite3_column_text(stmt, 0));
		r = 0;
	}
	return r;
}

static int print_schema(sqlite3 *db, struct err *err)
{
	cleanup(buf_done) struct buf schema = { 0 }, stats = { 0 };
	char stamp[17];
	uint64_t hash;
	int r = read_texts(db,
	                   "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"
	                   " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid",
	                   &schema, err);

	if (r == 0)
		r = read_texts(
			db,
			"SELECT tbl || ' ' || coalesce(idx, '') || ' ' || stat FROM sqlite_stat1 ORDER BY 1",
			&stats, err);
	if (r < 0)
		return r;
	hash = hash_bytes(HASH_SEED, schema.at, schema.len);
	snprintf(stamp, sizeof stamp, "%016" PRIx64, hash_bytes(hash, stats.at, stats.len));
	printf("#include \"store/fresh_schema.h\"\n");
	print_text("fresh_schema", schema.at);
	print_text("fresh_schema_stamp", stamp);
	return 0;
}

int main(void)
{
	cleanup(db_closep) sqlite3 *db = NULL;
	struct err err = { 0 };
	int r = db_open(":memory:", DB_WRITE, &db, &err);

	if (r == 0)
		r = store_schema_apply(db, true, &err);
	if (r == 0)
		r = print_schema(db, &err);
	if (r < 0)
		fprintf(stderr, "fresh_schema_writer: %s\n", err.msg);
	return r < 0 || fflush(stdout) != 0;
}
