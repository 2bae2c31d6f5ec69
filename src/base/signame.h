/* SPDX-License-Identifier: MIT */
/* signame.h - signals by the names people know them by. */
#pragma once

struct signame {
	char at[16];
};

struct signame signame(int signal); /* "SIGSEGV", "SIGRTMIN+3", "signal 99" */
