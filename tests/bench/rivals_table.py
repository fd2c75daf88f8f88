#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The comparisons with other programs: from the programs' JSON to a record, and from the newest records to the pages.

    rivals_table.py merge FILE... [--commit C] [-o RECORD]   what --json of filterchain-rivals and rivals_torch.py wrote
    rivals_table.py update [ROOT]                            writes the tables of README.md and docs/benchmarks.md
    rivals_table.py check [ROOT]                             fails where one is another than the records'

The records keep every row; docs/benchmarks.md has, for every work, the rival that was fastest, and README.md a dozen of
these works.
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

# What README.md shows, the GPU's first.
SHOWN = ("sum of squares, 2^28 f32", "box 16384^2 f32, 15 x 15", "conv1d 128 Mi f32, 127 taps", "sepconv 16384^2 f32, k = 15",
         "sepconv 16384^2 u8 RGB, k = 7", "conv2d 16384^2 f32, 7 x 7", "SGEMM 1 x 4096 x 4096", "DGEMM 4096")
SHOWN_CPU = ("600 s stereo 16-bit WAV, 127 taps", "start to finish, 1 s WAV, 127 taps", "sepconv 4096^2 u8 RGB, k = 7",
             "conv2d 4096^2 f32, 7 x 7")
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


def newest(root, cpu=False, kind="rivals"):
    """(name, content) of the newest record of this kind from a GPU, or from the CPU."""
    found = glob.glob(os.path.join(root, "tests", "record", f"*-{kind}.json"))
    found = [path for path in found if path.endswith(f"-cpu-{kind}.json") == cpu]
    if not found:
        sys.exit(f"tests/record: no record of {kind} from {'the CPU' if cpu else 'a GPU'}")
    path = max(found, key=os.path.basename)
    with open(path, encoding="utf-8") as file:
        return os.path.basename(path), json.load(file)


# ---- the tables ----------------------------------------------------------------------------


def time_of(ms):
    number, unit = (ms * 1e3, "us") if ms < 0.1 else (ms, "ms") if ms < 1000 else (ms / 1e3, "s")
    return f"{number:#.3g}".rstrip(".") + f" {unit}"


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


def is_program(row):
    """Whether a row compares with another program, not with a limit of our own."""
    return not row["rival"].startswith("the limit")


def fastest(rows):
    """Of every work the row whose rival took least, in the rows' order."""
    best = {}
    for row in filter(is_program, rows):
        if row["work"] not in best or row["theirs_ms"] < best[row["work"]]["theirs_ms"]:
            best[row["work"]] = row
    return list(best.values())


def in_ms(rows):
    """Rows of rivals_cpu.py, whose times are in seconds, as those of a GPU."""
    return [{**row, "ours_ms": row["ours_s"] * 1e3, "theirs_ms": row["theirs_s"] * 1e3} for row in rows]


def day_of(name):
    return name[:10]


def gpu_table(root, folder):
    name, record = newest(root)
    rows = fastest(record["rows"])
    met = sum(row["met"] for row in rows)
    yield (f"{record['device']}, {record['date'][:10]}; {met} of {len(rows)} targets met; every figure and rival: "
           f"[{name}]({folder}tests/record/{name}).")
    yield from ("", "| work | ours | of copy | fastest rival | its time | ratio | target, at least | |",
                "|---|---|---|---|---|---|---|---|")
    for row in rows:
        yield (f"| {row['work']} | {time_of(row['ours_ms'])} | {reached(row)} | {row['rival']} | "
               f"{time_of(row['theirs_ms'])} | {row['ratio']:.2f} | {target_of(row)} | "
               f"{'met' if row['met'] else 'not met'} |")


def cpu_table(root, folder):
    name, record = newest(root, cpu=True)
    yield (f"{record['machine']}, {record['threads']} threads, {day_of(name)}; every figure: "
           f"[{name}]({folder}tests/record/{name}).")
    yield from ("", "| work | ours | rival | its time | ratio | target, at least | |", "|---|---|---|---|---|---|---|")
    for row in filter(is_program, in_ms(record["rows"])):
        yield (f"| {row['work']} | {time_of(row['ours_ms'])} | {row['rival']} | {time_of(row['theirs_ms'])} | "
               f"{row['ratio']:.2f} | {row['target']:g} x | {'met' if row['met'] else 'not met'} |")


def shown(rows, works):
    """The rows of these works, in their order."""
    of = {row["work"]: row for row in fastest(rows)}
    missing = [work for work in works if work not in of]
    if missing:
        sys.exit(f"the newest record has no row {'; '.join(missing)}, which README.md shows (SHOWN)")
    return [of[work] for work in works]


def short_table(root, folder):
    name, gpu = newest(root)
    cpu_name, cpu = newest(root, cpu=True)
    yield (f"{gpu['device']}, {gpu['date'][:10]} ([record]({folder}tests/record/{name})); CPU: {cpu['machine']}, "
           f"{cpu['threads']} threads, {day_of(cpu_name)} ([record]({folder}tests/record/{cpu_name})).")
    yield from ("", "| work | on | ours | fastest rival | its time | ratio |", "|---|---|---|---|---|---|")
    rows = [("GPU", row) for row in shown(gpu["rows"], SHOWN)]
    rows += [("CPU", row) for row in shown(in_ms(cpu["rows"]), SHOWN_CPU)]
    for device, row in rows:
        yield (f"| {row['work']} | {device} | {time_of(row['ours_ms'])} | {row['rival']} | {time_of(row['theirs_ms'])} | "
               f"{row['ratio']:.2f} |")


def images_table(root, folder):
    name, record = newest(root, cpu=True, kind="images")
    programs = ["ours", *sorted({program for row in record["rows"] for program in row["ms"]} - {"ours"})]
    yield (f"{record['machine']}, {record['threads']} threads, load {record['load']:.0f}, {day_of(name)}, {record['files']} files "
           f"([record]({folder}tests/record/{name})); milliseconds a file.")
    yield from ("", f"| work | {' | '.join(programs)} | ratio | target, at least | |", "|---" * (len(programs) + 4) + "|")
    for row in record["rows"]:
        times = " | ".join(f"{row['ms'][program]:#.3g}".rstrip(".") if program in row["ms"] else "" for program in programs)
        yield (f"| {row['work']} | {times} | {row['ratio']:.2f} of {row['reference']} | {row['target']:g} x | "
               f"{'met' if row['met'] else 'not met'} |")


def fused_table(root, folder):
    name, record = newest(root, kind="fused")
    yield f"{record['device']['name']}, {record['date'][:10]} ([record]({folder}tests/record/{name}))."
    yield from ("", "| chain | one kernel | of copy | one by one | of copy |", "|---|---|---|---|---|")
    for row in record["fused"]:
        yield (f"| {row['chain']} | {time_of(row['fused_ms'])} | {row['fused_of_copy']:.2f} | {time_of(row['one_by_one_ms'])} | "
               f"{row['one_by_one_of_copy']:.2f} |")


def pixels_table(root, folder):
    """Operators on images on a GPU: of pixels_cuda.py."""
    name, record = newest(root, kind="pixels")
    yield f"{record['device']}, {record['date'][:10]}, PyTorch {record['torch']} ([record]({folder}tests/record/{name}))."
    yield from ("", "| stages | type | N x Y x X x C | ours | of copy | PyTorch |", "|---|---|---|---|---|---|")
    for row in record["rows"]:
        stages = " ".join(f"`{stage}`" for stage in row["stages"].split(" | "))
        yield (f"| {stages} | {row['dtype']} | {' x '.join(map(str, row['shape']))} | {time_of(row['us'] / 1e3)} | {row['of_copy']:.2f} | "
               f"{time_of(row['torch_us'] / 1e3) if row.get('torch_us') else ''} |")


def sweep_table(root, folder):
    """Random chains: of sweep.py."""
    name, record = newest(root, kind="sweep")
    rows = record["rows"]
    yield (f"{record['device']['name']}, {record['date'][:10]} ([record]({folder}tests/record/{name})): of {len(rows)} chains {record['answers_that_differ']} "
           f"give other answers; of the floor the median reaches {record['median']:.2f}, a tenth less than {record['tenth_percentile']:.2f}, the worst {record['worst']:.2f}.")
    yield from ("", "| stages | chains | median of the floor | least | most |", "|---|---|---|---|---|")
    for stages in sorted({len(row["chain"]) for row in rows}):
        of = sorted(row["of_floor"] for row in rows if len(row["chain"]) == stages)
        yield f"| {stages} | {len(of)} | {of[len(of) // 2]:.2f} | {of[0]:.2f} | {of[-1]:.2f} |"


def sound_table(root, folder):
    """Speed, memory, rates, delays: of sound.py and memory.py."""
    name, record = newest(root, cpu=True, kind="sound")
    runs = ", ".join(f"{group} at {run['commit']} under a load of {run['load']:.0f}" for group, run in record["groups"].items())
    yield (f"{record['machine']}, {record['threads']} threads, {max(run['date'] for run in record['groups'].values())}; every figure: "
           f"[{name}]({folder}tests/record/{name}) ({runs}).")
    yield from ("", "| work, file to file | ours | rival | its time | ratio | target, at least | | answers |", "|---|---|---|---|---|---|---|---|")
    rows = record["rows"]
    for row in in_ms([row for row in rows if "rival" in row]):
        yield (f"| {row['work']} | {time_of(row['ours_ms'])} | {row['rival']} | {time_of(row['theirs_ms'])} | "
               f"{row['ratio']:.2f} | {row['target']:g} x | {'met' if row['met'] else 'not met'} | {row['difference'] or 'within 0.1 LU'} |")
    yield from ("", "| 96 to 44.1 kHz, largest error of tones | to 0.80 | to 0.91 | to 0.95 of 22.05 kHz | folded back |",
                "|---|---|---|---|---|")
    for row in rows:
        if "folded_dB" in row:
            yield f"| {row['program']} | " + " | ".join(f"{row[key]:.0f} dB" for key in ("to_0.80_dB", "to_0.91_dB", "to_0.95_dB", "folded_dB")) + " |"
    yield from ("", "| live, `--latency 20ms` | says it holds | median | 99 % within | longest |", "|---|---|---|---|---|")
    for row in rows:
        if "says_ms" in row:
            yield (f"| {row['work'].removeprefix('live, ')} | {row['says_ms']:.1f} ms | {row['median_ms']:.1f} ms | {row['p99_ms']:.1f} ms | "
                   f"{row['longest_ms']:.1f} ms |")
    yield from ("", "| peak of resident memory | 10 minutes | 10 hours |", "|---|---|---|")
    for row in record["memory"]:
        yield f"| {row['chain']} | {row['short_MB']:.1f} MB | {row['long_MB']:.1f} MB |"


# ---- the pages -----------------------------------------------------------------------------

# Page, name of the table in its markers, who makes it, the way from the page to the root.
TABLES = (("README.md", "speed", short_table, ""), ("docs/benchmarks.md", "gpu", gpu_table, "../"),
          ("docs/benchmarks.md", "cpu", cpu_table, "../"), ("docs/benchmarks.md", "sound", sound_table, "../"),
          ("docs/benchmarks.md", "fused", fused_table, "../"), ("docs/benchmarks.md", "images", images_table, "../"),
          ("docs/benchmarks.md", "sweep", sweep_table, "../"), ("docs/benchmarks.md", "pixels", pixels_table, "../"))


def page(root, path, name):
    """The text of a page ahead of a table, the table with its markers, and what follows."""
    begin, end = f"<!-- {name} table begin -->", f"<!-- {name} table end -->"
    with open(os.path.join(root, path), encoding="utf-8") as file:
        text = file.read()
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        sys.exit(f"{path}: there should be one {begin} and one {end} after it")
    first, last = text.index(begin), text.index(end) + len(end)
    return text[:first], text[first:last], text[last:]


def made(root, name, make, folder):
    return "\n".join([f"<!-- {name} table begin -->", *make(root, folder), f"<!-- {name} table end -->"])


def update(root):
    for path, name, make, folder in TABLES:
        before, _, after = page(root, path, name)
        table = made(root, name, make, folder)  # which may exit: before the page is opened, and empty
        with open(os.path.join(root, path), "w", encoding="utf-8") as file:
            file.write(before + table + after)
    return 0


def check(root):
    wrong = [f"{path} ({name})" for path, name, make, folder in TABLES
             if page(root, path, name)[1] != made(root, name, make, folder)]
    if wrong:
        print(f"tables that are not the newest records': {', '.join(wrong)}; tests/bench/rivals_table.py update")
        return 1
    print("all tables are the newest records'")
    return 0


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
