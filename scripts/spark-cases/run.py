#!/usr/bin/env python3
"""Runs Spark applications whose delays have known causes, and keeps their event logs and times. README.md describes it."""

import argparse
import csv
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cluster import Cluster
from event_log import summary

HERE = Path(__file__).resolve().parent
PYSPARK = "pyspark==3.5.6"
EXECUTORS, CORES = 4, 2

TRUE_CAUSES = {
    "none": "nothing: equal tasks",
    "slow-executor": "all attempts of one executor take 4 times as long",
    "skew": "one partition of the second stage of each job has 10 times the input and takes 10 times as long",
    "hung-attempts": "the first attempt of 5% of the tasks takes 10 times as long",
    "garbage-collection": "3 tasks of each stage make much garbage in a small heap; collecting it takes most of their time",
    "cold-start": "the first task of each stage in each process of an executor takes 1.5 s longer",
    "few-tasks": "the second stage of each job has one partition, for 8 slots",
    "locality": "nearly all cached partitions are on one executor; other executors wait for spark.locality.wait",
    "failures": "the first two attempts of 6% of the tasks fail at their end",
    "driver-pauses": "the program waits 4 s after each job",
    "mix": "one executor 2.5 times slower, a partition of 5 times the input, 2% hung first attempts, pauses of 2 s",
}

JAVA_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"
"""Little compilation, because several Java machines start on few cores."""

COMMON = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "600m",
    "spark.executor.memory": "600m",
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
    "spark.sql.shuffle.partitions": "32",
    "spark.sql.adaptive.enabled": "false",
}

SETTINGS = {
    "speculation": {
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.multiplier": "1.5",
        "spark.speculation.quantile": "0.75",
        "spark.speculation.minTaskRuntime": "100ms",
    },
    # A young generation that holds the garbage of several rows; without -Xmn the heap would start small and grow slowly.
    "memory": {"spark.executor.memory": "2g", "spark.executor.extraJavaOptions": f"{JAVA_OPTIONS} -Xmn1500m"},
    "no-locality-wait": {"spark.locality.wait": "0s"},
}

PARTITIONS = {"skew": 82, "few-tasks": 8}
"""The number of partitions that setting `partitions` gives a case."""

CURES = {
    "skew": ["partitions"],
    "garbage-collection": ["memory"],
    "few-tasks": ["partitions"],
    "locality": ["no-locality-wait"],
}
"""What is tried for a case besides speculation, which is tried for all."""

COLUMNS = (
    "case seed setting repeat application_s first_to_last_job_s jobs_s later_jobs_s attempts failed killed copies copies_won task_s "
    "collection_share load_before load_after executors cores settings true_cause log"
).split()


def python_with_pyspark(folder):
    """Returns the python of a virtual environment with pyspark, which is made in `folder` if it is missing."""
    home = folder / "venv"
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
    if not list(home.glob("lib/python*/site-packages/pyspark/bin/spark-submit")):
        subprocess.run([python, "-m", "pip", "install", "--quiet", PYSPARK], check=True)
    return python


def run(options, cluster, case, seed, setting, repeat):
    """Runs one application and returns its row of the table; `None` if its log is there already."""
    name = "-".join(filter(None, [case, str(seed), setting, options.label, f"repeat{repeat}" if repeat > 1 else ""]))
    log_folder = options.out / name
    if log_folder.exists() and not options.again:
        print(f"{name}: is there already", flush=True)
        return None
    shutil.rmtree(log_folder, ignore_errors=True)
    log_folder.mkdir(parents=True)
    partitions = PARTITIONS[case] if setting == "partitions" else options.partitions
    given = {**SETTINGS.get(setting, {}), **dict(pair.split("=", 1) for pair in options.conf)}
    settings = {
        **COMMON, **given,
        "spark.eventLog.dir": log_folder.as_uri(),
        "spark.executorEnv.PYTHONPATH": str(HERE),
        "spark.cores.max": str(options.executors * options.cores),
    }
    command = [str(cluster.spark_home / "bin" / "spark-submit"), "--master", cluster.url]
    for key, value in settings.items():
        command += ["--conf", f"{key}={value}"]
    command += [str(HERE / "application.py"), case, str(seed), str(partitions), str(options.executors)]
    python = str(python_with_pyspark(options.cache))
    environment = {
        **os.environ, "SPARK_HOME": str(cluster.spark_home), "PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python,
        "PYTHONPATH": str(HERE), "SPARK_LOCAL_DIRS": str(cluster.folder), "PYTHONDONTWRITEBYTECODE": "1",
    }
    before, began = os.getloadavg()[0], time.monotonic()
    try:
        with open(cluster.folder / "driver.log", "wb") as driver_log:
            ended = subprocess.run(command, env=environment, stdout=driver_log, stderr=driver_log, timeout=600, check=False)
        if ended.returncode != 0:
            tail = (cluster.folder / "driver.log").read_text(errors="replace")[-2000:]
            raise RuntimeError(f"{name} failed:\n{tail}")
        log = next(log_folder.glob("app-*"))
        row = summary(log)
    except BaseException:
        shutil.rmtree(log_folder)
        raise
    changed = [f"{key}={value}" for key, value in given.items()] + ([f"partitions={partitions}"] if partitions else [])
    row.update(
        case=case, seed=seed, setting=setting or options.label or "as it is", repeat=repeat, load_before=round(before, 2),
        load_after=round(os.getloadavg()[0], 2), executors=options.executors, cores=options.cores,
        settings=" ".join(changed) or "-", true_cause=TRUE_CAUSES[case], log=log,
    )
    elapsed = time.monotonic() - began
    print(f"{name}: jobs {row['jobs_s']:.1f} s, application {row['application_s']:.1f} s, {elapsed:.0f} s in all", flush=True)
    return row


def keep(row, table):
    """Adds a row to the table; other processes may do so at the same time."""
    with open(table, "a", encoding="utf-8", newline="") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n")
        if file.tell() == 0:
            writer.writeheader()
        writer.writerow(row)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "spark-cases", help="folder of the logs and of cases.tsv")
    cache = Path.home() / ".cache" / "hindmost-spark-cases"
    parser.add_argument("--cache", type=Path, default=cache, help="folder of the virtual environment")
    parser.add_argument("--case", nargs="+", choices=[*TRUE_CAUSES, "all"], default=["all"])
    parser.add_argument("--seed", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--repeats", type=int, default=1, help="runs of each seed and setting")
    parser.add_argument("--setting", nargs="+", choices=["none", "cures", *SETTINGS, "partitions"], default=["none"],
                        help="none: as the case is; cures: speculation, and what else may help the case")
    parser.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="a further setting of Spark")
    parser.add_argument("--label", default="", help="name of what --conf, --partitions and --executors try, for the folder and the table")
    parser.add_argument("--partitions", type=int, default=0, help="number of partitions in place of the case's own")
    parser.add_argument("--executors", type=int, default=EXECUTORS)
    parser.add_argument("--cores", type=int, default=CORES, help="cores of an executor")
    parser.add_argument("--at-once", type=int, default=1, help="clusters at the same time")
    parser.add_argument("--again", action="store_true", help="replace logs that are there already")
    options = parser.parse_args()
    options.out, options.cache = options.out.resolve(), options.cache.resolve()
    if (options.conf or options.partitions or options.executors != EXECUTORS or options.cores != CORES) and not options.label:
        parser.error("--conf, --partitions, --executors and --cores need a --label")
    options.out.mkdir(parents=True, exist_ok=True)
    python_with_pyspark(options.cache)
    cases = list(TRUE_CAUSES) if "all" in options.case else options.case
    runs = []
    for seed in options.seed:
        for repeat in range(1, options.repeats + 1):
            for case in cases:
                for setting in options.setting:
                    names = ["speculation", *CURES.get(case, [])] if setting == "cures" else ["" if setting == "none" else setting]
                    runs += [(case, seed, name, repeat) for name in names]
    return 1 if run_all(options, runs) else 0


def run_all(options, runs):
    """Runs all on as many clusters as are wanted at the same time, and returns how many failed."""
    spark_home = next((options.cache / "venv").glob("lib/python*/site-packages/pyspark"))
    waiting, failures = deque(runs), []

    def lane(_number):
        with tempfile.TemporaryDirectory(prefix="spark-cases-") as folder:
            with Cluster(spark_home, folder, options.executors, options.cores, 2200) as cluster:
                while waiting:
                    try:
                        row = run(options, cluster, *waiting.popleft())
                        if row:
                            keep(row, options.out / "cases.tsv")
                    except IndexError:
                        return
                    except (RuntimeError, ValueError, OSError, StopIteration, subprocess.TimeoutExpired) as error:
                        failures.append(error)
                        print(error, file=sys.stderr)

    with ThreadPoolExecutor(options.at_once) as pool:
        try:
            list(pool.map(lane, range(options.at_once)))
        except KeyboardInterrupt:
            # Ctrl-C stops the running applications, too; the lanes then stop their clusters.
            waiting.clear()
            raise
    return len(failures)


if __name__ == "__main__":
    sys.exit(main())
