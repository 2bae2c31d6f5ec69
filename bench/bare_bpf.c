/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "bare.h"
#include "base/mem.h"
#include "probe/bpf/task_record.h"
#include "probe/bpf/tasks_load.h"

struct bare {
	struct tasks_load *load;
	_Alignas(8) char bytes[32 << 10];
};

int bare_open(struct bare **ret, struct err *err)
{
	struct bare *b = xcalloc(1, sizeof *b);
	int r = tasks_load_open(-1, (unsigned)sysconf(_SC_NPROCESSORS_CONF), &b->load, err);

	if (r < 0) {
		free(b);
		return r;
	}
	*ret = b;
	return 0;
}

int bare_read(struct bare *b, size_t *ret_tasks, struct err *err)
{
	cleanup(closep) int fd = tasks_load_iterate(b->load, true, err);
	size_t found = 0;
	ssize_t n;

	if (fd < 0)
		return fd;
	while ((n = read(fd, b->bytes, sizeof b->bytes)) > 0) /* whole records each time */
		found += (size_t)n / sizeof(struct task_record);
	if (n < 0)
		return err_set(err, errno, "read the task iterator: %s", strerror(errno));
	*ret_tasks = found;
	return 0;
}

void bare_close(struct bare *b)
{
	if (!b)
		return;
	tasks_load_close(b->load);
	free(b);
}
