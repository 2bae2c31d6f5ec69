/* SPDX-License-Identifier: MIT */
#include "model/verdict.h"

#include <string.h>

#include "base/defs.h"

static const struct {
	const char *name, *words;
} codes[] = {
#define X(id, name_, words_) [VERDICT_##id] = { (name_), (words_) },
	VERDICT_CODES(X)
#undef X
};

static const char *const confidences[] = {
#define X(id, name) [CONFIDENCE_##id] = (name),
	VERDICT_CONFIDENCES(X)
#undef X
};

static const char *const sources[] = {
#define X(id, source) [EVIDENCE_##id] = (source),
	EVIDENCE_KINDS(X)
#undef X
};

const char *verdict_code_name(enum verdict_code code)
{
	return codes[code].name;
}

enum verdict_code verdict_code_find(const char *name)
{
	enum verdict_code code = 0;

	while (code < VERDICT_CODE_COUNT && strcmp(codes[code].name, name) != 0)
		code++;
	return code;
}

const char *verdict_code_words(enum verdict_code code)
{
	return codes[code].words;
}

const char *verdict_confidence_name(enum verdict_confidence confidence)
{
	return confidences[confidence];
}

const char *verdict_source(enum evidence_kind kind)
{
	return sources[kind];
}

struct evidence *verdict_add(struct verdict *v, enum evidence_kind kind)
{
	struct evidence *e = &v->evidence[MIN(v->n_evidence, (size_t)VERDICT_EVIDENCE_MAX - 1)];

	v->n_evidence = MIN(v->n_evidence + 1, (size_t)VERDICT_EVIDENCE_MAX);
	*e = (struct evidence){ .kind = kind };
	return e;
}
