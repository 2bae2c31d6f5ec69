/* SPDX-License-Identifier: MIT */
/* store_locations.h - names the other stores of this machine if the job is not in the one that was
 * read. */
#pragma once

/* Logs that there is no store at `path`, and which others this user can read; returns
 * CLI_NOT_FOUND. */
int store_locations_tell_missing(const char *path);
/* The same for a job that the store does not have; NULL: it has none at all. */
int store_locations_tell_no_job(const char *path, const char *name);
