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

/* Whatever fails, the file has the old page or the new one. `old_fd` is what the kernel opened under this path, -1: nothing
 * was there. -EXDEV: the entry of the directory is something else (a link, which is not replaced), or not ours. */
static int replace(const char *path, int old_fd, const struct buf *page)
{
	cleanup(freep) char *for_dir = xstrdup(path);
	cleanup(freep) char *for_name = xstrdup(path);
	const char *name = basename(for_name);
	cleanup(closep) int dir_fd = open(dirname(for_dir), O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat old, entry;
	struct err err;

	if (dir_fd < 0)
		return -errno;
	if (old_fd >= 0 &&
	    (fstat(old_fd, &old) < 0 || old.st_uid != geteuid() ||
	     fstatat(dir_fd, name, &entry, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(entry.st_mode) ||
	     entry.st_dev != old.st_dev || entry.st_ino != old.st_ino))
		return -EXDEV;
	return io_replace(dir_fd, name, page->at, page->len, false, &err);
}

/* A FIFO, a device, a file of another user, or one that cannot be replaced: it is mounted there, or its directory is not ours. */
static int write_in_place(int fd, const struct stat *st, const struct buf *page)
{
	if (S_ISREG(st->st_mode) && ftruncate(fd, 0) < 0)
		return -errno;
	return io_write_all(fd, page->at, page->len);
}

/* An existing file is opened first, so that the kernel decides whether a link is followed
 * (fs.protected_symlinks) and a file of another user is written (fs.protected_regular), as it does
 * for a shell's redirection. */
static int write_to(const char *path, const struct buf *page)
{
	struct stat st;
	bool is_there = lstat(path, &st) == 0;
	cleanup(closep) int fd = is_there ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;
	int r;

	if (is_there && (fd < 0 || fstat(fd, &st) < 0))
		return -errno;
	r = replace(path, fd, page);
	if (is_there && (r == -EXDEV || r == -EBUSY || r == -EACCES || r == -EPERM))
		r = write_in_place(fd, &st, page);
	return r;
}

static int write_page(const char *path, const struct buf *page)
{
	struct stat st = { 0 };
	struct err err = { 0 };
	int r;

	if (stat(path, &st) < 0)
		st.st_ino = 0;
	if (is_stdout(path, &st))
		return cli_print(page);
	r = write_to(path, page);
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
