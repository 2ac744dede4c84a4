#!/usr/bin/env python3
"""Prints a Markdown table: what each setting changed in the runs of a folder, compared by seed with the run without it.

The folder is what `run.py --out` wrote. Where a seed has several runs of a setting, their mean counts.
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path
from statistics import mean

from event_log import summary


def measured(folder):
    """Returns {(case, setting): {seed: [summary, ...]}}."""
    runs = defaultdict(lambda: defaultdict(list))
    with open(folder / "cases.tsv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            log = Path(row["log"])
            # A folder may have been moved: the log's own folder keeps its name.
            log = log if log.exists() else folder / log.parent.name / log.name
            runs[row["case"], row["setting"]][int(row["seed"])].append(summary(log))
    return runs


def of_seed(runs, column):
    return mean(run[column] for run in runs)


def spread(values, form):
    """Returns the mean, with the least and the greatest value if there are several."""
    text = form.format(mean(values))
    return text if len(values) == 1 else f"{text} ({form.format(min(values))} to {form.format(max(values))})"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--column", default="later_jobs_s", help="what is compared (default: %(default)s)")
    options = parser.parse_args()
    runs = measured(options.folder)
    print("| case | setting | seeds | without it | with it | change | copies that won |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for (case, setting), with_it in runs.items():
        without = runs.get((case, "as it is"), {})
        seeds = sorted(set(with_it) & set(without))
        if setting == "as it is" or not seeds:
            continue
        before = [of_seed(without[seed], options.column) for seed in seeds]
        after = [of_seed(with_it[seed], options.column) for seed in seeds]
        changes = [100 * (new / old - 1) for old, new in zip(before, after)]
        copies = sum(run["copies"] for seed in seeds for run in with_it[seed])
        won = sum(run["copies_won"] for seed in seeds for run in with_it[seed])
        seconds = [spread(values, "{:.1f}") + " s" for values in (before, after)]
        cells = [case, setting, ", ".join(map(str, seeds)), *seconds, spread(changes, "{:+.0f}") + "%", f"{won} of {copies}"]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
