/* SPDX-License-Identifier: MIT */
/* supervisor.h - what we and whoever started us as a service have to say to each other: systemd's
 * protocols, without its library. Where nobody supervises, nothing happens. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* "READY=1", "STATUS=…", several lines at once. */
void supervisor_tell(const char *lines);
/* Within which time WATCHDOG=1 is expected again and again; 0: nobody waits for it. */
uint64_t supervisor_watchdog_ns(void);
/* The listening unix socket that we were started with: 1, or 0 when there is none. What was said
 * about it is forgotten, so that nothing we start takes it for its own. */
int supervisor_socket(int *ret_fd, struct err *err) must_check;
/* Whether we are the first process of a unit of its own: its control group is ours alone then, and
 * so are its limits. */
bool supervisor_started_us(void);
