/* SPDX-License-Identifier: MIT */
/* syscall, sched and uid_map of a process, and a table of sockets, each parser on any bytes. */
#include "fuzz.h"
#include "kernel/blocked_reader.h"
#include "kernel/socket_peer.h"
#include "kernel/user_namespace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scan text = scan_mem((const char *)data, size);
	struct blocked_args call;
	struct socket_peer peer;
	uint64_t ns;

	if (blocked_reader_parse(text, &call))
		FUZZ_CHECK(call.abi < SYSCALL_ABI_COUNT);
	if (socket_peer_parse(text, 102, &peer))
		FUZZ_CHECK(peer.address[0]);
	(void)blocked_reader_parse_sched(text, &ns);
	(void)user_namespace_outer(text, 0);
	return 0;
}
