# SPDX-License-Identifier: MIT
"""Where the state lives, and what is reported when it cannot."""
import json
import os
import pathlib
import socket
import sqlite3
import stat
import subprocess

import pytest

RECORD = ["record", "--for", "0.3s", "--interval", "0.1"]


def test_the_option_counts_more_than_the_environment(proctor, tmp_path):
	done = proctor(*RECORD, "--state-dir", "here", cwd=tmp_path)
	assert done.returncode == 0, done.stderr
	assert (tmp_path / "here/proctor.db").exists()
	assert not proctor.state_dir.exists()


def test_systemd_may_name_it(proctor, tmp_path):
	proctor.env.pop("PROCTOR_STATE_DIR")
	done = proctor(*RECORD, env={"STATE_DIRECTORY": "%s/one:%s/two" % (tmp_path, tmp_path)})
	assert done.returncode == 0, done.stderr
	assert (tmp_path / "one/proctor.db").exists()


def test_it_is_for_its_owner(proctor):
	assert proctor(*RECORD).returncode == 0
	mode = stat.S_IMODE(proctor.state_dir.stat().st_mode)
	assert mode == (0o750 if os.geteuid() == 0 else 0o700)
	assert not stat.S_IMODE((proctor.state_dir / "proctor.db").stat().st_mode) & 0o007


@pytest.mark.needs_root
def test_a_user_has_a_private_state_directory(as_nobody):
	as_nobody.env.pop("PROCTOR_STATE_DIR")
	done = as_nobody(*RECORD, env={"XDG_STATE_HOME": "relative/is/ignored"})
	assert done.returncode == 0, done.stderr
	assert (as_nobody.place / ".local/state/proctor/proctor.db").exists()
	done = as_nobody(*RECORD, env={"XDG_STATE_HOME": str(as_nobody.place / "xdg")})
	assert done.returncode == 0, done.stderr
	assert stat.S_IMODE((as_nobody.place / "xdg/proctor").stat().st_mode) == 0o700


@pytest.mark.needs_root
def test_a_place_that_cannot_be_written_is_reported_with_the_remedy(as_nobody, tmp_path):
	tmp_path.chmod(0o755)
	closed = as_nobody.place / "closed"
	closed.mkdir(mode=0o755)
	for place in (closed, closed / "deeper/still"):
		done = as_nobody(*RECORD, "--state-dir", place)
		assert (done.returncode, done.stdout) == (1, "")
		assert str(place) in done.stderr and "Permission denied" in done.stderr
		assert "--state-dir DIR or PROCTOR_STATE_DIR" in done.stderr
		assert done.stderr.count("\n") == 1
	report = as_nobody("doctor", "--state-dir", closed)
	assert report.returncode == 1 and "not usable: '%s' cannot be written: Permission denied" % closed in report.stdout


@pytest.mark.needs_root
def test_doctor_reports_a_directory_that_cannot_be_created(as_nobody):
	env = {"PROCTOR_STATE_DIR": "/nonexistent/state"}
	report = as_nobody("doctor", env=env)
	assert report.returncode == 1
	assert "not usable: '/nonexistent/state' cannot be created in '/': Permission denied" in report.stdout
	store = json.loads(as_nobody("doctor", "--json", env=env).stdout)["store"]
	assert store["state"] == "degraded" and "cannot be created" in store["note"]


NAMESPACE = ["unshare", "--user", "--map-root-user"]


class Homeless:
	"""A plain user, or root of a rootless container, with an environment of its own and without a directory that was named."""

	def __init__(self, as_nobody, inside):
		self.place, self.inside, self.uid = as_nobody.place, inside, 65534
		self.tmp = self.place / "tmp"
		self.tmp.mkdir()
		os.chown(self.tmp, 65534, 65534)
		self.tmp.chmod(0o1777)
		self.env = {name: value for name, value in as_nobody.env.items() if name not in ("PROCTOR_STATE_DIR", "HOME")}
		self.env["TMPDIR"] = str(self.tmp)

	def __call__(self, *args, check=True, **env):
		done = subprocess.run([*self.inside, str(self.place / "proctor"), *args], check=False, user=self.uid, group=65534, extra_groups=[],
				      cwd=self.place, env={**self.env, **env}, capture_output=True, text=True)
		assert not check or done.returncode == 0, done.stderr
		return done

	def jobs(self, **env):
		return [job["job_id"] for job in json.loads(self("ls", "--json", check=False, **env).stdout)["jobs"]]


@pytest.fixture(params=["plain user", "rootless container"])
def homeless(request, as_nobody):
	return Homeless(as_nobody, NAMESPACE if request.param == "rootless container" else [])


@pytest.mark.needs_root
@pytest.mark.tier()
@pytest.mark.parametrize("home", ["/root", "/nonexistent", "/dev/null", ""])
def test_a_user_without_a_home_is_recorded_in_a_private_directory(homeless, home):
	env = {"HOME": home}  # "": the user database has /nonexistent, and for root of a container /root
	done = homeless("run", "--job-id", "first", "--", "sh", "-c", "echo $PROCTOR_STATE_DIR; $PROCTOR mark here", **env)
	own = homeless.tmp / "proctor-65534"  # by the user outside
	assert done.stdout == "%s\n" % own  # clients in the job find it, too
	line, = [one for one in done.stderr.splitlines() if ".conf" not in one]  # that of another user cannot be read
	assert "not writable: " in line and line.endswith("; recording into '%s'" % own)
	assert (stat.S_IMODE(own.stat().st_mode), own.stat().st_uid) == (0o700, 65534)
	assert "recording into" not in homeless("run", "-q", "--job-id", "second", "--", "true", **env).stderr
	assert sorted(homeless.jobs(**env)) == ["first", "second"]
	assert "here" in homeless("report", "first", **env).stdout
	homeless("why", "first", **env)
	store = json.loads(homeless("doctor", "--json", **env).stdout)["store"]
	assert (store["path"], store["state"]) == (str(own / "proctor.db"), "works") and "not writable" in store["fallback_reason"]
	assert "not in the usual place: state directory '" in homeless("doctor", **env).stdout
	assert "deleted second" in homeless("rm", "second", **env).stdout
	assert homeless.jobs(**env) == ["first"]


@pytest.mark.needs_root
@pytest.mark.tier()
def test_the_session_of_a_user_without_a_home_comes_before_shared_directories(homeless):
	runtime = homeless.place / "runtime"
	runtime.mkdir(mode=0o700)
	os.chown(runtime, 65534, 65534)
	env = {"HOME": "/nonexistent", "XDG_RUNTIME_DIR": str(runtime)}
	homeless("run", "--job-id", "here", "--", "true", **env)
	assert (runtime / "proctor/state/proctor.db").exists() and homeless.jobs(**env) == ["here"]
	runtime.chmod(0o755)  # not as it has to be
	homeless("run", "--job-id", "there", "--", "true", **env)
	assert (homeless.tmp / "proctor-65534/proctor.db").exists() and homeless.jobs(**env) == ["there"]


@pytest.mark.needs_root
@pytest.mark.tier()
def test_a_trap_in_a_shared_directory_is_not_stepped_into(homeless):
	own, target = homeless.tmp / "proctor-65534", homeless.place / "target"
	target.mkdir(mode=0o700)
	os.chown(target, 65534, 65534)
	own.symlink_to(target)
	where = json.loads(homeless("doctor", "--json", HOME="/nonexistent").stdout)["store"]["path"]
	assert where == "/var/tmp/proctor-65534/proctor.db"
	own.unlink()
	own.mkdir(mode=0o777)  # another user's
	where = json.loads(homeless("doctor", "--json", HOME="/nonexistent").stdout)["store"]["path"]
	assert where == "/var/tmp/proctor-65534/proctor.db" and not any(own.iterdir()) and not any(target.iterdir())


@pytest.mark.needs_root
@pytest.mark.tier()
def test_every_place_that_was_refused_is_named_with_its_reason(homeless):
	homeless.uid = 64700  # tests beside us use the places of nobody
	homeless.place.chmod(0o755)
	traps = [pathlib.Path(place) / "proctor-64700" for place in (homeless.tmp, "/var/tmp", "/tmp")]
	try:
		for trap in traps[:2]:
			trap.symlink_to("/nonexistent")
		traps[2].mkdir(mode=0o700)  # root's
		done = homeless("run", "--", "sh", "-c", "exit 5", HOME="/nonexistent", check=False)
		reasons = "'%s' (a link), '%s' (a link), '%s' (another user's, or others may change it)" % tuple(traps)
		assert done.returncode == 5 and "no fallback of the state directory can be used: " + reasons in done.stderr, done.stderr
		assert "the job runs unrecorded" in done.stderr
		quiet = homeless("run", "-q", "--", "sh", "-c", "exit 5", HOME="/nonexistent", check=False).stderr
		assert "the job runs unrecorded" in quiet and "fallback" not in quiet, quiet
		assert homeless("doctor", HOME="/nonexistent", COLUMNS="500", check=False).stdout.count("no fallback can be used: " + reasons) == 1
		store = json.loads(homeless("doctor", "--json", HOME="/nonexistent", check=False).stdout)["store"]
		assert (store["state"], store["fallbacks_refused"]) == ("degraded", reasons)
	finally:
		for trap in traps[:2]:
			trap.unlink()
		traps[2].rmdir()
	assert json.loads(homeless("doctor", "--json", HOME="/nonexistent").stdout)["store"]["fallbacks_refused"] is None


@pytest.mark.needs_root
@pytest.mark.tier()
def test_a_directory_that_was_named_has_no_substitute(homeless):
	for options, env in ((["--state-dir", "/nonexistent/x"], {}), ([], {"PROCTOR_STATE_DIR": "/nonexistent/x"}), ([], {"STATE_DIRECTORY": "/nonexistent/x"})):
		done = homeless("run", *options, "--", "sh", "-c", "exit 5", check=False, **env)
		assert done.returncode == 5 and "'/nonexistent/x': cannot be created" in done.stderr and "the job runs unrecorded" in done.stderr
	assert not any(homeless.tmp.iterdir())


@pytest.mark.needs_root
@pytest.mark.tier()
def test_a_store_that_became_read_only_is_read_until_another_is_written(homeless):
	home = homeless.place / "home"
	home.mkdir()
	os.chown(home, 65534, 65534)
	assert homeless("run", "--job-id", "before", "--", "true", HOME=str(home)).stderr == ""
	usual = home / ".local/state/proctor"
	for path in (usual, *usual.iterdir()):
		os.chown(path, 0, 0)
		path.chmod(0o755)
	assert homeless.jobs(HOME=str(home)) == ["before"]
	homeless("run", "--job-id", "after", "--", "true", HOME=str(home))
	assert homeless.jobs(HOME=str(home)) == ["after"]


@pytest.mark.needs_root
@pytest.mark.tier()
def test_a_full_disk_is_no_reason_to_record_elsewhere(homeless):
	home = homeless.place / "full"
	home.mkdir()
	subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k,uid=65534,mode=700", "none", str(home)], check=True)
	try:
		(home / "filler").write_bytes(bytes(16384))
		done = homeless("run", "--", "sh", "-c", "exit 6", check=False, HOME=str(home))
		assert done.returncode == 6 and "recording into" not in done.stderr and not any(homeless.tmp.iterdir())
	finally:
		subprocess.run(["umount", "-l", str(home)], check=True)


def test_a_file_in_its_place_is_reported(proctor, tmp_path):
	(tmp_path / "file").write_text("")
	for place in (tmp_path / "file", tmp_path / "file/below"):
		done = proctor(*RECORD, "--state-dir", place)
		assert done.returncode == 1
		assert "ot a directory" in done.stderr and str(place) in done.stderr


@pytest.mark.parametrize("user", ["root", "nobody"])
def test_a_store_for_each_host_has_a_rollback_journal(request, user):
	run = request.getfixturevalue("proctor" if user == "root" else "as_nobody")
	place = request.getfixturevalue("tmp_path") if user == "root" else run.place
	(place / "etc").mkdir()
	(place / "etc/proctor.conf").write_text("[profiler]\nstorage_per_host = true\n")
	env = {"CONFIGURATION_DIRECTORY": str(place / "etc")}
	assert run("run", "--job-id", "mine", "--", "sh", "-c", "exit 3", env=env).returncode == 3
	assert run(*RECORD, env=env).returncode == 0
	here = run.state_dir / "hosts" / socket.gethostname()
	assert not (run.state_dir / "proctor.db").exists() and not (here / "proctor.db-wal").exists()
	assert (here / "monitor.jsonl").exists()
	with sqlite3.connect("file:%s/proctor.db?mode=ro" % here, uri=True) as db:
		assert db.execute("PRAGMA journal_mode").fetchone()[0] in ("delete", "truncate")
		assert db.execute("SELECT count(*) FROM snapshots").fetchone()[0] >= 1
		assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
	job, = json.loads(run("ls", "--json", env=env).stdout)["jobs"]
	assert (job["job_id"], job["exit_code"]) == ("mine", 3)
	assert run("report", "mine", env=env).returncode == 0
	report = json.loads(run("doctor", "--json", env=env).stdout)["store"]
	assert (report["path"], report["per_host"], report["journal"]) == (str(here / "proctor.db"), True, "rollback")
	assert "one store per host" in run("doctor", env=env).stdout
	other = json.loads(run("ls", "--json", "--state-dir", here).stdout)["jobs"]  # as another host would name it
	assert [job["job_id"] for job in other] == ["mine"]


def test_two_recorders_and_a_reader_share_a_store_with_a_rollback_journal(proctor, tmp_path, children):
	(tmp_path / "etc").mkdir()
	(tmp_path / "etc/proctor.conf").write_text("[profiler]\nstorage_per_host = true\n")
	proctor.env["CONFIGURATION_DIRECTORY"] = str(tmp_path / "etc")
	runs = [subprocess.Popen([proctor.binary, "run", "--job-id", "job%d" % i, "--", "sh", "-c", "for i in 1 2 3 4 5; do true; sleep 0.1; done"],
				 env=proctor.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for i in range(4)]
	for one in runs:
		while one.poll() is None:
			assert proctor("ls").returncode in (0, 3)  # 3: there is none yet
		assert (one.returncode, one.stderr.read()) == (0, "")
		one.stderr.close()
	jobs = json.loads(proctor("ls", "--json").stdout)["jobs"]
	assert sorted((job["job_id"], job["status"]) for job in jobs) == [("job%d" % i, "completed") for i in range(4)]


@pytest.mark.needs_root
@pytest.mark.tier()
def test_root_of_a_rootless_container_has_a_place_of_its_own(as_nobody):
	"""uid 0 in a user namespace, where /var/lib belongs to nobody that is known there."""
	env = {name: value for name, value in as_nobody.env.items() if name != "PROCTOR_STATE_DIR"}
	nobody = {"user": 65534, "group": 65534, "extra_groups": [], "cwd": as_nobody.place, "env": env, "capture_output": True, "text": True}
	inside = ["unshare", "--user", "--map-root-user", str(as_nobody.place / "proctor")]
	done = subprocess.run([*inside, "run", "--job-id", "boxed", "--", "sh", "-c", "exit $(id -u)"], check=False, **nobody)
	assert (done.returncode, done.stderr) == (0, "")
	assert (as_nobody.place / ".local/state/proctor/proctor.db").exists()
	done = subprocess.run([*inside, "run", "-q", "--", "sh", "-c", "echo $PROCTOR_STATE_DIR"], check=False, **nobody)
	assert done.stdout == "%s\n" % (as_nobody.place / ".local/state/proctor")  # clients would look where root of the machine has its store
	done = subprocess.run([*inside, "ls", "--json"], check=False, **nobody)
	assert [(job["job_id"], job["uid"]) for job in json.loads(done.stdout)["jobs"]][1:] == [("boxed", 65534)]
	assert "boxed" in subprocess.run([*inside, "report", "boxed"], check=False, **nobody).stdout
	with sqlite3.connect(as_nobody.place / ".local/state/proctor/proctor.db") as db:
		assert db.execute("SELECT DISTINCT uid FROM process").fetchall() == [(65534,)]
	outside = str(as_nobody.place / "proctor")
	listed = subprocess.run([outside, "ls"], check=False, **nobody)
	assert "boxed" in listed.stdout and ":boxed" not in listed.stdout
	assert "deleted boxed" in subprocess.run([outside, "rm", "boxed"], check=False, **nobody).stdout
