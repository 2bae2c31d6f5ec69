/* SPDX-License-Identifier: MIT */
/* config_key.h - all keys of the configuration files: one row each, with its place in struct config
 * and its allowed values. */
#pragma once

#include "base/err.h"
#include "base/scan.h"
#include "config/config.h"

enum config_type {
	CONFIG_BOOL,      /* bool: true false yes no on off */
	CONFIG_SWITCH,    /* enum config_switch: a boolean, or auto */
	CONFIG_TIME,      /* uint64_t ns: a number in the key's unit, or with ms s m h d */
	CONFIG_BYTES,     /* uint64_t bytes: a number in the key's unit, or with K M G */
	CONFIG_COUNT,     /* uint64_t */
	CONFIG_FACTOR,    /* double */
	CONFIG_PERCENT,   /* double, stored as a ratio */
	CONFIG_PATH,      /* char[CONFIG_PATH_MAX], absolute */
	CONFIG_PROCESSES, /* enum process_selection */
};

/* Default and bounds are written as in a file, so that they are parsed by the same rules. */
struct config_key {
	const char *section, *name;
	enum config_type type;
	uint64_t unit; /* of a bare number: ns or bytes */
	size_t offset, size;
	const char *otherwise; /* the default; "auto": chosen at run time, and allowed in files */
	const char *min, *max; /* inclusive; NULL: none */
	bool above_min;        /* min itself is not allowed */
	const char *help;
	bool at_start;  /* read only when the daemon starts, not on reload */
};

#define CONFIG_KEYS_MAX 64
extern const struct config_key config_keys[]; /* ends with a NULL section */

/* The form of its values, in words. */
const char *config_type_values(enum config_type type);
/* true, yes, on; false, no, off. Any other text is refused. */
bool config_parse_bool(struct scan text, bool *ret);
/* NULL when there is none. */
const struct config_key *config_key_find(struct scan section, struct scan name);
bool config_has_section(struct scan section);
/* Stores the value in its place, or returns -EINVAL with the reason and stores nothing. */
int config_key_set(const struct config_key *key, struct scan value, struct config *to,
                   struct err *err) must_check;
/* Whether both have the same value. */
bool config_key_eq(const struct config_key *key, const struct config *a, const struct config *b);
