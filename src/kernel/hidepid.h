/* SPDX-License-Identifier: MIT */
/* hidepid.h - whether /proc keeps processes of other users from us (mount options hidepid and gid;
 * systemd's ProtectProc=). */
#pragma once

#include "base/scan.h"

struct hidepid {
	bool is_set;
	bool has_gid;
	uint64_t gid; /* members of this group see all */
};

/* From the text of /proc/self/mountinfo: the last mount on /proc counts, as it covers the
 * others. */
struct hidepid hidepid_parse_mountinfo(struct scan text);
/* From the text of /proc/self/status: whether the capability CAP_SYS_PTRACE is in effect, or the
 * group is ours. */
bool hidepid_lets_pass(struct scan status, const struct hidepid *h);

bool hidepid_hides_others(int proc_fd);
