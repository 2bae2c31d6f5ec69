/* SPDX-License-Identifier: MIT */
/* doctor_view.h - what works here, what does not and why, as `proctor doctor` shows it, for people and as
 * JSON. */
#pragma once

#include "base/json.h"
#include "base/vec.h"
#include "view/canvas.h"
#include "view/storage_view.h"

enum doctor_state {
	DOCTOR_WORKS,
	DOCTOR_DEGRADED,
	DOCTOR_ABSENT,
};

struct doctor_line {
	char name[32];   /* "tasks" */
	char source[64]; /* "BPF iterator" */
	enum doctor_state state;
	char note[400]; /* what it gives, or why it does not and what is lost by it */
	uint64_t lost;  /* events */
};

struct doctor_file {
	const char *path;
	bool skipped;
};

struct doctor_key {
	const char *section, *name, *reason;
};

#define DOCTOR_LINES_MAX 16
#define DOCTOR_FILES_MAX 256

struct doctor {
	const char *version, *kernel, *user;
	bool is_root;
	VEC(struct doctor_line) roles;
	VEC(struct doctor_line) plain; /* the roles that a plain user would have otherwise; empty:
	                                  none, or not tried */
	bool plain_tried;
	VEC(struct doctor_file) files;
	VEC(const char *) problems;    /* errors in these files */
	size_t problems_dropped;       /* not listed */
	VEC(struct doctor_key) unused; /* keys that are set, and have no effect for this user */
	const char *store_path;
	const char *fallback_reason; /* why it is not in the usual state directory; NULL: it is */
	const char *refused;         /* fallbacks, if none of them can be used either; else NULL */
	bool store_is_per_host;
	const char *file_system;       /* a network file system; NULL: none */
	enum doctor_state store_state; /* absent: none yet */
	char store_note[256];          /* "": nothing to add */
	struct storage_facts storage;
	uint64_t disk_free_bytes;
	bool has_disk_free;
};

void doctor_view_put(const struct doctor *d, struct canvas *to);
void doctor_view_json_put(const struct doctor *d, struct json *j);
void doctor_done(struct doctor *d);
