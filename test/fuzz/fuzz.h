/* SPDX-License-Identifier: MIT */
/* fuzz.h - what every fuzz target is made of: one entry, and a check that ends the process when a
 * promise is broken. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/defs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(promise)                                                                        \
	do {                                                                                       \
		if (!(promise)) {                                                                  \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #promise);      \
			abort();                                                                   \
		}                                                                                  \
	} while (0)
