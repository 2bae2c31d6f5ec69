# SPDX-License-Identifier: MIT
"""What goes with failure: jobs with a tag fail, jobs without it do not, and insights finds that tag with the right numbers."""
import json
import time

import pytest

from daemonkit import cold  # noqa: F401 pylint: disable=unused-import
from runkit import wait_for

JOBS = 12  # of each kind


def record(proctor, name, status, *options):
	assert proctor("run", "--quiet", "--name", name, *options, "--", "sh", "-c", "exit %d" % status).returncode == status


def insights(proctor, *options):
	result = proctor("insights", "--json", *options)
	assert result.returncode == 0, result.stderr
	return json.loads(result.stdout)


def test_a_tag_that_goes_with_failure_is_found_and_jobs_of_other_types_are_not_mixed_in(proctor):
	for i in range(JOBS):
		record(proctor, "align", int(i > 1), "--tag", "mode=fast")
		record(proctor, "align", int(i == 5), "--tag", "mode=safe")
	for _ in range(5):
		record(proctor, "fine", 0)
	record(proctor, "rare", 1)

	found = insights(proctor)
	assert (found["jobs"], found["job_types"], found["analysed_jobs"], found["analysed_types"]) == (2 * JOBS + 6, 3, 2 * JOBS, 1)
	assert (found["types_too_small"], found["types_without_both_outcomes"], found["jobs_left_out"]) == (1, 1, 0)
	assert {one["job_type"] for one in found["patterns"] if one["type"] == "RESOURCE_CORRELATION"} == {"align"}
	tag = next(one for one in found["patterns"] if "mode=fast" in one["description"])
	assert not any("mode=safe" in one["description"] for one in found["patterns"])  # the same jobs
	assert tag["subject"] == "tag mode=fast above" and tag["support"] == 2 * JOBS
	assert tag["description"].startswith("jobs of type align with tag mode=fast failed 83 % of the time, others 8.3 %; n = 24; q ")
	assert abs(tag["effect"] - 9 / 12) < 1e-3 and 0 < tag["interval"][0] < tag["effect"] < tag["interval"][1]
	assert abs(tag["p"] - 0.00064419) < 1e-7  # Fisher's exact test of 10 of 12 and 1 of 12
	assert tag["p"] <= tag["q"] <= 0.04 and tag["confidence"] > 0.6
	assert tag["first_seen"] < tag["last_seen"]
	assert insights(proctor)["patterns"] == found["patterns"]  # the same jobs, the same answer

	text = proctor("insights").stdout
	assert tag["description"] in text
	assert "24 of 30 finished jobs of 1 of 3 types" in text and "1 type with fewer than 5 jobs" in text


def test_nothing_found_reports_what_was_analysed_and_what_is_missing(proctor, tmp_path):
	for i in range(6):
		record(proctor, "job", i % 2)
	config = tmp_path / "proctor.conf"
	config.write_text("[correlation]\nmin_sample_size = 7\n", encoding="utf-8")
	text = proctor("insights", "--config", config).stdout
	assert "nothing found" in text and "0 of 6 finished jobs of 0 of 1 type " in text and "fewer than 7 jobs" in text
	assert insights(proctor, "--since", "now")["jobs"] == 0
	assert proctor("insights", "--since", "tea time").returncode == 2


def write_history(path, rate_above):
	"""60 runs; memory from 0.5 to 2 GB, and fixed numbers that have nothing to do with it."""
	rows = ["job_type,started_at,duration_seconds,peak_used_mb,outcome,tags"]
	for i in range(60):
		memory, chance = 500 + 1500 * (i * .6180339887 % 1), (i * 29 + 5) * .7548776662 % 1
		failed = chance < (rate_above if memory > 1400 else .15)
		rows.append("align,%d,%.1f,%.0f,%s,shard=%d" % (1700000000 + 600 * i, 60 + 100 * (i * 7 * .5698402910 % 1), memory,
								 "failed" if failed else "ok", i % 4))
	path.write_text("\n".join(rows) + "\n", encoding="utf-8")


@pytest.mark.parametrize("rate_above", [.9, .15])
def test_an_effect_that_was_planted_in_an_imported_history_is_found_and_noise_is_not(proctor, tmp_path, rate_above):
	write_history(tmp_path / "runs.csv", rate_above)
	assert proctor("import", tmp_path / "runs.csv").returncode == 0
	assert insights(proctor)["jobs"] == 0  # they are older than 7 days
	found = insights(proctor, "--since", "2020-01-01")
	assert (found["jobs"], found["analysed_types"]) == (60, 1)
	if rate_above == .15:
		assert found["patterns"] == []
		return
	memory = found["patterns"][0]
	assert (memory["type"], memory["job_type"], memory["support"]) == ("RESOURCE_CORRELATION", "align", 60)
	assert memory["subject"] == "memory_used above" and 1200 < memory["from"] / 2**20 < 1600 and memory["to"] is None
	assert memory["description"].startswith("jobs of type align that use more than 1.")
	assert memory["q"] <= .01 and memory["effect"] > .4 and len(found["patterns"]) == 1


def write_recent(path, first_day, days_ago, fails):
	rows = ["job_type,started_at,duration_seconds,peak_used_mb,outcome"]
	for i in range(60):
		memory = 500 + 1500 * (i * .6180339887 % 1)
		rows.append("align,%d,10,%.0f,%s" % (first_day - 86400 * days_ago + 600 * i, memory, "failed" if fails(memory, i) else "ok"))
	path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def patterns(proctor):
	result = proctor("sql", "SELECT subject, support, retired IS NOT NULL, first_seen, last_seen FROM patterns ORDER BY id")
	assert result.returncode == 0, result.stderr
	return [line.split() for line in result.stdout.splitlines() if "memory_used" in line]


def test_patterns_are_stored_and_retired_when_later_jobs_contradict_them(proctor, tmp_path):
	now = int(time.time())
	write_recent(tmp_path / "old.csv", now, 6, lambda memory, i: memory > 1400 and i % 10 != 0)
	assert proctor("import", tmp_path / "old.csv").returncode == 0
	assert insights(proctor, "--since", "30d")["patterns"] and patterns(proctor) == []  # shown only
	assert insights(proctor)["patterns"][0]["subject"] == "memory_used above"
	stored = patterns(proctor)
	assert [line[:4] for line in stored] == [["memory_used", "above", "60", "0"]]
	insights(proctor)
	assert patterns(proctor) == stored  # found again: the same row

	write_recent(tmp_path / "new.csv", now, 2, lambda memory, i: memory <= 1400 and i % 10 != 0)
	assert proctor("import", tmp_path / "new.csv").returncode == 0
	assert not any(one["subject"] == "memory_used above" for one in insights(proctor)["patterns"])
	assert patterns(proctor)[0][:4] == ["memory_used", "above", "60", "1"]  # retired, and kept


def test_the_daemon_searches_for_patterns_and_stores_them(cold, tmp_path):  # noqa: F811 pylint: disable=redefined-outer-name
	write_recent(tmp_path / "runs.csv", int(time.time()), 6, lambda memory, i: memory > 1400 and i % 10 != 0)
	assert cold.proctor("import", tmp_path / "runs.csv").returncode == 0
	cold.start()
	assert wait_for(lambda: patterns(cold.proctor), step=.3)[0][:4] == ["memory_used", "above", "60", "0"]
	description = cold.proctor("sql", "SELECT description FROM patterns").stdout
	assert "jobs of type align that use more than 1." in description
