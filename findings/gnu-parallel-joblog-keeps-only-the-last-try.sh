#!/bin/sh
# GNU parallel 20221122: with --retries, the job log has one line a job, of its last try. Tries before it leave no trace: their
# time is in no JobRuntime, and Starttime is that of the last try. So a log whose lines look complete can miss most of the work, and a
# job that was tried three times looks like one that waited. A job that --timeout ends has Exitval -1 and Signal 15, which is no exit
# code that a shell can have.
set -eu
version=20221122+ds-2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q "parallel=$version" >/dev/null 2>&1
dpkg -x parallel_*.deb tool
parallel() { perl "$folder/tool/usr/bin/parallel" --will-cite "$@"; }
parallel --version | head -n 1

# A job that takes 0.5 s and fails each time.
parallel --retries 3 --joblog retried.log 'date +%s.%N >> began; sleep 0.5; exit 1' ::: x >/dev/null 2>&1 || true
parallel --timeout 1 --joblog timed-out.log 'sleep {}' ::: 20 >/dev/null 2>&1 || true

echo "the command began $(wc -l <began) times, at:"
cat began
echo "the job log:"
cat retried.log
echo "the job log of a job that --timeout has ended:"
cat timed-out.log

[ "$(wc -l <began)" = 3 ]
# A heading and one line.
[ "$(wc -l <retried.log)" = 2 ]
awk -F '\t' -v third="$(tail -n 1 began)" 'NR == 2 {
    # Starttime is when the third try began, give or take what its shell needs; the other two tries took a second.
    apart = third - $3
    if (apart < -0.35 || apart > 0.35 || $4 < 0.4 || $4 > 0.95 || $7 != 1) exit 1
}' retried.log
awk -F '\t' 'NR == 2 && !($7 == -1 && $8 == 15) { exit 1 }' timed-out.log
echo "as described"
