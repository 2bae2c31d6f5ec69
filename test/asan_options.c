/* SPDX-License-Identifier: MIT */
/* What a build with AddressSanitizer assumes unless ASAN_OPTIONS overrides it. Freed memory is held back, so that
 * its use is noticed: of that the default, 256 MiB, makes a process that creates a store as large as the jobs it
 * records, and half of its CPU time page faults. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "quarantine_size_mb=8";
}
