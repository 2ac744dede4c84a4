#!/bin/sh
# Parsl 2026.10.26, monitoring database: "launched" means that a task was handed to its executor, not that it runs. Without resource
# monitoring nothing says when it began: its states go from "launched" to "exec_done", and task_try_time_running, hostname and block_id are
# empty in each row of the table try. So the time from launch to return is no duration: of four equal tasks on two workers two seem to
# take twice as long as the others, and look like stragglers. A task that was never launched, because one on which it depends failed, has
# a row in try all the same, and counts as a failure in task_fail_count.
set -eu
version=2026.10.26
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv tool
tool/bin/pip install -q --disable-pip-version-check "parsl[monitoring]==$version" >/dev/null 2>&1
echo "parsl $(tool/bin/python -c 'import parsl; print(parsl.__version__)')"

cat >work.py <<'END_OF_PYTHON'
import os, sys

import parsl
from parsl.config import Config
from parsl.executors import ThreadPoolExecutor
from parsl.monitoring import MonitoringHub


@parsl.python_app
def sleeps(seconds):
    import time
    time.sleep(seconds)


@parsl.python_app
def fails():
    raise ValueError("on purpose")


@parsl.python_app
def depends(other):
    return other


if __name__ == "__main__":
    name, with_resources = sys.argv[1], sys.argv[1] == "with"
    hub = MonitoringHub(
        hub_address="127.0.0.1",
        resource_monitoring_enabled=with_resources,
        logging_endpoint=f"sqlite:///{os.getcwd()}/{name}.db",
    )
    parsl.load(Config(executors=[ThreadPoolExecutor(max_threads=2)], run_dir=name, monitoring=hub))
    tasks = [sleeps(3) for _ in range(4)]
    tasks.append(fails())
    tasks.append(depends(tasks[-1]))
    for task in tasks:
        task.exception()
    parsl.dfk().cleanup()
END_OF_PYTHON
for monitoring in without with; do
    tool/bin/python work.py $monitoring >$monitoring.log 2>&1
done

tool/bin/python - <<'END_OF_PYTHON'
import sqlite3
from datetime import datetime


def rows(name, query):
    return sqlite3.connect(f"{name}.db").execute(query).fetchall()


def since(begin, end):
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()


TRIES = """select task_func_name, task_try_time_launched, task_try_time_running, task_try_time_returned, try.hostname
           from try join task using (task_id, run_id) order by task_id"""
for name in ("without", "with"):
    print(f"{name} resource monitoring:")
    for function, launched, running, returned, host in rows(name, TRIES):
        waited = "never launched" if launched is None else f"{since(launched, returned):.1f} s from launch to return"
        ran = "no begin" if running is None else f"{since(running, returned):.1f} s from its begin"
        print(f"  {function}: {waited}, {ran}, host {'known' if host else 'unknown'}")
    print("  states of task 0:", [state for (state,) in rows(name, "select task_status_name from status where task_id = 0 order by timestamp")])

without, with_resources = rows("without", TRIES), rows("with", TRIES)
assert all(running is None and host is None for _, _, running, _, host in without)
launched_to_returned = [since(launched, returned) for function, launched, _, returned, _ in without if function == "sleeps"]
assert max(launched_to_returned) > 1.7 * min(launched_to_returned), launched_to_returned
assert all(running is not None for function, _, running, _, _ in with_resources if function == "sleeps")
states = {state for (state,) in rows("without", "select task_status_name from status where task_id = 0")}
assert "launched" in states and "running" not in states, states
[depends] = [row for row in without if row[0] == "depends"]
assert depends[1] is None and depends[3] is not None
assert rows("without", "select task_fail_count from task where task_func_name = 'depends'") == [(1,)]
END_OF_PYTHON
