#!/usr/bin/env python3
"""Compares what `hindmost advise` forecasts from a run as it is with what the same seed took with the setting.

Prints a Markdown table: gains in percent of the time in which jobs ran. Forecasts are ranges; a gain is anything in them.
"""

import argparse
import csv
import json
import subprocess
from pathlib import Path

# Settings of run.py, and how the titles of advise's forecasts begin.
FORECASTS = {
    "speculation": "speculation for tasks that take 1.5 times",
    "partitions": "as many tasks as slots",
    "no-locality-wait": "no wait for nearer slots",
}


def advice(program, log):
    found = subprocess.run([program, "advise", log, "--json"], check=True, capture_output=True, text=True)
    return json.loads(found.stdout)["logs"][0]["applications"][0].get("advice")


def forecast(advice, setting, seconds):
    """The forecast as text, and its ends in percent."""
    if advice is None:
        return "nothing to gain", (0.0, 0.0)
    if not advice["calibration"]["calibrated"]:
        return "not calibrated", None
    for one in advice["tried"]:
        if one["title"].startswith(FORECASTS[setting]):
            least, most = (100 * gain / seconds for gain in one["gain_seconds_range"])
            mark = ", recommended" if one["recommended"] else ""
            return f"{least:.0f} to {most:.0f}%{mark}", (least, most)
    return "not tried", None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of the logs and of cases.tsv")
    parser.add_argument("--program", default="hindmost")
    options = parser.parse_args()
    with open(options.folder / "cases.tsv", newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["jobs_s"] and row.get("log")]
    key = lambda row: (row["case"], row["seed"], row["repeat"])
    bases = {key(row): row for row in rows if row["setting"] == "as it is"}
    found, within, compared = {}, 0, 0
    print("| case | seed | setting | recorded, replayed (s a job) | forecast | measured | distance |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for row in sorted(rows, key=key):
        base = bases.get(key(row))
        if base is None or row is base or row["setting"] not in FORECASTS:
            continue
        if key(row) not in found:
            found[key(row)] = advice(options.program, base["log"])
        of_case, seconds = found[key(row)], float(base["jobs_s"])
        measured = 100 * (seconds - float(row["jobs_s"])) / seconds
        text, ends = forecast(of_case, row["setting"], seconds)
        distance = "–"
        if ends is not None:
            away = max(ends[0] - measured, measured - ends[1], 0.0)
            distance = f"{away:.0f}"
            compared, within = compared + 1, within + (away <= 15)
        times = "–"
        if of_case is not None:
            calibration = of_case["calibration"]
            times = f"{calibration['job_time_mean']:.1f}, {calibration['replayed_job_time_mean']:.1f}"
        print(f"| {row['case']} | {row['seed']} | {row['setting']} | {times} | {text} | {measured:.0f}% | {distance} |")
    print(f"\n{within} of {compared} measured gains are in the forecast range or at most 15 points away from it.")


if __name__ == "__main__":
    main()
