/* SPDX-License-Identifier: MIT */
/* fresh_schema.h - the whole schema as SQL in one piece, for new databases: what all migrations together lead to.
 *
 * The build writes it (fresh_schema_writer.c) by running the migrations once. A new store that ran them itself
 * would add each of its columns on its own, and SQLite reads the whole schema again after each. */
#pragma once

/* Tables, indices and views; "" in the program that writes it. */
extern const char fresh_schema[];
/* Differs where that or the statistics for the planner do: stores with another stamp are brought up to date. */
extern const char fresh_schema_stamp[];
