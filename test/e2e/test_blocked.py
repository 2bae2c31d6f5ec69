# SPDX-License-Identifier: MIT
"""What the processes of a running job wait for, as `report` shows it; as root and as a plain user."""
import json
import pwd

import pytest

from conftest import wait_for
from daemonkit import cold, daemon  # noqa: F401 pylint: disable=unused-import
from runkit import SANITIZERS

NOBODY = 65534

# One child for each thing that a process can wait for. Prints {thing: pid}, and what is at the other end.
WAITERS = """
import fcntl, json, multiprocessing, os, socket, subprocess, threading, time
pids = {"self": os.getpid()}

def child(name, what):
	pids[name] = os.fork()
	if pids[name] == 0:
		what()
		os._exit(0)

def connect():
	socket.create_connection(server.getsockname()).recv(1)

def lock_file():
	with open("locked", "w") as mine:
		fcntl.flock(mine, fcntl.LOCK_EX)

def wait_in_threads():
	lock = threading.Lock()
	lock.acquire()
	for i in range(3):
		threading.Thread(target=lock.acquire).start()
	lock.acquire()

ours, theirs = socket.socketpair()
child("unix", lambda: (theirs.close(), ours.recv(1)))
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
child("tcp", connect)
accepted = server.accept()
shared = multiprocessing.Lock()
shared.acquire()
child("shared", shared.acquire)
child("sharer", shared.acquire)
child("timer", lambda: time.sleep(60))
held = open("locked", "w")
fcntl.flock(held, fcntl.LOCK_EX)
child("file", lock_file)
child("threads", wait_in_threads)
child("busy", lambda: [None for _ in iter(int, 1)])
source = subprocess.Popen(["sleep", "60"], stdout=subprocess.PIPE)
sink = subprocess.Popen(["cat"], stdin=source.stdout)
source.stdout.close()
pids.update(source=source.pid, pipe=sink.pid, port=server.getsockname()[1])
with open("pids.new", "w") as to:
	json.dump(pids, to)
os.rename("pids.new", "pids")
os.waitpid(pids["timer"], 0)
"""


@pytest.fixture(params=["root", "nobody"])
def waiting(request, children, tmp_path):
	"""The pids of WAITERS, and report() of the job that runs them."""
	if request.param == "root":
		runner, place, who = request.getfixturevalue("run"), tmp_path, {}
		env, proctor = runner.env, runner.proctor
	else:
		proctor = request.getfixturevalue("as_nobody")
		nobody = pwd.getpwnam("nobody")
		place, env = proctor.place, {**proctor.env, **SANITIZERS}
		who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
	binary = proctor.binary if request.param == "root" else str(proctor.place / "proctor")
	children.spawn([binary, "run", "-q", "--interval", "0.1", "--time", "50", "--", "/usr/bin/python3", "-c", WAITERS], cwd=place, env=env, **who)
	pids = json.loads(wait_for(lambda: (place / "pids").exists() and (place / "pids").read_text(encoding="ascii")))

	def report(*options):
		return proctor("report", *options).stdout

	def blocked():
		"""By pid, once they all wait."""
		text = report("--json")
		found = {b["pid"]: b for b in json.loads(text)["blocked"]} if text else {}
		wanted = {pid for name, pid in pids.items() if name not in ("busy", "port", "self")}
		threads = found.get(pids["threads"], {"threads": 0, "other_threads": 0})
		return found if wanted <= set(found) and threads["threads"] + threads["other_threads"] == 4 else None

	return pids, wait_for(blocked), report


def test_report_shows_what_each_process_of_a_running_job_waits_for(waiting):
	pids, blocked, report = waiting

	def of(name, *keys):
		return tuple(blocked[pids[name]][key] for key in keys)

	assert of("pipe", "call", "on", "direction", "fd", "peer_pid", "peer_name") == ("read", "pipe", "read", 0, pids["source"], "sleep")
	assert of("unix", "call", "on", "peer_pid") == ("recvfrom", "socket", pids["self"])
	assert of("tcp", "on", "target", "peer_pid") == ("socket", "127.0.0.1:%d" % pids["port"], pids["self"])
	assert of("timer", "call", "on") == ("clock_nanosleep", "timer")
	assert of("file", "call", "on") == ("flock", "file") and of("file", "target")[0].endswith("/locked")
	assert of("self", "call", "on", "peer_pid", "peer_name") == ("wait4", "child", pids["timer"], "python3")
	assert of("shared", "call", "on", "peer_pid") == ("futex", "lock", pids["sharer"])
	assert of("shared", "target") == of("sharer", "target")
	assert of("threads", "on", "peer_pid") == ("lock", None)
	assert all(b["wchan"] and b["state"] == "S" for b in blocked.values()), blocked
	# The kernel forgets it for a moment when it moves a process to another CPU.
	assert all(b["seconds"] is None or 0 <= b["seconds"] < 60 for b in blocked.values()), blocked
	assert any(b["seconds"] is not None for b in blocked.values()), blocked
	assert pids["busy"] not in blocked
	screen = report()
	assert "Waiting now" in screen and "read on a pipe from sleep %d" % pids["source"] in screen, screen




def test_context_get_shows_what_a_process_waits_for_to_those_who_may_trace_it(daemon, children):  # pylint: disable=redefined-outer-name
	mine = children.spawn(["sleep", "60"])
	theirs = children.spawn(["sleep", "60"], user=NOBODY, group=NOBODY)
	daemon.wait_ticks(2)
	waits = daemon.result("context.get", pid=mine.pid)["blocked"]
	assert (waits["call"], waits["on"], waits["name"]) == ("clock_nanosleep", "timer", "sleep")
	with daemon.line(NOBODY) as line:
		assert line.call("context.get", pid=theirs.pid)["result"]["blocked"]["call"] == "clock_nanosleep"
		assert line.call("context.get", pid=mine.pid)["result"]["blocked"] is None
	assert "blocked" not in daemon.result("context.get")


def test_the_daemon_reports_what_a_registered_job_waits_for(daemon, children):  # pylint: disable=redefined-outer-name
	worker = children.spawn(["sleep", "60"], user=NOBODY, group=NOBODY)
	daemon.result("job.start", job_id="waits", pid=worker.pid)

	def blocked():
		with daemon.line(NOBODY) as line:
			return line.call("job.report", job_id="waits").get("result", {"report": {"blocked": []}})["report"]["blocked"]

	assert wait_for(blocked)[0]["pid"] == worker.pid
