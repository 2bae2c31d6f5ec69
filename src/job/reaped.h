/* SPDX-License-Identifier: MIT */
/* reaped.h - takes a child that has ended, with all that the kernel tells of it at that moment. */
#pragma once

#include "job/launcher.h"

/* False when somebody else took it. */
bool reaped_take(pid_t pid, struct launch_end *ret);
