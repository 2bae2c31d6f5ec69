# SPDX-License-Identifier: MIT
"""Learning from past runs: `backtest` on files that a site has."""
import json
import random

HEADER = "job_type,started_at,duration_seconds,peak_used_mb,input_bytes,requested_mb\n"


def write(path, rows, header=HEADER):
	path.write_text(header + "".join(",".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
	return path


def linear_runs(n, seed=1):
	"""Memory that follows the size of the input."""
	rng = random.Random(seed)
	for i in range(n):
		size = rng.randint(10**8, 10**10)
		yield "align", 1700000000 + 60 * i, rng.randint(50, 100), "%.2f" % (200 + size / 1e6 * rng.uniform(.98, 1.02)), size, 64000


def backtest(proctor, path, *options):
	done = proctor("backtest", "--json", *options, path)
	assert done.returncode == 0, done.stderr
	return json.loads(done.stdout), done.stderr


def test_backtest_costs_a_history_as_by_hand(proctor, tmp_path):
	"""The first run wastes its request; the second is predicted from the first by every baseline."""
	path = write(tmp_path / "runs.csv", [("a", 1, 3600, 1000, "", 2000), ("a", 2, 3600, 1500, "", 2000)])
	answer, _ = backtest(proctor, path)
	gb = 2**20 / 1e9
	assert answer["total"]["runs"] == 2
	presets = answer["baselines"]["presets"]
	assert abs(presets["gbh_wasted"] - 1500 * gb) < 1e-3 and presets["failed_attempts_pct"] == 0
	largest = answer["baselines"]["max"]  # 1000 fail, then 2000 hold 1500
	assert abs(largest["gbh_wasted"] - (1000 + 1000 + 500) * gb) < 1e-3 and largest["failed_attempts_pct"] == 50


def test_backtest_beats_presets_and_baselines_where_memory_follows_the_input(proctor, tmp_path):
	path = write(tmp_path / "runs.csv", linear_runs(300))
	answer, errors = backtest(proctor, path)
	ours = answer["total"]
	assert errors == "" and ours["runs"] == 300 and answer["policy"] == "low-waste"
	assert all(ours["gbh_wasted"] < other["gbh_wasted"] for other in answer["baselines"].values())
	assert 93 <= ours["coverage_95_pct"] <= 97
	assert [t["job_type"] for t in answer["types"]] == ["align"]
	failures, _ = backtest(proctor, path, "--policy", "low-failure")
	assert failures["total"]["failed_attempts_pct"] <= .9
	text = proctor("backtest", path).stdout
	assert text.startswith("300 runs of 1 type, policy low-waste\n") and "follow_the_leader" in text


def test_backtest_sorts_a_file_that_is_not_in_time_order(proctor, tmp_path):
	rows = list(linear_runs(100))
	sorted_answer, _ = backtest(proctor, write(tmp_path / "sorted.csv", rows))
	random.Random(3).shuffle(rows)
	assert backtest(proctor, write(tmp_path / "shuffled.csv", rows))[0] == sorted_answer


def test_backtest_rejects_bad_rows_and_uses_the_others(proctor, tmp_path):
	path = write(tmp_path / "runs.csv", [("a", 1, 10, 100, "", ""), ("a", "never", 10, 100, "", ""), ("a", 3, 10, 100, "", "")])
	answer, errors = backtest(proctor, path)
	assert answer["total"]["runs"] == 2 and answer["rejected"] == 1
	assert answer["rejected_rows"] == [{"line": 3, "reason": "started_at 'never': not readable"}]
	assert "runs.csv:3: rejected: started_at 'never': not readable" in errors


def test_backtest_refuses_what_is_no_history(proctor, tmp_path):
	assert proctor("backtest", tmp_path / "none.csv").returncode == 3
	other = tmp_path / "other.csv"
	other.write_text("a,b\n1,2\n", encoding="utf-8")
	done = proctor("backtest", other)
	assert done.returncode == 1 and "no column 'job_type'" in done.stderr
	assert proctor("backtest", other, "--policy", "cheap").returncode == 2


def imported(proctor, path):
	done = proctor("import", "--json", path)
	assert done.returncode == 0, done.stderr
	return json.loads(done.stdout), done.stderr


def estimate(proctor, *words, status=0):
	done = proctor("estimate", "--json", *words)
	assert done.returncode == status, done.stderr
	return json.loads(done.stdout)


def test_an_imported_history_is_what_estimates_learn_from(proctor, tmp_path):
	path = write(tmp_path / "runs.csv", linear_runs(200))
	assert imported(proctor, path)[0]["imported"] == 200
	again, _ = imported(proctor, path)
	assert (again["imported"], again["already_there"]) == (0, 200)
	small, large = (estimate(proctor, "align", "--input-bytes", size) for size in ("1000000000", "8000000000"))
	for answer, needed in ((small, 1200), (large, 8200)):
		assert answer["sample_size"] == 200 and answer["basis"] == "job" and answer["estimated_cpu_seconds"] is None
		assert .98 * needed < answer["estimated_peak_memory_mb"] < 1.5 * needed
		assert .98 * needed < answer["upper_95"]["peak_memory_mb"] < 1.5 * needed
		assert 50 <= answer["estimated_duration_seconds"] <= 100 and 0 < answer["confidence"] <= 1
	assert small["quantiles"]["peak_memory_mb"]["p50"] < small["quantiles"]["peak_memory_mb"]["max"]
	assert proctor("ls").stdout == "" and json.loads(proctor("ls", "--json").stdout)["jobs"] == []
	rows = json.loads(proctor("sql", "--json", "select count(*) as n, max(peak_rss_mb) as rss from imported_runs").stdout)
	assert rows == [{"n": 200, "rss": None}]


def test_import_keeps_good_rows_and_rejects_bad_ones(proctor, tmp_path):
	path = write(tmp_path / "runs.csv", [("a", 1, 10, 100, "", ""), ("a", 2, "long", 100, "", ""), ("a", 3, 10, 100, "", "")])
	answer, errors = imported(proctor, path)
	assert (answer["imported"], answer["rejected"]) == (2, 1)
	assert "runs.csv:3: rejected: duration_seconds 'long': not readable" in errors
	assert estimate(proctor, "a")["sample_size"] == 2


def test_sacct_output_is_imported_as_largest_processes(proctor, tmp_path):
	path = tmp_path / "sacct.txt"
	path.write_text("JobID|JobName|Start|Elapsed|MaxRSS|ReqMem|State|ExitCode\n"
			"7|align|2026-01-01T00:00:00|01:00:00||8G|COMPLETED|0:0\n"
			"7.batch|batch|2026-01-01T00:00:00|01:00:00|1048576K||COMPLETED|0:0\n"
			"8|align|2026-01-02T00:00:00|00:30:00||8G|FAILED|1:0\n"
			"8.batch|batch|2026-01-02T00:00:00|00:30:00|1024K||FAILED|1:0\n", encoding="utf-8")
	assert imported(proctor, path)[0]["imported"] == 2
	answer = estimate(proctor, "align")
	assert (answer["basis"], answer["sample_size"], answer["failed_runs"]) == ("process", 1, 1)
	assert answer["quantiles"]["peak_memory_mb"]["max"] == 1024
	assert "largest process" in proctor("estimate", "align").stdout


def test_runs_that_took_no_second_count(proctor, tmp_path):
	"""As sacct and Nextflow print them, which know whole seconds only."""
	imported(proctor, write(tmp_path / "runs.csv", [("quick", 1700000000 + i, 0, 4096, "", "") for i in range(6)]))
	for policy in ("low-failure", "low-waste"):
		assert 4096 <= estimate(proctor, "quick", "--policy", policy)["estimated_peak_memory_mb"] < 8192


def test_bases_are_never_pooled(proctor, tmp_path):
	header = "job_type,started_at,duration_seconds,peak_used_mb,peak_rss_mb\n"
	path = write(tmp_path / "runs.csv", [("a", 1, 10, 500, ""), ("a", 2, 10, "", 100), ("a", 3, 10, "", 100)], header)
	assert imported(proctor, path)[0]["imported"] == 3
	answer = estimate(proctor, "a")
	assert (answer["basis"], answer["sample_size"]) == ("job", 1)


def test_after_a_failure_only_what_ran_out_is_raised(proctor, tmp_path):
	imported(proctor, write(tmp_path / "runs.csv", linear_runs(50)))
	first = estimate(proctor, "align")
	oom = estimate(proctor, "align", "--attempt", "2", "--last-exit", "oom_own_limit")
	late = estimate(proctor, "align", "--attempt", "2", "--last-exit", "time_limit")
	other = estimate(proctor, "align", "--attempt", "2", "--last-exit", "segfault")
	assert oom["raised"] == "memory" and oom["estimated_peak_memory_mb"] > first["estimated_peak_memory_mb"]
	assert oom["estimated_duration_seconds"] == first["estimated_duration_seconds"]
	assert late["raised"] == "time" and late["estimated_peak_memory_mb"] == first["estimated_peak_memory_mb"]
	assert late["upper_95"]["duration_seconds"] > 1.9 * first["upper_95"]["duration_seconds"]
	assert other["raised"] is None and other["estimated_peak_memory_mb"] == first["estimated_peak_memory_mb"]
	assert proctor("estimate", "align", "--attempt", "2").returncode == 2
	assert estimate(proctor, "align", "--last-exit", "oom_own_limit") == oom  # an attempt that failed is followed by the second
	for cause, raised in (("oom_outer_limit", "memory"), ("oom_machine", "memory"), ("oom_daemon", "memory"), ("timeout_command", "time"),
			      ("gpu_oom", None), ("rlimit_cpu", None), ("killed_by_process", None), ("unknown", None), ("failed", None)):
		assert estimate(proctor, "align", "--last-exit", cause)["raised"] == raised, cause
	done = proctor("estimate", "align", "--last-exit", "omm_own_limit")
	assert done.returncode == 2 and "did you mean oom_own_limit?" in done.stderr


def test_requests_are_printed_in_the_words_of_schedulers(proctor, tmp_path):
	header = "job_type,started_at,duration_seconds,peak_used_mb\n"
	imported(proctor, write(tmp_path / "runs.csv", [("a", i, 90, 1000) for i in range(40)], header))
	wanted = estimate(proctor, "a")["estimated_peak_memory_mb"]
	for option, prefix, middle in (("--slurm", "--mem=", "M --time="), ("--systemd", "-p MemoryMax=", "M -p RuntimeMaxSec="),
				       ("--snakemake", "mem_mb=", ", runtime="), ("--nextflow", "memory = '", " MB'\ntime = '")):
		text = proctor("estimate", "a", option).stdout
		assert text.startswith(prefix) and middle in text, text
		assert wanted <= int(text[len(prefix):].split(middle)[0]) <= wanted + 1
	assert proctor("estimate", "a", "--slurm", "--json").returncode == 2


def test_recorded_jobs_are_learned_from_with_the_same_options_only(proctor):
	for _ in range(2):
		proctor("run", "-q", "--", "/bin/sleep", "0.01")
	answer = estimate(proctor, "sleep")
	assert answer["sample_size"] == 2 and answer["estimated_peak_memory_mb"] > 0 and answer["estimated_cpu_seconds"] > 0
	proctor("run", "-q", "--", "/bin/sleep", "--", "0.01")
	proctor("run", "-q", "--", "/bin/sleep", "--help")
	answer = estimate(proctor, "sleep")
	assert (answer["sample_size"], answer["runs_with_other_options"]) == (1, 3)


def test_recorded_sheets_are_learned_from(proctor):
	script = '"$P" sheet 1 -- true; "$P" sheet 2 -- head -c 60m /dev/zero | tail -c 60m >/dev/null; exit %d'
	proctor.env["P"] = str(proctor.binary)
	for status in (0, 0, 1):  # its sheets were complete, though the job failed
		proctor("run", "-q", "--name", "steps", "--", "sh", "-c", script % status)
	answer = estimate(proctor, "steps", "--sheet", "1")
	assert (answer["sheet_num"], answer["sample_size"], answer["basis"], answer["failed_runs"]) == (1, 3, "process", 0)
	assert answer["estimated_peak_memory_mb"] > 0 and answer["estimated_duration_seconds"] > 0 and answer["estimated_cpu_seconds"] > 0
	assert estimate(proctor, "steps")["sample_size"] == 2
	done = proctor("estimate", "steps", "--sheet", "7")
	assert done.returncode == 3 and "no history of sheet 7 of 'steps'" in done.stderr
	proctor("run", "-q", "--name", "steps", "--", "sh", "-c", '"$P" sheet 1 -- false')
	answer = estimate(proctor, "steps", "--sheet", "1")
	assert (answer["sample_size"], answer["failed_runs"]) == (3, 1)


def test_no_history_is_reported_clearly(proctor):
	done = proctor("estimate", "nothing")
	assert done.returncode == 3 and "no history of 'nothing'" in done.stderr and done.stdout == ""
	answer = estimate(proctor, "nothing", status=3)
	assert answer["sample_size"] == 0 and answer["estimated_peak_memory_mb"] is None and answer["confidence"] == 0
