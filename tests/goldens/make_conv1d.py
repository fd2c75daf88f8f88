#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes conv1d.txt: what NumPy and SciPy say conv1d's results are.

    make_conv1d.py > conv1d.txt

The file is lines of words and numbers. A signal or a mask is "signal NAME COUNT" and
its numbers on the next line; a case is

    case ORACLE SIGNAL MASK BORDER VALUE MODE FLIP COUNT

and its results on the next line. BORDER, MODE and FLIP are the operator's own words.
Numbers are repr() of doubles that are exact in single precision, results of doubles.
"""
import sys

import numpy as np
from scipy import ndimage

BORDERS = {"zero": "constant", "constant": "constant", "replicate": "nearest", "reflect": "reflect",
           "reflect101": "mirror", "wrap": "wrap"}
TAPS = (1, 2, 3, 4, 7, 30, 61)
VALUE = 0.625


def numbers(array):
    return " ".join(repr(float(v)) for v in array)


def ndimage_same(signal, mask, border, flip):
    """scipy.ndimage with our centre, which for an even mask lies one tap beside SciPy's
    when it convolves."""
    value = VALUE if border == "constant" else 0.0
    if flip == "no":
        return ndimage.correlate1d(signal, mask, mode=BORDERS[border], cval=value)
    # convolve1d centres an even mask on tap n/2, numpy.convolve on (n-1)/2: origin moves it.
    origin = -1 if len(mask) % 2 == 0 else 0
    return ndimage.convolve1d(signal, mask, mode=BORDERS[border], cval=value, origin=origin)


def numpy_same(signal, mask):
    """numpy.convolve(mode="same"), but of the signal's length also when the mask is longer."""
    centre = (len(mask) - 1) // 2
    return np.convolve(signal, mask, "full")[centre:centre + len(signal)]


def main(out):
    rng = np.random.default_rng(20)
    signal = rng.standard_normal(29).astype(np.float32).astype(float)
    masks = {n: rng.standard_normal(n).astype(np.float32).astype(float) for n in TAPS}

    def case(oracle, n, border, mode, flip, result):
        out.write(f"case {oracle} s m{n} {border} {VALUE if border == 'constant' else 0} {mode} {flip} {len(result)}\n")
        out.write(numbers(result) + "\n")

    out.write("# Made by make_conv1d.py; see there for what the lines mean.\n")
    out.write(f"signal s {len(signal)}\n{numbers(signal)}\n")
    for n, mask in masks.items():
        out.write(f"signal m{n} {n}\n{numbers(mask)}\n")
    for n, mask in masks.items():
        for border in BORDERS:
            for flip in ("yes", "no"):
                case("ndimage", n, border, "same", flip, ndimage_same(signal, mask, border, flip))
        case("numpy", n, "zero", "same", "yes", numpy_same(signal, mask))
        case("numpy", n, "zero", "full", "yes", np.convolve(signal, mask, "full"))
        case("numpy", n, "zero", "full", "no", np.convolve(signal, mask[::-1], "full"))
        if n <= len(signal):
            assert np.array_equal(numpy_same(signal, mask), np.convolve(signal, mask, "same"))
            case("numpy", n, "zero", "valid", "yes", np.convolve(signal, mask, "valid"))
            case("numpy", n, "zero", "valid", "no", np.correlate(signal, mask, "valid"))


if __name__ == "__main__":
    main(sys.stdout)
