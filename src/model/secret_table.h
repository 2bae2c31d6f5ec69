/* SPDX-License-Identifier: MIT */
/* secret_table.h - what secrets look like in command lines: the names before them, the options and
 * arguments of known programs, and the shapes of credentials. redact.c applies the tables;
 * test_redact.c tries each row. */
#pragma once

#include "base/scan.h"

enum secret_name {
	SECRET_NAME_NO,
	SECRET_NAME_MAYBE, /* the value decides: --key server.pem, --pass 2, --token <eos> */
	SECRET_NAME_YES,
};

/* A word in a name that announces a secret. */
struct secret_word {
	const char *word;
	bool is_ending;    /* longer parts that end in it count, too: PGPASSWORD, authtoken */
	bool must_be_last; /* --token, but not --token-dim */
	enum secret_name meaning;
};

/* A trailing '*' of a program matches anything. "login" is a verb of docker, podman, helm, az, … */
struct secret_option {
	const char *program, *option;
	bool attached_only; /* without an attached value it prompts, or means something else */
};

/* Arguments without an option before them: of `program`, after the word `verb` or after an option
 * with the letter `flag`, all but the first `kept` ones. */
struct secret_argument {
	const char *program, *verb;
	char flag;
	unsigned kept;
};

enum secret_chars { SECRET_CHARS_NAME, SECRET_CHARS_PATH };

/* The prefix of a credential, as issuers give them so that scanners like this one find them, and of
 * URLs that are secret as a whole. */
struct secret_shape {
	const char *prefix;
	size_t min_rest;
	enum secret_chars chars;
};

extern const struct secret_word secret_words[];
extern const size_t secret_words_len;
extern const struct secret_option secret_options[];
extern const size_t secret_options_len;
extern const struct secret_argument secret_arguments[];
extern const size_t secret_arguments_len;
extern const struct secret_shape secret_shapes[];
extern const size_t secret_shapes_len;
/* Commands that read a secret from standard input, as it appears in a script: echo x | chpasswd. */
extern const char *const secret_stdin_readers[];
extern const size_t secret_stdin_readers_len;

/* Whether a secret follows this key or option: "--db-password", "GITHUB_TOKEN", "clientSecret". */
enum secret_name secret_name_meaning(struct scan name);
/* No file, number or word is longer that is shown as the value of a SECRET_NAME_MAYBE. It bounds how much of a
 * value must be seen to judge it. */
#define SECRET_VALUE_MAX 255
/* Whether the value of a SECRET_NAME_MAYBE is none: a file, a small number, a word like "none". */
bool secret_value_is_harmless(struct scan value);
/* The length of the credential at the start of the text, recognised by its shape; 0: none. */
size_t secret_shape_len(struct scan text);
/* Whether this word is a program, or a verb of one, that has options for secrets. */
bool secret_option_has_program(struct scan word);
/* The length of the option at the start of the word that takes a secret for this program; 0: none.
 * The secret follows directly or, unless *ret_attached_only, as the next argument. */
size_t secret_option_len(struct scan program, struct scan word, bool *ret_attached_only);
bool secret_argument_has_program(struct scan word);
/* The row that this word of this program triggers; NULL: none. */
const struct secret_argument *secret_argument_after(struct scan program, struct scan word);
