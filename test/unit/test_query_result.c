/* SPDX-License-Identifier: MIT */
#include "view/query_result.h"

#include <math.h>

#include "check.h"

static const char *const names[] = { "pid", "cpu", "name" };

static void fill(struct query_result *r)
{
	query_result_begin(r, names, ARRAY_LEN(names));
	query_result_i64(r, -7);
	query_result_real(r, 2.5);
	query_result_text(r, "a,\"b\"\n", 6);
	query_result_end_row(r);
	query_result_null(r);
	query_result_real(r, NAN);
	query_result_text(r, "", 0);
	query_result_end_row(r);
	query_result_i64(r, INT64_MAX);
	query_result_null(r);
	query_result_blob(r, "\x01\xff", 2);
	query_result_end_row(r);
	query_result_end(r);
	query_result_done(r);
}

static void assert_fills(struct query_result r, const char *text)
{
	struct buf out = { 0 };

	r.out = &out;
	r.style.width = SIZE_MAX;
	fill(&r);
	assert_string_equal(out.at, text);
	buf_done(&out);
}

static void test_query_result__is_a_table_for_people(void **state)
{
	assert_fills((struct query_result){ .format = QUERY_RESULT_TABLE },
	             "                pid  cpu  name\n"
	             "                 -7  2.5  a,\"b\"\\n\n"
	             "                  -    -\n"
	             "9223372036854775807    -  01ff\n");
}

static void test_query_result__stands_row_below_row_where_it_is_too_narrow(void **state)
{
	struct buf out = { 0 };
	struct query_result r = { .format = QUERY_RESULT_TABLE, .out = &out, .style.width = 30 };

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

static void test_query_result__is_an_array_of_objects_in_json(void **state)
{
	assert_fills((struct query_result){ .format = QUERY_RESULT_JSON },
	             "[\n{\"pid\":-7,\"cpu\":2.5,\"name\":\"a,\\\"b\\\"\\n\"},\n"
	             "{\"pid\":null,\"cpu\":null,\"name\":\"\"},\n"
	             "{\"pid\":9223372036854775807,\"cpu\":null,\"name\":\"01ff\"}\n]\n");
}

static void test_query_result__is_csv_with_absent_and_empty_apart(void **state)
{
	assert_fills((struct query_result){ .format = QUERY_RESULT_CSV },
	             "pid,cpu,name\n"
	             "-7,2.5,\"a,\"\"b\"\"\n\"\n"
	             ",,\"\"\n"
	             "9223372036854775807,,01ff\n");
}

static void test_query_result__escapes_csv_for_a_terminal(void **state)
{
	struct buf out = { 0 };
	struct query_result r = { .format = QUERY_RESULT_CSV, .escapes = true, .out = &out };

	query_result_begin(&r, (const char *const[]){ "a\x1b" }, 1);
	query_result_text(&r, "\x1b[2J\n", 5);
	query_result_end_row(&r);
	query_result_end(&r);
	query_result_done(&r);
	assert_string_equal(out.at, "a\\x1b\n\\x1b[2J\\n\n");
	buf_done(&out);
}

static void test_query_result__names_columns_of_one_name_apart(void **state)
{
	struct buf out = { 0 };
	struct query_result r = { .format = QUERY_RESULT_JSON, .out = &out };

	query_result_begin(&r, (const char *const[]){ "a", "a", "a\"" }, 3);
	for (int i = 0; i < 3; i++)
		query_result_i64(&r, i);
	query_result_end_row(&r);
	query_result_end(&r);
	query_result_done(&r);
	assert_string_equal(out.at, "[\n{\"a\":0,\"a:2\":1,\"a\\\"\":2}\n]\n");
	buf_done(&out);
}

static void test_query_result__without_rows_is_still_a_document(void **state)
{
	static const struct {
		enum query_result_format format;
		const char *text;
	} rows[] = { { QUERY_RESULT_TABLE, "pid  cpu  name\n" },
		     { QUERY_RESULT_JSON, "[]\n" },
		     { QUERY_RESULT_CSV, "pid,cpu,name\n" } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf out = { 0 };
		struct query_result r = { .format = rows[i].format,
			                  .out = &out,
			                  .style.width = SIZE_MAX };

		query_result_begin(&r, names, ARRAY_LEN(names));
		query_result_end(&r);
		query_result_done(&r);
		assert_string_equal(out.at, rows[i].text);
		buf_done(&out);
	}
}

RUN_TESTS(TEST(test_query_result__is_a_table_for_people),
          TEST(test_query_result__stands_row_below_row_where_it_is_too_narrow),
          TEST(test_query_result__is_an_array_of_objects_in_json),
          TEST(test_query_result__is_csv_with_absent_and_empty_apart),
          TEST(test_query_result__escapes_csv_for_a_terminal),
          TEST(test_query_result__names_columns_of_one_name_apart),
          TEST(test_query_result__without_rows_is_still_a_document))
