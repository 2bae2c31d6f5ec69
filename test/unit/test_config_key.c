/* SPDX-License-Identifier: MIT */
#include "config/config_key.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "check.h"

#define MIN_NS (60 * UINT64_C(1000000000))

static int set(const struct config_key *key, const char *value, struct config *c)
{
	struct err err = { 0 };
	int r = config_key_set(key, scan_str(value), c, &err);

	assert_true(r == 0 || (r < 0 && err.msg[0]));
	return r;
}

static const struct config_key *find(const char *section, const char *name)
{
	const struct config_key *key = config_key_find(scan_str(section), scan_str(name));

	assert_non_null(key);
	return key;
}

static bool has_bounds(const struct config_key *key)
{
	return key->type != CONFIG_BOOL && key->type != CONFIG_SWITCH && key->type != CONFIG_PATH &&
	       key->type != CONFIG_PROCESSES;
}

static void test_config__defaults_are_those_of_the_specification(void **state)
{
	struct config c;

	config_init(&c);
	assert_true(c.profiler.enabled);
	assert_int_equal(c.profiler.interval_ns, 5 * NS_PER_S);
	assert_false(c.profiler.strace_enabled);
	assert_true(c.profiler.strace_full_on_demand);
	assert_int_equal(c.profiler.gpu, SWITCH_AUTO);
	assert_string_equal(c.profiler.storage_path, "");
	assert_string_equal(c.profiler.jsonl_path, "");
	assert_int_equal(c.profiler.jsonl_max_bytes, 52428800);
	assert_int_equal(c.retention.full_resolution_ns, 24 * 60 * MIN_NS);
	assert_int_equal(c.retention.downsampled_ns, 7 * 24 * 60 * MIN_NS);
	assert_int_equal(c.retention.events_ns, 30 * 24 * 60 * MIN_NS);
	assert_true(fabs(c.anomaly.spike_factor - 1.5) < 1e-9);
	assert_int_equal(c.anomaly.spike_window_ns, 30 * NS_PER_S);
	assert_true(fabs(c.anomaly.runaway_cpu_ratio - 0.9) < 1e-9);
	assert_int_equal(c.anomaly.runaway_duration_ns, MIN_NS);
	assert_int_equal(c.anomaly.gpu_idle_ns, 5 * MIN_NS);
	assert_int_equal(c.correlation.interval_ns, 30 * MIN_NS);
	assert_int_equal(c.correlation.min_sample_size, 5);
	assert_int_equal(c.limits.max_memory_bytes, 0);
	assert_int_equal(c.limits.max_processes, 0);
	assert_int_equal(c.limits.max_clients, 1024);
	assert_int_equal(c.limits.max_clients_per_user, 64);
	assert_int_equal(c.limits.max_traces, 8);
	assert_int_equal(c.limits.max_traces_per_user, 2);
	assert_int_equal(c.limits.max_trace_files, 16);
	assert_int_equal(c.limits.max_trace_bytes, 64 << 20);
}

static void test_config_key__every_default_is_within_its_own_bounds(void **state)
{
	for (const struct config_key *key = config_keys; key->section; key++) {
		struct config c = { 0 };

		assert_int_equal(set(key, key->otherwise, &c), 0);
		assert_true(strlen(key->help) > 10);
		assert_int_equal(has_bounds(key), key->min && key->max);
	}
}

static void test_config_key__accepts_every_bound_and_refuses_values_beyond(void **state)
{
	/* One row a bounded key: just below, lowest, highest, just above. */
	static const struct {
		const char *section, *name, *below, *lowest, *highest, *above;
	} rows[] = {
		{ "profiler", "interval_seconds", "0.999999", "1", "3600", "3600.000001" },
		{ "profiler", "jsonl_max_bytes", "1048575", "1048576", "1024G", "1099511627777" },
		{ "retention", "full_resolution_hours", "59s", "1m", "87600", "87600.1" },
		{ "retention", "downsampled_days", "59s", "60s", "3650", "3651" },
		{ "retention", "events_days", "0", "1m", "3650d", "3650.1" },
		{ "anomaly", "memory_spike_threshold", "1", "1.01", "1000", "1000.5" },
		{ "anomaly", "memory_spike_window_seconds", "0.5", "1", "86400", "86401" },
		{ "anomaly", "runaway_cpu_threshold", "49.9", "50", "100", "100.1" },
		{ "anomaly", "runaway_duration_seconds", "0.9", "1s", "7d", "604801" },
		{ "anomaly", "gpu_idle_seconds", "0.9", "1s", "7d", "604801" },
		{ "correlation", "interval_minutes", "4.9", "5", "7d", "10081" },
		{ "correlation", "min_sample_size", "1", "2", "1000000", "1000001" },
		{ "limits", "max_memory_mb", "0.9", "1", "1048576G", "1073741825" },
		{ "limits", "max_processes", "0", "1", "4194304", "4194305" },
		{ "limits", "max_clients", "0", "1", "65536", "65537" },
		{ "limits", "max_clients_per_user", "0", "1", "65536", "65537" },
		{ "limits", "max_traces", "0", "1", "64", "65" },
		{ "limits", "max_traces_per_user", "0", "1", "64", "65" },
		{ "limits", "max_trace_files", "0", "1", "1000", "1001" },
		{ "limits", "max_trace_mb", "0.5", "1", "1048576G", "1048577G" },
	};
	size_t bounded = 0;

	for (const struct config_key *key = config_keys; key->section; key++)
		bounded += has_bounds(key);
	assert_int_equal(bounded, ARRAY_LEN(rows));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct config_key *key = find(rows[i].section, rows[i].name);
		struct config c;

		config_init(&c);
		assert_true(set(key, rows[i].below, &c) < 0);
		assert_int_equal(set(key, rows[i].lowest, &c), 0);
		assert_int_equal(set(key, rows[i].highest, &c), 0);
		assert_true(set(key, rows[i].above, &c) < 0);
	}
}

static void test_config_key__refuses_values_of_another_type_and_keeps_the_setting(void **state)
{
	static const char *const wrong[] = {
		"",
		"maybe",
		"nan",
		"NaN",
		"inf",
		"-inf",
		"1e3",
		"0x10",
		"--5",
		"5 5",
		"5x",
		"5.",
		".5",
		"1,5",
		"５",
		"99999999999999999999999999999999999999999999",
		"18446744073709551616",
		"18446744073709551616d",
		"-1",
		"relative/path",
		"/ends/in/slash/",
		"\"/quoted\"",
		"5 # comment",
		"true;",
	};

	for (const struct config_key *key = config_keys; key->section; key++)
		for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
			struct config c, before;

			config_init(&c);
			before = c;
			assert_true(set(key, wrong[i], &c) < 0);
			assert_memory_equal(&c, &before, sizeof c);
		}
}

static void test_config_key__understands_units(void **state)
{
	struct config c;

	config_init(&c);
	assert_int_equal(set(find("profiler", "interval_seconds"), "2.5", &c), 0);
	assert_int_equal(c.profiler.interval_ns, 2500 * NS_PER_MS);
	assert_int_equal(set(find("profiler", "interval_seconds"), "2m", &c), 0);
	assert_int_equal(c.profiler.interval_ns, 2 * MIN_NS);
	assert_int_equal(set(find("retention", "full_resolution_hours"), "1.5", &c), 0);
	assert_int_equal(c.retention.full_resolution_ns, 90 * MIN_NS);
	assert_int_equal(set(find("retention", "full_resolution_hours"), "2d", &c), 0);
	assert_int_equal(c.retention.full_resolution_ns, 48 * 60 * MIN_NS);
	assert_int_equal(set(find("profiler", "jsonl_max_bytes"), "1.5M", &c), 0);
	assert_int_equal(c.profiler.jsonl_max_bytes, 1572864);
	assert_int_equal(set(find("limits", "max_memory_mb"), "512", &c), 0);
	assert_int_equal(c.limits.max_memory_bytes, UINT64_C(512) << 20);
	assert_int_equal(set(find("limits", "max_memory_mb"), "2G", &c), 0);
	assert_int_equal(c.limits.max_memory_bytes, UINT64_C(2) << 30);
	assert_int_equal(set(find("limits", "max_memory_mb"), "auto", &c), 0);
	assert_int_equal(c.limits.max_memory_bytes, 0);
}

static void test_config_key__accepts_the_usual_words_for_switches(void **state)
{
	const struct config_key *gpu = find("profiler", "gpu_enabled"),
				*enabled = find("profiler", "enabled");
	struct config c;

	config_init(&c);
	assert_int_equal(set(gpu, "yes", &c), 0);
	assert_int_equal(c.profiler.gpu, SWITCH_ON);
	assert_int_equal(set(gpu, "off", &c), 0);
	assert_int_equal(c.profiler.gpu, SWITCH_OFF);
	assert_int_equal(set(gpu, "auto", &c), 0);
	assert_int_equal(c.profiler.gpu, SWITCH_AUTO);
	assert_int_equal(set(enabled, "false", &c), 0);
	assert_false(c.profiler.enabled);
	assert_true(set(enabled, "auto", &c) < 0);
}

static void test_config_key__accepts_paths_and_refuses_long_ones(void **state)
{
	const struct config_key *key = find("profiler", "storage_path");
	char *path = malloc(CONFIG_PATH_MAX + 1);
	struct config c;

	config_init(&c);
	memset(path, 'p', CONFIG_PATH_MAX);
	path[0] = '/';
	path[CONFIG_PATH_MAX] = '\0';
	assert_true(set(key, path, &c) < 0);
	path[CONFIG_PATH_MAX - 1] = '\0';
	assert_int_equal(set(key, path, &c), 0);
	assert_string_equal(c.profiler.storage_path, path);
	free(path);
}

static void test_config_key__takes_a_selection_of_processes_by_its_name(void **state)
{
	const struct config_key *key = find("profiler", "jsonl_processes");
	struct config c;

	(void)state;
	config_init(&c);
	assert_int_equal(c.profiler.jsonl_processes, SELECT_JOBS_AND_LARGEST);
	assert_int_equal(set(key, "all", &c), 0);
	assert_int_equal(c.profiler.jsonl_processes, SELECT_ALL);
	assert_int_equal(set(key, "jobs", &c), 0);
	assert_int_equal(c.profiler.jsonl_processes, SELECT_JOBS);
	assert_true(set(key, "jobs+5", &c) < 0);
}

/* docs/configuration.md has a row "| `key` | default | range | …" for every key, and for nothing
 * else. */
static void test_config_key__is_documented_with_its_default_and_bounds(void **state)
{
	struct buf text = { 0 };
	struct err err;
	size_t keys = 0, rows = 0;
	const char *source = getenv("PROCTOR_SOURCE_DIR");
	char *path = xasprintf("%s/docs/configuration.md", source ? source : ".");

	assert_int_equal(load_file(AT_FDCWD, path, &text, &err), 0);
	for (const struct config_key *key = config_keys; key->section; key++, keys++) {
		char row[256];

		if (has_bounds(key))
			snprintf(row, sizeof row, "\n| `%s` | %s | %s %s to %s |", key->name,
			         key->otherwise, key->above_min ? "above" : "from", key->min,
			         key->max);
		else
			snprintf(row, sizeof row, "\n| `%s` | %s | ", key->name, key->otherwise);
		assert_non_null(strstr(text.at, row));
		snprintf(row, sizeof row, "\n## [%s]\n", key->section);
		assert_non_null(strstr(text.at, row));
	}
	for (const char *p = text.at; (p = strstr(p, "\n| `")); p++)
		rows++;
	assert_int_equal(rows, keys);
	buf_done(&text);
	free(path);
}

static void test_config_key_eq__finds_the_values_that_differ(void **state)
{
	struct config a, b;
	struct err err;

	(void)state;
	config_init(&a);
	for (const struct config_key *key = config_keys; key->section; key++) {
		const char *other = key->type == CONFIG_PATH         ? "/elsewhere"
		                    : key->type == CONFIG_SWITCH     ? "on"
		                    : key->type == CONFIG_PROCESSES  ? "all"
		                    : key->type != CONFIG_BOOL       ? key->max
		                    : strcmp(key->otherwise, "true") ? "true"
		                                                     : "false";

		config_init(&b);
		assert_true(config_key_eq(key, &a, &b));
		assert_int_equal(config_key_set(key, scan_str(other), &b, &err), 0);
		assert_false(config_key_eq(key, &a, &b));
		for (const struct config_key *k = config_keys; k->section; k++)
			assert_true(k == key || config_key_eq(k, &a, &b));
	}
}

RUN_TESTS(TEST(test_config__defaults_are_those_of_the_specification),
          TEST(test_config_key__every_default_is_within_its_own_bounds),
          TEST(test_config_key__takes_a_selection_of_processes_by_its_name),
          TEST(test_config_key__accepts_every_bound_and_refuses_values_beyond),
          TEST(test_config_key__refuses_values_of_another_type_and_keeps_the_setting),
          TEST(test_config_key__understands_units),
          TEST(test_config_key__accepts_the_usual_words_for_switches),
          TEST(test_config_key__accepts_paths_and_refuses_long_ones),
          TEST(test_config_key__is_documented_with_its_default_and_bounds),
          TEST(test_config_key_eq__finds_the_values_that_differ))
