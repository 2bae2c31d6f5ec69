/* SPDX-License-Identifier: MIT */
#include "model/redact.h"

#include <stdio.h>
#include <time.h>

#include "check.h"
#include "model/secret_table.h"

/* In the tests '|' stands for the NUL between arguments. */
static void check(const char *line, const char *expected)
{
	char raw[1024], got[512 + 1];
	size_t len = strlen(line), n;

	assert_true(len < sizeof raw);
	for (size_t i = 0; i < len; i++)
		raw[i] = line[i] == '|' ? '\0' : line[i];
	n = redact_command(raw, len, got, sizeof got - 1);
	got[n] = '\0';
	assert_string_equal(got, expected);
}

static void test_redact__joins_arguments_and_trims_the_end(void **state)
{
	(void)state;
	check("sleep|3600|", "sleep 3600");
	check("sleep|3600", "sleep 3600");
	check("echo|two words||x|||", "echo two words  x");
	check("title   |", "title");
	check("", "");
	check("|||", "");
}

static void check_value(const char *key, const char *text, const char *expected)
{
	struct buf got = { 0 };

	redact_value(key, text, &got);
	buf_putc(&got, '\0');
	assert_string_equal(got.at, expected);
	buf_done(&got);
}

static void test_redact_value__masks_the_whole_value_of_a_secret_name(void **state)
{
	(void)state;
	check_value("token", "canary and more", "***");
	check_value("db_password", "x", "***");
	check_value("password", "", "");
	check_value("team", "vision", "vision");
	check_value("note", "login with password=canary today", "login with password=*** today");
	check_value("url", "https://bob:canary@host/x", "https://***@host/x");
	check_value("note", "ghp_0123456789abcdefghijcanary", "***");
	check_value("", "token=c", "token=***");
}

static void test_redact__masks_passwords_of_mysql_and_relatives(void **state)
{
	(void)state;
	check("mysql|-pcanary|", "mysql -p***");
	check("/usr/bin/mysqldump|--opt|-h|db|-pcanary|x|",
	      "/usr/bin/mysqldump --opt -h db -p*** x");
	check("sh|-c|mariadb -uroot -p'canary' shop|", "sh -c mariadb -uroot -p'***' shop");
	check("mysqladmin|-uroot|-pcanary|ping|", "mysqladmin -uroot -p*** ping");
	check("mydumper|-p|canary|-B|shop|", "mydumper -p *** -B shop");
	check("mysql|-p|shop|", "mysql -p shop"); /* asks for it; this is the database */
	check("cp|-preserve|a|", "cp -preserve a");
	check("mkdir|-pv|a|", "mkdir -pv a");
}

static void test_redact__masks_values_of_secret_options(void **state)
{
	(void)state;
	check("tool|--password=canary|--host=db|", "tool --password=*** --host=db");
	check("tool|--password|canary|--host|db|", "tool --password *** --host db");
	check("tool|--password=canary one|x|", "tool --password=*** x");
	check("tool|-password|canary|", "tool -password ***");
	check("tool|--db-passwd=canary|", "tool --db-passwd=***");
	check("tool|--dbPassword=canary|", "tool --dbPassword=***");
	check("tool|--client_secret|canary|", "tool --client_secret ***");
	check("tool|--api-key=canary|--apikey|canary|--apiKey=canary|",
	      "tool --api-key=*** --apikey *** --apiKey=***");
	check("java|-Djavax.net.ssl.keyStorePassword=canary|Main|",
	      "java -Djavax.net.ssl.keyStorePassword=*** Main");
	check("openssl|rsa|-passin|pass:canary|", "openssl rsa -passin pass:***");
	check("wget|--http-password=canary|u|", "wget --http-password=*** u");
}

static void test_redact__masks_pairs_anywhere(void **state)
{
	(void)state;
	check("env|PGPASSWORD=canary|psql|", "env PGPASSWORD=*** psql");
	check("env|MYSQL_PWD=canary|AWS_SECRET_ACCESS_KEY=ca/na+ry=|",
	      "env MYSQL_PWD=*** AWS_SECRET_ACCESS_KEY=***");
	check("env|GITHUB_TOKEN=canary one|x|", "env GITHUB_TOKEN=*** x");
	check("mount|-o|username=bob,password=canary,ro|", "mount -o username=bob,password=***");
	check("curl|-d|{\"user\":\"bob\",\"password\":\"canary\",\"n\":1}|",
	      "curl -d {\"user\":\"bob\",\"password\":\"***\",\"n\":1}");
	check("curl|-d|{\"token\" : \"canary\"}|", "curl -d {\"token\" : \"***\"}");
	check("curl|https://h/p?user=bob&token=canary&x=1|",
	      "curl https://h/p?user=bob&token=***&x=1");
	check("curl|-H|Authorization: Bearer canary|u|", "curl -H Authorization: *** u");
	check("curl|-H|X-Api-Key: canary|u|", "curl -H X-Api-Key: *** u");
	check("curl|-H|Cookie: a=canary; b=canary|u|", "curl -H Cookie: *** u");
	check("x|Server=db;Uid=bob;Pwd=canary;|", "x Server=db;Uid=bob;Pwd=***");
}

static void test_redact__reads_scripts_and_titles(void **state)
{
	(void)state;
	check("sh|-c|PGPASSWORD=canary psql -h db|", "sh -c PGPASSWORD=*** psql -h db");
	check("bash|-lc|mysql --password='can ary' -h db|",
	      "bash -lc mysql --password='***' -h db");
	check("sh|-c|tool --password canary --host db|", "sh -c tool --password *** --host db");
	check("sh|-c|curl -H \"Authorization: Bearer canary\" u|",
	      "sh -c curl -H \"Authorization: ***\" u");
	check("sh|-c|mysql -pcanary db|", "sh -c mysql -p*** db");
	check("sh|-c|curl -d \"{\\\"password\\\":\\\"canary\\\"}\" u|",
	      "sh -c curl -d \"{\\\"password\\\":***\" u");
	check("worker: --token canary ready", "worker: --token *** ready");
	check("worker: Authorization: Bearer canary", "worker: Authorization: ***");
}

static void test_redact__masks_the_userinfo_of_urls(void **state)
{
	(void)state;
	check("psql|postgres://bob:canary@db/x|", "psql postgres://***@db/x");
	check("git|clone|https://canary@host/r.git|", "git clone https://***@host/r.git");
	check("x|amqp://bob:can@ary@host:5672/|", "x amqp://***@host:5672/");
	check("x|redis://:can/ary@host:6379/0|", "x redis://***@host:6379/0");
	check("x|http://host:8080/mail@x|", "x http://host:8080/mail@x");
	check("x|http://host/?q=a@b|", "x http://host/?q=a@b");
	check("x|a://b:canary@c d://e:canary@f|", "x a://***@c d://***@f");
}

static void test_redact__recognises_credentials_by_their_shape(void **state)
{
	(void)state;
	check("x|AKIAIOSFODNN7EXAMPLE|", "x ***");
	check("x|ghp_0123456789abcdefghijABCDEFGHIJ012345|y|", "x *** y");
	check("x|--header=github_pat_11ABCDEFG0123456789_abcdef|", "x --header=***");
	check("x|glpat-ABCDEFGHIJ0123456789|", "x ***");
	check("x|(xoxb-123456789012-abcdef)|", "x (***)");
	check("x|eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln|", "x ***");
	check("x|Bearer|canary|", "x Bearer ***");
	check("x|AKIA|ghp_|ask-me-anything-about-this-project|",
	      "x AKIA ghp_ ask-me-anything-about-this-project");
}

static void test_redact__recognises_short_options_of_known_programs(void **state)
{
	(void)state;
	check("mysql|-ubob|-pcanary|db|", "mysql -ubob -p*** db");
	check("mysql|-p|db|", "mysql -p db");
	check("/usr/bin/curl|-u|bob:canary|u|", "/usr/bin/curl -u *** u");
	check("sudo|curl|-ubob:canary|u|", "sudo curl -u*** u");
	check("curl|--user|bob:canary|--user-agent|x|", "curl --user *** --user-agent x");
	check("curl|--user=bob:canary|", "curl --user=***");
	check("sshpass|-p|canary|ssh|-p|22|h|", "sshpass -p *** ssh -p *** h");
	check("docker|run|-p|80:80|img|", "docker run -p 80:80 img");
	check("docker|login|-u|bob|-p|canary|reg|", "docker login -u bob -p *** reg");
	check("redis-cli|-a|canary|ping|", "redis-cli -a *** ping");
	check("wandb|login|--relogin|canary|", "wandb login --relogin ***");
	check("wandb|login|", "wandb login");
}

static void test_redact__keeps_harmless_words_readable(void **state)
{
	static const char *const same[] = {
		"train --max-tokens 4096 --tokenizer gpt2 --tokenizer_path=/m",
		"x --password-file=/run/secret --token-url https://h",
		"x --eos-token </s> --pad_token_id 0",
		"env PWD=/home/bob OLDPWD=/",
		"kubectl get secret foo",
		"passwd bob",
		"x --no-password --force",
		"ld -plugin-opt=-pass-through=-lgcc",
		"ssh-keygen -t ed25519",
		"x --bypass=1 --compass north",
		"grep -c token file",
		"train --token-dim 8 --token-dropout 0.1 --token-mixer pool",
		"train --pin-memory true --key-size 64 --n-tokens 8 --keys 4",
		"train --image-token <image> --mask-token [MASK]",
		"ffmpeg -i a -pass 2 -passlogfile x b",
		"sox a b --lowpass 3000 --highpass 80",
		"mdrun -pin on -pinoffset 0",
		"sort --key 2,3 --key=1 file",
		"curl --key server.pem --cert /etc/ssl/x.pem --key /etc/ssl/x.key u",
		"http --auth-type basic --no-auth x",
		"x PRIMARY_KEY=id CACHE_KEY=abc --partition-key user --public-key abcd",
		"x key=value {\"key\":\"photos/a.jpg\"}",
		"curl --cookie-jar jar --signature-version s3v4 u",
		"git config credential.helper store",
		"git config user.name bob",
		"spinning --pinned 3 --author bob --authors x --signal 9 --keyboard de",
		"monkey turkey --hotkey x --passes 3 --passive on",
		"docker run --user 1000:1000 -p 80:80 img",
		"x --secret-id name --token-type bearer",
		"wandb offline",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		char line[256];

		snprintf(line, sizeof line, "%s", same[i]);
		for (char *p = line; *p; p++)
			*p = *p == ' ' ? '|' : *p;
		check(line, same[i]);
	}
}

static void test_redact__does_not_mistake_an_option_for_the_value(void **state)
{
	(void)state;
	check("mysqldump|--password|--host=db|", "mysqldump --password --host=db");
	check("mysql|--password|-h|db|", "mysql --password -h db");
	check("x|--password|", "x --password");
	check("x|--password=|y|", "x --password= y");
	check("x|--password||y|", "x --password  y");
	check("x|--password|-Xcanary|y|", "x --password *** y");
	check("x|--password|-canary|y|", "x --password *** y");
	check("x|--password|--Canary7|y|", "x --password *** y");
	check("x|--password|\"a\"canary|y|", "x --password *** y");
	check("sh|-c|x --password -canary --host db|", "sh -c x --password *** --host db");
}

/* '|' stands for NUL. */
static void assert_hidden(const char *line)
{
	char raw[512], got[1024 + 1];
	size_t len = strlen(line), n;

	assert_true(len < sizeof raw);
	for (size_t i = 0; i <= len; i++)
		raw[i] = line[i] == '|' ? '\0' : line[i];
	n = redact_command(raw, len, got, sizeof got - 1);
	got[n] = '\0';
	if (strstr(got, "canary") || !strstr(got, "***"))
		fail_msg("'%s' is shown as '%s'", line, got);
}

/* The line as arguments, and as the text of a shell. */
static void assert_hidden_both(const char *line)
{
	char script[512];

	assert_hidden(line);
	snprintf(script, sizeof script, "sh|-c|%s", line);
	for (char *p = script + strlen("sh|-c|"); *p; p++)
		*p = *p == '|' ? ' ' : *p;
	assert_hidden(script);
}

static void test_redact__hides_the_value_of_every_secret_word(void **state)
{
	static const char *const forms[][2] = {
		{ "x|--", "|canary" },
		{ "x|--", "=canary" },
		{ "x|--db-", "|canary" },
		{ "env|MY_", "=canary|x" },
		{ "x|--", "-prod=canary" },
		{ "x|-H|X-My-", ": canary" },
		{ "https://h/p?a=1&", "=canary&b=2" },
	};

	(void)state;
	for (size_t i = 0; i < secret_words_len; i++)
		for (size_t k = 0; k < ARRAY_LEN(forms); k++) {
			char line[128];

			snprintf(line, sizeof line, "%s%s%s", forms[k][0], secret_words[i].word,
			         forms[k][1]);
			assert_hidden(line);
		}
}

static void test_redact__hides_every_secret_option_of_known_programs(void **state)
{
	(void)state;
	for (size_t i = 0; i < secret_options_len; i++) {
		const struct secret_option *o = &secret_options[i];
		const char *glue = o->option[1] == '-' ? "=" : "";
		char program[32], line[128];

		snprintf(program, sizeof program, "%.*s", (int)strcspn(o->program, "*"),
		         o->program);
		snprintf(line, sizeof line, "/bin/%s|%s%scanary|x", program, o->option, glue);
		assert_hidden_both(line);
		if (o->attached_only)
			continue;
		snprintf(line, sizeof line, "%s|a|%s|canary|x", program, o->option);
		assert_hidden_both(line);
	}
}

static void test_redact__hides_every_secret_argument_of_known_programs(void **state)
{
	(void)state;
	for (size_t i = 0; i < secret_arguments_len; i++) {
		const struct secret_argument *a = &secret_arguments[i];
		const char flag[] = { '-', 'c', a->flag, '\0' };
		char line[128];

		snprintf(line, sizeof line, "/bin/%s|-h|%s|%scanary", a->program,
		         a->verb ? a->verb : flag, a->kept ? "kept|" : "");
		assert_hidden_both(line);
	}
	check("htpasswd|-bc|/etc/web|bob|canary|", "htpasswd -bc /etc/web *** ***");
	check("htpasswd|-nb|bob|canary|", "htpasswd -nb bob ***");
	check("htpasswd|-c|/etc/web|bob|", "htpasswd -c /etc/web bob");
	check("vault|kv|get|path|", "vault kv get path");
	check("sh|-c|vault login canary && vault kv get path|",
	      "sh -c vault login *** && vault kv get path");
}

static void test_redact__hides_what_a_script_pipes_into_a_reader_of_secrets(void **state)
{
	(void)state;
	for (size_t i = 0; i < secret_stdin_readers_len; i++) {
		char raw[128] = "sh\0-c", got[256];
		int n = snprintf(raw + 6, sizeof raw - 6, "echo \"bob:canary\" | x %s; true",
		                 secret_stdin_readers[i]);

		got[redact_command(raw, 6 + (size_t)n, got, sizeof got - 1)] = '\0';
		assert_null(strstr(got, "canary"));
		assert_non_null(strstr(got, "sh -c echo *** | x "));
	}
	check("sh|-c|chpasswd <<< bob:canary; true|", "sh -c chpasswd <<< ***; true");
	check("sh|-c|echo ready; chpasswd < file|", "sh -c echo ready; chpasswd < file");
}

static void test_redact__hides_every_shape(void **state)
{
	char line[256];

	(void)state;
	for (size_t i = 0; i < secret_shapes_len; i++) {
		snprintf(line, sizeof line, "x|(%scanary%.*s)|y", secret_shapes[i].prefix, 40,
		         "0123456789abcdefghijABCDEFGHIJ0123456789");
		assert_hidden_both(line);
	}
	check("x|-----BEGIN RSA PRIVATE KEY-----\ncanary\n-----END RSA PRIVATE KEY-----\n|y|",
	      "x ***\n y");
	check("x|{\"k\":\"-----BEGIN PRIVATE KEY-----\\ncanary|y|", "x {\"k\":\"*** y");
	check("x|-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----|",
	      "x -----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----");
	check("x|MTExMTExMTExMTExMTExMTEx.GabcdE.abcdefghijklmnopqrstuvwxyz0|", "x ***");
	check("curl|https://hooks.slack.com/services/T000/B000/canary00|", "curl https://***");
}

static void test_redact__hides_settings_and_connection_strings(void **state)
{
	(void)state;
	check("aws|configure|set|aws_secret_access_key|canary|--profile|x|",
	      "aws configure set aws_secret_access_key *** --profile x");
	check("npm|config|set|//r.org/:_authToken|canary|",
	      "npm config set //r.org/:_authToken ***");
	check("aws|configure|set|region|eu-west-1|", "aws configure set region eu-west-1");
	check("isql|Driver=x;UID=sa;PWD=canary;|", "isql Driver=x;UID=sa;PWD=***");
	check("isql|DSN=x;PWD=/canary|", "isql DSN=x;PWD=***");
	check("x|PWD=canary|", "x PWD=***");
	check("x|https://h/b?sv=1&sig=canary%3D&se=2|", "x https://h/b?sv=1&sig=***&se=2");
	check("x|https://h/b?X-Amz-Signature=canary&X-Amz-Date=2|",
	      "x https://h/b?X-Amz-Signature=***&X-Amz-Date=2");
	check("x|https://h/maps?key=canary&q=x|", "x https://h/maps?key=***&q=x");
	check("vault|write|auth/approle/login|role_id=x|secret_id=canary|",
	      "vault write auth/approle/login role_id=x secret_id=***");
}

static void test_redact__never_writes_past_the_capacity(void **state)
{
	char raw[] = "tool\0--password=canary\0https://bob:canary@host/path", got[64];

	(void)state;
	for (size_t cap = 0; cap <= sizeof got; cap++) {
		size_t n;

		memset(got, '#', sizeof got);
		n = redact_command(raw, sizeof raw, got, cap);
		assert_true(n <= cap);
		for (size_t i = cap; i < sizeof got; i++)
			assert_int_equal(got[i], '#');
	}
}

static void assert_cut(const char *raw, size_t len, size_t cap, const char *expected)
{
	char got[64];
	size_t n = redact_command(raw, len, got, cap);

	got[n] = '\0';
	assert_string_equal(got, expected);
}

static void test_redact__shows_where_a_command_line_was_cut(void **state)
{
	(void)state;
	assert_cut("tool\0abcdef", 12, 11, "tool abcdef");
	assert_cut("tool\0abcdefg", 13, 11, "tool abc…");
	assert_cut("tool\0abcdef\0x", 14, 11, "tool abc…");
	assert_cut("tool\0abcdef   ", 15, 11, "tool abcdef");
	assert_cut("tool\0--password=hunter2", 24, 18, "tool --password…");
}

static void test_redact__gets_past_a_quote_that_closes_before_a_secret_argument(void **state)
{
	(void)state;
	check("sh|-c|\"x vault login \"y|", "sh -c \"x vault login \"***");
	check("sh|-c|'x --password '|", "sh -c 'x --password '");
}

/* ---- time ----------------------------------------------------------------------------------- */

#define TIMED_LEN 1024
#define TIMED_FACTOR 8

static const char *const hostile[] = {
	"a:",
	"a=",
	"<",
	"<<<",
	"echo ",
	"echo \" ",
	"echo ' \" ",
	"printf x|",
	"://x",
	"://u:p/",
	"://@",
	"-p ",
	"\"",
	"'",
	"\\",
	" ",
	"?",
	"&",
	"pin:<",
	"--pin <x ",
	"key=/",
	"PWD=/ ",
	"M-",
	"sk-",
	"-----BEGIN ",
	"\"a\"   ",
	"--password ",
	"chpasswd ",
	"a",
	"-a ",
};

static uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* The beginning, and then the two texts by turns, as one argument. */
static uint64_t time_to_redact(const char *begin, const char *a, const char *b, size_t len)
{
	static char raw[TIMED_LEN * TIMED_FACTOR + 64], got[sizeof raw * 3];
	size_t n = strlen(begin);
	uint64_t since;

	for (size_t i = 0; i < n; i++)
		raw[i] = begin[i] == '|' ? '\0' : begin[i];
	for (unsigned i = 0; n < len; i++)
		n += (size_t)snprintf(raw + n, sizeof raw - n, "%s", i % 2 ? b : a);
	since = thread_cpu_ns();
	(void)!redact_command(raw, n, got, sizeof got);
	return thread_cpu_ns() - since;
}

/* Eight times the text takes eight times as long, and 64 times if each byte is compared with the others.
 * What interrupts a measurement only makes it longer, so some are tried. */
static void assert_linear(const char *begin, const char *a, const char *b)
{
	uint64_t one = UINT64_MAX, many = UINT64_MAX;

	for (unsigned tries = 0; tries < 20; tries++) {
		uint64_t ns = time_to_redact(begin, a, b, TIMED_LEN);

		one = MIN(one, ns);
		ns = time_to_redact(begin, a, b, TIMED_LEN * TIMED_FACTOR);
		many = MIN(many, ns);
		if (many < one * TIMED_FACTOR * 3)
			return;
	}
	fail_msg("after '%s', '%s%s…' of %d bytes takes %.3f ms, of %d bytes %.3f ms", begin, a, b,
	         TIMED_LEN, (double)one / 1e6, TIMED_LEN * TIMED_FACTOR, (double)many / 1e6);
}

static void test_redact__takes_time_in_proportion_to_the_text(void **state)
{
	static const char *const begins[] = {
		"", "x|", "x|?", "sh|-c|\"", "vault|login|-", "sh|-c|aws configure set net user ",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		for (size_t k = 0; k < ARRAY_LEN(hostile); k++)
			assert_linear(begins[i], hostile[k], hostile[k]);
	for (size_t i = 0; i < ARRAY_LEN(hostile); i++)
		for (size_t k = i % 2; k < i; k += 2)
			assert_linear("", hostile[i], hostile[k]);
}

RUN_TESTS(TEST(test_redact__shows_where_a_command_line_was_cut),
          TEST(test_redact_value__masks_the_whole_value_of_a_secret_name),
          TEST(test_redact__masks_passwords_of_mysql_and_relatives),
          TEST(test_redact__joins_arguments_and_trims_the_end),
          TEST(test_redact__masks_values_of_secret_options),
          TEST(test_redact__masks_pairs_anywhere),
          TEST(test_redact__reads_scripts_and_titles),
          TEST(test_redact__masks_the_userinfo_of_urls),
          TEST(test_redact__recognises_credentials_by_their_shape),
          TEST(test_redact__recognises_short_options_of_known_programs),
          TEST(test_redact__keeps_harmless_words_readable),
          TEST(test_redact__does_not_mistake_an_option_for_the_value),
          TEST(test_redact__hides_the_value_of_every_secret_word),
          TEST(test_redact__hides_every_secret_option_of_known_programs),
          TEST(test_redact__hides_every_secret_argument_of_known_programs),
          TEST(test_redact__hides_what_a_script_pipes_into_a_reader_of_secrets),
          TEST(test_redact__hides_every_shape),
          TEST(test_redact__hides_settings_and_connection_strings),
          TEST(test_redact__never_writes_past_the_capacity),
          TEST(test_redact__gets_past_a_quote_that_closes_before_a_secret_argument),
          TEST(test_redact__takes_time_in_proportion_to_the_text))
