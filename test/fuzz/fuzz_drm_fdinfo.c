/* SPDX-License-Identifier: MIT */
/* The open files of a GPU: names end, counts stay within their bounds, and the text comes to an end. */
#include <string.h>

#include "fuzz.h"
#include "kernel/drm_fdinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scan text = scan_mem((const char *)data, size);
	struct drm_client c;
	size_t left = size + 1;

	while (drm_fdinfo_next(&text, &c)) {
		FUZZ_CHECK(scan_left(&text) < left);
		left = scan_left(&text);
		FUZZ_CHECK(memchr(c.node, '\0', sizeof c.node) &&
		           memchr(c.driver, '\0', sizeof c.driver) &&
		           memchr(c.bus, '\0', sizeof c.bus));
		FUZZ_CHECK(c.engine_count <= DRM_ENGINES_MAX);
		FUZZ_CHECK(c.has_memory || !c.memory_bytes);
		for (size_t i = 0; i < c.engine_count; i++)
			FUZZ_CHECK(c.engines[i].capacity && c.engines[i].name[0] &&
			           memchr(c.engines[i].name, '\0', DRM_NAME_MAX));
	}
	return 0;
}
