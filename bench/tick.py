# SPDX-License-Identifier: MIT
"""What a whole tick costs with the store behind it, against the reference; bytes on disk; memory of the engine."""
import re
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import measure

PROCESSES = 1000
BUSY = 50
TICKS, INTERVAL_MS = 1024, 20
IDLE_TICKS, IDLE_INTERVAL_MS = 1600, 10  # what is stored once per process must not count for much


def run_engine(build, place, ticks, interval_ms):
	result = measure.run_json([Path(build) / "bench/tick", place, ticks, interval_ms])
	if result["stored"] < result["ticks"] * 0.95:
		raise RuntimeError("the engine stored %(stored)d of %(ticks)d snapshots" % result)
	return result


def bytes_per_sample(place):
	"""All of the database, over the process-samples that can be read back from it."""
	path = Path(place) / "proctor.db"
	size = path.stat().st_size  # the engine has stopped, so the WAL is in it
	with sqlite3.connect("file:%s?mode=ro" % path, uri=True) as db:
		samples = db.execute("SELECT sum(child_count) FROM snapshots").fetchone()[0]
	return size / samples


def cpu_ms(build, ticks, interval_ms):
	"""CPU ms per tick of ours, with the processes that are there."""
	with tempfile.TemporaryDirectory() as place:
		return min(run_engine(build, place, ticks, interval_ms)["cpu_us_per_tick"]) / 1000


def one_crowd(build, idle, busy, ticks, interval_ms):
	"""(CPU ms per tick, bytes per process-sample) of ours."""
	with measure.Crowd(build, idle, busy), tempfile.TemporaryDirectory() as place:
		result = run_engine(build, place, ticks, interval_ms)
		return min(result["cpu_us_per_tick"]) / 1000, bytes_per_sample(place)


def reference(build):
	with measure.Crowd(build, PROCESSES - BUSY, BUSY), tempfile.TemporaryDirectory() as place:
		result = measure.run_json([measure.PYTHON, measure.HERE / "reference.py", 8, place])
		return result["cpu_ms"], result["bytes_per_process_sample"]


def against_reference(build, table):
	measure.report_progress("whole tick, %d processes" % PROCESSES)
	ours, active = one_crowd(build, PROCESSES - BUSY, BUSY, TICKS, INTERVAL_MS)
	_, idle = one_crowd(build, PROCESSES, 0, IDLE_TICKS, IDLE_INTERVAL_MS)
	measure.report_progress("the reference")
	costs, their_bytes = reference(build)
	table.ratio("whole tick with store, 1,000 processes, 5 % active", ours, "reference", measure.least(costs), 60,
		    measure.halves(costs, measure.least))
	against = "reference %.0f bytes" % their_bytes
	table.limit("SQLite per process-sample, 5 % active", active, "bytes", 3, against)
	table.limit("SQLite per process-sample, all idle", idle, "bytes", 0.7, against)


def memory(build, table):
	measure.report_progress("memory at 5,000 processes")
	with measure.Crowd(build, 5000), tempfile.TemporaryDirectory() as place:
		result = run_engine(build, place, 40, 100)
	table.limit("engine's resident memory, 5,000 processes", result["rss_bytes"] / (1 << 20), "MB", 24)


# "read one snapshot                        |     1.703 | ms | 10"
STORE_LINE = re.compile(r"^(.+?) *\| *([\d.]+) \| (ms|B) *\| ([\d.]+)", re.M)


def store(build, table):
	"""A made-up history of 1,000 processes × 6,000 snapshots, written and read back."""
	measure.report_progress("store of 1,000 × 6,000")
	with tempfile.TemporaryDirectory() as place:
		done = subprocess.run([str(Path(build) / "bench/store-bench"), place], stdout=subprocess.PIPE, text=True,
				      timeout=900, check=False)
	for what, value, unit, most in STORE_LINE.findall(done.stdout):
		table.limit("store of 1,000 × 6,000: " + what, float(value), {"B": "bytes"}.get(unit, unit), float(most))
