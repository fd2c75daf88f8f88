#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two outputs of filterchain-oracle: whose bits differ, and which cases became slower.

    oracle.py BEFORE AFTER [--slower PERCENT]

Exit status 1 where bits differ or cases are missing; slower ones are only told, since short kernels vary from run to run.
"""
import argparse
import collections
import sys


def cases(path):
    """{case: (bits, us or None)} of a file; lines that are no cases are not looked at."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            name, _, answer = line.rstrip("\n").rpartition(": ")
            words = answer.split()
            if name and words and words[0] == "refused":
                found[name] = (answer, None)
            elif name and len(words) == 3:
                found[name] = (" ".join(words[:2]), float(words[2]))
    return found


def by_operator(names):
    """How many of each operator."""
    counts = collections.Counter(name.split()[0] for name in names)
    return ", ".join(f"{operator} {count}" for operator, count in sorted(counts.items())) or "none"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--slower", type=float, default=10, help="per cent from which a case is told")
    options = parser.parse_args()
    before, after = cases(options.before), cases(options.after)
    missing = [name for name in before if name not in after]
    both = [name for name in before if name in after]
    refused = [name for name in both if ("refused" in before[name][0]) != ("refused" in after[name][0])]
    changed = [name for name in both if before[name][0] != after[name][0] and name not in refused]
    times = [(after[name][1] / before[name][1], name) for name in both if before[name][1] and after[name][1]]
    slower = sorted((ratio, name) for ratio, name in times if ratio > 1 + options.slower / 100)
    for title, names in (("missing", missing), ("answered only once", refused), ("other bits", changed)):
        print(f"{title}: {len(names)} of {len(before)} ({by_operator(names)})")
        for name in names[:40]:
            print(f"  {name}: {before[name][0]} -> {after.get(name, ('nothing',))[0]}")
    times.sort()
    if times:
        print(f"time: median {times[len(times) // 2][0]:.3f}, {len(slower)} of {len(times)} slower by more than {options.slower:g} %")
    for ratio, name in slower[-40:]:
        print(f"  {ratio:.2f} {name} ({before[name][1]} -> {after[name][1]} us)")
    return 1 if missing or changed else 0


if __name__ == "__main__":
    sys.exit(main())
