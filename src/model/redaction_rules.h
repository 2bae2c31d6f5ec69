/* SPDX-License-Identifier: MIT */
/* redaction_rules.h - how secrets are recognised: by the name before them, by an option of a known
 * program, or by their own shape. */
#pragma once

#include <stdbool.h>

#include "base/scan.h"

/* Whether a secret follows this key or option: "--db-password", "GITHUB_TOKEN", "clientSecret". */
bool redaction_rule_is_name(struct scan name);
/* Whether it is a header whose value may contain blanks: "Authorization", "Cookie". */
bool redaction_rule_is_header(struct scan name);

/* Whether this word is a program, or a verb of one, that has options for secrets. */
bool redaction_rule_knows_program(struct scan word);
/* The length of the option at the start of the word that takes a secret for this program; 0: none.
 * The secret follows directly or, unless *ret_attached_only, as the next argument. */
size_t redaction_rule_option_len(struct scan program, struct scan word, bool *ret_attached_only);

/* The length of the credential at the start of the text, recognised by its issuer's prefix (AWS,
 * GitHub, …); 0: none. */
size_t redaction_rule_shape_len(struct scan text);
