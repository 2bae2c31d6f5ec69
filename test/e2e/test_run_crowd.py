# SPDX-License-Identifier: MIT
"""Many runs at once into one store, which is not there yet, many that are killed at once, and runs on a machine that is busy with something else."""
import os
import signal
import subprocess
import time

import pytest

from runkit import LOAD, connected  # noqa: F401 pylint: disable=unused-import

RUNS = 200
KILLS = 60
FINAL_CPU = 1  # in a row's `final`: the kernel reported it at the end
STATUSES = 5  # 0 to 4, in turn
STORY = "echo %d; /bin/true; exit %d"
# Each waits until the pipe at its stdin ends, and that is one moment for all.
AT_THE_GATE = ["sh", "-c", 'read line; exec "$@" </dev/null', "sh"]


def start_together(run, count):
	gate, held = os.pipe()
	started = []
	for i in range(count):
		line = run.line("sh", "-c", STORY % (i, i % STATUSES), options=["--name", "c%d" % i, "--tag", "n=%d" % i])
		started.append(subprocess.Popen([*AT_THE_GATE, *line], env=run.env, stdin=gate, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
	os.close(gate)
	os.close(held)
	return started


def test_two_hundred_runs_at_once_are_all_stored(run):
	started = start_together(run, RUNS)
	outputs = [child.communicate(timeout=55) for child in started]
	assert [child.returncode for child in started] == [i % STATUSES for i in range(RUNS)]
	assert [out for out, _ in outputs] == ["%d\n" % i for i in range(RUNS)]
	assert [err for _, err in outputs if err] == []
	rows = {row["type"]: row for row in run.jobs()}
	assert len(rows) == RUNS and len({row["job_id"] for row in rows.values()}) == RUNS
	for i in range(RUNS):
		row = rows["c%d" % i]
		assert (row["exit_code"], row["status"]) == (i % STATUSES, "failed" if i % STATUSES else "completed"), row
		assert (row["processes"], row["exited_processes"], row["leaked_processes"]) == (2, 2, 0), row
	lives = run.sql("SELECT j.job_id, count(*) AS n, sum(p.exit_code IS NULL) AS open FROM process p JOIN job j ON j.id = p.job GROUP BY 1")
	assert len(lives) == RUNS and all((life["n"], life["open"]) == (2, 0) for life in lives), [life for life in lives if life["n"] != 2]
	assert run.sql("PRAGMA integrity_check") == [{"integrity_check": "ok"}]
	assert list((run.proctor.state_dir / "jobs").iterdir()) == []


def test_a_launcher_that_is_killed_at_once_leaves_its_job(run, children):
	"""The job is committed before its command runs; on a busy machine the command may begin after 50 ms without that."""
	assert run("true", options=["--name", "first"]).returncode == 0
	line = run.line("sh", "-c", "echo; exec sleep 60", options=["--name", "victim"])
	for i in range(0, KILLS, 2):
		launchers = [children.spawn(line, env=run.env, stdout=subprocess.PIPE, text=True) for _ in range(2)]
		for number, launcher in enumerate(launchers, start=i):
			assert launcher.stdout.readline() == "\n"
			time.sleep(0.045 * number / KILLS)
			launcher.kill()
		for launcher in launchers:
			os.killpg(launcher.pid, signal.SIGKILL)
			assert launcher.wait() == -signal.SIGKILL
	assert run("true", options=["--name", "next"]).returncode == 0
	assert KILLS - 10 <= len(run.jobs("type = 'victim' AND status = 'lost'")) <= KILLS


@pytest.mark.needs_root
@pytest.mark.parametrize("script, options", [("sleep 60 & sleep 60", ["--time", "0.1s"]), ("sleep 60 & sleep 0.1", ["--kill-leftovers"])],
                         ids=["time", "kill-leftovers"])
def test_totals_of_processes_that_we_ended_are_waited_for_on_a_busy_machine(run, children, script, options):
	for _ in range(8):
		children.spawn(["timeout", "60", "sh", "-c", "while :; do /bin/true; done"], start_new_session=False)
	for _ in range(8):
		run("sh", "-c", script, options=["--tier", "bpf", *options])
	children.end_all()
	lacking = {row["job_id"] for row in run.processes() if not row["final"] & FINAL_CPU}
	assert len(run.jobs()) == 8 and len(lacking) <= 1, lacking  # the kernel is free to report them later still


@pytest.mark.needs_root
@pytest.mark.tier("connector")
def test_a_storm_on_a_busy_machine_is_counted_to_the_last_process(connected, children):
	load = connected.copy(LOAD)
	for _ in range(20):
		children.busy(seconds=55)
	printed, run = connected(load, "storm", 8, 500)
	children.end_all()
	job = run.job()
	for figure in ("processes", "exited_processes"):
		assert (job[figure], job[figure + "_quality"]) == (int(printed), "exact")
