#!/bin/sh
# Apache Airflow 3.3.2: the row of a sensor with mode="reschedule" in task_instance has the start and the duration of its last poke only,
# and one try, however long it waited (in Airflow 2, start_date was that of the first poke). The other pokes are in task_reschedule alone,
# each with a duration of 0 and a start_date that is later than its end_date. A task that waits in the other way, deferred to a trigger,
# has the opposite row: it begins when the task first ran, and its duration contains all the time in which no worker had it. So two tasks
# that waited equally long look a hundred times different, and neither duration is what they took from a worker.
set -eu
version=3.3.2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv tool
tool/bin/pip install -q --disable-pip-version-check "apache-airflow==$version" >/dev/null 2>&1
PATH=$folder/tool/bin:$PATH
export PATH HERE="$folder" AIRFLOW_HOME="$folder/home" AIRFLOW__CORE__LOAD_EXAMPLES=False

mkdir -p home/dags
cat >home/dags/waiting.py <<'END'
import datetime
import os
import time

from airflow.providers.standard.triggers.temporal import TimeDeltaTrigger
from airflow.sdk import BaseOperator, dag, task


def note(name):
    with open(os.path.join(os.environ["HERE"], name), "a") as file:
        file.write(f"{time.time()}\n")


class Deferred(BaseOperator):
    """Runs, waits for a trigger without a worker, and runs again."""

    def execute(self, context):
        note("deferred")
        self.defer(trigger=TimeDeltaTrigger(datetime.timedelta(seconds=8)), method_name="resume")

    def resume(self, context, event=None):
        note("deferred")


@dag("waiting", schedule=None, start_date=datetime.datetime(2026, 1, 1), catchup=False)
def waiting():
    @task.sensor(mode="reschedule", poke_interval=4, timeout=600)
    def sensor():
        note("sensor")
        return len(open(os.path.join(os.environ["HERE"], "sensor")).readlines()) >= 3

    sensor()
    Deferred(task_id="deferred")


waiting()
END
echo "airflow $(airflow version 2>/dev/null | tail -n 1)"
airflow db migrate >log 2>&1
airflow dags test waiting 2026-02-01 >>log 2>&1 || { tail -n 20 log; exit 1; }

python3 - <<'END'
import datetime
import sqlite3

database = sqlite3.connect("home/airflow.db")
seconds = lambda text: datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc).timestamp()
rows = {}
for task, tries, state, start, end, duration in database.execute(
    "select task_id, try_number, state, start_date, end_date, duration from task_instance"
):
    rows[task] = (tries, state, seconds(start), seconds(end), duration)
    ran = [float(line) for line in open(task)]
    print(f"{task} ran {len(ran)} times, at {ran}")
    print(f"    its row: try {tries}, {state}, start {seconds(start)}, end {seconds(end)}, duration {duration}")
print("task_reschedule:")
pokes = list(database.execute("select start_date, end_date, duration, reschedule_date from task_reschedule order by id"))
for poke in pokes:
    print("   ", poke)

tries, state, start, end, duration = rows["sensor"]
first, second, last = [float(line) for line in open("sensor")]
assert last - first >= 8
assert (tries, state) == (1, "success") and second < start <= last and duration < last - second
assert len(pokes) == 2 and all(poke[2] == 0 and poke[0] >= poke[1] for poke in pokes)
tries, state, start, end, duration = rows["deferred"]
first, resumed = [float(line) for line in open("deferred")]
assert (tries, state) == (1, "success") and start <= first and resumed - first >= 8 and duration >= 8
assert list(database.execute("select count(*) from task_instance_history")) == [(0,)]
END
echo "as described"
