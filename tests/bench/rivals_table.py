#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The comparison on a GPU: from the programs' JSON to a record, and from the newest record to the README.

    rivals_table.py merge FILE... [--commit C] [-o RECORD]   what --json of filterchain-rivals and rivals_torch.py wrote
    rivals_table.py update [ROOT]                            writes the table of README.md
    rivals_table.py check [ROOT]                             fails where it is another than the record's

The record keeps every row; the README's table has, for every work, the rival that was fastest.
"""
import argparse
import glob
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "record"))
import results  # noqa: E402 - the recorder's, found by the line above

BEGIN, END = "<!-- gpu table begin -->", "<!-- gpu table end -->"
# In this order; within one, by the numbers in the name.
WORKS = ("sum of squares", "sum,", "sliding", "box", "conv1d", "sepconv 16384^2 f32", "sepconv", "conv2d", "colour",
         "DCT", "DGEMM", "SGEMM", "a chain")


# ---- the record ----------------------------------------------------------------------------


def merge(paths, commit):
    """One record of several programs' figures of one device."""
    parts = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            parts.append(json.load(file))
    devices = {part["device"] for part in parts}
    if len(devices) != 1:
        sys.exit(f"figures of different devices do not compare: {', '.join(sorted(devices))}")
    rows = [{**row, "program": part["program"]} for part in parts for row in part["rows"]]
    wrong = [row["work"] for row in rows if not row["same"]]
    if wrong:
        sys.exit(f"answers differ, so these are no figures: {'; '.join(wrong)}")
    heads = [{key: value for key, value in part.items() if key not in ("rows", "device")} for part in parts]
    return {"date": max(part["date"] for part in parts), "commit": commit, "device": parts[0]["device"],
            "programs": heads, "rows": sorted(rows, key=place_of)}


def place_of(row):
    """Where a work belongs in the table."""
    first = next((i for i, work in enumerate(WORKS) if row["work"].startswith(work)), len(WORKS))
    return first, "slowest" in row["work"], [int(number) for number in re.findall(r"\d+", row["work"])]


def newest(root):
    """The path of the newest record of a GPU's rivals, or None."""
    found = glob.glob(os.path.join(root, "tests", "record", "*-rivals.json"))
    found = [path for path in found if not path.endswith("-cpu-rivals.json")]
    return max(found, key=os.path.basename, default=None)


# ---- the table -----------------------------------------------------------------------------


def time_of(ms):
    return f"{ms * 1e3:#.3g} us" if ms < 0.1 else f"{ms:#.3g} ms"


def target_of(row):
    aim = row["target"]
    said = [f"{aim[key]:.2f} {unit}" for key, unit in (("ratio", "x"), ("of_copy", "of copy"), ("of_peak", "of peak"))
            if aim[key]]
    return ", ".join(said)


def reached(row):
    """The fraction of copy, or what arithmetic counts in."""
    if "of_peak" in row:
        return f"{row['of_peak']:.2f} of peak"
    if "of_copy" in row:
        return f"{row['of_copy']:.2f}"
    return f"{row['tflops']:.1f} TFLOP/s" if "tflops" in row else ""


def fastest(rows):
    """Of every work the row whose rival took least, in the rows' order."""
    best = {}
    for row in rows:
        if row["work"] not in best or row["theirs_ms"] < best[row["work"]]["theirs_ms"]:
            best[row["work"]] = row
    return list(best.values())


def table(record, path):
    """The README's table, with the markers."""
    rows = fastest(record["rows"])
    met = sum(row["met"] for row in rows)
    lines = [BEGIN, f"{record['device']}, {record['date'][:10]}; {met} of {len(rows)} targets met; every figure and rival: "
             f"[{os.path.basename(path)}](tests/record/{os.path.basename(path)}).", "",
             "| work | ours | of copy | fastest rival | its time | ratio | target, at least | |",
             "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        lines.append(f"| {row['work']} | {time_of(row['ours_ms'])} | {reached(row)} | {row['rival']} | "
                     f"{time_of(row['theirs_ms'])} | {row['ratio']:.2f} | {target_of(row)} | "
                     f"{'met' if row['met'] else 'not met'} |")
    return "\n".join(lines + [END])


def readme(root):
    with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
        text = file.read()
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        sys.exit(f"README.md: there should be one {BEGIN} and one {END} after it")
    return text[:text.index(BEGIN)], text[text.index(BEGIN):text.index(END) + len(END)], text[text.index(END) + len(END):]


def made(root):
    path = newest(root)
    if not path:
        sys.exit("tests/record: no record of a GPU's rivals")
    with open(path, encoding="utf-8") as file:
        return table(json.load(file), path)


def update(root):
    before, _, after = readme(root)
    with open(os.path.join(root, "README.md"), "w", encoding="utf-8") as file:
        file.write(before + made(root) + after)
    return 0


def check(root):
    if readme(root)[1] == made(root):
        print("README.md's table is the newest record's")
        return 0
    print("README.md: the table of GPU figures is not the newest record's: tests/bench/rivals_table.py update")
    return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("merge")
    one.add_argument("files", nargs="+")
    one.add_argument("--commit")
    one.add_argument("-o", "--output")
    for name in ("update", "check"):
        verbs.add_parser(name).add_argument("root", nargs="?", default=ROOT)
    args = parser.parse_args()
    if args.verb != "merge":
        return {"update": update, "check": check}[args.verb](args.root)
    record = merge(args.files, args.commit or results.commit(ROOT))
    name = f"{record['date'][:10]}-{re.sub('[^a-z0-9]+', '-', record['device'].lower()).strip('-')}-rivals.json"
    path = args.output or os.path.join(ROOT, "tests", "record", name)
    results.write(record, path)
    met = sum(row["met"] for row in record["rows"])
    print(f"{path}: {len(record['rows'])} rows, {met} met")
    return 0


if __name__ == "__main__":
    sys.exit(main())
