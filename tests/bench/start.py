#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""From the command's start to its end on a GPU, by what it finds:

    start.py BUILD [--rounds N] [--json FILE]

The demo (speech through a mask), and a large picture through a chain that becomes one kernel, each: on the CPU; on the
GPU without NVRTC, first by stages one by one, then by kernels that were built ahead; and without those by NVRTC with an
empty cache of kernels, and with the kernels of an earlier run. The best of N runs (5) counts, of an empty cache too: it
is emptied before each. Results on the GPU have to be the same bytes (the CPU sums the demo's mask tap by tap). Kernels built ahead are out of their folder meanwhile."""
import argparse
import contextlib
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PICTURE = (8192, 8192)
STAGES = ["gain:0.9", "sepconv:[0.0625,0.25,0.375,0.25,0.0625]", "clip:min=5:max=250", "gain:1.1"]
# name, device, with NVRTC, with what is in the cache, with kernels built ahead
STARTS = [("CPU", "cpu", True, False, True), ("GPU, no kernels", "cuda", False, False, False),
          ("GPU, built ahead", "cuda", False, False, True), ("GPU, nothing kept", "cuda", True, False, False),
          ("GPU, kernels kept", "cuda", True, True, False)]


@contextlib.contextmanager
def hidden(paths, folder):
    """The files are in another folder for a while."""
    moved = [(path, shutil.move(path, folder)) for path in paths]
    try:
        yield
    finally:
        for path, there in moved:
            shutil.move(there, path)


def works(scratch):
    """name -> the command's words but its device."""
    picture = os.path.join(scratch, "picture.npy")
    with open(picture, "wb") as file:
        header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({PICTURE[0]}, {PICTURE[1]}, 3), }}".ljust(117) + "\n"
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        row = bytes((i * 7 + i // 13) % 251 for i in range(PICTURE[1] * 3))
        for y in range(PICTURE[0]):
            file.write(row[y % 97 :] + row[: y % 97])
    examples = os.path.join(ROOT, "examples")
    return {
        "the demo": ["-i", os.path.join(examples, "speech.wav"), "-p", "conv1d:" + os.path.join(examples, "mask.txt"),
                     "-o", os.path.join(scratch, "out.wav")],
        f"{PICTURE[0]} x {PICTURE[1]} u8 RGB, {len(STAGES)} stages": [
            "-i", picture, *(word for stage in STAGES for word in ("-p", stage)), "-o", os.path.join(scratch, "out.npy")],
    }


def run(build, words, device, scratch, nvrtc, kept):
    cache = os.path.join(scratch, "cache")
    kernels = os.path.join(cache, "filterchain", "kernels")
    if not kept:
        shutil.rmtree(kernels, ignore_errors=True)
    environment = {**os.environ, "XDG_CACHE_HOME": cache, "FILTERCHAIN_PLUGIN_PATH": os.path.join(build, "plugins")}
    if not nvrtc:
        environment["FILTERCHAIN_NVRTC"] = os.path.join(scratch, "none.so")
    start = time.perf_counter()
    subprocess.run([os.path.join(build, "cli", "filterchain"), *words, "--device", device], check=True, env=environment)
    seconds = time.perf_counter() - start
    with open(words[-1], "rb") as file:
        return seconds, file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for work, words in works(scratch).items():
            outputs = {}
            for name, device, nvrtc, kept, ahead in STARTS:
                with hidden([] if ahead else glob.glob(os.path.join(options.build, "core", "prebuilt", "kernels-*")), scratch):
                    made = [run(options.build, words, device, scratch, nvrtc, kept) for _ in range(options.rounds + kept)]
                for _, content in made if device == "cuda" else []:
                    outputs.setdefault(content, []).append(name)
                rows.append({"work": work, "start": name, "seconds": round(min(seconds for seconds, _ in made), 4)})
                print(f"{rows[-1]['seconds'] * 1e3:9.1f} ms  {work}: {name}")
            if len(outputs) > 1:
                print(f"{work}: outputs differ: {list(outputs.values())}")
                return 1
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
