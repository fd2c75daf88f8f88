#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes dct.txt and fft.txt beside itself: inputs, and what NumPy and SciPy make of them, for the tests
of products and transforms. Needs both; the tests need only the files.

A record is a line `name count` and a line of that many numbers, as C reads and writes
hexadecimal floating point, exactly.
"""
import pathlib

import numpy
import scipy.fft

random = numpy.random.default_rng(20261121)


class Records:
    """The file of one test."""

    def __init__(self, name):
        self.lines = []
        self.path = pathlib.Path(__file__).with_name(name)

    def add(self, name, values):
        """One record."""
        values = numpy.asarray(values, dtype=numpy.float64).ravel()
        self.lines += [f"{name} {values.size}", " ".join(float(v).hex() for v in values)]

    def write(self):
        self.path.write_text("\n".join(self.lines) + "\n", encoding="ascii")


def products(records):
    """numpy.matmul of odd shapes."""
    for m, n, k in ((1, 1, 1), (3, 5, 7), (17, 9, 33), (20, 3, 100)):
        a, b = random.standard_normal((m, k)), random.standard_normal((k, n))
        name = f"matmul-{m}x{n}x{k}"
        records.add(name + "-a", a)
        records.add(name + "-b", b)
        records.add(name + "-c", a @ b)


def cosines(records):
    """scipy.fft.dct and idct, types II and III."""
    for size in (1, 2, 3, 8, 16, 25, 64):
        x = random.standard_normal(size)
        records.add(f"dct-{size}-x", x)
        for kind in (2, 3):
            for norm in ("ortho", "none"):
                how = {"type": kind, "norm": "ortho" if norm == "ortho" else None}
                records.add(f"dct-{size}-{kind}-{norm}", scipy.fft.dct(x, **how))
                records.add(f"idct-{size}-{kind}-{norm}", scipy.fft.idct(x, **how))


def spectra(records):
    """numpy.fft.rfft."""
    for size in (1, 2, 5, 16, 30, 37, 64, 101):
        x = random.standard_normal(size)
        spectrum = numpy.fft.rfft(x)
        records.add(f"rfft-{size}-x", x)
        records.add(f"rfft-{size}-re", spectrum.real)
        records.add(f"rfft-{size}-im", spectrum.imag)


if __name__ == "__main__":
    dct = Records("dct.txt")
    products(dct)
    cosines(dct)
    dct.write()
    fft = Records("fft.txt")
    spectra(fft)
    fft.write()
