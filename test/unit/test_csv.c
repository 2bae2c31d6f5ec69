/* SPDX-License-Identifier: MIT */
#include "base/csv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "check.h"

static int file_of(const char *text, size_t n)
{
	int fd = memfd_create("csv", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, text, n), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void assert_field(const struct csv_row *row, size_t i, const char *text)
{
	assert_true(i < row->n);
	assert_true(scan_eq(&row->field[i], text));
}

static void test_csv__reads_quotes_newlines_and_crlf(void **state)
{
	static const char text[] =
		"\xef\xbb\xbfname,b\r\n\"x \"\"y\"\", z\",2\r\n\n\"two\nlines\",\nend,4";
	cleanup(closep) int fd = file_of(text, sizeof text - 1);
	struct csv_row row;
	struct err err;
	struct csv c;

	csv_init(&c, fd);
	assert_int_equal(csv_next(&c, &row, &err), 1);
	assert_field(&row, 0, "name");
	assert_field(&row, 1, "b");
	assert_int_equal(csv_next(&c, &row, &err), 1);
	assert_field(&row, 0, "x \"y\", z");
	assert_field(&row, 1, "2");
	assert_int_equal(row.line, 2);
	assert_int_equal(csv_next(&c, &row, &err), 1);
	assert_field(&row, 0, "two\nlines");
	assert_field(&row, 1, "");
	assert_int_equal(row.line, 4); /* the empty line is no row */
	assert_int_equal(csv_next(&c, &row, &err), 1);
	assert_int_equal(row.line, 6);
	assert_field(&row, 1, "4");
	assert_int_equal(csv_next(&c, &row, &err), 0);
	csv_done(&c);
}

static void test_csv__finds_the_separator_in_the_first_line(void **state)
{
	static const char tabs[] = "a,b\tc\n", pipes[] = "a|b\n\"x|y\n";
	cleanup(closep) int tab_fd = file_of(tabs, sizeof tabs - 1);
	cleanup(closep) int pipe_fd = file_of(pipes, sizeof pipes - 1);
	struct csv_row row;
	struct err err;
	struct csv c;

	csv_init(&c, tab_fd);
	assert_int_equal(csv_next(&c, &row, &err), 1);
	assert_field(&row, 0, "a,b");
	csv_done(&c);
	csv_init(&c, pipe_fd);
	assert_int_equal(csv_next(&c, &row, &err), 1);
	assert_int_equal(csv_next(&c, &row, &err), 1);
	assert_field(&row, 0, "\"x"); /* sacct does not quote */
	csv_done(&c);
}

static void test_csv__skips_a_bad_row_and_goes_on(void **state)
{
	static const char text[] = "a,b\n\"x\"y,1\n3,4\n\"open,5\n6,7\n";
	cleanup(closep) int fd = file_of(text, sizeof text - 1);
	struct csv_row row;
	struct err err;
	struct csv c;

	csv_init(&c, fd);
	assert_int_equal(csv_next(&c, &row, &err), 1);
	assert_int_equal(csv_next(&c, &row, &err), -EBADMSG);
	assert_int_equal(row.line, 2);
	assert_int_equal(csv_next(&c, &row, &err), 1);
	assert_field(&row, 0, "3");
	assert_int_equal(csv_next(&c, &row, &err), -EBADMSG);
	assert_int_equal(row.line, 4);
	assert_int_equal(csv_next(&c, &row, &err), 1);
	assert_field(&row, 0, "6");
	assert_int_equal(csv_next(&c, &row, &err), 0);
	csv_done(&c);
}

static void test_csv__skips_a_row_that_is_too_long(void **state)
{
	size_t n = 3 * CSV_ROW_MAX;
	cleanup(freep) char *text = xmalloc(n);
	cleanup(closep) int fd = -1;
	struct csv_row row;
	struct err err;
	struct csv c;

	memset(text, 'x', n);
	memcpy(text, "a,b\n", 4);
	memcpy(text + n - 5, "\n8,9\n", 5);
	fd = file_of(text, n);
	csv_init(&c, fd);
	assert_int_equal(csv_next(&c, &row, &err), 1);
	assert_int_equal(csv_next(&c, &row, &err), -EBADMSG);
	assert_int_equal(row.line, 2);
	assert_int_equal(csv_next(&c, &row, &err), 1);
	assert_field(&row, 0, "8");
	assert_int_equal(row.line, 3);
	assert_int_equal(csv_next(&c, &row, &err), 0);
	csv_done(&c);
}

static void test_csv__reads_nothing_from_an_empty_file(void **state)
{
	cleanup(closep) int fd = file_of("", 0);
	struct csv_row row;
	struct err err;
	struct csv c;

	csv_init(&c, fd);
	assert_int_equal(csv_next(&c, &row, &err), 0);
	csv_done(&c);
}

RUN_TESTS(TEST(test_csv__reads_quotes_newlines_and_crlf),
          TEST(test_csv__finds_the_separator_in_the_first_line),
          TEST(test_csv__skips_a_bad_row_and_goes_on), TEST(test_csv__skips_a_row_that_is_too_long),
          TEST(test_csv__reads_nothing_from_an_empty_file))
