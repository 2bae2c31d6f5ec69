/* SPDX-License-Identifier: MIT */
/* help.h - help for people, within 80 columns. */
#pragma once

#include "cli/cli.h"

/* Text that is written in lines of any length. A line that ends in a full stop stays the end of one; all
 * others are joined. Lines after the first begin with `indent` blanks; `column` is where the first begins. Words
 * in [brackets] stay together. */
void help_flow(struct buf *to, const char *text, size_t column, size_t indent);

/* One row of a table of options. */
void help_put_option(const struct opt *o, struct buf *to);
/* Whether a verb has this option: some have no --json. */
bool help_has_option(const struct cli *cli, const struct opt *o);

/* `proctor VERB --help`; as cli_print(). */
int help_print_verb(const struct cli *cli, const struct opt *opts);
/* `proctor --help`; `opts` is the table of main(). */
int help_print_all(const struct cli *cli, const struct opt *opts);
/* The verbs only, for `proctor` alone. */
void help_put_verbs(struct buf *to);
