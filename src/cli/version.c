/* SPDX-License-Identifier: MIT */
#include "cli/version.h"

void version_put(struct buf *to)
{
	buf_puts(to, "proctor " PROCTOR_VERSION "\n");
	buf_puts(to, "features: BPF " PROCTOR_HAS_BPF "\n");
}
