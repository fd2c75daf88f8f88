#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes mask.txt: the impulse response of a low-pass filter, by the window method.

    make_mask.py [FILE]

An ideal low-pass, cut to 101 taps under a Hamming window and scaled so that a constant
passes unchanged.
"""
import math
import sys

TAPS = 101
RATE = 16000
CUTOFF = 1000


def lowpass():
    middle = (TAPS - 1) / 2
    taps = []
    for n in range(TAPS):
        t = 2.0 * CUTOFF / RATE * (n - middle)
        sinc = 1.0 if t == 0.0 else math.sin(math.pi * t) / (math.pi * t)
        taps.append(sinc * (0.54 - 0.46 * math.cos(2.0 * math.pi * n / (TAPS - 1))))
    total = sum(taps)
    return [tap / total for tap in taps]


def main(path):
    with open(path, "w", encoding="utf-8") as file:
        file.write("# SPDX-License-Identifier: MIT\n")
        file.write(f"# Low-pass, {CUTOFF} Hz at {RATE} samples a second: {TAPS} taps, Hamming window,\n")
        file.write("# gain 1 at 0 Hz. Made by make_mask.py. Numbers are separated by blanks, commas or\n")
        file.write("# newlines; '#' begins a comment.\n")
        for tap in lowpass():
            file.write(f"{tap:.9f}\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "mask.txt")
