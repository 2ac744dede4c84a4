# Writes each sorted line that it reads into the file of its range. CUTS names the file with the first line of each range
# but the first. Lines are compared as texts, because some look like numbers.

BEGIN {
    while ((getline line < ENVIRON["CUTS"]) > 0) cut[++cuts] = line ""
    for (i = 0; i < ENVIRON["RANGES"]; i++) {
        file[i] = ENVIRON["HINDMOST_OUTPUT"] "/range-" i
        printf "" > file[i]
    }
    range = 0
}

{
    while (range < cuts && ($0 "") >= cut[range + 1]) range++
    print > file[range]
}
