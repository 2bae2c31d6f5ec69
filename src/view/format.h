/* SPDX-License-Identifier: MIT */
/* format.h - numbers as people read them. The only place that makes percents of ratios. What is not
 * known is "-". Results are small values: use them as format_bytes(n).at within one expression. No
 * locale is asked. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct fmt {
	char at[40];
};

struct fmt format_bytes(uint64_t bytes); /* "812 B", "6.1 GiB", "412 MiB" */
struct fmt format_bytes_of(uint64_t part,
                           uint64_t whole); /* "2.1 of 8.0 GiB", "90 KiB of 8.0 GiB" */
struct fmt format_bytes_short(
	uint64_t bytes); /* "812", "6.1G", "412M": for columns with a unit in their head */
struct fmt format_memory_option(uint64_t bytes); /* "3G", "192M": as --mem and schedulers take it */
struct fmt format_rate_short(double bytes_per_s); /* the same; NAN: "-" */
struct fmt format_duration(
	uint64_t ns); /* "2.1ms", "412ms", "1.4s", "48s", "12m 41s", "3h 05m", "2d 4h" */
struct fmt format_duration_short(uint64_t ns); /* "48s", "12m41s", "3h05m", "2d04h" */
struct fmt format_percent(double ratio);       /* "0.3 %", "62 %", "412 %", "<0.1 %"; NAN: "-" */
struct fmt format_percent_bare(
	double ratio);               /* "0.3", "62.0", "412", "<0.1": for columns headed % */
struct fmt format_energy(double wh); /* "0.034 Wh", "52.8 Wh", "1.23 kWh"; NAN: "-" */
struct fmt format_count(uint64_t n); /* "1,234,567" */
/* Adds "3 too short" to a list; 0: nothing. */
void format_put_count(struct buf *to, uint64_t n, const char *what);
struct fmt format_milli(uint64_t milli, unsigned decimals); /* thousandths: 3412 with 2 → "3.41" */
struct fmt format_time(uint64_t wall_ns);                   /* "2026-11-15 14:03:21", local time */
struct fmt format_clock(uint64_t wall_ns);                  /* "14:03:21", local time */
struct fmt format_when(uint64_t wall_ns,
                       uint64_t now_ns); /* "14:03 today", "14:03 yesterday", "2026-11-15 14:03" */
/* Since the start of something, all of one width for the same length: "+0.412s", "+9m20.4s" */
struct fmt format_offset(uint64_t ns);
/* "███████░░░" or "#######..." */
struct fmt format_bar(double ratio, bool unicode);
