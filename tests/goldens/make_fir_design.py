#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes fir_design.txt: masks of scipy.signal.firwin.

    make_fir_design.py > fir_design.txt

Records are a line with a name and a count and a line of that many numbers:

    mask_K      band, low and high edge over the rate, window, beta, and the taps
    kaiser_K    attenuation in dB, width over the rate, scipy.signal.kaiserord's taps and beta
"""
import sys

from scipy import signal

BANDS = ["lowpass", "highpass", "bandpass", "bandstop"]
WINDOWS = ["boxcar", "hann", "hamming", "blackman", "blackmanharris", "bartlett", "cosine", "kaiser"]


def record(name, values):
    print(name, len(values))
    print(" ".join(repr(float(v)) for v in values))


def main():
    k = 0
    for band in range(4):
        for taps, window in ((31, 7), (25, 1), (51, 4), (1, 2), (7, 5), (24, 7), (40, 3)):
            if (taps % 2 == 0 or taps == 1) and band in (1, 3):
                continue
            low, high, beta = 0.03 + 0.05 * band, 0.3 + 0.01 * taps / 8, 4.5 + band
            name = ("kaiser", beta) if window == 7 else WINDOWS[window]
            edges = [low, high] if band > 1 else low
            h = signal.firwin(taps, edges, window=name, pass_zero=BANDS[band], fs=1)
            record(f"mask_{k}", [band, low, high, window, beta, *h])
            k += 1
    print("masks 1")
    print(k)
    for i, (ripple, width) in enumerate(((80, 0.02), (40, 0.1), (22, 0.03), (120, 0.001))):
        taps, beta = signal.kaiserord(ripple, 2 * width)
        record(f"kaiser_{i}", [ripple, width, taps, beta])


sys.exit(main())
