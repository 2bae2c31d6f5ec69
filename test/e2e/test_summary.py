# SPDX-License-Identifier: MIT
"""`proctor summary DIR`: the resource summary of any run folder, from files that nvidia-smi, mpstat or we wrote."""
import csv
import json
import os
import random
import re
import signal
import subprocess
import sys

import pytest

from conftest import ROOT
from runkit import children_of, wait_for

FOLDERS = ROOT / "test/fixtures/run-folders"
GOLDEN = ROOT / "test/golden"
KEYS = ["peak_vram_mb", "gpu_util_mean_pct", "gpu_util_max_pct", "mem_util_mean_pct", "mem_util_max_pct", "power_watts_mean",
	"power_watts_max", "cpu_usr_mean_pct", "cpu_idle_mean_pct", "jax_peak_bytes_mb"]
FILES = ["hw_metrics.csv", "hw_dmon.csv", "cpu_metrics.csv"]


def ask(proctor, folder):
	done = proctor("summary", "--json", folder)
	assert (done.returncode, done.stderr) == (0, ""), done.stderr
	answer = json.loads(done.stdout)
	assert [key for key in answer if key in KEYS] == [key for key in KEYS if key in answer]
	assert set(answer) <= set(KEYS) | {"schema", "gpus", "files", "job"} and answer["schema"] == 1
	assert list(answer["files"]) == FILES
	return answer


def write(folder, **files):
	folder.mkdir(exist_ok=True)
	for name, text in files.items():
		(folder / (name + ".csv")).write_bytes(text if isinstance(text, bytes) else text.encode())
	return folder


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDERS.iterdir()))
def test_a_folder_gives_what_it_always_gave(proctor, name):
	"""With PROCTOR_GOLDEN=write the wanted output is written anew: read the difference before you commit it."""
	text, document = proctor("summary", FOLDERS / name), proctor("summary", FOLDERS / name, "--json")
	assert (text.returncode, text.stderr, document.returncode, document.stderr) == (0, "", 0, "")
	for end, output in (("txt", text.stdout), ("json", document.stdout)):
		wanted = GOLDEN / ("summary-%s.%s" % (name, end))
		if os.environ.get("PROCTOR_GOLDEN") == "write":
			wanted.write_text(output, encoding="utf-8")
		assert output == wanted.read_text(encoding="utf-8")


def test_it_reports_what_was_read_and_what_was_skipped(proctor, tmp_path):
	folder = write(tmp_path / "run", hw_metrics="t, 1, 2, 3, 4, 5, 6, 7, 8\nt, 1, 2\n# x\nt, [N/A], 2, 3, 4, -, 6, 7, 8\n",
		       cpu_metrics="")
	lines = proctor("summary", folder).stdout.splitlines()
	assert lines[0].split() == ["file", "lines", "used", "skipped", "why"]
	assert lines[1].split(maxsplit=4) == ["hw_metrics.csv", "4", "2", "2", "1 comment, 1 too short; 2 values not readable"]
	assert lines[2].split(maxsplit=4) == ["hw_dmon.csv", "-", "-", "-", "not there"]
	assert lines[3].split(maxsplit=4) == ["cpu_metrics.csv", "0", "0", "0", "empty"]
	assert "GPU memory, peak" in lines[5] and lines[5].split()[-2:] == ["3.0", "MiB"]


def test_means_and_maxima_are_those_of_the_numbers(proctor, tmp_path):
	dice = random.Random(7)
	rows = [(dice.randint(0, 100), dice.randint(0, 100), dice.randint(0, 80000), dice.randint(0, 70000) / 100) for _ in range(5000)]
	cpus = [(dice.randint(0, 500) / 10, dice.randint(0, 500) / 10) for _ in range(3000)]
	folder = write(
		tmp_path / "run",
		hw_metrics="".join("2024/05/01 12:34:56.789, %d, %d, %d, 81559, %.2f, 61, 1980, 9501\n" % row for row in rows),
		cpu_metrics="timestamp,usr_pct,idle_pct\n" + "".join("x,%.1f,%.1f\n" % row for row in cpus))
	answer = ask(proctor, folder)
	util, busy, used, power = zip(*rows)
	usr, idle = zip(*cpus)
	wanted = {
		"peak_vram_mb": max(used),
		"gpu_util_mean_pct": sum(util) / len(util), "gpu_util_max_pct": max(util),
		"mem_util_mean_pct": sum(busy) / len(busy), "mem_util_max_pct": max(busy),
		"power_watts_mean": sum(power) / len(power), "power_watts_max": max(power),
		"cpu_usr_mean_pct": sum(usr) / len(usr), "cpu_idle_mean_pct": sum(idle) / len(idle),
	}
	for key, value in wanted.items():
		assert answer[key] == pytest.approx(value, abs=0.0501), key
		assert round(answer[key], 1) == answer[key]
	assert "jax_peak_bytes_mb" not in answer


def test_what_is_not_known_is_left_out(proctor, tmp_path):
	answer = ask(proctor, write(tmp_path / "run", cpu_metrics="timestamp,usr_pct,idle_pct\nx,1.5,-\n"))
	assert answer["cpu_usr_mean_pct"] == 1.5
	assert not set(answer) & set(KEYS) - {"cpu_usr_mean_pct"}
	assert answer["files"]["hw_metrics.csv"] is None and answer["gpus"] is None
	answer = ask(proctor, write(tmp_path / "run", cpu_metrics=""))
	assert not set(answer) & set(KEYS)
	assert "nothing can be read" in proctor("summary", tmp_path / "run").stdout


def test_a_folder_that_is_missing_is_status_3(proctor, tmp_path):
	done = proctor("summary", tmp_path / "nowhere")
	assert (done.returncode, done.stdout) == (3, "")
	assert done.stderr == "proctor: run folder '%s/nowhere': No such file or directory; `proctor run --out DIR` writes one\n" % tmp_path


def test_a_folder_without_any_of_the_files_is_status_1_and_they_are_named(proctor, tmp_path):
	(tmp_path / "other.csv").write_text("x", encoding="ascii")
	done = proctor("summary", tmp_path)
	assert (done.returncode, done.stdout) == (1, "")
	assert done.stderr.count("\n") == 1
	for name in FILES:
		assert name in done.stderr
	done = proctor("summary", tmp_path / "other.csv")
	assert (done.returncode, done.stdout) == (1, "")
	assert "Not a directory" in done.stderr


def test_a_file_that_cannot_be_read_is_reported_and_no_success(proctor, tmp_path):
	folder = write(tmp_path / "run", hw_metrics="t, 1, 2, 3, 4, 5, 6, 7, 8\n")
	(folder / "cpu_metrics.csv").mkdir()
	os.mkfifo(folder / "hw_dmon.csv")
	done = proctor("summary", "--json", folder)
	assert done.returncode == 1
	assert "read '%s/cpu_metrics.csv': Is a directory" % folder in done.stderr
	assert "read '%s/hw_dmon.csv': not a regular file" % folder in done.stderr
	assert json.loads(done.stdout)["peak_vram_mb"] == 3.0


@pytest.mark.parametrize("args, word", [([], "no folder"), (["a", "b"], "one folder only")])
def test_wrong_usage_is_status_2(proctor, args, word):
	done = proctor("summary", *args)
	assert (done.returncode, done.stdout) == (2, "")
	assert word in done.stderr


def test_hostile_files_do_no_harm(proctor, tmp_path):
	dice = random.Random(11)
	line = b"2024/05/01 12:34:56.789, 62, 40, 8123, 24576, 214.53, 61, 1980, 9501\n"
	huge = b"9," * (3 << 20)
	folder = write(tmp_path / "run", hw_metrics=line + huge + b"\n" + line + b"\0" * 100000 + b"\n" + line.rstrip(b"\n"),
		       hw_dmon=dice.randbytes(1 << 20), cpu_metrics=b"\x1b[2J,\x1b[2J,\x1b[2J\n" * 1000)
	answer = ask(proctor, folder)
	assert answer["files"]["hw_metrics.csv"] == {"lines": 5, "used": 3, "heads": 0, "comments": 0, "too_short": 0, "too_long": 2,
						      "unusable": 0, "values_skipped": 0, "problem": None}
	assert (answer["peak_vram_mb"], answer["power_watts_mean"]) == (8123.0, 214.5)
	assert answer["files"]["cpu_metrics.csv"]["unusable"] == 1000
	assert "\x1b" not in proctor("summary", folder).stdout


def peak_kib(proctor, folder):
	"""The most memory that it took; the answer is read from a file."""
	with open(folder / "answer", "wb") as answer:
		child = subprocess.Popen([proctor.binary, "summary", "--json", str(folder)], env=proctor.env, stdout=answer)
		_, status, usage = os.wait4(child.pid, 0)
	child.returncode = os.waitstatus_to_exitcode(status)
	assert child.returncode == 0
	return usage.ru_maxrss


def test_memory_does_not_grow_with_the_file(proctor, tmp_path):
	line = b"2024/05/01 12:34:56.789, 62, 40, 8123, 24576, 214.53, 61, 1980, 9501\n"
	small, large = write(tmp_path / "small", hw_metrics=line), write(tmp_path / "large", hw_metrics=line * 500000)
	assert peak_kib(proctor, large) < peak_kib(proctor, small) + 4096
	assert json.loads((large / "answer").read_text())["files"]["hw_metrics.csv"]["used"] == 500000


# ---- the job -----------------------------------------------------------------------------------


def block_of(text):
	"""Result and figures, without what is in the store: the way to more, and what to request next."""
	lines = [" ".join(line.split()) for line in text.splitlines()]
	begin = next(i for i, line in enumerate(lines) if line.startswith("proctor "))
	return [line for line in lines[begin:] if line and not line.startswith(("more ", "next "))]


@pytest.mark.parametrize("command, options, words", [
	(["sh", "-c", "true; exit 3"], [], "exit 3"),
	(["sh", "-c", "kill -TERM $$"], [], "SIGTERM from itself"),
	(["sleep", "60"], ["--time", "0.2s"], "time limit of 200ms"),
	([sys.executable, "-c", "x = bytearray(300 << 20)"], ["--mem", "64M"], "out of memory (own limit 64.0 MiB)"),
	([sys.executable, "-c", "x = bytearray(30 << 20); import time; time.sleep(0.3)"], ["--name", "train"], "ok in"),
])
def test_it_begins_with_the_job_as_the_end_of_the_run_did(run, tmp_path, command, options, words):
	done = run(*command, options=["--summary", "--out", tmp_path / "run", *options])
	shown = run.proctor("summary", tmp_path / "run")
	assert (shown.returncode, shown.stderr) == (0, "")
	head, rest = shown.stdout.split("\n\n", 1)
	assert head.startswith("command  " + command[0]) and rest.startswith("file ")
	assert [without_cores(line) for line in block_of(head)] == [without_cores(line) for line in block_of(done.stderr)]
	assert words in " ".join(head.split())


def without_cores(line):
	"""How many cores the machine has is not in the folder, which may be read on another one."""
	return re.sub(r"([\d.]+) (of \d+ )?cores busy", r"\1 cores busy", line)


def test_a_plain_users_folder_begins_with_the_job_too(as_nobody):
	assert as_nobody("run", "--out", "run", "--", "sh", "-c", "exit 4").returncode == 4
	shown = as_nobody("summary", "run").stdout
	assert shown.startswith("command  sh -c exit 4\nproctor ") and "exit 4" in shown.splitlines()[1]
	assert as_nobody("summary", "run", "--json").stdout.count('"job":{"job_id"') == 1


def test_a_folder_whose_run_was_killed_shows_that_there_is_no_end(run, tmp_path, children):
	job = children.spawn(run.line("sleep", "60", options=["--out", tmp_path / "run"]), env=run.env)
	wait_for(lambda: (tmp_path / "run/summary.json").exists() and '"wall_seconds":' in (tmp_path / "run/summary.json").read_text())
	(command,) = wait_for(lambda: children_of(job.pid, "sleep"))
	job.kill()
	job.wait(timeout=20)
	os.kill(command, signal.SIGKILL)
	assert re.search(r"^proctor  sleep   no end recorded after [\d.]+m?s  ", run.proctor("summary", tmp_path / "run").stdout, re.M)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"job":7}', '{"job":null}', "x" * (2 << 20)])
def test_a_summary_of_another_kind_is_left_alone(proctor, tmp_path, text):
	folder = write(tmp_path / "run", cpu_metrics="timestamp,usr_pct,idle_pct\nt,1.0,2.0\n")
	(folder / "summary.json").write_text(text)
	done = proctor("summary", folder)
	assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("file ")
	assert "job" not in ask(proctor, folder)


def test_a_job_of_odd_values_does_no_harm(proctor, tmp_path):
	folder = write(tmp_path / "run", cpu_metrics="timestamp,usr_pct,idle_pct\nt,1.0,2.0\n")
	job = {"job_id": "x\x1b[31m" * 100, "job_type": 7, "command": "c" * 100000, "status": "odd", "exit_code": "no", "uid": -1, "duration_seconds": 1e300,
	       "limits": {"mem": -5, "cpu": []}, "limits_hit": [7, "mem"], "figures": {"cpu_seconds": 1e300, "peak_rss_mb": "x"}, "quality": {"cpu_seconds": "exact"},
	       "signal_num": 1 << 40, "tags": [], "oom": "proven", "signal_sender": {}}
	(folder / "summary.json").write_text(json.dumps({"job": job}))
	done = proctor("summary", folder, env={"COLUMNS": "100"})
	assert (done.returncode, done.stderr) == (0, "") and "\x1b" not in done.stdout


# ---- job_metrics.csv ---------------------------------------------------------------------------

LOAD_AND_WRITE = """
import os, subprocess, time
x = bytearray(60 << 20)
with open("data", "wb") as out:
	out.write(os.urandom(8 << 20)); out.flush(); os.fsync(out.fileno())
end = time.process_time() + 0.5
while time.process_time() < end: pass
subprocess.run(["sleep", "2"])
"""


def rows_of(folder):
	with open(folder / "job_metrics.csv", encoding="ascii", newline="") as file:
		return [{key: float(value) if value and key != "timestamp" else value or None for key, value in row.items()} for row in csv.DictReader(file)]


def test_the_folder_has_what_the_job_used_over_time(run, tmp_path):
	assert run(sys.executable, "-c", LOAD_AND_WRITE, options=["--out", tmp_path / "run"], cwd=tmp_path).returncode == 0
	rows, job = rows_of(tmp_path / "run"), run.job()
	assert list(rows[0]) == ["timestamp", "elapsed", "used_mb", "charged_mb", "rss_mb", "cpu_percent", "cpu_seconds", "processes", "read_bytes",
				 "written_bytes", "gpu_memory_mb", "gpu_sm_pct", "gpu_energy_wh", "gpu_device_mb", "gpu_util_pct"]
	# The 8 MiB that are written may have been allocated and freed between two samples: the peak has them, the curve need not.
	assert 60 <= max(row["used_mb"] or 0 for row in rows) <= job["peak_used_mb"] + 0.01 < 100
	assert max(row["processes"] for row in rows) == 2
	assert rows[-1]["cpu_seconds"] == pytest.approx(job["cpu_seconds"], abs=0.001)
	assert rows[-1]["elapsed"] == pytest.approx(job["duration_seconds"], abs=0.001)
	assert rows[-1]["written_bytes"] >= 8 << 20
	for before, after in zip(rows, rows[1:]):
		assert after["elapsed"] > before["elapsed"] and (after["cpu_seconds"] or 0) >= (before["cpu_seconds"] or 0)
		assert (after["written_bytes"] or 0) >= (before["written_bytes"] or 0)
	spans = [after["elapsed"] - before["elapsed"] for before, after in zip([{"elapsed": 0}, *rows], rows)]
	assert sum(span * (row["cpu_percent"] or 0) / 100 for span, row in zip(spans, rows)) == pytest.approx(job["cpu_seconds"], rel=0.1)


def test_its_values_are_those_of_the_samples(run, tmp_path):
	assert run(sys.executable, "-c", LOAD_AND_WRITE, options=["--out", tmp_path / "run"], cwd=tmp_path).returncode == 0
	stored = run.sql("SELECT * FROM job_samples ORDER BY timestamp")
	rows = rows_of(tmp_path / "run")
	assert len(rows) == len(stored)
	for left, (row, sample) in zip(range(len(rows), 0, -1), zip(rows, stored)):
		# The CPU time of the last samples is settled at the end, when these lines are written.
		keys = ("cpu_percent", "cpu_seconds") if left > 4 else ()
		for key in ("used_mb", "charged_mb", "rss_mb", "processes", "read_bytes", "written_bytes", *keys):
			assert row[key] == (sample[key] if sample[key] is None else pytest.approx(sample[key], abs=0.06)), key


def test_a_plain_user_has_it_too(as_nobody):
	for_three_ticks = "until [ $(wc -l <run/job_metrics.csv) -gt 3 ]; do sleep 0.1; done"
	assert as_nobody("run", "--out", "run", "--", "sh", "-c", for_three_ticks).returncode == 0
	rows = rows_of(as_nobody.place / "run")
	assert len(rows) > 2 and max(row["processes"] for row in rows) == 2 and rows[-1]["cpu_seconds"] > 0


def test_a_job_shorter_than_a_tick_has_one_line(run, tmp_path):
	assert run("true", options=["--out", tmp_path / "run", "--interval", "5"]).returncode == 0
	rows = rows_of(tmp_path / "run")
	assert rows and rows[-1]["cpu_seconds"] == pytest.approx(run.job()["cpu_seconds"], abs=0.001)
