/* SPDX-License-Identifier: MIT */
/* redaction_rules.h - what gives a secret away: the name before it, an option of a certain program, or its
 * own shape. */
#pragma once

#include <stdbool.h>

#include "base/scan.h"

/* A key or option after which comes a secret: "--db-password", "GITHUB_TOKEN", "clientSecret". */
bool redaction_rule_is_name(struct scan name);
/* A header whose value may hold blanks: "Authorization", "Cookie". */
bool redaction_rule_is_header(struct scan name);

/* Whether this word is a program (or a verb of one) some of whose options take secrets. */
bool redaction_rule_knows_program(struct scan word);
/* Bytes of the option of this program that the word begins with and that takes a secret; 0: none.
 * The secret follows at once, or is the next argument (not when ret_attached_only). */
size_t redaction_rule_option_len(struct scan program, struct scan word, bool *ret_attached_only);

/* Bytes of the credential that the text begins with, by the shape its issuer gives it (AWS, GitHub
 * …); 0: none. */
size_t redaction_rule_shape_len(struct scan text);
