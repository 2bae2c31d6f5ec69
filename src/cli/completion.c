/* SPDX-License-Identifier: MIT */
#include "cli/completion.h"

#include <string.h>

static const struct opt *find_name(const struct opt *opts, const char *name, size_t n)
{
	while (opts->name && (strlen(opts->name) != n || memcmp(opts->name, name, n) != 0))
		opts++;
	return opts->name ? opts : NULL;
}

static const struct opt *find_letter(const struct opt *opts, char letter)
{
	while (opts->name && opts->letter != letter)
		opts++;
	return opts->name ? opts : NULL;
}

static bool needs_value(const struct opt *o)
{
	return o && o->kind != OPT_FLAG && o->kind != OPT_U64_MAYBE;
}

/* The option in a word that has a value, and where that begins in the word; NULL: in the next word. */
static const struct opt *option_with_value(const struct opt *opts, const char *word,
                                           const char **ret_value)
{
	const struct opt *o;
	const char *equals;

	*ret_value = NULL;
	if (word[0] != '-' || !word[1])
		return NULL;
	if (word[1] == '-') {
		equals = strchr(word, '=');
		o = find_name(opts, word + 2, strcspn(word + 2, "="));
		*ret_value = equals ? equals + 1 : NULL;
		return needs_value(o) ? o : NULL;
	}
	for (const char *at = word + 1; *at; at++) {
		o = find_letter(opts, *at);
		if (needs_value(o)) {
			*ret_value = at[1] ? at + 1 : NULL;
			return o;
		}
	}
	return NULL;
}

/* ---- the usage text --------------------------------------------------------------------------- */

static bool is_between(char c)
{
	return strchr(" \n[]|/", c) || (unsigned char)c >= 0x80; /* … */
}

static bool is_placeholder(const char *token, size_t n)
{
	return n > 0 && strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZ=") == n && token[0] != '=';
}

void completion_read_usage(const char *usage, const struct opt *opts, bool takes_command,
                           struct completion_words *ret)
{
	struct buf found = { .max = sizeof ret->placeholders - 1 };
	bool is_value = false;

	for (const char *at = usage; *at;) {
		const char *token = at, *in_word;
		char word[32];
		size_t n = 0;

		while (at[n] && !is_between(at[n]))
			n++;
		at += n ? n : 1;
		if (n == 0 || n >= sizeof word)
			continue;
		memcpy(word, token, n);
		word[n] = '\0';
		if (!is_value && is_placeholder(word, n))
			buf_printf(&found, "%s ", word);
		is_value = option_with_value(opts, word, &in_word) && !in_word;
	}
	*ret = (struct completion_words){ .takes_command = takes_command };
	if (found.len)
		memcpy(ret->placeholders, found.at, found.len + 1);
	buf_done(&found);
	ret->number_first = takes_command && completion_takes(ret, "N");
	ret->name_first = takes_command && completion_takes(ret, "NAME");
}

bool completion_takes(const struct completion_words *words, const char *placeholder)
{
	size_t n = strlen(placeholder);

	for (const char *at = words->placeholders; *at; at += strcspn(at, " ") + 1)
		if (strcspn(at, " ") == n && memcmp(at, placeholder, n) == 0)
			return true;
	return false;
}

/* ---- the words -------------------------------------------------------------------------------- */

/* Whether a word that is no option begins the command. */
static bool begins_command(const struct completion_words *kinds, const char *word, size_t before)
{
	if (!kinds->takes_command)
		return false;
	if (kinds->number_first && before == 0 && word[0] >= '0' && word[0] <= '9')
		return false;
	return !kinds->name_first || (before > 0 && !strchr(word, '='));
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

/* The last word. */
static void find_last(const struct opt *opts, const char *word, bool ended, struct completion *ret)
{
	const char *value = NULL;
	const struct opt *o = ended ? NULL : option_with_value(opts, word, &value);

	ret->typed = word;
	if (o && value) {
		ret->value_of = o;
		ret->typed = value;
	} else {
		ret->is_option = !ended && word[0] == '-';
	}
}

void completion_find(const struct opt *opts, const struct completion_words *kinds,
                     char *const *words, size_t n, struct completion *ret)
{
	struct completion c = { .command = COMPLETION_NO_COMMAND };
	bool ended = false; /* by "--", or because a name precedes the command */
	size_t i;

	for (i = 0; i + 1 < n; i++) {
		const char *value;
		const struct opt *o = ended ? NULL : option_with_value(opts, words[i], &value);

		if (o && !value && i + 2 == n) {
			c.value_of = o;
			c.typed = words[n - 1];
			*ret = c;
			return;
		}
		i += o && !value;
		if (o || (!ended && is_option(words[i]) && strcmp(words[i], "--") != 0))
			continue;
		if (strcmp(words[i], "--") == 0 && (!ended || kinds->name_first)) {
			ended = true;
			if (kinds->takes_command && (!kinds->name_first || c.words))
				break;
			continue;
		}
		if (begins_command(kinds, words[i], c.words))
			break;
		c.first_word = c.words++ ? c.first_word : i;
		ended |= kinds->name_first;
	}
	if (i + 1 < n) { /* stopped where the command begins */
		c.command = i + (strcmp(words[i], "--") == 0);
		c.typed = words[n - 1];
		*ret = c;
		return;
	}
	find_last(opts, words[n - 1], ended, &c);
	if (!c.value_of && !c.is_option && begins_command(kinds, words[n - 1], c.words))
		c.command = n - 1;
	*ret = c;
}

const char *completion_value(const struct opt *opts, char *const *words, size_t n,
                             const char *name)
{
	const char *found = NULL;

	for (size_t i = 0; i < n && strcmp(words[i], "--") != 0; i++) {
		const char *value;
		const struct opt *o = option_with_value(opts, words[i], &value);

		if (!o)
			continue;
		if (!value && i + 1 < n)
			value = words[++i];
		if (strcmp(o->name, name) == 0)
			found = value;
	}
	return found;
}

void completion_unquote(char *word)
{
	char quote = '\0', *to = word;

	for (const char *at = word; *at; at++) {
		if (*at == '\\' && quote != '\'' && at[1])
			*to++ = *++at;
		else if (*at == quote)
			quote = '\0';
		else if (!quote && (*at == '\'' || *at == '"'))
			quote = *at;
		else
			*to++ = *at;
	}
	*to = '\0';
}
