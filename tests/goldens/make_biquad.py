#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes biquad.txt: designs and filtered signals by SciPy.

    make_biquad.py > biquad.txt

Designs are the analogue prototypes of the Audio EQ Cookbook taken through scipy.signal.bilinear with the
frequency warped beforehand, and Butterworth filters of scipy.signal.butter. Records are a line with a name and a
count and a line of that many numbers:

    design_K       form frequency/rate q gain b0 b1 b2 a1 a2
    butter_K       form frequency/rate sections, and |H| of that Butterworth filter at k/128 of the rate, k < 64
    input          a signal
    sections_K     b0 b1 b2 a0 a1 a2 of each section
    output_K       scipy.signal.sosfilt of the input with these
"""
import sys

import numpy as np
from scipy import signal

LOWPASS, HIGHPASS, BAND, NOTCH, PEAK, LOWSHELF, HIGHSHELF = range(7)


def prototype(form, q, gain):
    """Numerator and denominator in s, at 1 rad/s."""
    a = np.sqrt(gain)
    root = np.sqrt(a)
    return {LOWPASS: ([1], [1, 1 / q, 1]),
            HIGHPASS: ([1, 0, 0], [1, 1 / q, 1]),
            BAND: ([1 / q, 0], [1, 1 / q, 1]),
            NOTCH: ([1, 0, 1], [1, 1 / q, 1]),
            PEAK: ([1, a / q, 1], [1, 1 / (a * q), 1]),
            LOWSHELF: ([a, a * root / q, a * a], [a, root / q, 1]),
            HIGHSHELF: ([a * a, a * root / q, a], [1, root / q, a])}[form]


def design(form, frequency, q, gain):
    num, den = prototype(form, q, gain)
    warped = 2 * np.tan(np.pi * frequency)  # for bilinear at a rate of 1
    num = np.array(num, float) / warped ** np.arange(len(num))[::-1]
    den = np.array(den, float) / warped ** np.arange(len(den))[::-1]
    b, a = signal.bilinear(num, den, 1)
    b = np.concatenate([b, np.zeros(3 - len(b))])
    a = np.concatenate([a, np.zeros(3 - len(a))])
    return b / a[0], a / a[0]


def row(*of):
    b, a = design(*of)
    return [*b, *a]


def record(name, values):
    values = np.asarray(values, float).ravel()
    print(name, len(values))
    print(" ".join(repr(float(v)) for v in values))


def main():
    rng = np.random.default_rng(5)
    for k in range(56):
        form = k % 7
        frequency, q = rng.uniform(0.001, 0.49), 10 ** rng.uniform(-0.7, 1.3)
        gain = 10 ** rng.uniform(-1, 1) if form >= PEAK else 1.0
        b, a = design(form, frequency, q, gain)
        record(f"design_{k}", [form, frequency, q, gain, *b, a[1], a[2]])
    for k, (form, kind) in enumerate([(LOWPASS, "low"), (HIGHPASS, "high")] * 4):
        sections, frequency = k // 2 + 1, 0.02 + 0.05 * k
        _, h = signal.sosfreqz(signal.butter(2 * sections, 2 * frequency, kind, output="sos"), worN=64)
        record(f"butter_{k}", [form, frequency, sections, *np.abs(h)])
    x = rng.uniform(-1, 1, 800)
    x[300:700] = 0
    record("input", x)
    filters = [signal.butter(2, 0.1, output="sos"), signal.butter(8, 0.3, "high", output="sos"),
               signal.ellip(6, 0.5, 60, 0.2, output="sos"), [[1, -2, 1, 1, -1.98, 0.9801]],
               [[0.25, 0, 0, 1, 0, 0]],
               [row(PEAK, 0.001 * 1.8 ** k, 1.4, 10 ** (0.15 * (-1) ** k)) for k in range(10)]]
    for k, sos in enumerate(filters):
        record(f"sections_{k}", sos)
        record(f"output_{k}", signal.sosfilt(sos, x))


sys.exit(main())
