# Prints LINES lines, each with a random key and its origin. Each HINDMOST_TASK has different keys. The random numbers
# are those of Park and Miller; products stay below 2^53.

BEGIN {
    task = ENVIRON["HINDMOST_TASK"]
    lines = ENVIRON["LINES"]
    number = task * 1000003 + 20150713
    for (i = 0; i < lines; i++) {
        number = (number * 16807) % 2147483647
        printf "%08x record %d of file %d\n", number, i, task
    }
}
