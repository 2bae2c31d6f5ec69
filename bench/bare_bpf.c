/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <bare.skel.h>

#include "bare.h"
#include "base/io.h"
#include "base/mem.h"
#include "probe/bpf/bpf_call.h"

struct bare {
	struct bare_skel *skel;
};

int bare_open(struct bare **ret, struct err *err)
{
	struct bare_skel *skel = bare_skel__open_and_load();
	struct bare *b;

	if (!skel || bare_skel__attach(skel)) {
		if (skel)
			bare_skel__destroy(skel);
		return err_set(err, EPERM, "load the bare iterator");
	}
	b = xcalloc(1, sizeof *b);
	b->skel = skel;
	*ret = b;
	return 0;
}

int bare_read(struct bare *b, struct err *err)
{
	cleanup(closep) int fd = bpf_iter_open(b->skel->links.bare_pass_fd, err);
	char byte;

	if (fd < 0)
		return fd;
	if (read(fd, &byte, 1) != 0) /* it writes nothing, so this is all of it */
		return err_set(err, errno, "read the bare iterator: %s", strerror(errno));
	return 0;
}

void bare_close(struct bare *b)
{
	if (!b)
		return;
	bare_skel__destroy(b->skel);
	free(b);
}
