#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Folders of images of one size and of as many sizes as there are images, in turns: images a second, and the most
memory at once, also of a quarter of the images.

    sizes.py BUILD [--images N] [--rounds N] [--threads N] [--folder DIR] [--json FILE]

Makes N JPEGs (1000) of sizes from 350 x 250 to 450 x 350, all different, and as many of 400 x 300, and brings each folder
to 224 x 224 (`resize:256`, `crop:224`), into .npy files and into archives. Of the times of the rounds the best counts; that of
processors shows what else runs on the machine less.
Needs Pillow and NumPy."""
import argparse
import os
import resource
import shutil
import subprocess
import tempfile
import time

import numpy as np
from PIL import Image

import rivals_cpu

CHAIN = ["-p", "resize:256", "-p", "crop:224"]


def picture(width, height):
    y, x = np.mgrid[:height, :width].astype(np.float32)
    waves = [127 + 90 * np.sin(x / 23 + c) * np.cos(y / 31 - c) + 20 * ((x // 17 + y // 13) % 2) for c in range(3)]
    return Image.fromarray(np.stack(waves, axis=-1).clip(0, 255).astype(np.uint8))


def make(folder, images):
    """Widths and heights take turns, so that no two sizes are alike and their mean is that of the equal ones."""
    sizes = [(350 + i % 101, 250 + i // 101) for i in range(10201)]
    order = np.random.default_rng(1).permutation(len(sizes))
    for name in ("equal", "unlike"):
        os.makedirs(os.path.join(folder, name))
    for i in range(images):
        width, height = sizes[order[i % len(sizes)]]
        picture(400, 300).save(os.path.join(folder, "equal", f"{i:05}.jpg"), quality=90)
        picture(width, height).save(os.path.join(folder, "unlike", f"{i:05}.jpg"), quality=90)


def run(build, folder, name, output, threads):
    """(seconds, seconds of processors, peak memory in MB)"""
    target = os.path.join(folder, "out")
    shutil.rmtree(target, ignore_errors=True)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(["/usr/bin/time", "-f", "%M", os.path.join(build, "cli/filterchain"), "-q", "-i", os.path.join(folder, name), *CHAIN,
                           "-o", os.path.join(target, output), "--format", "npy", "--device", "cpu", "-j", str(threads)],
                          stderr=subprocess.PIPE, text=True, check=True)
    spent, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, busy, int(done.stderr.split()[-1]) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    start = rivals_cpu.circumstances(args.threads)
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        make(folder, args.images)
        rows = []
        for output in ("", "a-{shard:03}.tar"):
            best = {}
            for _ in range(args.rounds):
                for name in ("equal", "unlike"):
                    best.setdefault(name, []).append(run(args.build, folder, name, output, args.threads))
            seconds, busy = ({name: min(turn[i] for turn in turns) for name, turns in best.items()} for i in (0, 1))
            rows.append({"output": output or "files", "equal": best["equal"], "unlike": best["unlike"]})
            print(f"{output or 'files'}: {args.images} images, equal {args.images / seconds['equal']:.0f}/s, unlike "
                  f"{args.images / seconds['unlike']:.0f}/s: {seconds['unlike'] / seconds['equal'] - 1:+.0%}; time of processors "
                  f"{busy['unlike'] / busy['equal'] - 1:+.0%}; memory {max(turn[2] for turn in best['equal']):.0f} and "
                  f"{max(turn[2] for turn in best['unlike']):.0f} MB")
        half = os.path.join(folder, "half")
        os.makedirs(half)
        names = sorted(os.listdir(os.path.join(folder, "unlike")))
        for name in names[:len(names) // 4]:
            os.link(os.path.join(folder, "unlike", name), os.path.join(half, name))
        few, all_of_them = (run(args.build, folder, name, "", args.threads)[2] for name in ("half", "unlike"))
        print(f"memory of a quarter of the images {few:.0f} MB, of all {all_of_them:.0f} MB")
    rivals_cpu.store(args.json, start, images=args.images, each=["seconds", "seconds of processors", "MB"], rows=rows,
                     memory_mb={"quarter": few, "all": all_of_them})


if __name__ == "__main__":
    main()
