/* SPDX-License-Identifier: MIT */
#include "model/secret_table.h"

#include <string.h>
#include <strings.h>

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_alnum(char c)
{
	return is_upper(c) || (c >= 'a' && c <= 'z') || scan_is_digit(c);
}

/* Comparing one letter first avoids most string comparisons. */
static bool is_same_letter(char a, char b)
{
	return ((a ^ b) & ~0x20) == 0;
}

/* For these functions the word must not be empty. */
static bool equals(struct scan word, const char *text)
{
	return is_same_letter(*word.p, *text) && strlen(text) == scan_left(&word) &&
	       strncasecmp(word.p, text, scan_left(&word)) == 0;
}

static bool ends_with(struct scan word, const char *text)
{
	size_t len = strlen(text);

	return is_same_letter(word.end[-1], text[len - 1]) && scan_left(&word) >= len &&
	       strncasecmp(word.end - len, text, len) == 0;
}

static bool equals_any(struct scan word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (equals(word, list[i]))
			return true;
	return false;
}

#define IS_ANY(part, list) equals_any((part), (list), ARRAY_LEN(list))

/* ---- names ------------------------------------------------------------------------------------ */

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

#define ANYWHERE(word)                                                                             \
	{                                                                                          \
		word, true, false, SECRET_NAME_YES                                                 \
	}
#define PART(word)                                                                                 \
	{                                                                                          \
		word, false, false, SECRET_NAME_YES                                                \
	}
#define LAST(word)                                                                                 \
	{                                                                                          \
		word, false, true, SECRET_NAME_YES                                                 \
	}
#define MAYBE_LAST(word, is_ending)                                                                \
	{                                                                                          \
		word, is_ending, true, SECRET_NAME_MAYBE                                           \
	}

const struct secret_word secret_words[] = {
	ANYWHERE("password"),
	ANYWHERE("passwd"),
	ANYWHERE("passphrase"),
	ANYWHERE("passcode"),
	ANYWHERE("secret"),
	ANYWHERE("apikey"),
	ANYWHERE("accesskey"),
	ANYWHERE("secretkey"),
	ANYWHERE("privatekey"),
	ANYWHERE("authkey"),
	ANYWHERE("sharedkey"),
	ANYWHERE("accountkey"),
	ANYWHERE("masterkey"),
	ANYWHERE("credential"),
	ANYWHERE("credentials"),
	PART("pwd"),
	PART("pw"),
	PART("creds"),
	PART("cookie"),
	PART("authorization"),
	PART("bearer"),
	PART("psk"),
	LAST("jwt"),
	LAST("otp"),
	LAST("totp"),
	LAST("signature"),
	MAYBE_LAST("token", true),
	MAYBE_LAST("pass", true),
	MAYBE_LAST("auth", false),
	MAYBE_LAST("key", false),
	MAYBE_LAST("pin", false),
	MAYBE_LAST("sig", false),
};
const size_t secret_words_len = ARRAY_LEN(secret_words);

/* Before "key": these make it a secret for certain, … */
static const char *const secret_keys[] = {
	"api",    "access", "secret", "private", "signing", "encryption",   "account",
	"master", "shared", "auth",   "service", "storage", "subscription",
};
/* … and these none. */
static const char *const harmless_keys[] = {
	"primary", "foreign", "public", "pub",    "partition", "sort",   "cache",
	"group",   "order",   "unique", "index",  "routing",   "shard",  "row",
	"hash",    "search",  "join",   "lookup", "object",    "map",    "json",
	"label",   "metric",  "column", "host",   "dedup",     "target",
};
static const char *const harmless_parts[] = {
	"max",     "min",     "num",      "no",       "pad",     "eos",       "bos",
	"unk",     "cls",     "sep",      "mask",     "special", "per",       "bypass",
	"compass", "lowpass", "highpass", "bandpass", "allpass", "multipass",
};
static const char *const harmless_last[] = {
	"file", "path",    "dir",    "url",    "uri",     "id",     "ids",    "name",
	"type", "jar",     "len",    "length", "count",   "ttl",    "expiry", "expires",
	"size", "limit",   "budget", "helper", "policy",  "prompt", "stdin",  "env",
	"cmd",  "command", "store",  "ring",   "through",
};
/* A word that must be the last part may be followed by these. */
static const char *const trailing_parts[] = {
	"value", "data", "string", "text", "raw", "base64", "b64",  "hex", "header", "code",
	"prod",  "dev",  "test",   "live", "new", "old",    "main", "1",   "2",      "3",
};

/* "--key" and "KEY" may be secrets, "key" in text and JSON seldom is. */
static bool is_plain_word_key(struct scan name)
{
	return scan_eq(&name, "key") || scan_eq(&name, "Key");
}

static enum secret_name key_meaning(struct scan name, struct scan before)
{
	if (before.p && IS_ANY(before, secret_keys))
		return SECRET_NAME_YES;
	if (is_plain_word_key(name) || (before.p && IS_ANY(before, harmless_keys)))
		return SECRET_NAME_NO;
	return SECRET_NAME_MAYBE;
}

static const struct secret_word *find_word(struct scan part)
{
	for (size_t i = 0; i < secret_words_len; i++) {
		const struct secret_word *w = &secret_words[i];

		if (w->is_ending ? ends_with(part, w->word) : equals(part, w->word))
			return w;
	}
	return NULL;
}

/* Names are checked part by part, so that --max-tokens, --tokenizer, --password-file and --eos-token
 * stay readable. */
enum secret_name secret_name_meaning(struct scan name)
{
	const struct scan whole = name;
	struct scan part, before = { 0 };
	enum secret_name sure = SECRET_NAME_NO, at_end = SECRET_NAME_NO;

	if (scan_eq(&name, "secret_id")) /* of a Vault role; --secret-id of AWS is a name */
		return SECRET_NAME_YES;
	for (; next_part(&name, &part); before = part) {
		const struct secret_word *w = find_word(part);

		if (IS_ANY(part, harmless_parts))
			return SECRET_NAME_NO;
		if (!w && !IS_ANY(part, trailing_parts))
			at_end = SECRET_NAME_NO;
		if (w && !w->must_be_last)
			sure = w->meaning;
		else if (w && equals(part, "key"))
			at_end = key_meaning(whole, before);
		else if (w)
			at_end = w->meaning;
	}
	if (!before.p || IS_ANY(before, harmless_last))
		return SECRET_NAME_NO;
	return MAX(sure, at_end);
}

/* "2", "0.25", "2,3" and "0-3" are parameters; "1234" may be a PIN. */
static bool is_small_number(struct scan value)
{
	bool has_separator = false;
	size_t len = scan_left(&value);

	for (; value.p < value.end; value.p++) {
		if (!scan_is_digit(*value.p) && !strchr(".,-", *value.p))
			return false;
		has_separator |= !scan_is_digit(*value.p);
	}
	return len <= 3 || has_separator;
}

static bool is_file(struct scan value)
{
	static const char *const endings[] = { ".pem", ".key", ".crt",  ".cer", ".der",
		                               ".p12", ".pub", ".json", ".gpg", ".asc" };

	for (size_t i = 0; i < ARRAY_LEN(endings); i++)
		if (ends_with(value, endings[i]))
			return true;
	if (scan_left(&value) < 2 || memchr(value.p, '+', scan_left(&value)) ||
	    memchr(value.p, '=', scan_left(&value)))
		return false;
	if (*value.p == '/')
		return memchr(value.p + 1, '/', scan_left(&value) - 1);
	return value.p[1] == '/' && (*value.p == '.' || *value.p == '~');
}

bool secret_value_is_harmless(struct scan value)
{
	static const char *const words[] = {
		"on",     "off",     "yes",       "no",     "true",     "false", "auto",
		"none",   "null",    "basic",     "digest", "ntlm",     "md5",   "trust",
		"oauth2", "anyauth", "negotiate", "gssapi", "kerberos", "peer",
	};

	if (scan_at_end(&value))
		return true;
	if (*value.p == '<' || *value.p == '[')
		return true;
	return scan_left(&value) <= SECRET_VALUE_MAX &&
	       (IS_ANY(value, words) || is_small_number(value) || is_file(value));
}

/* ---- known programs --------------------------------------------------------------------------- */

const struct secret_option secret_options[] = {
	{ "mysql*", "-p", true },       { "mariadb*", "-p", true },
	{ "mydumper", "-p", false },    { "myloader", "-p", false },
	{ "mycli", "-p", true },        { "mytop", "-p", false },
	{ "7z*", "-p", true },          { "rar", "-p", true },
	{ "rar", "-hp", true },         { "sshpass", "-p", false },
	{ "login", "-p", false },       { "mongo*", "-p", false },
	{ "curl", "-u", false },        { "curl", "-U", false },
	{ "curl", "--user", false },    { "curl", "--proxy-user", false },
	{ "http", "-a", false },        { "https", "-a", false },
	{ "http", "--auth", false },    { "https", "--auth", false },
	{ "redis-cli", "-a", false },   { "ldap*", "-w", false },
	{ "smbclient", "-U", false },   { "sqlcmd", "-P", false },
	{ "bcp", "-P", false },         { "tsql", "-P", false },
	{ "zip", "-P", false },         { "unzip", "-P", false },
	{ "openssl", "-k", false },     { "openssl", "-K", false },
	{ "snmp*", "-A", false },       { "snmp*", "-X", false },
	{ "ipmitool", "-P", false },    { "useradd", "-p", false },
	{ "usermod", "-p", false },     { "cqlsh", "-p", false },
	{ "lftp", "-u", false },        { "ab", "-A", false },
	{ "etcdctl", "--user", false }, { "twine", "-p", false },
	{ "winexe", "-U", false },      { "rpcclient", "-U", false },
};
const size_t secret_options_len = ARRAY_LEN(secret_options);

const struct secret_argument secret_arguments[] = {
	{ "htpasswd", NULL, 'b', 1 }, /* [FILE] USER PASSWORD */
	{ "vault", "login", 0, 0 },
	{ "vault", "unseal", 0, 0 },
	{ "vault", "unwrap", 0, 0 },
	{ "vault", "lookup", 0, 0 },
	{ "vault", "revoke", 0, 0 },
	{ "vault", "renew", 0, 0 },
	{ "mysqladmin", "password", 0, 0 },
	{ "redis-cli", "auth", 0, 0 },
	{ "nmcli", "password", 0, 0 },
	{ "rabbitmqctl", "add_user", 0, 1 },
	{ "rabbitmqctl", "change_password", 0, 1 },
	{ "rclone", "obscure", 0, 0 },
	{ "poetry", "config", 0, 1 },
	{ "net", "user", 0, 1 },
	{ "wandb", "login", 0, 0 },
};
const size_t secret_arguments_len = ARRAY_LEN(secret_arguments);

const char *const secret_stdin_readers[] = {
	"chpasswd",  "chgpasswd",    "--password-stdin", "passwd --stdin",
	"sudo -S",   "--with-token", "--passphrase-fd",  "cryptsetup",
	"smbpasswd", "htpasswd -i",  "vault login -",    "openssl passwd",
};
const size_t secret_stdin_readers_len = ARRAY_LEN(secret_stdin_readers);

static bool is_program(struct scan word, const char *program)
{
	size_t len = strlen(program);

	if (scan_at_end(&word) || *word.p != *program)
		return false;
	if (program[len - 1] != '*')
		return scan_eq(&word, program);
	return scan_left(&word) >= len - 1 && memcmp(word.p, program, len - 1) == 0;
}

bool secret_option_has_program(struct scan word)
{
	for (size_t i = 0; i < secret_options_len; i++)
		if (is_program(word, secret_options[i].program))
			return true;
	return false;
}

size_t secret_option_len(struct scan program, struct scan word, bool *ret_attached_only)
{
	for (size_t i = 0; i < secret_options_len; i++) {
		const struct secret_option *o = &secret_options[i];
		struct scan rest = word;

		if (!is_program(program, o->program) || !scan_lit(&rest, o->option))
			continue;
		/* A long option must match as a whole: --user is not --user-agent. */
		if (o->option[1] == '-' && !scan_at_end(&rest) && !strchr("= \t\n", *rest.p))
			continue;
		*ret_attached_only = o->attached_only;
		return strlen(o->option);
	}
	return 0;
}

bool secret_argument_has_program(struct scan word)
{
	for (size_t i = 0; i < secret_arguments_len; i++)
		if (is_program(word, secret_arguments[i].program))
			return true;
	return false;
}

const struct secret_argument *secret_argument_after(struct scan program, struct scan word)
{
	for (size_t i = 0; i < secret_arguments_len; i++) {
		const struct secret_argument *a = &secret_arguments[i];

		if (!is_program(program, a->program) || scan_left(&word) < 2)
			continue;
		if (a->verb ? equals(word, a->verb)
		            : *word.p == '-' && word.p[1] != '-' &&
		                      memchr(word.p, a->flag, scan_left(&word)))
			return a;
	}
	return NULL;
}

/* ---- shapes ----------------------------------------------------------------------------------- */

#define NAME(prefix, min_rest)                                                                     \
	{                                                                                          \
		prefix, min_rest, SECRET_CHARS_NAME                                                \
	}
#define URL(prefix)                                                                                \
	{                                                                                          \
		prefix, 8, SECRET_CHARS_PATH                                                       \
	}

const struct secret_shape secret_shapes[] = {
	NAME("AKIA", 12), /* AWS access key ids */
	NAME("ASIA", 12),
	NAME("ghp_", 16),
	NAME("gho_", 16),
	NAME("ghu_", 16),
	NAME("ghs_", 16),
	NAME("ghr_", 16),
	NAME("github_pat_", 16),
	NAME("glpat-", 16), /* GitLab */
	NAME("gldt-", 16),
	NAME("glrt-", 16),
	NAME("glptt-", 16),
	NAME("glcbt-", 16),
	NAME("xoxb-", 10), /* Slack */
	NAME("xoxp-", 10),
	NAME("xoxa-", 10),
	NAME("xoxr-", 10),
	NAME("xoxs-", 10),
	NAME("xoxc-", 10),
	NAME("xoxd-", 10),
	NAME("xoxe.", 10),
	NAME("xoxe-", 10),
	NAME("xapp-", 10),
	URL("hooks.slack.com/services/"),
	URL("hooks.slack.com/workflows/"),
	URL("discord.com/api/webhooks/"),
	URL("discordapp.com/api/webhooks/"),
	URL("api.telegram.org/bot"),
	NAME("sk-", 20),
	NAME("sk_live_", 10),
	NAME("sk_test_", 10),
	NAME("rk_live_", 10),
	NAME("rk_test_", 10),
	NAME("whsec_", 10),
	NAME("AIza", 30), /* Google */
	NAME("ya29.", 10),
	NAME("GOCSPX-", 16),
	NAME("hf_", 20),
	NAME("npm_", 20),
	NAME("pypi-", 20),
	NAME("dop_v1_", 20),
	NAME("SG.", 20),
	NAME("shpat_", 20),
	NAME("shpss_", 20),
	NAME("hvs.", 20), /* Vault */
	NAME("hvb.", 20),
	NAME("hvr.", 20),
	NAME("dckr_pat_", 16),
	NAME("lin_api_", 16),
	NAME("AGE-SECRET-KEY-1", 16),
	NAME("AGE-PLUGIN-", 20),
	NAME("tskey-", 12), /* Tailscale */
	NAME("dapi", 32),   /* Databricks */
	NAME("glsa_", 20),  /* Grafana */
	NAME("glc_", 20),
	NAME("PMAK-", 20),
	NAME("NRAK-", 20),
	NAME("pul-", 32),
	NAME("ATATT3", 20),
	NAME("sntrys_", 20),
	NAME("pscale_pw_", 16),
	NAME("pscale_tkn_", 16),
	NAME("eyJ", 20), /* a JSON web token: base64 of '{"' */
};
const size_t secret_shapes_len = ARRAY_LEN(secret_shapes);

static bool is_shape_char(char c, enum secret_chars chars)
{
	return is_alnum(c) || strchr("_-.=", c) || (chars == SECRET_CHARS_PATH && strchr("/:%", c));
}

/* The id of a bot of Discord, a time and a signature, in base64: MTEx….G4bC2d.rest */
static size_t discord_len(struct scan text)
{
	static const size_t bounds[][2] = { { 23, 30 }, { 6, 7 }, { 27, 50 } };
	const char *p = text.p;

	if (scan_at_end(&text) || !strchr("MNO", *p))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
		const char *from = i ? ++p : p;

		while (p < text.end && (size_t)(p - from) <= bounds[i][1] &&
		       (is_alnum(*p) || *p == '_' || *p == '-'))
			p++;
		if ((size_t)(p - from) < bounds[i][0] || (size_t)(p - from) > bounds[i][1])
			return 0;
		if (i + 1 < ARRAY_LEN(bounds) && (p == text.end || *p != '.'))
			return 0;
	}
	return (size_t)(p - text.p);
}

/* -----BEGIN RSA PRIVATE KEY----- … -----END RSA PRIVATE KEY-----; to the end of the text if it was
 * cut. Certificates and public keys are none. */
static size_t pem_len(struct scan text)
{
	static const char end_mark[] = "-----END ", private[] = "PRIVATE KEY";
	struct scan s = text;
	const char *end;

	if (!scan_lit(&s, "-----BEGIN ") ||
	    !memmem(s.p, MIN(scan_left(&s), 40U), private, strlen(private)))
		return 0;
	end = memmem(s.p, scan_left(&s), end_mark, strlen(end_mark));
	if (!end)
		return scan_left(&text);
	s.p = end + strlen(end_mark);
	end = memmem(s.p, scan_left(&s), "-----", 5);
	return end ? (size_t)(end + 5 - text.p) : scan_left(&text);
}

size_t secret_shape_len(struct scan text)
{
	for (size_t i = 0; i < secret_shapes_len; i++) {
		const struct secret_shape *shape = &secret_shapes[i];
		struct scan s = text;
		const char *rest;

		if (scan_at_end(&s) || *s.p != *shape->prefix || !scan_lit(&s, shape->prefix))
			continue;
		for (rest = s.p; s.p < s.end && is_shape_char(*s.p, shape->chars);)
			s.p++;
		if ((size_t)(s.p - rest) >= shape->min_rest)
			return (size_t)(s.p - text.p);
	}
	return pem_len(text) + discord_len(text);
}
