/* SPDX-License-Identifier: MIT */
#include "cli/version.h"

#include <string.h>

#include "base/json.h"
#include "history/sql_query.h"

void version_put(struct buf *to)
{
	buf_puts(to, "proctor " PROCTOR_VERSION "\n");
	buf_printf(to, "features: BPF " PROCTOR_HAS_BPF ", SQLite %s\n", sql_query_version());
}

void version_json_put(struct buf *to)
{
	struct json j = { .out = to };

	json_begin_object(&j);
	json_put_u64(&j, "schema", 1);
	json_put_str(&j, "version", PROCTOR_VERSION);
	json_put_bool(&j, "bpf", strcmp(PROCTOR_HAS_BPF, "yes") == 0);
	json_put_str(&j, "sqlite_version", sql_query_version());
	json_end_object(&j);
	buf_putc(to, '\n');
}
