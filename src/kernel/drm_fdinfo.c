/* SPDX-License-Identifier: MIT */
#include "kernel/drm_fdinfo.h"

#include <string.h>

/* A kind of memory, by the most exact key about it. */
struct region {
	char name[DRM_NAME_MAX];
	unsigned rank;
	uint64_t bytes;
};

/* The values of the keys about one kind of engine. */
struct engine_keys {
	char name[DRM_NAME_MAX];
	bool has_time, has_cycles;
	uint64_t ns, cycles, total_cycles, capacity;
};

struct parse {
	struct drm_client *client;
	struct engine_keys engines[DRM_ENGINES_MAX];
	size_t engine_count;
	struct region regions[DRM_REGIONS_MAX];
	size_t region_count;
};

static void copy_name(struct scan text, char to[DRM_NAME_MAX])
{
	size_t n = scan_left(&text);

	if (n >= DRM_NAME_MAX || memchr(text.p, '\0', n))
		n = 0;
	memcpy(to, text.p, n);
	to[n] = '\0';
}

static bool is_name(const char *name, struct scan text)
{
	return scan_eq(&text, name);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool parse_number(struct scan value, uint64_t *ret)
{
	uint64_t v;

	if (!scan_u64(&value, &v))
		return false;
	scan_blanks(&value);
	if (!scan_at_end(&value))
		return false;
	*ret = v;
	return true;
}

/* "75332 KiB", "16 MiB", or bytes without a unit. */
static bool parse_bytes(struct scan value, uint64_t *ret)
{
	static const struct {
		const char *name;
		unsigned shift;
	} units[] = { { "KiB", 10 }, { "MiB", 20 }, { "GiB", 30 } };
	uint64_t v;

	if (!scan_u64(&value, &v))
		return false;
	scan_blanks(&value);
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (!scan_lit(&value, units[i].name))
			continue;
		if (v > UINT64_MAX >> units[i].shift)
			return false;
		v <<= units[i].shift;
		break;
	}
	scan_blanks(&value);
	if (!scan_at_end(&value))
		return false;
	*ret = v;
	return true;
}

/* "9288864723 ns" */
static bool parse_ns(struct scan value, uint64_t *ret)
{
	uint64_t v;

	if (!scan_u64(&value, &v))
		return false;
	scan_blanks(&value);
	if (!scan_lit(&value, "ns"))
		return false;
	scan_blanks(&value);
	if (!scan_at_end(&value))
		return false;
	*ret = v;
	return true;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static struct engine_keys *find_engine(struct parse *p, struct scan name)
{
	struct engine_keys *e;

	if (scan_at_end(&name) || scan_left(&name) >= DRM_NAME_MAX)
		return NULL;
	for (size_t i = 0; i < p->engine_count; i++)
		if (is_name(p->engines[i].name, name))
			return &p->engines[i];
	if (p->engine_count == DRM_ENGINES_MAX)
		return NULL;
	e = &p->engines[p->engine_count++];
	*e = (struct engine_keys){ .capacity = 1 };
	copy_name(name, e->name);
	return e;
}

static struct region *find_region(struct parse *p, struct scan name)
{
	struct region *r;

	if (scan_at_end(&name) || scan_left(&name) >= DRM_NAME_MAX)
		return NULL;
	for (size_t i = 0; i < p->region_count; i++)
		if (is_name(p->regions[i].name, name))
			return &p->regions[i];
	if (p->region_count == DRM_REGIONS_MAX)
		return NULL;
	r = &p->regions[p->region_count++];
	*r = (struct region){ 0 };
	copy_name(name, r->name);
	return r;
}

/* `total` counts what was allocated, in memory or not; `memory` is the older name of `resident`. */
enum { RANK_TOTAL = 1, RANK_MEMORY, RANK_RESIDENT };

static void take_region(struct parse *p, struct scan name, struct scan value, unsigned rank)
{
	uint64_t bytes;
	struct region *r = parse_bytes(value, &bytes) ? find_region(p, name) : NULL;

	if (!r || r->rank > rank)
		return;
	r->rank = rank;
	r->bytes = bytes;
}

static void take_time(struct parse *p, struct scan name, struct scan value)
{
	uint64_t ns;
	struct engine_keys *e = parse_ns(value, &ns) ? find_engine(p, name) : NULL;

	if (!e)
		return;
	e->has_time = true;
	e->ns = ns;
}

static void take_cycles(struct parse *p, struct scan name, struct scan value)
{
	uint64_t cycles;
	struct engine_keys *e = parse_number(value, &cycles) ? find_engine(p, name) : NULL;

	if (!e)
		return;
	e->has_cycles = true;
	e->cycles = cycles;
}

static void take_total_cycles(struct parse *p, struct scan name, struct scan value)
{
	uint64_t cycles;
	struct engine_keys *e = parse_number(value, &cycles) ? find_engine(p, name) : NULL;

	if (e)
		e->total_cycles = cycles;
}

static void take_capacity(struct parse *p, struct scan name, struct scan value)
{
	uint64_t n;
	struct engine_keys *e = parse_number(value, &n) ? find_engine(p, name) : NULL;

	if (e && n)
		e->capacity = n;
}

static void take_line(struct parse *p, struct scan key, struct scan value)
{
	struct drm_client *c = p->client;
	uint64_t v;

	if (!scan_lit(&key, "drm-"))
		return;
	if (scan_eq(&key, "driver")) {
		copy_name(value, c->driver);
	} else if (scan_eq(&key, "pdev")) {
		copy_name(value, c->bus);
	} else if (scan_eq(&key, "client-id")) {
		c->has_id = parse_number(value, &v);
		c->id = c->has_id ? v : 0;
	} else if (scan_lit(&key, "engine-capacity-")) {
		take_capacity(p, key, value);
	} else if (scan_lit(&key, "engine-")) {
		take_time(p, key, value);
	} else if (scan_lit(&key, "total-cycles-")) {
		take_total_cycles(p, key, value);
	} else if (scan_lit(&key, "cycles-")) {
		take_cycles(p, key, value);
	} else if (scan_lit(&key, "resident-")) {
		take_region(p, key, value, RANK_RESIDENT);
	} else if (scan_lit(&key, "memory-")) {
		take_region(p, key, value, RANK_MEMORY);
	} else if (scan_lit(&key, "total-")) {
		take_region(p, key, value, RANK_TOTAL);
	}
}

/* ---- one client ------------------------------------------------------------------------------ */

/* The GPU's own memory: "vram" (amdgpu), "vram0" (xe), "local0" (i915). */
static bool is_local(const struct region *r)
{
	return strncmp(r->name, "vram", 4) == 0 || strncmp(r->name, "local", 5) == 0;
}

static void sum_regions(const struct parse *p)
{
	struct drm_client *c = p->client;
	bool has_local = false;

	for (size_t i = 0; i < p->region_count; i++)
		has_local |= is_local(&p->regions[i]);
	for (size_t i = 0; i < p->region_count; i++) {
		if (has_local && !is_local(&p->regions[i]))
			continue;
		c->has_memory = true;
		if (c->memory_bytes + p->regions[i].bytes >= c->memory_bytes)
			c->memory_bytes += p->regions[i].bytes;
	}
}

/* Time is preferred to cycles: panfrost has both, and no total of cycles. An engine of which only the
 * capacity is known, or cycles without a total, is left out. */
static void keep_engines(const struct parse *p)
{
	struct drm_client *c = p->client;

	for (size_t i = 0; i < p->engine_count; i++) {
		const struct engine_keys *from = &p->engines[i];
		struct drm_engine *to = &c->engines[c->engine_count];

		if (!from->has_time && !(from->has_cycles && from->total_cycles))
			continue;
		*to = (struct drm_engine){ .busy = from->has_time ? from->ns : from->cycles,
			                   .total = from->has_time ? 0 : from->total_cycles,
			                   .capacity = from->capacity };
		memcpy(to->name, from->name, sizeof to->name);
		c->engine_count++;
	}
}

static void trim(struct scan *s)
{
	scan_blanks(s);
	while (s->end > s->p && (s->end[-1] == ' ' || s->end[-1] == '\t'))
		s->end--;
}

static void parse_client(struct scan text, struct drm_client *c)
{
	struct parse p = { .client = c };
	struct scan line, key;

	while (scan_line(&text, &line)) {
		if (!scan_until(&line, ':', &key))
			continue;
		trim(&line);
		take_line(&p, key, line);
	}
	sum_regions(&p);
	keep_engines(&p);
}

/* Up to the next mark. */
static struct scan take_text(struct scan *texts)
{
	struct scan ret = { texts->p, texts->p }, rest = *texts, line;

	while (!scan_at_end(&rest) && *rest.p != DRM_FDINFO_MARK && scan_line(&rest, &line))
		ret.end = rest.p;
	*texts = rest;
	return ret;
}

bool drm_fdinfo_next(struct scan *texts, struct drm_client *ret)
{
	struct scan node;

	take_text(texts); /* what stands before the first mark is not ours */
	if (!scan_line(texts, &node))
		return false;
	node.p++;
	*ret = (struct drm_client){ 0 };
	copy_name(node, ret->node);
	parse_client(take_text(texts), ret);
	return true;
}

bool drm_client_is_rest(const struct drm_client *c)
{
	return !c->node[0];
}
