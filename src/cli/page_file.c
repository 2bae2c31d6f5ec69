/* SPDX-License-Identifier: MIT */
#include "cli/page_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"

#define TEMPLATE "report-page.html"

/* Empty where npm failed as it was built. */
static bool load(const char *path, struct buf *ret)
{
	cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && io_load_fd(fd, ret) == 0 && ret->len;
}

/* In a build tree, or where it is installed. */
static int load_template(struct buf *ret)
{
	cleanup(freep) char *self = cli_program();
	cleanup(freep) char *built = self ? xasprintf("%s/web/" TEMPLATE, dirname(self)) : NULL;

	if ((built && load(built, ret)) || load(PROCTOR_DATA_DIR "/" TEMPLATE, ret))
		return CLI_OK;
	log_error(
		"this proctor was built without pages of HTML, which need node and npm at build time: install nodejs "
		"and npm, and build it again with -Dweb=enabled; or use --markdown");
	return CLI_FAILED;
}

/* Also as /dev/stdout, and where the shell has opened the same file for it. */
static bool is_stdout(const char *path, const struct stat *st)
{
	struct stat out;

	return strcmp(path, "-") == 0 || (st->st_ino && fstat(STDOUT_FILENO, &out) == 0 &&
	                                  out.st_dev == st->st_dev && out.st_ino == st->st_ino);
}

/* A FIFO or a device, and a file that cannot be replaced: it is mounted there, or its directory is not ours. */
static int write_in_place(const char *path, const struct buf *page)
{
	cleanup(closep) int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	return fd < 0 ? -errno : io_write_all(fd, page->at, page->len);
}

/* Whatever fails, the file has the old page or the new one. */
static int replace(const char *path, const struct buf *page)
{
	cleanup(freep) char *real = realpath(path, NULL);
	cleanup(freep) char *for_dir = xstrdup(real ? real : path);
	cleanup(freep) char *for_name = xstrdup(for_dir);
	cleanup(closep) int dir_fd = open(dirname(for_dir), O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct err err;

	if (dir_fd < 0 || (real && access(real, W_OK) < 0))
		return -errno;
	return io_replace(dir_fd, basename(for_name), page->at, page->len, false, &err);
}

static int write_page(const char *path, const struct buf *page)
{
	struct stat st = { 0 };
	bool is_there = stat(path, &st) == 0;
	struct err err = { 0 };
	int r;

	if (is_stdout(path, &st))
		return cli_print(page);
	r = is_there && !S_ISREG(st.st_mode) ? -EBUSY : replace(path, page);
	if (is_there && (r == -EBUSY || r == -EACCES || r == -EPERM))
		r = write_in_place(path, page);
	if (r == 0)
		return CLI_OK;
	err_set(&err, -r, "write '%s': %s", path, strerror(-r));
	return cli_failed_then(&err, "choose another file with --html FILE");
}

int page_file_write(const char *path, const struct page_parts *parts)
{
	cleanup(buf_done) struct buf template = { 0 };
	cleanup(buf_done) struct buf page = { 0 };
	int status = load_template(&template);

	if (status != CLI_OK)
		return status;
	if (page_view_fill(template.at, parts, &page))
		return write_page(path, &page);
	log_error("the template of the page is damaged: install proctor again");
	return CLI_FAILED;
}
