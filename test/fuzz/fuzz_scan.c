/* SPDX-License-Identifier: MIT */
/* Every scan function on any bytes: none reads past the end, none leaves the text, and a failure
 * leaves the result alone. */
#include "base/scan.h"
#include "fuzz.h"

#define UNTOUCHED UINT64_C(0x5ca1ab1e)

static bool is_inside(const struct scan *s, const struct scan *whole)
{
	return s->p >= whole->p && s->p <= s->end && s->end <= whole->end;
}

static void check_numbers(struct scan whole)
{
	struct scan s = whole;
	uint64_t u = UNTOUCHED;
	double d = -7.0;

	FUZZ_CHECK(scan_u64(&s, &u) || u == UNTOUCHED);
	FUZZ_CHECK(is_inside(&s, &whole));
	s = whole, u = UNTOUCHED;
	FUZZ_CHECK(scan_hex(&s, &u) || u == UNTOUCHED);
	FUZZ_CHECK(is_inside(&s, &whole));
	for (unsigned decimals = 0; decimals <= 9; decimals++) {
		s = whole, u = UNTOUCHED;
		FUZZ_CHECK(scan_fixed(&s, decimals, &u) || u == UNTOUCHED);
		FUZZ_CHECK(is_inside(&s, &whole));
	}
	s = whole;
	FUZZ_CHECK(scan_double(&s, &d) || d == -7.0);
	FUZZ_CHECK(is_inside(&s, &whole));
}

static void check_pieces(struct scan whole, char mark)
{
	struct scan s = whole, piece = { 0 };

	while (scan_word(&s, &piece))
		FUZZ_CHECK(is_inside(&s, &whole) && is_inside(&piece, &whole) &&
		           scan_left(&piece) > 0);
	s = whole;
	while (scan_line(&s, &piece))
		FUZZ_CHECK(is_inside(&s, &whole) && is_inside(&piece, &whole));
	FUZZ_CHECK(scan_at_end(&s));
	s = whole;
	while (scan_until(&s, mark, &piece))
		FUZZ_CHECK(is_inside(&s, &whole) && is_inside(&piece, &whole));
	s = whole;
	scan_skip(&s, 3);
	scan_blanks(&s);
	scan_lit(&s, "ab");
	scan_eq(&s, "ab");
	FUZZ_CHECK(is_inside(&s, &whole));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scan whole = scan_mem((const char *)data, size);

	check_numbers(whole);
	check_pieces(whole, size ? (char)data[0] : ':');
	return 0;
}
