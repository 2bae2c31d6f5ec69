/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kernel/host_files.h"
#include "kernel/kernel_file.h"
#include "kernel/own_memory.h"
#include "probe/probe.h"

struct source {
	const char *path;
	bool (*parse)(struct scan text, struct host_readings *ret);
};

static const struct source sources[] = {
	{ "proc/meminfo", host_files_parse_meminfo },
	{ "proc/loadavg", host_files_parse_loadavg },
	{ "proc/stat", host_files_parse_stat },
	{ "proc/pressure/cpu", host_files_parse_pressure_cpu },
	{ "proc/pressure/memory", host_files_parse_pressure_memory },
	{ "proc/pressure/io", host_files_parse_pressure_io },
	{ "proc/diskstats", host_files_parse_diskstats },
	{ "proc/net/dev", host_files_parse_net_dev },
};

struct system_probe {
	struct probe_env env;
	int fds[ARRAY_LEN(sources)];    /* kept open: pread costs a third of open, read and close */
	int failed[ARRAY_LEN(sources)]; /* 0, or why the last read gave nothing */
	char boot_id[37];
	struct buf text;
};

static void system_close(void *self_)
{
	struct system_probe *self = self_;

	if (!self)
		return;
	for (size_t i = 0; i < ARRAY_LEN(sources); i++)
		closep(&self->fds[i]);
	buf_done(&self->text);
	free(self);
}

DEFINE_CLEANUP(struct system_probe *, system_close)

/* A file that could not be opened is tried again each tick: that costs less than a hole that never
 * heals. */
static int load_source(struct system_probe *self, size_t i)
{
	int r;

	if (self->fds[i] < 0)
		self->fds[i] = kernel_file_open(self->env.root_fd, sources[i].path);
	if (self->fds[i] < 0)
		return self->fds[i];
	r = kernel_file_load_fd(self->fds[i], &self->text);
	if (r < 0) {
		close(self->fds[i]);
		self->fds[i] = r;
	}
	return r;
}

static size_t read_sources(struct system_probe *self, struct host_readings *ret)
{
	size_t good = 0;

	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		int r = load_source(self, i);

		if (r == 0 && !sources[i].parse(kernel_file_text(&self->text), ret))
			r = -EBADMSG;
		self->failed[i] = r;
		good += r == 0;
	}
	return good;
}

static void read_self(struct system_probe *self, struct host_readings *ret)
{
	uint64_t bytes;

	if (!self->env.is_live)
		return;
	readings_set(ret, HOST_SELF_CPU, clock_process_cpu_ns());
	if (own_memory_read(self->env.root_fd, &bytes))
		readings_set(ret, HOST_SELF_RSS, bytes);
}

static int system_open(const struct probe_env *env, void **ret_self, struct err *err)
{
	cleanup(system_closep) struct system_probe *self = xcalloc(1, sizeof *self);
	struct host_readings ignored = { 0 };

	self->env = *env;
	self->text.max = KERNEL_FILE_MAX;
	for (size_t i = 0; i < ARRAY_LEN(sources); i++)
		self->fds[i] = -1;
	(void)kernel_file_boot_id(self->env.root_fd, self->boot_id);
	if (!read_sources(self, &ignored))
		return err_set(
			err, ENOENT,
			"none of /proc/meminfo, loadavg, stat, … can be read: is /proc mounted?");
	*ret_self = TAKE_PTR(self);
	return 0;
}

static int system_read(void *self_, struct sample *out, struct err *err)
{
	struct system_probe *self = self_;

	memcpy(out->boot_id, self->boot_id, sizeof out->boot_id);
	if (!read_sources(self, &out->host))
		return err_set(err, ENOENT,
		               "none of /proc/meminfo, loadavg, stat, … can be read any more");
	read_self(self, &out->host);
	return 0;
}

static void system_health(const void *self_, struct probe_health *ret)
{
	const struct system_probe *self = self_;
	size_t len = 0, cap = sizeof ret->note;

	*ret = (struct probe_health){ .state = PROBE_WORKS, .source = "files of /proc" };
	snprintf(ret->note, cap, "memory, load, CPU, pressure, disks, network");
	for (size_t i = 0; i < ARRAY_LEN(sources) && len < cap; i++) {
		if (!self->failed[i])
			continue;
		ret->state = PROBE_DEGRADED;
		len += (size_t)snprintf(ret->note + len, cap - len, "%s/%s: %s", len ? ", " : "no ",
		                        sources[i].path,
		                        self->failed[i] == -EBADMSG ? "not understood"
		                                                    : strerror(-self->failed[i]));
	}
}

const struct probe_ops probe_system = {
	.name = "system",
	.open = system_open,
	.read = system_read,
	.health = system_health,
	.close = system_close,
};
