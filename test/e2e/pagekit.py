# SPDX-License-Identifier: MIT
"""Jobs that would take an hour to run, for the stories of pages: a job that was recorded is turned into a long one, with curves,
sheets, marks, anomalies, thousands of processes and earlier runs of its type. What is stored is what a recorder would have stored.

	hour = Hour(proctor)              # records a job, and makes it last an hour
	hour.job_id, hour.page(tmp_path)
"""
import json
import math
import random
import sqlite3
from pathlib import Path

HOUR_S = 3600
GIB_KIB = 1 << 20
EXACT, SAMPLED = 3, 1
ALL_FINAL = 31
COMPLETED, FAILED = 1, 2
MARK, PHASE, OOM, EXIT = 13, 14, 4, 1


class Hour:
	def __init__(self, proctor, processes=2000, earlier=3, name="train.py", seconds=HOUR_S, status=COMPLETED, hostile="", zombies=0):
		self.proctor, self.seconds, self.hostile, self.status, self.zombies = proctor, seconds, hostile, status, zombies
		self.random = random.Random(7)
		done = proctor("run", "--quiet", "--name", name, "--tag", "team=" + (hostile or "vision"), "--", "true")
		assert done.returncode == 0, done.stderr
		self.db = sqlite3.connect(Path(proctor.env["PROCTOR_STATE_DIR"], "proctor.db"))
		self.db.row_factory = sqlite3.Row
		self.job = dict(self.db.execute("SELECT * FROM job ORDER BY id DESC LIMIT 1").fetchone())
		self.job_id = self.job["job_id"]
		self.snapshots = self.db.execute("SELECT max(id) FROM snapshot").fetchone()[0] or 0
		for i in range(earlier):
			self.add_earlier(i)
		self.stretch(self.job["id"], self.job["started"], 1.0)
		self.add_sheets()
		self.add_moments()
		self.add_processes(processes)
		if hostile:  # the verbs refuse such names; another writer may not
			self.db.execute("UPDATE job SET job_id = ?, type = ?, cwd = ?, hungriest = ? WHERE id = ?",
					("x" + hostile[:80], "t" + hostile[:80], hostile, hostile[:15], self.job["id"]))
		self.db.commit()
		self.db.close()

	def insert(self, table, **row):
		self.db.execute("INSERT INTO %s(%s) VALUES(%s)" % (table, ", ".join(row), ", ".join("?" * len(row))), list(row.values()))

	def add_earlier(self, i):
		"""A copy of the job, a day or more before it."""
		columns = [name for name in self.job if name not in ("id", "cpu_time_us")]
		values = [self.job[name] for name in columns]
		values[columns.index("job_id")] = "%s.earlier%d" % (self.job_id, i)
		key = self.db.execute("SELECT max(id) FROM job").fetchone()[0] + 1
		self.db.execute("INSERT INTO job(id, %s) VALUES(?, %s)" % (", ".join(columns), ", ".join("?" * len(values))), [key, *values])
		self.stretch(key, self.job["started"] - 86400 * (i + 1), 0.8 + 0.08 * i)

	def stretch(self, job, started, size):
		"""Its samples, a second apart, with a minute in the middle in which nothing was stored."""
		self.db.execute("DELETE FROM job_sample WHERE job = ?", (job,))
		first, cpu_us, read, written, peak = self.snapshots + 1, 0, 0, 0, 0
		for second in range(self.seconds):
			if 0.5 < second / self.seconds < 0.5 + 60 / HOUR_S:
				continue
			at = second / self.seconds
			used = int(size * GIB_KIB * (0.5 + 4.5 * at * (1 if at < 0.8 else 0.6) + 0.3 * math.sin(second / 40) + 0.1 * self.random.random()))
			busy = int(1000 * max(0.1, 3.2 * size + math.sin(second / 90) - (2 if at < 0.08 else 0) + 0.6 * self.random.random()))
			cpu_us += busy * 1000
			read += int(2e7 * (1 + math.sin(second / 60)) if at < 0.3 else 1e5)
			written += int(4e7 if second % 300 < 12 else 2e5)
			peak = max(peak, used)
			self.snapshots += 1
			self.insert("snapshot", id=self.snapshots, kf=1, at=0, time=started + second + 0.5, recorder=self.job["recorder"])
			self.insert("job_sample", snapshot=self.snapshots, job=job, procs=6 + second % 5, rss_kib=used, cpu=busy, used_kib=used,
				    charged_kib=used + GIB_KIB // 2, cpu_us=cpu_us, read_bytes=read, written_bytes=written,
				    gpu_memory_kib=int(6 * GIB_KIB * min(1, at * 9)), gpu_sm=int(400 + 300 * math.sin(second / 30) ** 2),
				    gpu_device_memory_kib=8 * GIB_KIB, gpu_util=int(500 + 300 * math.sin(second / 30) ** 2))
		self.db.execute(
			"UPDATE job SET started = ?, ended = ?, took_us = ?, command_us = NULL, interval_us = 1000000, first_snapshot = ?, last_snapshot = ?, "
			"cpu_us = ?, cpu_user_us = ?, cpu_system_us = ?, cpu_user_us_q = 3, cpu_system_us_q = 3, peak_used_kib = ?, peak_used_kib_q = 1, peak_at_us = ?, "
			"read_bytes = ?, written_bytes = ?, read_bytes_q = 3, written_bytes_q = 3, allowed_memory = ?, allowed_cores = 4000, allowed_cpus = 4, "
			"allowed_source = 'own', peak_charged_kib = ?, peak_rss_kib = ?, hungriest = 'python', hungriest_pid = 10000, command = 'python train.py --epochs 9', cwd = '/data/model', "
			"tags = coalesce(nullif(json_remove(tags, '$.git_commit'), '{}'), tags), exit_code = ?, status = ? WHERE id = ?",
			(started, started + self.seconds, self.seconds * 10 ** 6, first, self.snapshots, cpu_us, int(cpu_us * 0.93), int(cpu_us * 0.07), peak,
			 int(self.seconds * 0.79e6), read, written, 8 << 30, peak + GIB_KIB // 2, int(peak * 0.7), 3 if self.status == FAILED and job == self.job["id"] else 0, self.status if job == self.job["id"] else COMPLETED, job))

	def add_sheets(self):
		for num, (label, begin, end) in enumerate((("prepare", 0, .08), ("fit", .08, .8), ("export" + self.hostile, .8, 1)), 1):
			self.insert("sheet", job=self.job["id"], num=num, status=1, started=self.job["started"] + begin * self.seconds,
				    ended=self.job["started"] + end * self.seconds, processes=300 * num, cpu_time_us=int(2e9 * num), cpu_time_us_q=EXACT,
				    peak_rss_kib=num * GIB_KIB, peak_rss_kib_q=EXACT, max_cpu=3400, label=label, exit_code=0)

	def add_moments(self):
		base, recorder, job = self.job["started"], self.job["recorder"], self.job["id"]
		event = self.db.execute("SELECT max(id) FROM event").fetchone()[0] or 0
		self.db.execute("DELETE FROM event WHERE job = ? OR job IS NULL", (job,))  # a busy machine may have had some of its own
		for i in range(9):
			self.insert("event", id=event + 1 + i, time=base + self.seconds * (.12 + .07 * i), kind=MARK, recorder=recorder, job=job,
				    name="epoch %d%s" % (i, self.hostile), details=json.dumps({"loss": round(1 / (i + 1), 2), "note": self.hostile}))
		for i, (name, end, took) in enumerate((("load", .07, .06), ("warm up", .12, .03), ("train", .78, .6))):
			self.insert("event", id=event + 20 + i, time=base + self.seconds * end, kind=PHASE, recorder=recorder, job=job, name=name,
				    count=int(self.seconds * took * 1e9), details="{}")
		self.insert("anomaly", id=(recorder << 32) + 7, kind="memory_leak", severity=2, began=base + .55 * self.seconds, ended=base + .7 * self.seconds,
			    job=job, value=4000, peak=4700, threshold=3000, description="memory grew by 44 MiB/s%s" % self.hostile)
		for i in range(self.zombies):
			self.insert("anomaly", id=(recorder << 32) + 8 + i, kind="zombie", severity=2, began=base + .1 * self.seconds + .001 * i,
				    ended=base + .9 * self.seconds, job=job, value=60, peak=60, threshold=30, description="zombie: sh %d not reaped" % i)

	def add_processes(self, n):
		base = self.job["started"]
		self.db.execute("DELETE FROM process WHERE job = ?", (self.job["id"],))
		key = self.db.execute("SELECT max(id) FROM process").fetchone()[0] or 0
		failed = signalled = 0
		names = ["python", "loader", "cc1plus", "ld", "sh", "gzip", "rsync", "awk"]
		for i in range(n):
			begin = 0 if i == 0 else self.random.random() * 0.97 * self.seconds
			length = self.seconds - 1 if i == 0 else min(self.random.expovariate(1 / 9), self.seconds - begin)
			name, luck = names[0] if i == 0 else self.random.choice(names), self.random.random() if i else 1
			signalled += luck < .01
			failed += .01 <= luck < .04
			self.insert("process", id=key + 1 + i, recorder=self.job["recorder"], pid=10000 + i, ppid=1, start_ticks=10 ** 6 + i, started=base + begin,
				    ended=base + begin + length, exit_code=None if luck < .01 else int(luck < .04), signal=11 if luck < .01 else None, uid=self.job["uid"],
				    comm=(self.hostile or name)[:15] if i == 1 else name,
				    command="%s --shard %d --input /data/set/%05d.parquet %s" % (name, i % 16, i, self.hostile if i == 1 else ""),
				    final=ALL_FINAL, job=self.job["id"], sheet=1 if begin < .08 * self.seconds else 2, cpu_time_us=int(length * 7e5), max_rss_kib=9000,
				    peak_rss_kib=int(9000 + self.random.random() * 90000), read_bytes=i * 1000, write_bytes=i * 10)
		self.db.execute("UPDATE job SET processes = ?, exited_processes = ?, failed_processes = ?, signalled_processes = ? WHERE id = ?",
				(n, n, failed, signalled, self.job["id"]))

	def page(self, directory, *args):
		"""The file that was written, and its text."""
		path = Path(directory, "page.html")
		done = self.proctor(*(args or ("report", "last")), "--html", str(path))
		assert (done.returncode, done.stderr) == (0, ""), done.stderr
		return path, path.read_text(encoding="utf-8")
