/* SPDX-License-Identifier: MIT */
/* bpf_pidns.h - which pid namespace we are in, for the programs that report process ids. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct pidns {
	uint32_t level;  /* 0: the initial one */
	uint64_t reader; /* its address; not needed for the initial one */
};

int bpf_pidns_find(int root_fd, struct pidns *ret, struct err *err) must_check;
