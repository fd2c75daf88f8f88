#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes loudness.txt: what libebur128 and ffmpeg say of some signals.

    make_loudness.py [libebur128.so.1] > loudness.txt

The signals are functions of their numbers, which tests/filters/test_loudness.c computes too (signal_value there).
Records are a line with a name and a count and a line of that many numbers:

    case_K   rate channels seconds seed integrated range momentary short_term sample_peak true_peak

with levels in LUFS and LU and peaks as factors, and

    ffmpeg_K   rate channels seconds seed integrated range true_peak

as the filter loudnorm of ffmpeg tells, rounded to hundredths, the peak in dBTP. Of these signals the level is the same all
the time, since that filter leaves out some of the end.
"""
import ctypes
import json
import math
import subprocess
import sys

import numpy as np

M, S, I, LRA, SAMPLE, TRUE = 1, 3, 5, 11, 17, 49
CASES = [(48000, 1, 12, 1), (48000, 2, 20, 2), (44100, 2, 15, 3), (22050, 1, 20, 4), (96000, 2, 6, 5), (48000, 5, 8, 6),
         (48000, 6, 8, 7), (8000, 2, 30, 8), (192000, 1, 5, 9)]

STEADY = [(48000, 2, 20, 34), (44100, 1, 20, 71), (96000, 2, 10, 108)]


def signal(rate, channels, seconds, seed):
    """A tone and noise of a generator, whose level steps every second."""
    n = rate * seconds
    x = np.empty((n, channels))
    i = np.arange(n, dtype=np.uint64)
    for c in range(channels):
        k = (i * np.uint64(channels) + np.uint64(c) + np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15))
        k = (k ^ (k >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        k = (k ^ (k >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        k = k ^ (k >> np.uint64(31))
        noise = (k >> np.uint64(11)).astype(float) / 2.0 ** 52 - 1
        second = (i // np.uint64(rate)).astype(float)
        level = 10 ** (-(second * (3 + seed) % 37 + 3 * c) / 20)
        tone = np.sin(2 * math.pi * (200.0 + 1500 * c + 900 * seed % 2500) / rate * i.astype(float))
        x[:, c] = level * (0.8 * tone + 0.05 * noise)
    return x


def measure(library, x, rate):
    channels = x.shape[1]
    init = library.ebur128_init
    init.restype = ctypes.c_void_p
    state = ctypes.c_void_p(init(channels, ctypes.c_ulong(rate), I | LRA | TRUE | SAMPLE | M | S))
    out = ctypes.c_double()
    momentary = short = -math.inf
    step = rate // 10
    for at in range(0, len(x), step):
        piece = np.ascontiguousarray(x[at:at + step])
        library.ebur128_add_frames_double(state, piece.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(len(piece)))
        if len(piece) == step and at + step >= 4 * step:
            library.ebur128_loudness_momentary(state, ctypes.byref(out))
            momentary = max(momentary, out.value)
        if len(piece) == step and at + step >= 30 * step:
            library.ebur128_loudness_shortterm(state, ctypes.byref(out))
            short = max(short, out.value)
    library.ebur128_loudness_global(state, ctypes.byref(out))
    integrated = out.value
    library.ebur128_loudness_range(state, ctypes.byref(out))
    results = [integrated, out.value, momentary, short]
    for ask in (library.ebur128_sample_peak, library.ebur128_true_peak):
        most = 0
        for c in range(channels):
            ask(state, ctypes.c_uint(c), ctypes.byref(out))
            most = max(most, out.value)
        results.append(most)
    return results


def loudnorm(x, rate):
    told = subprocess.run(["ffmpeg", "-nostdin", "-hide_banner", "-f", "f64le", "-ar", str(rate), "-ac", str(x.shape[1]), "-i", "-", "-af",
                           "loudnorm=print_format=json", "-f", "null", "-"], input=x.astype("<f8").tobytes(), capture_output=True,
                          check=True).stderr.decode()
    values = json.loads(told[told.rindex("{"):told.rindex("}") + 1])
    return [float(values[name]) for name in ("input_i", "input_lra", "input_tp")]


def main():
    library = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libebur128.so.1")
    for k, case in enumerate(CASES):
        values = [*case, *measure(library, signal(*case), case[0])]
        print(f"case_{k} {len(values)}")
        print(" ".join(repr(float(v)) for v in values))
    for k, case in enumerate(STEADY):
        print(f"ffmpeg_{k} 7")
        print(" ".join(repr(float(v)) for v in [*case, *loudnorm(signal(*case), case[0])]))


main()
