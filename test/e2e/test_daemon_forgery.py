# SPDX-License-Identifier: MIT
"""What one user claims about jobs, processes and times, and what another, or root, is made to believe by it: nothing.
The attackers are two plain users; every method and every verb that takes the id of a job is tried."""
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from conftest import read_store
from daemonkit import Daemon
from runkit import wait_for

ATTACKER, VICTIM = 65534, (1 << 30) + os.getpid()  # the second user has nothing else on this machine
YEAR_2508 = 16987456000
pytestmark = pytest.mark.needs_root


@pytest.fixture(scope="module")
def world():
	daemon = Daemon().start()
	sleepers = []

	def spawn(uid, *words):
		command = words or ["sleep", "600"]
		sleepers.append(subprocess.Popen(command, user=uid, group=uid, extra_groups=[], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
		return sleepers[-1]

	try:
		daemon.spawn = spawn
		yield daemon
	finally:
		for child in sleepers:
			child.stdin.close()  # what it left behind reads that
			child.kill()
			child.wait()
			child.stdout.close()
		daemon.end()


def code(answer):
	return answer["error"]["data"]["code"] if "error" in answer else "ok"


def rows(world, text):
	return read_store(world.proctor.state_dir, text)


# Each with what it needs besides the id.
BY_ID = {
	"job.end": {"exit_code": 0}, "job.mark": {"name": "m"}, "job.phase": {"name": "p", "seconds": 1}, "sheet.started": {"sheet_num": 1},
	"sheet.completed": {"sheet_num": 1}, "sheet.failed": {"sheet_num": 1}, "bus.publish": {"event": "app.x"}, "job.report": {}, "job.profile": {},
}
NAMES = ("{id}", "0:{id}", "root:{id}", "{uid}:{id}", "00:{id}", ":{id}", " {id}", "{id} ", "*", "%", "{id}%", "", "{id}.2", "{ID}")


@pytest.mark.parametrize("method", BY_ID)
@pytest.mark.parametrize("owner", [0, VICTIM], ids=["root", "a user"])
def test_no_name_reaches_the_job_of_somebody_else(world, method, owner):
	job_id = "mine-%d-%s" % (owner, method)
	worker = world.spawn(owner)
	world.result("job.start", owner, job_id=job_id, pid=worker.pid)
	for name in NAMES:
		typed = name.format(id=job_id, ID=job_id.upper(), uid=owner)
		assert code(world.call(method, ATTACKER, job_id=typed, **BY_ID[method])) in ("not_found", "invalid_params"), typed
	listed, = [job for job in world.result("job.list", owner)["jobs"] if (job["job_id"], job["uid"]) == (job_id, owner)]
	assert (listed["status"], listed["sheets"]) == ("running", [])
	assert not rows(world, "SELECT name FROM recorder_events WHERE job_id = '%s'" % job_id)
	world.result("job.end", owner, job_id=job_id)


@pytest.mark.parametrize("method", BY_ID)
def test_a_bare_id_never_means_the_job_of_whoever_took_it_first(world, method):
	"""Root, and the user, act before their own job is there. Root may name the attacker's."""
	job_id = "deploy-%s" % method
	worker = world.spawn(ATTACKER)
	world.result("job.start", ATTACKER, job_id=job_id, pid=worker.pid)
	world.result("sheet.started", ATTACKER, job_id=job_id, sheet_num=1, pid=worker.pid)
	for uid in (0, VICTIM):
		assert code(world.call(method, uid, job_id=job_id, **BY_ID[method])) == "not_found"
	assert "other users have: %d:%s" % (ATTACKER, job_id) in world.call(method, job_id=job_id, **BY_ID[method])["error"]["message"]
	assert code(world.call(method, job_id="%d:%s" % (ATTACKER, job_id), **({"pid": worker.pid} if method == "sheet.started" else BY_ID[method]))) == "ok"


def test_many_jobs_of_one_id_take_it_from_nobody(world):
	def call(number, method):
		return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": {"job_id": "deploy-7%s" % (".%d" % number if number > 1 and method == "job.end" else "")}}) + "\n"

	with world.line(ATTACKER) as line:
		for number in range(1, 21):
			line.send(call(number, "job.start") + call(number, "job.end"))
		names = [line.read()["result"]["job_id"] for _ in range(40)]
	assert names[::2] == names[1::2] == ["deploy-7"] + ["deploy-7.%d" % number for number in range(2, 21)]
	assert world.result("job.start", job_id="deploy-7", pid=world.spawn(0).pid)["job_id"] == "deploy-7"
	assert world.result("job.end", job_id="deploy-7")["uid"] == 0


def test_a_new_name_is_reported(world):
	"""The id of one's own earlier job: by the daemon in its answer, by run on stderr."""
	for number in ("", ".2"):
		worker = world.spawn(VICTIM)
		answer = world.result("job.start", VICTIM, job_id="again", pid=worker.pid)
		assert (answer["job_id"], answer["uid"]) == ("again%s" % number, VICTIM)
		world.result("job.end", VICTIM, job_id=answer["job_id"])
	world.result("job.start", ATTACKER, job_id="deploy-8", pid=world.spawn(ATTACKER).pid, has_recorder=True)
	for number in ("", ".2"):
		done = world.proctor("run", "--job-id", "deploy-8", "--", "true")
		assert (done.returncode, "deploy-8.2" in done.stderr) == (0, number == ".2"), done.stderr
	assert {row["job_id"] for row in rows(world, "SELECT job_id FROM jobs WHERE uid = 0 AND job_id LIKE 'deploy-8%'")} == {"deploy-8", "deploy-8.2"}


def test_a_subscriber_hears_of_its_own_job_only(world):
	"""The attacker has the id first, and ends its job; the subscribers wait for theirs."""
	world.result("job.start", ATTACKER, job_id="deploy-9", pid=world.spawn(ATTACKER).pid, has_recorder=False)
	with world.line() as bus, world.line() as monitor, world.line(VICTIM) as victim:
		assert "result" in bus.call("bus.subscribe", job_id="deploy-9", filter="job.") and "result" in victim.call("bus.subscribe", job_id="deploy-9", filter="job.")
		monitor.send('{"jsonrpc":"2.0","id":1,"method":"daemon.monitor.stream","params":{"job_id":"deploy-9"}}\n')
		world.result("job.mark", ATTACKER, job_id="deploy-9", name="forged")
		world.result("job.end", ATTACKER, job_id="deploy-9", exit_code=0)
		for uid in (VICTIM, 0):
			world.result("job.start", uid, job_id="deploy-9", pid=world.spawn(uid).pid)
			world.result("job.end", uid, job_id="deploy-9", exit_code=3)
		for line, uid in ((bus, 0), (monitor, 0), (victim, VICTIM)):
			event = {"event": ""}
			while event["event"] != "job.failed":
				event = line.read()["params"]
				assert (event["job_uid"], event["uid"] if event["event"].startswith("job.") else uid) == (uid, uid), event


def test_every_event_names_its_user_and_root_may_filter_by_it(world):
	with world.line() as everything, world.line() as of_attacker, world.line(VICTIM) as victim:
		for line, params in ((everything, {"filter": "app.who"}), (of_attacker, {"filter": "app.who", "uid": ATTACKER}), (victim, {"filter": "app.who", "uid": ATTACKER})):
			assert "result" in line.call("bus.subscribe", **params)
		for uid in (VICTIM, ATTACKER, 0):
			world.result("bus.publish", uid, event="app.who", data={"uid": 0, "job_uid": 0})
		events = [everything.read()["params"] for _ in range(3)]
		assert [(event["uid"], "job_uid" in event) for event in events] == [(VICTIM, False), (ATTACKER, False), (0, False)]
		assert of_attacker.read()["params"]["uid"] == ATTACKER
		assert code(victim.call("daemon.health")) == "ok"  # and no event came before the answer: it sees nothing of others
	with world.line() as line:
		line.call("bus.subscribe", filter="app.mine")
		world.result("job.start", VICTIM, job_id="theirs", pid=world.spawn(VICTIM).pid)
		world.result("bus.publish", event="app.mine", job_id="%d:theirs" % VICTIM)
		event = line.read()["params"]
		assert (event["job_id"], event["job_uid"], event["uid"]) == ("theirs", VICTIM, 0)


@pytest.mark.parametrize("name", ["job.completed", "process.exit", "sheet.started", "monitor.anomaly", "daemon.top", "bus.lagged", "job.", "job.completed\n", "job.completed "])
def test_nobody_publishes_events_of_the_system(world, name):
	assert code(world.call("bus.publish", ATTACKER, event=name)) in ("permission_denied", "invalid_params")


@pytest.mark.parametrize("name", ["0:deploy-7", "root:deploy-7", "65534:x", ":x", "x:", "last", "last~1", "-x", "a b", "a\x1b[2J", "a/b", "", "a" * 97, "\u202ex"])
def test_an_id_cannot_look_like_the_job_of_somebody_else(world, name):
	assert code(world.call("job.start", ATTACKER, job_id=name, pid=world.spawn(ATTACKER).pid)) == "invalid_params"
	if ":" in name:
		done = world.proctor("run", "--job-id", name, "--", "true")
		assert done.returncode == 125 and "an id has no ':'" in done.stderr


# ---- processes ---------------------------------------------------------------------------------

# A child of root's job, of the attacker's user, that has a child; both wait.
INSIDE = "import os,sys\nif os.fork() == 0:\n\tos.setgid(%d); os.setuid(%d)\n\tpid = os.fork()\n\tif pid: print(os.getpid(), pid, flush=True)\nsys.stdin.read()" % (ATTACKER, ATTACKER)


def of_job(world, job_id):
	return {p["pid"] for p in world.result("daemon.top")["processes"] if (p["job_id"], p.get("job_uid")) == (job_id, 0)}


@pytest.mark.parametrize("way", ["job.start", "has_recorder", "sheet.started", "sheet of a recorder"])
def test_a_member_of_another_users_job_cannot_leave_it(world, way):
	outer = world.spawn(0, "/usr/bin/python3", "-c", INSIDE)
	job_id = "holds-%s" % way.replace(" ", "-")
	world.result("job.start", job_id=job_id, pid=outer.pid)
	inner = [int(word) for word in outer.stdout.readline().split()]
	members = {outer.pid, *inner}
	with world.line(ATTACKER) as line:
		for pid in inner:
			if way == "job.start":
				assert code(line.call("job.start", job_id="thief", pid=pid)) == "conflict"
			elif way == "sheet.started":
				line.call("job.start", job_id="thief-sheets")
				assert code(line.call("sheet.started", job_id="thief-sheets", pid=pid)) == "conflict"
			else:  # known as its recorder reports it, without the process
				line.call("job.start", job_id="thief-r%d" % pid, pid=pid, has_recorder=True)
				if way != "has_recorder":
					assert code(line.call("sheet.started", job_id="thief-r%d" % pid, pid=pid)) == "ok"
		world.wait_ticks()
		assert of_job(world, job_id) == members
	stored = wait_for(lambda: (lambda found: len(found) == 3 and found)(rows(
		world, "SELECT p.pid FROM process p JOIN job j ON j.id = p.job WHERE j.job_id = '%s'" % job_id)))
	assert {row["pid"] for row in stored} == members
	# With the job's end they are free again; root may always take them.
	world.result("job.end", job_id=job_id)
	assert code(world.call("job.start", ATTACKER, job_id="free-%d" % inner[0], pid=inner[0])) == "ok"


def test_root_takes_a_process_out_of_a_users_job(world):
	worker = world.spawn(ATTACKER)
	shell = world.spawn(VICTIM, "sh", "-c", "sleep 600 & echo $!; read go")
	world.result("job.start", VICTIM, job_id="shell", pid=shell.pid)
	inner = int(shell.stdout.readline())
	assert world.result("job.start", job_id="roots-choice", pid=inner)["uid"] == VICTIM
	assert world.result("job.start", job_id="other", pid=worker.pid)["uid"] == ATTACKER
	for name, word in (("other", "not_found"), ("%d:other" % ATTACKER, "ok")):
		assert code(world.call("job.end", job_id=name)) == word


def test_no_claim_of_a_recorder_keeps_processes_out_of_the_store(world):
	database = os.stat(world.proctor.state_dir / "proctor.db")
	worker = world.spawn(ATTACKER, "sleep", "601.25")
	with world.line(ATTACKER) as line:
		for place in ({}, {"store_device": database.st_dev, "store_inode": database.st_ino}):
			line.call("job.start", job_id="elsewhere", pid=worker.pid, has_recorder=True, **place)
		world.wait_ticks(2)
		row, = rows(world, "SELECT p.pid, j.job_id, j.uid FROM process p JOIN job j ON j.id = p.job WHERE p.command = 'sleep 601.25'")
		assert row == {"pid": worker.pid, "job_id": "elsewhere", "uid": ATTACKER}
		line.call("job.end", job_id="elsewhere", exit_code=0, stored=True)
	assert wait_for(lambda: world.result("process.history", pid=worker.pid)["points"])


# ---- times and parents -------------------------------------------------------------------------

@pytest.mark.parametrize("recorder", [False, True], ids=["registered", "with a recorder"])
def test_a_job_begins_neither_in_the_future_nor_before_its_process(world, recorder):
	roots = world.spawn(0)
	world.result("job.start", job_id="roots-own-%d" % recorder, pid=roots.pid)
	before = time.time() - 0.02  # the start of a process is rounded down
	with world.line(ATTACKER) as line:
		for number, claimed in enumerate((YEAR_2508, time.time() + 3600, 1, 0.5, time.time() - 86400)):
			job_id = "when-%d-%d" % (recorder, number)
			line.call("job.start", job_id=job_id, pid=world.spawn(ATTACKER).pid, started_at=claimed, has_recorder=recorder)
			job, = [job for job in world.result("job.list")["jobs"] if job["job_id"] == job_id]
			assert before <= job["started_at"] <= time.time(), (claimed, job["started_at"])
			stored, = rows(world, "SELECT started FROM jobs WHERE job_id = '%s'" % job_id)
			assert abs(stored["started"] - job["started_at"]) < 0.001
	world.result("job.start", job_id="roots-last-%d" % recorder, pid=world.spawn(0).pid)
	assert json.loads(world.proctor("ls", "--json", "-n", "1").stdout)["jobs"][0]["job_id"] == "roots-last-%d" % recorder
	assert world.result("job.list", recorded=1)["jobs"][0]["job_id"] == "roots-last-%d" % recorder


def test_a_job_without_a_process_begins_with_the_process_that_registered_it(world):
	began = time.time()
	call = "import json,socket,sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n" \
		"for n, at in enumerate((1, %d)):\n\ts.sendall(json.dumps({'jsonrpc': '2.0', 'id': n, 'method': 'job.start', 'params': {'job_id': 'bare-%%d' %% n, 'started_at': at}}).encode() + b'\\n')\n" \
		"print(s.makefile().readline(), end='', flush=True)\nsys.stdin.read()" % YEAR_2508
	os.chmod(world.socket, 0o666)
	child = world.spawn(ATTACKER, "/usr/bin/python3", "-c", call, str(world.socket))
	assert "result" in json.loads(child.stdout.readline())
	jobs = wait_for(lambda: (lambda found: len(found) == 2 and found)([job for job in world.result("job.list")["jobs"] if job["job_id"] in ("bare-0", "bare-1")]))
	assert all(began - 0.02 <= job["started_at"] <= time.time() for job in jobs), jobs


def test_times_of_sheets_marks_and_ends_lie_in_the_life_of_the_job(world):
	worker = world.spawn(ATTACKER)
	with world.line(ATTACKER) as line:
		line.call("job.start", job_id="hours", pid=worker.pid, has_recorder=True)
		for number, claimed in enumerate((YEAR_2508, 1), 1):
			assert code(line.call("sheet.started", job_id="hours", sheet_num=number, started_at=claimed)) == "ok"
			assert code(line.call("job.mark", job_id="hours", name="m%d" % number, at=claimed)) == "ok"
		job, = [job for job in world.result("job.list", ATTACKER)["jobs"] if job["job_id"] == "hours"]
		assert all(job["started_at"] <= sheet["started_at"] <= time.time() for sheet in job["sheets"]) and len(job["sheets"]) == 2
		assert code(line.call("job.end", job_id="hours", exit_code=0, ended_at=YEAR_2508)) == "ok"
	marks = wait_for(lambda: (lambda found: len(found) == 2 and found)(rows(world, "SELECT timestamp AS at FROM recorder_events WHERE job_id = 'hours' AND event_type = 'mark'")))
	row, = wait_for(lambda: rows(world, "SELECT started, ended FROM jobs WHERE job_id = 'hours' AND ended IS NOT NULL"))
	assert row["started"] <= row["ended"] <= time.time() and all(row["started"] <= mark["at"] <= time.time() for mark in marks)


def test_a_parent_is_an_own_job_whatever_is_claimed(world):
	outer = world.spawn(0, "/usr/bin/python3", "-c", INSIDE)
	world.result("job.start", job_id="night", pid=outer.pid)
	inside = int(outer.stdout.readline().split()[0])
	for number, name in enumerate(("night", "0:night", "root:night")):
		for recorder in (False, True):
			with world.line(ATTACKER) as line:
				answer = line.call("job.start", job_id="liar-%d-%d" % (number, recorder), parent_job_id=name, pid=world.spawn(ATTACKER).pid, has_recorder=recorder)
				assert code(answer) == "ok"
	stored = rows(world, "SELECT DISTINCT parent AS id, parent_uid AS uid FROM jobs WHERE job_id LIKE 'liar-%' ORDER BY parent_uid")
	assert stored == [{"id": None, "uid": None}, {"id": "night", "uid": ATTACKER}]
	assert {job["parent_job_id"] for job in world.result("job.list")["jobs"] if job["job_id"].startswith("liar-")} == {None, "night"}
	assert world.result("job.list", recorded=100, parent_job_id="night")["jobs"] == []
	assert json.loads(world.proctor("ls", "--json", "--parent", "night").stdout)["jobs"] == []
	assert os.path.exists("/proc/%d" % inside)


# ---- who asks ----------------------------------------------------------------------------------

def test_root_in_a_user_namespace_is_its_user_outside(world):
	worker = world.spawn(0)
	world.result("job.start", job_id="outside", pid=worker.pid)
	ask = "import json,socket,sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\ns.sendall(sys.stdin.readline().encode())\nprint(s.makefile().readline(), end='', flush=True)\n"
	for method, params in (("job.end", {"job_id": "outside"}), ("job.end", {"job_id": "0:outside"}), ("job.start", {"job_id": "taken", "pid": worker.pid})):
		child = world.spawn(ATTACKER, "unshare", "--user", "--map-root-user", "/usr/bin/python3", "-c", ask, str(world.socket))
		child.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
		child.stdin.flush()
		answer = child.stdout.readline()
		assert code(json.loads(answer)) in ("not_found", "permission_denied"), answer
	assert [job["status"] for job in world.result("job.list")["jobs"] if job["job_id"] == "outside"] == ["running"]


def test_a_command_of_root_inherits_no_connection_to_the_daemon(world):
	done = world.proctor("run", "-q", "--", "sh", "-c", "ls -l /proc/self/fd")
	assert done.returncode == 0 and "socket:" not in done.stdout, done.stdout


@pytest.mark.parametrize("program", ["su", "passwd", "newgrp"])
def test_a_set_user_id_program_is_nobodys_to_register(world, program):
	path = next((path for path in (Path("/usr/bin") / program, Path("/bin") / program) if path.exists() and path.stat().st_mode & 0o4000), None)
	if not path:
		path = world.place / program
		path.write_bytes(Path("/bin/sleep").read_bytes())
		path.chmod(0o4755)
	child = world.spawn(ATTACKER, str(path), *(["600"] if path.parent == world.place else []))
	wait_for(lambda: os.stat("/proc/%d" % child.pid).st_uid == 0)
	assert code(world.call("job.start", ATTACKER, job_id="setuid", pid=child.pid)) == "permission_denied"


# ---- verbs -------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def twins(world):
	"""A job of root's, and a newer one of the attacker's by the same id; each has one inside."""
	for job_id, parent in (("twin", None), ("twin-inside", "twin")):
		done = world.proctor("run", "-q", "--job-id", job_id, "--", "sh", "-c", "exit 3", env={"PROCTOR_JOB_ID": parent} if parent else {})
		assert done.returncode == 3
	for job_id, more in (("twin", {}), ("twin-attacker", {"parent_job_id": "twin"})):
		world.result("job.start", ATTACKER, job_id=job_id, job_type="attacker", command="attacker", tags={"who": "attacker"}, pid=world.spawn(ATTACKER).pid, **more)
		world.result("job.mark", ATTACKER, job_id=job_id, name="attacker")
	world.wait_ticks()
	return world


@pytest.mark.parametrize("name", ["twin", "0:twin", "root:twin"])
@pytest.mark.parametrize("verb", [["report"], ["report", "--json"], ["events"], ["why"], ["export", "--format", "jsonl"], ["syscalls"], ["rm", "--dry-run"],
				  ["ls", "--parent"], ["diff", "twin-inside"]], ids=" ".join)
def test_every_verb_takes_the_readers_own_job(twins, verb, name):
	done = twins.proctor(*verb, name)
	shown = done.stdout + done.stderr
	assert done.returncode == 0 or verb == ["syscalls"], shown
	assert "attacker" not in shown and str(ATTACKER) not in shown and "nobody" not in shown, shown


def test_the_job_of_another_user_is_shown_with_its_user(twins):
	for verb in (["report", "nobody:twin"], ["ls"], ["report", "twin-attacker"]):
		assert "nobody" in twins.proctor(*verb).stdout, verb
	assert [job["uid"] for job in json.loads(twins.proctor("ls", "--json").stdout)["jobs"] if job["job_id"] == "twin"] == [ATTACKER, 0]
	assert twins.call("job.report", job_id="twin")["result"]["report"]["job"]["exit_code"] == 3
	assert twins.call("job.report", job_id="nobody:twin")["result"]["report"]["job"]["job_type"] == "attacker"
