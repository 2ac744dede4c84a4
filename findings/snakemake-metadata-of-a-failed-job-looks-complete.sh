#!/bin/sh
# Snakemake 9.27.1: .snakemake/metadata has one record for each output file, not for each job, and only of its last try. The record of a
# job that failed for good has a starttime, an endtime and "incomplete": false, like that of a job that succeeded; it has no exit code,
# and none of the number of tries. So who counts records counts a job with three outputs as three, a job that was tried three times as
# one that ran once, and a failed job as one that is done. (The output file is missing, and so is the benchmark file, but a file that is
# not there can also have been deleted.)
set -eu
version=9.27.1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv tool
tool/bin/pip install -q --disable-pip-version-check "snakemake==$version" >/dev/null 2>&1
PATH=$folder/tool/bin:$PATH
export PATH
echo "snakemake $(snakemake --version)"

cat >Snakefile <<'END'
rule all:
    input: "fails.txt", "third-time.txt", "a.txt", "b.txt", "c.txt"
rule fails:
    output: "fails.txt"
    benchmark: "fails.tsv"
    retries: 1
    shell: "date +%s.%N >>began.fails; sleep 0.5; exit 1"
rule third_time:
    output: "third-time.txt"
    benchmark: "third-time.tsv"
    retries: 2
    shell: "date +%s.%N >>began.third_time; sleep 0.5; test $(wc -l <began.third_time) = 3 && touch {output}"
rule three_outputs:
    output: "a.txt", "b.txt", "c.txt"
    shell: "date +%s.%N >>began.three_outputs; sleep 0.5; touch {output}"
END
snakemake --cores 1 --keep-going --quiet all >log 2>&1 && exit 1

for rule in fails third_time three_outputs; do
    echo "$rule began $(wc -l <began.$rule) times, the last time at $(tail -n 1 began.$rule)"
done
echo "output of the job that failed: $(ls fails.txt 2>/dev/null || echo none)"
echo "the records in .snakemake/metadata:"
python3 - <<'END'
import base64, glob, json, os

records = {}
for name in glob.glob(".snakemake/metadata/*"):
    record = json.load(open(name))
    output = base64.b64decode(os.path.basename(name)).decode()
    records[output] = record
    print(output, {key: record[key] for key in ("rule", "starttime", "endtime", "incomplete")})

began = lambda rule: [float(line) for line in open(f"began.{rule}")]
assert sorted(records) == ["a.txt", "b.txt", "c.txt", "fails.txt", "third-time.txt"]
# It failed, both times, and its record is that of a job that is complete.
assert len(began("fails")) == 2 and not os.path.exists("fails.txt")
assert records["fails.txt"]["incomplete"] is False and records["third-time.txt"]["incomplete"] is False
assert set(records["fails.txt"]) == set(records["third-time.txt"])
assert not any("exit" in key or "attempt" in key or "status" in key for key in records["fails.txt"])
# Only the last try is in the record: it began after the second one had ended.
first, second, third = began("third_time")
assert second + 0.5 < records["third-time.txt"]["starttime"] <= third
assert first + 0.5 < second
# One job, three records. Their start times differ by parts of a millisecond, so that they are not even equal.
assert len(began("three_outputs")) == 1
of_one_job = [records[name] for name in ("a.txt", "b.txt", "c.txt")]
starts = [record["starttime"] for record in of_one_job]
assert len(set(starts)) == 3 and max(starts) - min(starts) < 0.2
assert len({record["endtime"] for record in of_one_job}) == 1
END
[ ! -e fails.tsv ]
[ "$(wc -l <third-time.tsv)" = 2 ]
echo "as described"
