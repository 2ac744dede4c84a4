#!/bin/bash
# Slurm 22.05.8: starting slurmctld while one runs with the same configuration neither fails nor leaves the running one alone. The new
# one sends the running one SIGTERM, waits until it has ended, takes its place, and exits with 0 like a first start. So "start it
# if it does not answer" is no harmless check: a watchdog that is too early restarts the controller each time, and during each
# restart commands are refused. Whoever has kept the process id of the first controller has that of a dead process.
# Needs root (chroot) and debootstrap.
set -euo pipefail
version=22.05.8-4+deb12u3
folder=$(mktemp -d)
root=$folder/root
end() {
    [ ! -e "$root/run/lab/slurmctld.pid" ] || kill -KILL "$(cat "$root/run/lab/slurmctld.pid")" 2>/dev/null || true
    [ ! -e "$root/run/lab/munged.pid" ] || kill -KILL "$(cat "$root/run/lab/munged.pid")" 2>/dev/null || true
    umount "$root/proc" 2>/dev/null || true
    rm -rf --one-file-system "$folder"
}
trap end EXIT
debootstrap --variant=minbase bookworm "$root" >"$folder/log" 2>&1 || { tail "$folder/log"; exit 1; }
in_root() { chroot "$root" env PATH=/usr/sbin:/usr/bin:/sbin:/bin SLURM_CONF=/run/lab/slurm.conf "$@"; }
mount -t proc proc "$root/proc"
in_root apt-get update -qq
in_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends \
    "slurmctld=$version" "slurm-client=$version" "slurm-wlm-basic-plugins=$version" munge >"$folder/log" 2>&1
in_root slurmctld -V

mkdir -p "$root/run/lab/state"
echo "127.0.0.1 localhost $(hostname)" >"$root/etc/hosts"
port=$((20000 + $$ % 20000))
cat >"$root/run/lab/slurm.conf" <<CONF
ClusterName=lab
SlurmctldHost=localhost
SlurmctldAddr=127.0.0.1
SlurmctldPort=$port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=/run/lab/munge.sock
CredType=cred/munge
StateSaveLocation=/run/lab/state
SlurmctldPidFile=/run/lab/slurmctld.pid
SlurmctldLogFile=/run/lab/slurmctld.log
SwitchType=switch/none
ProctrackType=proctrack/linuxproc
NodeName=n1 CPUs=1 State=UNKNOWN
PartitionName=main Nodes=n1 Default=YES State=UP
CONF
(umask 077; dd if=/dev/urandom of="$root/run/lab/munge.key" bs=128 count=1 2>/dev/null)
in_root munged --force --key-file=/run/lab/munge.key --socket=/run/lab/munge.sock --pid-file=/run/lab/munged.pid \
    --log-file=/run/lab/munged.log --seed-file=/run/lab/munged.seed
answers() { in_root scontrol ping 2>&1 | grep -q UP; }
until_it_answers() {
    local tried
    for tried in $(seq 300); do answers && return; sleep 0.1; done
    echo "slurmctld does not answer"; tail "$root/run/lab/slurmctld.log"; return 1
}

in_root slurmctld -c
until_it_answers
first=$(cat "$root/run/lab/slurmctld.pid")
echo "process $first runs and answers: $(in_root scontrol ping)"
code=0
in_root slurmctld || code=$?
until_it_answers
second=$(cat "$root/run/lab/slurmctld.pid")
echo "the second start exits with $code; the process is $second now, and $first $(kill -0 "$first" 2>/dev/null && echo runs || echo 'has ended')"
grep -iE "terminate|kill|signal|primary" "$root/run/lab/slurmctld.log" || true

[ "$code" = 0 ] && [ "$first" != "$second" ]
! kill -0 "$first" 2>/dev/null
echo "as described"
