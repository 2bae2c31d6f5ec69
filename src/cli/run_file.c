/* SPDX-License-Identifier: MIT */
#include "cli/run_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "cli/progress.h"

int run_file_open(const char *path, int *ret_fd, struct err *err)
{
	cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, errno, "open '%s': %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, EINVAL, "'%s' is not a regular file", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* ---- reading ---------------------------------------------------------------------------------- */

static void reject(struct run_file_counts *counts, uint64_t line, const char *why)
{
	if (counts->rejected < RUN_FILE_REASONS_MAX) {
		struct run_file_reason *r = &counts->reasons[counts->rejected];

		r->line = line;
		snprintf(r->why, sizeof r->why, "%.100s", why);
	}
	counts->rejected++;
}

static int read_header(struct csv *csv, struct csv_row *row, struct run_file_reader *reader,
                       struct err *err)
{
	int r = csv_next(csv, row, err);

	if (r == 0)
		return err_set(err, EBADMSG, "the file is empty");
	return r < 0 ? r : past_run_file_parse_header(row, &reader->columns, err);
}

/* NULL: the end of the file. */
static int add_row(struct run_file_reader *reader, const struct csv_row *row, run_file_fn fn,
                   void *self, struct run_file_counts *counts, struct err *err)
{
	struct past_run run;
	struct err why;
	uint64_t line;
	int r = past_run_file_add(reader, row, &run, &line, &why);

	if (r < 0)
		reject(counts, line, why.msg);
	if (r <= 0)
		return 0;
	counts->runs++;
	return fn(self, &run, line, err);
}

static uint64_t size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

int run_file_read(int fd, const char *progress_of, run_file_fn fn, void *self,
                  struct run_file_counts *ret, struct err *err)
{
	cleanup(csv_done) struct csv csv = { 0 };
	struct run_file_reader reader = { 0 };
	struct run_file_counts counts = { 0 };
	struct progress progress;
	struct csv_row row;
	uint64_t rows = 0;
	int r, status;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_set(err, errno, "seek: %s", strerror(errno));
	csv_init(&csv, fd);
	status = read_header(&csv, &row, &reader, err);
	counts.kind = reader.columns.kind;
	progress_begin(&progress, progress_of, size_of(fd), progress_of);
	while (status == 0 && (r = csv_next(&csv, &row, err)) != 0) {
		if (r == -EBADMSG)
			reject(&counts, row.line, err->msg);
		else
			status = r < 0 ? r : add_row(&reader, &row, fn, self, &counts, err);
		progress_step(&progress, csv.taken, ++rows);
	}
	if (status == 0)
		status = add_row(&reader, NULL, fn, self, &counts, err);
	progress_end(&progress);
	if (status == 0)
		*ret = counts;
	return status;
}

void run_file_log_rejected(const char *path, const struct run_file_counts *counts)
{
	for (size_t i = 0; i < MIN(counts->rejected, (uint64_t)RUN_FILE_REASONS_MAX); i++)
		log_warn("%s:%llu: rejected: %s", path, (unsigned long long)counts->reasons[i].line,
		         counts->reasons[i].why);
	if (counts->rejected > RUN_FILE_REASONS_MAX)
		log_warn("%s: %llu rows were rejected in total", path,
		         (unsigned long long)counts->rejected);
}

void run_file_rejected_json(const struct run_file_counts *counts, struct json *j)
{
	json_put_u64(j, "rejected", counts->rejected);
	json_open_array(j, "rejected_rows");
	for (size_t i = 0; i < MIN(counts->rejected, (uint64_t)RUN_FILE_REASONS_MAX); i++) {
		json_begin_object(j);
		json_put_u64(j, "line", counts->reasons[i].line);
		json_put_str(j, "reason", counts->reasons[i].why);
		json_end_object(j);
	}
	json_end_array(j);
}
