/* SPDX-License-Identifier: MIT */
#include "runfolder/run_log.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/io.h"
#include "base/json_read.h"
#include "store_kit.h"

#define AT_NS (UINT64_C(1790000000) * NS_PER_S + 412 * NS_PER_MS)
#define TS "{\"ts\":\"2026-09-21T14:13:20.412Z\",\"type\":"

struct place {
	char *dir;
	int fd;
	struct run_log log;
};

static struct place begin(void)
{
	struct place p = { .dir = world_dir() };
	struct err err = { 0 };

	p.fd = open(p.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (run_log_create(p.fd, &p.log, &err) < 0)
		fail_msg("%s", err.msg);
	return p;
}

static void end(struct place *p)
{
	run_log_close(&p->log);
	close(p->fd);
	world_rmdir(p->dir);
}

static int event(struct place *p, const char *name, const char *data)
{
	struct err err = { 0 };

	return run_log_event(&p->log, AT_NS, scan_str(name), scan_str(data), &err);
}

static int phase(struct place *p, uint64_t took_ns, const char *data)
{
	struct err err = { 0 };

	return run_log_phase(&p->log, AT_NS, scan_str("load"), took_ns, scan_str(data), &err);
}

static void assert_log(const struct place *p, const char *wanted)
{
	struct buf text = { 0 };
	struct err err = { 0 };

	assert_int_equal(load_file(p->fd, "run.jsonl", &text, &err), 0);
	assert_string_equal(text.at ? text.at : "", wanted);
	buf_done(&text);
}

static void test_runlog_event__is_a_line_at_once(void **state)
{
	struct place p = begin();

	assert_int_equal(event(&p, "start", ""), 0);
	assert_log(&p, TS "\"event\",\"event\":\"start\"}\n");
	assert_int_equal(event(&p, "epoch \"1\"\n", "{\"loss\":0.3,\n\"x\":[1]}"), 0);
	assert_log(
		&p, TS
		"\"event\",\"event\":\"start\"}\n" TS
		"\"event\",\"event\":\"epoch \\\"1\\\"\\n\",\"data\":{\"loss\":0.3, \"x\":[1]}}\n");
	end(&p);
}

static void test_runlog_event__keeps_what_is_no_object_as_a_string(void **state)
{
	struct place p = begin();

	assert_int_equal(event(&p, "a", "{\"broken\":"), 0);
	assert_int_equal(event(&p, "b", "5"), 0);
	assert_log(&p, TS "\"event\",\"event\":\"a\",\"data\":\"{\\\"broken\\\":\"}\n" TS
	                  "\"event\",\"event\":\"b\",\"data\":\"5\"}\n");
	end(&p);
}

static void test_runlog_phase__has_seconds_and_members_beside_them(void **state)
{
	struct place p = begin();

	assert_int_equal(phase(&p, 1250400000, " {\"rows\":100, \"ok\":true} "), 0);
	assert_int_equal(phase(&p, 2 * NS_PER_S - 1, "{ }"), 0);
	assert_int_equal(phase(&p, 0, ""), 0);
	assert_int_equal(phase(&p, 1, "{\"name\":\"mine\"}"), 0);
	assert_log(&p, TS
	           "\"phase\",\"name\":\"load\",\"seconds\":1.25,\"rows\":100, \"ok\":true}\n" TS
	           "\"phase\",\"name\":\"load\",\"seconds\":2.0}\n" TS
	           "\"phase\",\"name\":\"load\",\"seconds\":0.0}\n" TS
	           "\"phase\",\"name\":\"load\",\"seconds\":0.0,\"data\":{\"name\":\"mine\"}}\n");
	end(&p);
}

static void test_runlog_event__leaves_out_data_past_its_ceiling(void **state)
{
	struct place p = begin();
	char *data = xmalloc(RUN_LOG_DATA_MAX + 3);

	memset(data, ' ', RUN_LOG_DATA_MAX + 2);
	data[0] = '{', data[RUN_LOG_DATA_MAX + 1] = '}', data[RUN_LOG_DATA_MAX + 2] = '\0';
	assert_int_equal(event(&p, "big", data), 0);
	assert_int_equal(phase(&p, 0, data), 0);
	assert_log(&p, TS
	           "\"event\",\"event\":\"big\",\"data_bytes_left_out\":65538}\n" TS
	           "\"phase\",\"name\":\"load\",\"seconds\":0.0,\"data_bytes_left_out\":65538}\n");
	free(data);
	end(&p);
}

/* A file size limit lets the kernel write a part of a line, as a full disk does. */
static void test_run_log__never_writes_half_a_line_and_reports_what_was_lost(void **state)
{
	struct place p = begin();
	struct rlimit before, small;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){ 80, before.rlim_max };
	assert_int_equal(event(&p, "one", ""), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(event(&p, "two", ""), -ENOSPC);
	assert_int_equal(event(&p, "three", ""), -ENOSPC);
	assert_int_equal(phase(&p, 0, ""), -ENOSPC);
	assert_log(&p, TS "\"event\",\"event\":\"one\"}\n");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(p.log.file.lost, 3);
	assert_int_equal(event(&p, "four", ""), 0);
	assert_log(&p, TS "\"event\",\"event\":\"one\"}\n" TS
	                  "\"event\",\"event\":\"lines_lost\",\"data\":{\"lines\":3}}\n" TS
	                  "\"event\",\"event\":\"four\"}\n");
	assert_int_equal(p.log.file.lost, 3);
	end(&p);
}

static void test_runlog_create__takes_no_file_that_is_there(void **state)
{
	struct place p = begin();
	struct run_log other;
	struct err err = { 0 };

	assert_int_equal(run_log_create(p.fd, &other, &err), -EEXIST);
	assert_int_equal(unlinkat(p.fd, "run.jsonl", 0), 0);
	assert_int_equal(symlinkat("elsewhere", p.fd, "run.jsonl"), 0);
	assert_int_equal(run_log_create(p.fd, &other, &err), -EEXIST);
	assert_non_null(strstr(err.msg, "run.jsonl"));
	end(&p);
}

RUN_TESTS(TEST(test_runlog_event__is_a_line_at_once),
          TEST(test_runlog_event__keeps_what_is_no_object_as_a_string),
          TEST(test_runlog_phase__has_seconds_and_members_beside_them),
          TEST(test_runlog_event__leaves_out_data_past_its_ceiling),
          TEST(test_run_log__never_writes_half_a_line_and_reports_what_was_lost),
          TEST(test_runlog_create__takes_no_file_that_is_there))
