#!/usr/bin/env python3
"""Runs jobs of sleeping tasks whose delays have known causes, without copies and with policy pace, and compares what `hindmost advise`
forecasts from the journal of the first with what the second took. Prints a Markdown table. Gains are in percent of the job's time."""

import argparse
import json
import random
import subprocess
import tempfile
from pathlib import Path

COPIES = 8
# The nodes with their slots, and the number of tasks of each phase, unless a case has others.
NODES, TASKS = "n1:4,n2:4", [80]
# Tasks sleep for the duration that their line of the file gives for the attempt, times the factor of the node.
PHASE = """
[[phase]]
name = "work{number}"
{after}tasks = {tasks}
cpus = 1
command = '''
line=$(sed -n "$((HINDMOST_TASK + 1))p" "{durations}")
seconds=$(echo "$line" | cut -d: -f$((HINDMOST_ATTEMPT + 1)))
exec sleep $(awk -v s="$seconds" -v n="$HINDMOST_NODE" 'BEGIN {{ print s * (n == "n2" ? {factor} : 1) }}')
'''
"""


def alike(draw, seconds=0.5):
    return seconds * draw.uniform(0.95, 1.05)


def equal(seconds):
    """Attempts that take about as long."""
    return lambda draw: [alike(draw, seconds) for _ in range(COPIES)]


def hung(draw):
    return [alike(draw) * (20 if draw.random() < 0.05 else 1)] + [alike(draw) for _ in range(COPIES - 1)]


def long(draw):
    return [alike(draw) * (12 if draw.random() < 0.05 else 1)] * COPIES


# For each case: why tasks are slow, the factor of node n2, and the durations of a task's attempts; then the nodes and the tasks of each
# phase, if they are others.
CASES = {
    "none": ("equal tasks", 1, equal(0.5)),
    "hung-attempts": ("the first attempt of 5% of the tasks takes 20 times as long", 1, hung),
    "slow-node": ("node n2, with half of the slots, is 4 times as slow", 4, equal(0.5)),
    "luck": (
        "all attempts draw their durations from a Pareto distribution with α 1.3",
        1,
        lambda draw: [min(0.2 * draw.paretovariate(1.3), 15.0) for _ in range(COPIES)],
    ),
    "long-tasks": ("5% of the tasks take 12 times as long, in every attempt", 1, long),
    "log-normal-tasks": (
        "durations are log-normal with σ 1, the same in every attempt",
        1,
        lambda draw: [min(0.5 * draw.lognormvariate(-0.5, 1.0), 10.0)] * COPIES,
    ),
    "slow-node-8": ("node n2 is 8 times as slow", 8, equal(0.5)),
    "slow-node-few": ("4 times as slow, and few and long tasks", 4, equal(1.5), NODES, [28]),
    "slow-node-hung": ("4 times as slow, and hung attempts", 4, hung),
    "slow-node-long": ("4 times as slow, and long tasks", 4, long),
    "slow-node-phases": ("4 times as slow, and two phases", 4, equal(0.6), NODES, [40, 40]),
    "slow-node-small": ("3 times as slow, with a quarter of the slots", 3, equal(1.0), "n1:6,n2:2", [60]),
    "slow-node-of-3": ("one of three nodes is 3 times as slow", 3, equal(0.7), "n1:3,n2:3,n3:3", [100]),
    "slow-node-twice": ("one of three nodes is twice as slow", 2, equal(1.2), "n1:3,n2:3,n3:3", [60]),
    "slow-node-short": ("one of three nodes is 8 times as slow, in short phases", 8, equal(0.6), "n1:2,n2:2,n3:2", [24] * 3),
    "slow-node-log-normal": (
        "one of three nodes is 3 times as slow, durations are log-normal with σ 0.7",
        3,
        lambda draw: [min(0.8 * draw.lognormvariate(-0.245, 0.7), 10.0)] * COPIES,
        "n1:4,n2:4,n3:4",
        [120],
    ),
}


def cluster(case):
    """The nodes of a case, and the tasks of each phase."""
    return CASES[case][3:] or (NODES, TASKS)


def phases(folder, case, seed):
    """The phases of a case, which read the durations of each task's attempts from a file."""
    draw = random.Random(f"{case} {seed}")
    _, factor, seconds = CASES[case][:3]
    for number, tasks in enumerate(cluster(case)[1]):
        durations = folder / f"{case}-{seed}-{number}.txt"
        lines = [":".join(f"{one:.3f}" for one in seconds(draw)) for _ in range(tasks)]
        durations.write_text("\n".join(lines) + "\n")
        after = f'after = ["work{number - 1}"]\n' if number else ""
        yield PHASE.format(number=number, after=after, tasks=tasks, durations=durations, factor=factor)


def run(program, folder, case, seed, policy):
    job = folder / f"{case}-{seed}.toml"
    job.write_text('name = "case"\n' + "".join(phases(folder, case, seed)))
    out = folder / f"{case}-{seed}-{policy}"
    options = ["--nodes", cluster(case)[0], "--policy", policy, "--out", out, "--json"]
    done = subprocess.run([program, "run", job, *options], check=True, stdout=subprocess.PIPE, text=True)
    return out, json.loads(done.stdout)["flowtime"]


def whole(percent):
    """The rounded number with a minus sign."""
    return str(round(percent)).replace("-", "−")


def forecast(program, out, seconds):
    """The forecast of policy pace as text, and its ends in percent."""
    found = subprocess.run([program, "advise", str(out), "--json"], check=True, capture_output=True, text=True)
    advice = json.loads(found.stdout)["logs"][0]["applications"][0].get("advice")
    if advice is None:
        return "nothing to gain", (0.0, 0.0)
    if not advice["calibration"]["calibrated"]:
        return "not calibrated", None
    for one in advice["tried"]:
        if one["title"] == "policy pace":
            least, most = (100 * gain / seconds for gain in one["gain_seconds_range"])
            mark = ", recommended" if one["recommended"] else ""
            return f"{whole(least)} to {whole(most)}%{mark}", (least, most)
    return "not tried", None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="hindmost")
    parser.add_argument("--case", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--seed", nargs="+", type=int, default=[1, 2, 3])
    options = parser.parse_args()
    print("| case | seed | without copies | with pace | forecast | measured | distance |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    compared, within = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for case in options.case:
            for seed in options.seed:
                out, without = run(options.program, Path(folder), case, seed, "none")
                _, with_pace = run(options.program, Path(folder), case, seed, "pace")
                measured = 100 * (without - with_pace) / without
                text, ends = forecast(options.program, out, without)
                distance = "–"
                if ends is not None:
                    away = max(ends[0] - measured, measured - ends[1], 0.0)
                    distance = f"{away:.0f}"
                    compared, within = compared + 1, within + (away <= 15)
                row = [case, str(seed), f"{without:.1f} s", f"{with_pace:.1f} s", text, f"{whole(measured)}%", distance]
                print(f"| {' | '.join(row)} |", flush=True)
    print(f"\n{within} of {compared} measured gains are in the forecast range or at most 15 points away from it.")


if __name__ == "__main__":
    main()
