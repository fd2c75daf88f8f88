#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Operators on images beside OpenCV and Pillow, on one core, in turns:

    PYTHONPATH=BUILD/python pixels.py [--rounds N] [--only NAME] [--json FILE]

Times are of the processor, medians and least of N rounds (15): what else runs on the machine shows in the medians, as it
takes part of the caches and of the core. Ours uses what BUILD allows (meson setup -Disa=avx2), OpenCV what OPENCV_CPU_DISABLE leaves
(AVX512-SKX is what it calls AVX-512); both are in the record. Results are compared first. Needs NumPy; opencv-python-headless and Pillow where they are to be the rivals."""
import argparse
import ctypes
import os
import statistics
import time

# NumPy's BLAS threads wait in loops, which would count as processor time of both sides.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import cv2
import filterchain as fc
import numpy as np
from PIL import Image

import rivals_cpu

WIDTH, HEIGHT = 1920, 1280


def picture(channels):
    y, x = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32)
    waves = [127 + 90 * np.sin(x / 23 + c) * np.cos(y / 31 - c) + 20 * ((x // 17 + y // 13) % 2) for c in range(channels)]
    noise = np.random.default_rng(1).normal(scale=6, size=(HEIGHT, WIDTH, channels))
    return (np.stack(waves, axis=-1) + noise).clip(0, 255).astype(np.uint8)


def resized(size, method, antialias=True):
    if antialias:
        wanted = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC, "lanczos3": Image.LANCZOS}[method]
        return lambda image: (lambda pillow: lambda: np.asarray(pillow.resize(size, wanted)))(Image.fromarray(image.squeeze()))
    wanted = {"bilinear": cv2.INTER_LINEAR, "bicubic": cv2.INTER_CUBIC, "nearest": cv2.INTER_NEAREST_EXACT, "area": cv2.INTER_AREA}[method]
    return lambda image: lambda: cv2.resize(image, size, interpolation=wanted)


# Name, stage, channels, the rival's name, what makes its call of an image, the most that values may differ by.
WORK = [
    ("threshold", "threshold:128", 3, "OpenCV", lambda i: lambda: cv2.threshold(i, 128, 255, cv2.THRESH_BINARY)[1], 0),
    ("threshold grey", "threshold:128", 1, "OpenCV", lambda i: lambda: cv2.threshold(i, 128, 255, cv2.THRESH_BINARY)[1], 0),
    ("gray", "gray", 3, "OpenCV", lambda i: lambda: cv2.cvtColor(i, cv2.COLOR_RGB2GRAY), 1),
    ("ycbcr", "color:ycbcr", 3, "Pillow", lambda i: (lambda p: lambda: np.asarray(p.convert("YCbCr")))(Image.fromarray(i)), 1),
    ("ycbcr, OpenCV", "color:ycbcr", 3, "OpenCV", lambda i: lambda: cv2.cvtColor(i, cv2.COLOR_RGB2YCrCb), None),
    ("hsv", "color:hsv", 3, "OpenCV", lambda i: lambda: cv2.cvtColor(i, cv2.COLOR_RGB2HSV_FULL), None),
    ("lab", "color:lab", 3, "OpenCV", lambda i: lambda: cv2.cvtColor(i, cv2.COLOR_RGB2Lab), 2),
    ("flip", "flip", 3, "OpenCV", lambda i: lambda: cv2.flip(i, 1), 0),
    ("rotate", "rotate:90", 3, "OpenCV", lambda i: lambda: cv2.rotate(i, cv2.ROTATE_90_CLOCKWISE), 0),
    ("median 3", "median:3", 3, "OpenCV", lambda i: lambda: cv2.medianBlur(i, 3), None),
    ("gamma", "gamma:0.45", 3, "OpenCV", lambda i: (lambda t: lambda: cv2.LUT(i, t))((255 * (np.arange(256) / 255) ** 0.45 + 0.5).astype(np.uint8)), 1),
    ("resize, half", "resize:960x640:antialias=no", 3, "OpenCV", resized((960, 640), "bilinear", False), 1),
    ("resize, 0.35", "resize:672x448:antialias=no", 3, "OpenCV", resized((672, 448), "bilinear", False), 1),
    ("resize, twice", "resize:3840x2560:antialias=no", 3, "OpenCV", resized((3840, 2560), "bilinear", False), 1),
    ("resize bicubic", "resize:672x448:filter=bicubic:antialias=no", 3, "OpenCV", resized((672, 448), "bicubic", False), 1),
    ("resize area", "resize:672x448:filter=area", 3, "OpenCV", resized((672, 448), "area", False), 1),
    ("resize nearest", "resize:672x448:filter=nearest", 3, "OpenCV", resized((672, 448), "nearest", False), None),
    ("antialiased", "resize:384x256", 3, "Pillow", resized((384, 256), "bilinear"), 1),
    ("antialiased bicubic", "resize:384x256:filter=bicubic", 3, "Pillow", resized((384, 256), "bicubic"), 1),
    ("antialiased lanczos", "resize:384x256:filter=lanczos3", 3, "Pillow", resized((384, 256), "lanczos3"), 1),
    ("antialiased grey", "resize:384x256", 1, "Pillow", resized((384, 256), "bilinear"), 1),
]


def spent(call):
    start = time.process_time()
    call()
    return (time.process_time() - start) * 1e3


def instruction_set():
    """Of the library that has been loaded."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        library = ctypes.CDLL(next(line.split()[-1] for line in maps if "libfilterchain-filters" in line))
    library.fc_isa_name.restype = ctypes.c_char_p
    return library.fc_isa_name(library.fc_isa_best()).decode()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    run = rivals_cpu.circumstances(1)
    cv2.setNumThreads(1)
    rows = []
    fc.chain("flip", device="cpu")
    print(f"{WIDTH} x {HEIGHT} of 8 bits, one core, ours by {instruction_set()}\n{'work':22}{'ours':>10}  {'rival':8}{'its time':>10}  ratio  of the least")
    for name, stage, channels, rival, make, most in WORK:
        if args.only and args.only not in name:
            continue
        image = picture(channels)
        theirs, chain = make(image), fc.chain(stage, device="cpu", threads=1)
        wanted = theirs()
        out = np.empty_like(wanted) if wanted.ndim == 3 or channels == 1 else np.empty((*wanted.shape, 1), np.uint8)
        out = out.reshape(*out.shape[:2], -1)

        def ours(chain=chain, image=image, out=out):
            chain(image, layout="hwc", out=out)
        ours()
        off = np.abs(out.squeeze().astype(int) - wanted.squeeze())
        if most is not None and off.max() > most:
            print(f"{name}: differs by {off.max()} in {np.count_nonzero(off > most)} samples")
        turns = [(spent(ours), spent(theirs)) for _ in range(args.rounds)]
        mine, its = (statistics.median(turn[i] for turn in turns) for i in (0, 1))
        least = [min(turn[i] for turn in turns) for i in (0, 1)]
        print(f"{name:22}{mine:7.2f} ms  {rival:8}{its:7.2f} ms  {its / mine:5.2f}  {least[1] / least[0]:5.2f}", flush=True)
        rows.append({"work": name, "stage": stage, "channels": channels, "ms": round(mine, 3), "rival": rival, "rival_ms": round(its, 3),
                     "ratio": round(its / mine, 2), "least_ms": round(least[0], 3), "rival_least_ms": round(least[1], 3),
                     "ratio_of_least": round(least[1] / least[0], 2), "largest_difference": int(off.max())})
    rivals_cpu.store(args.json, run, opencv=cv2.__version__, isa=instruction_set(), opencv_without=os.environ.get("OPENCV_CPU_DISABLE", ""),
                     size=[WIDTH, HEIGHT], rows=rows)


if __name__ == "__main__":
    main()
