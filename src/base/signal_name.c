/* SPDX-License-Identifier: MIT */
#include "base/signal_name.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

struct signal_name signal_name(int signal)
{
	const char *short_name = sigabbrev_np(signal);
	struct signal_name name;

	if (short_name)
		snprintf(name.at, sizeof name.at, "SIG%s", short_name);
	else if (signal == SIGRTMIN)
		snprintf(name.at, sizeof name.at, "SIGRTMIN");
	else if (signal > SIGRTMIN && signal <= SIGRTMAX)
		snprintf(name.at, sizeof name.at, "SIGRTMIN+%d", signal - SIGRTMIN);
	else
		snprintf(name.at, sizeof name.at, "signal %d", signal);
	return name;
}

bool signal_has_sender(int code)
{
	return code == SI_USER || code == SI_QUEUE || code == SI_TKILL;
}
