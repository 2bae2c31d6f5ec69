/* SPDX-License-Identifier: MIT */
#include "kernel/hidepid.h"

#include <linux/capability.h>
#include <string.h>

#include "base/buf.h"
#include "kernel/kernel_file.h"

/* hidepid=off and hidepid=0 hide nothing; noaccess (1), invisible (2) and ptraceable (4) do. */
static void parse_option(struct scan option, struct hidepid *ret)
{
	uint64_t gid;

	if (scan_lit(&option, "hidepid="))
		ret->is_set = !scan_eq(&option, "0") && !scan_eq(&option, "off");
	else if (scan_lit(&option, "gid=") && scan_u64(&option, &gid)) {
		ret->gid = gid;
		ret->has_gid = true;
	}
}

static struct hidepid parse_options(struct scan options)
{
	struct hidepid h = { 0 };
	struct scan option;

	while (scan_until(&options, ',', &option))
		parse_option(option, &h);
	parse_option(options, &h);
	return h;
}

/* 22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw,hidepid=invisible,gid=4 */
struct hidepid hidepid_parse_mountinfo(struct scan text)
{
	struct hidepid h = { 0 };
	struct kernel_mount m;
	struct scan line;

	while (scan_line(&text, &line))
		if (kernel_file_parse_mount(line, &m) && scan_lit(&m.point, "/") &&
		    scan_eq(&m.point, "proc") && scan_eq(&m.type, "proc"))
			h = parse_options(m.options);
	return h;
}

/* Groups:	4 24 27
 * CapEff:	000001fffeffffff */
bool hidepid_lets_pass(struct scan status, const struct hidepid *h)
{
	struct scan line;
	uint64_t v;

	while (scan_line(&status, &line)) {
		if (scan_lit(&line, "CapEff:") && scan_hex(&line, &v) && v >> CAP_SYS_PTRACE & 1)
			return true;
		if (!h->has_gid || (!scan_lit(&line, "Groups:") && !scan_lit(&line, "Gid:")))
			continue;
		while (scan_u64(&line, &v))
			if (v == h->gid)
				return true;
	}
	return false;
}

bool hidepid_hides_others(int proc_fd)
{
	struct buf text = { .max = KERNEL_FILE_MAX };
	struct hidepid h = { 0 };
	bool hides;

	if (kernel_file_load(proc_fd, "self/mountinfo", &text) == 0)
		h = hidepid_parse_mountinfo(kernel_file_text(&text));
	hides = h.is_set && (kernel_file_load(proc_fd, "self/status", &text) < 0 ||
	                     !hidepid_lets_pass(kernel_file_text(&text), &h));
	buf_done(&text);
	return hides;
}
