/* SPDX-License-Identifier: MIT */
/* Command lines: never more bytes than there is room, no NUL, and whatever came before, a password
 * stays hidden. */
#include <string.h>

#include "fuzz.h"
#include "model/redact.h"

#define CANARY "X9canaryX9"

static void check(const char *raw, size_t len)
{
	char to[500 + 1];

	for (size_t cap = 500; cap; cap /= 8) {
		size_t n;

		to[cap] = '#';
		n = redact_command(raw, len, to, cap);
		FUZZ_CHECK(n <= cap && to[cap] == '#');
		FUZZ_CHECK(!memchr(to, '\0', n));
		FUZZ_CHECK(!memmem(to, n, CANARY, strlen(CANARY)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const secrets[] = { "--password=" CANARY, "--db-token=" CANARY,
		                               "PGPASSWORD=" CANARY, "https://u:" CANARY "@h/",
		                               "Authorization: Basic " CANARY };
	char *raw = malloc(size + 64);

	if (!raw || memmem(data, size, "canary", 6)) {
		free(raw);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(secrets); i++) {
		if (size)
			memcpy(raw, data, size);
		raw[size] = '\0';
		memcpy(raw + size + 1, secrets[i], strlen(secrets[i]));
		check(raw, size + 1 + strlen(secrets[i]));
	}
	free(raw);
	return 0;
}
