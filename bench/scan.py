# SPDX-License-Identifier: MIT
"""What one look at all processes costs, against psutil, btop, atop and htop, and how it grows."""
import measure

IDLE = 5000
SIZES = (100, 1000, 5000, 10000)


def against_peers(build, table):
	with measure.Crowd(build, IDLE):
		measure.say("scan of %d processes: ours" % IDLE)
		bpf, processes = measure.scan_ms(build, "bpf")
		proc, _ = measure.scan_ms(build, "proc")
		measure.say("psutil")
		psutil = measure.psutil_ms()
		measure.say("btop, atop, htop")
		btop, atop, htop = measure.btop_ms(), measure.atop_ms(), measure.htop_ms()
	what = "scan + snapshot, %s processes, " % format(processes, ",")
	table.ratio(what + "BPF", bpf, "psutil", psutil, 40)
	table.ratio(what + "BPF", bpf, "btop", btop, 8)
	table.ratio(what + "BPF", bpf, "atop", atop, 15)
	table.ratio(what + "/proc", proc, "psutil", psutil, 4)
	table.ratio(what + "/proc", proc, "htop", htop, 1)


def growth(build):
	"""CPU µs per process, ours beside the bare iterator."""
	rows = []
	for size in SIZES:
		with measure.Crowd(build, size):
			measure.say("growth: %d" % size)
			ticks = 40 if size <= 1000 else 20
			bare, processes = measure.scan_ms(build, "iterator", ticks, 100)
			ours, _ = measure.scan_ms(build, "bpf", ticks, 100)
			rows.append((processes, ours * 1000 / processes, bare * 1000 / processes))
	return rows


def print_growth(rows, table):
	print("\nGrowth: CPU µs per process and look")
	print("processes   ours   bare iterator   ours / bare")
	for processes, ours, bare in rows:
		print("%9s  %5.2f   %13.2f   %11.2f" % (format(processes, ","), ours, bare, ours / bare))
	first, last = rows[0], rows[-1]
	# What the iterator itself gains or loses with size is its own; beyond that, we may not grow.
	table.limit("growth %d → %d beside the iterator's own" % (first[0], last[0]),
		    (last[1] / first[1]) / (last[2] / first[2]), "times", 1.0)
