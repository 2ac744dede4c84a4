# Steps of .ci/run and scripts/nightly, which source this file: what they install, and how they run and time their steps.

# Output of steps that run side by side.
logs=$(mktemp -d)
times=()
failed=()
beside_names=()
beside_ids=()

# Ends what runs beside, with all that it has started.
end_all() {
    local id
    for id in "${beside_ids[@]}"; do kill -- "-$id" 2>/dev/null || true; done
    for id in "${beside_ids[@]}"; do wait "$id" 2>/dev/null || true; done
    rm -rf "$logs"
}
trap end_all EXIT

# step NAME COMMAND...: runs a step, which must succeed.
step() {
    local name=$1 begin=$SECONDS
    shift
    printf '\n== %s\n' "$name"
    "$@"
    times+=("$(printf '%6d s  %s' $((SECONDS - begin)) "$name")")
}

# try NAME COMMAND...: runs a step. If it fails, the steps after it run all the same.
try() {
    local name=$1 begin=$SECONDS
    printf '\n== %s\n' "$name"
    shift
    local code=0
    set +e
    (set -e; "$@") 2>&1 | tee "$logs/$name"
    code=${PIPESTATUS[0]}
    set -e
    [ "$code" = 0 ] || failed+=("$name")
    times+=("$(printf '%6d s  %s' $((SECONDS - begin)) "$name")")
}

# beside NAME COMMAND...: starts a step. `finish` waits for it and prints its output.
beside() {
    local name=$1
    shift
    printf '\n== %s: begins, and is printed when it has ended\n' "$name"
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

# Waits for the steps that run beside, prints the output of all, what the tests left out, and the time of each step. Fails if
# one has failed.
finish() {
    local at name
    for at in "${!beside_names[@]}"; do
        name=${beside_names[$at]}
        wait "${beside_ids[$at]}" || failed+=("$name")
        printf '\n== %s\n' "$name"
        cat "$logs/$name"
        times+=("$(cat "$logs/$name.time" 2>/dev/null || echo "       ?  $name")")
    done
    beside_ids=()
    printf '\n== left out\n'
    cat "$logs"/* 2>/dev/null | grep -h '^left out: ' | sort -u || true
    printf '\n== time of each step\n'
    printf '%s\n' "${times[@]}"
    printf '%6d s  in all\n' "$SECONDS"
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
