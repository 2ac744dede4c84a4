#!/usr/bin/env python3
"""Compares policy auto with others in cells of load, tail, knowledge and correlation, and prints tables in Markdown.

    cargo build --release && python3 crates/hindmost-policies/benches/cells.py target/release/hindmost [SEED] [quick]

A cell has 100 machines of one slot and 100 jobs of 1 to 100 tasks, Pareto durations with mean 1, and five seeds from SEED (101) on; `quick`
takes fewer loads, tails, correlations and policies, and three seeds. All policies get the same jobs in each seed, and serve the job with the fewest remaining tasks first unless they have an order of their own.
"""
import json
import math
import subprocess
import sys
import tempfile

POLICIES = ["none", "spark", "late", "mantri", "mantri(kill_restart=true)", "sda", "ese", "sca", "dolly", "dollymp", "pace", "auto"]
LOADS = [0.1, 0.3, 0.6, 0.9, 1.3]
TAILS = [1.5, 2, 3, 5]
KNOWLEDGE = ["progress(0.1)", "progress(0.3)", "age"]
CORRELATIONS = [0, 0.25, 0.5, 0.75, 1]
SLOTS, JOBS, TASKS = 100, 100, 50.5
SEEDS = 5
if "quick" in sys.argv:
    POLICIES = ["none", "mantri", "dollymp", "pace", "auto"]
    LOADS, TAILS, CORRELATIONS, SEEDS = [0.1, 0.9], [1.5, 2, 5], [0, 0.5, 1], 3

SCENARIO = """name = "cell"
order = "fewest_remaining"
horizon = {horizon}
seeds = {seeds}
knowledge = "{knowledge}"
cluster.machines = {slots}
[workload]
correlation = {correlation}
arrival = {{ poisson = {{ rate = {rate} }} }}
tasks = {{ uniform = {{ min = 1, max = 100 }} }}
duration = {{ pareto = {{ alpha = {tail}, mean = 1.0 }} }}
"""


def run(hindmost, seed, **cell):
    rate = cell["load"] * SLOTS / TASKS
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(SCENARIO.format(rate=rate, horizon=JOBS / rate, slots=SLOTS, seeds=SEEDS, **cell))
        file.flush()
        command = [hindmost, "simulate", file.name, "--policy", ",".join(POLICIES), "--seed", str(seed), "--json"]
        results = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["results"]
    return {result["policy"]: (result["flowtime"]["mean"], result["resource"]["mean"]) for result in results}


def geometric(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def main():
    hindmost, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 101
    rows, behind = [], []
    for knowledge in KNOWLEDGE:
        for correlation in CORRELATIONS:
            ratios, to_none, resources, others = [], [], [], {}
            for load in LOADS:
                for tail in TAILS:
                    cell = dict(knowledge=knowledge, correlation=correlation, load=load, tail=tail)
                    results = run(hindmost, seed, **cell)
                    best = min((name for name in results if name != "auto"), key=lambda name: results[name][0])
                    ratio = results["auto"][0] / results[best][0]
                    ratios.append(ratio)
                    to_none.append(results["auto"][0] / results["none"][0])
                    resources.append(results["auto"][1] / results["none"][1])
                    for name, (flowtime, _) in results.items():
                        others.setdefault(name, []).append(flowtime / results["auto"][0])
                    if ratio > 1.05:
                        behind.append((ratio, cell, best))
            second = min((name for name in others if name not in ("auto", "none")), key=lambda name: geometric(others[name]))
            rows.append(
                f"| {knowledge} | {correlation} | {geometric(ratios):.2f} | {max(ratios):.2f} | {geometric(to_none):.2f} | "
                f"{max(to_none):.2f} | {geometric(resources):.2f} | `{second}` {geometric(others[second]):.2f} |"
            )
            print(rows[-1], file=sys.stderr, flush=True)
    print("| knowledge | correlation | to the best other | worst cell | to `none` | worst cell | resource to `none` | next policy |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(rows))
    print("\nCells in which another policy is more than 5% better:\n")
    print("| ratio | knowledge | correlation | load | tail index | policy |\n| --- | --- | --- | --- | --- | --- |")
    for ratio, cell, best in sorted(behind, key=lambda one: -one[0]):
        print(f"| {ratio:.2f} | {cell['knowledge']} | {cell['correlation']} | {cell['load']} | {cell['tail']} | `{best}` |")


main()
