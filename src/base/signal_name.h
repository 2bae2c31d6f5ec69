/* SPDX-License-Identifier: MIT */
/* signal_name.h - the names of signals. */
#pragma once

struct signal_name {
	char at[16];
};

struct signal_name signal_name(int signal); /* "SIGSEGV", "SIGRTMIN+3", "signal 99" */
