#!/usr/bin/env python3
"""Compares policy auto with others in cells of load, tail, knowledge and correlation, and prints tables in Markdown.

    cargo build --release && python3 crates/hindmost-policies/benches/cells.py target/release/hindmost [SEED] [quick|worlds]

A cell has 100 machines of one slot and 100 jobs of 1 to 100 tasks, Pareto durations with mean 1, and five seeds from SEED (101) on; `quick`
takes fewer loads, tails, correlations and policies, and three seeds. `worlds` compares in worlds that differ from these cells in one
respect each, and of which policies may know less than is true. All policies get the same jobs in each seed, and serve the job with the fewest remaining tasks first unless they have an order of their own.
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
if "worlds" in sys.argv:
    POLICIES = ["none", "mantri", "dollymp", "pace", "sda", "late", "auto"]
    LOADS, TAILS, SEEDS = [0.2, 0.9], [1.5, 3], 3
if "quick" in sys.argv:
    POLICIES = ["none", "mantri", "dollymp", "pace", "auto"]
    LOADS, TAILS, CORRELATIONS, SEEDS = [0.1, 0.9], [1.5, 2, 5], [0, 0.25, 0.5, 1], 3

SCENARIO = """name = "cell"
order = "fewest_remaining"
horizon = {horizon}
seeds = {seeds}
knowledge = "{knowledge}"
{cluster}
[workload]
correlation = {correlation}
arrival = {{ poisson = {{ rate = {rate} }} }}
tasks = {{ uniform = {{ min = 1, max = {most_tasks} }} }}
duration = {duration}
{workload}
"""
PARETO = "{{ pareto = {{ alpha = {tail}, mean = 1.0 }} }}"
EQUAL = "{{ log_normal = {{ mean = 1.0, cv = 0.3 }} }}"
MACHINES = "cluster.machines = 100"
SPEEDS = "[[cluster.nodes]]\ncount = 80\ncpus = 1\n[[cluster.nodes]]\ncount = 20\ncpus = 1\nspeed = 0.25"
NEIGHBOURS = """[cluster]
machines = 100
[cluster.neighbours]
quiet = { exponential = { mean = 20.0 } }
busy = { exponential = { mean = 10.0 } }
slowdown = { uniform = { min = 2.0, max = 8.0 } }"""
CPUS = '[[cluster.nodes]]\ncount = 33\ncpus = 8\nmemory = "16GB"'
# What differs from a cell.
WORLDS = {
    "predictions are off by a factor of 1.35 in two of three cases": dict(cluster="noise = 0.3\n" + MACHINES),
    "the same, and copies take as long as their originals": dict(cluster="noise = 0.3\n" + MACHINES, correlation=1),
    "jobs of 1 to 5 tasks": dict(most_tasks=5),
    "attempts become slow after half of their work": dict(workload="slow_from = 0.5"),
    "one attempt in ten takes five times as long, which is not stated": dict(workload="stragglers = { ratio = 0.1, slowdown = 5.0 }", duration=EQUAL),
    "stated means of jobs are off by a factor of 1.5 in two of three cases": dict(workload="duration_error = 0.4"),
    "machines are 2 to 8 times as slow in a third of the time, which is not stated": dict(cluster=NEIGHBOURS, duration=EQUAL),
    "20 of 100 machines have a quarter of the speed": dict(cluster=SPEEDS),
    "33 machines of 8 cpus and 16 GB, tasks of 2 cpus and 5 GB": dict(cluster=CPUS, workload='demand = { cpus = 2, memory = "5GB" }'),
}


def run(hindmost, seed, load, tail, most_tasks=100, cluster=MACHINES, duration=PARETO, workload="", correlation=0, **cell):
    tasks = (1 + most_tasks) / 2
    rate = load * SLOTS / tasks
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        horizon = JOBS * TASKS / tasks / rate
        world = dict(most_tasks=most_tasks, cluster=cluster, workload=workload, correlation=correlation, duration=duration.format(tail=tail))
        file.write(SCENARIO.format(rate=rate, horizon=horizon, seeds=SEEDS, **world, **cell))
        file.flush()
        command = [hindmost, "simulate", file.name, "--policy", ",".join(POLICIES), "--seed", str(seed), "--correlations", "off", "--json"]
        results = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["results"]
    return {result["policy"]: (result["flowtime"]["mean"], result["resource"]["mean"]) for result in results}


def worlds(hindmost, seed):
    """Prints a row for each world and knowledge: ratios to the best other policy over loads and tails."""
    print("| world | knowledge | to the best other | worst cell | to `none` | resource to `none` |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, world in WORLDS.items():
        for knowledge in ["progress(0.1)", "age"]:
            if "noise" in world.get("cluster", "") and knowledge == "age":
                continue
            ratios, to_none, resources = [], [], []
            for load in LOADS:
                for tail in [None] if world.get("duration") == EQUAL else TAILS:
                    results = run(hindmost, seed, load, tail, knowledge=knowledge, **world)
                    others = min(flowtime for name, (flowtime, _) in results.items() if name != "auto")
                    ratios.append(results["auto"][0] / others)
                    to_none.append(results["auto"][0] / results["none"][0])
                    resources.append(results["auto"][1] / results["none"][1])
            numbers = [geometric(ratios), max(ratios), geometric(to_none), geometric(resources)]
            print(f"| {name} | {knowledge} | " + " | ".join(f"{number:.2f}" for number in numbers) + " |", flush=True)


def geometric(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def main():
    hindmost, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 101
    if "worlds" in sys.argv:
        return worlds(hindmost, seed)
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
