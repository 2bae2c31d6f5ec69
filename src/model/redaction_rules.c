/* SPDX-License-Identifier: MIT */
#include "model/redaction_rules.h"

#include <string.h>
#include <strings.h>

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_alnum(char c)
{
	return is_upper(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Comparing one letter first avoids most string comparisons. */
static bool is_same_letter(char a, char b)
{
	return ((a ^ b) & ~0x20) == 0;
}

/* For both functions the word must not be empty. */
static bool equals_any(struct scan word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_same_letter(*word.p, *list[i]) && strlen(list[i]) == scan_left(&word) &&
		    strncasecmp(word.p, list[i], scan_left(&word)) == 0)
			return true;
	return false;
}

static bool ends_with_any(struct scan word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(list[i]);

		if (is_same_letter(word.end[-1], list[i][len - 1]) && scan_left(&word) >= len &&
		    strncasecmp(word.end - len, list[i], len) == 0)
			return true;
	}
	return false;
}

/* The next part of a name: "db-password", "DB_PASSWORD" and "dbPassword" have two. */
static bool next_part(struct scan *name, struct scan *ret)
{
	while (name->p < name->end && !is_alnum(*name->p))
		name->p++;
	ret->p = name->p;
	while (name->p < name->end && is_alnum(*name->p) &&
	       (name->p == ret->p || !is_upper(*name->p) || is_upper(name->p[-1])))
		name->p++;
	ret->end = name->p;
	return ret->p < ret->end;
}

static const char *const secret_parts[] = { "pwd",           "pw",    "creds", "cookie",
	                                    "authorization", "bearer" };
static const char *const secret_endings[] = {
	"password", "passwd",    "passphrase", "passcode",   "pass",       "token",       "secret",
	"apikey",   "accesskey", "secretkey",  "privatekey", "credential", "credentials",
};
static const char *const secret_keys[] = {
	/* … key */
	"api",    "access", "secret", "private", "signing", "encryption",   "account",
	"master", "shared", "auth",   "service", "storage", "subscription",
};
static const char *const harmless_parts[] = {
	"max", "min", "num",  "no",      "pad", "eos",    "bos",     "unk",
	"cls", "sep", "mask", "special", "per", "bypass", "compass",
};
static const char *const harmless_last[] = {
	"file",   "path",   "dir",   "url", "uri",    "id",      "ids",   "name",  "type",
	"len",    "length", "count", "ttl", "expiry", "expires", "size",  "limit", "budget",
	"policy", "prompt", "stdin", "env", "cmd",    "command", "store", "ring",  "through",
};

#define IS_ANY(part, list) equals_any((part), (list), ARRAY_LEN(list))
#define ENDS_WITH_ANY(part, list) ends_with_any((part), (list), ARRAY_LEN(list))

/* Names are checked part by part, so that --max-tokens, --tokenizer, --password-file and --eos-token
 * stay readable. */
bool redaction_rule_is_name(struct scan name)
{
	struct scan part, last = { 0 };
	bool is_secret = false;

	if (scan_eq(&name, "PWD") || scan_eq(&name, "OLDPWD"))
		return false;
	while (next_part(&name, &part)) {
		if (IS_ANY(part, harmless_parts))
			return false;
		if (IS_ANY(part, secret_parts) || ENDS_WITH_ANY(part, secret_endings))
			is_secret = true;
		if (last.p && IS_ANY(last, secret_keys) && scan_left(&part) == 3 &&
		    strncasecmp(part.p, "key", 3) == 0)
			is_secret = true;
		last = part;
	}
	return is_secret && !IS_ANY(last, harmless_last);
}

bool redaction_rule_is_header(struct scan name)
{
	static const char *const endings[] = { "authorization", "cookie" };

	return ENDS_WITH_ANY(name, endings);
}

/* A trailing '*' matches anything. "login" is a verb of docker, podman, helm, az, … */
static const struct program_option {
	const char *program, *option;
	bool attached_only; /* without an attached value it prompts, or means something else */
} program_options[] = {
	{ "mysql*", "-p", true },     { "mariadb*", "-p", true },
	{ "mydumper", "-p", false },  { "myloader", "-p", false },
	{ "mycli", "-p", true },      { "mytop", "-p", false },
	{ "7z*", "-p", true },        { "sshpass", "-p", false },
	{ "login", "-p", false },     { "mongo*", "-p", false },
	{ "curl", "-u", false },      { "curl", "-U", false },
	{ "curl", "--user", false },  { "curl", "--proxy-user", false },
	{ "http", "-a", false },      { "https", "-a", false },
	{ "http", "--auth", false },  { "https", "--auth", false },
	{ "redis-cli", "-a", false }, { "ldap*", "-w", false },
	{ "smbclient", "-U", false }, { "sqlcmd", "-P", false },
	{ "bcp", "-P", false },       { "zip", "-P", false },
	{ "unzip", "-P", false },     { "openssl", "-k", false },
	{ "openssl", "-K", false },   { "snmp*", "-A", false },
	{ "snmp*", "-X", false },
};

static bool is_program(struct scan word, const char *program)
{
	size_t len = strlen(program);

	if (scan_at_end(&word) || *word.p != *program)
		return false;
	if (program[len - 1] != '*')
		return scan_eq(&word, program);
	return scan_left(&word) >= len - 1 && memcmp(word.p, program, len - 1) == 0;
}

bool redaction_rule_knows_program(struct scan word)
{
	for (size_t i = 0; i < ARRAY_LEN(program_options); i++)
		if (is_program(word, program_options[i].program))
			return true;
	return false;
}

size_t redaction_rule_option_len(struct scan program, struct scan word, bool *ret_attached_only)
{
	for (size_t i = 0; i < ARRAY_LEN(program_options); i++) {
		const struct program_option *o = &program_options[i];
		struct scan rest = word;

		if (!is_program(program, o->program) || !scan_lit(&rest, o->option))
			continue;
		/* A long option must match as a whole: --user is not --user-agent. */
		if (o->option[1] == '-' && !scan_at_end(&rest) && *rest.p != '=')
			continue;
		*ret_attached_only = o->attached_only;
		return strlen(o->option);
	}
	return 0;
}

/* Prefixes that issuers give their credentials, so that scanners like this one find them. */
static const struct shape {
	const char *prefix;
	size_t min_rest;
} shapes[] = {
	{ "AKIA", 12 },     { "ASIA", 12 }, /* AWS access key ids */
	{ "ghp_", 16 },     { "gho_", 16 },        { "ghu_", 16 },     { "ghs_", 16 },
	{ "ghr_", 16 },     { "github_pat_", 16 }, { "glpat-", 16 },   { "gldt-", 16 },
	{ "glrt-", 16 }, /* GitLab */
	{ "xoxb-", 10 },    { "xoxp-", 10 },       { "xoxa-", 10 },    { "xoxr-", 10 },
	{ "xoxs-", 10 }, /* Slack */
	{ "sk-", 20 },      { "sk_live_", 10 },    { "sk_test_", 10 }, { "rk_live_", 10 },
	{ "rk_test_", 10 }, { "whsec_", 10 },      { "AIza", 30 },     { "ya29.", 10 }, /* Google */
	{ "hf_", 20 },      { "npm_", 20 },        { "pypi-", 20 },    { "dop_v1_", 20 },
	{ "SG.", 20 },      { "shpat_", 20 },      { "hvs.", 20 },     { "dckr_pat_", 16 },
	{ "lin_api_", 16 }, { "eyJ", 20 }, /* a JSON web token: base64 of '{"' */
};

static bool is_token_char(char c)
{
	return is_alnum(c) || c == '_' || c == '-' || c == '.' || c == '=';
}

size_t redaction_rule_shape_len(struct scan text)
{
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		struct scan s = text;
		const char *rest;

		if (scan_at_end(&s) || *s.p != *shapes[i].prefix || !scan_lit(&s, shapes[i].prefix))
			continue;
		for (rest = s.p; s.p < s.end && is_token_char(*s.p);)
			s.p++;
		if ((size_t)(s.p - rest) >= shapes[i].min_rest)
			return (size_t)(s.p - text.p);
	}
	return 0;
}
