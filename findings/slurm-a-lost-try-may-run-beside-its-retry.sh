#!/bin/bash
# Slurm 22.05.8: NODE_FAIL with an end time doesn't mean that the job has ended then. It means that slurmd didn't answer for
# SlurmdTimeout. If only slurmd is gone, the job's processes run on to their own end, with all that they write, exit code included. When
# the job has ended, slurmctld logs an error and records nothing. Slurm requeues the job after two minutes, and a second try runs on
# another node while the first one still runs. The records of the two tries don't overlap: by them the second starts two minutes after the
# first has ended. So tries of one job that never overlap in the accounting may have run at the same time: a job whose tries write to the
# same place isn't safe with --requeue, and machine time after the recorded end is in no record. Needs root (chroot) and debootstrap.
# Takes about six minutes.
set -euo pipefail
version=22.05.8-4+deb12u3
folder=$(mktemp -d)
root=$folder/root
end() {
    local name tried
    for name in slurmctld slurmd-n1 slurmd-n2 munged; do
        [ ! -e "$root/run/lab/$name.pid" ] || kill -KILL "$(cat "$root/run/lab/$name.pid")" 2>/dev/null || true
    done
    # Jobs and their supervisors, which outlive the daemons.
    for name in /proc/[0-9]*; do
        [ "$(readlink "$name/root" 2>/dev/null)" != "$root" ] || kill -KILL "${name#/proc/}" 2>/dev/null || true
    done
    for name in proc dev sys; do
        for tried in $(seq 50); do
            mountpoint -q "$root/$name" || break
            umount -R "$root/$name" 2>/dev/null && break
            sleep 0.1
        done
    done
    rm -rf --one-file-system "$folder"
}
trap end EXIT
debootstrap --variant=minbase bookworm "$root" >"$folder/log" 2>&1 || { tail "$folder/log"; exit 1; }
in_root() { chroot "$root" env PATH=/usr/sbin:/usr/bin:/sbin:/bin SLURM_CONF=/run/lab/slurm.conf "$@"; }
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
# slurmd looks for control groups, though it uses none here.
mount --rbind /sys "$root/sys"
mount --make-rslave "$root/sys"
in_root apt-get update -qq
in_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends \
    "slurmctld=$version" "slurmd=$version" "slurm-client=$version" "slurm-wlm-basic-plugins=$version" munge >"$folder/log" 2>&1 \
    || { tail "$folder/log"; exit 1; }
in_root slurmctld -V

mkdir -p "$root/run/lab/state" "$root/run/lab/spool/n1" "$root/run/lab/spool/n2"
chmod 755 "$root/run/lab"
echo "127.0.0.1 localhost $(hostname)" >"$root/etc/hosts"
port=$((20000 + $$ % 10000 * 3))
cat >"$root/run/lab/slurm.conf" <<CONF
ClusterName=lab
SlurmctldHost=localhost
SlurmctldAddr=127.0.0.1
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=/run/lab/munge.sock
CredType=cred/munge
StateSaveLocation=/run/lab/state
SlurmdSpoolDir=/run/lab/spool/%n
SlurmctldPidFile=/run/lab/slurmctld.pid
SlurmdPidFile=/run/lab/slurmd-%n.pid
SlurmctldLogFile=/run/lab/slurmctld.log
SlurmdLogFile=/run/lab/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/filetxt
JobCompLoc=/run/lab/records
SlurmdTimeout=15
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=1 State=UNKNOWN
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=1 State=UNKNOWN
PartitionName=main Nodes=n1,n2 Default=YES State=UP
CONF
(umask 077; dd if=/dev/urandom of="$root/run/lab/munge.key" bs=128 count=1 2>/dev/null)
in_root munged --force --key-file=/run/lab/munge.key --socket=/run/lab/munge.sock --pid-file=/run/lab/munged.pid \
    --log-file=/run/lab/munged.log --seed-file=/run/lab/munged.seed
in_root slurmctld -c
for node in n1 n2; do
    in_root slurmd -N $node || { echo "slurmd does not start"; tail "$root/run/lab/slurmd-$node.log"; exit 1; }
done
idle() { [ "$(in_root sinfo -h -N -o %t 2>/dev/null | grep -c idle)" = 2 ]; }
for tried in $(seq 60); do idle && break; sleep 1; done
idle || { echo "the nodes do not become idle"; tail "$root/run/lab/slurmctld.log"; exit 1; }

# Each try says when it begins and ends, by its own clock.
cat >"$root/run/lab/job.sh" <<'JOB'
#!/bin/sh
try=${SLURM_RESTART_COUNT:-0}
echo "try $try on $SLURMD_NODENAME begins $(date +%s)" >>/run/lab/said
sleep 260
echo "try $try on $SLURMD_NODENAME ends $(date +%s)" >>/run/lab/said
JOB
job=$(in_root sbatch --parsable --requeue -o /dev/null -w n1 /run/lab/job.sh)
said() { grep -c "$1" "$root/run/lab/said" 2>/dev/null || true; }
for tried in $(seq 60); do [ "$(said "try 0 on n1 begins")" = 1 ] && break; sleep 1; done
# Once it is queued again, any node will do.
kill -KILL "$(cat "$root/run/lab/slurmd-n1.pid")"
for tried in $(seq 120); do in_root squeue -h -j "$job" -o %T | grep -q PENDING && break; sleep 1; done
in_root scontrol update "JobId=$job" ReqNodeList=
for tried in $(seq 200); do [ "$(said "try 1 on n2 begins")" = 1 ] && break; sleep 1; done
for tried in $(seq 200); do [ "$(said "try 0 on n1 ends")" = 1 ] && break; sleep 1; done
in_root scancel "$job"
for tried in $(seq 60); do [ "$(wc -l <"$root/run/lab/records")" -ge 2 ] && break; sleep 1; done

echo "what the tries themselves say:"
cat "$root/run/lab/said"
echo "what Slurm has recorded:"
grep -o 'JobState=[^ ]*\|StartTime=[^ ]*\|EndTime=[^ ]*\|NodeList=[^ ]*' "$root/run/lab/records" | paste -d ' ' - - - -

field() { sed -n "$1p" "$root/run/lab/records" | grep -o "$2=[^ ]*" | cut -d = -f 2; }
[ "$(field 1 JobState)" = NODE_FAIL ]
recorded_end=$(in_root date -d "$(field 1 EndTime)" +%s)
recorded_start=$(in_root date -d "$(field 2 StartTime)" +%s)
first_ended=$(awk '/try 0 on n1 ends/ { print $NF }' "$root/run/lab/said")
second_began=$(awk '/try 1 on n2 begins/ { print $NF }' "$root/run/lab/said")
echo "by the records, the second try starts $((recorded_start - recorded_end)) s after the first has ended;" \
    "in fact the first one ends $((first_ended - second_began)) s after the second has begun"
# By the records more than 100 seconds lie between the tries; in fact they overlap by more than 20.
[ $((recorded_start - recorded_end)) -gt 100 ] && [ $((first_ended - second_began)) -gt 20 ]
echo "as described"
