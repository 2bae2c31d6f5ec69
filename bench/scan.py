# SPDX-License-Identifier: MIT
"""The cost of one scan of all processes, against psutil, btop, atop and htop, and how it grows."""
import measure
import tick

IDLE = 5000
ROUNDS = 2  # all programs run again, so that a busy moment of the machine does not affect just one of them
SIZES = (100, 1000, 5000, 10000)
RECORDED = 512, 25  # ticks and their interval in ms
GROWTH_TICKS = 32  # each process is read in full twice meanwhile


def one_round(build):
	"""CPU ms of one scan by each program, of the same processes."""
	measure.report_progress("scan of %d processes: ours, psutil, btop, atop, htop" % IDLE)
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
		recording = tick.cpu_ms(build, *RECORDED)
	repeats = {who: [costs[who] for costs in rounds] for who in rounds[0]}
	best = {who: min(costs) for who, costs in repeats.items()}
	what = "scan + snapshot, %s processes, " % format(processes, ",")
	for ours, title, peer, most in (("bpf", "BPF", "psutil", 40), ("bpf", "BPF", "btop", 8), ("bpf", "BPF", "atop", 15),
					("proc", "/proc", "psutil", 4), ("proc", "/proc", "htop", 1)):
		table.ratio(what + title, best[ours], peer, best[peer], most, repeats[peer])
	table.ratio("whole tick with store, %s processes" % format(processes, ","), recording, "btop", best["btop"], 8, repeats["btop"])


def growth(build):
	"""CPU µs per process: (processes, ours, the task probe alone, a bare iterator)."""
	rows = []
	for size in SIZES:
		with measure.Crowd(build, size):
			measure.report_progress("growth: %d" % size)
			costs = {how: measure.scan_ms(build, how, GROWTH_TICKS, 50) for how in ("iterator", "tasks", "bpf")}
		processes = costs["bpf"][1]
		rows.append((processes, *(costs[how][0] * 1000 / processes for how in ("bpf", "tasks", "iterator"))))
	return rows


def print_growth(rows, table):
	print("\nGrowth: CPU µs per process and tick")
	print("processes   scan + snapshot   task probe   bare iterator   task probe - bare")
	for processes, ours, tasks, bare in rows:
		print("%9s   %15.2f   %10.2f   %13.2f   %17.2f" % (format(processes, ","), ours, tasks, bare, tasks - bare))
	first, last = rows[0], rows[-1]
	# The cost of the iterator itself may vary with the number of processes; ours must not grow beyond it.
	table.limit("growth %d → %d beside the iterator's own" % (first[0], last[0]),
		    (last[1] / first[1]) / (last[3] / first[3]), "times", 1.0)
	for processes, _, tasks, bare in rows:
		if processes >= IDLE:
			table.limit("task probe above a bare iterator, %s idle processes" % format(processes, ","), tasks - bare, "µs each", 0.5,
				    "iterator %.2f µs" % bare)
