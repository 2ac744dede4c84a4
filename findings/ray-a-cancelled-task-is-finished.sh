#!/bin/sh
# Ray 2.60.0: a task that ray.cancel stops while it runs has the state FINISHED and no error in `ray list tasks` (list_tasks), like a task
# that succeeded, although ray.get raises TaskCancelledError. With force=True, or before it began, it is FAILED with TASK_CANCELLED. The
# timeline (`ray timeline`, ray.timeline()) has it the other way round: the event of the cancelled task has the traceback of a
# KeyboardInterrupt, but that of an attempt that failed by an exception has neither an error nor the number of the attempt, and looks like
# one that succeeded, except that no event "task:store_outputs" is within it. A task stopped by force has no event "task::NAME" at all.
set -eu
version=2.60.0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv tool
tool/bin/pip install -q --disable-pip-version-check "ray[default]==$version" >/dev/null 2>&1

cat >run.py <<'END'
import collections
import os
import signal
import time

import ray
from ray.util.state import list_tasks

HERE = os.getcwd()
# Ray cancels by an interrupt, which the children of a shell's background job ignore unless this is set.
signal.signal(signal.SIGINT, signal.default_int_handler)


def note(name):
    with open(os.path.join(HERE, name), "a") as file:
        file.write(f"{time.time()}\n")


def noted(name):
    path = os.path.join(HERE, name)
    return len(open(path).readlines()) if os.path.exists(path) else 0


ray.init(address="local", num_cpus=1, log_to_driver=False, _temp_dir=HERE + "/r")


@ray.remote
def succeeds():
    note("succeeds")
    time.sleep(0.2)


@ray.remote(max_retries=2, retry_exceptions=True)
def third_time_lucky():
    note("third_time_lucky")
    time.sleep(0.2)
    if noted("third_time_lucky") < 3:
        raise ValueError("not yet")


@ray.remote
def cancelled():
    note("cancelled")
    while True:
        time.sleep(0.1)


@ray.remote(max_retries=0)
def stopped_by_force():
    note("stopped_by_force")
    while True:
        time.sleep(0.1)


raised = {}
for function in (succeeds, third_time_lucky, cancelled, stopped_by_force):
    name = function._function_name.split(".")[-1]
    reference = function.remote()
    if function in (cancelled, stopped_by_force):
        while not noted(name):
            time.sleep(0.05)
        time.sleep(2)
        ray.cancel(reference, force=function is stopped_by_force)
    try:
        ray.get(reference)
    except Exception as error:
        raised[name] = isinstance(error, ray.exceptions.TaskCancelledError)
time.sleep(4)
print("ray", ray.__version__)
events = ray.timeline()
spans = collections.defaultdict(list)
for event in sorted(events, key=lambda event: event["ts"]):
    if event["cat"].startswith("task::"):
        until = event["ts"] + event["dur"]
        event["stored"] = any(
            other["cat"] == "task:store_outputs" and other["tid"] == event["tid"] and event["ts"] <= other["ts"] < until
            for other in events
        )
        spans[event["cat"].removeprefix("task::")].append(event)
states = collections.defaultdict(list)
for task in sorted(list_tasks(detail=True), key=lambda task: task.attempt_number):
    states[task.name].append((task.attempt_number, task.state, task.error_type))
for name in ("succeeds", "third_time_lucky", "cancelled", "stopped_by_force"):
    print(f"{name} began {noted(name)} times; ray.get raised TaskCancelledError: {raised.get(name, False)}")
    print("    ray list tasks (attempt, state, error):", *states[name])
    for event in spans[name]:
        print("    timeline:", sorted(event["args"]), event["args"].get("type", ""), "stored outputs:", event["stored"])
assert [noted(name) for name in ("succeeds", "third_time_lucky", "cancelled", "stopped_by_force")] == [1, 3, 1, 1]
assert raised == {"cancelled": True, "stopped_by_force": True}
assert states["succeeds"] == states["cancelled"] == [(0, "FINISHED", None)]
assert states["stopped_by_force"] == [(0, "FAILED", "TASK_CANCELLED")]
failed = "TASK_EXECUTION_EXCEPTION"
assert states["third_time_lucky"] == [(0, "FAILED", failed), (1, "FAILED", failed), (2, "FINISHED", None)]
found = {name: [(sorted(event["args"]), event["stored"]) for event in spans[name]] for name in states}
plain = ["name", "task_id"]
assert found["succeeds"] == [(plain, True)]
assert found["third_time_lucky"] == [(plain, False), (plain, False), (plain, True)]
assert [(event["args"]["type"], event["stored"]) for event in spans["cancelled"]] == [("<class 'KeyboardInterrupt'>", False)]
assert "KeyboardInterrupt" in spans["cancelled"][0]["args"]["traceback"]
assert found["stopped_by_force"] == []
END
RAY_USAGE_STATS_ENABLED=0 RAY_AUTH_MODE=disabled tool/bin/python run.py >out 2>log || { cat out log; exit 1; }
sed -n '/^ray 2/,$p' out
echo "as described"
