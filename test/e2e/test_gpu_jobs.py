# SPDX-License-Identifier: MIT
"""What jobs do on GPUs, as the end block, ls, report, diff and SQL show it. The driver is fake, and lists the processes that a file names."""
import csv
import io
import json
import re

import pytest

from conftest import read_store_so_far, wait_for
from test_gpu import FAKES, SMI, nvml

# Its process is on the GPUs that are named by the arguments behind the file and the marker: "0 512 37" is GPU 0, 512 MiB, 37 % of it.
ON_GPU = """
import os, sys, time
path, marker, *uses = sys.argv[1:]
others = os.environ.get("OTHERS", "")
with open(path + ".new", "w") as f:
    f.write(others)
    for use in uses:
        gpu, mib, sm = use.split()
        f.write("%s %d %s %s\\n" % (gpu, os.getpid(), mib, sm))
os.rename(path + ".new", path)
end = time.monotonic() + 60
while not os.path.exists(marker) and time.monotonic() < end:
    time.sleep(0.02)
"""

# The same beside others: a line is added.
ON_GPU_TOO = ON_GPU.replace('open(path + ".new", "w")', 'open(path, "a")').replace('os.rename(path + ".new", path)', "")

# A sample at which the driver did not answer.
SILENT = "(j.gpu_memory_mb IS NULL OR s.gpu_utilization_pct LIKE '%null%')"


class Jobs:
	"""Runs jobs with a fake driver until their samples have what a test waits for."""

	def __init__(self, proctor, children, tmp_path):
		self.proctor, self.children, self.place = proctor, children, tmp_path
		self.use = tmp_path / "use"
		self.blocks = {}

	def env(self, mood):
		return {**nvml(("use=%s " % self.use) + mood)}

	def run(self, name, uses, mood="", env=None, ticks=8, until="s.gpu_count > 0", others="", options=(), fault=None):
		"""`fault` is a file that is made then, and what the job goes on for."""
		marker = self.place / ("end-" + name)
		self.use.write_text(others)
		env = {**(self.env(mood) if env is None else env), "OTHERS": others}
		job = self.children.spawn([self.proctor.binary, "run", "--summary", "--job-id", name, "--name", "gpu", "--interval", "0.1", *options, "--",
					   "/usr/bin/python3", "-c", ON_GPU, str(self.use), str(marker), *uses], env={**self.proctor.env, **env}, stdout=-3, stderr=-1)
		wait_for(lambda: self.ticks(name, until) >= ticks)
		if fault:
			fault[0].touch()
			wait_for(lambda: self.ticks(name, fault[1]) >= ticks)
		marker.write_text("")
		block = job.stderr.read().decode()
		assert job.wait(timeout=30) == 0, block
		self.blocks[name] = block
		return block

	def run_two(self, *jobs):
		"""Two jobs of one process each on GPU 0, with so many percent of it, at the same time."""
		marker, env = self.place / "end-both", {**self.proctor.env, **self.env("")}
		self.use.write_text("")
		running = [self.children.spawn([self.proctor.binary, "run", "--job-id", name, "--name", "gpu", "--interval", "0.1", "--", "/usr/bin/python3", "-c",
						ON_GPU_TOO, str(self.use), str(marker), "0 512 %d" % sm], env=env, stdout=-3, stderr=-3) for name, sm in jobs]
		for name, _ in jobs:
			wait_for(lambda name=name: self.ticks(name, "gpu_memory_mb = 512") >= 12)
		marker.write_text("")
		assert [job.wait(timeout=30) for job in running] == [0, 0]
		return {name: self.figures(name)[0] for name, _ in jobs}

	def ticks(self, name, until):
		return len(read_store_so_far(self.proctor.state_dir, "SELECT 1 FROM job_samples j JOIN snapshots s ON s.id = j.snapshot_id"
					     " WHERE j.job_id = '%s' AND %s" % (name, until)))

	def sql(self, query):
		return self.proctor.sql(query)

	def figures(self, name):
		done = self.proctor("report", name, "--json")
		assert done.returncode == 0, done.stderr
		report = json.loads(done.stdout)
		return report["job"]["figures"], report["job"]["quality"], report["gpus"]


@pytest.fixture
def jobs(proctor, children, tmp_path):
	return Jobs(proctor, children, tmp_path)


def watched(jobs, rows):
	"""Each row but the first with the time since the tick before it, without that in which no tick came: the machine may be busy."""
	lost = jobs.sql("SELECT timestamp AS t, count / 1e9 AS seconds FROM recorder_events WHERE event_type = 'gap' AND details LIKE '%missed%'")
	times = sorted({row["t"] for row in rows})
	before = dict(zip(times[1:], times))
	return [(row, row["t"] - before[row["t"]] - sum(gap["seconds"] for gap in lost if before[row["t"]] < gap["t"] <= row["t"] + 0.001))
		for row in rows if row["t"] in before]


def integral_quality(jobs):
	"""Of figures that add up over time: lower bounds if the machine was so busy that ticks are missing, or the driver's answers."""
	is_part = jobs.sql("SELECT 1 FROM recorder_events WHERE event_type = 'gap' AND details LIKE '%missed%'"
			   " UNION ALL SELECT 1 FROM gpu_metrics WHERE utilization_pct IS NULL")
	return "at_least" if is_part else "sampled"


def energy_of_ticks(jobs, name, share):
	"""Wh of the GPUs over the ticks at which the job was on them, each times the job's share."""
	rows = jobs.sql("SELECT j.timestamp AS t, p.gpu_index AS gpu, g.power_w AS power FROM job_samples j"
			" LEFT JOIN gpu_processes p ON p.snapshot_id = j.snapshot_id AND p.job_id = j.job_id"
			" LEFT JOIN gpu_metrics g ON g.snapshot_id = j.snapshot_id AND g.gpu_index = p.gpu_index"
			" WHERE j.job_id = '%s' AND j.snapshot_id IS NOT NULL ORDER BY 1" % name)
	return sum(seconds * row["power"] * share[row["gpu"]] / 3600 for row, seconds in watched(jobs, rows) if row["power"] is not None)


def line_of(text, label):
	lines = [line for line in text.splitlines() if re.match(r"\s+%s\b" % label, line)]
	assert len(lines) == 1, text
	return lines[0]


def test_the_block_shows_the_gpu_and_the_jobs_own_share(jobs, children):
	other = children.idle(1)[0]
	block = jobs.run("one", ["0 512 37"], others="0 %d 400 13\n" % other.pid, until="gpu_memory_mb = 512")
	line = line_of(block, "gpu")
	assert "50 % busy" in line and "1000 MiB of 16.0 GiB held, 512 MiB by this job" in line.replace("1.0 of 16.0", "1000 MiB of 16.0")
	assert re.search(r", (\d+) % \(37 % peak\) by this job", line)
	assert "sampled" in line


def test_figures_agree_with_what_was_stored_of_each_tick(jobs, children):
	other = children.idle(1)[0]
	jobs.run("one", ["0 512 37", "1 256 20"], "gpus=3", others="0 %d 400 13\n2 %d 900 80\n" % (other.pid, other.pid), ticks=12,
		 until="gpu_memory_mb = 768")
	figures, quality, gpus = jobs.figures("one")
	assert figures["gpus_used"] == 2
	(own,) = jobs.sql("SELECT max(mb) AS mb FROM (SELECT sum(memory_used_mb) AS mb FROM gpu_processes WHERE job_id = 'one' GROUP BY snapshot_id)")
	assert figures["peak_gpu_memory_mb"] == own["mb"] == 768
	assert (figures["peak_gpu_device_mb"], figures["gpu_device_mb"]) == (2000, 2 * 16384)
	# Of the GPUs it used, which are 50 and 51 % busy; the third is others'.
	assert figures["gpu_util_mean_pct"] == pytest.approx(50.5, abs=0.3) and figures["gpu_util_max_pct"] == 51
	(sums,) = jobs.sql("SELECT max(gpu_memory_mb) AS mb, max(gpu_sm_pct) AS sm, max(gpu_util_pct) AS util FROM job_samples WHERE job_id = 'one'")
	assert (sums["mb"], sums["sm"], sums["util"]) == (768, 57, 50.5)
	# 37 + 20 % of a GPU's time, from the tick at which it was found there.
	rows = jobs.sql("SELECT timestamp AS t, coalesce(gpu_sm_pct, 0) AS sm FROM job_samples WHERE job_id = 'one' ORDER BY timestamp")
	integral = sum(seconds * row["sm"] / 100 for row, seconds in watched(jobs, rows))
	assert figures["gpu_seconds"] == pytest.approx(integral, rel=0.02)
	assert {quality[key] for key in figures if "gpu" in key} <= {"sampled", integral_quality(jobs)}
	assert [(gpu["used_by_job"], gpu["own_peak_vram_mb"]) for gpu in gpus] == [(True, 512), (True, 256), (False, None)]


def test_the_energy_is_divided_by_what_the_processes_of_all_jobs_do(jobs, children):
	"""GPU 0 is shared with a process of no job, which runs as much; GPU 1 is its own."""
	other = children.idle(1)[0]
	jobs.run("one", ["0 512 40", "1 256 20"], "gpus=2", others="0 %d 400 40\n" % other.pid, ticks=12, until="gpu_memory_mb = 768")
	figures, quality, _ = jobs.figures("one")
	assert figures["gpu_energy_wh"] == pytest.approx(energy_of_ticks(jobs, "one", {0: 0.5, 1: 1}), rel=0.02)
	assert quality["gpu_energy_wh"] == integral_quality(jobs)
	assert figures["gpu_sm_max_pct"] == 40 and figures["gpu_idle_held_seconds"] == 0
	(last,) = jobs.sql("SELECT max(gpu_energy_wh) AS wh FROM job_samples WHERE job_id = 'one'")
	assert last["wh"] == pytest.approx(figures["gpu_energy_wh"], abs=1e-5)
	(job,) = jobs.sql("SELECT gpu_energy_wh, gpu_energy_wh_quality, gpu_held_seconds FROM jobs WHERE job_id = 'one'")
	assert job["gpu_energy_wh"] == pytest.approx(last["wh"], abs=1e-5) and job["gpu_energy_wh_quality"] == integral_quality(jobs)
	assert job["gpu_held_seconds"] == pytest.approx(figures["gpu_held_seconds"], abs=0.001)
	assert "Wh by this job" in jobs.blocks["one"]
	trace = json.loads(jobs.proctor("export", "one", "--format", "chrome-trace").stdout)["traceEvents"]
	power = [e["args"]["power"] for e in trace if e["name"] == "GPU power for this job (W)"]
	assert max(power) == pytest.approx(1.5 * 123.45, abs=0.5) and power[-1] == 0


def test_two_jobs_on_one_gpu_share_its_energy(jobs):
	"""Both are watched by their own recorder, and each knows what the other one takes."""
	both = jobs.run_two(("small", 10), ("large", 30))
	shares = {name: both[name]["gpu_energy_wh"] / both[name]["gpu_held_seconds"] * 3600 for name in both}
	assert shares["large"] > 2 * shares["small"]
	assert shares["small"] + shares["large"] < 1.6 * 123.45


def test_memory_that_is_held_and_not_used_is_idle_time(jobs):
	block = jobs.run("one", ["0 512 0"], until="gpu_memory_mb = 512", ticks=12)
	figures, quality, _ = jobs.figures("one")
	assert figures["gpu_idle_held_seconds"] == figures["gpu_held_seconds"] > 0.5
	assert (quality["gpu_idle_held_seconds"], figures["gpu_sm_max_pct"], figures["gpu_seconds"]) == (integral_quality(jobs), 0, 0)
	for text in block, jobs.proctor("report", "one").stdout:
		assert re.search(r"idle \S+ of \S+ held", text), text
	compared = jobs.proctor("diff", "one", "one", env={"COLUMNS": "100"}).stdout
	assert re.search(r"GPU energy +[~≥][\d.]+ Wh", compared) and re.search(r"  held idle +[~≥]", compared)


IDLE_S = 2


@pytest.fixture
def impatient(tmp_path):
	"""Options of a run that reports an idle GPU after IDLE_S, not after minutes."""
	config = tmp_path / "proctor.conf"
	config.write_text("[anomaly]\ngpu_idle_seconds = %d\n" % IDLE_S, encoding="utf-8")
	return ["--config", str(config)]


def test_memory_that_is_held_while_nothing_runs_is_an_anomaly(jobs, impatient):
	found = "SELECT * FROM anomalies WHERE anomaly_type = 'gpu_idle'"
	block = jobs.run("one", ["0 512 0"], until="EXISTS (%s)" % found, ticks=1, options=impatient)
	(row,) = jobs.sql(found)
	assert (row["job_id"], row["pid"], row["severity"], row["basis"], row["threshold"]) == ("one", None, "medium", "threshold", IDLE_S)
	assert IDLE_S <= row["metric_value"] <= row["peak"]
	assert row["description"].startswith("idle GPU: 512 MiB held there, nothing has run for ")
	report = json.loads(jobs.proctor("report", "one", "--json").stdout)
	assert [item["description"] for item in report["anomalies"]] == [row["description"]]
	published = jobs.proctor("events", "one", "--kind", "anomaly", "--json").stdout.splitlines()
	assert len(published) == 2  # it began, and ended with the job
	assert "idle GPU: 512 MiB held there" in jobs.proctor("report", "one").stdout
	assert re.search(r"idle \S+ of \S+ held", block), block  # the end block has the figure; headlines are for what harms the job


@pytest.mark.parametrize("use", ["0 512 37", "0 32 0"], ids=["something runs", "a context alone"])
def test_a_gpu_that_is_used_or_hardly_held_is_no_anomaly(jobs, impatient, use):
	long = "j.timestamp > (SELECT min(timestamp) FROM job_samples WHERE gpu_memory_mb > 0) + %d" % (2 * IDLE_S)
	jobs.run("one", [use], until=long, ticks=2, options=impatient)
	assert jobs.sql("SELECT * FROM anomalies WHERE anomaly_type = 'gpu_idle'") == []


def test_a_gpu_without_a_power_meter_has_no_energy(jobs):
	block = jobs.run("one", ["0 512 37"], "unsupported=power", until="gpu_memory_mb = 512")
	figures, _, _ = jobs.figures("one")
	assert "gpu_energy_wh" not in figures and "Wh" not in block and "Wh" not in jobs.proctor("report", "one").stdout
	assert figures["gpu_held_seconds"] > 0


def test_a_hang_of_the_driver_is_no_idle_time(jobs, tmp_path):
	"""It hangs, is ended after two seconds, started again, and hangs again."""
	hang = tmp_path / "hang"
	jobs.run("one", ["0 512 0"], "hang=power while=%s" % hang, until="gpu_memory_mb = 512", ticks=4, fault=(hang, SILENT))
	figures, quality, _ = jobs.figures("one")
	(job,) = jobs.sql("SELECT duration_seconds AS took FROM jobs")
	answered = jobs.sql("SELECT count(*) AS n FROM gpu_metrics WHERE utilization_pct IS NOT NULL")[0]["n"]
	(time,) = jobs.sql("SELECT sum(dt) AS s FROM (SELECT s.timestamp - lag(s.timestamp) OVER (ORDER BY s.timestamp) AS dt, g.utilization_pct AS util"
			   " FROM snapshots s LEFT JOIN gpu_metrics g ON g.snapshot_id = s.id) WHERE util IS NOT NULL")
	assert answered and 0 < figures["gpu_idle_held_seconds"] <= time["s"] + 0.01 < job["took"]
	assert {quality[key] for key in ("gpu_idle_held_seconds", "gpu_held_seconds", "gpu_energy_wh")} == {"at_least"}


def test_the_profile_has_the_figures_on_gpus(jobs):
	jobs.run("one", ["0 512 37"], until="gpu_memory_mb = 512")
	figures, _, _ = jobs.figures("one")
	profile = json.loads(jobs.proctor("report", "one", "--json").stdout)
	for key in ("peak_gpu_memory_mb", "gpu_sm_mean_pct", "gpu_sm_max_pct", "gpu_energy_wh", "gpu_held_seconds", "gpu_idle_held_seconds"):
		assert profile[key] == figures[key] and profile["quality"][key] in {"sampled", integral_quality(jobs)}


def test_all_figures_of_the_job_on_gpus_are_in_each_place(jobs):
	keys = ("peak_gpu_memory_mb", "gpu_sm_mean_pct", "gpu_sm_max_pct", "gpu_energy_wh", "gpu_held_seconds", "gpu_idle_held_seconds")
	block = jobs.run("one", ["0 512 37", "1 256 0"], "gpus=2", until="gpu_memory_mb = 768")
	figures, quality, _ = jobs.figures("one")
	assert re.search(r"busy, \d+ % \(37 % peak\) by this job", block) and "768 MiB by this job" in block, block
	assert "Wh by this job" in block and re.search(r"idle \S+ of \S+ held", block), block
	done = jobs.proctor("export", "one", "--format", "csv", "--what", "jobs")
	(row,) = csv.DictReader(io.StringIO(done.stdout))
	trace = json.loads(jobs.proctor("export", "one", "--format", "chrome-trace").stdout)
	(slice_of_job,) = [e for e in trace["traceEvents"] if e.get("cat") == "job"]
	for key in keys:
		assert float(row[key]) == pytest.approx(figures[key], abs=0.001), key
		assert row[key.rsplit("_", 1)[0] + "_quality"] == quality[key]
		assert slice_of_job["args"][key] == figures[key], key
	compared = jobs.proctor("diff", "one", "one", "--json")
	for label in ("GPU memory", "of its GPUs", "most of one", "GPU energy", "held for", "held idle"):
		assert re.search(r"^\s*%s " % label, jobs.proctor("diff", "one", "one").stdout, re.M), label
	assert compared.returncode == 0 and all(key in compared.stdout for key in keys)


def test_the_report_labels_its_gpu_lines_and_shows_only_those_of_the_job(jobs):
	jobs.run("one", ["1 256 20"], "gpus=3", until="gpu_memory_mb = 256")
	report = jobs.proctor("report", "one").stdout
	assert "51 % busy, 51 % peak" in line_of(report, "GPU 1") and "256 MiB by this job" in line_of(report, "GPU 1")
	assert "GPU 0" not in report and "GPU 2" not in report
	assert re.search(r"this job +(\d+|[\d.]+) % busy, .* GPU time", report)


def test_ls_and_diff_have_gpus_where_a_job_used_one(jobs):
	jobs.run("one", ["0 512 37"], until="gpu_memory_mb = 512")
	jobs.run("two", ["0 1024 37"], until="gpu_memory_mb = 1024")
	listed = jobs.proctor("ls", env={"COLUMNS": "140"}).stdout
	assert re.search(r"GPU MEM", listed) and "~512 MiB" in listed and "~1.0 GiB" in listed
	compared = jobs.proctor("diff", "one", "two", env={"COLUMNS": "140"}).stdout
	assert re.search(r"GPU memory +~512 MiB +~1.0 GiB +~2.00×", compared)


def test_a_job_that_uses_no_gpu_shows_none_however_busy_they_are(jobs, children):
	other = children.idle(1)[0]
	block = jobs.run("one", [], "gpus=2", others="0 %d 400 13\n" % other.pid)
	assert "by this job" not in block and not re.search(r"^\s+gpu", block, re.M)
	assert "GPU MEM" not in jobs.proctor("ls").stdout and "GPU" not in jobs.proctor("diff", "one", "one").stdout
	report = jobs.proctor("report", "one").stdout
	assert not re.search(r"^\s+GPU \d", report, re.M)
	figures, quality, _ = jobs.figures("one")
	assert (figures["gpus_used"], quality["gpus_used"]) == (0, "sampled")
	assert "peak_gpu_memory_mb" not in figures and "gpu_seconds" not in figures


def test_without_a_gpu_nothing_names_one(proctor):
	done = proctor("run", "--summary", "--job-id", "one", "--name", "plain", "--interval", "0.1", "--", "sleep", "0.5", cwd="/")
	texts = [done.stderr] + [proctor(*args).stdout for args in (
		["ls"], ["report", "one"], ["diff", "one", "one"], ["ls", "--json"], ["diff", "one", "one", "--json"],
		["export", "one", "--format", "chrome-trace"])]
	assert [text for text in texts if re.search("gpu", text, re.I)] == []
	assert [key for key in json.loads(proctor("report", "one", "--json").stdout)["job"]["figures"] if "gpu" in key] == []


def test_a_driver_that_lists_no_processes_leaves_the_own_share_unknown(jobs):
	block = jobs.run("one", ["0 512 37"], "unsupported=processes")
	line = line_of(block, "gpu")
	assert "50 % busy" in line and "1000 MiB of 16.0 GiB held, how much by this job is not known" in line.replace("1.0 of 16.0", "1000 MiB of 16.0")
	figures, _, gpus = jobs.figures("one")
	assert not {"gpus_used", "gpu_seconds", "peak_gpu_memory_mb"} & set(figures)
	assert gpus[0]["own_peak_vram_mb"] is None
	assert "not known: the driver does not report whose" in jobs.proctor("report", "one").stdout


def test_divided_gpus_have_memory_and_no_load(jobs):
	block = jobs.run("one", ["0 512 37", "0 512 37"], "mig", until="gpu_memory_mb > 0")
	line = line_of(block, "gpu")
	assert "load not known" in line and "512 MiB by this job" in line and "% busy" not in line
	figures, _, _ = jobs.figures("one")
	assert figures["peak_gpu_memory_mb"] == 512 and "gpu_seconds" not in figures and "gpu_util_mean_pct" not in figures


def test_nvidia_smi_knows_the_jobs_memory_but_not_its_load(jobs):
	env = {**nvml("init=18"), "PROCTOR_NVIDIA_SMI": str(SMI), "PROCTOR_FAKE_USE": str(jobs.use)}
	jobs.run("one", ["1 300 50"], env=env, ticks=2, until="gpu_memory_mb > 0")
	figures, quality, _ = jobs.figures("one")
	assert (figures["gpus_used"], figures["peak_gpu_memory_mb"], quality["peak_gpu_memory_mb"]) == (1, 300, "sampled")
	assert figures["gpu_util_mean_pct"] == 51 and "gpu_seconds" not in figures


def test_a_driver_that_lies_is_not_believed(jobs):
	block = jobs.run("one", ["0 99999999 37"], "garbage")
	assert not re.search(r"\d{4,} %|TiB|PiB", block)
	figures, _, _ = jobs.figures("one")
	assert "gpu_util_max_pct" not in figures and "peak_gpu_memory_mb" not in figures


def test_a_driver_that_hangs_leaves_what_was_seen_before(jobs, tmp_path):
	hang = tmp_path / "hang"
	block = jobs.run("one", ["0 512 37"], "hang=power while=%s" % hang, until="gpu_memory_mb = 512", ticks=2, fault=(hang, SILENT))
	assert "512 MiB by this job" in line_of(block, "gpu")


def test_exports_have_the_gpus_of_the_store(jobs, children):
	other = children.idle(1)[0]
	jobs.run("one", ["0 512 37", "1 256 20"], "gpus=2", others="0 %d 400 13\n" % other.pid, until="gpu_memory_mb = 768")
	rows = list(csv.DictReader(io.StringIO(jobs.proctor("export", "one", "--format", "csv", "--what", "gpus").stdout)))
	stored = jobs.sql("SELECT g.timestamp AS at, g.gpu_index AS gpu, g.utilization_pct AS util, g.power_w AS power, p.memory_used_mb AS own, p.sm_pct AS sm"
			  " FROM gpu_metrics g LEFT JOIN gpu_processes p ON p.snapshot_id = g.snapshot_id AND p.gpu_index = g.gpu_index AND p.job_id = 'one'"
			  " ORDER BY g.snapshot_id, g.gpu_index")
	number = lambda text: float(text) if text else None  # pylint: disable=unnecessary-lambda-assignment
	assert [(int(r["gpu_index"]), number(r["utilization_pct"]), number(r["power_w"]), number(r["own_memory_mb"]), number(r["own_sm_pct"])) for r in rows] \
		== [(s["gpu"], s["util"], s["power"], s["own"], s["sm"]) for s in stored]
	assert {row["job_id"] for row in rows} == {"one"} and rows[-1]["own_memory_mb"] == "256.0"
	samples = list(csv.DictReader(io.StringIO(jobs.proctor("export", "one", "--format", "csv", "--what", "samples").stdout)))
	assert {row["gpu_memory_mb"] for row in samples} >= {"768.0"} and {row["gpu_util_pct"] for row in samples} >= {"50.5"}
	trace = json.loads(jobs.proctor("export", "one", "--format", "chrome-trace").stdout)["traceEvents"]
	counters = {(e["name"], value) for e in trace if e["ph"] == "C" for value in e["args"].values()}
	assert {("GPU 0 busy (%)", 50), ("GPU 1 busy (%)", 51), ("GPU 0 memory of this job (MiB)", 512), ("GPU 1 power (W)", 123.45),
		("GPU memory (MiB)", 768)} <= counters


@pytest.mark.needs_root
def test_a_plain_users_job_has_its_gpu_too(as_nobody):
	for name in ("fake-nvml.so",):
		library = as_nobody.place / name
		library.write_bytes((FAKES / name).read_bytes())
		library.chmod(0o755)
	use = as_nobody.place / "use"
	env = {"PROCTOR_NVML_PATH": str(library), "PROCTOR_FAKE_NVML": "use=%s" % use}
	done = as_nobody("run", "--summary", "--job-id", "mine", "--interval", "0.1", "--", "sh", "-c", "echo 0 $$ 512 37 > use; sleep 2; true", env=env)
	assert done.returncode == 0, done.stderr
	assert "512 MiB by this job" in line_of(done.stderr, "gpu")
