/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* pidns.bpf.c - which pid namespace the caller is in. Run once, in its own context. */
#include "probe/bpf/kernel.bpf.h"
#include "probe/bpf/pidns.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

__u32 found_level;
__u64 found_reader;

SEC("syscall")
int pidns_learn(void *ctx)
{
	struct task_struct *reader = (void *)bpf_get_current_task();
	struct pid *pid = BPF_CORE_READ(reader, thread_pid);

	found_level = BPF_CORE_READ(pid, level);
	found_reader = pidns_entry(pid, found_level).ns;
	return 0;
}
