#!/usr/bin/env python3
"""Measures `hindmost` against xargs, GNU parallel and make, and prints tables for docs/compare.md.

    cargo build --release
    python3 crates/hindmost/benches/compare.py --hindmost target/release/hindmost

Programs that are not installed are left out. All programs run in turn in each round, in another order each time, so that
other work on the machine affects all of them. A figure is the median of the rounds, with the smallest and the largest in
brackets. Ratios are taken within a round. Times are wall time; CPU times include all processes of a run. The parts `harm`,
`slow-node` and `few` compare policies of Hindmost (`--policies`) with runs without copies: on tasks that take long by nature, with
a slow node, and with fewer tasks than slots. Needs only Python 3.9 or newer.
"""

import argparse
import concurrent.futures
import json
import os
import platform
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

# What a run took: wall and CPU time in seconds, the exit code, and its standard output.
WALL, CPU, CODE, OUTPUT = range(4)

# A job file of a single phase, with the shell of the other programs.
JOB = """[[phase]]
name = "map"
tasks = {tasks}
command = "{command}"
shell = ["sh", "-c"]
"""

# The longest time of a run, in seconds.
LIMIT = 300


def measure(argv, folder, values=None):
    """Runs a command in a folder, with one value a line on standard input. Returns a tuple of what the run took."""
    # The same shell for all programs that start one.
    environment = dict(os.environ, SHELL="/bin/sh", PARALLEL_SHELL="/bin/sh", TMPDIR=folder, LC_ALL="C")
    with open(os.path.join(folder, "values"), "w+") as given, open(os.path.join(folder, "stdout"), "w+") as printed:
        given.write("".join(f"{value}\n" for value in values or []))
        given.seek(0)
        start = time.perf_counter()
        process = subprocess.Popen(
            argv, cwd=folder, stdin=given, stdout=printed, stderr=subprocess.DEVNULL, env=environment
        )
        timer = threading.Timer(LIMIT, lambda: process.send_signal(signal.SIGTERM))
        timer.start()
        # The usage includes that of all descendants that were waited for. `communicate` returns no usage.
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        return wall, usage.ru_utime + usage.ru_stime, process.returncode, printed.read()


def rounds(programs, count, prepare=lambda number: None):
    """Runs all programs in turn, `count` times. Returns what the runs of each program took, by name."""
    took = {name: [] for name in programs}
    order = list(programs)
    for number in range(count):
        prepared = prepare(number)
        random.Random(number).shuffle(order)
        for name in order:
            with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
                took[name].append(programs[name](folder, prepared))
        print(f"round {number + 1} of {count} done", file=sys.stderr)
    return took


def shown(values, unit=""):
    """Returns the median with the smallest and the largest value, to three digits."""
    digits = lambda value: f"{value:.0f}" if value >= 100 else f"{value:.3g}"
    middle, least, most = statistics.median(values), min(values), max(values)
    return f"{digits(middle)}{unit} [{digits(least)}, {digits(most)}]"


def ratios(took, name, base, what):
    """Returns the ratios of two programs, round by round."""
    return shown([run[what] / other[what] for run, other in zip(took[name], took[base])])


def table(head, rows):
    """Prints a table in Markdown."""
    print("| " + " | ".join(head) + " |")
    print("| --- |" + " ---: |" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def write(folder, name, text):
    """Writes a file. Returns its path."""
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def overhead(count, tasks):
    """Measures `tasks` tasks of `true`, two at a time."""
    numbers = range(1, tasks + 1)
    makefile = f"TASKS := $(shell seq {tasks})\n.PHONY: all $(TASKS)\nall: $(TASKS)\n$(TASKS):\n\t@true $@;\n"

    def job(*options):
        def run(folder, _):
            path = write(folder, "job.toml", JOB.format(tasks=tasks, command="true"))
            return measure([HINDMOST, "run", path, "--nodes", "n1:2", *options], folder)
        return run

    def values(*argv):
        return lambda folder, _: measure(list(argv), folder, numbers)

    programs = {"`xargs`, `sh -c`": values("xargs", "-P2", "-I{}", "sh", "-c", "true {}")}
    programs["`xargs`, no shell"] = values("xargs", "-P2", "-n1", "true")
    if shutil.which("make"):
        programs["`make`"] = lambda folder, _: measure(
            ["make", "-s", "-j2", "-f", write(folder, "Makefile", makefile), "all"], folder
        )
    if shutil.which("parallel"):
        programs["GNU parallel"] = values("parallel", "-j2", "true {}")
    programs["`hindmost map`"] = values(HINDMOST, "map", "-j2", "true {}")
    programs["`hindmost map --once`"] = values(HINDMOST, "map", "-j2", "--once", "true {}")
    programs["`hindmost run`"] = job()
    programs["`hindmost run --no-sync`"] = job("--no-sync")
    took = rounds(programs, count)
    base = "`xargs`, `sh -c`"
    rows = []
    for name, runs in took.items():
        wrong = [run[CODE] for run in runs if run[CODE] != 0]
        if wrong:
            sys.exit(f"{name} ended with exit code {wrong[0]}")
        each = [shown([1000 * run[what] / tasks for run in runs]) for what in (WALL, CPU)]
        rows.append([name, each[0], ratios(took, name, base, WALL), each[1], ratios(took, name, base, CPU)])
    print(f"{tasks} tasks of `true`, two at a time, {count} rounds; time of a task in ms.\n")
    table(["program", "wall time", "× xargs", "CPU time", "× xargs"], rows)


def first(count):
    """Measures a single task: when it starts, and how long the whole run takes."""
    command = "date +%s%N"
    begun = {}

    def values(name, *argv):
        def run(folder, _):
            begun.setdefault(name, [])
            start = time.time_ns()
            result = measure(list(argv), folder, [1])
            begun[name].append((int(result[OUTPUT].split()[0]) - start) / 1e6)
            return result
        return run

    def make(folder, _):
        return values("`make`", "make", "-s", "-f", write(folder, "Makefile", f".PHONY: all\nall:\n\t@true; {command}\n"))(folder, _)

    def job(folder, _):
        out = os.path.join(folder, "out")
        path = write(folder, "job.toml", JOB.format(tasks=1, command=f"{command} > $HINDMOST_OUTPUT/time"))
        start = time.time_ns()
        result = measure([HINDMOST, "run", path, "--out", out], folder)
        with open(os.path.join(out, "map/0/time")) as file:
            begun.setdefault("`hindmost run`", []).append((int(file.read()) - start) / 1e6)
        return result

    programs = {"`xargs`, `sh -c`": values("`xargs`, `sh -c`", "xargs", "-I{}", "sh", "-c", f"{command} # {{}}")}
    if shutil.which("make"):
        programs["`make`"] = make
    if shutil.which("parallel"):
        programs["GNU parallel"] = values("GNU parallel", "parallel", f"{command} # {{}}")
    programs["`hindmost map`"] = values("`hindmost map`", HINDMOST, "map", f"{command} # {{}}")
    programs["`hindmost run`"] = job
    took = rounds(programs, count)
    spent = lambda runs, what: shown([1000 * run[what] for run in runs])
    rows = [[name, shown(begun[name]), spent(runs, WALL), spent(runs, CPU)] for name, runs in took.items()]
    print(f"One task, {count} rounds; in ms.\n")
    table(["program", "until the task starts", "whole run, wall time", "whole run, CPU time"], rows)


def tail(count, plain, long):
    """Measures 100 tasks of 0.4 s, eight at a time. Eight of them hang for 30 s, unless they have been started before.
    `long` other tasks take 6 s in every attempt."""

    def choose(number):
        chosen = random.Random(1000 + number).sample(range(1, 101), 8 + long)
        hangs, slow = chosen[:8], chosen[8:]
        words = lambda numbers: "|".join(map(str, numbers)) or "none"
        # `mkdir` succeeds once for each task: in its first attempt.
        return ("#!/bin/sh\ncase $1 in\n"
                f"{words(hangs)}) mkdir marks/$1 2>/dev/null && exec sleep 30 ;;\n"
                f"{words(slow)}) exec sleep 6 ;;\nesac\nexec sleep 0.4\n")

    def values(*argv):
        def run(folder, script):
            os.mkdir(os.path.join(folder, "marks"))
            os.chmod(write(folder, "task", script), 0o755)
            return measure(list(argv), folder, range(1, 101))
        return run

    retried = {}

    def limited(limit):
        """Adds a program that stops tasks at a time limit and starts them again."""
        options = ["-j8", "--timeout", limit, "--retries", "4"]
        if shutil.which("parallel"):
            retried[f"`parallel --timeout {limit} --retries 4`"] = values("parallel", *options, "./task {}")
        # Without `--once` copies would start before the limit.
        retried[f"`hindmost map --once --timeout {limit} --retries 4`"] = values(
            HINDMOST, "map", "--once", *options, "./task {}"
        )

    limited("300%")
    limited("2000%")
    for policy in POLICIES:
        retried[f"`hindmost map`, `{policy}`"] = values(HINDMOST, "map", "-j8", "--policy", policy, "./task {}")
    took = rounds(retried, count, choose)
    waiting = {"`xargs`": values("xargs", "-P8", "-n1", "./task"),
               "`hindmost map --once`": values(HINDMOST, "map", "-j8", "--once", "./task {}")}
    if shutil.which("parallel"):
        waiting["GNU parallel"] = values("parallel", "-j8", "./task {}")
    took = {**rounds(waiting, plain, choose), **took}
    codes = lambda runs: ", ".join(sorted({str(run[CODE]) for run in runs}))
    rows = [[name, str(len(runs)), shown([run[WALL] for run in runs], " s"), codes(runs)]
            for name, runs in took.items() if runs]
    print("100 tasks of 0.4 s, eight at a time; 8 hang for 30 s in their first attempt, "
          f"{long} others always take 6 s.\n")
    table(["program", "runs", "time", "exit codes"], rows)


def vain(name, jobs, pairs, at_a_time):
    """Measures what copies cost where they are in vain: each task sleeps for the same time in every attempt. `jobs` are the name
    of a job, the durations of its tasks by the number of the round, and the number of tasks at a time."""

    def one_round(durations, slots, number):
        """Runs one job with each policy, and without copies. Returns the time relative to that without copies, the wasted share, and
        the copies of each policy."""
        order = [*POLICIES, "none"]
        random.Random(number).shuffle(order)
        took = {}
        for policy in order:
            with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
                argv = [HINDMOST, "map", f"-j{slots}", "--json", "--policy", policy, "sleep {}"]
                took[policy] = measure(argv, folder, [f"{seconds:.3f}" for seconds in durations])
            if took[policy][CODE] != 0:
                raise RuntimeError(f"hindmost map ended with exit code {took[policy][CODE]}")
        print(f"{name}: round {number + 1} of {pairs} done", file=sys.stderr)
        copies = {policy: json.loads(took[policy][OUTPUT])["copies"] for policy in POLICIES}
        return {policy: (took[policy][WALL] / took["none"][WALL], 100 * copies["wasted_share"], copies["launched"])
                for policy, copies in copies.items()}

    rows = []
    for job, draw, slots in jobs:
        with concurrent.futures.ThreadPoolExecutor(at_a_time) as threads:
            ran = list(threads.map(lambda number: one_round(draw(number), slots, number), range(pairs)))
        for policy in POLICIES:
            times, wasted, launched = zip(*(one[policy] for one in ran))
            mean = f"{statistics.mean(times):.3f}"
            rows.append([job, f"`{policy}`", shown(times), mean, shown(wasted, "%"), shown(launched)])
    print(f"{pairs} rounds of `hindmost map`, with each policy and without copies, on the same durations.\n")
    table(["job", "policy", "× the time without copies", "mean", "wasted share", "copies"], rows)


def harm(pairs, at_a_time):
    """Measures what copies cost where they are in vain, in jobs of several waves."""

    def log_normal(number):
        draw = random.Random(2000 + number)
        return [0.6 * draw.lognormvariate(0, 0.8) for _ in range(100)]

    def pareto(number):
        draw = random.Random(3000 + number)
        return [min(0.4 * draw.paretovariate(1.3), 8) for _ in range(60)]

    vain("harm", [
        ("100 tasks, log-normal (median 0.6 s, σ 0.8), `-j8`", log_normal, 8),
        ("60 tasks, Pareto (α 1.3, from 0.4 s up to 8 s), `-j4`", pareto, 4),
    ], pairs, at_a_time)


def few(pairs, at_a_time):
    """Measures what copies cost where they are in vain, and slots are free from the beginning."""

    def job(tasks, sigma):
        def log_normal(number):
            draw = random.Random(4000 + number)
            return [2.0 * draw.lognormvariate(0, sigma) for _ in range(tasks)]
        return f"{tasks} tasks, log-normal (median 2 s, σ {sigma}), `-j16`", log_normal, 16

    vain("few", [job(6, 0.8), job(12, 0.8), job(12, 0.2), job(1, 0.8)], pairs, at_a_time)


def slow_node(count, at_a_time):
    """Measures `hindmost run` on four nodes of four cpus, of which one takes eight times as long, with and without copies."""
    head = 'f=1; [ "$SLOW" = "$HINDMOST_NODE" ] && f=8; '
    silent = head + "sleep $f"
    reports = head + ("for i in 1 2 3 4 5 6 7 8 9; do sleep $(echo $f | awk '{print $1 / 10}'); echo 0.$i >> $HINDMOST_PROGRESS; "
                      "done; sleep $(echo $f | awk '{print $1 / 10}')")

    def phase(name, tasks, command, after=""):
        return f"[[phase]]\nname = '{name}'\ntasks = {tasks}\ncommand = '''{command}'''\nshell = ['sh', '-c']\n{after}\n"

    jobs = {
        "24 tasks of 1 s, with progress": phase("map", 24, reports),
        "24 tasks of 1 s, without progress": phase("map", 24, silent),
        "36 tasks of 1 s, with progress": phase("map", 36, reports),
        "36 tasks of 1 s, without progress": phase("map", 36, silent),
        "three phases, without progress": phase("one", 12, silent) + phase("two", 12, silent, "after = ['one']")
        + phase("three", 12, silent, "after = ['two']"),
    }
    variants = [(policy, slow) for policy in [*POLICIES, "none"] for slow in (True, False)]

    def one_round(job, number):
        order = list(variants)
        random.Random(number).shuffle(order)
        took = {}
        for policy, slow in order:
            with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
                environment = "[environment]\nSLOW = '" + ("n4" if slow else "no node") + "'\n"
                path = write(folder, "job.toml", environment + jobs[job])
                took[policy, slow] = measure(
                    [HINDMOST, "run", path, "--nodes", "n1:4,n2:4,n3:4,n4:4", "--policy", policy, "--json"], folder
                )
            if took[policy, slow][CODE] != 0:
                raise RuntimeError(f"hindmost run ended with exit code {took[policy, slow][CODE]}")
        print(f"{job}: round {number + 1} of {count} done", file=sys.stderr)
        return took

    rows = []
    for job in jobs:
        with concurrent.futures.ThreadPoolExecutor(at_a_time) as threads:
            ran = list(threads.map(lambda number: one_round(job, number), range(count)))
        for policy in [*POLICIES, "none"]:
            copies = lambda slow: [json.loads(took[policy, slow][OUTPUT])["copies"] for took in ran]
            times = lambda slow: shown([took[policy, slow][WALL] for took in ran])
            against = lambda slow: shown([took[policy, slow][WALL] / took["none", False][WALL] for took in ran])
            wasted = lambda slow: shown([100 * run["wasted_share"] for run in copies(slow)], "%")
            rows.append([job, f"`{policy}`", times(True), against(True), wasted(True), against(False), wasted(False),
                         shown([run["launched"] for run in copies(False)])])
    print(f"{count} rounds; ratios are to `none` without a slow node.\n")
    table(["job", "policy", "slow node, s", "slow node, ratio", "wasted share", "no slow node, ratio", "wasted share", "copies"],
          rows)


def version(argv):
    """Returns the first line that a command prints about its version."""
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.splitlines()[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hindmost", default="target/release/hindmost", help="the program to measure")
    parser.add_argument("--only", choices=["overhead", "first", "tail", "harm", "slow-node", "few"], help="measure one part")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of the overhead and of the tail")
    parser.add_argument("--plain", type=int, default=1, help="rounds of the programs that wait for tasks that hang")
    parser.add_argument("--pairs", type=int, default=20, help="rounds of the parts `harm` and `few`")
    parser.add_argument("--policies", default="pace", help="the policies that start copies, such as 'pace;auto(idle=0.02)'")
    parser.add_argument("--tasks", type=int, default=2000, help="tasks of the overhead")
    parser.add_argument("--folder", default="/dev/shm", help="where programs run and write; in memory by default")
    given = parser.parse_args()
    global HINDMOST, FOLDER, POLICIES
    HINDMOST, FOLDER = os.path.abspath(given.hindmost), given.folder
    POLICIES = given.policies.split(";")
    print(f"{platform.system()} {platform.release()}, {os.cpu_count()} cpus, load {os.getloadavg()[0]:.1f}, in {FOLDER}")
    for program in ("xargs", "make", "parallel", HINDMOST):
        if shutil.which(program):
            print(f"- {version([program, '--version'])}")
    print()
    if given.only in (None, "overhead"):
        overhead(given.rounds, given.tasks)
    if given.only in (None, "first"):
        first(3 * given.rounds)
    if given.only in (None, "tail"):
        for long in (0, 4):
            tail(given.rounds, given.plain, long)
    if given.only in (None, "harm"):
        # These tasks only sleep, so two pairs or rounds at a time do not slow each other down.
        harm(given.pairs, 2)
    if given.only in (None, "slow-node"):
        slow_node(given.rounds, 2)
    if given.only in (None, "few"):
        few(given.pairs, 2)
    print(f"load at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
