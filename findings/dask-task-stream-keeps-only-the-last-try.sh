#!/bin/sh
# Dask distributed 2026.8.0: the task stream (get_task_stream, and so the dashboard and performance reports) has one record for each key
# that is done. Tries that failed before, with submit(…, retries=N), are in no record: their time is missing, and the key looks as if it had
# waited. A task that is cancelled while it runs goes on in its thread until it ends, keeps other tasks from running there, and
# leaves no record at all; the scheduler's transition log says that it was forgotten, at the time of the cancel.
set -eu
version=2026.8.0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv tool
tool/bin/pip install -q --disable-pip-version-check "distributed==$version" "dask==$version" >/dev/null 2>&1

cat >run.py <<'END'
import os
import time

from distributed import Client, LocalCluster, get_task_stream, __version__


def note(name):
    with open(name, "a") as file:
        file.write(f"{time.time()}\n")


def noted(name):
    return [float(line) for line in open(name)] if os.path.exists(name) else []


def third_time_lucky(folder):
    note(folder + "/began")
    time.sleep(0.5)
    if len(noted(folder + "/began")) < 3:
        raise ValueError("not yet")


def long(folder):
    note(folder + "/long-began")
    time.sleep(4)
    note(folder + "/long-ended")


def short():
    return 1


def main():
    folder = os.getcwd()
    print("distributed", __version__)
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        with get_task_stream(client=client) as stream:
            client.submit(third_time_lucky, folder, retries=5, key="third-time-lucky").result()
            cancelled = client.submit(long, folder, key="long")
            while not noted("long-began"):
                time.sleep(0.05)
            cancelled.cancel()
            at = time.time()
            client.submit(short, key="short").result()
            waited = time.time() - at
            time.sleep(1)
        forgotten = [row[-1] for row in cluster.scheduler.transition_log if row[0] == "long" and row[2] == "forgotten"]
    began, ended = noted("began"), noted("long-ended")
    print("third-time-lucky began", len(began), "times, at", began)
    print("long was cancelled at", at, "and forgotten at", forgotten, "but ran until", ended)
    print(f"short, submitted after the cancel, had its result after {waited:.1f} s")
    print("the task stream:")
    for record in stream.data:
        print(record["key"], record["status"], record["startstops"])
    records = {record["key"]: record for record in stream.data}
    assert len(stream.data) == 2 and sorted(records) == ["short", "third-time-lucky"]
    (computed,) = [part for part in records["third-time-lucky"]["startstops"] if part["action"] == "compute"]
    assert len(began) == 3 and began[2] - began[1] >= 0.5 and abs(computed["start"] - began[2]) < 0.25
    assert records["third-time-lucky"]["status"] == "OK"
    assert len(ended) == 1 and len(forgotten) == 1 and forgotten[0] < ended[0] - 1
    (computed,) = [part for part in records["short"]["startstops"] if part["action"] == "compute"]
    assert computed["start"] > ended[0] - 0.25


if __name__ == "__main__":
    main()
END
tool/bin/python run.py 2>log || { cat log; exit 1; }
echo "as described"
