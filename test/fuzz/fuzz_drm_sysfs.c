/* SPDX-License-Identifier: MIT */
/* uevent and the clocks of amdgpu, each parser on any bytes. */
#include <string.h>

#include "fuzz.h"
#include "probe/gpu/amdgpu.h"
#include "probe/gpu/drm_devices.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scan text = scan_mem((const char *)data, size);
	struct drm_uevent u;
	uint64_t mhz = 7;

	drm_uevent_parse(text, &u);
	FUZZ_CHECK(memchr(u.driver, '\0', sizeof u.driver) && memchr(u.bus, '\0', sizeof u.bus) &&
	           memchr(u.id, '\0', sizeof u.id));
	FUZZ_CHECK(amdgpu_parse_clock(text, &mhz) || mhz == 7);
	return 0;
}
