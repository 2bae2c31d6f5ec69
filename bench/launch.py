# SPDX-License-Identifier: MIT
"""What `proctor run` costs and whether its figures are right: the start, fork storms, short peaks, its memory, how it slows a job, what
counting system calls costs."""
import os
import re
import shutil
import statistics
import subprocess
import time
from pathlib import Path

import measure
import stage

TIME = "/usr/bin/time"
MONITOR = "resource_monitor"
BUSY_LOAD = 0.5  # above it, wall-clock figures mean little

TRUES, BURNERS = 10000, 200
START_ROUNDS, MONITOR_ROUNDS = 40, 8
SLOW_ROUNDS, BUILD_ROUNDS = 3, 2
WORK_MILLIONS = 2500  # some five seconds
SOURCES = 300
MEMORY_S = 2.5
LATE = 0.002

# Title, user, best tier, and whether it runs in a control group that the user may write to.
TIERS = (
	("root, BPF", "root", "bpf", False),
	("root, connector", "root", "connector", False),
	("root, proc", "root", "proc", False),
	("nobody, connector", "nobody", "connector", False),
	("nobody, proc", "nobody", "proc", False),
)
STORMS = (  # as above, then how much longer it may take, and the number of rounds
	("root, BPF", "root", "bpf", False, 1.05, 2),
	("nobody", "nobody", "bpf", False, 1.10, 1),
	("nobody, own cgroup", "nobody", "bpf", True, 1.10, 1),
)


def median(runs, key):
	return statistics.median(run[key] for run in runs)


def median_of_pairs(ours, theirs, key):
	"""Each run over the one before it: a slow phase of the machine that lasts seconds affects both."""
	return statistics.median(a[key] / b[key] for a, b in zip(ours, theirs))


def monitor(place, command):
	return [MONITOR, "-O", str(place / "monitor"), "--", *command]


def has_monitor():
	return shutil.which(MONITOR) is not None


def monitor_figure(place, name):
	"""One figure of resource_monitor's summary: "name": [value, "unit"]."""
	text = (place / "monitor.summary").read_text(encoding="utf-8")
	return float(re.search(r'"%s":\s*\[\s*([\d.]+)' % name, text)[1])


# ---- the start ----------------------------------------------------------------------------------

def start(on, table):
	"""`proctor run -- /bin/true`, in every tier, against GNU time and resource_monitor."""
	measure.report_progress("proctor run -- /bin/true")
	for who in ("root", "nobody"):
		commands = {"bare": ["/bin/true"], "time": [TIME, "-o", "time.out", "/bin/true"]}
		for title, user, tier, _ in TIERS:
			if user == who:
				commands[title] = on.watched(who, ["/bin/true"], "--tier", tier)
		runs = on.turns(who, commands, START_ROUNDS, warm_up=3)
		slowest = monitor_start(on, who, table)
		for title in list(commands)[2:]:
			start_rows(title, runs, slowest, table)
	start_in_a_row(on, table)


def start_in_a_row(on, table):
	"""Each run right behind the one before: the kernel has not removed its tracepoints for good yet."""
	command = on.watched("root", ["/bin/true"], "--tier", "bpf")
	runs = on.turns("root", {"ours": command}, START_ROUNDS, warm_up=3)["ours"]
	table.limit("run -- /bin/true, root, BPF, back to back: median wall", median(runs, "wall_ms"), "ms", 10)


def monitor_start(on, who, table):
	"""Wall ms of resource_monitor's runs; none where it is not installed."""
	if not has_monitor():
		table.note("run -- /bin/true against resource_monitor", "it is not installed")
		return []
	command = monitor(on.place / who / "work", ["/bin/true"])
	return [run["wall_ms"] for run in on.turns(who, {MONITOR: command}, MONITOR_ROUNDS, warm_up=1)[MONITOR]]


def start_rows(title, runs, monitor_ms, table):
	what = "run -- /bin/true, %s: " % title
	ours, theirs = runs[title], runs["time"]
	table.times(what + "CPU", median(ours, "cpu_ms"), "GNU time", median(theirs, "cpu_ms"), 6,
		    measure.halves([run["cpu_ms"] for run in theirs]))
	table.limit(what + "median wall", median(ours, "wall_ms"), "ms", 10, "GNU time %.1f, bare %.1f; our least %.1f" %
		    (median(theirs, "wall_ms"), median(runs["bare"], "wall_ms"), min(run["wall_ms"] for run in ours)))
	if monitor_ms:
		table.ratio(what + "wall", median(ours, "wall_ms"), MONITOR, statistics.median(monitor_ms), 15, measure.halves(monitor_ms))


# ---- fork storm ---------------------------------------------------------------------------------

def storm(on, table):
	for title, who, tier, delegated, most, rounds in STORMS:
		measure.report_progress("fork storm, " + title)
		if delegated and not stage.unified():
			table.note("fork storm, " + title, "no v2 control groups here")
		elif delegated:
			with stage.Group() as group:
				one_storm(on, title, who, tier, group, most, rounds, table)
		else:
			one_storm(on, title, who, tier, None, most, rounds, table)
	storm_peers(on, table)


def one_storm(on, title, who, tier, group, most, rounds, table):
	command = [on.program("storm"), str(TRUES), str(BURNERS)]
	name = "storm-%s-%d" % (who, group is not None)
	runs = on.turns(who, {"bare": command, "ours": on.watched(who, command, "--name", name, "--tier", tier)}, rounds, group=group)
	reports = [on.report(who, "%s~%d" % (name, rounds - 1 - i)) for i in range(rounds)]
	what = "fork storm of %s + %d, %s: " % (format(TRUES, ","), BURNERS, title)
	storm_counts(what, reports, table)
	storm_cpu(what, reports, runs["ours"], is_exact=who == "root" or group is not None, table=table)
	wall, bare = (min(run["wall_ms"] for run in runs[name]) for name in ("ours", "bare"))
	table.limit(what + "wall", wall / bare, "× bare", most, "bare %.1f s" % (bare / 1e3))
	# The storm keeps all CPUs busy, so on a busy machine this figure is more reliable than the wall clock.
	table.note(what + "CPU of all, ours included", "%.3f × bare" % median_of_pairs(runs["ours"], runs["bare"], "cpu_ms"))


def storm_counts(what, reports, table):
	"""The storm program itself counts as one process."""
	all_of_them = TRUES + BURNERS + 1
	counts = [report["job"]["figures"]["processes"] for report in reports]
	ended = [report["job"]["figures"]["exited_processes"] for report in reports]
	table.check(what + "processes", "/".join(map(str, sorted(set(counts)))), "%d were there" % all_of_them, "all",
		    set(counts) | set(ended) == {all_of_them})


def storm_cpu(what, reports, runs, is_exact, table):
	"""The storm program reads its own clock before its end, so the true time is more than it prints, by at most LATE of it."""
	ratios = [report["total_cpu_seconds"] * 1e6 / int(run["last_line"].split()[1]) for report, run in zip(reports, runs)]
	off = max(ratios, key=lambda ratio: abs(ratio - 1)) - 1
	qualities = {report["quality"]["total_cpu_seconds"] for report in reports}
	label, most = ("exact", 0.01) if is_exact else ("at_least", LATE)
	target = "± 1 %, exact" if is_exact else "− 1 %, at_least, not above"
	table.check(what + "CPU against getrusage", "%+.3f %%, %s" % (100 * off, "/".join(sorted(qualities))), "getrusage", target,
		    -0.01 <= off <= most and qualities == {label})


def storm_peers(on, table):
	"""GNU time and resource_monitor, for comparison: once is enough."""
	place = on.place / "root/work"
	command = [on.program("storm"), str(TRUES), str(BURNERS)]
	commands = {"bare": command, "GNU time": [TIME, "-o", "time.out", *command]}
	if has_monitor():
		commands[MONITOR] = monitor(place, command)
	measure.report_progress("fork storm, peers")
	runs = on.turns("root", commands, 1)
	for name in list(commands)[1:]:
		text = "%.3g × bare" % (runs[name][0]["wall_ms"] / runs["bare"][0]["wall_ms"])
		if name == MONITOR:
			truth = int(runs[name][0]["last_line"].split()[1]) / 1e6
			text += ", %d processes, CPU %+.1f %%" % (monitor_figure(place, "total_processes"),
								   100 * (monitor_figure(place, "cpu_time") / truth - 1))
		table.note("fork storm, %s" % name, text)


# ---- a short peak -------------------------------------------------------------------------------

def peak(on, table):
	"""A process of the job that holds 500 MiB for 20 ms."""
	measure.report_progress("a short peak of memory")
	command = [on.program("peak"), "500", "20"]
	theirs = monitor_peak(on, command)
	for title, who, tier, _ in TIERS:
		run = on.turns(who, {"ours": on.watched(who, command, "--name", "peak", "--tier", tier)}, 1)["ours"][0]
		report = on.report(who, "peak")
		off = report["peak_rss_mb"] * 1024 / int(run["last_line"].split()[1]) - 1
		table.check("500 MiB for 20 ms, %s: peak memory" % title, "%+.2f %%, %s" % (100 * off, report["quality"]["peak_rss_mb"]),
			    theirs, "± 1 %", abs(off) <= 0.01)


def monitor_peak(on, command):
	if not has_monitor():
		return "ru_maxrss"
	place = on.place / "root/work"
	run = on.turns("root", {MONITOR: monitor(place, command)}, 1)[MONITOR][0]
	off = monitor_figure(place, "memory") * 1024 / int(run["last_line"].split()[1]) - 1
	return "%s %+.1f %%" % (MONITOR, 100 * off)


# ---- memory of the launcher ---------------------------------------------------------------------

def resident_mb(pid):
	text = Path("/proc/%d/status" % pid).read_text(encoding="utf-8")
	return int(re.search(r"^VmHWM:\s*(\d+)", text, re.M)[1]) / 1024


def memory_of(command, crowd, **options):
	"""Peak of resident MB of a launcher whose job are 100 processes, after a few seconds."""
	with subprocess.Popen([*command, crowd, "100", "0"] if crowd else command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
			      **options) as process:
		time.sleep(MEMORY_S)
		most = resident_mb(process.pid)
		if not crowd:
			process.terminate()
	return most


def memory(on, table):
	measure.report_progress("memory of the launcher")
	crowd = on.program("spawn")
	peers = ["atop %.1f" % memory_of(["atop", "-w", str(on.place / "atop.raw"), "1"], None)]
	if has_monitor():
		peers.append("%s %.1f" % (MONITOR, memory_of(monitor(on.place / "root/work", []), crowd, **on.options("root"))))
	for title, who, tier, _ in TIERS:
		ours = memory_of(on.watched(who, [], "--tier", tier), crowd, **on.options(who))
		table.limit("launcher's resident memory, 100 processes, " + title, ours, "MB", 12, ", ".join(peers))


# ---- how much slower ----------------------------------------------------------------------------

def slow(on, table):
	measure.report_progress("a CPU-bound job")
	slow_rows(on, "CPU-bound job", [on.program("work"), str(WORK_MILLIONS)], SLOW_ROUNDS, 0, 1.005, table)
	measure.report_progress("a build of %d files" % SOURCES)
	make_project(on.place / "root/project", SOURCES)
	command = ["sh", "-c", "make -s -C %s clean && make -s -C %s -j2 CC=gcc" % ((on.place / "root/project",) * 2)]
	slow_rows(on, "make -j2 of %d C files" % SOURCES, command, BUILD_ROUNDS, 1, 1.02, table)


def slow_rows(on, what, command, rounds, warm_up, most, table):
	"""CPU time of the job and of us together, and wall time, over those of the job alone."""
	commands = {"bare": command, "time": [TIME, "-o", "time.out", *command], "ours": on.watched("root", command, "--name", "slow")}
	runs = on.turns("root", commands, rounds, warm_up)
	for key, name in (("cpu_ms", "CPU"), ("wall_ms", "wall")):
		ours, theirs = (median_of_pairs(runs[who], runs["bare"], key) for who in ("ours", "time"))
		table.limit("%s: %s" % (what, name), ours, "× bare", most, "GNU time %.4f × of %.1f s" % (theirs, median(runs["bare"], key) / 1e3))
	figures = on.report("root", "slow")["job"]["figures"]
	own = figures["recorder_cpu_seconds"]
	table.note("%s: CPU of the recorder" % what, "%.0f ms, %.2f %%" % (own * 1e3, 100 * own / figures["cpu_seconds"]))


def make_project(place, count):
	"""Small C files as there are many: a few functions, two headers of the system."""
	place.mkdir()
	for i in range(count):
		body = "".join("int f%d_%d(int n)\n{\n\treturn n > %d ? printf(\"%%d\\n\", n) : (int)strlen(\"%d\") + n;\n}\n\n" % (i, j, j, i)
			       for j in range(8))
		(place / ("f%d.c" % i)).write_text("#include <stdio.h>\n#include <string.h>\n\n" + body, encoding="utf-8")
	(place / "Makefile").write_text("OBJECTS := $(patsubst %.c,%.o,$(wildcard *.c))\nall: $(OBJECTS)\nclean:\n\t@rm -f *.o\n",
					encoding="utf-8")


# ---- system calls -------------------------------------------------------------------------------

CALLS = 1000000
STRACE_CALLS = 20000  # it takes 80 times as long
CALL_ROUNDS = 5
FEW_SOURCES, BYSTANDER_BUILDS = 60, 15


def make_calls(count):
	"""The worst case: nothing but the cheapest calls, two for each byte."""
	return ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=%d" % count, "status=none"]


class Traced:
	"""A bystander process is traced, for the length of a `with`, to measure what other processes pay."""

	def __init__(self, on):
		self.command, self.options = on.watched("root", ["sleep", "600"], "--syscalls", "--name", "bystander"), on.options("root")

	def __enter__(self):
		self.process = subprocess.Popen(self.command, **self.options)
		while not has_tracepoint():
			time.sleep(0.05)

	def __exit__(self, *ignored):
		self.process.terminate()
		self.process.wait()
		while has_tracepoint():
			time.sleep(0.05)


def has_tracepoint():
	done = subprocess.run(["bpftool", "--json", "link", "list"], stdout=subprocess.PIPE, text=True, check=True)
	return "sys_enter" in done.stdout


def bystander_times(on, command, rounds):
	"""CPU time of a command that is not traced while another one is, over the mean of the same one before and after, when
	none is: one run differs from the next by several per cent."""
	def cpu_ms():
		return on.turns("root", {"bystander": command}, 1)["bystander"][0]["cpu_ms"]

	times, before = [], cpu_ms()
	for _ in range(rounds):
		with Traced(on):
			traced = cpu_ms()
		after = cpu_ms()
		times.append(2 * traced / (before + after))
		before = after
	return statistics.median(times)


def traced_cpu_ms(on, option):
	on.turns("root", {"ours": on.watched("root", make_calls(CALLS), option, "--name", "calls")}, 1)
	return on.report("root", "calls")["total_cpu_seconds"] * 1e3


def traced_times(on, rounds):
	"""CPU time of a command whose calls are counted, over that of the bare one; and with the flight recorder, over that."""
	counted, recorded = [], []
	for _ in range(rounds):
		bare = on.turns("root", {"bare": make_calls(CALLS)}, 1)["bare"][0]["cpu_ms"]
		counting = traced_cpu_ms(on, "--syscalls")
		counted.append(counting / bare)
		recorded.append(traced_cpu_ms(on, "--flight-recorder") / counting)
	return statistics.median(counted), statistics.median(recorded)


def peer_times(on, peer):
	"""The same under another tracer: the tracer's own time counts, because the command waits for it."""
	command = make_calls(STRACE_CALLS)
	runs = on.turns("root", {"bare": command, "peer": [*peer, *command]}, 3)
	return median(runs["peer"], "wall_ms") / median(runs["bare"], "wall_ms")


def syscalls(on, table):
	measure.report_progress("system calls")
	peers = ["strace %.0f ×" % peer_times(on, ["strace", "-f", "-c", "-o", "/dev/null"])]
	if shutil.which("perf"):
		peers.append("perf trace -s %.0f ×" % peer_times(on, ["perf", "trace", "-s", "-o", "/dev/null"]))
	counted, recorded = traced_times(on, CALL_ROUNDS)
	table.limit("dd bs=1, its system calls counted: CPU", counted, "× bare", 3, ", ".join(peers))
	table.limit("dd bs=1 with the flight recorder: CPU", recorded, "× counting", 1.3)
	table.limit("dd bs=1 while another job is traced: CPU", bystander_times(on, make_calls(CALLS), CALL_ROUNDS), "× bare", 2.1)
	place = on.place / "root/traced-project"
	make_project(place, FEW_SOURCES)
	command = ["sh", "-c", "make -s -C %s clean && make -s -C %s CC=gcc" % (place, place)]
	table.limit("make of %d C files while another job is traced: CPU" % FEW_SOURCES, bystander_times(on, command, BYSTANDER_BUILDS), "× bare", 1.02)


# ---- all of it ----------------------------------------------------------------------------------

PARTS = {"start": start, "storm": storm, "peak": peak, "memory": memory, "slow": slow, "syscalls": syscalls}


def against_peers(build, table, only):
	load = os.getloadavg()[0]
	if load > BUSY_LOAD:
		print("the machine is busy (load %.1f): take the rows of wall time with a grain of salt" % load)
	with stage.Stage(build) as on:
		if not stage.is_on_disk(on.place):
			print("%s is not on a disk: what is stored there costs less than it should" % stage.DISK)
		for name, part in PARTS.items():
			if name in only:
				attempt(name, part, on, table)


def attempt(name, part, on, table):
	"""If one part fails, the others still run."""
	try:
		part(on, table)
	except (OSError, RuntimeError, subprocess.SubprocessError) as error:
		table.check(name, "failed", str(error)[:200], "works", False)
