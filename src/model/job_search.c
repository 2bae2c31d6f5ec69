/* SPDX-License-Identifier: MIT */
#include "model/job_search.h"

#include <string.h>

#include "base/user_names.h"

/* NAME~N */
static void cut_back(struct job_search_reading *r)
{
	const char *tilde = memrchr(r->text.p, '~', scan_left(&r->text));
	struct scan number;
	uint64_t back;

	if (!tilde)
		return;
	number = scan_mem(tilde + 1, (size_t)(r->text.end - tilde - 1));
	if (!scan_u64(&number, &back) || !scan_at_end(&number))
		return;
	r->text.end = tilde;
	r->back = back;
	r->has_back = true;
}

static void add_reading(struct job_search *s, const char *text, bool of_one_user, uint32_t uid)
{
	struct job_search_reading *r = &s->readings[s->n_readings++];

	*r = (struct job_search_reading){
		.in_full = text, .text = scan_str(text), .of_one_user = of_one_user, .uid = uid
	};
	cut_back(r);
}

bool job_search_parse_key(const char *typed, struct job_key *ret)
{
	const char *colon = strchr(typed, ':');
	uint32_t uid;

	if (!colon || !colon[1] || !user_names_parse(typed, (size_t)(colon - typed), &uid))
		return false;
	*ret = (struct job_key){ uid, colon + 1 };
	return true;
}

bool job_search_init(struct job_search *s, const char *typed, uint32_t uid)
{
	struct job_key other;
	bool names_user = job_search_parse_key(typed, &other);

	*s = (struct job_search){ .uid = uid };
	add_reading(s, typed, names_user, uid);
	if (names_user)
		add_reading(s, other.id, true, other.uid);
	return scan_left(&s->readings[s->n_readings - 1].text) > 0;
}

/* With USER: and ~N taken off, which the ids of some jobs contain and their types may. */
static const struct job_search_reading *shortest(const struct job_search *s)
{
	return &s->readings[s->n_readings - 1];
}

static bool is_last(const struct job_search_reading *r)
{
	return scan_eq(&r->text, "last");
}

bool job_search_is_last(const struct job_search *s, struct job_search_last *ret)
{
	const struct job_search_reading *r = shortest(s);

	if (!is_last(r))
		return false;
	*ret = (struct job_search_last){ .count = (size_t)MIN(r->back, (uint64_t)INT32_MAX) + 1,
		                         .of_one_user = r->of_one_user,
		                         .uid = r->uid };
	return true;
}

/* The two ends around "…", as `ls` shortens an id; false: there is none. */
static bool split(struct scan text, struct scan *ret_head, struct scan *ret_tail)
{
	static const char *const signs[] = { "…", "..." };

	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		size_t len = strlen(signs[i]);
		const char *at = memmem(text.p, scan_left(&text), signs[i], len);

		if (!at)
			continue;
		*ret_head = scan_mem(text.p, (size_t)(at - text.p));
		*ret_tail = scan_mem(at + len, (size_t)(text.end - at) - len);
		return true;
	}
	return false;
}

struct scan job_search_part(const struct job_search *s)
{
	struct scan head, tail;

	if (!split(shortest(s)->text, &head, &tail))
		return shortest(s)->text;
	return scan_left(&head) > scan_left(&tail) ? head : tail;
}

static bool begins_with(const char *text, struct scan with)
{
	return strlen(text) >= scan_left(&with) && memcmp(text, with.p, scan_left(&with)) == 0;
}

static bool ends_with(const char *text, struct scan with)
{
	size_t len = strlen(text), n = scan_left(&with);

	return len >= n && memcmp(text + len - n, with.p, n) == 0;
}

static bool has_part(const char *id, struct scan text)
{
	struct scan head, tail;

	if (memmem(id, strlen(id), text.p, scan_left(&text)))
		return true;
	return split(text, &head, &tail) && strlen(id) >= scan_left(&head) + scan_left(&tail) &&
	       begins_with(id, head) && ends_with(id, tail);
}

static bool fits(const struct job_search *s, const struct job_search_reading *r,
                 enum job_search_rule rule, const struct job_offer *offer)
{
	switch (rule) {
	case JOB_BY_OWN_ID:
		return offer->uid == s->uid && strcmp(offer->id, r->in_full) == 0;
	case JOB_BY_ID:
		return strcmp(offer->id, r->in_full) == 0;
	case JOB_BY_LAST:
		return is_last(r);
	case JOB_BY_TYPE:
		return scan_eq(&r->text, offer->type);
	case JOB_BY_TYPE_BEGINNING:
		return begins_with(offer->type, r->text);
	case JOB_BY_ID_BEGINNING:
		return !r->has_back && begins_with(offer->id, r->text);
	case JOB_BY_ID_PART:
		return !r->has_back && has_part(offer->id, r->text);
	case JOB_SEARCH_RULES:
		break;
	}
	return false;
}

static void add_match(struct job_matches *to, uint64_t back, const struct job_offer *offer)
{
	if (to->n && strcmp(to->shown[0].type, offer->type) != 0)
		to->of_several_types = true;
	if (to->n < JOB_SEARCH_SHOWN)
		to->shown[to->n] = *offer;
	if (to->n == back)
		to->nth = *offer;
	to->n++;
}

void job_search_offer(struct job_search *s, const struct job_offer *offer)
{
	for (size_t i = 0; i < s->n_readings; i++) {
		struct job_search_reading *r = &s->readings[i];

		if (!scan_left(&r->text) || (r->of_one_user && r->uid != offer->uid))
			continue;
		for (int rule = 0; rule < JOB_SEARCH_RULES; rule++)
			if (fits(s, r, (enum job_search_rule)rule, offer))
				add_match(&r->by[rule], r->back, offer);
	}
}

/* These name runs, of which one is counted back to; the others name a single job. */
static bool names_runs(enum job_search_rule rule)
{
	return rule == JOB_BY_LAST || rule == JOB_BY_TYPE || rule == JOB_BY_TYPE_BEGINNING;
}

static const struct job_matches *decide(const struct job_search_reading *r,
                                        enum job_search_rule *ret_rule)
{
	for (int rule = 0; rule < JOB_SEARCH_RULES; rule++)
		if (r->by[rule].n) {
			*ret_rule = (enum job_search_rule)rule;
			return &r->by[rule];
		}
	return NULL;
}

const struct job_offer *job_search_end(const struct job_search *s,
                                       const struct job_matches **ret_several)
{
	const struct job_matches *found = NULL;
	enum job_search_rule rule = JOB_BY_ID;
	uint64_t back = 0;

	*ret_several = NULL;
	for (size_t i = 0; i < s->n_readings && !found; i++) {
		found = decide(&s->readings[i], &rule);
		back = s->readings[i].back;
	}
	if (!found)
		return NULL;
	if (names_runs(rule) && !(rule == JOB_BY_TYPE_BEGINNING && found->of_several_types))
		return found->n > back ? &found->nth : NULL;
	if (found->n == 1)
		return &found->shown[0];
	*ret_several = found;
	return NULL;
}
