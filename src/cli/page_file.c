/* SPDX-License-Identifier: MIT */
#include "cli/page_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>

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
int page_file_load(struct buf *ret)
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

int page_file_write(const char *path, const struct buf *page)
{
	cleanup(closep) int fd = -1;
	struct err err = { 0 };
	int r;

	if (strcmp(path, "-") == 0)
		return cli_print(page);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	r = fd < 0 ? -errno : io_write_all(fd, page->at, page->len);
	if (r == 0)
		return CLI_OK;
	err_set(&err, -r, "write '%s': %s", path, strerror(-r));
	return cli_failed_then(&err, "choose another file with --html FILE");
}
