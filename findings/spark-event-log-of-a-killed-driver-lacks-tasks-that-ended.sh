#!/bin/sh
# Apache Spark 4.3.0: the event log of an application whose driver was killed ends with the start of the last job, although tasks of that job
# had ended long before. Spark writes events of tasks into a buffer, and only some other events (of jobs, stages and executors) make it
# reach the file. So in a log "in progress", the stage that runs may be missing as a whole: neither that its tasks were started nor that
# they ended is there. Whoever looks for the cause of the kill sees an idle cluster. Needs Java 17 or later and python3 with venv.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pyspark==4.3.0 >"$folder/pip.log" 2>&1 || { tail "$folder/pip.log"; exit 1; }
"$folder/venv/bin/python" -c 'import pyspark; print("Spark", pyspark.__version__)'
mkdir "$folder/logs" "$folder/tasks"

cat >"$folder/app.py" <<'PY'
import os, signal, subprocess, sys, threading, time
from pyspark.sql import SparkSession

folder = sys.argv[1]
spark = SparkSession.builder.master("local[2]").config(map={
    "spark.driver.memory": "600m", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false", "spark.local.dir": folder, "spark.eventLog.enabled": "true",
    "spark.eventLog.dir": "file://" + folder + "/logs", "spark.eventLog.rolling.enabled": "false", "spark.eventLog.compress": "false",
}).getOrCreate()
spark.sparkContext.parallelize(range(2), 2).count()

def work(index, rows):
    time.sleep(1)
    open(f"{folder}/tasks/{index}", "w").close()
    return rows

def kill():
    while len(os.listdir(folder + "/tasks")) < 6:
        time.sleep(0.1)
    time.sleep(3)
    # The Java process of the driver is the child of this one.
    java = subprocess.run(["pgrep", "-P", str(os.getpid()), "java"], capture_output=True, text=True).stdout.split()
    os.kill(int(java[0]), signal.SIGKILL)
    os._exit(0)

threading.Thread(target=kill).start()
spark.sparkContext.parallelize(range(40), 40).mapPartitionsWithIndex(work).count()
PY
"$folder/venv/bin/python" "$folder/app.py" "$folder" >"$folder/out.log" 2>&1 || true
ended=$(ls "$folder/tasks" | wc -l)
[ "$ended" -ge 6 ] || { tail "$folder/out.log"; exit 1; }
result=$("$folder/venv/bin/python" - "$folder" <<'PY'
import glob, json, sys
jobs, starts, ends = 0, 0, 0
for line in open(glob.glob(sys.argv[1] + "/logs/*")[0]):
    event = json.loads(line)
    jobs += event["Event"] == "SparkListenerJobStart"
    starts += event["Event"] == "SparkListenerTaskStart" and event["Stage ID"] == 1
    ends += event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] == 1
print(jobs, starts, ends)
PY
)
set -- $result
echo "jobs in the log: $1; of the second one at least $ended tasks ended; in the log: $2 starts and $3 ends of its tasks"
[ "$result" = "2 0 0" ] || { echo "changed: expected 2 jobs, no start and no end"; exit 1; }
