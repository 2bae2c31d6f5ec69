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
