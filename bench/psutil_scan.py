# SPDX-License-Identifier: MIT
"""psutil_scan.py SAMPLES: what psutil needs for the fields that our snapshot has of every process. One line of JSON."""
import json
import sys
import time

import psutil

FIELDS = ["pid", "ppid", "name", "cmdline", "status", "uids", "cpu_times", "memory_info", "num_threads", "num_fds",
	  "io_counters", "create_time"]


def main(samples):
	costs = []
	for number in range(samples + 1):
		before = time.process_time()
		processes = sum(1 for _ in psutil.process_iter(FIELDS))
		if number:  # at the first one it makes its objects
			costs.append((time.process_time() - before) * 1000)
		time.sleep(0.3)
	print(json.dumps({"cpu_ms": costs, "processes": processes}))


if __name__ == "__main__":
	main(int(sys.argv[1]))
