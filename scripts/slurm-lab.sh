#!/bin/bash
# Brings up a small Slurm cluster of four nodes on this one machine, to try `hindmost run --engine slurm` and to test it.
#
#   scripts/slurm-lab.sh up DIR      start munged, slurmctld and four slurmd; DIR must be new or empty
#   scripts/slurm-lab.sh down DIR    stop exactly these daemons
#   scripts/slurm-lab.sh node DIR N  start the slurmd of node N (n1 to n4) again
#   scripts/slurm-lab.sh ctld DIR    start slurmctld again
#
# Afterwards `export SLURM_CONF=DIR/slurm.conf`. The nodes are n1 (4 CPUs, 4000 MB), n2 (4, 3000 MB), n3 (2, 2000 MB) and
# n4 (8, 6000 MB, 2 GPUs). They only count CPUs, memory and GPUs: all share this machine.
#
# With CGROUPS=1 in the environment of `up`, Slurm follows processes with control groups (as root), which also limit their memory. Only one such
# cluster can run at a time, because the groups have the names of the nodes.
#
# Debian and Ubuntu: apt-get install --no-install-recommends slurmctld slurmd slurm-client munge slurm-wlm-basic-plugins
# Daemons listen on free ports of 127.0.0.1, so several clusters can run at a time.
set -eu
export PATH=$PATH:/usr/sbin:/sbin
usage() { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ $# -ge 2 ] || usage
[ "$1" = up ] && mkdir -p "$2"
lab=$(cd "$2" && pwd)
nodes="n1 n2 n3 n4"
export SLURM_CONF=$lab/slurm.conf

is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Prints the first of six free ports in a row.
free_ports() {
  local base port tried
  for tried in $(seq 200); do
    # Ranges never overlap in part, and clusters that come up at the same time begin with different ones.
    base=$((20000 + ($$ + tried) % 1800 * 6)) port=0
    while [ $port -lt 6 ] && is_free $((base + port)); do port=$((port + 1)); done
    [ $port = 6 ] && { echo $base; return; }
  done
  echo "no free ports were found" >&2
  return 1
}

# Prints the id in a pid file if its process is a daemon of this cluster: the daemon may have ended, and its id may be another
# process's now.
pid_in() {
  local pid
  pid=$(cat "$1" 2>/dev/null) || return 1
  [ -n "$pid" ] && tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF -- "$lab/" && echo "$pid"
}

# Says whether a process is a daemon of this cluster.
is_daemon() {
  tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline" | grep -qE -- "^[^ ]*(slurmd|slurmctld|munged) .*$lab/"
}

# Prints the ids of all daemons of this cluster, also of those that no file names any more.
daemons() {
  local entry
  for entry in /proc/[0-9]*; do
    is_daemon "${entry#/proc/}" && echo "${entry#/proc/}"
  done
  return 0
}

start_node() { slurmd -N "$1" -f "$SLURM_CONF"; }

# Starts the controller, unless it runs: a second one would wait for the first one's end.
start_ctld() {
  local tried
  pid_in "$lab/run/slurmctld.pid" >/dev/null && return
  slurmctld "$@" -f "$SLURM_CONF"
  # It has written its id when it has locked the file.
  for tried in $(seq 100); do
    pid_in "$lab/run/slurmctld.pid" >/dev/null && return
    sleep 0.1
  done
  echo "slurmctld does not start; its log is in $lab/log" >&2
  return 1
}

up() {
  [ -z "$(ls -A "$lab")" ] || { echo "$lab is not empty" >&2; exit 2; }
  for program in munged slurmctld slurmd sinfo srun salloc scancel; do
    command -v $program >/dev/null || { echo "$program is not installed" >&2; exit 3; }
  done
  mkdir "$lab/ctld" "$lab/spool" "$lab/log" "$lab/run"
  for node in $nodes; do mkdir "$lab/spool/$node"; done
  # munged refuses a socket that others could not reach.
  chmod 755 "$lab" "$lab/run"
  local base user proctrack=linuxproc task=none
  base=$(free_ports) user=$(id -un)
  [ -z "${CGROUPS:-}" ] || proctrack=cgroup task=cgroup
  cat >"$SLURM_CONF" <<CONF
ClusterName=lab
SlurmctldHost=localhost
SlurmctldAddr=127.0.0.1
SlurmctldPort=$base
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$lab/run/munge.sock
CredType=cred/munge
StateSaveLocation=$lab/ctld
SlurmdSpoolDir=$lab/spool/%n
SlurmctldPidFile=$lab/run/slurmctld.pid
SlurmdPidFile=$lab/run/slurmd-%n.pid
SlurmctldLogFile=$lab/log/slurmctld.log
SlurmdLogFile=$lab/log/slurmd-%n.log
SlurmctldDebug=info
SlurmdDebug=info
ProctrackType=proctrack/$proctrack
TaskPlugin=task/$task
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=30
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=5
SlurmdParameters=config_overrides
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=${SLURMD_TIMEOUT:-60}
MessageTimeout=${MESSAGE_TIMEOUT:-5}
TCPTimeout=2
KillWait=2
MinJobAge=30
InactiveLimit=${INACTIVE_LIMIT:-0}
Waittime=0
UnkillableStepTimeout=60
MaxArraySize=2001
GresTypes=gpu
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((base + 1)) CPUs=4 RealMemory=4000 Feature=fast,ssd State=UNKNOWN
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((base + 2)) CPUs=4 RealMemory=3000 Feature=fast State=UNKNOWN
NodeName=n3 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((base + 3)) CPUs=2 RealMemory=2000 Feature=slow State=UNKNOWN
NodeName=n4 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((base + 4)) CPUs=8 RealMemory=6000 Gres=gpu:2 Feature=slow,big State=UNKNOWN
PartitionName=main Nodes=n1,n2,n3,n4 Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
CONF
  # Later versions use control groups unless they are switched off, which earlier ones do not know.
  local version
  version=$(slurmd -V | grep -o '[0-9]*' | head -1)
  if [ -n "${CGROUPS:-}" ]; then
    echo 'ConstrainRAMSpace=yes' >"$lab/cgroup.conf"
  elif [ "$version" -ge 23 ]; then
    echo 'CgroupPlugin=disabled' >"$lab/cgroup.conf"
  fi
  # Any devices will do: the GPUs only count.
  echo 'NodeName=n4 Name=gpu File=/dev/null,/dev/zero' >"$lab/gres.conf"
  (umask 077; dd if=/dev/urandom of="$lab/run/munge.key" bs=128 count=1 2>/dev/null)
  munged --force --key-file="$lab/run/munge.key" --socket="$lab/run/munge.sock" --pid-file="$lab/run/munged.pid" \
    --log-file="$lab/log/munged.log" --seed-file="$lab/run/munged.seed" --num-threads=2
  start_ctld -c
  for node in $nodes; do start_node "$node"; done
  for _ in $(seq 300); do
    [ "$(sinfo -h -N -o %t 2>/dev/null | grep -c idle)" = 4 ] && { sinfo -N -l; return; }
    sleep 0.1
  done
  echo "the nodes do not become idle; the logs are in $lab/log" >&2
  exit 1
}

down() {
  local pid
  [ -f "$SLURM_CONF" ] || exit 0
  if pid_in "$lab/run/slurmctld.pid" >/dev/null; then
    timeout 5 scancel -u "$(id -un)" 2>/dev/null || true
    for _ in $(seq 30); do [ -z "$(timeout 5 squeue -h 2>/dev/null)" ] && break; sleep 0.1; done
  fi
  # A daemon removes its file when it begins to end, and may hang after that.
  local daemons
  daemons=$(daemons)
  for signal in TERM KILL; do
    for pid in $daemons; do is_daemon "$pid" && kill -$signal "$pid" 2>/dev/null || true; done
    for _ in $(seq 30); do
      for pid in $daemons; do is_daemon "$pid" && { sleep 0.1; continue 2; }; done
      break 2
    done
  done
  # Steps outlive a daemon that was killed.
  local process
  for process in /proc/[0-9]*; do
    case "$(cat "$process/comm" 2>/dev/null):$(readlink "$process/cwd" 2>/dev/null)" in
      slurmstepd:"$lab"/*) kill -KILL "${process#/proc/}" 2>/dev/null || true ;;
    esac
  done
}

case $1 in
  up) up ;;
  down) down ;;
  node) start_node "${3:?}" ;;
  ctld) start_ctld ;;
  *) usage ;;
esac
