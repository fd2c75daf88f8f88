#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes dct.txt, fft.txt and stft.txt beside itself: inputs, and what NumPy and SciPy make of them, for the tests
of products and transforms. Needs both; the tests need only the files.

A record is a line `name count` and a line of that many numbers, as C reads and writes
hexadecimal floating point, exactly.
"""
import pathlib

import numpy
import scipy.fft
import scipy.signal

random = numpy.random.default_rng(20261121)


class Records:
    """The file of one test."""

    def __init__(self, name):
        self.lines = []
        self.path = pathlib.Path(__file__).with_name(name)

    def add(self, name, values):
        """One record."""
        values = numpy.asarray(values, dtype=numpy.float64).ravel()
        self.lines += [f"{name} {values.size}", " ".join(float(v).hex() if v else "0" for v in values)]

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


def windows(records):
    """scipy.signal.get_window, periodic and symmetric."""
    names = ("boxcar", "hann", "hamming", "blackman", "blackmanharris", "bartlett", "cosine", ("kaiser", 8.6))
    for kind, name in enumerate(names):
        for size in (1, 2, 9, 16):
            records.add(f"window-{kind}-{size}-periodic", scipy.signal.get_window(name, size))
            records.add(f"window-{kind}-{size}-symmetric", scipy.signal.get_window(name, size, fftbins=False))


def frames(records):
    """scipy.signal.stft with its defaults but for the numbers; frames in rows."""
    for length, frame, hop, size in ((100, 16, 4, 16), (61, 9, 5, 12), (40, 32, 32, 32)):
        x = random.standard_normal(length)
        spectrum = scipy.signal.stft(x, nperseg=frame, noverlap=frame - hop, nfft=size)[2].T
        name = f"stft-{length}-{frame}-{hop}-{size}"
        records.add(name + "-x", x)
        records.add(name + "-re", spectrum.real)
        records.add(name + "-im", spectrum.imag)


def hz_of(mel, htk):
    """The frequency of a mel, by either scale."""
    if htk:
        return 700 * (10 ** (mel / 2595) - 1)
    linear, steep = mel * 200 / 3, 1000 * numpy.exp((mel - 15) * numpy.log(6.4) / 27)
    return numpy.where(mel < 15, linear, steep)


def mel_of(hz, htk):
    """The mel of a frequency: where hz_of meets it."""
    low, high = 0.0, 1e4
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if hz_of(numpy.float64(middle), htk) < hz else (low, middle)
    return (low + high) / 2


def banks(records):
    """librosa.filters.mel, by interpolation between the corners."""
    for bands, size, rate, low, high in ((5, 64, 8000, 0, 4000), (40, 512, 16000, 20, 7600)):
        for htk in (False, True):
            corners = hz_of(numpy.linspace(mel_of(low, htk), mel_of(high, htk), bands + 2), htk)
            bins = numpy.fft.rfftfreq(size, 1 / rate)
            for normalised in (False, True):
                bank = numpy.array([numpy.interp(bins, corners[b:b + 3], (0, 1, 0)) for b in range(bands)])
                if normalised:
                    bank *= 2 / (corners[2:] - corners[:-2])[:, None]
                records.add(f"mel-{bands}-{int(htk)}-{int(normalised)}", bank)


if __name__ == "__main__":
    dct = Records("dct.txt")
    products(dct)
    cosines(dct)
    dct.write()
    fft = Records("fft.txt")
    spectra(fft)
    fft.write()
    stft = Records("stft.txt")
    windows(stft)
    frames(stft)
    banks(stft)
    stft.write()
