/* SPDX-License-Identifier: MIT */
#include "model/redaction.h"

#include <stdio.h>

#include "check.h"

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

static void test_redaction__joins_arguments_and_trims_the_end(void **state)
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

static void test_redaction__masks_passwords_of_mysql_and_relatives(void **state)
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

static void test_redaction__masks_values_of_secret_options(void **state)
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

static void test_redaction__masks_pairs_anywhere(void **state)
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

static void test_redaction__reads_scripts_and_titles(void **state)
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

static void test_redaction__masks_the_userinfo_of_urls(void **state)
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

static void test_redaction__recognises_credentials_by_their_shape(void **state)
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

static void test_redaction__recognises_short_options_of_known_programs(void **state)
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
}

static void test_redaction__keeps_harmless_words_readable(void **state)
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

static void test_redaction__does_not_mistake_an_option_for_the_value(void **state)
{
	(void)state;
	check("mysqldump|--password|--host=db|", "mysqldump --password --host=db");
	check("x|--password|", "x --password");
	check("x|--password=|y|", "x --password= y");
}

static void test_redaction__never_writes_past_the_capacity(void **state)
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

static void test_redaction__shows_where_a_command_line_was_cut(void **state)
{
	(void)state;
	assert_cut("tool\0abcdef", 12, 11, "tool abcdef");
	assert_cut("tool\0abcdefg", 13, 11, "tool abc…");
	assert_cut("tool\0abcdef\0x", 14, 11, "tool abc…");
	assert_cut("tool\0abcdef   ", 15, 11, "tool abcdef");
	assert_cut("tool\0--password=hunter2", 24, 18, "tool --password…");
}

RUN_TESTS(TEST(test_redaction__shows_where_a_command_line_was_cut),
          TEST(test_redact_value__masks_the_whole_value_of_a_secret_name),
          TEST(test_redaction__masks_passwords_of_mysql_and_relatives),
          TEST(test_redaction__joins_arguments_and_trims_the_end),
          TEST(test_redaction__masks_values_of_secret_options),
          TEST(test_redaction__masks_pairs_anywhere),
          TEST(test_redaction__reads_scripts_and_titles),
          TEST(test_redaction__masks_the_userinfo_of_urls),
          TEST(test_redaction__recognises_credentials_by_their_shape),
          TEST(test_redaction__recognises_short_options_of_known_programs),
          TEST(test_redaction__keeps_harmless_words_readable),
          TEST(test_redaction__does_not_mistake_an_option_for_the_value),
          TEST(test_redaction__never_writes_past_the_capacity))
