/* SPDX-License-Identifier: MIT */
#include "cli/version.h"

#include "store/sql.h"

void version_put(struct buf *to)
{
	buf_puts(to, "proctor " PROCTOR_VERSION "\n");
	buf_printf(to, "features: BPF " PROCTOR_HAS_BPF ", SQLite %s\n", sql_version());
}
