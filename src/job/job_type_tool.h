/* SPDX-License-Identifier: MIT */
/* job_type_tool.h - programs that do not define the job themselves: those that run another program
 * (env, nice), those that run a script (python3), and those with subcommands (make, git). */
#pragma once

#include <stdbool.h>

#include "base/scan.h"

enum job_type_tool_kind {
	JOB_TYPE_TOOL_WRAPPER,     /* runs the rest of its arguments */
	JOB_TYPE_TOOL_INTERPRETER, /* runs a script, or a text */
	JOB_TYPE_TOOL_MULTIPLEXER, /* its first word is a subcommand */
};

/* Lists are words separated by blanks; NULL: empty. */
struct job_type_tool {
	const char *names;
	enum job_type_tool_kind kind;
	const char *valued; /* options whose value is the next argument */
	const char *text;   /* … whose next argument is the program itself */
	const char *script; /* … whose next argument names the script */
	const char *module; /* … whose next argument names a module that is run */
	const char *verbs;  /* multiplexer: options that are subcommands */
	const char *deeper; /* multiplexer: subcommands that need the second word, too */
	const char *only;   /* wrapper: only with this first argument, as in "uv run" */
	unsigned operands;  /* wrapper: words of its own before the command */
	bool has_long_dash; /* -name is one option, not four */
	bool word_is_text;  /* interpreter: its first word is the program itself */
};

/* NULL: not a tool. "python3.11" is found as "python". `next` is the next argument, or NULL. */
const struct job_type_tool *job_type_tool_find(struct scan name, const char *next);

enum type_arg {
	TYPE_ARG_WORD,
	TYPE_ARG_OPTION, /* without a value */
	TYPE_ARG_END,    /* "--" */
	/* For these the next argument is the value: */
	TYPE_ARG_VALUED,
	TYPE_ARG_TEXT,
	TYPE_ARG_SCRIPT,
	TYPE_ARG_MODULE,
};

/* The role of an argument of that tool. */
enum type_arg job_type_tool_arg(const struct job_type_tool *tool, const char *arg);
bool job_type_tool_lists(const char *list, struct scan word);
