"""Reads from a Spark event log what the table needs: the times of the application and its jobs, and what became of its attempts."""

import json
from pathlib import Path


def seconds_of(spans):
    """Returns the sum of the lengths of spans that are given in milliseconds."""
    return round(sum(end - start for start, end in spans) / 1000, 3)


def summary(path):
    """Returns a dict of seconds and counts. The log must be that of an application that has ended."""
    start = end = None
    starts, spans = {}, {}
    attempts = failed = killed = copies = copies_won = 0
    collection = running = 0
    for line in Path(path).open(encoding="utf-8"):
        event = json.loads(line)
        kind = event["Event"]
        if kind == "SparkListenerApplicationStart":
            start = event["Timestamp"]
        elif kind == "SparkListenerApplicationEnd":
            end = event["Timestamp"]
        elif kind == "SparkListenerJobStart":
            starts[event["Job ID"]] = event["Submission Time"]
        elif kind == "SparkListenerJobEnd":
            spans[event["Job ID"]] = (starts[event["Job ID"]], event["Completion Time"])
        elif kind == "SparkListenerTaskEnd":
            info, metrics = event["Task Info"], event.get("Task Metrics") or {}
            attempts += 1
            failed += event["Task End Reason"]["Reason"] == "ExceptionFailure"
            killed += bool(info["Killed"])
            copies += bool(info["Speculative"])
            copies_won += bool(info["Speculative"]) and event["Task End Reason"]["Reason"] == "Success"
            collection += metrics.get("JVM GC Time", 0)
            running += info["Finish Time"] - info["Launch Time"]
    if start is None or end is None or not spans:
        raise ValueError(f"{path}: the application has not ended, or ran no job")
    first, last = min(span[0] for span in spans.values()), max(span[1] for span in spans.values())
    return {
        "application_s": (end - start) / 1000,
        "first_to_last_job_s": (last - first) / 1000,
        "jobs_s": seconds_of(spans.values()),
        # The first job's tasks wait for new Java machines and Python processes; how long depends on the load of this machine.
        "later_jobs_s": seconds_of(sorted(spans.values())[1:]),
        "attempts": attempts,
        "failed": failed,
        "killed": killed,
        "copies": copies,
        "copies_won": copies_won,
        "task_s": running / 1000,
        "collection_share": round(collection / max(running, 1), 3),
    }
