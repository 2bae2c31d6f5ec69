/* SPDX-License-Identifier: MIT */
/* supervisor.h - systemd's protocols for services (notification, watchdog, socket activation) without
 * its library. Without a supervisor these functions do nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* "READY=1", "STATUS=…"; several lines are allowed. */
void supervisor_notify(const char *lines);
/* The interval within which WATCHDOG=1 is expected; 0: it is not. */
uint64_t supervisor_watchdog_ns(void);
/* The listening unix socket that we were started with: 1, or 0 if there is none. Its environment
 * variables are removed, so that our children do not use it. */
int supervisor_socket(int *ret_fd, struct err *err) must_check;
/* Whether we are the main process of a unit: its control group and limits are then ours alone. */
bool supervisor_started_us(void);
