/* SPDX-License-Identifier: MIT */
#include "base/signame.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

struct signame signame(int signal)
{
	const char *short_name = sigabbrev_np(signal);
	struct signame name;

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
