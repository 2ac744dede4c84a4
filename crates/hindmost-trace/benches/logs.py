#!/usr/bin/env python3
"""Measures `hindmost trace info` on logs of which each row is an attempt, against DuckDB, which reads and groups the same file.

    cargo build --release
    python3 -m venv /tmp/peer && /tmp/peer/bin/pip install duckdb==2.0.1
    /tmp/peer/bin/python crates/hindmost-trace/benches/logs.py --hindmost target/release/hindmost --megabytes 100

The logs are made in a temporary folder from a fixed seed. Both programs run in turn in each round. Figures are the CPU time of the process
in seconds (user and system, of one thread for DuckDB): the median of the rounds, with the smallest and the largest in brackets. Ratios are
taken within a round. Memory is the largest resident set of `hindmost`.
"""

import argparse
import datetime
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile

GROUP = """
import sys, duckdb
file, options, by, seconds = sys.argv[1:]
connection = duckdb.connect()
connection.execute("set threads = 1")
query = f"select {by}, count(*), quantile_cont({seconds}, [0.5, 0.95]), max({seconds}) from read_csv('{file}'{options}) group by 1"
print(len(connection.execute(query).fetchall()))
"""


def attempts(jobs, phases, tasks, nodes):
    """The job, phase, task, node, start and duration of each attempt, in the order of the ends within a phase."""
    random.seed(1)
    for job in range(jobs):
        now = 1.7e9 + 20 * job
        for phase in range(phases):
            rows = []
            for task in range(tasks):
                start = now + 5 * random.random()
                rows.append((start + 3 * random.paretovariate(2.5), task, random.randrange(nodes), start))
            for end, task, node, start in sorted(rows):
                yield job, phase, task, node, start, end - start
            now = max(rows)[0]


def until(file, megabytes, rows):
    """Writes rows until the file has so many megabytes. Returns the number of rows."""
    written = count = 0
    for row in rows:
        written += file.write(row)
        count += 1
        if written >= megabytes * 1e6:
            break
    return count


def table(file, megabytes, shape):
    file.write("job,phase,task,attempt,node,start,end,state\n")
    row = "job_{},map_{},task_{},0,node{:04},{:.3f},{:.3f},SUCCESS\n"
    rows = (row.format(j, p, t, n, s, s + d) for j, p, t, n, s, d in attempts(10**9, *shape))
    return until(file, megabytes, rows)


def accounting(file, megabytes):
    file.write("JobID|JobName|State|ExitCode|Submit|Start|End|Elapsed|NodeList\n")
    time = lambda seconds: datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    rows = (
        f"{1000 + j * 4 + p}_{t}|align{j % 50}|COMPLETED|0:0|{time(s - 2)}|{time(s)}|{time(s + int(60 * d))}|"
        f"{int(60 * d) // 3600:02}:{int(60 * d) // 60 % 60:02}:{int(60 * d) % 60:02}|node{n:04}\n"
        for j, p, t, n, s, d in attempts(10**9, 4, 100, 200)
    )
    return until(file, megabytes, rows)


def job_log(file, megabytes):
    file.write("Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n")
    rows = (
        f"{number}\tnode{n:03}\t{s:.3f}\t{d:10.3f}\t0\t0\t0\t0\t./simulate --seed {number}\n"
        for number, (j, p, t, n, s, d) in enumerate(attempts(10**9, 1, 10000, 100), 1)
    )
    return until(file, megabytes, rows)


LOGS = [
    ("table, jobs of 400 tasks", lambda f, m: table(f, m, (4, 100, 200)), "", "phase", '"end" - "start"'),
    ("table, jobs of 100 000 tasks", lambda f, m: table(f, m, (10, 10000, 500)), "", "phase", '"end" - "start"'),
    ("sacct", accounting, ", delim='|'", "JobName", "epoch(\"End\") - epoch(\"Start\")"),
    ("job log of GNU parallel", job_log, ", delim='\t'", "Host", "JobRuntime"),
]


def run(argv):
    """Returns the CPU time of a command, and its largest resident set in MB."""
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{argv[0]} ended with status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def shown(values):
    return f"{statistics.median(values):.2f} [{min(values):.2f}, {max(values):.2f}]"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hindmost", default="target/release/hindmost")
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--log", default="", help="only logs whose names contain this")
    args = parser.parse_args()
    import duckdb

    print(f"DuckDB {duckdb.__version__}, {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    print("| log | rows | hindmost, s | DuckDB, s | ratio | memory |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for name, make, options, by, seconds in (log for log in LOGS if args.log in log[0]):
            path = os.path.join(folder, "log.csv")
            with open(path, "w") as file:
                rows = make(file, args.megabytes)
            own, peer, memory = [], [], 0
            for _ in range(args.rounds):
                taken, resident = run([args.hindmost, "trace", "info", path, "--json"])
                own.append(taken)
                memory = max(memory, resident)
                peer.append(run([sys.executable, "-c", GROUP, path, options, by, seconds])[0])
            ratios = [one / other for one, other in zip(own, peer)]
            print(f"| {name} | {rows} | {shown(own)} | {shown(peer)} | {shown(ratios)} | {memory:.0f} MB |", flush=True)


if __name__ == "__main__":
    main()
