/* SPDX-License-Identifier: MIT */
#include "model/anomaly.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

const struct anomaly_info anomaly_kinds[] = {
#define X(id, key_, name_, scope_, description_, scale_, less_)                                    \
	[ANOMALY_##id] = { .key = #key_,                                                           \
		           .name = (name_),                                                        \
		           .scope = ANOMALY_OF_##scope_,                                           \
		           .description = (description_),                                          \
		           .scale = (scale_),                                                      \
		           .less_is_worse = (less_) },
	ANOMALY_KINDS(X)
#undef X
};

static const char *const severities[] = {
#define X(id, name) [SEVERITY_##id] = (name),
	SEVERITIES(X)
#undef X
};

const char *anomaly_severity_name(enum severity severity)
{
	return severities[severity];
}

double anomaly_shown(enum anomaly_kind kind, double value)
{
	return value * anomaly_kinds[kind].scale;
}

const char *anomaly_basis(uint32_t runs)
{
	return runs ? "history" : "threshold";
}

/* ---- words ----------------------------------------------------------------------------------- */

static void put_time(struct buf *to, double ns)
{
	double s = ns / 1e9;

	if (s < 9.95)
		buf_printf(to, "%.1f s", s);
	else if (s < 119.5)
		buf_printf(to, "%.0f s", s);
	else
		buf_printf(to, "%.0f min", s / 60);
}

static double between_ns(uint64_t from, uint64_t to)
{
	return to > from ? (double)(to - from) : 0;
}

/* The largest of its amounts that are bytes. */
static double most_bytes(const struct anomaly *a)
{
	double most = MAX(isfinite(a->base) ? a->base : 0, a->other);

	return anomaly_kinds[a->kind].scale < 1e-8 ? most : MAX(most, a->peak);
}

static void put_bytes(const struct anomaly *a, char word, struct buf *to)
{
	unsigned unit = MAX(text_byte_unit(most_bytes(a)), 1U); /* KiB */
	char amount[TEXT_BYTES_MAX];

	if (word == 'u') {
		buf_puts(to, text_byte_unit_name(unit));
		return;
	}
	text_put_bytes_in(word == 'b' ? a->base : word == 'o' ? a->other : a->peak, unit, amount);
	buf_puts(to, amount);
}

static void put_word(const struct anomaly *a, char word, struct buf *to)
{
	if (strchr("bpou", word))
		put_bytes(a, word, to);
	else if (word == 'c')
		buf_printf(to, "%.0f %%", a->peak * 100);
	else if (word == 'B' || word == 'P')
		buf_printf(to, "%.0f", word == 'B' ? a->base : a->peak);
	else if (word == 't')
		put_time(to, a->peak);
	else if (word == 'r')
		buf_printf(to, "%u", a->runs);
	else if (word == 'x')
		buf_puts(to, a->text);
	else
		put_time(to, between_ns(a->base_boot_ns,
		                        word == 'd' ? a->peak_boot_ns : a->seen_boot_ns));
}

void anomaly_describe(const struct anomaly *a, struct buf *to)
{
	const struct anomaly_info *kind = &anomaly_kinds[a->kind];

	buf_printf(to, "%s: ", kind->name);
	if (a->id.pid)
		buf_printf(to, "%.*s %d ", (int)strnlen(a->comm, COMM_LEN), a->comm, a->id.pid);
	for (const char *p = kind->description; *p; p++) {
		if (*p == '%')
			put_word(a, *++p, to);
		else
			buf_putc(to, *p);
	}
	if (a->runs && !strstr(kind->description, "%r"))
		buf_printf(to, ", not in %u earlier runs", a->runs);
}
