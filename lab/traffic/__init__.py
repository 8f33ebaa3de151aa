"""The shape of a team's own traffic, out of a log of requests or a trace, without a word of what is in it.

`files` reads values out of a file piece by piece, `requests` and `traces` say what one of them asks, `tree` and
`blocks` remember prefixes in bounded memory, `tally` counts, `times` reads clocks, `reading` is the one pass over
a file, `draw` keeps the requests a workload is written from, and `shape` is what comes out. No sentence, file or
error of this package quotes the traffic: lines are named by their number, and names in it are only counted.
"""
