# SPDX-License-Identifier: MIT
"""learning.py BUILD [--seed N] [--write DIR]: generated histories of runs, and what `proctor backtest` wastes on each beside its baselines.

The kinds are what batch jobs show: peaks that hardly vary, that follow the size of the input (with little or much noise, as a power, up to a cap),
heavy tails, several modes, drift, steps, cycles, cohorts; types with a handful of runs, and with thousands. `mixed` is all of them in proportions like those of
a workflow; `workflows` are six whose tasks process the same samples in batches. Those of `histories_aside` show what the estimator does on kinds that it was never
tuned on. Everything follows from the seed."""
import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

MIB, GIB = 2**20, 2**30
PRESETS_GIB = (.1, .5, 1, 2, 4, 6, 8, 12, 16, 24, 36, 48, 64, 72, 128, 200, 256, 400, 512, 1024, 4096)
KINDS = ("tight", "linear", "linear_noisy", "capped", "power", "lognormal", "pareto", "modes", "drift", "step", "cycle", "cohorts")
ASIDE = ("gamma", "outliers", "regimes", "walk", "stairs", "hidden", "student", "bursts")  # no constant was tuned on these
MIX = ("tight",) * 5 + ("linear",) * 5 + ("linear_noisy", "capped", "lognormal", "modes") * 2 + ("power", "cohorts") * 3 + ("drift", "pareto")


def noise(rng, sd):
	return math.exp(rng.gauss(0, sd))


def peaks_of(rng, kind, inputs):
	"""Peaks of one type, as multiples of its size, and its inputs, which one kind replaces. Inputs are relative to their median."""
	if kind in ASIDE:
		return aside_peaks_of(rng, kind, inputs), inputs
	n, uniform = len(inputs), rng.uniform
	if kind == "cohorts":  # the runs of one workflow have similar inputs
		cohorts = [noise(rng, .5) for _ in range(n // 10 + 1)]
		sd = uniform(.02, .1)
		return [cohorts[i // 10] * noise(rng, sd) for i in range(n)], [cohorts[i // 10] * noise(rng, .1) for i in range(n)]
	share, modes = uniform(0, 1), [math.exp(uniform(-1.5, 1.5)) for _ in range(rng.randint(2, 3))]
	weights, turn, end = [rng.expovariate(1) for _ in modes], uniform(.3, .7), uniform(-1.5, 1.5)
	cap, exponent, tail, period = uniform(.8, 2), uniform(.3, .9), uniform(1.5, 4), uniform(2, 20)
	shapes = {
		"tight": (lambda i, x: 1, uniform(.002, .03)),
		"linear": (lambda i, x: share + (1 - share) * x, uniform(.01, .1)),
		"linear_noisy": (lambda i, x: share / 2 + (1 - share / 2) * x, uniform(.1, .4)),
		"capped": (lambda i, x: min(x, cap), .03),
		"power": (lambda i, x: x**exponent, uniform(.02, .15)),
		"lognormal": (lambda i, x: 1, uniform(.15, .9)),
		"pareto": (lambda i, x: .5 + .5 * rng.paretovariate(tail), 0),
		"modes": (lambda i, x: rng.choices(modes, weights)[0], uniform(.01, .08)),
		"drift": (lambda i, x: math.exp(end * i / n), uniform(.02, .15)),
		"step": (lambda i, x: 1 if i < n * turn else math.exp(end), uniform(.01, .1)),
		"cycle": (lambda i, x: 1.5 + math.sin(i / period), .05),
	}
	shape, sd = shapes[kind]
	return [shape(i, x) * noise(rng, sd) for i, x in enumerate(inputs)], inputs


def aside_peaks_of(rng, kind, inputs):
	"""As peaks_of(), for the kinds that were kept aside."""
	n, uniform, sd = len(inputs), rng.uniform, rng.uniform(.02, .15)
	if kind == "gamma":
		shape = uniform(1, 12)
		return [.2 + rng.gammavariate(shape, .8 / shape) for _ in inputs]
	if kind == "outliers":  # one run of some tens or hundreds needs several times as much
		share, times = math.exp(uniform(math.log(.002), math.log(.04))), uniform(1.5, 6)
		return [(times if rng.random() < share else 1) * noise(rng, sd / 2) for _ in inputs]
	if kind == "regimes":  # other data, or another version, for some tens of runs
		level, levels = 1, []
		for _ in inputs:
			level = noise(rng, .6) if rng.random() < .03 else level
			levels.append(level * noise(rng, sd))
		return levels
	if kind == "walk":
		level, levels = 0, []
		for _ in inputs:
			level = max(-2, min(2, level + rng.gauss(0, sd / 2)))
			levels.append(math.exp(level) * noise(rng, .03))
		return levels
	if kind == "stairs":  # a table that doubles
		return [2**math.ceil(math.log2(x)) * noise(rng, .01) for x in inputs]
	if kind == "hidden":  # depends on something that nobody records, too
		weight = uniform(.2, .8)
		return [weight * x + (1 - weight) * noise(rng, .7) for x in inputs]
	if kind == "student":  # three degrees of freedom
		return [math.exp(sd * max(-12, min(12, rng.gauss(0, 1) / math.sqrt(rng.gammavariate(1.5, 2 / 3))))) for _ in inputs]
	period, length, height = rng.randint(10, 60), rng.randint(1, 8), uniform(1.3, 4)  # bursts: the nightly ones are large
	return [(height if i % period < length else 1) * noise(rng, sd) for i in range(n)]


def runs_of(rng, kind, name, n):
	"""(start, type, seconds, MiB, input bytes, requested MiB) of each run of one type."""
	size, spread = math.exp(rng.uniform(math.log(8 * MIB), math.log(40 * GIB))), rng.uniform(.2, 1.2)
	relative, inputs = peaks_of(rng, kind, [noise(rng, spread) for _ in range(n)])
	peaks = [min(max(size * r, 2 * MIB), 900 * GIB) for r in relative]
	wanted = max(peaks) * rng.uniform(1.05, 3) / GIB
	preset = next((p for p in PRESETS_GIB if p >= wanted), PRESETS_GIB[-1])
	seconds, by_input, sd = math.exp(rng.uniform(math.log(10), math.log(10800))), rng.uniform(0, 1.2), rng.uniform(.1, .6)
	by_peak = rng.uniform(0, .8) if rng.random() < .4 else 0
	starts = sorted(rng.uniform(0, 3e7) for _ in range(n))
	for start, peak, x in zip(starts, peaks, inputs):
		took = min(max(seconds * x**by_input * (peak / size)**by_peak * noise(rng, sd), 1), 432000)
		yield start, name, took, peak / MIB, int(x * 2e9), preset * 1024


def history(rng, types):
	"""All runs of (kind, number of runs), in time order."""
	return sorted(run for i, (kind, n) in enumerate(types) for run in runs_of(rng, kind, "%s_%d" % (kind, i), n))


def workflow(rng):
	"""All runs of one workflow, in time order: its tasks process the same samples, batch after batch. Inputs drift from batch to batch; a task may see few of the
	samples, or divide each of them; a few tasks use most of the memory and time."""
	batches, start, level, spread = [], 0, 0, rng.uniform(.2, 1)
	samples = rng.randint(30, 250)
	while samples > 0:
		size = min(samples, rng.randint(3, 40))
		batches.append((start, [math.exp(level + rng.gauss(0, spread)) for _ in range(size)]))
		samples, start, level = samples - size, start + rng.uniform(1e4, 2e6), level + rng.gauss(0, .3)
	runs = []
	for task in range(rng.randint(12, 50)):
		kind, share, parts = rng.choice(MIX), rng.choice((1, 1, 1, .3, .05)), rng.choice((1, 1, 1, 1, 2, rng.randint(3, 10)))
		chosen = sorted((begin + task * 600 + rng.uniform(0, 3000), x * noise(rng, .15)) for begin, inputs in batches for x in inputs
				if rng.random() < share for _ in range(parts))
		if len(chosen) > 1:
			runs += task_runs(rng, kind, "%s_%d" % (kind, task), chosen)
	return sorted(runs)


def task_runs(rng, kind, name, chosen):
	"""As runs_of(), at these (start, relative input)."""
	size, seconds = math.exp(rng.gauss(math.log(1.5 * GIB), 1.6)), math.exp(rng.gauss(math.log(300), 1.6))
	relative, inputs = peaks_of(rng, kind, [x for _, x in chosen])
	peaks = [min(max(size * r, 4 * MIB), 900 * GIB) for r in relative]
	wanted, by_input = max(peaks) * rng.uniform(1.1, 6) / GIB, rng.uniform(0, 1.2)
	preset = next((p for p in PRESETS_GIB if p >= wanted), PRESETS_GIB[-1])
	for (start, _), peak, x in zip(chosen, peaks, inputs):
		yield start, name, min(max(seconds * x**by_input * noise(rng, .4), 1), 432000), peak / MIB, int(x * 2e9), preset * 1024


def workflows(seed):
	"""Six of them, each with types of its own."""
	each = [workflow(random.Random("workflow %d %d" % (seed, i))) for i in range(6)]
	return sorted((start, "w%d_%s" % (i, name), *rest) for i, runs in enumerate(each) for start, name, *rest in runs)


def without_input(runs):
	return [(*run[:4], "", run[5]) for run in runs]


def histories(seed):
	"""(name, its runs)"""
	for kind in KINDS:
		rng = random.Random("%s %d" % (kind, seed))
		yield kind, history(rng, [(kind, int(math.exp(rng.uniform(3, 6)))) for _ in range(25)])
	rng = random.Random("few %d" % seed)
	yield "few_runs", history(rng, [(rng.choice(KINDS), rng.randint(2, 13)) for _ in range(200)])
	rng = random.Random("many %d" % seed)
	yield "many_runs", history(rng, [(rng.choice(KINDS), rng.randint(1000, 2500)) for _ in range(6)])
	rng = random.Random("mixed %d" % seed)
	mixed = history(rng, [(rng.choice(MIX), max(3, int(100 * noise(rng, 1)))) for _ in range(90)])
	yield "mixed", mixed
	yield "mixed_no_input", without_input(mixed)
	six = workflows(seed)
	yield "workflows", six
	yield "workflows_no_input", without_input(six)


def histories_aside(seed):
	"""As histories(), of the kinds that were kept aside."""
	for kind in ASIDE:
		rng = random.Random("%s %d" % (kind, seed))
		yield kind, history(rng, [(kind, int(math.exp(rng.uniform(3, 6)))) for _ in range(25)])
	rng = random.Random("few aside %d" % seed)
	yield "few_runs_aside", history(rng, [(rng.choice(ASIDE), rng.randint(2, 13)) for _ in range(200)])
	rng = random.Random("mixed aside %d" % seed)
	mixed = history(rng, [(rng.choice(ASIDE + MIX), max(3, int(100 * noise(rng, 1)))) for _ in range(90)])
	yield "mixed_aside", mixed
	yield "mixed_aside_no_input", without_input(mixed)


def all_histories(seed):
	yield from histories(seed)
	yield from histories_aside(seed)


def write(path, runs):
	with open(path, "w", encoding="utf-8") as file:
		file.write("job_type,started_at,duration_seconds,peak_used_mb,input_bytes,requested_mb\n")
		for start, name, took, peak, size, preset in runs:
			file.write("%s,%.3f,%.3f,%.4f,%s,%.1f\n" % (name, 1.6e9 + start, took, peak, size, preset))


def backtest(build, path, policy):
	command = [str(Path(build) / "proctor"), "backtest", "--json", "--policy", policy, str(path)]
	return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def add_history(build, name, path, table):
	result = backtest(build, path, "low-waste")
	ours, leader = result["total"], result["baselines"]["follow_the_leader_input"]
	table.add("%s: low waste" % name, "%.0f GBh" % ours["gbh_wasted"], "leader %.0f GBh" % leader["gbh_wasted"],
		  "%.2f ×" % (ours["gbh_wasted"] / leader["gbh_wasted"]), "≤ 1 ×", ours["gbh_wasted"] <= leader["gbh_wasted"])
	types = [t["coverage_95_pct"] for t in result["types"] if t["runs"] >= 50]
	outside = sum(not 90 <= coverage <= 99 for coverage in types)
	table.add("%s: 95 %% bound" % name, "%.1f %%" % ours["coverage_95_pct"], "%d of %d types outside 90–99" % (outside, len(types)), "", "93–97 %",
		  93 <= ours["coverage_95_pct"] <= 97 and not outside)
	result = backtest(build, path, "low-failure")
	ours, largest = result["total"], result["baselines"]["max_x1.1"]
	is_met = ours["failed_attempts_pct"] <= .9 and ours["gbh_wasted"] <= largest["gbh_wasted"]
	table.add("%s: low failure" % name, "%.0f GBh, %.2f %%" % (ours["gbh_wasted"], ours["failed_attempts_pct"]),
		  "max × 1.1 %.0f GBh, %.2f %%" % (largest["gbh_wasted"], largest["failed_attempts_pct"]),
		  "%.2f ×" % (ours["gbh_wasted"] / largest["gbh_wasted"]), "≤ 1 ×, ≤ 0.9 %", is_met)


def against_baselines(build, table, seed=1):
	with tempfile.TemporaryDirectory() as scratch:
		for name, runs in all_histories(seed):
			path = Path(scratch) / (name + ".csv")
			write(path, runs)
			add_history(build, name, path, table)


def main():
	import measure  # not needed to write histories
	parser = argparse.ArgumentParser(description="estimates of memory on generated histories")
	parser.add_argument("build", help="the build tree")
	parser.add_argument("--seed", type=int, default=1)
	parser.add_argument("--write", help="write the histories into this directory instead")
	given = parser.parse_args()
	if given.write:
		for name, runs in all_histories(given.seed):
			write(Path(given.write) / (name + ".csv"), runs)
		return True
	table = measure.Table()
	against_baselines(given.build, table, given.seed)
	table.print()
	return table.all_met()


if __name__ == "__main__":
	sys.exit(0 if main() else 1)
