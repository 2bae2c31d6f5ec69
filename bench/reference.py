# SPDX-License-Identifier: MIT
"""reference.py SAMPLES DIRECTORY: the recorder that this project is measured against, made again in its simplest form:
psutil for every process, one INSERT a row through aiosqlite, one line of JSON a snapshot. It leaves out the models that
check each record. Prints one line of JSON with what it cost."""
import asyncio
import json
import os
import sys
import time
from pathlib import Path

import aiosqlite
import psutil

SCHEMA = """
CREATE TABLE snapshots (id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp REAL, daemon_pid INTEGER,
	system_memory_total_mb REAL, system_memory_available_mb REAL, system_memory_used_mb REAL, daemon_rss_mb REAL,
	child_count INTEGER, zombie_count INTEGER, load_avg_1 REAL, load_avg_5 REAL, load_avg_15 REAL, gpu_count INTEGER,
	gpu_utilization_pct TEXT, gpu_memory_used_mb TEXT, gpu_temperature TEXT, pressure_level TEXT,
	running_jobs INTEGER, active_sheets INTEGER);
CREATE INDEX snapshots_time ON snapshots (timestamp);
CREATE TABLE process_metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, snapshot_id INTEGER REFERENCES snapshots (id),
	pid INTEGER, ppid INTEGER, command TEXT, state TEXT, cpu_percent REAL, rss_mb REAL, vms_mb REAL, threads INTEGER,
	open_fds INTEGER, age_seconds REAL, job_id TEXT, sheet_num INTEGER, syscall_counts TEXT, syscall_time_pct TEXT);
CREATE INDEX metrics_snapshot ON process_metrics (snapshot_id);
CREATE INDEX metrics_pid ON process_metrics (pid);
CREATE INDEX metrics_job ON process_metrics (job_id);
"""
MIB = 1 << 20
COLUMNS = ("pid", "ppid", "command", "state", "cpu_percent", "rss_mb", "vms_mb", "threads", "open_fds", "age_seconds",
	   "job_id", "sheet_num", "syscall_counts", "syscall_time_pct")


def read_process(process, now):
	"""One process; a new handle each time, so that the CPU share is always 0."""
	with process.oneshot():
		memory = process.memory_info()
		return {
			"pid": process.pid, "ppid": process.ppid(), "command": " ".join(process.cmdline())[:500],
			"state": process.status(), "cpu_percent": process.cpu_percent(), "rss_mb": memory.rss / MIB,
			"vms_mb": memory.vms / MIB, "threads": process.num_threads(), "open_fds": process.num_fds(),
			"age_seconds": now - process.create_time(), "job_id": None, "sheet_num": None,
			"syscall_counts": {}, "syscall_time_pct": {},
		}


def read_all(now):
	found = []
	for pid in psutil.pids():
		try:
			found.append(read_process(psutil.Process(pid), now))
		except psutil.Error:
			continue
	return found


def take_snapshot():
	now, memory, load = time.time(), psutil.virtual_memory(), os.getloadavg()
	processes = read_all(now)
	return {
		"timestamp": now, "daemon_pid": os.getpid(), "system_memory_total_mb": memory.total / MIB,
		"system_memory_available_mb": memory.available / MIB, "system_memory_used_mb": memory.used / MIB,
		"daemon_rss_mb": psutil.Process().memory_info().rss / MIB, "load_avg_1": load[0], "load_avg_5": load[1],
		"load_avg_15": load[2], "processes": processes, "gpus": [], "pressure_level": "none", "running_jobs": 0,
		"active_sheets": 0, "zombie_count": 0, "zombie_pids": [], "job_progress": [], "conductor_uptime_seconds": 0.0,
	}


async def store(db, snap):
	cursor = await db.execute(
		"INSERT INTO snapshots (timestamp, daemon_pid, system_memory_total_mb, system_memory_available_mb,"
		" system_memory_used_mb, daemon_rss_mb, child_count, zombie_count, load_avg_1, load_avg_5, load_avg_15, gpu_count,"
		" gpu_utilization_pct, gpu_memory_used_mb, gpu_temperature, pressure_level, running_jobs, active_sheets)"
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, '[]', '[]', '[]', ?, 0, 0)",
		(snap["timestamp"], snap["daemon_pid"], snap["system_memory_total_mb"], snap["system_memory_available_mb"],
		 snap["system_memory_used_mb"], snap["daemon_rss_mb"], len(snap["processes"]), 0, snap["load_avg_1"],
		 snap["load_avg_5"], snap["load_avg_15"], snap["pressure_level"]))
	for process in snap["processes"]:
		values = [json.dumps(v) if isinstance(v, dict) else v for v in (process[c] for c in COLUMNS)]
		await db.execute("INSERT INTO process_metrics (snapshot_id, %s) VALUES (?%s)"
				 % (", ".join(COLUMNS), ", ?" * len(COLUMNS)), [cursor.lastrowid, *values])
	await db.commit()


async def record(db, lines, samples):
	"""(CPU ms of each snapshot, process-samples stored)"""
	costs, rows = [], 0
	for number in range(samples + 1):
		before = time.process_time()
		snap = take_snapshot()
		await store(db, snap)
		lines.write(json.dumps(snap) + "\n")
		lines.flush()
		rows += len(snap["processes"])
		if number:
			costs.append((time.process_time() - before) * 1000)
		await asyncio.sleep(0.2)
	return costs, rows


async def main(samples, directory):
	place = Path(directory)
	async with aiosqlite.connect(place / "monitor.db") as db:
		await db.execute("PRAGMA journal_mode = WAL")
		await db.executescript(SCHEMA)
		with open(place / "monitor.jsonl", "a", encoding="utf-8") as lines:
			costs, rows = await record(db, lines, samples)
		await db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
	size = (place / "monitor.db").stat().st_size
	print(json.dumps({"cpu_ms": costs, "bytes_per_process_sample": size / rows}))


if __name__ == "__main__":
	asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
