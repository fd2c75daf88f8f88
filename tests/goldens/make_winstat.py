#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes winstat.txt: what SciPy and NumPy say winstat's results are.

    make_winstat.py > winstat.txt

The file is lines of words and numbers: "input ROWS COLUMNS" and the samples on the next
line, row by row; then cases

    case STAT COLUMNS ROWS BORDER

each with its results on the next line. BORDER is replicate or shrink. Samples are
multiples of 1/64, so exact in single precision.
"""
import sys

import numpy as np
from scipy import ndimage

ROWS, COLUMNS = 7, 23
WINDOWS = ((1, 1), (3, 1), (4, 1), (15, 1), (40, 1), (1, 2), (1, 5), (3, 3), (6, 4), (31, 9))
# NaN stands for what is outside, and is left out: that is a window that shrinks.
SHRINK = {"sum": np.nansum, "sumsq": lambda v: np.nansum(v * v), "mean": np.nanmean, "var": np.nanvar,
          "std": np.nanstd, "rms": lambda v: np.sqrt(np.nanmean(v * v)), "min": np.nanmin, "max": np.nanmax}
FULL = {"sum": np.sum, "sumsq": lambda v: np.sum(v * v), "var": np.var, "std": np.std,
        "rms": lambda v: np.sqrt(np.mean(v * v))}


def stat(name, image, size, border):
    """SciPy's own filter where it has one, a function of every window otherwise."""
    if border == "shrink":
        return ndimage.generic_filter(image, SHRINK[name], size, mode="constant", cval=np.nan)
    if name == "mean":
        mean = ndimage.uniform_filter1d(image, size[1], axis=1, mode="nearest")
        return ndimage.uniform_filter1d(mean, size[0], axis=0, mode="nearest")
    if name == "min":
        return ndimage.minimum_filter(image, size, mode="nearest")
    if name == "max":
        return ndimage.maximum_filter(image, size, mode="nearest")
    return ndimage.generic_filter(image, FULL[name], size, mode="nearest")


def numbers(array):
    return " ".join(repr(float(v)) for v in array.ravel())


def main(out):
    rng = np.random.default_rng(15)
    image = np.round(rng.standard_normal((ROWS, COLUMNS)) * 64) / 64 + 3
    out.write("# Made by make_winstat.py; see there for what the lines mean.\n")
    out.write(f"input {ROWS} {COLUMNS}\n{numbers(image)}\n")
    for number, (columns, rows) in enumerate(WINDOWS):
        for name in SHRINK:
            border = "shrink" if (number + len(name)) % 3 == 0 else "replicate"
            out.write(f"case {name} {columns} {rows} {border}\n")
            out.write(numbers(stat(name, image, (rows, columns), border)) + "\n")


if __name__ == "__main__":
    main(sys.stdout)
