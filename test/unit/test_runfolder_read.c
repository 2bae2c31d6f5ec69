/* SPDX-License-Identifier: MIT */
#include "runfolder/runfolder_read.h"

#include <errno.h>

#include "base/io.h"
#include "store_kit.h"

struct place {
	char *dir;
	int fd;
};

static struct place begin(void)
{
	struct place p = { .dir = world_dir() };

	p.fd = open(p.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return p;
}

static void end(struct place *p)
{
	close(p->fd);
	world_rmdir(p->dir);
}

static void put(const struct place *p, const char *name, const char *text, size_t n)
{
	int fd = openat(p->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(io_write_all(fd, text, n), 0);
	close(fd);
}

static void puts_file(const struct place *p, const char *name, const char *text)
{
	put(p, name, text, strlen(text));
}

static void assert_reading(const struct place *p, const char *summary,
                           struct runfolder_reading *ret)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };
	struct err err = { 0 };

	if (runfolder_read(p->dir, ret, &err) < 0)
		fail_msg("%s", err.msg);
	json_begin_object(&j);
	resource_summary_put(&j, &ret->summary);
	json_end_object(&j);
	assert_string_equal(out.at, summary);
	buf_done(&out);
}

static void test_runfolder_read__takes_each_figure_from_its_best_file(void **state)
{
	struct place p = begin();
	struct runfolder_reading r;

	puts_file(&p, "hw_dmon.csv", "0 10 20 300\n1 30 40 500\n");
	assert_reading(
		&p,
		"{\"peak_vram_mb\":500.0,\"gpu_util_mean_pct\":20.0,\"gpu_util_max_pct\":30.0,"
		"\"mem_util_mean_pct\":30.0,\"mem_util_max_pct\":40.0}",
		&r);
	assert_int_equal(r.gpus, 2);
	assert_false(r.files[HARDWARE_FILE_METRICS].is_there);
	puts_file(&p, "hw_metrics.csv", "t, 1, 2, 3, 4, 5, 6, 7, 8\n");
	puts_file(&p, "cpu_metrics.csv", "timestamp,usr_pct,idle_pct\nt,1,2\n");
	assert_reading(&p,
	               "{\"peak_vram_mb\":3.0,\"gpu_util_mean_pct\":1.0,\"gpu_util_max_pct\":1.0,"
	               "\"mem_util_mean_pct\":30.0,\"mem_util_max_pct\":40.0,"
	               "\"power_watts_mean\":5.0,\"power_watts_max\":5.0,"
	               "\"cpu_usr_mean_pct\":1.0,\"cpu_idle_mean_pct\":2.0}",
	               &r);
	puts_file(&p, "hw_dmon.csv", "# gpu sm mem fb\n0 - - -\n");
	assert_reading(&p,
	               "{\"peak_vram_mb\":3.0,\"gpu_util_mean_pct\":1.0,\"gpu_util_max_pct\":1.0,"
	               "\"mem_util_mean_pct\":2.0,\"mem_util_max_pct\":2.0,"
	               "\"power_watts_mean\":5.0,\"power_watts_max\":5.0,"
	               "\"cpu_usr_mean_pct\":1.0,\"cpu_idle_mean_pct\":2.0}",
	               &r);
	end(&p);
}

static void test_runfolder_read__finds_what_jax_logged_in_the_run_log(void **state)
{
	struct place p = begin();
	struct runfolder_reading r;

	puts_file(&p, "cpu_metrics.csv", "");
	puts_file(&p, "run.jsonl",
	          "{\"type\":\"event\",\"event\":\"a\",\"data\":{\"jax_peak_bytes_mb\":\"99.5\"}}\n"
	          "{\"type\":\"phase\",\"name\":\"b\",\"jax_peak_bytes_mb\":1000.25}\n"
	          "{\"type\":\"event\",\"event\":\"jax_peak_bytes_mb\"}\n"
	          "{\"data\":{\"x\":{\"jax_peak_bytes_mb\":5000}}}\n"
	          "{\"data\":{\"jax_peak_bytes_mb\":\"much\"}}\n"
	          "\"jax_peak_bytes_mb\":7000\n"
	          "{\"data\":{\"jax_peak_bytes_mb\":80");
	assert_reading(&p, "{\"jax_peak_bytes_mb\":1000.3}", &r);
	assert_int_equal(hardware_file_lines(&r.files[HARDWARE_FILE_CPU].counts), 0);
	end(&p);
}

/* Lines that end before, at and behind the ends of what is read at once. */
static void test_runfolder_read__keeps_lines_apart_in_files_of_any_size(void **state)
{
	static const char line[] = "2024/05/01 12:34:56.789,50.0,25.0\n";
	struct place p = begin();
	struct runfolder_reading r;
	struct buf text = { 0 };

	for (int i = 0; i < 10000; i++)
		buf_puts(&text, line);
	put(&p, "cpu_metrics.csv", text.at, text.len - 1); /* without its last newline */
	assert_reading(&p, "{\"cpu_usr_mean_pct\":50.0,\"cpu_idle_mean_pct\":25.0}", &r);
	assert_int_equal(r.files[HARDWARE_FILE_CPU].counts.used, 10000);
	buf_done(&text);
	end(&p);
}

static void test_runfolder_read__skips_huge_lines_and_goes_on(void **state)
{
	static const size_t sizes[] = { HARDWARE_FILE_LINE_MAX - 2, HARDWARE_FILE_LINE_MAX - 1,
		                        HARDWARE_FILE_LINE_MAX, HARDWARE_FILE_LINE_MAX + 1,
		                        HARDWARE_FILE_LINE_MAX * 3 + 17 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct place p = begin();
		struct runfolder_reading r;
		struct buf text = { 0 };
		char *huge = xmalloc(sizes[i]);

		memset(huge, 'x', sizes[i]);
		buf_puts(&text, "t,1,2\n");
		buf_put(&text, huge, sizes[i]);
		buf_puts(&text, "\nt,3,4\n");
		buf_put(&text, huge, sizes[i]);
		put(&p, "cpu_metrics.csv", text.at, text.len);
		assert_reading(&p, "{\"cpu_usr_mean_pct\":2.0,\"cpu_idle_mean_pct\":3.0}", &r);
		assert_int_equal(r.files[HARDWARE_FILE_CPU].counts.used, 2);
		assert_int_equal(r.files[HARDWARE_FILE_CPU].counts.too_long +
		                         r.files[HARDWARE_FILE_CPU].counts.too_short,
		                 2);
		assert_int_equal(r.files[HARDWARE_FILE_CPU].counts.too_long,
		                 sizes[i] < HARDWARE_FILE_LINE_MAX ? 0 : 2);
		buf_done(&text);
		free(huge);
		end(&p);
	}
}

static void test_runfolder_read__reports_what_is_missing(void **state)
{
	struct place p = begin();
	cleanup(freep) char *nowhere = xasprintf("%s/nowhere", p.dir);
	cleanup(freep) char *file = xasprintf("%s/file", p.dir);
	struct runfolder_reading r;
	struct err err = { 0 };

	assert_int_equal(runfolder_read(nowhere, &r, &err), -ENOENT);
	assert_non_null(strstr(err.msg, nowhere));
	puts_file(&p, "file", "x");
	assert_int_equal(runfolder_read(file, &r, &err), -ENOTDIR);
	assert_int_equal(runfolder_read(p.dir, &r, &err), -ENODATA);
	assert_non_null(strstr(err.msg, "hw_metrics.csv"));
	assert_non_null(strstr(err.msg, "hw_dmon.csv"));
	assert_non_null(strstr(err.msg, "cpu_metrics.csv"));
	end(&p);
}

static void test_runfolder_read__explains_why_a_file_cannot_be_read(void **state)
{
	struct place p = begin();
	struct runfolder_reading r;

	assert_int_equal(mkdirat(p.fd, "hw_dmon.csv", 0700), 0);
	assert_int_equal(mkfifoat(p.fd, "cpu_metrics.csv", 0600), 0);
	assert_reading(&p, "{}", &r);
	assert_true(r.files[HARDWARE_FILE_DMON].is_there && r.files[HARDWARE_FILE_CPU].is_there);
	assert_string_equal(r.files[HARDWARE_FILE_DMON].problem, "Is a directory");
	assert_string_equal(r.files[HARDWARE_FILE_CPU].problem, "not a regular file");
	assert_string_equal(r.files[HARDWARE_FILE_METRICS].problem, "");
	end(&p);
}

RUN_TESTS(TEST(test_runfolder_read__takes_each_figure_from_its_best_file),
          TEST(test_runfolder_read__finds_what_jax_logged_in_the_run_log),
          TEST(test_runfolder_read__keeps_lines_apart_in_files_of_any_size),
          TEST(test_runfolder_read__skips_huge_lines_and_goes_on),
          TEST(test_runfolder_read__reports_what_is_missing),
          TEST(test_runfolder_read__explains_why_a_file_cannot_be_read))
