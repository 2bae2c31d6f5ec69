/* SPDX-License-Identifier: MIT */
/* gpu_fakes.h - the fake library and program of test/fake in place of the driver's, for tests that
 * are their own helper process. */
#pragma once

#include "base/clock.h"
#include "probe/gpu/gpu_helper.h"
#include "tree.h"

#define MIB (UINT64_C(1) << 20)
#define SELF "/proc/self/exe"
#define PATIENCE_NS (20 * NS_PER_S) /* of a test; a loaded machine is slow */

static inline void set_path(const char *variable, const char *name)
{
	const char *dir = getenv("PROCTOR_FAKE_DIR");
	char path[512];

	snprintf(path, sizeof path, "%s/%s", dir ? dir : ".", name);
	setenv(variable, path, 1);
}

static inline void use_library(const char *name, const char *mood)
{
	set_path(GPU_ENV_NVML, name);
	setenv("PROCTOR_FAKE_NVML", mood, 1);
}

static inline void use_program(const char *mood)
{
	const char *source = getenv("PROCTOR_SOURCE_DIR");
	char path[512];

	snprintf(path, sizeof path, "%s/test/fake/nvidia-smi", source ? source : ".");
	setenv(GPU_ENV_SMI, path, 1);
	setenv("PROCTOR_FAKE_SMI", mood, 1);
}

/* Instead of RUN_TESTS(): as the helper when started so, else the tests. */
#define RUN_TESTS_OR_HELP(...)                                                                     \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		const struct CMUnitTest tests[] = { __VA_ARGS__ };                                 \
		if (argc > 1 && strcmp(argv[1], GPU_HELPER_VERB) == 0)                             \
			return gpu_helper_main(argc - 1, argv + 1);                                \
		return cmocka_run_group_tests(tests, NULL, NULL);                                  \
	}
