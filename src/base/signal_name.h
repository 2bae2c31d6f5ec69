/* SPDX-License-Identifier: MIT */
/* signal_name.h - the names of signals, and whether a process sent one. */
#pragma once

#include <stdbool.h>

struct signal_name {
	char at[16];
};

/* By si_code. Those of the kernel and of timers have no sender. */
bool signal_has_sender(int code);
struct signal_name signal_name(int signal); /* "SIGSEGV", "SIGRTMIN+3", "signal 99" */
