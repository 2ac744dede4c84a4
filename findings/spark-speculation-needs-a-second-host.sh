#!/bin/sh
# Apache Spark 4.3.0: with speculation on and three of four slots idle, a task that hangs gets no copy as long as all executors are on one
# host: Spark decides that a copy is due (the driver logs it), but it starts a copy only on another host than those where the task runs,
# not on another executor. So speculation does nothing on a cluster of one large machine, in local-cluster mode, or where all containers
# of an application are on one node, however many executors there are. The event log doesn't show it: it has the setting, no copy, and no
# event for the copy that was wanted and never ran. With the same two executors under two host names the copy runs. Needs Java 17 or later
# and python3 with venv.
set -eu
folder=$(mktemp -d)
pids=
end() {
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    rm -rf "$folder"
}
trap end EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pyspark==4.3.0 py4j >"$folder/pip.log" 2>&1 || { tail "$folder/pip.log"; exit 1; }
SPARK_HOME=$("$folder/venv/bin/python" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')
PYSPARK_PYTHON=$folder/venv/bin/python
export SPARK_HOME PYSPARK_PYTHON SPARK_DAEMON_MEMORY=256m SPARK_LOG_DIR="$folder" SPARK_NO_DAEMONIZE=1
"$folder/venv/bin/python" -c 'import pyspark; print("Spark", pyspark.__version__)'

cat >"$folder/app.py" <<'PY'
import sys, time
from pyspark import TaskContext
from pyspark.sql import SparkSession

master, logs, temp = sys.argv[1:]
spark = SparkSession.builder.master(master).config(map={
    "spark.driver.extraJavaOptions": "-Dlog4j2.configurationFile=file:" + temp + "/log4j2.properties",
    "spark.executor.cores": "2", "spark.executor.memory": "500m", "spark.driver.memory": "600m",
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false", "spark.local.dir": temp, "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s", "spark.cores.max": "4",
    "spark.eventLog.enabled": "true", "spark.eventLog.dir": "file://" + logs, "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false", "spark.speculation": "true", "spark.speculation.interval": "100ms",
}).getOrCreate()
spark.sparkContext.parallelize(range(4), 4).count()

def work(rows):
    context = TaskContext.get()
    # The first try of one task hangs; a copy of it would not.
    time.sleep(25 if context.partitionId() == 0 and context.attemptNumber() == 0 else 1)
    return rows

spark.sparkContext.parallelize(range(4), 4).mapPartitions(work).count()
time.sleep(5)
spark.stop()
PY

cat >"$folder/read.py" <<'PY'
import glob, json, sys
starts, wanted, spent = [], 0, 0
for line in open(glob.glob(sys.argv[1] + "/*")[0]):
    event = json.loads(line)
    name = event["Event"]
    if name == "SparkListenerEnvironmentUpdate":
        setting = event["Spark Properties"]["spark.speculation"]
    elif name == "SparkListenerTaskStart" and event["Stage ID"] == 1:
        info = event["Task Info"]
        starts.append((info["Index"], info["Executor ID"], info["Host"], info["Speculative"]))
    elif name == "SparkListenerStageCompleted" and event["Stage Info"]["Stage ID"] == 1:
        spent = (event["Stage Info"]["Completion Time"] - event["Stage Info"]["Submission Time"]) / 1000
    elif "Speculative" in name:
        wanted += 1
executors, hosts = {start[1] for start in starts}, {start[2] for start in starts}
copies = sum(start[3] for start in starts)
print(f"spark.speculation={setting}, executors with tasks: {len(executors)}, hosts: {len(hosts)}, attempts: {len(starts)}, "
      f"copies: {copies}, events about copies that were wanted: {wanted}, the stage took {spent:.0f} s")
print("RESULT", len(executors), len(hosts), len(starts), copies, wanted, int(spent))
PY

# Runs the application with two workers on the given hosts.
with_workers_on() {
    name=$1 port=$2
    shift 2
    mkdir "$folder/$name" "$folder/$name/logs"
    # What the driver's task set manager says goes to a file.
    cat >"$folder/$name/log4j2.properties" <<LOG
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = $folder/$name/driver
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %m%n
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = info
LOG
    "$SPARK_HOME/bin/spark-class" org.apache.spark.deploy.master.Master --host 127.0.0.1 --port "$port" --webui-port 0 \
        >"$folder/$name/master" 2>&1 &
    pids="$pids $!"
    for host in "$@"; do
        SPARK_LOCAL_IP=$host "$SPARK_HOME/bin/spark-class" org.apache.spark.deploy.worker.Worker --host "$host" --cores 2 --memory 1g \
            --webui-port 0 --work-dir "$folder/$name/work" "spark://127.0.0.1:$port" >"$folder/$name/worker" 2>&1 &
        pids="$pids $!"
    done
    SPARK_LOCAL_IP=127.0.0.1 "$folder/venv/bin/python" "$folder/app.py" "spark://127.0.0.1:$port" "$folder/$name/logs" "$folder/$name" \
        >"$folder/$name/out" 2>&1 || { tail "$folder/$name/out"; exit 1; }
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    pids=
    echo "$name:"
    python3 "$folder/read.py" "$folder/$name/logs" >"$folder/$name/result"
    grep -v RESULT "$folder/$name/result"
    echo "the driver's own words: $(grep -m 1 'as speculatable' "$folder/$name/driver")"
    grep -q 'as speculatable' "$folder/$name/driver"
}
base=$((20000 + $$ % 20000))
with_workers_on one-host $base 127.0.0.2 127.0.0.2
with_workers_on two-hosts $((base + 1)) 127.0.0.2 127.0.0.3

# One host: two executors, four attempts, no copy, no event, and the stage takes as long as the task that hangs.
awk '/RESULT/ && $2 == 2 && $3 == 1 && $4 == 4 && $5 == 0 && $6 == 0 && $7 >= 24 { ok = 1 } END { exit !ok }' "$folder/one-host/result"
# Two hosts: a copy, and the stage takes much less.
awk '/RESULT/ && $2 == 2 && $3 == 2 && $4 == 5 && $5 == 1 && $7 < 20 { ok = 1 } END { exit !ok }' "$folder/two-hosts/result"
echo "as described"
