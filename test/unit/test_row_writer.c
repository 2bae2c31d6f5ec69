/* SPDX-License-Identifier: MIT */
#include "view/row_writer.h"

#include <math.h>

#include "check.h"

static const char *const names[] = { "pid", "cpu", "name" };

static void fill(struct row_writer *r)
{
	row_writer_begin(r, names, ARRAY_LEN(names));
	row_writer_i64(r, -7);
	row_writer_real(r, 2.5);
	row_writer_text(r, "a,\"b\"\n", 6);
	row_writer_end_row(r);
	row_writer_null(r);
	row_writer_real(r, NAN);
	row_writer_text(r, "", 0);
	row_writer_end_row(r);
	row_writer_i64(r, INT64_MAX);
	row_writer_null(r);
	row_writer_blob(r, "\x01\xff", 2);
	row_writer_end_row(r);
	row_writer_end(r);
	row_writer_done(r);
}

static void assert_fills(struct row_writer r, const char *text)
{
	struct buf out = { 0 };

	r.out = &out;
	r.style.width = SIZE_MAX;
	fill(&r);
	assert_string_equal(out.at, text);
	buf_done(&out);
}

static void test_row_writer__is_a_table_on_a_terminal(void **state)
{
	assert_fills((struct row_writer){ .format = ROW_WRITER_TABLE },
	             "                pid  cpu  name\n"
	             "                 -7  2.5  a,\"b\"\\n\n"
	             "                  -    -\n"
	             "9223372036854775807    -  01ff\n");
}

static void test_row_writer__stands_row_below_row_where_it_is_too_narrow(void **state)
{
	struct buf out = { 0 };
	struct row_writer r = { .format = ROW_WRITER_TABLE, .out = &out, .style.width = 30 };

	fill(&r);
	assert_string_equal(out.at, "row 1\n"
	                            "   pid  -7\n"
	                            "   cpu  2.5\n"
	                            "  name  a,\"b\"\\n\n"
	                            "row 2\n"
	                            "   pid  -\n"
	                            "   cpu  -\n"
	                            "  name\n"
	                            "row 3\n"
	                            "   pid  9223372036854775807\n"
	                            "   cpu  -\n"
	                            "  name  01ff\n");
	buf_done(&out);
}

static void test_row_writer__is_an_array_of_objects_in_json(void **state)
{
	assert_fills((struct row_writer){ .format = ROW_WRITER_JSON },
	             "[\n{\"pid\":-7,\"cpu\":2.5,\"name\":\"a,\\\"b\\\"\\n\"},\n"
	             "{\"pid\":null,\"cpu\":null,\"name\":\"\"},\n"
	             "{\"pid\":9223372036854775807,\"cpu\":null,\"name\":\"01ff\"}\n]\n");
}

static void test_row_writer__is_csv_with_absent_and_empty_apart(void **state)
{
	assert_fills((struct row_writer){ .format = ROW_WRITER_CSV },
	             "pid,cpu,name\n"
	             "-7,2.5,\"a,\"\"b\"\"\\n\"\n"
	             ",,\"\"\n"
	             "9223372036854775807,,01ff\n");
}

static void test_row_writer__escapes_what_a_terminal_would_obey_in_csv(void **state)
{
	struct buf out = { 0 };
	struct row_writer r = { .format = ROW_WRITER_CSV, .out = &out };

	row_writer_begin(&r, (const char *const[]){ "a\x1b" }, 1);
	row_writer_text(&r, "\x1b[2J\n", 5);
	row_writer_end_row(&r);
	row_writer_end(&r);
	row_writer_done(&r);
	assert_string_equal(out.at, "a\\x1b\n\\x1b[2J\\n\n");
	buf_done(&out);
}

static void test_row_writer__names_columns_of_one_name_apart(void **state)
{
	struct buf out = { 0 };
	struct row_writer r = { .format = ROW_WRITER_JSON, .out = &out };

	row_writer_begin(&r, (const char *const[]){ "a", "a", "a\"" }, 3);
	for (int i = 0; i < 3; i++)
		row_writer_i64(&r, i);
	row_writer_end_row(&r);
	row_writer_end(&r);
	row_writer_done(&r);
	assert_string_equal(out.at, "[\n{\"a\":0,\"a:2\":1,\"a\\\"\":2}\n]\n");
	buf_done(&out);
}

static void test_row_writer__without_rows_is_still_a_document(void **state)
{
	static const struct {
		enum row_writer_format format;
		const char *text;
	} rows[] = { { ROW_WRITER_TABLE, "pid  cpu  name\n" },
		     { ROW_WRITER_JSON, "[]\n" },
		     { ROW_WRITER_CSV, "pid,cpu,name\n" } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf out = { 0 };
		struct row_writer r = { .format = rows[i].format,
			                .out = &out,
			                .style.width = SIZE_MAX };

		row_writer_begin(&r, names, ARRAY_LEN(names));
		row_writer_end(&r);
		row_writer_done(&r);
		assert_string_equal(out.at, rows[i].text);
		buf_done(&out);
	}
}

RUN_TESTS(TEST(test_row_writer__is_a_table_on_a_terminal),
          TEST(test_row_writer__stands_row_below_row_where_it_is_too_narrow),
          TEST(test_row_writer__is_an_array_of_objects_in_json),
          TEST(test_row_writer__is_csv_with_absent_and_empty_apart),
          TEST(test_row_writer__escapes_what_a_terminal_would_obey_in_csv),
          TEST(test_row_writer__names_columns_of_one_name_apart),
          TEST(test_row_writer__without_rows_is_still_a_document))
