/* SPDX-License-Identifier: MIT */
/* completion.h - what may stand at the cursor of a command line that is being typed. Pure: from the words, a
 * verb's table of options and its usage text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/opts.h"

#define COMPLETION_NO_COMMAND ((size_t)-1)

struct completion {
	const struct opt *value_of; /* the last word is a value of this option; NULL: it is not */
	const char *typed;          /* … as far as it was typed; else the word itself */
	bool is_option;             /* the last word begins an option */
	size_t words;               /* before the last that are neither options nor values */
	size_t first_word;          /* the index of the first of them */
	size_t command;             /* the index of a command's first word, up to the last */
};

/* How a verb's words are read: what follows in its usage text, options left out. */
struct completion_words {
	bool takes_command;  /* the first word that is none of these begins a command */
	bool number_first;   /* N: a number may precede the command */
	bool name_first;     /* NAME KEY=VALUE…: these do */
	char placeholders[128]; /* "JOB PID ", each followed by a blank */
};
void completion_read_usage(const char *usage, const struct opt *opts, bool takes_command,
                           struct completion_words *ret);
/* Whether a word of this kind may stand there. */
bool completion_takes(const struct completion_words *words, const char *placeholder);

/* words[0…n-1] follow the verb; the last, which there must be, ends at the cursor. */
void completion_find(const struct opt *opts, const struct completion_words *kinds,
                     char *const *words, size_t n, struct completion *ret);
/* The value that an option was given among the words, as --name VALUE or --name=VALUE; NULL: none. */
const char *completion_value(const struct opt *opts, char *const *words, size_t n,
                             const char *name);

/* Removes the quotes of a POSIX shell, in place; one that is not closed ends with the word. */
void completion_unquote(char *word);
