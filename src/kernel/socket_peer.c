/* SPDX-License-Identifier: MIT */
#include "kernel/socket_peer.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/buf.h"
#include "base/io.h"
#include "kernel/kernel_file.h"

#define TABLE_MAX ((size_t)4 << 20) /* of a busy server; above it nothing is looked up */

/* ---- internet -------------------------------------------------------------------------------- */

struct line {
	struct scan local, remote; /* address and port, in hex */
	uint64_t inode;
};

/* sl local remote state queues timer retransmits uid timeout inode … */
static bool parse_line(struct scan text, struct line *ret)
{
	return scan_skip(&text, 1) && scan_word(&text, &ret->local) &&
	       scan_word(&text, &ret->remote) && scan_skip(&text, 6) &&
	       scan_u64(&text, &ret->inode);
}

static bool same(struct scan a, struct scan b)
{
	return scan_left(&a) == scan_left(&b) && memcmp(a.p, b.p, scan_left(&a)) == 0;
}

/* The kernel prints each 32 bits of an address as a number of this machine. */
static bool format_address(struct scan text, char ret[SOCKET_ADDRESS_MAX])
{
	struct scan digits;
	uint32_t parts[4];
	uint64_t port;
	char name[INET6_ADDRSTRLEN];
	size_t n;

	if (!scan_until(&text, ':', &digits) || !scan_hex(&text, &port))
		return false;
	n = scan_left(&digits) / 8;
	if (n != 1 && n != 4)
		return false;
	for (size_t i = 0; i < n; i++) {
		struct scan part = scan_mem(digits.p + 8 * i, 8);
		uint64_t value;

		if (!scan_hex(&part, &value))
			return false;
		parts[i] = (uint32_t)value;
	}
	if (!inet_ntop(n == 1 ? AF_INET : AF_INET6, parts, name, sizeof name))
		return false;
	snprintf(ret, SOCKET_ADDRESS_MAX, n == 1 ? "%s:%u" : "[%s]:%u", name, (unsigned)port);
	return true;
}

/* The other side of one that listens, or has not been connected, is all zeros. */
static bool is_connected(struct scan remote)
{
	for (const char *p = remote.p; p < remote.end; p++)
		if (*p != '0' && *p != ':')
			return true;
	return false;
}

bool socket_peer_parse(struct scan table, uint64_t inode, struct socket_peer *ret)
{
	struct scan again = table, text;
	struct line own = { 0 }, other;

	while (own.inode != inode)
		if (!scan_line(&table, &text))
			return false;
		else if (!parse_line(text, &own))
			own.inode = inode + 1;
	*ret = (struct socket_peer){ 0 };
	ret->is_own = !is_connected(own.remote);
	if (!format_address(ret->is_own ? own.local : own.remote, ret->address))
		return false;
	while (!ret->is_own && scan_line(&again, &text))
		if (parse_line(text, &other) && same(other.local, own.remote) &&
		    same(other.remote, own.local))
			ret->inode = other.inode;
	return true;
}

static bool find_internet(int root_fd, pid_t pid, uint64_t inode, struct socket_peer *ret)
{
	static const char *const tables[] = { "tcp", "tcp6", "udp", "udp6" };
	cleanup(buf_done) struct buf text = { .max = TABLE_MAX };

	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		char path[48];

		snprintf(path, sizeof path, "proc/%d/net/%s", pid, tables[i]);
		if (kernel_file_load(root_fd, path, &text) == 0 &&
		    socket_peer_parse(kernel_file_text(&text), inode, ret))
			return true;
	}
	return false;
}

/* ---- on this machine ------------------------------------------------------------------------- */

/* Its own name, or that of the other side: a server's socket has the more useful one. */
static void take_attributes(struct unix_diag_msg *msg, size_t len, struct socket_peer *ret)
{
	struct rtattr *a = (struct rtattr *)(msg + 1);

	for (len -= MIN(len, sizeof *msg); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (a->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(a) >= sizeof(uint32_t)) {
			uint32_t inode;

			memcpy(&inode, RTA_DATA(a), sizeof inode);
			ret->inode = inode;
		} else if (a->rta_type == UNIX_DIAG_NAME && RTA_PAYLOAD(a)) {
			const char *name = RTA_DATA(a);

			snprintf(ret->address, sizeof ret->address, "%s%.*s", *name ? "" : "@",
			         (int)RTA_PAYLOAD(a) - !*name, name + !*name);
		}
	}
}

static bool ask_unix(int fd, uint32_t inode, struct socket_peer *ret)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req req;
	} ask = { .head = { .nlmsg_len = sizeof ask,
		            .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		            .nlmsg_flags = NLM_F_REQUEST },
		  .req = { .sdiag_family = AF_UNIX,
		           .udiag_states = UINT32_MAX,
		           .udiag_ino = inode,
		           .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER,
		           .udiag_cookie = { UINT32_MAX, UINT32_MAX } } };
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} answer;
	ssize_t n;

	if (send(fd, &ask, sizeof ask, 0) < 0)
		return false;
	n = recv(fd, &answer, sizeof answer, MSG_DONTWAIT); /* the kernel answers within send() */
	if (n < 0 || !NLMSG_OK(&answer.head, (uint32_t)n) ||
	    answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    NLMSG_PAYLOAD(&answer.head, 0) < sizeof(struct unix_diag_msg))
		return false;
	take_attributes(NLMSG_DATA(&answer.head), NLMSG_PAYLOAD(&answer.head, 0), ret);
	return true;
}

static bool find_unix(uint64_t inode, struct socket_peer *ret)
{
	cleanup(closep) int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct socket_peer own = { 0 }, other = { 0 };

	if (fd < 0 || inode > UINT32_MAX || !ask_unix(fd, (uint32_t)inode, &own))
		return false;
	if (own.inode && ask_unix(fd, (uint32_t)own.inode, &other) && *other.address)
		memcpy(own.address, other.address, sizeof own.address);
	*ret = own;
	return true;
}

bool socket_peer_find(int root_fd, pid_t pid, uint64_t inode, struct socket_peer *ret)
{
	*ret = (struct socket_peer){ 0 };
	return find_unix(inode, ret) || find_internet(root_fd, pid, inode, ret);
}
