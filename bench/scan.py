# SPDX-License-Identifier: MIT
"""What one look at all processes costs, against psutil, btop, atop and htop, and how it grows."""
import measure

IDLE = 5000
ROUNDS = 2  # everybody takes his turn again, so that a busy moment of the machine hits nobody alone
SIZES = (100, 1000, 5000, 10000)


def one_round(build):
	"""CPU ms of one look, by whom; all of the same crowd."""
	measure.say("scan of %d processes: ours, psutil, btop, atop, htop" % IDLE)
	return {
		"bpf": measure.scan_ms(build, "bpf")[0],
		"proc": measure.scan_ms(build, "proc")[0],
		"psutil": measure.psutil_ms(),
		"btop": measure.btop_ms(),
		"atop": measure.atop_ms(),
		"htop": measure.htop_ms(),
	}


def against_peers(build, table):
	with measure.Crowd(build, IDLE):
		rounds = [one_round(build) for _ in range(ROUNDS)]
		processes = measure.scan_ms(build, "bpf", 3, 10)[1]
	best = {who: min(costs[who] for costs in rounds) for who in rounds[0]}
	what = "scan + snapshot, %s processes, " % format(processes, ",")
	table.ratio(what + "BPF", best["bpf"], "psutil", best["psutil"], 40)
	table.ratio(what + "BPF", best["bpf"], "btop", best["btop"], 8)
	table.ratio(what + "BPF", best["bpf"], "atop", best["atop"], 15)
	table.ratio(what + "/proc", best["proc"], "psutil", best["psutil"], 4)
	table.ratio(what + "/proc", best["proc"], "htop", best["htop"], 1)


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
