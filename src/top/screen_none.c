/* SPDX-License-Identifier: MIT */
/* screen_none.c - in place of the screen, where ncurses was not there at build time. */
#include <stdio.h>
#include <unistd.h>

#include "top/screen.h"

int screen_run(const struct top_options *o)
{
	(void)o;
	dprintf(STDERR_FILENO,
	        "proctor: built without ncurses (libncurses-dev), so there is no screen; "
	        "proctor top --once and --json work\n");
	return 1;
}
