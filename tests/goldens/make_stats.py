#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes stats.txt: what exact rational arithmetic says of some signals.

    make_stats.py > stats.txt

The file is lines of words and numbers: "signal DTYPE COUNT", its samples on the next
line, and then

    sum SUM squares SUMSQ mean MEAN var VAR min MIN max MAX

Sums of integers are decimal integers; everything else is the double nearest to the true
value of the samples as their type holds them.
"""
import sys
from fractions import Fraction

import numpy as np

COUNTS = (1, 2, 127, 128, 1000, 1025)


def describe(samples, exact):
    values = [Fraction(int(v)) if exact else Fraction(float(v)) for v in samples]
    total, squares, n = sum(values), sum(v * v for v in values), len(values)
    show = str if exact else lambda v: repr(float(v))
    return (f"sum {show(total)} squares {show(squares)} mean {float(total / n)!r} "
            f"var {float(squares / n - (total / n) ** 2)!r} "
            f"min {float(min(values))!r} max {float(max(values))!r}")


def main(out):
    rng = np.random.default_rng(7)
    out.write("# Made by make_stats.py; see there for what the lines mean.\n")
    for count in COUNTS:
        for name, dtype, samples in (
                ("u8", np.uint8, rng.integers(0, 256, count)),
                ("i16", np.int16, rng.integers(-32768, 32768, count)),
                ("u16", np.uint16, rng.integers(0, 65536, count)),
                ("i32", np.int32, rng.integers(-2**31, 2**31, count)),
                ("f32", np.float32, rng.standard_normal(count) + 1e4),
                ("f64", np.float64, rng.standard_normal(count) * 1e-3 + 1e6)):
            samples = samples.astype(dtype)
            exact = dtype not in (np.float32, np.float64)
            text = " ".join(str(v) if exact else repr(float(v)) for v in samples)
            out.write(f"signal {name} {count}\n{text}\n{describe(samples, exact)}\n")


if __name__ == "__main__":
    main(sys.stdout)
