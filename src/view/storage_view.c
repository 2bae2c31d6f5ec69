/* SPDX-License-Identifier: MIT */
#include "view/storage_view.h"

#include <math.h>

#include "view/format.h"

void storage_view_put_size(const struct storage_facts *s, struct buf *to)
{
	buf_puts(to, format_bytes(s->store_bytes).at);
	if (s->wal_bytes)
		buf_printf(to, " (WAL %s)", format_bytes(s->wal_bytes).at);
	if (s->jsonl_bytes)
		buf_printf(to, ", JSONL %s", format_bytes(s->jsonl_bytes).at);
}

void storage_view_put_growth(const struct storage_facts *s, struct buf *to)
{
	if (s->growth_bytes_per_day > 0)
		buf_printf(to,
		           "grows by about %s a day; retention frees about %s a day (estimates)",
		           format_bytes((uint64_t)s->growth_bytes_per_day).at,
		           format_bytes((uint64_t)s->freed_bytes_per_day).at);
	else if (s->store_bytes && isnan(s->growth_bytes_per_day))
		buf_puts(to, "growth is not known yet: that takes an hour of records");
}
