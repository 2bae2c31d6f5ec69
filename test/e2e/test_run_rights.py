# SPDX-License-Identifier: MIT
"""`proctor run` with the rights of root, of nobody, and of those between: how it watches, what it counts, and how sure it is of that."""
import json
import resource
import shutil
import subprocess

import pytest

from conftest import TIMEOUT_S
from runkit import LOAD, SANITIZERS

pytestmark = [pytest.mark.needs_root, pytest.mark.tier()]  # RIGHTS names them

CHILDREN, MS, STATUS = 12, 20, 9
TICKS_S = 0.001  # getrusage() is cut to µs, once a process
NOBODY = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]


def with_caps(*names):
	caps = ",".join("+" + name for name in names)
	return [*NOBODY, "--inh-caps=" + caps, "--ambient-caps=" + caps]


def hidden(user):
	"""The same where /proc shows nobody the processes of others."""
	return ["unshare", "-m", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh", *user]


# name: prefix that makes the user, the tier that it gets, how sure the CPU time is at least and at best
RIGHTS = {
	"root": ([], "BPF tracepoints, cgroup", "exact", "exact"),
	"nobody": (NOBODY, "proc connector", "at_least", "at_least"),
	"net-admin": (with_caps("net_admin"), "proc connector", "at_least", "at_least"),
	"bpf-perfmon": (with_caps("bpf", "perfmon"), "BPF tracepoints", "at_least", "exact"),
	"bpf-alone": (with_caps("bpf"), "proc connector", "at_least", "at_least"),
	"hidepid": (hidden(NOBODY), "proc connector", "at_least", "at_least"),
	"hidepid-bpf-perfmon": (hidden(with_caps("bpf", "perfmon")), "BPF tracepoints", "at_least", "exact"),
	"hidepid-root": (hidden([]), "BPF tracepoints, cgroup", "exact", "exact"),
}


@pytest.fixture
def go(as_nobody):
	"""go(user, ARG…): the program as that user, in a place of nobody's."""
	load = shutil.copy2(LOAD, as_nobody.place / "load")

	def start(user, *args):
		state = ["--state-dir", str(as_nobody.state_dir)]
		return subprocess.run([*user, str(as_nobody.place / "proctor"), args[0], *state, *map(str, args[1:])], env={**as_nobody.env, **SANITIZERS},
				      cwd=as_nobody.place, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False)

	start.load = load
	return start


def children_cpu():
	"""What all that was ever waited for took."""
	used = resource.getrusage(resource.RUSAGE_CHILDREN)
	return used.ru_utime + used.ru_stime


def watched(go, user, *options):
	"""What a job of a known size took at least, by its own account, and at most, by the kernel's, and what we report of it."""
	before = children_cpu()
	done = go(user, "run", "--summary", *options, "--", "sh", "-c", '"$1" cpu %d %d; exit %d' % (CHILDREN, MS, STATUS), "sh", go.load)
	most = children_cpu() - before
	assert done.returncode == STATUS, done.stderr
	answer = go(user, "ls", "--json")
	assert answer.returncode == 0, answer.stderr
	job, = json.loads(answer.stdout)["jobs"]
	return (int(done.stdout) / 1e6, most - job["figures"]["recorder_cpu_seconds"]), job, done.stderr


def check(truth, job, worst, best):
	figures, quality = job["figures"], job["quality"]
	assert job["exit_code"] == STATUS
	assert quality["cpu_seconds"] in (worst, best)
	assert 0.99 * truth[0] <= figures["cpu_seconds"] <= truth[1] + TICKS_S
	assert figures["failed_processes"] == 1  # the shell


@pytest.mark.parametrize("name", RIGHTS)
def test_every_process_is_counted_and_no_figure_claims_more_than_is_known(go, name):
	user, tier, worst, best = RIGHTS[name]
	truth, job, summary = watched(go, user)
	assert job["tier"].startswith(tier), job["tier"]
	assert (job["figures"]["processes"], job["quality"]["processes"]) == (CHILDREN + 2, "exact")
	check(truth, job, worst, best)
	assert job["quality"]["read_bytes"] == job["quality"]["written_bytes"] == "at_least"
	word = {"exact": "exact", "at_least": "at least"}[job["quality"]["cpu_seconds"]]
	assert [line.split("  ")[-1].strip() for line in summary.splitlines() if line.startswith("  cpu ")] == [word], summary


@pytest.mark.parametrize("name", RIGHTS)
def test_doctor_names_the_tier_that_run_uses(go, name):
	user, tier, _, _ = RIGHTS[name]
	roles = json.loads(go(user, "doctor", "--json").stdout)["roles"]
	lifecycle, = [role for role in roles if role["role"] == "lifecycle"]
	assert tier.startswith(lifecycle["source"]), lifecycle


@pytest.mark.parametrize("user", [NOBODY, hidden(NOBODY)], ids=["nobody", "hidepid"])
def test_samples_alone_count_no_more_than_there_is(go, user):
	truth, job, _ = watched(go, user, "--tier", "proc")
	assert job["tier"] == "samples of /proc"
	assert 1 <= job["figures"]["processes"] <= CHILDREN + 2 and job["quality"]["processes"] == "at_least"
	check(truth, job, "at_least", "at_least")


@pytest.mark.parametrize("user", [[], NOBODY], ids=["root", "nobody"])
def test_processes_of_another_pid_namespace_are_not_taken_for_those_of_the_job(go, user):
	"""In a new namespace without a /proc of its own, the same numbers mean others there."""
	truth, job, _ = watched(go, ["unshare", "--pid", "--fork", *user])
	figures = job["figures"]
	assert 0 < figures["cpu_seconds"] <= truth[1] + TICKS_S and 1 <= figures["processes"] <= CHILDREN + 2, job
	assert figures["peak_used_mb"] is None or figures["peak_used_mb"] < 50, job
	doctor = go(["unshare", "--pid", "--fork", *NOBODY], "doctor").stdout
	assert "procfs of another pid namespace" in " ".join(doctor.split()), doctor
