#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes dct.txt, fft.txt, stft.txt and dft.txt beside itself: inputs, and what NumPy and SciPy make of them, for the
tests of products and transforms. Needs both; the tests need only the files.

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


def bank_of(bands, size, rate, low, high, htk, normalised):
    """librosa.filters.mel, by interpolation between the corners."""
    corners = hz_of(numpy.linspace(mel_of(low, htk), mel_of(high, htk), bands + 2), htk)
    bins = numpy.fft.rfftfreq(size, 1 / rate)
    bank = numpy.array([numpy.interp(bins, corners[b:b + 3], (0, 1, 0)) for b in range(bands)])
    return bank * 2 / (corners[2:] - corners[:-2])[:, None] if normalised else bank


def banks(records):
    """Filterbanks of either scale and norm."""
    for bands, size, rate, low, high in ((5, 64, 8000, 0, 4000), (40, 512, 16000, 20, 7600)):
        for htk in (False, True):
            for normalised in (False, True):
                records.add(f"mel-{bands}-{int(htk)}-{int(normalised)}",
                            bank_of(bands, size, rate, low, high, htk, normalised))


def mel_spectra(records):
    """Power, magnitude and level in mel bands of Hann frames that begin at multiples of hop; frames in rows."""
    for bands, frame, hop, size in ((6, 64, 16, 64), (3, 50, 30, 75)):
        count = 9
        x = random.standard_normal((count - 1) * hop + frame)
        window = scipy.signal.get_window("hann", frame)
        spectrum = numpy.array([numpy.fft.rfft(x[f * hop:f * hop + frame] * window, size) for f in range(count)])
        bank = bank_of(bands, size, 8000, 0, 4000, False, True)
        power = abs(spectrum) ** 2 @ bank.T
        name = f"melspec-{bands}-{frame}-{hop}-{size}"
        records.add(name + "-x", x)
        records.add(name + "-mag", abs(spectrum) @ bank.T)
        records.add(name + "-power", power)
        records.add(name + "-db", 10 * numpy.log10(numpy.maximum(power, 1e-10)))


def blocks_of(x, width, height):
    """The blocks of an image, in rows and columns of them."""
    rows, columns = x.shape[0] // height, x.shape[1] // width
    return x.reshape(rows, height, columns, width).swapaxes(1, 2)


def image_of(blocks):
    """The image that is made of blocks."""
    rows, columns, height, width = blocks.shape
    return blocks.swapaxes(1, 2).reshape(rows * height, columns * width)


def transforms_of_blocks(records):
    """numpy.fft of the blocks of an image along x, y and both, half and full, and what its inverses make of
    spectra that belong to no real values."""
    fft = numpy.fft
    there = {("x", "half"): lambda b: fft.rfft(b, axis=-1), ("x", "full"): lambda b: fft.fft(b, axis=-1),
             ("y", "half"): lambda b: fft.rfft(b, axis=-2), ("y", "full"): lambda b: fft.fft(b, axis=-2),
             ("xy", "half"): fft.rfft2, ("xy", "full"): fft.fft2}
    for width, height, rows, columns in ((8, 8, 1, 2), (5, 4, 2, 2), (1, 6, 1, 5), (37, 4, 1, 1), (3, 41, 1, 1)):
        back = {("x", "half"): lambda b, w=width: fft.irfft(b, w, axis=-1),
                ("x", "full"): lambda b: fft.ifft(b, axis=-1).real,
                ("y", "half"): lambda b, h=height: fft.irfft(b, h, axis=-2),
                ("y", "full"): lambda b: fft.ifft(b, axis=-2).real,
                ("xy", "half"): lambda b, s=(height, width): fft.irfft2(b, s),
                ("xy", "full"): lambda b: fft.ifft2(b).real}
        x = random.standard_normal((rows * height, columns * width))
        records.add(f"dft-{width}x{height}-x", x)
        for (axis, bins), transform in there.items():
            name = f"dft-{width}x{height}-{axis}-{bins}"
            spectrum = image_of(transform(blocks_of(x, width, height)))
            records.add(name + "-re", spectrum.real)
            records.add(name + "-im", spectrum.imag)
            skewed = spectrum * (0.25 + 1j) + 0.5
            high, wide = spectrum.shape[0] // rows, spectrum.shape[1] // columns
            records.add(name + "-back", image_of(back[axis, bins](blocks_of(skewed, wide, high))))


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
    mel_spectra(stft)
    stft.write()
    dft = Records("dft.txt")
    transforms_of_blocks(dft)
    dft.write()
