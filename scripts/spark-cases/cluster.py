"""A standalone Spark cluster on this machine: one master, and one worker for each executor.

Each worker has a loopback address of its own (127.0.0.11, 127.0.0.12, ...) as its host, because Spark starts a speculative copy only on a
host that does not yet run the task. `local-cluster` has one host and therefore never copies.
"""

import os
import socket
import subprocess
import time
from pathlib import Path


def free_port():
    """Returns a port of 127.0.0.1 that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Cluster:
    """Runs while it is open (`with Cluster(...) as cluster`); `url` is the master's."""

    def __init__(self, spark_home, folder, executors, cores, memory_megabytes):
        self.spark_home, self.folder = Path(spark_home), Path(folder)
        self.executors, self.cores, self.memory_megabytes = executors, cores, memory_megabytes
        self.processes = []
        self.url = None

    def __enter__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            port = free_port()
            self.url = f"spark://127.0.0.1:{port}"
            self._start("master", ["master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"])
            self._wait_for("master", "I have been elected leader", 1)
            for number in range(self.executors):
                arguments = ["worker.Worker", "--host", f"127.0.0.{11 + number}", "--cores", str(self.cores), "--webui-port", "0"]
                arguments += ["--memory", f"{self.memory_megabytes}M", "--work-dir", str(self.folder / "work" / str(number)), self.url]
                self._start(f"worker-{number}", arguments)
            self._wait_for("master", "Registering worker", self.executors)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exception):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes = []

    def _start(self, name, arguments):
        # Spark's own start scripts set the version of Scala; without it a worker looks for the folders of a build of Spark.
        environment = {**os.environ, "SPARK_HOME": str(self.spark_home), "SPARK_SCALA_VERSION": "2.12"}
        command = ["java", "-Xmx160m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", str(self.spark_home / "jars" / "*")]
        command += [f"org.apache.spark.deploy.{arguments[0]}", *arguments[1:]]
        with open(self._log(name), "wb") as log:
            self.processes.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL))

    def _log(self, name):
        return self.folder / f"{name}.log"

    def _wait_for(self, name, text, times):
        deadline = time.monotonic() + 60
        while self._log(name).read_text(errors="replace").count(text) < times:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no {text!r} in {self._log(name)} after 60 s")
            if any(process.poll() is not None for process in self.processes):
                raise RuntimeError(f"a process of the cluster has ended: see the logs in {self.folder}")
            time.sleep(0.1)
