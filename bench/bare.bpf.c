/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* bare.bpf.c - a task iterator that returns at once: what the kernel's own walk over all tasks costs. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("iter/task")
int bare_pass(void *ctx)
{
	return 0;
}
