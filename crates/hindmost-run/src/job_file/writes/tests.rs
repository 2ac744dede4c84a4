use super::{Repeats, written};

#[test]
fn standard_output_and_the_attempts_own_folder_are_safe() {
    for command in [
        "",
        "wc -w {}",
        "gzip -c {}",
        "gzip -dc {} | sort | uniq -c",
        "zstd --stdout {}",
        "grep -o '[0-9]*' {}",
        "ssh -o BatchMode=yes host cat {}",
        "set -o pipefail; sort {} | head",
        "ps -o pid,args",
        "awk '$1 > 3 { print $2 }' {}",
        "awk '{ if ($3 > 2) print $1; else print ($4 > $5) }' {}",
        "awk '{ printf \"%d > %d\\n\", $1, $2 > \"/dev/stderr\" }' {}",
        "awk 'BEGIN { to = ENVIRON[\"HINDMOST_OUTPUT\"] \"/x\" } { print > to }' {}",
        "awk -v to=\"$HINDMOST_OUTPUT\" '{ print > to \"/x\" }' {}",
        "sed -n -e 's/i/o/p' {}",
        "perl -ne 'print if /x/' {}",
        "perl -F: -lane 'print $F[1]' {}",
        "docker run --rm image work {}",
        "yq .a {}",
        "convert {} -resize 100 png:-",
        "ffmpeg -i {} -f mp3 pipe:1",
        "tar -cf - {} | wc -c",
        "tar xOf {} member",
        "unzip -p {} a.txt",
        "7z x -so {}",
        "dot -Tsvg {}",
        "time -f %e wc {}",
        "curl -s https://example.org/{}",
        "sqlite3 -readonly data.db 'select count(*) from t where x > 3'",
        "echo 'a > b' \"c > d\" e\\>f # > g",
        "[[ a > b ]] && (( 3 > 2 )) && echo $((4 > 3))",
        "wc -w < {} 2> /dev/null >&2",
        "./build -s {} 2>&1 | tee /dev/stderr",
        "wc -w < \"$HINDMOST_INPUT\" > \"$HINDMOST_OUTPUT/words\"",
        "sort -o \"$HINDMOST_OUTPUT/sorted\" {}",
        "cp -r {} ${HINDMOST_OUTPUT}/x",
        "cd \"$HINDMOST_OUTPUT\" && tar xf {} && echo done > log",
        "(cd $HINDMOST_OUTPUT; unzip -q {})",
        "tmp=$(mktemp -d); sort {} > \"$tmp/a\"; cat $tmp/a; rm -r \"$tmp\"",
        "sort {} > \"$(mktemp)\"",
        "sort {} > $TMPDIR/a; wc $TMPDIR/a",
        "wget -qO- {} | wc -c",
        "split -n l/1/2 {}",
        "sox {} -t wav -",
        "sqlite3 x.db 'select count(*) from t'",
        "uniq -c {}",
        "sed 's/w /x/; s/new old/x/g' {}",
        "sed -e 's/show /x/' -e '/how to/d' {}",
        "bash script.sh {}",
        "sh ./work {} | wc -l",
        "awk '{ print $1 || $2 }' {}",
        "gcc -E {}",
        "touch {}.done",
        "trap 'rm x-$HINDMOST_ATTEMPT; exit 1' TERM; work > x-$HINDMOST_ATTEMPT",
        "curl -s -X POST https://x/{}",
        "export TMPDIR=${TMPDIR:-/tmp}; sort {} > $HINDMOST_TMP/a; mv $HINDMOST_TMP/a $TMPDIR/b",
        "to=$HINDMOST_OUTPUT/part; mkdir -p $to; split -l 10 {} $to/x",
        "diff <(sort {1}) <(sort {2})",
        "sort {} > >(gzip -c)",
        "cat <<END\na > b\nEND\nwc {}",
        "sh -c 'wc -w {} > $HINDMOST_OUTPUT/n'",
        "find {} -name '*.txt' -exec grep -c x {} \\;",
        "for f in {}; do if test -s $f; then cat $f; fi; done",
        "echo 0.5 > $HINDMOST_PROGRESS",
        "./simulate --seed {}",
    ] {
        assert_eq!(written(command), None, "{command}");
    }
}

#[test]
fn files_that_all_attempts_of_a_task_name_are_found() {
    for (command, file) in [
        ("gzip -c {} > {.}.gz", "{.}.gz"),
        ("gzip -c {}>{.}.gz", "{.}.gz"),
        ("echo {} >> all.log", "all.log"),
        ("make {} &> {}.log", "{}.log"),
        ("make {} 2> errors", "errors"),
        ("make {} >| out", "out"),
        ("wc {} | tee {}.count", "{}.count"),
        ("sort -o {} {}", "{}"),
        ("sort -o{}.s {}", "{}.s"),
        ("gcc -O2 -c {} -o {.}.o", "{.}.o"),
        ("tool --output={}.x {}", "{}.x"),
        ("tool --outdir results {}", "results"),
        ("openssl enc -in {} -out {}.enc", "{}.enc"),
        ("sed -i s/a/b/ {}", "{}"),
        ("sed -i s/a/b/ -- {} -f3", "-f3"),
        ("sed -i.bak -e s/a/b/ {}", "{}"),
        ("sed --in-place=.b s/a/b/ {}", "{}"),
        ("perl -pi -e s/a/b/ {}", "{}"),
        ("gzip {}", "{}"),
        ("xz -9 {}", "{}"),
        ("bunzip2 -k {}", "{}"),
        ("flac --best {}", "{}"),
        ("convert {1} -resize {2} {1.}-{2}.png", "{1.}-{2}.png"),
        ("ffmpeg -i {} -b:a 192k {.}.mp3", "{.}.mp3"),
        ("cp {} /backup/", "/backup/"),
        ("mv {} done/", "done/"),
        ("cp -t /backup {}", "/backup"),
        ("rm {}", "{}"),
        ("dd if={} of={}.img bs=1M", "{}.img"),
        ("tar czf {}.tgz {}", "{}.tgz"),
        ("tar -c -f {}.tar {}", "{}.tar"),
        ("tar --create --file={}.tar {}", "{}.tar"),
        ("tar xf {}", "what it unpacks"),
        ("unzip {} -d out/{/.}", "out/{/.}"),
        ("zip -r {}.zip {}", "{}.zip"),
        ("ar rcs lib{}.a {}.o", "lib{}.a"),
        ("lz4 {} {}.lz4", "{}.lz4"),
        ("truncate -s 0 {}", "{}"),
        ("mogrify -resize 50% {}", "the pictures that it changes"),
        ("perl -lpi -e '$_++' {}", "{}"),
        ("perl -lapi.bak -e '$_++' {}", "{}"),
        ("bump.py --in-place {}", "{}"),
        ("bump --inplace=yes {}", "{}"),
        ("yq -i .a=1 {}", "{}"),
        ("xmlstarlet ed -L -u /a -v 1 {}", "{}"),
        ("cd \"$HINDMOST_OUTPUT\" && make -C /src {}", "/src"),
        ("tar Af all.tar {}", "all.tar"),
        ("tar --delete -f all.tar {}", "all.tar"),
        ("docker run --rm -v \"$PWD:/d\" image work {}", "what is mounted into its container"),
        ("7z x {}", "what it unpacks"),
        ("7z e -oout/{/.} {}", "out/{/.}"),
        ("7z a {}.7z {}", "{}.7z"),
        ("dot -Tsvg -O {}", "a file beside its own"),
        ("script -q -c 'wc {}' {}.typescript", "{}.typescript"),
        ("/usr/bin/time -o {}.time wc {}", "{}.time"),
        ("time -f %e sort {} -o {}.s", "{}.s"),
        ("wget -q {}", "what it downloads"),
        ("curl -sO {}", "what it downloads"),
        ("curl -s {} -o {/}", "{/}"),
        ("split -l 10 {} {}.part.", "{}.part."),
        ("sqlite3 data.db \"insert into t values ({})\"", "data.db"),
        ("awk '{ print $1 > \"first\" }' {}", "a file that its awk program names"),
        ("find {} -delete", "what it deletes"),
        ("find . -exec sed -i s/a/b/ {} +", "{}"),
        ("env LC_ALL=C nice -n 5 timeout -k 1 60 sort {} -o {}.s", "{}.s"),
        ("ls | xargs -n 1 gzip", "its arguments"),
        ("cat {} | xargs -I% sh -c 'wc % > %.n'", "%.n"),
        ("bash -c \"wc {} > {}.n\"", "{}.n"),
        ("x=$(wc {} > {}.n; echo)", "{}.n"),
        ("{ date; wc {}; } > {}.log", "{}.log"),
        ("for f in a; do wc $f; done > all", "all"),
        ("cd out && wc {} > n", "n"),
        ("(cd \"$HINDMOST_OUTPUT\"; true); wc {} > n", "n"),
        ("wc {} > \"$HINDMOST_OUTPUT/../shared\"", "$HINDMOST_OUTPUT/../shared"),
        ("wc {} > $HINDMOST_OUTPUTS/n", "$HINDMOST_OUTPUTS/n"),
        ("to=out; to=$HINDMOST_OUTPUT; to=/data; wc {} > $to/n", "$to/n"),
        ("export TMPDIR=/data; wc {} > $TMPDIR/n", "$TMPDIR/n"),
        ("wc {} <<< x > n", "n"),
        ("gcc -c {}", "what it compiles"),
        ("make -s out{}", "what it builds"),
        ("trap \"echo done {} >> log\" EXIT; work {}", "log"),
        ("trap 'rm -f out{}; exit 1' TERM; work {}", "out{}"),
        ("echo 'echo x >> out' | sh", "what its shell reads"),
        ("bash -s {} <<< 'echo x >> out'", "what its shell reads"),
        ("awk '{ print | \"cat > out\" }' {}", "a file that its awk program names"),
        ("sed -n 'w out{}' {}", "a file that its sed script names"),
        ("sed -n -e '/x/w out{}' {}", "a file that its sed script names"),
        ("patch < {}", "what it patches"),
        ("ssh host 'echo x > out'", "out"),
        ("gawk -i inplace '{ print $1 }' {}", "{}"),
        ("sort {} | sponge {}", "{}"),
        ("uniq {} {}.out", "{}.out"),
        ("sqlite3 x.db 'select 1; drop table y'", "x.db"),
        ("cat > n <<END\ntext\nEND", "n"),
        ("exec 3> log; echo x >&3", "log"),
        ("time wc {} >n;", "n"),
        ("clang-format -i {}", "{}"),
        ("gofmt -w {}", "{}"),
        ("prettier --write {}", "{}"),
        ("ruff check --fix {}", "check"),
        ("black {}", "{}"),
        ("exiftool -Artist=x {}", "{}"),
        ("strip {}", "{}"),
        ("rename s/a/b/ {}", "{}"),
        ("bgzip {}", "{}"),
        ("brotli -j {}", "{}"),
        ("jar uf a.jar {}", "a.jar"),
        ("crudini --set c.ini a b {}", "c.ini"),
        ("git config -f cfg --add a.b {}", "its repository"),
        ("git am {}", "its repository"),
        ("tee -a -- {}", "{}"),
        ("doas gzip {}", "{}"),
        ("strace -o t.log gzip {}", "{}"),
        ("coproc gzip {}", "{}"),
        ("mv {} done", "done"),
        ("cp {} then; ls", "then"),
        ("if [ ! -e {}.x ]; then cp {} {}.x; fi", "{}.x"),
        ("time { gzip {}; }", "{}"),
    ] {
        assert_eq!(written(command).map(|found| found.file).as_deref(), Some(file), "{command}");
    }
}

#[test]
fn any_text_is_read_to_its_end() {
    let signs =
        ["'", "\"", "\\", "$(", "`", "<<", "<<-E", ">", ">(", "((", "[[", "{", "}", "#", "\n", "a", " ", "&", "|", ")"];
    for first in signs {
        for second in signs {
            for third in signs {
                let _ = written(&format!("{first}{second}{third}"));
                let _ = written(&format!("{first}é{second} {third}"));
            }
        }
    }
}

#[test]
fn commands_may_repeat_if_they_write_from_the_beginning() {
    for (command, may_repeat) in [
        ("gzip -c {} > {.}.gz", true),
        ("sort {} | tee {.}.s >/dev/null", true),
        ("sort -o {.}.s {}", true),
        ("sort -nuo {.}.s {}", true),
        ("curl -fsSLo {/} {}", true),
        ("(cd x && wc -l {} >| n)", true),
        ("tar -czf {}.tar.gz {}", true),
        ("dd if={} of={}.out", true),
        ("work {} > {}.part && mv {}.part {}.out", true),
        ("cp {} {}.copy", true),
        ("convert {} -resize 50% {.}.png", true),
        ("[ -s out{} ] || { echo begin; work {}; } > out{}", false),
        ("n=$(cat c{}); echo $((n+1)) > c{}", false),
        ("sort in{} > s{}; { head s{}; tail s{}; } > in{}", false),
        ("sort -o f{} f{}", false),
        ("tee f{} < f{}", false),
        ("work {} > {}.a; cmp {}.a {}.b", true),
        ("test -f {}.out || work -o {}.out {}", false),
        ("curl -C - -o {}.out x/{}", false),
        ("work {} -o {}.out --append", false),
        ("trap 'rm -f x{}; exit 1' TERM; work > x{}", false),
        ("cp -r {} copies", false),
        ("tar rf all.tar {}", false),
        ("dd if={} of=all conv=notrunc", false),
        ("mv {}.part {}.out", false),
        ("work {} | tee -a all.log", false),
        ("sed -i s/a/b/ {}", false),
        ("gzip {}", false),
        ("mkdir {.} && work {} > {.}/x", false),
        ("mv {} x/", false),
        ("tar xf {}", false),
        ("bash -c 'echo x >> y'", false),
        ("cp -u {} out/", false),
        ("cp -pv {} {}.copy", true),
        ("tee --app x < {}", false),
        ("work {} --skip-existing -o {.}.up", false),
        ("work {} --no-clobber -o {.}.up", false),
        ("yt-dlp -o {.}.mp4 {}", false),
        ("tar cf {}.tar --remove-files {}", false),
        ("f={}; awk '{ print $1 + 1 }' {} > {.}.t && cp {.}.t \"$f\"", false),
        ("f=\"$HINDMOST_INPUT\"; awk 1 \"$f\" > \"$f.t\"; mv \"$f.t\" \"${HINDMOST_INPUT}\"", false),
        ("for f in *.txt; do sort $f > $f; done", false),
        ("sort x -o ./x", false),
        ("cat ./in > t; cp t in", false),
        ("gzip -c \"$HINDMOST_INPUT\" > o.gz; : > \"${HINDMOST_INPUT}\"", false),
        ("sort $HINDMOST_INPUT > results/${HINDMOST_TASK}.txt", true),
        ("./work {} > ./out/{}", true),
    ] {
        let repeats = written(command).map(|found| found.repeats);
        assert_eq!(repeats == Some(Repeats::Always), may_repeat, "{command}: {repeats:?}");
    }
}

/// Returns the files that decide whether a command may repeat, those that are seen by their position with `+`.
fn to_check(command: &str) -> Option<String> {
    let shown = |one: &super::Changed| {
        let sign = if one.by_state { "" } else { "+" };
        format!("{sign}{}", one.file)
    };
    super::noted(command).to_check(command).map(|all| all.iter().map(shown).collect::<Vec<_>>().join(" "))
}

#[test]
fn commands_may_repeat_until_they_change_files() {
    for (command, files) in [
        ("work {} >> all.log", "all.log"),
        ("work {} | sort >> all.log", "all.log"),
        ("cd x && work {} >> all.log", "all.log"),
        ("ls; cd x && work {} >> all.log", "+all.log"),
        ("work {} > {}.out; sort {}.out >> all.log", "all.log"),
        ("(date; work {}) >> {}.log", "{}.log"),
        ("cat <>x", "x"),
        ("date >> all.log; work {} >> all.log", "all.log"),
        ("for f in a b; do work $f >> all.log; done", "all.log"),
        ("f() { work {} >> all.log; }; f; f", "all.log"),
        ("x=$(work {} >> all.log)", "all.log"),
        ("work {} >> all.log; sed -i s/a/b/ x", "all.log x"),
        ("work {} | tee -a all.log", "all.log"),
        ("echo begin >> {}.log; work {}; echo end >> done.log", "done.log {}.log"),
        ("sed -i 's/a*$/b/' {}", "{}"),
        ("sed -i s/a/b/ -- {} -f3", "-f3 {}"),
        ("sed -i.bak -e s/a/b/ -e 's/$/x/' {} {}.other", "{} {}.other"),
        ("sed -i s/a/b/ -- {} -f3", "-f3 {}"),
        ("perl -lpi -e 's/(.*)/$1/' {}", "{}"),
        ("work {} && mv {} done/", "done/ {}"),
        ("mv {}.part {}.out", "{}.out {}.part"),
        ("sort -o f{} f{}", "f{}"),
        ("rm {}", "{}"),
        ("n=$(cat c{}); echo $((n+1)) > c{}", "c{}"),
        ("sqlite3 x.db 'insert into t values (1)'", "x.db x.db-journal x.db-wal x.db.wal"),
        ("tar rf all.tar {}", "all.tar rf {}"),
        ("dd if={} of=all conv=notrunc", "all"),
        ("sed -i s/a/b/ \"$HINDMOST_INPUT\"", "$HINDMOST_INPUT"),
        ("sed -i s/a/b/ ${HINDMOST_INPUT}", "${HINDMOST_INPUT}"),
        ("mkdir {.} && work {} > {.}/x", "{.}"),
    ] {
        assert_eq!(to_check(command).as_deref(), Some(files), "{command}");
        assert_eq!(written(command).map(|found| found.repeats), Some(Repeats::UntilItChanges), "{command}");
    }
    let packed = to_check("gzip -9 {}.txt").unwrap();
    assert!(
        packed.split(' ').any(|file| file == "{}.txt.gz") && packed.split(' ').any(|file| file == "{}.txt"),
        "{packed}"
    );
    assert!(to_check("gunzip a.gz").unwrap().split(' ').any(|file| file == "a"));
}

#[test]
fn what_a_command_may_have_changed_is_not_always_known() {
    for command in [
        "ls | xargs -n 1 sh -c 'work >> $1'",
        "ls | xargs gzip",
        "log=x; grep -q {} all.log || work {} >> $log",
        "read log; work {} >> $log",
        "ls; cd x && sed -i s/a/b/ {}",
        "env -C x sed -i s/a/b/ {}",
        "ssh host 'work {} >> all.log'",
        "sed -i s/a/b/ *.txt",
        "sed -i s/a/b/ {a,b}",
        "sed -i s/a/b/ out{%}",
        "sed -i 's/a/b/w other' {}",
        "rm -r {}",
        "gzip -r {}",
        "for f in a b; do gzip $f; done",
        "HINDMOST_INPUT=x; gzip $HINDMOST_INPUT",
        "gzip $HINDMOST_INPUTS",
        "tar xf {}",
        "zip -m x.zip {}",
        "sqlite3 x.db '.output y' 'select 1; drop table t'",
        "curl -C - -o {}.out x/{}",
        "git commit -m x",
        "cp -r {} copies",
    ] {
        let is_known = written(command).is_some_and(|found| found.repeats != Repeats::Never && found.shows_files);
        assert!(!is_known, "{command}: {:?}", to_check(command));
    }
    assert_eq!(super::named("sed -i s/a/b/ \u{fffd}"), None);
}

#[test]
fn what_a_command_names_is_known_unless_the_shell_fills_it_in() {
    for (command, shown) in [
        ("sort {} > {}.out", true),
        ("awk '{ print $1 * 2 }' {} > {}.out", true),
        ("sed 's/[a-z]*$//' {} > {}.out", true),
        ("[ $HINDMOST_ATTEMPT = 0 ] && case {} in f7|f8) sleep 25;; *) true;; esac; gzip -c {} > {}.gz", true),
        ("if [ -s {} ]; then wc {} > {}.n; fi", true),
        ("cd sub && wc {} > {}.n", true),
        ("t=$(mktemp); wc {} > {}.n", true),
        ("echo \"a * b?\" > {}.n", true),
        ("cmd; test $? = 0 > {}.n", true),
        ("python3 work.py --in {} --to \"$HINDMOST_OUTPUT\" > {}.log", true),
        ("cat {}.* > {}.all", false),
        ("cat ?.{} > {}.all", false),
        ("cat [ab] > {}.all", false),
        ("cat ~/c.{} > c.{}", false),
        ("cat c.{}{,} > c.{}", false),
        ("cat {1..3} > c", false),
        ("n=$(cat c); echo $n > c", false),
        ("n=`cat c`; echo 1 > c", false),
        ("cat \"$PWD/{}\" > {}", true),
        ("[ $HANG = 1 ] && sleep 25; sort {} > {}.out", true),
        ("sleep $((RANDOM % 3)); sort {} > {}.out", true),
        ("for i in 1 2; do sleep $i; done; sort {} > {}.out", true),
        ("for i in 1 2; do sort $i > {}.out; done", false),
        ("x=a; cat $x > c", false),
        ("[ -e $HANG ] || sort {} > {}.out", true),
        ("cat c.$RANDOM > c", false),
        ("cat \"c.${HINDMOST_TASK:-0}\" > c", false),
        ("cat \"${HINDMOST_INPUT%.txt}\" > c", false),
        ("echo $((1+1)) > c", true),
        ("cat c$((1+1)) > c", false),
        ("ls | xargs cat > c", false),
        ("find d -name x -exec sed -i s/a/b/ {} +", false),
        ("find d -name x -delete; echo 1 > c", false),
        ("(cd x && wc {} > n); cat n", false),
        ("ls; cd x; wc {} > n", false),
        ("bash -c 'cat $1 > x'", false),
        ("trap 'rm -f *.tmp' EXIT; wc {} > n", false),
    ] {
        assert_eq!(super::named(command).is_some(), shown, "{command}");
        assert_eq!(written(command).map_or(shown, |found| found.shows_files), shown, "{command}");
    }
    let named = super::named("cd sub; ./tool -x --log={}.log -o {}.o {} < list > {}.out").unwrap();
    let files: Vec<&str> = named.files.iter().map(|file| &*file.file).collect();
    assert_eq!(named.base.as_deref(), Some("sub"));
    assert_eq!(named.written_anew, ["{}.out", "{}.o"]);
    for file in ["./tool", "{}.log", "{}", "list"] {
        assert!(files.contains(&file), "{file}: {files:?}");
    }
    assert!(!files.contains(&"{}.out") && !files.contains(&"{}.o"), "{files:?}");
    let named = super::named("mkdir -p o && cat a; grep x b; sed s/a/b/ c; sed -i s/a/b/ d; work e").unwrap();
    let only_read = |file: &str| named.files.iter().find(|found| found.file == file).map(|found| found.is_only_read);
    assert_eq!(["a", "b", "c", "d", "e"].map(only_read), [true, true, true, false, false].map(Some));
    assert_eq!(only_read("o"), None);
}

#[test]
fn a_command_that_changes_its_input_is_known() {
    for (command, changes) in [
        ("sed -i s/a/b/ \"$HINDMOST_INPUT\"", true),
        ("gzip ${HINDMOST_INPUT}", true),
        ("sort $HINDMOST_INPUT > t; mv t $HINDMOST_INPUT", true),
        ("work >> \"$HINDMOST_INPUT.log\"", false),
        ("sort $HINDMOST_INPUT > $HINDMOST_OUTPUT/x", false),
        ("cp $HINDMOST_INPUT x", false),
    ] {
        assert_eq!(super::writes_value_of(command, "HINDMOST_INPUT"), changes, "{command}");
    }
}

#[test]
fn only_a_trap_that_ends_the_command_cleans_up() {
    for (command, ends) in [
        ("trap 'rm -f x; exit 1' TERM; work {}", true),
        ("trap \"docker stop $name; exit\" TERM INT\ndocker run x", true),
        ("trap 'rm -f x' EXIT; work {}", false),
        ("trap 'echo exit' TERM; work {}", false),
        ("trap cleanup TERM; work {}", false),
        ("work trap {}", false),
    ] {
        assert_eq!(super::cleans_up(command.as_ref()), ends, "{command}");
    }
}
