/* SPDX-License-Identifier: MIT */
/* sheets.c - a program that reports what it does to proctor: three sheets, a phase, a mark.
 *
 *	cc sheets.c $(pkg-config --cflags --libs proctor) -o sheets
 *	proctor run -- ./sheets
 *
 * It also works without `proctor run` and without the daemon. */
#include <proctor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHEETS 3
#define MIB (1 << 20)

static void work(unsigned mib)
{
	char *memory = malloc((size_t)mib * MIB);

	if (memory)
		memset(memory, 1, (size_t)mib * MIB);
	free(memory);
}

int main(void)
{
	struct proctor *p = NULL;
	struct proctor_context now;

	if (proctor_open(NULL, &p) < 0)
		fprintf(stderr, "not recorded; working anyway\n");
	for (unsigned i = 1; i <= SHEETS; i++) {
		struct proctor_sheet sheet = { .num = i, .total = SHEETS, .label = "squares" };
		struct proctor_end failed = { .exit_code = 1 };

		if (p && proctor_sheet_start(p, &sheet) < 0)
			fprintf(stderr, "sheet %u: %s\n", i, proctor_error(p));
		work(8 * i);
		proctor_sheet_end(p, NULL, i, i == SHEETS ? &failed : NULL);
	}
	proctor_phase(p, "squares", 0.5, "{\"sheets\": 3}");
	proctor_mark(p, "done", NULL);
	if (proctor_context(p, 0, &now) == 0)
		printf("pressure here: %s\n", now.pressure[0] ? now.pressure : "unknown");
	proctor_close(p);
	return 0;
}
