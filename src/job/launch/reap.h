/* SPDX-License-Identifier: MIT */
/* reap.h - reaps a child, with everything that the kernel reports about it. */
#pragma once

#include "job/launch/launcher.h"

/* False: it was reaped elsewhere. */
bool reap_take(pid_t pid, struct launch_end *ret);
