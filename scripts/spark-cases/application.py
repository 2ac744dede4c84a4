"""The applications: one for each case. `run.py` starts this as the driver program of Spark.

usage: application.py CASE SEED PARTITIONS EXECUTORS   (PARTITIONS: 0 for the number of the case)
"""

import random
import sys
import time

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from injected import ColdWorkers, FailingAttempts, HungAttempts, SlowExecutor, Work

RECORDS_OF_A_UNIT = 240
RECORD_BYTES = 400


class Application:
    """A running application, with the shapes of jobs that the cases are made of."""

    def __init__(self, context, seed, partitions):
        self.context, self.seed, self.partitions = context, seed, partitions

    def executors(self):
        """Returns the number of executors that have registered."""
        return self.context._jsc.sc().getExecutorMemoryStatus().size() - 1

    def stage(self, name, tasks, typical, causes=()):
        """Runs a job of one stage."""
        self.context.setJobDescription(name)
        numbers = self.context.parallelize(range(tasks), tasks)
        numbers.mapPartitionsWithIndex(Work(self.seed, name, typical, causes)).count()

    def shuffle(self, name, maps, partitions, typical, causes=(), keys=None):
        """Runs a job of two stages. Each key has a unit of records; the reducing task of `key % partitions` reads them."""
        keys = list(range(partitions)) if keys is None else keys
        maps_of = Work(self.seed, f"{name} map", 0.4, causes)
        records = RECORDS_OF_A_UNIT // maps
        seed = self.seed

        def emit(index, numbers):
            maps_of(index, numbers)
            source = random.Random(f"{seed}/{name}/{index}")
            for key in keys:
                for _ in range(records):
                    yield key, source.randbytes(RECORD_BYTES)

        self.context.setJobDescription(name)
        shuffled = self.context.parallelize(range(maps), maps).mapPartitionsWithIndex(emit).partitionBy(partitions, lambda key: key)
        reduces = Work(self.seed, f"{name} reduce", typical, causes, unit=RECORDS_OF_A_UNIT)
        shuffled.mapPartitionsWithIndex(reduces).count()

    def slow_executor(self, factor):
        """Returns the cause that makes one executor slow; which one depends on the seed."""
        return SlowExecutor(self.seed % self.executors(), factor)


def none(application):
    for number in range(3):
        application.shuffle(f"job {number}", 24, application.partitions or 32, 0.7)


def slow_executor(application):
    causes = [application.slow_executor(4)]
    for number in range(4):
        application.stage(f"job {number}", application.partitions or 32, 0.7, causes)


def skew(application):
    # One partition of 32 has ten keys, the others have one. More partitions separate these keys. The seed decides which partition it is,
    # so that its task is not always among the first of its executor.
    skewed = (8 * application.seed - 3) % 32
    keys = list(range(32)) + [skewed + 32 * further for further in range(1, 10)]
    for number in range(3):
        application.shuffle(f"job {number}", 24, application.partitions or 32, 0.6, keys=keys)


def hung_attempts(application):
    causes = [HungAttempts(application.seed, 0.05, 10)]
    for number in range(3):
        application.stage(f"job {number}", application.partitions or 48, 0.6, causes)


def garbage_collection(application):
    # A row of a heavy task makes 1.2 million strings, which are garbage after the row: a small heap must copy or collect them all.
    session = SparkSession(application.context)
    tasks, rows = application.partitions or 48, 12
    for number in range(3):
        heavy = sorted(random.Random(f"heavy/{application.seed}/{number}").sample(range(8, tasks), 3))
        application.context.setJobDescription(f"job {number}")
        words = f"IF(id DIV {rows} IN ({', '.join(map(str, heavy))}), 1200000, 60000)"
        strings = session.range(0, tasks * rows, 1, tasks).selectExpr(f"size(split(repeat('word ', {words}), ' ')) AS strings")
        strings.write.format("noop").mode("overwrite").save()


def cold_start(application):
    causes = [ColdWorkers(1.5)]
    for number in range(8):
        application.stage(f"job {number}", application.partitions or 24, 0.3, causes)


def few_tasks(application):
    # The second stage of each job has as much work as eight tasks of 0.7 s, but one partition.
    for number in range(3):
        application.shuffle(f"job {number}", 24, application.partitions or 1, 0.7, keys=list(range(8)))


def locality(application):
    context, seed = application.context, application.seed
    # The tasks of one executor are fast while the data are cached, so that nearly all partitions are cached there.
    others = [SlowExecutor(executor, 60) for executor in range(application.executors()) if executor != seed % application.executors()]
    tasks = application.partitions or 48
    context.setJobDescription("cache")
    cached = context.parallelize(range(tasks), tasks).mapPartitionsWithIndex(Work(seed, "cache", 0.1, others)).cache()
    cached.count()
    for number in range(4):
        name = f"job {number}"
        context.setJobDescription(name)
        cached.mapPartitionsWithIndex(Work(seed, name, 0.5)).count()


def failures(application):
    causes = [FailingAttempts(application.seed, 0.06, 2)]
    for number in range(3):
        application.stage(f"job {number}", application.partitions or 40, 0.8, causes)


def driver_pauses(application):
    for number in range(4):
        application.stage(f"job {number}", application.partitions or 32, 0.5)
        time.sleep(4)


def mix(application):
    causes = [application.slow_executor(2.5), HungAttempts(application.seed, 0.02, 8)]
    keys = list(range(32)) + [7 + 32 * further for further in range(1, 5)]
    for number in range(2):
        application.shuffle(f"job {number}", 24, application.partitions or 32, 0.6, causes, keys)
        time.sleep(2)
    application.stage("job 2", 40, 0.6, causes)


CASES = {
    function.__name__.replace("_", "-"): function
    for function in (
        none, slow_executor, skew, hung_attempts, garbage_collection, cold_start, few_tasks, locality, failures, driver_pauses, mix
    )
}


def main():
    case, seed, partitions, executors = sys.argv[1], *map(int, sys.argv[2:5])
    context = SparkContext(conf=SparkConf().setAppName(f"{case} {seed}"))
    application = Application(context, seed, partitions)
    deadline = time.monotonic() + 60
    while application.executors() < executors and time.monotonic() < deadline:
        time.sleep(0.1)
    CASES[case](application)
    context.stop()


if __name__ == "__main__":
    main()
