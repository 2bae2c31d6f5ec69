/* SPDX-License-Identifier: MIT */
/* privileges.h - what a daemon may do for the rest of its life: look at everything, change nothing.
 * Root without its capabilities is little more than a user. */
#pragma once

#include "base/err.h"

/* Drops every capability but those it works with, for itself and for what it starts, and any way to
 * get them back. Those that it does not have are not missed. */
int privileges_drop(struct err *err) must_check;
