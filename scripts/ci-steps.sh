# Steps of .ci/run and scripts/nightly, which source this file: what they install, and how they run and time their steps.

times=()
failed=()
beside_names=()
beside_ids=()

# begin_steps SCRIPT [ARGUMENT...]: to be called first, with the script's own name. Runs the script again if signals are ignored:
# a script's background jobs ignore Ctrl-C, and so would all that the tests start and interrupt.
begin_steps() {
    if [ -z "${SIGNALS_AS_USUAL:-}" ] && env --default-signal=INT,HUP true 2>/dev/null; then
        SIGNALS_AS_USUAL=1 exec env --default-signal=INT,HUP,QUIT,TERM "$@"
    fi
    # Output of steps.
    logs=$(mktemp -d)
    trap end_all EXIT
    # `wait` and so the script end at these, not only when the step has ended.
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

# Real logs are read by the tests where they are at hand.
find_data() {
    if [ -z "${HINDMOST_DATA:-}" ] && [ -d ../shared/data ]; then
        HINDMOST_DATA="$(cd ../shared/data && pwd)"
        export HINDMOST_DATA
    fi
}

# Ends what runs, with all that it has started, and prints the times so far.
end_all() {
    local id
    for id in "${beside_ids[@]}"; do kill -- "-$id" 2>/dev/null || true; done
    for _ in $(seq 50); do
        for id in "${beside_ids[@]}"; do kill -0 -- "-$id" 2>/dev/null && { sleep 0.1; continue 2; }; done
        break
    done
    for id in "${beside_ids[@]}"; do kill -KILL -- "-$id" 2>/dev/null || true; done
    [ "${#times[@]}" = 0 ] || print_times
    rm -rf "$logs"
}

print_times() {
    printf '\n== time of each step\n'
    printf '%s\n' "${times[@]}"
    printf '%6d s  in all\n' "$SECONDS"
    times=()
}

# start NAME COMMAND...: starts a step in the background, in a process group of its own.
start() {
    local name=$1
    shift
    : >"$logs/$name"
    set -m
    (
        set -e
        begin=$SECONDS
        trap 'printf "%6d s  %s" $((SECONDS - begin)) "$name" >"$logs/$name.time"' EXIT
        "$@"
    ) </dev/null >"$logs/$name" 2>&1 &
    set +m
    beside_names+=("$name")
    beside_ids+=($!)
}

# Waits for the step that was started first. `times` and `failed` get what it says.
await() {
    local name=${beside_names[0]} code=0
    wait "${beside_ids[0]}" || code=$?
    [ "$code" = 0 ] || failed+=("$name")
    times+=("$(cat "$logs/$name.time" 2>/dev/null || echo "       ?  $name")")
    beside_names=("${beside_names[@]:1}")
    beside_ids=("${beside_ids[@]:1}")
    return "$code"
}

# try NAME COMMAND...: runs a step and shows its output. If it fails, the steps after it run all the same.
try() {
    printf '\n== %s\n' "$1"
    start "$@"
    tail -n +1 -s 0.2 -f --pid="${beside_ids[-1]}" "$logs/$1" &
    local shows=$! code=0
    await || code=$?
    wait "$shows" || true
    return 0
}

# step NAME COMMAND...: runs a step, which must succeed.
step() {
    try "$@"
    [ "${#failed[@]}" = 0 ] || exit 1
}

# beside NAME COMMAND...: starts a step. `finish` waits for it and prints its output.
beside() {
    printf '\n== %s: begins, and is printed when it has ended\n' "$1"
    start "$@"
}

# behind NAME COMMAND...: the same with a low priority, until the first step of those that run beside has ended. A step that
# kept it would never end beside other work.
behind() {
    beside "$@"
    renice -n 15 -g "${beside_ids[-1]}" >/dev/null 2>&1 || true
}

# Waits for the steps that run beside, prints the output of all, what the tests left out, and the time of each step. Fails if
# one has failed.
finish() {
    local name id
    while [ "${#beside_names[@]}" -gt 0 ]; do
        name=${beside_names[0]}
        await || true
        # Only root may raise a priority.
        for id in "${beside_ids[@]}"; do renice -n 0 -g "$id" >/dev/null 2>&1 || true; done
        printf '\n== %s\n' "$name"
        cat "$logs/$name"
    done
    printf '\n== left out\n'
    cat "$logs"/* 2>/dev/null | grep -h '^left out: ' | sort -u || true
    print_times
    if [ "${#failed[@]}" -gt 0 ]; then
        printf '\nfailed: %s\n' "${failed[*]}" >&2
        exit 1
    fi
}

install_rust_tools() {
    command -v cargo >/dev/null || { echo "cargo is needed: install Rust from https://rustup.rs" >&2; return 1; }
    cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
    cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
}

can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

# Installs what some tests need: programs for faults of live runs, Slurm for a small cluster, a browser for the live page (300 MB).
install_packages() {
    local tool missing=()
    can_install || { echo "not root, or no apt-get: nothing is installed"; return 0; }
    for tool in strace:strace mkfs.ext4:e2fsprogs setpriv:util-linux perl:perl-base python3:python3 parallel:parallel \
        slurmctld:slurmctld slurmd:slurmd srun:slurm-client munged:munge chromium:chromium "$@"; do
        command -v "${tool%%:*}" >/dev/null || missing+=("${tool##*:}")
    done
    dpkg -s slurm-wlm-basic-plugins >/dev/null 2>&1 || missing+=(slurm-wlm-basic-plugins)
    [ "${#missing[@]}" -gt 0 ] || { echo "everything is installed"; return 0; }
    local try
    for try in 1 2 3; do
        apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" &&
            return 0
        sleep $((5 * try))
    done
    echo "these packages can't be installed: ${missing[*]}" >&2
    return 1
}
