# SPDX-License-Identifier: MIT
"""Jobs that an orchestrator registers with the daemon, by pid: what is shown, published and stored of them."""
import contextlib
import fcntl
import json
import os
import re
import resource
import select
import signal
import sqlite3
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import read_store
from daemonkit import cold, daemon  # noqa: F401 pylint: disable=unused-import
from runkit import SANITIZERS, cpu_of, kernel_thread, state_of, store_locked, wait_for

NOBODY = 65534
BUSY_S = 1.0
BUSY = "import time\nwhile time.process_time() < %f: pass\ntime.sleep(300)" % BUSY_S


def wait_until_idle(worker):
	"""Until BUSY has done its work."""
	wait_for(lambda: cpu_of(worker.pid) >= BUSY_S and state_of(worker.pid) == "S")


def wait_until_stored(daemon, job_id, worker):
	"""Until the row of the job has all that BUSY used: a daemon that was killed afterwards has lost nothing."""
	used = cpu_of(worker.pid)
	wait_for(lambda: (stored(daemon, job_id)[0]["cpu_seconds"] or 0) > used - 0.05)


def jobs_of(daemon, **params):
	return {job["job_id"]: job for job in daemon.result("job.list", **params)["jobs"]}


def top_of(daemon, pid):
	return next((p for p in daemon.result("daemon.top")["processes"] if p["pid"] == pid), None)


def stored(daemon, job_id):
	return daemon.proctor.sql("SELECT * FROM jobs WHERE job_id = '%s'" % job_id)


def test_a_job_from_start_to_end(daemon, children):
	"""Its processes are found, be they older than the registration or younger; its figures are stored."""
	worker = children.spawn(["sh", "-c", "sleep 60 & sleep 1; sleep 61 & wait"])
	with daemon.line() as line:
		started = line.call("job.start", job_id="train-7", job_type="train", pid=worker.pid, command="./train.sh --token=abc",
				    cwd="/home/ada", tags={"gpu": "no"}, total_sheets=2)["result"]
		assert started == {"job_id": "train-7", "uid": 0, "job_type": "train", "status": "running", "stored": True}
		assert stored(daemon, "train-7")[0]["ended"] is None  # what was answered is on the disk
		line.call("sheet.started", job_id="train-7", sheet_num=1, pid=worker.pid, label="prepare")
		daemon.wait_ticks()  # the last one may be of before the sheet
		wait_for(lambda: len([p for p in daemon.result("daemon.top")["processes"] if p["job_id"] == "train-7"]) >= 3)
		mine = top_of(daemon, worker.pid)
		assert (mine["job_id"], mine["sheet_num"]) == ("train-7", 1)
		job = jobs_of(daemon)["train-7"]
		assert (job["status"], job["current_sheet"], job["total_sheets"]) == ("running", 1, 2)
		assert job["tags"] == {"gpu": "no"} and "abc" not in job["command"]
		assert line.call("sheet.completed", job_id="train-7", sheet_num=1)["result"] == {"job_id": "train-7", "sheet_num": 1}
		ended = line.call("job.end", job_id="train-7", exit_code=0)["result"]
		assert ended["status"] == "completed"
	row = stored(daemon, "train-7")[0]
	assert row["ended"] and row["exit_code"] == 0
	assert daemon.call("job.end", job_id="train-7")["error"]["data"]["code"] == "conflict"
	profile = daemon.result("job.profile", job_id="train-7")
	assert profile["job_id"] == "train-7" and profile["process_spawn_count"] >= 3
	assert set(profile) == {"job_id", "peak_rss_mb", "total_cpu_seconds", "process_spawn_count", "unique_pid_count", "syscall_hotspots",
				"sheet_metrics"}
	report = daemon.result("job.report", job_id="train-7")
	assert report["report"]["job_id"] == "train-7" and "train-7" in report["text"]


def test_a_page_leaves_out_earlier_runs_that_cannot_be_read(cold, children):
	cold.start()
	for job_id in ("first", "second"):
		worker = children.spawn(["sleep", "307"])
		with cold.line() as line:
			line.call("job.start", job_id=job_id, job_type="nightly", pid=worker.pid)
			cold.wait_ticks(2)
			line.call("job.end", job_id=job_id, exit_code=0)
		worker.kill()
	wait_for(lambda: all(stored(cold, job_id)[0]["ended"] for job_id in ("first", "second")))
	# Reading the samples of the first run fails from now on.
	with contextlib.closing(sqlite3.connect("%s/proctor.db" % cold.proctor.state_dir, timeout=30)) as db:
		((first,),) = db.execute("SELECT id FROM job WHERE job_id = 'first'")
		db.execute("ALTER TABLE job_sample RENAME COLUMN procs TO procs_read")
		db.execute("ALTER TABLE job_sample ADD COLUMN procs INTEGER AS (iif(job = %d, abs(-9223372036854775807 - 1), procs_read))" % first)
	page = cold.result("job.report", job_id="second", format="page")
	assert "second" in page["title"] and "earlier runs are left out" in page["body"]
	assert "error" in cold.call("job.report", job_id="first", format="page")


def test_a_long_command_is_kept_whole_up_to_the_mark_of_its_cut(daemon, children):
	worker = children.spawn(["sh", "-c", "read wait", "x" * 700], stdin=subprocess.PIPE)
	wait_for(lambda: (top_of(daemon, worker.pid) or {}).get("command"))
	daemon.result("job.start", job_id="long", pid=worker.pid)
	command = jobs_of(daemon)["long"]["command"]
	assert len(command.encode()) <= 500 and re.fullmatch(r"sh -c read wait x+…", command), command


@pytest.mark.parametrize("uid", [0, NOBODY])
def test_a_job_that_is_registered_at_once_has_the_command_of_its_process(cold, children, uid):
	"""Its process is younger than the last tick, and has yet to execute its program."""
	cold.config.write_text("[profiler]\ninterval_seconds = 2\n", encoding="utf-8")
	cold.start()
	worker = children.spawn([sys.executable, "-c", "import os\nos.read(0, 1)\nos.execvp('sleep', ['sleep', '306'])"],
				stdin=subprocess.PIPE, user=uid)
	with cold.line(uid) as line:
		line.call("job.start", job_id="young", pid=worker.pid)
		worker.stdin.write(b"x")
		worker.stdin.flush()
		wait_for(lambda: jobs_of(cold)["young"]["command"] == "sleep 306" or "os.read" in (jobs_of(cold)["young"]["command"] or ""))
		wait_for(lambda: stored(cold, "young")[0]["command"])
		line.call("job.end", job_id="young", exit_code=0)
	assert stored(cold, "young")[0]["command"]


GROWS = "import sys\nsys.stdin.readline()\nx = b'x' * (200 << 20)\nprint(1, flush=True)\nsys.stdin.readline()"


def test_the_context_of_a_sheets_end_is_that_of_now(cold, children):
	"""The last tick was long ago; and a job that is over has no active sheets."""
	cold.config.write_text("[profiler]\ninterval_seconds = 60\n", encoding="utf-8")
	cold.start()
	worker = children.spawn([sys.executable, "-c", GROWS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
	with cold.line() as ear, cold.line() as line:
		ear.call("bus.subscribe", job_id="grown")
		line.call("job.start", job_id="grown", pid=worker.pid)
		line.call("sheet.started", job_id="grown", sheet_num=1, pid=worker.pid)
		worker.stdin.write(b"\n")
		worker.stdin.flush()
		worker.stdout.readline()
		line.call("sheet.failed", job_id="grown", sheet_num=1, exit_code=3)
		line.call("sheet.started", job_id="grown", sheet_num=2, pid=worker.pid)
		line.call("job.end", job_id="grown", exit_code=3)
		published = {}
		while "job.failed" not in published:
			event = ear.read()["params"]
			published.setdefault(event["event"], event["data"])
	assert published["sheet.failed"]["resource_context"]["rss_mb"] > 200 and published["sheet.failed"]["context_age_seconds"] == 0, published["sheet.failed"]
	assert published["sheet.started"]["resource_context"]["rss_mb"] < 100
	assert published["job.failed"]["resource_context"]["active_sheets"] == 0 == published["job.failed"]["resource_context"]["running_jobs"], published["job.failed"]


def test_a_job_whose_process_ends_has_ended(daemon, children):
	worker = children.spawn(["sh", "-c", "sleep 1; exit 3"])
	daemon.result("job.start", job_id="short", pid=worker.pid)
	worker.wait()
	job = wait_for(lambda: jobs_of(daemon)["short"]["status"] != "running" and jobs_of(daemon)["short"])
	assert job["status"] in ("failed", "lost")  # exit codes are unknown where there are only samples
	# The client that registered it knows better, and may report that once.
	assert daemon.result("job.end", job_id="short", status="completed")["status"] == "completed"
	assert daemon.call("job.end", job_id="short")["error"]["data"]["code"] == "conflict"


def test_an_end_that_was_not_reported_is_published_to_subscribers(cold, children):
	"""By the time of its process's end, and not only at the next tick."""
	cold.config.write_text("[profiler]\ninterval_seconds = 30\n", encoding="utf-8")
	cold.start()
	worker = children.spawn(["sh", "-c", "read go; sleep 0.5; kill -9 $$"], stdin=subprocess.PIPE)
	with cold.line() as ear:
		ear.call("bus.subscribe", job_id="alone")
		cold.result("job.start", job_id="alone", pid=worker.pid)
		cold.result("sheet.started", job_id="alone", sheet_num=1, pid=worker.pid)
		let_go = time.time()
		worker.stdin.write(b"go\n")
		worker.stdin.flush()
		worker.wait()
		ended = time.time()
		heard = []
		while not heard or heard[-1]["event"] not in ("job.failed", "job.lost"):
			heard.append(ear.read()["params"])
	assert time.time() - ended < 10  # a second, where nothing else is to do
	names = [event["event"] for event in heard]
	assert names.index("process.exit") < names.index("sheet.failed") < len(names) - 1
	assert heard[-1]["data"]["signal_num"] == 9 and heard[-1]["job_id"] == "alone"
	assert let_go + 0.4 < jobs_of(cold)["alone"]["ended_at"] < ended + 0.05


def test_the_end_of_a_job_is_published_after_it_was_stored(daemon, children):
	worker = children.spawn(["sh", "-c", "read go"], stdin=subprocess.PIPE)
	with daemon.line() as ear:
		ear.call("bus.subscribe", filter="job.", job_id="slow")
		daemon.result("job.start", job_id="slow", pid=worker.pid)
		assert ear.read()["params"]["data"]["stored"] is True
		with store_locked(daemon.proctor.state_dir):
			worker.stdin.close()
			worker.wait()
			assert wait_for(lambda: jobs_of(daemon)["slow"]["status"] != "running")
			ended = time.time()
			time.sleep(1.5)
		end = ear.read()["params"]
	assert end["timestamp"] > ended + 1.4 and end["data"]["stored"] is True, end
	assert stored(daemon, "slow")[0]["status"] == end["data"]["status"]


def test_the_end_of_a_job_is_published_before_the_daemon_stops(daemon, children):
	worker = children.spawn(["sleep", "60"])
	with daemon.line() as ear, daemon.line() as client:
		ear.call("bus.subscribe", filter="job.", job_id="late")
		daemon.result("job.start", job_id="late", pid=worker.pid)
		assert ear.read()["params"]["event"] == "job.started"
		with store_locked(daemon.proctor.state_dir):
			client.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "job.end", "params": {"job_id": "late", "exit_code": 0}}) + "\n")
			wait_for(lambda: jobs_of(daemon)["late"]["status"] != "running")
			daemon.process.send_signal(signal.SIGTERM)
			wait_for(lambda: not daemon.socket.exists())
		assert daemon.process.wait(timeout=60) == 0
		end = ear.read()["params"]
		assert (end["event"], end["data"]["stored"]) == ("job.completed", True)
		assert client.read()["result"]["stored"] is True
	assert stored(daemon, "late")[0]["status"] == "completed"


def test_an_end_that_waits_for_figures_is_stored_before_the_daemon_stops(daemon, children):
	"""Nobody has reaped the process of the job, so that its totals are still to come."""
	worker = children.spawn(["sleep", "60"])
	with daemon.line() as ear, daemon.line() as client:
		ear.call("bus.subscribe", filter="job.", job_id="late")
		client.call("job.start", job_id="late")
		client.call("sheet.started", job_id="late", sheet_num=1, pid=worker.pid)
		os.kill(worker.pid, signal.SIGKILL)
		wait_for(lambda: state_of(worker.pid) == "Z")
		client.send(json.dumps({"jsonrpc": "2.0", "id": 9, "method": "job.end", "params": {"job_id": "late", "exit_code": 3}}) + "\n")
		daemon.result("daemon.status")  # it was read by now
		assert not select.select([client.socket], [], [], 0)[0]
		daemon.process.send_signal(signal.SIGTERM)
		assert client.read()["result"]["stored"] is True
		assert daemon.process.wait(timeout=60) == 0
		heard = [event["params"] for event in iter(ear.read, None)]
	ends = [event for event in heard if event["event"] in ("job.completed", "job.failed", "job.lost")]
	assert [(end["event"], end["data"]["exit_code"], end["data"]["stored"]) for end in ends] == [("job.failed", 3, True)]
	assert stored(daemon, "late")[0]["exit_code"] == 3


def test_a_user_receives_events_of_own_processes_in_the_job_of_another(daemon, children):
	shell = children.spawn(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", "read go; /bin/true; read end"],
			       stdin=subprocess.PIPE)
	wait_for(lambda: Path("/proc/%d/comm" % shell.pid).read_text(encoding="ascii") == "sh\n")
	daemon.wait_ticks()  # its own exec is no news then
	daemon.result("job.start", job_id="roots", pid=os.getpid())
	try:
		with daemon.line(NOBODY) as ear:
			ear.call("bus.subscribe", filter="process.")
			shell.stdin.write(b"go\n")
			shell.stdin.flush()
			heard = []
			while len(heard) < 3:  # events of processes of other tests arrive, too
				heard += [event["event"] for event in [ear.read()["params"]] if event["job_id"] == "roots"]
		assert heard == ["process.spawn", "process.exec", "process.exit"]
		assert wait_for(lambda: daemon.result("daemon.events", NOBODY)["events"])
	finally:
		daemon.result("job.end", job_id="roots")


def test_what_it_took_is_what_it_took(daemon, children):
	worker = children.python(BUSY)
	daemon.result("job.start", job_id="busy", pid=worker.pid)
	wait_until_idle(worker)
	worker.kill()
	_, _, usage = os.wait4(worker.pid, 0)
	worker.returncode = -9
	wait_for(lambda: jobs_of(daemon)["busy"]["status"] != "running")
	daemon.stop()
	row = stored(daemon, "busy")[0]
	assert abs(row["cpu_seconds"] - usage.ru_utime - usage.ru_stime) < 0.1, row
	assert row["peak_rss_mb"] > 3


def test_a_daemon_that_comes_back_goes_on_with_the_jobs_that_run(daemon, children):
	"""What it took before is not lost, and not counted twice."""
	program = BUSY.replace("time.sleep", "import subprocess\nsubprocess.run(['true'])\ntime.sleep")
	worker = children.python(program)
	daemon.result("job.start", job_id="goes-on", job_type="t", pid=worker.pid, total_sheets=3)
	daemon.result("sheet.started", job_id="goes-on", sheet_num=1, pid=worker.pid)
	daemon.result("sheet.completed", job_id="goes-on", sheet_num=1)
	daemon.result("sheet.started", job_id="goes-on", sheet_num=2, pid=worker.pid)
	wait_until_idle(worker)
	wait_until_stored(daemon, "goes-on", worker)
	for signo in (signal.SIGKILL, signal.SIGTERM):
		daemon.process.send_signal(signo)
		daemon.process.wait()
		daemon.start()
		job = jobs_of(daemon)["goes-on"]
		assert (job["status"], job["current_sheet"], job["last_completed_sheet"], job["total_sheets"]) == ("running", 2, 1, 3)
		wait_for(lambda: (top_of(daemon, worker.pid) or {}).get("sheet_num") == 2)
	assert "1 job of the previous daemon continues" in daemon.log_text()
	worker.kill()
	_, _, usage = os.wait4(worker.pid, 0)
	worker.returncode = -9
	wait_for(lambda: jobs_of(daemon)["goes-on"]["status"] != "running")
	daemon.stop()
	rows = stored(daemon, "goes-on")
	assert len(rows) == 1 and rows[0]["ended"]
	assert abs(rows[0]["cpu_seconds"] - usage.ru_utime - usage.ru_stime) < 0.2, rows[0]["cpu_seconds"]
	daemon.start()
	assert "goes-on" not in jobs_of(daemon)


def test_a_job_that_ended_while_the_daemon_was_down_is_shown_and_may_be_reported(daemon, children):
	"""Its figures stay those that were seen of it; how it ended only its orchestrator knows."""
	worker = children.python(BUSY)
	daemon.result("job.start", job_id="unseen", pid=worker.pid)
	daemon.result("sheet.started", job_id="unseen", sheet_num=1, pid=worker.pid)
	wait_until_idle(worker)
	wait_until_stored(daemon, "unseen", worker)
	daemon.stop(signal.SIGKILL)
	before = stored(daemon, "unseen")[0]
	worker.kill()
	worker.wait()
	daemon.start()
	assert "1 job ended while no daemon was running" in daemon.log_text()
	job = jobs_of(daemon)["unseen"]
	assert (job["status"], job["sheets"][0]["status"]) == ("lost", "lost") and job["ended_at"]
	wait_for(lambda: stored(daemon, "unseen")[0]["result"] == "lost")
	assert daemon.result("job.end", job_id="unseen", exit_code=0)["status"] == "completed"
	assert daemon.call("job.end", job_id="unseen", exit_code=0)["error"]["data"]["code"] == "conflict"
	row = wait_for(lambda: stored(daemon, "unseen")[0]["result"] == "ok" and stored(daemon, "unseen")[0])
	assert (row["cpu_seconds"], row["peak_rss_mb"], row["ended"]) == (before["cpu_seconds"], before["peak_rss_mb"], job["ended_at"])
	daemon.stop()
	assert len(stored(daemon, "unseen")) == 1
	daemon.start()
	assert "unseen" not in jobs_of(daemon)


def test_a_pid_is_what_the_caller_calls_so(daemon, children):
	"""In a container the same number is another process."""
	program = ("import subprocess,sys,time\nsys.path.insert(0, %r)\nfrom door import Line\n"
		   "child = subprocess.Popen(['sleep', '71.5'])\nline = Line(sys.argv[1])\n"
		   "print(child.pid, line.call('job.start', job_id='inside', pid=child.pid)['result']['job_id'],\n"
		   "      line.call('job.start', pid=30000)['error']['data']['code'], flush=True)\ntime.sleep(60)") % os.path.dirname(__file__)
	container = children.spawn(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-c", program,
				    str(daemon.socket)], stdout=subprocess.PIPE, text=True)
	pid, job_id, absent = container.stdout.readline().split()
	assert int(pid) < 100 and (job_id, absent) == ("inside", "not_found")
	members = wait_for(lambda: [p for p in daemon.result("daemon.top")["processes"] if p["job_id"] == "inside"])
	assert [p["command"] for p in members] == ["sleep 71.5"]


def test_a_run_in_a_container_is_shown_with_its_processes(daemon, children):
	children.spawn(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", daemon.proctor.binary, "run", "--job-id", "boxed",
			"--", "sleep", "72.5"], env={**daemon.proctor.env, **SANITIZERS})
	members = wait_for(lambda: [p for p in daemon.result("daemon.top")["processes"] if p["job_id"] == "boxed"])
	assert [p["command"] for p in members] == ["sleep 72.5"]


def test_an_end_that_waits_for_the_disk_is_neither_stored_nor_refused(daemon, children):
	worker = children.spawn(["sleep", "60"])
	with daemon.line() as ear:
		ear.call("bus.subscribe", filter="job.", job_id="late")
		daemon.result("job.start", job_id="late", pid=worker.pid)
		assert ear.read()["params"]["data"]["stored"] is True
		with store_locked(daemon.proctor.state_dir):
			assert daemon.result("job.end", job_id="late", exit_code=3)["stored"] is None
			released = time.time()
		end = ear.read()["params"]
	assert (end["event"], end["data"]["stored"], end["data"]["exit_code"]) == ("job.failed", True, 3)
	assert end["timestamp"] >= released - 0.01
	assert stored(daemon, "late")[0]["status"] == "failed"


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT RUN: needs root to mount a small disk")
def test_a_job_is_not_reported_to_be_on_a_disk_that_is_full(cold, children):
	worker = children.spawn(["sleep", "60"])
	state = cold.proctor.state_dir
	state.mkdir()
	cold.start(before=["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=6m none "$0" && exec "$@"', str(state)])
	seen = Path("/proc/%d/root%s" % (cold.process.pid, state))
	with pytest.raises(OSError), open(seen / "filler", "wb") as filler:  # closing it may fail, too
		while True:
			filler.write(b"x" * 65536)
			filler.flush()
	wait_for(lambda: not cold.result("daemon.status")["store"]["is_storing"])
	assert cold.result("job.start", job_id="unsafe", pid=worker.pid)["stored"] is False
	(seen / "filler").unlink()
	wait_for(lambda: cold.result("daemon.status")["store"]["is_storing"])
	assert cold.result("job.end", job_id="unsafe", exit_code=0)["stored"] is True
	assert cold.result("job.report", job_id="unsafe")["job_id"] == "unsafe"


def test_no_user_fills_the_disk_with_reported_data(daemon, children):
	"""Root may: it owns the disk."""
	mine, other = children.spawn(["sleep", "60"]), children.spawn(["sleep", "61"], user=NOBODY)
	daemon.result("job.start", job_id="roots", pid=mine.pid)
	daemon.result("job.start", NOBODY, job_id="nobodys", pid=other.pid)
	big = {"text": "x" * 16000}
	with daemon.line(NOBODY) as line:
		answers = [line.call("job.mark", job_id="nobodys", name="m", data=big) for _ in range(700)]
		accepted = [answer for answer in answers if "result" in answer]
		refused = [answer["error"] for answer in answers if "error" in answer]  # time brings room again for a few
		assert 400 < len(accepted) < 690
		assert all(error["data"]["code"] == "limit_reached" and "MiB" in error["message"] for error in refused)
		assert line.call("job.end", job_id="nobodys", exit_code=0)["result"]["status"] == "completed"
	with daemon.line() as line:
		assert all("result" in line.call("job.mark", job_id="roots", name="m", data=big) for _ in range(700))


def test_a_name_on_the_bus_is_a_word(shared):
	for name in ("app with blanks", "app.x\ny", "app.\u00e9"):
		assert shared.call("bus.publish", event=name)["error"]["data"]["code"] == "invalid_params"


def test_children_that_were_born_before_are_in_it_however_short_they_live(cold, children):
	cold.config.write_text("[profiler]\ninterval_seconds = 30\n", encoding="utf-8")
	cold.start()
	burn = "import sys,time\nheld = bytearray(50 << 20)\nprint(flush=True)\nsys.stdin.read()\nend = time.process_time() + 0.4\nwhile time.process_time() < end: pass"
	worker = children.spawn(["sh", "-c", "sh -c '%s -c \"%s\"; true'; exit 0" % (sys.executable, burn)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
	worker.stdout.readline()
	cold.result("job.start", job_id="older", pid=worker.pid)
	worker.stdin.close()
	worker.wait()
	cold.result("job.end", job_id="older", exit_code=0)
	profile = cold.result("job.profile", job_id="older")
	assert profile["unique_pid_count"] == 3 and profile["total_cpu_seconds"] > 0.35 and profile["peak_rss_mb"] > 45, profile


def test_a_job_that_no_tick_saw_goes_on_after_a_restart(cold, children):
	"""Its process was known before it became a job's, and there was no tick since."""
	cold.config.write_text("[profiler]\ninterval_seconds = 30\n", encoding="utf-8")
	worker = children.spawn(["sh", "-c", "read go; exit 3"], stdin=subprocess.PIPE)
	cold.start()
	assert cold.result("job.start", job_id="young", pid=worker.pid)["stored"]
	cold.stop()
	cold.start()
	assert "1 job of the previous daemon continues" in cold.log_text()
	worker.stdin.close()
	worker.wait()
	job = wait_for(lambda: (jobs_of(cold)["young"]["status"] != "running") and jobs_of(cold)["young"])
	assert job["status"] in ("failed", "lost")


def test_what_ended_before_the_daemon_was_stopped_has_its_end(cold, children):
	cold.config.write_text("[profiler]\ninterval_seconds = 30\n", encoding="utf-8")
	cold.start()
	worker = children.spawn(["sh", "-c", "read go; exit 3"], stdin=subprocess.PIPE)
	cold.result("job.start", job_id="ended", pid=worker.pid)
	worker.stdin.close()
	worker.wait()
	cold.stop()
	row = stored(cold, "ended")[0]
	assert (row["result"], row["exit_code"]) == ("failed", 3)
	assert 0 <= row["duration_seconds"] < 10


def test_a_job_that_the_daemon_itself_lost_is_no_news_after_a_restart(daemon, children):
	register = ("import json, socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
		    "s.sendall(json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'job.start', 'params': {'job_id': 'gone'}}).encode() + b'\\n')\nprint(s.recv(4096))")
	assert b"running" in children.python(register, daemon.socket, stdout=-1).communicate(timeout=60)[0]
	wait_for(lambda: stored(daemon, "gone") and stored(daemon, "gone")[0]["status"] == "lost")
	daemon.wait_ticks(2)
	running = children.spawn(["sleep", "60"])
	daemon.result("job.start", job_id="cut", pid=running.pid)
	daemon.stop()
	running.kill()
	running.wait()
	daemon.start()
	assert "1 job ended while no daemon was running" in daemon.log_text()
	assert list(jobs_of(daemon)) == ["cut"]


def test_a_job_that_no_tick_saw_does_not_end_before_it_began(cold, children):
	cold.config.write_text("[profiler]\ninterval_seconds = 30\n", encoding="utf-8")
	cold.start()
	worker = children.spawn(["sleep", "60"])
	cold.result("job.start", job_id="unlucky", pid=worker.pid)
	cold.result("sheet.started", job_id="unlucky", sheet_num=1, pid=worker.pid)
	cold.stop(signal.SIGKILL)
	worker.kill()
	worker.wait()
	cold.start()
	job = jobs_of(cold)["unlucky"]
	assert job["status"] == "lost" and job["ended_at"] >= job["started_at"]
	assert all(sheet["ended_at"] >= sheet["started_at"] for sheet in job["sheets"])
	cold.stop()
	cold.start()  # once is enough
	assert "unlucky" not in jobs_of(cold) and cold.log_text().count("ended while no daemon was running") == 1
	row = stored(cold, "unlucky")[0]
	assert row["duration_seconds"] is None or 0 <= row["duration_seconds"] < 10, row


def test_an_end_is_reported_once_unless_it_was_another(daemon, children):
	same, other = (children.spawn(["sh", "-c", "read end; exit 3"], stdin=subprocess.PIPE) for _ in range(2))
	heard = []
	with daemon.line() as ear:
		ear.call("bus.subscribe", filter="job.")
		daemon.result("job.start", job_id="same", pid=same.pid)
		daemon.result("job.start", job_id="other", pid=other.pid)
		same.stdin.close()
		other.stdin.close()
		wait_for(lambda: {job["status"] for job in jobs_of(daemon).values()} == {"failed"})
		daemon.result("job.end", job_id="same", exit_code=3)
		daemon.result("job.end", job_id="other", status="completed")
		daemon.result("job.start", job_id="next", pid=os.getpid())
		while not heard or heard[-1][1] != "next":
			event = ear.read()["params"]
			heard.append((event["event"], event["job_id"]))
		daemon.result("job.end", job_id="next")
	published = {job_id: [name for name, of in heard if of == job_id] for job_id in ("same", "other")}
	assert published == {"same": ["job.started", "job.failed"], "other": ["job.started", "job.failed", "job.completed"]}


def test_an_id_that_is_taken(daemon, children):
	worker = children.spawn(["sleep", "60"])
	daemon.result("job.start", job_id="again", pid=worker.pid)
	assert daemon.call("job.start", job_id="again", pid=worker.pid)["error"]["data"]["code"] == "conflict"
	daemon.result("job.end", job_id="again")
	assert daemon.result("job.start", job_id="again", pid=worker.pid)["job_id"] == "again.2"


def test_a_process_is_that_of_one_job(daemon, children):
	"""A second job on it would leave the first without its process, and so without an end."""
	worker = children.spawn(["sleep", "60"])
	daemon.result("job.start", job_id="first", pid=worker.pid)
	error = daemon.call("job.start", job_id="second", pid=worker.pid)["error"]
	assert error["data"]["code"] == "conflict" and "'first'" in error["message"]
	daemon.result("job.end", job_id="first")
	daemon.result("job.start", job_id="second", pid=worker.pid)


def test_an_id_of_another_user_does_not_show(daemon, children):
	"""What one user calls a job is nothing that another may learn, or be kept from."""
	mine, theirs = children.spawn(["sleep", "60"]), children.spawn(["sleep", "61"], user=NOBODY)
	daemon.result("job.start", job_id="nightly", pid=mine.pid)
	with daemon.line(NOBODY) as line:
		assert line.call("sheet.started", job_id="nightly", pid=theirs.pid)["error"]["data"]["code"] == "not_found"
		assert line.call("job.start", job_id="nightly", pid=theirs.pid)["result"]["job_id"] == "nightly"
		assert line.call("sheet.started", job_id="nightly", pid=theirs.pid)["result"] == {"job_id": "nightly", "sheet_num": 1}
	assert [len(job["sheets"]) for job in daemon.result("job.list")["jobs"] if job["uid"] == 0] == [0]


def test_two_users_may_use_one_id(daemon, children):
	"""Each recorder has a store of its own. A bare id means the caller's own job; root may name the user."""
	mine, theirs = children.spawn(["sleep", "60"]), children.spawn(["sleep", "61"], user=NOBODY)
	with daemon.line() as first, daemon.line(NOBODY) as second:
		assert first.call("job.start", job_id="nightly", pid=mine.pid, has_recorder=True)["result"]["job_id"] == "nightly"
		assert second.call("job.start", job_id="nightly", pid=theirs.pid, has_recorder=True)["result"]["job_id"] == "nightly"
		assert second.call("job.end", job_id="nightly", exit_code=0)["result"]["job_id"] == "nightly"
		assert sorted((job["job_id"], job["uid"], job["status"]) for job in daemon.result("job.list")["jobs"]) == [
			("nightly", 0, "running"), ("nightly", NOBODY, "completed")]
		for job_id in ("nightly", "root:nightly", f"{NOBODY}:nightly", "nobody:nightly"):
			assert "seq" in daemon.result("bus.publish", event="app.x", job_id=job_id), job_id
		for job_id in ("1:nightly", "nobody:other", ":nightly", "no such user:nightly"):
			assert daemon.call("bus.publish", event="app.x", job_id=job_id)["error"]["data"]["code"] == "not_found", job_id
		assert second.call("bus.publish", event="app.x", job_id="root:nightly")["error"]["data"]["code"] == "not_found"


def test_an_end_that_contradicts_itself_is_refused(daemon, children):
	worker = children.spawn(["sleep", "60"])
	daemon.result("job.start", job_id="sure", pid=worker.pid)
	for how in ({"exit_code": 3}, {"signal": 9}):
		error = daemon.call("job.end", job_id="sure", status="completed", **how)["error"]
		assert error["data"]["code"] == "invalid_params" and "contradicts" in error["message"]
	assert daemon.result("job.end", job_id="sure", status="failed", exit_code=0)["status"] == "failed"


@pytest.mark.parametrize("method, params, word", [
	("job.start", {"pid": 4194305}, "not_found"),
	("job.start", {"job_id": "../x"}, "invalid_params"),
	("job.start", {"job_type": "a b"}, "invalid_params"),
	("job.start", {"tags": {"a": 1}}, "invalid_params"),
	("job.start", {"tags": ["a"]}, "invalid_params"),
	("job.start", {"has_recorder": 1}, "invalid_params"),
	("job.start", {"started_at": -1}, "invalid_params"),
	("job.end", {}, "invalid_params"),
	("job.end", {"job_id": "nobody"}, "not_found"),
	("sheet.started", {"job_id": "nobody"}, "not_found"),
	("job.mark", {"name": "x"}, "invalid_params"),
	("job.report", {}, "invalid_params"),
	("job.report", {"job_id": "nobody"}, "not_found"),
	("job.report", {"job_id": "nobody", "format": "pdf"}, "invalid_params"),
	("job.profile", {"job_id": "nobody"}, "not_found"),
	("process.history", {}, "invalid_params"),
	("process.history", {"pid": 1, "since": "yesterday"}, "invalid_params"),
	("daemon.top.stream", {"subscribe": "yes"}, "invalid_params"),
	("admit", {"what": "planet"}, "invalid_params"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_wrong_parameters_are_named(shared, method, params, word):
	answer = shared.call(method, **params)
	assert answer["error"]["data"]["code"] == word, answer


@pytest.fixture(scope="module")
def shared():
	from daemonkit import Daemon  # pylint: disable=import-outside-toplevel

	one = Daemon().start()
	yield one
	one.end()


def test_the_reference_client_works_unchanged(shared):
	"""Newline-delimited JSON-RPC 2.0 with the methods and keys that it knows."""
	with shared.line() as line:
		line.send('{"jsonrpc": "2.0", "method": "daemon.top", "id": 1}\n{"jsonrpc": "2.0", "method": "daemon.events", '
			  '"params": {"limit": 5}, "id": 2}\n{"jsonrpc": "2.0", "method": "daemon.top.stream", "id": "x"}\n'
			  '{"jsonrpc": "2.0", "method": "daemon.status", "params": {}, "id": 3}\n')
		top, events, stream, status = (line.read() for _ in range(4))
	assert {"timestamp", "daemon_pid", "system_memory_total_mb", "system_memory_available_mb", "system_memory_used_mb", "daemon_rss_mb",
		"load_avg_1", "load_avg_5", "load_avg_15", "processes", "gpus", "pressure_level", "running_jobs", "active_sheets",
		"zombie_count", "zombie_pids", "job_progress", "conductor_uptime_seconds"} <= set(top["result"])
	assert {"pid", "ppid", "command", "state", "cpu_percent", "rss_mb", "vms_mb", "threads", "open_fds", "age_seconds", "job_id",
		"sheet_num", "syscall_counts", "syscall_time_pct"} <= set(top["result"]["processes"][0])
	assert len(events["result"]["events"]) <= 5
	assert stream["id"] == "x" and stream["result"]["jsonl_path"].endswith("monitor.jsonl")
	assert status["result"]["pid"] == shared.process.pid


@pytest.mark.parametrize("nothing", ["null", "[]"])
def test_params_of_null_are_no_params(shared, nothing):
	"""Which is how the reference's client calls every method without any; an empty list has no names either."""
	with shared.line() as line:
		for method in ("daemon.health", "daemon.status", "daemon.top", "daemon.events", "job.list"):
			line.send('{"jsonrpc":"2.0","method":"%s","params":%s,"id":7}\n' % (method, nothing))
			answer = line.read()
			assert answer["id"] == 7 and "result" in answer, answer


@pytest.mark.parametrize("uid", [0, NOBODY])
def test_health_and_status_have_what_the_reference_asks_for(shared, uid):
	health = shared.result("daemon.health", uid)
	assert (health["status"], health["pid"], health["shutting_down"]) == ("ok", shared.process.pid, False)
	status = shared.result("daemon.status", uid)
	assert status["total_jobs_active"] == status["running_jobs"]
	rss_mb = int(Path("/proc/%d/statm" % shared.process.pid).read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
	assert abs(status["memory_usage_mb"] - rss_mb) < 0.2 * rss_mb


def members_that_are_null(value):
	if isinstance(value, dict):
		return [key for key, one in value.items() if one is None] + [k for one in value.values() for k in members_that_are_null(one)]
	return [k for one in value for k in members_that_are_null(one)] if isinstance(value, list) else []


def test_nulls_are_left_out_for_clients_that_ask_for_that(shared, children):
	worker = children.spawn(["sleep", "60"])
	shared.result("job.start", job_id="no-nulls", pid=worker.pid)
	shared.wait_ticks()
	full, lean = shared.result("daemon.top"), shared.result("daemon.top", nulls="omit")
	assert members_that_are_null(full) and not members_that_are_null(lean)
	assert set(full) - set(lean) == {key for key, value in full.items() if value is None}
	profile = shared.result("job.profile", job_id="no-nulls", nulls="omit")  # which the store worker answers
	assert not members_that_are_null(profile)
	assert shared.call("daemon.top", nulls="maybe")["error"]["data"]["code"] == "invalid_params"
	with shared.line() as line:
		line.call("daemon.top.stream", subscribe=True, nulls="omit")
		assert not members_that_are_null(line.read()["params"])
	shared.result("job.end", job_id="no-nulls")


def test_a_job_of_unknown_length_has_no_number_of_sheets(shared, children):
	worker = children.spawn(["sleep", "60"])
	shared.result("job.start", job_id="unknown-length", pid=worker.pid)
	shared.wait_ticks()
	progress = {job["job_id"]: job for job in shared.result("daemon.top")["job_progress"]}
	assert progress["unknown-length"]["total_sheets"] is None
	assert {job["job_id"]: job for job in shared.result("job.list")["jobs"]}["unknown-length"]["total_sheets"] is None
	rows = shared.proctor("sql", "--json", "SELECT total_sheets FROM jobs WHERE job_id = 'unknown-length'").stdout
	assert "0" not in rows and "null" in rows, rows
	shared.result("job.end", job_id="unknown-length")


@pytest.mark.parametrize("uid", [0, NOBODY])
def test_the_monitor_stream_has_events_and_no_answer(shared, children, uid):
	mine, others = "streamed-%d" % uid, "not-streamed-%d" % uid
	worker = children.spawn(["sh", "-c", "while sleep 0.2; do :; done"], user=uid)
	other = children.spawn(["sleep", "60"], user=uid)
	with shared.line(uid) as ear, shared.line(uid) as mouth:
		ear.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "daemon.monitor.stream", "params": {"job_id": mine}}) + "\n")
		wait_for(lambda: mouth.call("bus.publish", event="app.ping")["result"]["seq"])
		mouth.call("job.start", job_id=others, pid=other.pid)
		mouth.call("job.start", job_id=mine, pid=worker.pid)
		mouth.call("sheet.started", job_id=mine, sheet_num=3, pid=worker.pid)
		names = {}
		while not {"job.started", "sheet.started", "process.spawn"} <= set(names):
			message = ear.read()
			assert message["method"] == "monitor.event" and "id" not in message
			keys = ["job_id", "sheet_num", "event", "data", "timestamp"]
			assert list(message["params"]) == keys + ["job_uid"] * bool(message["params"]["job_id"]) + ["uid"]
			names[message["params"]["event"]] = message["params"]
	names.pop("monitor.lagged", None)  # of no job: a storm elsewhere on the machine has overwritten events
	assert {event["job_id"] for event in names.values()} == {mine}
	assert names["job.started"]["sheet_num"] is None and names["sheet.started"]["sheet_num"] == 3
	with shared.line(uid) as ear, shared.line(uid) as mouth:
		ear.send('{"jsonrpc":"2.0","id":1,"method":"daemon.monitor.stream","params":{"nulls":"omit"}}\n')
		shared.result("daemon.health", uid)
		mouth.call("bus.publish", event="app.of-no-job")
		published = ear.read()["params"]
		while published["event"] != "app.of-no-job":
			assert None not in published.values()
			published = ear.read()["params"]
	assert published["job_id"] == "" and "sheet_num" not in published
	for job_id in (mine, others):
		shared.result("job.end", uid, job_id=job_id)


@pytest.mark.parametrize("way", ["bus.subscribe", "daemon.monitor.stream"])
@pytest.mark.parametrize("uid", [0, NOBODY])
def test_marks_and_phases_come_with_their_names_in_the_order_of_events(shared, children, uid, way):
	mine = "ordered-%s-%d" % (way[:3], uid)
	worker = children.spawn(["sleep", "60"], user=uid)
	with shared.line(uid) as ear, shared.line(uid) as mouth:
		ear.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": way, "params": {"job_id": mine}}) + "\n")
		wait_for(lambda: mouth.call("bus.publish", event="app.ping")["result"]["seq"])
		mouth.call("job.start", job_id=mine, pid=worker.pid)
		mouth.call("job.mark", job_id=mine, name="epoch", data={"n": 1, "loss": 0.25})
		for _ in range(2):
			mouth.call("sheet.started", job_id=mine, sheet_num=1, pid=worker.pid)
			mouth.call("job.phase", job_id=mine, name="load", seconds=1.5)
			mouth.call("sheet.failed", job_id=mine, sheet_num=1, exit_code=3)
		mouth.call("job.mark", job_id=mine, name="last")
		mouth.call("job.end", job_id=mine, exit_code=1)
		published = []
		while not published or published[-1]["event"] != "job.failed":
			message = ear.read()
			if "params" in message and not message["params"]["event"].startswith(("process.", "monitor.")):
				published.append(message["params"])
	assert [(event["event"], event["data"].get("name"), event["data"].get("seconds")) for event in published] == [
		("job.started", None, None), ("job.mark", "epoch", None),
		("sheet.started", None, None), ("job.phase", "load", 1.5), ("sheet.failed", None, None), ("job.mark", "sheet.retried", None),
		("sheet.started", None, None), ("job.phase", "load", 1.5), ("sheet.failed", None, None),
		("job.mark", "last", None), ("job.failed", None, None)]
	assert published[1]["data"]["data"] == {"n": 1, "loss": 0.25} and published[5]["data"]["data"]["exit_code"] == 3
	assert {event["job_id"] for event in published} == {mine}


def test_subscribers_receive_snapshots(shared):
	with shared.line() as line:
		assert "jsonl_path" in line.call("daemon.top.stream", subscribe=True)["result"]
		seen = [line.read() for _ in range(3)]
	assert all(one["method"] == "daemon.top" for one in seen)
	seqs = [one["params"]["seq"] for one in seen]
	assert seqs == sorted(set(seqs))


def test_the_history_of_a_process(shared, children):
	sleeper = children.spawn(["sleep", "60"])
	points = wait_for(lambda: (lambda p: p if len(p) >= 2 else None)(
		shared.result("process.history", pid=sleeper.pid, since=time.time() - 60)["points"]))
	assert points[0]["state"] == "S" and points[0]["rss_mb"] > 0.1
	assert shared.result("process.history", pid=sleeper.pid, since=time.time() + 60)["points"] == []
	first = shared.result("process.history", pid=sleeper.pid, limit=1)
	assert len(first["points"]) == 1 and first["more"] is True


def test_listeners_hear_of_jobs_sheets_and_processes(shared, children):
	worker = children.spawn(["sh", "-c", "sleep 0.5; sleep 60"])
	with shared.line() as ear, shared.line() as mouth:
		ear.call("bus.subscribe", job_id="heard")
		mouth.call("job.start", job_id="heard", pid=worker.pid)
		mouth.call("sheet.started", job_id="heard", pid=worker.pid)
		mouth.call("job.mark", job_id="heard", name="epoch", data={"n": 1})
		mouth.call("bus.publish", event="app.hello", job_id="heard", data={"a": 1})
		names = {}
		while not {"job.started", "sheet.started", "job.mark", "app.hello", "process.spawn"} <= set(names):
			published = ear.read()
			assert published["method"] == "bus.event"
			names[published["params"]["event"]] = published["params"]
		seq = names["app.hello"]["seq"]
		os.kill(worker.pid, signal.SIGKILL)
		mouth.call("job.end", job_id="heard", signal=9)
		while "job.failed" not in names:
			published = ear.read()
			names[published["params"]["event"]] = published["params"]
	assert set(names["sheet.started"]["data"]["resource_context"]) >= {"rss_mb", "cpu_pct", "syscall_hotspot", "anomalies_active", "daemon_rss_mb"}
	assert all(event["job_id"] == "heard" for event in names.values())
	with shared.line() as late:  # from where it left off
		late.call("bus.subscribe", since_seq=seq, job_id="heard")
		assert late.read()["params"]["event"] == "app.hello"


def test_events_are_published_about_ones_own_jobs(shared, children):
	"""Of root's too to their owner, about the caller's own without a word, and about nobody else's."""
	mine, other = children.spawn(["sleep", "60"]), children.spawn(["sleep", "61"], user=NOBODY)
	shared.result("job.start", job_id="roots", pid=mine.pid)
	shared.result("job.start", job_id="nobodys", pid=other.pid)
	for job_id in ("roots", "no-such"):
		assert shared.call("bus.publish", NOBODY, event="app.x", job_id=job_id)["error"]["data"]["code"] == "not_found"
	with shared.line(NOBODY) as ear:
		ear.call("bus.subscribe", filter="app.")
		shared.result("bus.publish", event="app.roots", job_id="roots")
		shared.result("bus.publish", event="app.for-nobody", job_id="nobody:nobodys")
		shared.result("bus.publish", NOBODY, event="app.by-nobody")
		assert [ear.read()["params"]["event"] for _ in range(2)] == ["app.for-nobody", "app.by-nobody"]
	for job_id in ("roots", "nobody:nobodys"):
		shared.result("job.end", job_id=job_id)


def test_a_subscriber_that_comes_back_to_another_daemon_is_informed(daemon):
	with daemon.line() as ear:
		seq = ear.call("bus.subscribe")["result"]["next_seq"]
	daemon.stop()
	daemon.start()
	with daemon.line() as ear:
		assert ear.call("bus.subscribe", since_seq=seq, filter="app.")["result"]["next_seq"] > seq
		assert ear.read()["params"]["lost"] is None


def test_a_process_in_a_job_need_not_name_it(shared, children):
	program = ("import sys,time\nsys.path.insert(0, %r)\nfrom door import Line\nsys.stdin.readline()\n"
		   "line = Line(sys.argv[1])\nprint(line.call('sheet.started'), flush=True)\ntime.sleep(30)") % os.path.dirname(__file__)
	child = children.python(program, str(shared.socket), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
	shared.result("job.start", job_id="inside", pid=child.pid)
	wait_for(lambda: (top_of(shared, child.pid) or {}).get("job_id") == "inside")
	child.stdin.write("go\n")
	child.stdin.flush()
	assert "'job_id': 'inside'" in child.stdout.readline()
	shared.result("job.end", job_id="inside")


@pytest.mark.needs_root
def test_what_is_no_job_cannot_be_registered_as_one(daemon, children):
	"""Not even by root; and the answer names it and what to do."""
	shell = children.spawn(["sh", "-c", '"$0" run -- sleep 60 >&2 & echo $!; wait', daemon.proctor.binary], stdout=subprocess.PIPE, text=True,
			       env={**daemon.proctor.env, **SANITIZERS})
	recorder = int(shell.stdout.readline())  # no child of ours, which could be a command that we record
	wait_for(lambda: Path("/proc/%d/comm" % recorder).read_text(encoding="ascii").startswith("proctor"))
	kernel = kernel_thread()
	for pid, word in ((1, "process 1 is the parent of all"), (kernel, "is a kernel thread"), (daemon.process.pid, "is this proctor itself"),
			  (recorder, ") is proctor's own")):
		for more in ({}, {"has_recorder": True}):
			error = daemon.call("job.start", job_id="no", pid=pid, **more)["error"]
			assert error["data"]["code"] == "invalid_params" and word in error["message"] and "give the pid" in error["message"], error
	daemon.result("job.start", job_id="conducted")
	for pid in (1, kernel, daemon.process.pid):
		assert daemon.call("sheet.started", job_id="conducted", pid=pid)["error"]["data"]["code"] == "invalid_params"
	assert [job["job_id"] for job in daemon.result("job.list")["jobs"] if job["job_id"] == "no"] == []
	assert daemon.call("job.start", NOBODY, job_id="no", pid=1)["error"]["data"]["code"] == "permission_denied"


@pytest.mark.parametrize("signo", [signal.SIGTERM, signal.SIGKILL])
def test_the_curve_of_a_job_goes_on_after_a_restart(daemon, children, signo):
	burn = "sh -c 'i=0; while [ $((i += 1)) -le 200000 ]; do :; done; echo; exec sleep 61.25'"
	worker = children.spawn(["sh", "-c", "read go; %s & a=$!; sleep 61.5 & b=$!; sleep 61.75 & c=$!; read go; kill $a $b $c; wait" % burn], stdin=subprocess.PIPE,
				stdout=subprocess.PIPE)
	daemon.result("job.start", job_id="curve", pid=worker.pid)
	daemon.result("sheet.started", job_id="curve", sheet_num=1, pid=worker.pid)
	worker.stdin.write(b"\n")
	worker.stdin.flush()
	assert worker.stdout.readline() == b"\n"
	samples = "SELECT (SELECT count(*) FROM job_samples WHERE snapshot_id) AS shown, (SELECT count(*) FROM job_sample) AS stored"
	count = lambda: read_store(daemon.proctor.state_dir, samples)[0]
	wait_for(lambda: count()["stored"] >= 2)
	daemon.stop(signo)
	daemon.start()
	row = wait_for(lambda: (row := count())["stored"] >= 4 and row)
	assert row["shown"] == row["stored"]
	before = resource.getrusage(resource.RUSAGE_CHILDREN)
	worker.communicate(b"\n", timeout=60)
	after = resource.getrusage(resource.RUSAGE_CHILDREN)
	daemon.result("sheet.completed", job_id="curve", sheet_num=1)
	daemon.result("job.end", job_id="curve", exit_code=0)
	wait_for(lambda: stored(daemon, "curve")[0]["status"] == "completed")
	row = count()
	assert row["shown"] == row["stored"] >= 4
	sheet, = read_store(daemon.proctor.state_dir, "SELECT processes, cpu_seconds FROM sheets")
	used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
	assert sheet["processes"] == 4 and abs(sheet["cpu_seconds"] - used) < 0.05, (sheet, used)


@pytest.mark.parametrize("key", ["", "k\n", "a b", "x" * 65])
def test_tags_need_a_plain_key(daemon, children, key):
	answer = daemon.call("job.start", job_id="tagged", pid=children.spawn(["sleep", "60"]).pid, tags={"good": "1", key: "v"})
	assert answer["error"]["data"]["code"] == "invalid_params" and "tag '" in answer["error"]["message"], answer
	assert "tagged" not in jobs_of(daemon)


def test_the_time_of_a_lost_job_is_a_lower_bound_in_diff(daemon, children):
	for job_id in ("whole", "cut"):
		worker = children.spawn(["sleep", "60"])
		daemon.result("job.start", job_id=job_id, pid=worker.pid)
		wait_for(lambda job_id=job_id: read_store(daemon.proctor.state_dir, "SELECT 1 FROM job_samples WHERE snapshot_id AND job_id = '%s'" % job_id))
		if job_id == "whole":
			daemon.result("job.end", job_id=job_id, exit_code=0)
	daemon.stop(signal.SIGKILL)
	worker.kill()
	worker.wait()
	daemon.start()
	assert stored(daemon, "cut")[0]["status"] == "lost"
	took = json.loads(daemon.proctor("diff", "whole", "cut", "--json").stdout)["figures"]["duration_seconds"]
	assert took["quality"] == ["exact", "at_least"]
	done = daemon.proctor("diff", "whole", "cut", "--fail-if", "time<100x", "--json")
	assert json.loads(done.stdout)["conditions"][0]["met"] is None


READ_LOCKS = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 123, 5, 0)  # of SQLite's WAL index: who reads the store has one of five


@contextlib.contextmanager
def store_unreadable(state_dir):
	"""Who begins to read the store meanwhile waits, as for another program that holds it up."""
	with open(state_dir / "proctor.db-shm", "r+b") as index:
		fcntl.fcntl(index, 38, READ_LOCKS)  # F_OFD_SETLKW
		yield


def test_a_store_that_is_held_up_keeps_only_those_waiting_who_need_it(daemon):
	with daemon.line() as starter, daemon.line() as other:
		assert "result" in starter.call("job.start", job_id="early")
		with store_unreadable(daemon.proctor.state_dir):
			starter.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "job.start", "params": {"job_id": "early.then"}}) + "\n")
			took = []
			for _ in range(20):
				began = time.monotonic()
				assert "result" in other.call("daemon.status")
				took.append(time.monotonic() - began)
				time.sleep(0.05)
			assert max(took) < 0.5, took  # it had waited for 2 s
			assert not select.select([starter.socket], [], [], 0)[0]
		answer = starter.read()
		assert answer["result"]["job_id"] == "early.then", answer


def test_one_id_that_is_asked_for_twice_at_once_is_given_once(daemon):
	with daemon.line() as one, daemon.line() as two:
		for line in (one, two):
			line.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "job.start", "params": {"job_id": "twin"}}) + "\n")
		answers = [line.read() for line in (one, two)]
	assert sorted("result" in answer for answer in answers) == [False, True]


def claim_as_run_does(daemon, job_id):
	"""The id of a job whose command has not started: its row has no start yet."""
	store = sqlite3.connect(daemon.proctor.state_dir / "proctor.db", timeout=60)
	store.execute("INSERT INTO job(job_id, uid, type, recorder, status) VALUES(?, ?, '', 0, 0)", (job_id, os.geteuid()))
	store.commit()
	store.close()


def test_an_id_that_a_run_has_claimed_is_not_given_to_another_job(daemon):
	daemon.wait_ticks()
	claim_as_run_does(daemon, "claimed")
	assert daemon.result("job.start", job_id="claimed")["job_id"] == "claimed.2"


def test_an_id_of_a_job_that_could_not_start_is_still_free(daemon, children):
	worker = children.spawn(["sleep", "60"])
	daemon.result("job.start", job_id="first", pid=worker.pid)
	assert "error" in daemon.call("job.start", job_id="second", pid=worker.pid)
	assert daemon.result("job.start", job_id="second")["job_id"] == "second"
