# SPDX-License-Identifier: MIT
"""`proctor daemon` on a disk that is full for a while, or to the end."""
import json
import re
import subprocess
import sys

import pytest

from runkit import SANITIZERS

pytestmark = pytest.mark.needs_root

# The beginning of programs that start a daemon, `child`, whose socket is daemon.sock in the current directory: the user nobody
# may not search those above it.
CLIENT = r"""
import json, os, socket, subprocess, sys, time

def ask(method, **params):
	with socket.socket(socket.AF_UNIX) as line:
		line.connect("daemon.sock")
		line.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
		return json.loads(line.makefile().readline())["result"]

def wait_for(condition):
	end = time.monotonic() + 40
	while not condition():
		if child.poll() is not None or time.monotonic() > end:
			sys.exit("it did not come to it: %s" % ask("daemon.status"))
		time.sleep(0.05)
"""

# In a mount namespace of its own: a small disk for the state. Prints what the daemon reported of itself before it was stopped.
FULL_DISK = CLIENT + r"""
place, binary, ends_full = sys.argv[1], sys.argv[2], sys.argv[3] == "full"
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", place], check=True)
os.mkdir(place + "/run")
path = place + "/run/daemon.sock"
os.chdir(place + "/run")

env = {**os.environ, "PROCTOR_STATE_DIR": place + "/state"}
with subprocess.Popen([binary, "daemon", "--interval", "1", "--socket", path], env=env) as child:
	try:
		wait_for(lambda: os.path.exists(path))
		wait_for(lambda: ask("daemon.status")["store"]["snapshots"] > 1)
		with open(place + "/ballast", "wb", buffering=0) as ballast:
			try:
				while ballast.write(b"x" * 4096):
					pass
			except OSError:
				pass
		wait_for(lambda: not ask("daemon.status")["store"]["is_storing"])
		subprocess.run(["true"], check=True)  # something happens meanwhile
		ask("job.start", job_id="a", pid=os.getpid())  # its news are stored ahead of the next tick
		lost = ask("daemon.status")["losses"]["snapshots"]
		wait_for(lambda: ask("daemon.status")["losses"]["snapshots"] > lost + 1)
		if not ends_full:
			os.unlink(place + "/ballast")
			wait_for(lambda: ask("daemon.status")["store"]["is_storing"])
			stored = ask("daemon.status")["store"]["snapshots"]
			wait_for(lambda: ask("daemon.status")["store"]["snapshots"] > stored + 2)
		status = ask("daemon.status")
	finally:
		child.terminate()
	print(json.dumps({"exit": child.wait(timeout=30), "status": status}))
subprocess.run(["cp", "-r", place + "/state", place + "-kept"], check=True)
"""


def daemon_on_full_disk(proctor, tmp_path, how):
	place = tmp_path / "small"
	place.mkdir()
	done = subprocess.run(["unshare", "-m", sys.executable, "-c", FULL_DISK, str(place), proctor.binary, how], env={**proctor.env, **SANITIZERS},
			      capture_output=True, text=True, timeout=120, check=False)
	assert done.returncode == 0, done.stdout + done.stderr
	proctor.env["PROCTOR_STATE_DIR"] = str(tmp_path / "small-kept")  # the file system is gone with its namespace
	return json.loads(done.stdout), done.stderr


def test_what_a_full_disk_cost_is_reported_the_same_everywhere(proctor, tmp_path):
	answer, log = daemon_on_full_disk(proctor, tmp_path, "freed")
	assert answer["exit"] == 0, log
	assert answer["status"]["losses"]["events"] and log.count("events lost up to now") == 1, log  # at most once a minute
	losses = answer["status"]["losses"]
	rows = proctor.sql("SELECT event_type, count, details FROM recorder_events WHERE event_type IN ('gap', 'loss')")
	gaps = [int(re.match(r"(\d+) snapshots? (?:was|were) not stored", row["details"]).group(1)) for row in rows if row["event_type"] == "gap"]
	assert sum(gaps) == losses["snapshots"] > 0, rows
	assert sum(row["count"] for row in rows if row["event_type"] == "loss") == losses["events"], rows


def test_a_disk_that_is_still_full_at_the_end_is_a_failure(proctor, tmp_path):
	answer, log = daemon_on_full_disk(proctor, tmp_path, "full")
	assert answer["exit"] == 1
	assert "could not be stored" in log and "full" in log


# Two jobs end while there is room for their rows, and for nothing else. Prints, for each end that is published, whether it states that
# it is stored, and whether it was in the store at that moment.
ENDS = r"""
import json, os, socket, sqlite3, subprocess, sys, time
place, binary = sys.argv[1:3]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=755", "none", place], check=True)
os.mkdir(place + "/state")
path = place + "/daemon.sock"

class Line:
	def __init__(self):
		self.socket = socket.socket(socket.AF_UNIX)
		self.socket.connect(path)
		self.lines = self.socket.makefile("rw")
	def call(self, method, **params):
		self.lines.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
		self.lines.flush()
		return json.loads(self.lines.readline())["result"]

def has_ended(job_id):
	with sqlite3.connect("file:%s/state/proctor.db?mode=ro" % place, uri=True) as db:
		return db.execute("SELECT ended IS NOT NULL FROM jobs WHERE job_id = ?", (job_id,)).fetchone() == (1,)

env = {**os.environ, "PROCTOR_STATE_DIR": place + "/state"}
with subprocess.Popen([binary, "daemon", "--interval", "1", "--socket", path], env=env, stderr=subprocess.DEVNULL) as child:
	try:
		while not os.path.exists(path):
			time.sleep(0.05)
		ear, line = Line(), Line()
		ear.call("bus.subscribe", filter="job.")
		jobs = {name: subprocess.Popen(["sleep", "300"]) for name in ("first", "second")}
		for name, job in jobs.items():
			line.call("job.start", job_id=name, pid=job.pid)
		disk = os.statvfs(place)
		with open(place + "/ballast", "wb", buffering=0) as ballast:
			ballast.write(bytes(disk.f_bavail * disk.f_frsize - (144 << 10)))  # less than 1 %: only the ends of jobs are stored
		while line.call("daemon.status")["store"]["is_storing"]:
			time.sleep(0.05)
		for job in jobs.values():
			job.kill()
			job.wait()
		ends = []
		while len(ends) < 2:
			event = json.loads(ear.lines.readline())["params"]
			if event["event"] != "job.started":
				ends.append([event["job_id"], event["data"]["stored"], has_ended(event["job_id"])])
	finally:
		child.terminate()
print(json.dumps(ends))
"""


def test_an_end_is_published_as_stored_when_only_its_row_found_room(proctor, tmp_path):
	place = tmp_path / "small"
	place.mkdir()
	done = subprocess.run(["unshare", "-m", sys.executable, "-c", ENDS, str(place), proctor.binary], env={**proctor.env, **SANITIZERS},
			      capture_output=True, text=True, timeout=120, check=False)
	assert done.returncode == 0, done.stdout + done.stderr
	assert sorted(json.loads(done.stdout)) == [["first", True, True], ["second", True, True]]


# A job of root's and one of nobody's, which both start processes.
STORM = CLIENT + r"""
place, binary = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=755", "none", place], check=True)
os.mkdir(place + "/run", 0o755)
path = place + "/run/daemon.sock"
os.chdir(place + "/run")

def start_job(uid, forks):
	pid = os.fork()
	if pid:
		return pid
	os.setresuid(uid, uid, uid)
	ask("job.start", job_id="of-%d" % uid, pid=os.getpid())
	for i in range(forks):
		if os.fork() == 0:
			os._exit(0)
		os.wait()
	ask("job.end", job_id="of-%d" % uid, status="completed")
	os._exit(0)

env = {**os.environ, "PROCTOR_STATE_DIR": place + "/state"}
with subprocess.Popen([binary, "daemon", "--interval", "1", "--socket", path], env=env) as child:
	try:
		wait_for(lambda: os.path.exists(path))
		wait_for(lambda: ask("daemon.status")["store"]["snapshots"] > 1)
		jobs = [start_job(65534, 1500), start_job(0, 300)]
		assert all(os.waitpid(pid, 0)[1] == 0 for pid in jobs)
		wait_for(lambda: ask("daemon.status")["losses"]["over_quota"]["events"])
		stored = ask("daemon.status")["store"]["snapshots"]
		wait_for(lambda: ask("daemon.status")["store"]["snapshots"] > stored + 1)
		status = ask("daemon.status")
	finally:
		child.terminate()
	print(json.dumps({"exit": child.wait(timeout=30), "status": status}))
subprocess.run(["cp", "-r", place + "/state", place + "-kept"], check=True)
"""


def test_a_user_whose_job_starts_processes_without_end_fills_no_disk(proctor, tmp_path):
	place = tmp_path / "small"
	place.mkdir()
	done = subprocess.run(["unshare", "-m", sys.executable, "-c", STORM, str(place), proctor.binary], env={**proctor.env, **SANITIZERS},
			      capture_output=True, text=True, timeout=120, check=False)
	assert done.returncode == 0, done.stdout + done.stderr
	answer = json.loads(done.stdout)
	assert answer["exit"] == 0 and answer["status"]["store"]["is_storing"] and not answer["status"]["losses"]["snapshots"], done.stderr
	assert "user 65534 exceeds its share of the store" in done.stderr
	proctor.env["PROCTOR_STATE_DIR"] = str(tmp_path / "small-kept")
	assert proctor.sql("SELECT count(*) AS n FROM recorder_events WHERE event_type = 'loss' AND details LIKE 'user 65534 exceeds%'")[0]["n"] >= 1
	rows = {row["job_id"]: row["n"] for row in proctor.sql("SELECT j.job_id, count(*) AS n FROM process p JOIN job j ON j.id = p.job GROUP BY 1")}
	assert 100 < rows["of-65534"] < 1000 and rows["of-0"] >= 300, rows
	figures = {row["job_id"]: row["processes"] for row in proctor.sql("SELECT job_id, processes FROM jobs")}
	assert figures["of-65534"] == 1501 and figures["of-0"] == 301, figures
