# Reads all links (FROM TO, one per line), and writes for the task's own pages: `links` (page, number of links from it),
# `to` (the links to it) and `ranks` (page, 1/number of pages).

BEGIN {
    task = ENVIRON["HINDMOST_TASK"]
    tasks = ENVIRON["HINDMOST_TASKS"]
    out = ENVIRON["HINDMOST_OUTPUT"]
    to = out "/to"
    printf "" > to
}

function page(name) {
    if (!(name in links)) {
        links[name] = 0
        pages[count++] = name
    }
}

{
    page($1)
    page($2)
    links[$1]++
    if ($2 % tasks == task) print $1, $2 > to
}

END {
    printf "" > (out "/links")
    printf "" > (out "/ranks")
    for (i = 0; i < count; i++) {
        name = pages[i]
        if (name % tasks != task) continue
        print name, links[name] > (out "/links")
        printf "%s %.17f\n", name, 1 / count > (out "/ranks")
    }
}
