#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times sepconv and conv2d beside OpenCV, in turns: conv2d_opencv.py BENCH [SIZE].

BENCH is the program built from bench_conv2d.c. Needs numpy and cv2. A row prints the
median milliseconds of either and their ratio, as the speed of OpenCV's being 1.
"""
import subprocess
import sys
import time

import cv2
import numpy

CASES = [("sep", channels, dtype, taps)
         for channels, dtype in ((1, "f32"), (3, "u8")) for taps in (3, 7, 15, 31)]
CASES += [("dense", 1, "f32", taps) for taps in (3, 5, 7, 15)] + [("dense", 3, "u8", 7)]
ROUNDS = 11


def ours(bench, kind, size, channels, dtype, taps):
    out = subprocess.run([bench, kind, str(size), str(channels), dtype, str(taps), str(ROUNDS)],
                         check=True, capture_output=True, text=True).stdout
    return float(out.split()[0])


def opencv(kind, size, channels, dtype, taps):
    shape = (size, size, channels) if channels > 1 else (size, size)
    image = numpy.random.default_rng(1).integers(0, 256, shape).astype("u1" if dtype == "u8" else "f4")
    out = numpy.empty_like(image)
    mask = numpy.random.default_rng(2).random((taps, taps)).astype("f4") / taps ** 2
    row = mask[0] / mask[0].sum()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        if kind == "sep":
            cv2.sepFilter2D(image, -1, row, row, dst=out)
        else:
            cv2.filter2D(image, -1, mask, dst=out)
        times.append(time.perf_counter() - start)
    return sorted(times)[ROUNDS // 2] * 1e3


def main():
    bench, size = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4096
    cv2.setNumThreads(2)
    print(f"{'case':<22}{'ours ms':>9}{'OpenCV ms':>11}{'ratio':>7}")
    for kind, channels, dtype, taps in CASES:
        # Ours on either side of OpenCV: a machine that slows down meanwhile slows both.
        first = ours(bench, kind, size, channels, dtype, taps)
        theirs = opencv(kind, size, channels, dtype, taps)
        mine = (first + ours(bench, kind, size, channels, dtype, taps)) / 2
        name = f"{kind} {channels}x{dtype} k={taps}"
        print(f"{name:<22}{mine:9.2f}{theirs:11.2f}{theirs / mine:7.2f}", flush=True)


if __name__ == "__main__":
    main()
