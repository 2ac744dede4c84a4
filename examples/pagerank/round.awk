# A page's rank is (1 - damping)/pages, plus damping times its share of the ranks of the pages that link to it. A page
# without links counts as linking to all pages.

BEGIN {
    damping = ENVIRON["DAMPING"]
    task = ENVIRON["HINDMOST_TASK"]
    tasks = ENVIRON["HINDMOST_TASKS"]
}

file == "links" { links[$1] = $2 }

file == "ranks" {
    rank[$1] = $2
    pages[count++] = $1
    if (links[$1] == 0) dangling += $2
}

file == "to" { sum[$2] += rank[$1] / links[$1] }

END {
    for (i = 0; i < count; i++) {
        name = pages[i]
        if (name % tasks != task) continue
        printf "%s %.17f\n", name, (1 - damping) / count + damping * (sum[name] + dangling / count)
    }
}
