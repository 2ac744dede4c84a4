"""The work of a task, with the causes of delay that a case injects. Executors import this module.

A task sleeps instead of computing, so that more slots than cores can be tried and other load on the machine changes little. How long it
sleeps depends on the seed and on the task only: two runs with the same seed do the same work, whatever their settings are.
"""

import math
import os
import random
import time
from typing import NamedTuple

from pyspark import TaskContext

SIGMA = 0.15
"""Standard deviation of the logarithm of the durations of the tasks of a stage, before anything is injected."""


class Attempt(NamedTuple):
    """What decides how long an attempt takes."""

    stage: str
    index: int
    number: int
    executor: str


def draw(seed, stage, index, typical):
    """Returns the seconds that a task takes where nothing delays it."""
    return random.Random(f"{seed}/{stage}/{index}").lognormvariate(math.log(typical), SIGMA)


def executor_id():
    """Returns the id of this executor: a worker of a standalone cluster starts it in a folder of this name."""
    return os.path.basename(os.getcwd())


class SlowExecutor:
    """All attempts of one executor take `factor` times as long."""

    def __init__(self, executor, factor):
        self.executor, self.factor = str(executor), factor

    def seconds(self, attempt, seconds):
        return seconds * self.factor if attempt.executor == self.executor else seconds


class HungAttempts:
    """The first attempts of a few tasks of each stage take `factor` times as long; further attempts of these tasks don't."""

    def __init__(self, seed, share, factor):
        self.seed, self.share, self.factor = seed, share, factor

    def seconds(self, attempt, seconds):
        hangs = random.Random(f"hung/{self.seed}/{attempt.stage}/{attempt.index}").random() < self.share
        return seconds * self.factor if hangs and attempt.number == 0 else seconds


class FailingAttempts:
    """The first `times` attempts of a few tasks of each stage fail after they have done all their work."""

    def __init__(self, seed, share, times):
        self.seed, self.share, self.times = seed, share, times

    def seconds(self, _attempt, seconds):
        return seconds

    def end(self, attempt):
        fails = random.Random(f"fails/{self.seed}/{attempt.stage}/{attempt.index}").random() < self.share
        if fails and attempt.number < self.times:
            raise OSError(f"injected failure of attempt {attempt.number}")


_stages_seen = set()


class ColdWorkers:
    """The first attempt of a stage in each process of an executor takes `extra` seconds longer, as if it had to load its code."""

    def __init__(self, extra):
        self.extra = extra

    def seconds(self, attempt, seconds):
        if attempt.stage in _stages_seen:
            return seconds
        _stages_seen.add(attempt.stage)
        return seconds + self.extra


class Work:
    """Does the work of the tasks of a stage. `unit` is how many records typical input has; `None` if input does not matter."""

    def __init__(self, seed, stage, typical, causes=(), unit=None):
        self.seed, self.stage, self.typical, self.causes, self.unit = seed, stage, typical, tuple(causes), unit

    def __call__(self, index, records):
        attempt = Attempt(self.stage, index, TaskContext.get().attemptNumber(), executor_id())
        count = sum(1 for _ in records)
        seconds = draw(self.seed, self.stage, index, self.typical)
        if self.unit is not None:
            seconds *= count / self.unit
        for cause in self.causes:
            seconds = cause.seconds(attempt, seconds)
        time.sleep(seconds)
        for cause in self.causes:
            if hasattr(cause, "end"):
                cause.end(attempt)
        return iter([index])
