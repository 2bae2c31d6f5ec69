/* SPDX-License-Identifier: MIT */
/* help.h - help for people, within 80 columns. */
#pragma once

#include "cli/cli.h"

/* Whether a verb has this option: some have no --json. */
bool help_has_option(const struct cli *cli, const struct opt *o);

/* `proctor VERB --help`; as cli_print(). */
int help_print_verb(const struct cli *cli, const struct opt *opts);
/* `proctor --help`; `opts` is the table of main(). */
int help_print_all(const struct cli *cli, const struct opt *opts);
/* The verbs only, for `proctor` alone. */
void help_put_verbs(struct buf *to);
