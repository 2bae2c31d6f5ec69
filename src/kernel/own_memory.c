/* SPDX-License-Identifier: MIT */
#include "kernel/own_memory.h"

#include <unistd.h>

#include "kernel/host_files.h"
#include "kernel/kernel_file.h"
#include "kernel/process_files.h"

bool own_memory_read(int root_fd, uint64_t *ret_bytes)
{
	struct proc_readings own = { 0 };
	char text[128];
	ssize_t n = kernel_file_read(root_fd, "proc/self/statm", text, sizeof text);

	if (n <= 0 || !process_files_parse_statm(scan_mem(text, (size_t)n),
	                                         (uint64_t)sysconf(_SC_PAGESIZE), &own))
		return false;
	*ret_bytes = own.value[PROC_RSS];
	return true;
}

uint64_t own_memory_of_machine(int root_fd)
{
	cleanup(buf_done) struct buf text = { .max = KERNEL_FILE_MAX };
	struct host_readings host = { 0 };

	if (kernel_file_load(root_fd, "proc/meminfo", &text) < 0)
		return 0;
	(void)host_files_parse_meminfo(kernel_file_text(&text), &host);
	return readings_or(&host, HOST_MEM_TOTAL, 0);
}
