/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "bare.h"

int bare_open(struct bare **ret, struct err *err)
{
	(void)ret;
	return err_set(err, ENOTSUP, "built without BPF");
}

int bare_read(struct bare *b, struct err *err)
{
	(void)b;
	return err_set(err, ENOTSUP, "built without BPF");
}

void bare_close(struct bare *b)
{
	(void)b;
}
