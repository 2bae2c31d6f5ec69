/* SPDX-License-Identifier: MIT */
/* privileges.h - limits the daemon to what it needs: it may read everything and change nothing. */
#pragma once

#include "base/err.h"

/* Drops all other capabilities, for this process and its children, without a way to regain them. It
 * is not an error if some of the needed ones are missing. */
int privileges_drop(struct err *err) must_check;
/* The same for a helper that becomes other users, and may do nothing else. */
int privileges_keep_user_change(struct err *err) must_check;
