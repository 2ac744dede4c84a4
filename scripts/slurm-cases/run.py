#!/usr/bin/env python3
"""Runs the same tasks on a Slurm cluster with `hindmost run --engine slurm` and as job arrays, and prints Markdown tables of their times.

It needs the cluster of `scripts/slurm-lab.sh up DIR` with SLURM_CONF=DIR/slurm.conf, and a machine without other work. In each round all
programs run in turn. The time is that from the start of the command until the last task has ended."""

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

JOB = """
name = "case"
[[phase]]
name = "work"
tasks = {tasks}
command = '''
{command}
date +%s.%N > "$HINDMOST_OUTPUT/end"
'''
"""
# Element N of the array does the tasks from N * CHUNK on, one after another.
ARRAY = """#!/bin/bash
for task in $(seq $((SLURM_ARRAY_TASK_ID * {chunk})) $((SLURM_ARRAY_TASK_ID * {chunk} + {chunk} - 1))); do
  [ "$task" -lt {tasks} ] || break
  {command}
  date +%s.%N > "{folder}/$task"
done
"""


def hindmost(policy):
    """Hindmost with a policy. Returns the time until the command has ended."""

    def run(options, case, folder):
        (folder / "job.toml").write_text(JOB.format(**case))
        nodes = ["--nodes", case["nodes"]]
        command = [options.program, "run", "job.toml", "--engine", "slurm", *nodes, "--policy", policy, "--out", "out"]
        begin = time.time()
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        end = time.time()
        assert len(list(folder.glob("out/work/*/end"))) == case["tasks"]
        return end - begin

    return run


def array(chunk=1, exclude=None):
    """A job array whose elements do `chunk` tasks each. Returns the time until the last task has ended."""

    def run(_, case, folder):
        elements = -(-case["tasks"] // chunk)
        ends = folder / "ends"
        ends.mkdir()
        (folder / "array.sh").write_text(ARRAY.format(chunk=chunk, folder=ends, **case))
        # The cluster has no other jobs: nodes that are not the case's, or that the user leaves out, are excluded.
        left_out = [*({"n1", "n2", "n3", "n4"} - set(case["nodes"].split(","))), *([exclude] if exclude else [])]
        without = [f"--exclude={','.join(left_out)}"] if left_out else []
        limits = [f"--array=0-{elements - 1}", "--mem=10", "--output=/dev/null", *without]
        begin = time.time()
        subprocess.run(["sbatch", "--wait", *limits, "array.sh"], cwd=folder, check=True, capture_output=True)
        written = [float(file.read_text()) for file in ends.iterdir()]
        assert len(written) == case["tasks"]
        return max(written) - begin

    return run


SLEEP = 'if [ "$SLURMD_NODENAME" = n4 ]; then sleep {slow}; else sleep {else_}; fi'
# For each case: what it is, its tasks, and the programs.
CASES = {
    "short": (
        "500 tasks of 1 s on 16 slots",
        {"tasks": 500, "nodes": "n1,n2,n4", "command": "sleep 1"},
        {
            "`hindmost run --engine slurm --policy none`": hindmost("none"),
            "`hindmost run --engine slurm` (policy `pace`)": hindmost("pace"),
            "job array of 500 elements": array(),
            "job array of 50 elements of 10 tasks": array(10),
            "job array of 16 elements of 32 tasks": array(32),
        },
    ),
    "slow": (
        "32 tasks of 5 s on 18 slots, of which 8 are on a node that is eight times as slow",
        {"tasks": 32, "nodes": "n1,n2,n3,n4", "command": SLEEP.format(slow=40, else_=5)},
        {
            "`hindmost run --engine slurm --policy none`": hindmost("none"),
            "`hindmost run --engine slurm` (policy `pace`)": hindmost("pace"),
            "job array of 32 elements": array(),
            "job array of 32 elements, `--exclude` of the slow node": array(exclude="n4"),
            "job array of 16 elements of 2 tasks": array(2),
        },
    ),
    "equal": (
        "72 tasks of 5 s on 18 slots of nodes that are equally fast",
        {"tasks": 72, "nodes": "n1,n2,n3,n4", "command": "sleep 5"},
        {
            "`hindmost run --engine slurm --policy none`": hindmost("none"),
            "`hindmost run --engine slurm` (policy `pace`)": hindmost("pace"),
            "job array of 72 elements": array(),
            "job array of 18 elements of 4 tasks": array(4),
        },
    ),
}


def is_idle():
    nodes = subprocess.run(["sinfo", "-h", "-N", "-o", "%t"], check=True, capture_output=True, text=True).stdout.split()
    jobs = subprocess.run(["squeue", "-h"], check=True, capture_output=True, text=True).stdout
    return set(nodes) == {"idle"} and not jobs.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="hindmost")
    parser.add_argument("--case", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    found = shutil.which(options.program)
    if found is None:
        parser.error(f"--program {options.program} is not a program")
    options.program = str(Path(found).resolve())
    for name in options.case:
        title, case, programs = CASES[name]
        times = {what: [] for what in programs}
        load = []
        for _ in range(options.rounds):
            for what, run in programs.items():
                while not is_idle():
                    time.sleep(0.2)
                time.sleep(1)
                load.append(os.getloadavg()[0])
                with tempfile.TemporaryDirectory() as folder:
                    times[what].append(run(options, case, Path(folder)))
        print(f"\n{title}; {options.rounds} rounds, load before each run at most {max(load):.1f}\n")
        print("| what | time |\n| --- | ---: |")
        for what, took in times.items():
            middle = statistics.median(took)
            print(f"| {what} | {middle:.1f} s [{min(took):.1f}, {max(took):.1f}] |", flush=True)


if __name__ == "__main__":
    main()
