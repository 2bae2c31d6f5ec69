# SPDX-License-Identifier: MIT
"""What the processes of a running job wait for, as `report` shows it; as root and as a plain user."""
import json
import pwd
import re

import pytest

from conftest import wait_for
from daemonkit import cold, daemon  # noqa: F401 pylint: disable=unused-import
from runkit import SANITIZERS

NOBODY = 65534

# One child for each thing that a process can wait for. Prints {thing: pid}, and what is at the other end.
WAITERS = """
import ctypes, fcntl, json, mmap, multiprocessing, os, select, signal, socket, subprocess, threading, time
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

def one_poll():
	poll = select.poll()
	poll.register(mine, select.POLLIN)
	poll.poll()

def one_epoll():
	epoll = select.epoll()
	epoll.register(mine, select.EPOLLIN)
	epoll.poll()

def mutex(kind):
	libc, memory = ctypes.CDLL(None), mmap.mmap(-1, 4096)
	one, attributes = ctypes.c_char.from_buffer(memory), ctypes.create_string_buffer(64)
	libc.pthread_mutexattr_init(attributes)
	libc.pthread_mutexattr_setpshared(attributes, 1)
	getattr(libc, "pthread_mutexattr_set" + kind)(attributes, 1)
	libc.pthread_mutex_init(ctypes.byref(one), attributes)
	libc.pthread_mutex_lock(ctypes.byref(one))
	child(kind, lambda: libc.pthread_mutex_lock(ctypes.byref(one)))
	return one

def pair():
	lock = multiprocessing.Lock()
	lock.acquire()
	child("lone", lock.acquire)
	with open("lone", "w") as to:
		to.write(str(pids["lone"]))
	signal.pause()

mine, other = os.pipe()
os.mkfifo("fifo")
child("poll", one_poll)
child("epoll", one_epoll)
child("select", lambda: select.select([mine], [], []))
more = [os.pipe() for _ in range(3)]
child("several", lambda: select.select([mine] + [one for one, _ in more], [], []))
child("fifo", lambda: open("fifo"))
child("sleeper", lambda: select.select([], [], [], 60))
held = [mutex("protocol"), mutex("robust")]
child("pair", pair)
while not os.path.exists("lone") or not open("lone").read():
	time.sleep(0.01)
pids["lone"] = int(open("lone").read())
ours, theirs = socket.socketpair()
child("unix", lambda: (theirs.close(), ours.recv(1)))
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
child("tcp", connect)
listener = socket.socket(socket.AF_UNIX)
listener.bind("listener")
listener.listen()
child("listener", listener.accept)
accepted = server.accept()
child("server", server.accept)
datagrams = socket.socket(type=socket.SOCK_DGRAM)
datagrams.bind(("127.0.0.1", 0))
pids["datagram port"] = datagrams.getsockname()[1]
child("datagrams", lambda: datagrams.recv(1))
shared = multiprocessing.Lock()
shared.acquire()
child("shared", shared.acquire)
child("sharer", shared.acquire)
child("timer", lambda: time.sleep(60))
locked = open("locked", "w")
fcntl.flock(locked, fcntl.LOCK_EX)
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
		runner, place, user = request.getfixturevalue("run"), tmp_path, {}
		env, proctor = runner.env, runner.proctor
	else:
		proctor = request.getfixturevalue("as_nobody")
		nobody = pwd.getpwnam("nobody")
		place, env = proctor.place, {**proctor.env, **SANITIZERS}
		user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
	binary = proctor.binary if request.param == "root" else str(proctor.place / "proctor")
	children.spawn([binary, "run", "-q", "--interval", "0.1", "--time", "50", "--", "/usr/bin/python3", "-c", WAITERS], cwd=place, env=env, **user)
	pids = json.loads(wait_for(lambda: (place / "pids").exists() and (place / "pids").read_text(encoding="ascii")))

	def report(*options):
		return proctor("report", *options).stdout

	def blocked():
		"""By pid, once they all wait."""
		text = report("--json")
		found = {b["pid"]: b for b in json.loads(text)["blocked"]} if text else {}
		wanted = {pid for name, pid in pids.items() if name not in ("busy", "port", "datagram port", "self")}
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
	assert of("server", "on", "target", "peer_pid") == ("socket", "127.0.0.1:%d" % pids["port"], None)
	assert of("datagrams", "on", "target", "peer_pid") == ("socket", "127.0.0.1:%d" % pids["datagram port"], None)
	assert of("timer", "call", "on") == ("clock_nanosleep", "timer")
	assert of("file", "call", "on") == ("flock", "file") and of("file", "target")[0].endswith("/locked")
	assert of("self", "call", "on", "peer_pid", "peer_name") == ("wait4", "child", pids["timer"], "python3")
	assert of("shared", "call", "on", "peer_pid") == ("futex", "lock", None) and of("shared", "sharers")[0] > 1
	assert of("shared", "target") == of("sharer", "target")
	assert of("threads", "on", "peer_pid") == ("lock", None)
	for name in ("poll", "epoll", "select"):
		assert of(name, "on", "direction", "files", "peer_pid") == ("pipe", "read", 1, pids["self"]), blocked[pids[name]]
	assert of("several", "on", "files") == ("files", 4) and of("several", "target")[0].count(", ") == 2
	assert of("fifo", "call", "on") == ("openat", "file") and of("fifo", "target")[0].endswith("/fifo")
	assert of("sleeper", "on") == ("timer",)
	for kind in ("protocol", "robust"):
		assert of(kind, "on", "owner_tid", "peer_pid") == ("lock", pids["self"], pids["self"]), blocked[pids[kind]]
	assert of("lone", "on", "sharers", "peer_pid", "owner_tid") == ("lock", 1, pids["pair"], None)
	assert all(b["wchan"] and b["state"] == "S" for b in blocked.values()), blocked
	# The kernel forgets it for a moment when it moves a process to another CPU.
	assert all(b["seconds"] is None or 0 <= b["seconds"] < 60 for b in blocked.values()), blocked
	assert any(b["seconds"] is not None for b in blocked.values()), blocked
	assert pids["busy"] not in blocked
	screen = report()
	assert "Waiting now" in screen and "on a pipe from python3 %d" % pids["self"] in screen, screen
	assert re.search(r"accept4 on a socket at \S*listener", screen), screen
	assert "accept4 on a socket at 127.0.0.1:%d" % pids["port"] in screen and "recvfrom on a socket at 127.0.0.1:" in screen, screen


def test_context_get_shows_what_a_process_waits_for_to_users_that_may_trace_it(daemon, children):  # pylint: disable=redefined-outer-name
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
