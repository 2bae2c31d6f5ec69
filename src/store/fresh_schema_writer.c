/* SPDX-License-Identifier: MIT */
/* fresh_schema_writer.c - a program of the build: runs all migrations in an empty database and prints the schema that
 * they lead to, as the source of `fresh_schema`. */
#include <stdio.h>

#include "store/fresh_schema.h"
#include "store/schema.h"

const char fresh_schema[] = "";

static int print_schema(sqlite3 *db, struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int r = db_prepare(db,
	                   "SELECT sql || ';' FROM sqlite_schema WHERE sql IS NOT NULL"
	                   " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid",
	                   &stmt, err);

	/* As characters: compilers need not accept a text of this length. */
	printf("#include \"store/fresh_schema.h\"\nconst char fresh_schema[] = {");
	while (r == 0 && (r = db_step(stmt, err)) > 0) {
		r = 0;
		for (const unsigned char *c = sqlite3_column_text(stmt, 0); c && *c; c++)
			printf("'\\x%02x',", *c);
	}
	printf("0};\n");
	return r;
}

int main(void)
{
	cleanup(db_closep) sqlite3 *db = NULL;
	struct err err = { 0 };
	int r = db_open(":memory:", DB_WRITE, &db, &err);

	if (r == 0)
		r = schema_apply(db, true, &err);
	if (r == 0)
		r = print_schema(db, &err);
	if (r < 0)
		fprintf(stderr, "fresh_schema_writer: %s\n", err.msg);
	return r < 0 || fflush(stdout) != 0;
}
