#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does a long file run as fast as the slowest thing on its way? sustained.py BUILD [options].

    sustained.py build --device cuda             4 GiB of stereo WAV through a chain on a GPU
    sustained.py build --size 256 --json FILE    MiB; the figures as JSON too
    sustained.py build --image 16384 f32         one array of so many rows and columns, .npy to .npy; or u8: RGB

Goes by the program's own --trace: how long reader, writer and, of a device, each of the three lanes
were at work, out of the time from the first read to the last write. The busiest one's share is
how near the run is to what that one could do by itself; --least (0.9) is wanted of it. Shown too is how much
of the lanes' time two of them worked at once: with --heavy, sums of 16383 taps, the device is the slowest,
and as much of the transfers must be hidden behind it. With --alone the chain is one operator. Exit
status 77 where there is no device.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

CHAIN = ["conv1d:[1,4,6,4,1]/16", "gain:0.5", "winstat:15", "conv1d:[1,2,1]/4"]
HEAVY = ["conv1d:{mask}:method=direct"] * 3
IMAGE = ["sepconv:[1,6,15,20,15,6,1]/64", "gain:0.5", "winstat:window=5x5:stat=max"]
TRACKS = {"reader": "read", "compute": "chunk", "writer": "write", "lane upload": "uploading",
          "lane compute": "computing", "lane download": "downloading"}


def write_wav(path, mebibytes):
    """A header that promises what follows: noise of one MiB, over and over."""
    size = mebibytes << 20
    size = min(size, (1 << 32) - (1 << 20))  # what a RIFF header can tell
    header = (b"RIFF" + (size + 36).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little") +
              (1).to_bytes(2, "little") + (2).to_bytes(2, "little") + (48000).to_bytes(4, "little") +
              (192000).to_bytes(4, "little") + (4).to_bytes(2, "little") + (16).to_bytes(2, "little") + b"data" +
              size.to_bytes(4, "little"))
    noise = os.urandom(1 << 20)
    with open(path, "wb") as file:
        file.write(header)
        for _ in range(size >> 20):
            file.write(noise)
    return size


def write_array(path, side, dtype):
    """A .npy file of side * side elements, or RGB pixels: a band of noise, over and over."""
    shape, descr, each = ((side, side, 3), "|u1", 3) if dtype == "u8" else ((side, side), "<f4", 4)
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    rows = min(side, 64)
    noise = os.urandom(rows * side * each) if dtype == "u8" else bytes(
        byte for _ in range(side) for byte in (0, 0, ord(os.urandom(1)), 66)) * rows  # 32 to 128
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode())
        for row in range(0, side, rows):
            file.write(noise[:min(rows, side - row) * side * each])
    return side * side * each


def spans_of(trace):
    """[(begin, end)] in seconds of each track that has any."""
    events = trace["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    spans = {}
    for e in events:
        track = names.get(e.get("tid")) if e["ph"] == "X" else None
        if track and TRACKS.get(track) == e["name"]:
            spans.setdefault(track, []).append((e["ts"] / 1e6, (e["ts"] + e["dur"]) / 1e6))
    return spans


def lengths(spans, wanted):
    """Seconds in which the set of tracks at work is one that is wanted."""
    edges = sorted((t, d, track) for track in spans for b, e in spans[track] for t, d in ((b, 1), (e, -1)))
    seconds, depth = 0, dict.fromkeys(spans, 0)
    for (t, d, track), (after, _, _) in zip(edges, edges[1:] + edges[-1:]):
        depth[track] += d
        seconds += (after - t) * wanted({name for name in depth if depth[name]})
    return seconds


def judge(trace, size):
    spans = spans_of(trace)
    begin = min(b for track in spans.values() for b, _ in track)
    end = max(e for track in spans.values() for _, e in track)
    busy = {track: sum(e - b for b, e in spans[track]) for track in spans}
    slowest = max(busy, key=busy.get)
    lanes = {track: spans[track] for track in spans if track.startswith("lane")}
    moving = {"lane upload", "lane download"}
    return {"bytes": size, "seconds": end - begin, "busy_s": busy, "slowest": slowest,
            "share": busy[slowest] / (end - begin), "lanes_s": lengths(lanes, bool),
            "lanes_together_s": lengths(lanes, lambda at_work: len(at_work) >= 2),
            "transfers_s": lengths(lanes, lambda at_work: bool(at_work & moving)),
            "transfers_alone_s": lengths(lanes, lambda at_work: bool(at_work) and at_work <= moving)}


def stages_of(arguments, folder):
    mask = os.path.join(folder, "mask.txt")
    with open(mask, "w", encoding="utf-8") as file:
        file.writelines(f"{1 / (k + 20000)}\n" for k in range(16383))
    stages = IMAGE if arguments.image else HEAVY if arguments.heavy else CHAIN
    stages = stages[:1] if arguments.alone else stages
    if arguments.image and arguments.image[1] == "u8":
        stages = stages + ["convert:u8"]
    return [stage.format(mask=mask) for stage in stages]


def run(program, arguments, folder):
    """The figures of a run; None where there is no such device."""
    kind = "npy" if arguments.image else "wav"
    source, target, log = (os.path.join(folder, name) for name in ("in." + kind, "out." + kind, "trace.json"))
    words = [program, "-q", "-o", target, "--device", arguments.device, "--trace", log, "-i", source]
    words += [word for stage in stages_of(arguments, folder) for word in ("-p", stage)]
    size = (write_array(source, int(arguments.image[0]), arguments.image[1]) if arguments.image else
            write_wav(source, arguments.size))
    start = time.perf_counter()
    done = subprocess.run(words, stderr=subprocess.PIPE, text=True, check=False)
    whole = time.perf_counter() - start
    if done.returncode and "no CUDA" in done.stderr:
        return None
    if done.returncode:
        sys.exit(done.stderr)
    with open(log, encoding="utf-8") as file:
        return {**judge(json.load(file), size), "process_s": whole}


def show(result):
    size, seconds = result["bytes"] / 1e9, result["seconds"]
    print(f"{size:.2f} GB in {seconds:.3f} s, {size / seconds:.2f} GB/s; "
          f"{result['process_s']:.3f} s with start and end of the process")
    for track, busy in sorted(result["busy_s"].items(), key=lambda item: -item[1]):
        print(f"  {track:<14}{busy:8.3f} s busy, {size / busy:6.2f} GB/s by itself")
    print(f"  {result['slowest']} at work for {result['share']:.3f} of the time")
    if result["lanes_s"]:
        print(f"  lanes at work {result['lanes_s']:.4f} s, two or more at once {result['lanes_together_s']:.4f} s; "
              f"transfers {result['transfers_s']:.4f} s, {result['transfers_alone_s']:.4f} of it with no filter beside")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--image", nargs=2, metavar=("SIDE", "DTYPE"))
    parser.add_argument("--heavy", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--least", type=float, default=0.9)
    parser.add_argument("--folder", help="for the files, twice the size (default: a temporary one)")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    program = os.path.join(os.path.realpath(arguments.build), "cli", "filterchain")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        result = run(program, arguments, folder)
    if not result:
        print("skipped: no CUDA device")
        return 77
    show(result)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    hidden = result["transfers_s"] - result["transfers_alone_s"] >= arguments.least * result["transfers_s"]
    return 0 if result["share"] >= arguments.least and (hidden or not arguments.heavy) else 1


if __name__ == "__main__":
    sys.exit(main())
