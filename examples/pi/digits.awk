# Prints DIGITS hexadecimal digits of π after the point, from position HINDMOST_TASK * DIGITS on, by the formula of
# Bailey, Borwein and Plouffe. Products stay far below 2^53, so numbers are exact.

# 16^n modulo m
function power(n, m,    result, base) {
    result = 1 % m
    base = 16 % m
    while (n > 0) {
        if (n % 2 == 1) result = (result * base) % m
        base = (base * base) % m
        n = int(n / 2)
    }
    return result
}

# The fraction of the sum over k of 16^(place - k) / (8k + j)
function series(place, j,    k, sum, term) {
    sum = 0
    for (k = 0; k <= place; k++) {
        sum += power(place - k, 8 * k + j) / (8 * k + j)
        sum -= int(sum)
    }
    for (term = 1 / 16; term > 1e-17; term /= 16) {
        sum += term / (8 * k + j)
        k++
    }
    return sum - int(sum)
}

BEGIN {
    digits = ENVIRON["DIGITS"] + 0
    first = ENVIRON["HINDMOST_TASK"] * digits
    progress = ENVIRON["HINDMOST_PROGRESS"]
    for (i = 0; i < digits; i++) {
        place = first + i
        x = 4 * series(place, 1) - 2 * series(place, 4) - series(place, 5) - series(place, 6)
        x -= int(x)
        if (x < 0) x += 1
        printf "%s", substr("0123456789ABCDEF", int(16 * x) + 1, 1)
        if (progress != "") {
            print (i + 1) / digits >> progress
            fflush(progress)
        }
    }
}
