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
and transfers must be hidden behind it. With --alone the chain is one operator.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

CHAIN = ["conv1d:[1,4,6,4,1]/16", "gain:0.5", "winstat:15", "conv1d:[1,2,1]/4"]
HEAVY = ["conv1d:{mask}:method=direct"]
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


def together(spans):
    """Seconds in which at least one and at least two of the lanes worked."""
    edges = sorted((t, d) for track in spans for b, e in spans[track] for t, d in ((b, 1), (e, -1)))
    one = two = depth = 0
    for (t, d), (after, _) in zip(edges, edges[1:] + edges[-1:]):
        depth += d
        one += (after - t) * (depth >= 1)
        two += (after - t) * (depth >= 2)
    return one, two


def judge(trace, size):
    spans = spans_of(trace)
    begin = min(b for track in spans.values() for b, _ in track)
    end = max(e for track in spans.values() for _, e in track)
    busy = {track: sum(e - b for b, e in spans[track]) for track in spans}
    slowest = max(busy, key=busy.get)
    one, two = together({track: spans[track] for track in spans if track.startswith("lane")})
    return {"bytes": size, "seconds": end - begin, "busy_s": busy, "slowest": slowest,
            "share": busy[slowest] / (end - begin), "lanes_s": one, "lanes_together_s": two}


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
        kind = "npy" if arguments.image else "wav"
        source, target, log = (os.path.join(folder, name) for name in ("in." + kind, "out." + kind, "trace.json"))
        mask = os.path.join(folder, "mask.txt")
        with open(mask, "w", encoding="utf-8") as file:
            file.writelines(f"{1 / (k + 20000)}\n" for k in range(16383))
        size = (write_array(source, int(arguments.image[0]), arguments.image[1]) if arguments.image else
                write_wav(source, arguments.size))
        words = [program, "-q", "-i", source, "-o", target, "--device", arguments.device, "--trace", log]
        chain = IMAGE if arguments.image else HEAVY if arguments.heavy else CHAIN
        chain = chain[:1] if arguments.alone else chain
        if arguments.image and arguments.image[1] == "u8":
            chain = chain + ["convert:u8"]
        stages = [stage.format(mask=mask) for stage in chain]
        start = time.perf_counter()
        subprocess.run(words + [word for stage in stages for word in ("-p", stage)], check=True)
        whole = time.perf_counter() - start
        with open(log, encoding="utf-8") as file:
            result = judge(json.load(file), size)
    result["process_s"] = whole
    print(f"{size / 1e9:.2f} GB in {result['seconds']:.3f} s, {size / 1e9 / result['seconds']:.2f} GB/s; "
          f"{whole:.3f} s with start and end of the process")
    for track, seconds in sorted(result["busy_s"].items(), key=lambda item: -item[1]):
        print(f"  {track:<14}{seconds:8.3f} s busy, {size / 1e9 / seconds:6.2f} GB/s by itself")
    print(f"  {result['slowest']} at work for {result['share']:.3f} of the time")
    if result["lanes_s"]:
        print(f"  lanes at work {result['lanes_s']:.3f} s, two or more at once {result['lanes_together_s']:.3f} s")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    return 0 if result["share"] >= arguments.least else 1


if __name__ == "__main__":
    sys.exit(main())
