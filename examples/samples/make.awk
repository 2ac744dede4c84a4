# Writes a genome of SIZE letters in FASTA (what = "genome"), or reads of one sample in FASTQ (what = "reads"). The same SEED gives
# the same letters on every machine: numbers come from a generator of Park and Miller, whose products an awk keeps exactly.
#
#   awk -v what=genome -v SIZE=20000 -v SEED=1 -f make.awk > genome.fa
#   awk -v what=reads -v READS=400 -v SAMPLE=3 -f make.awk genome.fa > s3.fastq
function draw(end) {
    state = (state * 16807) % 2147483647
    return int(state / 2147483647 * end)
}
function letter() { return substr("ACGT", draw(4) + 1, 1) }
BEGIN {
    state = (what == "genome" ? SEED : SAMPLE * 7919 + 1)
    for (i = 0; i < 20; i++) draw(2)
    if (what == "genome") {
        print ">chr1"
        for (line = 0; line < SIZE / 50; line++) {
            text = ""
            for (i = 0; i < 50; i++) text = text letter()
            print text
        }
        exit
    }
}
/^[^>]/ { genome = genome $0 }
END {
    if (what != "reads") exit
    # Each sample has its own letter at every thousandth place.
    for (at = 500; at < length(genome); at += 1000) {
        genome = substr(genome, 1, at - 1) letter() substr(genome, at + 1)
    }
    quality = sprintf("%100s", "")
    gsub(" ", "I", quality)
    for (read = 0; read < READS; read++) {
        print "@s" SAMPLE "-" read
        print substr(genome, draw(length(genome) - 100) + 1, 100)
        print "+"
        print quality
    }
}
