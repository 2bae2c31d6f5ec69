/* SPDX-License-Identifier: MIT */
/* Calls with any arguments, paths and names of files: their texts are valid JSON, one row for each call, and hold
 * nothing that moves a terminal. */
#include <jansson.h>
#include <string.h>

#include "fuzz.h"
#include "model/flight.h"

#define CALLS_MAX 40
#define KEEP 16
#define CALL_BYTES 96 /* of the input for each call */

static uint64_t take(const uint8_t **data, size_t bytes)
{
	uint64_t value = 0;

	memcpy(&value, *data, bytes);
	*data += bytes;
	return value;
}

/* As the probe fills it: the lengths fit. */
static struct flight_call call_of(const uint8_t *data)
{
	struct flight_call c = { .call = (syscall_id)take(&data, 2) % 512 };
	uint8_t flags = (uint8_t)take(&data, 1);

	c.tid = (pid_t)take(&data, 1);
	c.entered_ns = take(&data, 2);
	c.left_ns = take(&data, 2);
	c.result = (int16_t)take(&data, 2);
	for (size_t i = 0; i < SYSCALL_ARGS; i++)
		c.args[i] = (uint64_t)(int64_t)(int32_t)take(&data, 4);
	c.path_is_unread = flags & 1;
	c.more_is_unread = flags & 2;
	c.path_is_cut = flags & 4;
	c.more_is_cut = flags & 8;
	c.name_is_cut = flags & 16;
	c.text_is_address = flags & 32;
	c.file_type = (uint8_t)take(&data, 1) & 15;
	c.file_inode = take(&data, 4);
	c.text_len = (uint8_t)take(&data, 1) % 40;
	c.more_len = (uint8_t)take(&data, 1) % 16;
	memcpy(c.text, data, (size_t)c.text_len + c.more_len);
	return c;
}

static void check_text(const char *text)
{
	for (const char *s = text; *s; s++)
		FUZZ_CHECK((unsigned char)*s >= ' ' && *s != 0x7f);
	FUZZ_CHECK(strchr(text, '('));
}

static void check_json(const struct buf *out, size_t calls)
{
	json_t *rows = json_loadb(out->at, out->len, 0, NULL), *row;
	size_t i;

	FUZZ_CHECK(rows && json_array_size(rows) == calls);
	json_array_foreach(rows, i, row)
	{
		FUZZ_CHECK(json_array_size(row) == 7);
		check_text(json_string_value(json_array_get(row, 6)));
	}
	json_decref(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct flight_call calls[CALLS_MAX];
	struct buf out = { 0 };
	size_t n = 0;

	for (; n < CALLS_MAX && (n + 1) * CALL_BYTES <= size; n++)
		calls[n] = call_of(data + n * CALL_BYTES);
	n = flight_keep(calls, n, KEEP);
	flight_json(&(struct json){ .out = &out }, calls, n, false, 1);
	check_json(&out, n);
	buf_done(&out);
	return 0;
}
