/* SPDX-License-Identifier: MIT */
/* reap.h - takes a child that has ended, with all that the kernel tells of it at that moment. */
#pragma once

#include "job/launch/launcher.h"

/* False when somebody else took it. */
bool reap_take(pid_t pid, struct launch_end *ret);
