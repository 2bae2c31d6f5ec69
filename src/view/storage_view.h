/* SPDX-License-Identifier: MIT */
/* storage_view.h - how large the store is and how it grows, in the words of `status` and `doctor`. */
#pragma once

#include "base/buf.h"

struct storage_facts {
	uint64_t store_bytes; /* with its WAL */
	uint64_t wal_bytes, jsonl_bytes;
	double growth_bytes_per_day, freed_bytes_per_day; /* estimates; NAN: not known */
};

/* "412 MiB (WAL 4.0 MiB), JSONL 61.0 MiB" */
void storage_view_put_size(const struct storage_facts *s, struct buf *to);
/* "grows by about 30.0 MiB a day; …"; nothing if it is not known. */
void storage_view_put_growth(const struct storage_facts *s, struct buf *to);
