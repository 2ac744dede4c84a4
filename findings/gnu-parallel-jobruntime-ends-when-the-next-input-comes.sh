#!/bin/sh
# GNU parallel 20221122: the JobRuntime of a job log isn't how long a job ran, but how long it took until parallel looked. While it waits
# for the next line of its input, it doesn't look: with slots free and the list coming through a slow pipe, a job that is over after half
# a second gets the time until the next line came, here up to eight times as long. So each job seems to end just when the next one begins,
# as if they had run one after the other without a pause, and the log of a machine that idles most of the time shows it busy all the time.
# The same list from the command line, with the same pauses between starts by --delay, has the right times.
set -eu
version=20221122+ds-2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q "parallel=$version" >/dev/null 2>&1
dpkg -x parallel_*.deb tool
parallel() { perl "$folder/tool/usr/bin/parallel" --will-cite "$@"; }
parallel --version | head -n 1

job='a=$(date +%s.%N); sleep 0.5; b=$(date +%s.%N); echo "$a $b" >> '
for item in 1 2 3 4; do echo "$item"; sleep 4; done | parallel -j 8 --joblog pipe.log "$job"pipe.times
parallel -j 8 --delay 4 --joblog delay.log "$job"delay.times ::: 1 2 3 4

for way in pipe delay; do
    echo "$way: how long the jobs ran by their own clocks, and their job log:"
    awk '{ printf "%.1f s  ", $2 - $1 } END { print "" }' $way.times
    cut -f 1-4,7,8 $way.log
done

# By their own clocks all jobs ran for about half a second.
awk '$2 - $1 < 0.4 || $2 - $1 > 1.5 { exit 1 }' pipe.times delay.times
# With a pipe each JobRuntime is that of the pipe, and each job "ends" where the next one starts.
awk -F '\t' 'NR > 1 { if ($4 < 2) exit 1; if (end && ($3 - end > 0.3 || $3 - end < -0.3)) exit 1; end = $3 + $4 }' pipe.log
[ "$(wc -l <pipe.log)" = 5 ]
awk -F '\t' 'NR > 1 && $4 > 2 { exit 1 }' delay.log
[ "$(wc -l <delay.log)" = 5 ]
echo "as described"
