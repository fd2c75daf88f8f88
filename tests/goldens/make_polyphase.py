#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes polyphase.txt: sound at other rates by SciPy.

    make_polyphase.py > polyphase.txt

The filters are the definition in filters/polyphase/polyphase.h, a sinc in scipy.signal.windows.kaiser's window
(numpy.kaiser is evaluated between its samples by its formula, with scipy.special.i0); scipy.signal.resample_poly does
the rest with it. Records are a line with a name and a count and a line of that many numbers:

    input       a signal
    output_K    rate, new rate, quality, and the signal at the new rate
"""
import sys
from math import gcd

import numpy as np
from scipy import signal, special

GRADES = [(0.80, 65), (0.88, 84), (0.91, 104), (0.95, 127)]


def prototype(up, down, quality):
    """The filter at `up` times the input's rate, its taps of each phase adding up to 1."""
    part, attenuation = GRADES[quality]
    stop = 0.5 * min(1, up / down)
    beta = 0.1102 * (attenuation - 8.7)
    taps = int(np.ceil((attenuation - 7.95) / (14.36 * stop * (1 - part)) + 1))
    taps = -(-taps // 16) * 16
    t = np.arange(-taps * up // 2, taps * up // 2 + 1) / up
    x = t / (taps / 2)
    h = stop * (1 + part) * np.sinc(stop * (1 + part) * t) * special.i0(beta * np.sqrt(1 - x * x)) / special.i0(beta)
    h[-1] = 0  # of phase 0 there are `taps` taps, too
    for phase in range(up):
        h[phase:-1:up] /= h[phase:-1:up].sum()
    return h


def resample(x, rate, to, quality):
    up, down = to // gcd(rate, to), rate // gcd(rate, to)
    h = prototype(up, down, quality)
    return signal.resample_poly(x, up, down, window=h / up)


def record(name, values):
    print(name, len(values))
    print(" ".join(repr(float(v)) for v in values))


def main():
    rng = np.random.default_rng(8)
    x = rng.uniform(-1, 1, 300)
    record("input", x)
    for k, (rate, to, quality) in enumerate([(2, 3, 0), (3, 2, 1), (44100, 48000, 2), (48000, 44100, 3), (1, 4, 3),
                                             (8000, 1000, 0), (7, 5, 2)]):
        record(f"output_{k}", [rate, to, quality, *resample(x, rate, to, quality)])


sys.exit(main())
