/* SPDX-License-Identifier: MIT */
/* mountinfo, a NUL, and /proc/PID/cgroup or status: every directory that comes out lies below its
 * mount point. */
#include <string.h>

#include "fuzz.h"
#include "kernel/cgroup_map.h"
#include "kernel/hidepid.h"

static void check_dir(const struct cgroup_dir *d)
{
	size_t len = strlen(d->path);

	if (!len)
		return;
	FUZZ_CHECK(d->path[0] != '/' && d->floor > 0);
	FUZZ_CHECK(d->floor <= len && (d->path[d->floor] == '\0' || d->path[d->floor] == '/'));
	FUZZ_CHECK(!strstr(d->path + d->floor, "/../"));
	FUZZ_CHECK(len < 3 + d->floor || strcmp(d->path + len - 3, "/..") != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cgroup_mounts mounts;
	static struct cgroup_dirs dirs;
	struct scan text = scan_mem((const char *)data, size), mountinfo;
	struct hidepid h;

	if (!scan_until(&text, '\0', &mountinfo)) {
		mountinfo = text;
		text = scan_str("0::/a/b\n4:memory:/c\n");
	}
	h = hidepid_parse_mountinfo(mountinfo);
	(void)hidepid_lets_pass(text, &h);
	cgroup_parse_mountinfo(mountinfo, &mounts);
	FUZZ_CHECK(mounts.len <= CGROUP_MOUNTS_MAX);
	if (cgroup_locate(text, &mounts, &dirs))
		for (unsigned f = 0; f < CGROUP_FAMILIES; f++)
			check_dir(&dirs.of[f]);
	return 0;
}
