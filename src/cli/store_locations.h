/* SPDX-License-Identifier: MIT */
/* store_locations.h - the other stores there may be, for who looked into the wrong one. */
#pragma once

/* Says that there is no store at `path`, and which others this user can read; returns
 * CLI_NOT_FOUND. */
int store_locations_tell_missing(const char *path);
/* The same for a job that the store does not have; NULL: it has none at all. */
int store_locations_tell_no_job(const char *path, const char *name);
