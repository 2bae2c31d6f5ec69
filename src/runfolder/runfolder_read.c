/* SPDX-License-Identifier: MIT */
#include "runfolder/runfolder_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "model/field.h"

/* Receives the lines of a file; NULL for one that is too long. */
typedef void line_fn(void *self, const struct scan *line);

/* Hands out the whole lines in `bytes`; returns how many bytes are left. */
static size_t hand_out(char *bytes, size_t n, bool *is_skipping, line_fn *fn, void *self)
{
	struct scan rest = scan_mem(bytes, n), line;

	while (scan_until(&rest, '\n', &line)) {
		if (!*is_skipping)
			fn(self, &line);
		*is_skipping = false;
	}
	n = scan_left(&rest);
	if (n == HARDWARE_FILE_LINE_MAX && !*is_skipping) {
		fn(self, NULL);
		*is_skipping = true;
	}
	if (*is_skipping)
		return 0;
	memmove(bytes, rest.p, n);
	return n;
}

/* 0 or -errno. A last line without a newline is a line. */
static int read_lines(int fd, line_fn *fn, void *self)
{
	cleanup(freep) char *bytes = xmalloc(HARDWARE_FILE_LINE_MAX);
	bool is_skipping = false;
	size_t have = 0;

	for (;;) {
		ssize_t n = read(fd, bytes + have, HARDWARE_FILE_LINE_MAX - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		have = hand_out(bytes, have + (size_t)n, &is_skipping, fn, self);
	}
	if (have)
		fn(self, &(const struct scan){ bytes, bytes + have });
	return 0;
}

/* The file's fd, -errno; -ENOENT when it is not there. Not blocking: it could be a pipe. */
static int open_file(int dir_fd, const char *name)
{
	cleanup(closep) int fd = openat(dir_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	return TAKE_FD(fd);
}

static void read_hw_line(void *self, const struct scan *line)
{
	struct hardware_file *f = self;

	if (line)
		hardware_file_read_line(f, *line);
	else
		f->counts.too_long++;
}

static void read_hw_file(int dir_fd, enum hardware_file_kind kind, struct hardware_file *ret,
                         struct runfolder_file *file)
{
	cleanup(closep) int fd = open_file(dir_fd, hardware_file_names[kind]);
	int r;

	hardware_file_init(ret, kind);
	file->is_there = fd != -ENOENT;
	if (fd == -ENOENT)
		return;
	r = fd < 0 ? fd : read_lines(fd, read_hw_line, ret);
	if (r < 0)
		snprintf(file->problem, sizeof file->problem, "%s",
		         r == -EINVAL ? "not a regular file" : strerror(-r));
	file->counts = ret->counts;
}

/* {"ts":…,"type":"event","event":"memory","data":{"jax_peak_bytes_mb":1234.5}}, or beside a phase.
 */
static void read_log_line(void *self, const struct scan *line)
{
	const char *key = resource_keys[RESOURCE_KEY_JAX_PEAK].key;
	struct scan data, value;
	uint64_t milli_mb;

	if (!line || !memmem(line->p, scan_left(line), key, strlen(key)) ||
	    !json_read_is_object(*line))
		return;
	if (!json_read_find(*line, key, &value) &&
	    !(json_read_find(*line, "data", &data) && json_read_find(data, key, &value)))
		return;
	if (json_read_milli(value, &milli_mb))
		resource_summary_add(self, RESOURCE_JAX_PEAK_MB, milli_mb);
}

static void read_run_log(int dir_fd, struct resource_summary *to)
{
	cleanup(closep) int fd = open_file(dir_fd, "run.jsonl");

	/* Files that cannot be read are left out of the summary. */
	if (fd >= 0 && read_lines(fd, read_log_line, to) < 0)
		return;
}

static void merge(struct runfolder_reading *r, const struct hardware_file *from)
{
	const struct hardware_file *dmon = &from[HARDWARE_FILE_DMON];
	uint64_t gpus = from[HARDWARE_FILE_METRICS].gpus_seen | dmon->gpus_seen;

	if (dmon->sums.series[RESOURCE_MEM_UTIL_PCT].n)
		r->summary.series[RESOURCE_MEM_UTIL_PCT] = dmon->sums.series[RESOURCE_MEM_UTIL_PCT];
	for (size_t i = 0; i < HARDWARE_FILE_COUNT; i++)
		resource_summary_fill(&r->summary, &from[i].sums);
	r->gpus = (unsigned)__builtin_popcountll(gpus);
}

int runfolder_read(const char *path, struct runfolder_reading *ret, struct err *err)
{
	cleanup(closep) int dir_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct runfolder_reading reading = { 0 };
	struct hardware_file files[HARDWARE_FILE_COUNT];
	bool found = false;

	if (dir_fd < 0)
		return err_set(err, errno, "run folder '%s': %s; `proctor run --out DIR` writes one", path,
		               strerror(errno));
	for (enum hardware_file_kind i = 0; i < HARDWARE_FILE_COUNT; i++) {
		read_hw_file(dir_fd, i, &files[i], &reading.files[i]);
		found |= reading.files[i].is_there;
	}
	if (!found)
		return err_set(
			err, ENODATA, "'%s' is no run folder: there is no %s, %s or %s in it; `proctor run --out DIR` writes one", path,
			hardware_file_names[0], hardware_file_names[1], hardware_file_names[2]);
	merge(&reading, files);
	read_run_log(dir_fd, &reading.summary);
	*ret = reading;
	return 0;
}

static void put_lines(struct json *j, const void *record)
{
	json_u64(j, hardware_file_lines(&((const struct runfolder_file *)record)->counts));
}

#define RECORD struct runfolder_file
static const struct field file_rows[] = {
	{ "lines", FIELD_PUT, .put = put_lines },
	{ "used", FIELD(NUMBER, counts.used) },
	{ "heads", FIELD(NUMBER, counts.heads) },
	{ "comments", FIELD(NUMBER, counts.comments) },
	{ "too_short", FIELD(NUMBER, counts.too_short) },
	{ "too_long", FIELD(NUMBER, counts.too_long) },
	{ "unusable", FIELD(NUMBER, counts.unusable) },
	{ "values_skipped", FIELD(NUMBER, counts.values_skipped) },
	{ "problem", FIELD(TEXT, problem) },
};
static const struct field_table file_fields = FIELD_TABLE(file_rows);
#undef RECORD

void runfolder_reading_put(struct json *j, const struct runfolder_reading *reading)
{
	json_put_u64(j, "schema", 1);
	resource_summary_put(j, &reading->summary);
	json_key(j, "gpus");
	if (reading->gpus)
		json_u64(j, reading->gpus);
	else
		json_nil(j);
	json_open_object(j, "files");
	for (size_t i = 0; i < HARDWARE_FILE_COUNT; i++) {
		const struct runfolder_file *file = &reading->files[i];

		json_key(j, hardware_file_names[i]);
		if (file->is_there)
			field_table_json_object(j, &file_fields, file);
		else
			json_nil(j);
	}
	json_end_object(j);
}
