#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes speech.wav: about three seconds of something like speech, 16 kHz, mono, 16 bits.

    make_speech.py [FILE]

A formant synthesiser after the textbook: a glottal pulse train with a falling pitch,
and noise, go through four two-pole resonators in cascade whose frequencies glide from
one sound to the next. Nothing is recorded and nothing is drawn at random, so the file
is the same every time.
"""
import math
import struct
import sys
import wave

RATE = 16000

# Formants in Hz of a male voice, F1 to F4.
FORMANTS = {
    "a": (730, 1090, 2440, 3400),
    "e": (530, 1840, 2480, 3500),
    "i": (270, 2290, 3010, 3700),
    "o": (570, 840, 2410, 3300),
    "u": (300, 870, 2240, 3200),
    "m": (250, 1100, 2200, 3300),
    "l": (360, 1300, 2700, 3400),
    "s": (3300, 4400, 5300, 6500),
    "h": (500, 1500, 2500, 3500),
}
BANDWIDTHS = (70, 100, 140, 220)

# What is said: sound, seconds, loudness of voice, loudness of breath.
SCORE = (
    ("h", 0.08, 0.00, 0.12), ("e", 0.16, 0.90, 0.005), ("l", 0.10, 0.60, 0.00), ("o", 0.28, 1.00, 0.005),
    ("o", 0.10, 0.00, 0.00),
    ("m", 0.12, 0.50, 0.00), ("a", 0.20, 1.00, 0.005), ("i", 0.16, 0.80, 0.005), ("s", 0.14, 0.00, 0.012),
    ("a", 0.22, 0.95, 0.005), ("u", 0.18, 0.80, 0.005), ("u", 0.12, 0.00, 0.00),
    ("l", 0.10, 0.60, 0.00), ("i", 0.18, 0.90, 0.005), ("s", 0.16, 0.00, 0.012), ("e", 0.20, 0.90, 0.005),
    ("m", 0.14, 0.45, 0.00), ("o", 0.26, 0.80, 0.005), ("o", 0.14, 0.00, 0.00),
)


class Noise:
    """White noise from a linear congruential generator."""

    def __init__(self):
        self.state = 1

    def next(self):
        self.state = (self.state * 1103515245 + 12345) % 2**31
        return self.state / 2**30 - 1.0


class Resonator:
    """A two-pole resonance with unit gain at 0 Hz."""

    def __init__(self):
        self.y1 = self.y2 = 0.0

    def step(self, x, frequency, bandwidth):
        radius = math.exp(-math.pi * bandwidth / RATE)
        b = 2.0 * radius * math.cos(2.0 * math.pi * frequency / RATE)
        c = -radius * radius
        y = (1.0 - b - c) * x + b * self.y1 + c * self.y2
        self.y2, self.y1 = self.y1, y
        return y


def glottis(phase):
    """The flow of air within one period, after Rosenberg: open 40%, closing 16%, shut."""
    if phase < 0.40:
        return 0.5 * (1.0 - math.cos(math.pi * phase / 0.40))
    if phase < 0.56:
        return math.cos(0.5 * math.pi * (phase - 0.40) / 0.16)
    return 0.0


def contour():
    """For every sample: the formants, the voice, the breath, gliding between sounds."""
    glide = 1.0 - math.exp(-1.0 / (0.018 * RATE))
    formants, voice, breath = list(FORMANTS["h"]), 0.0, 0.0
    for sound, seconds, loud, noisy in SCORE:
        for _ in range(int(seconds * RATE)):
            formants = [f + glide * (goal - f) for f, goal in zip(formants, FORMANTS[sound])]
            voice += glide * (loud - voice)
            breath += glide * (noisy - breath)
            yield formants, voice, breath


def synthesise():
    """The samples, as floats of any size."""
    noise, tract = Noise(), [Resonator() for _ in BANDWIDTHS]
    total = sum(int(seconds * RATE) for _, seconds, _, _ in SCORE)
    phase, flow, samples = 0.0, 0.0, []
    for i, (formants, voice, breath) in enumerate(contour()):
        pitch = 135.0 - 45.0 * i / total + 4.0 * math.sin(2.0 * math.pi * 5.0 * i / RATE)
        phase = (phase + pitch / RATE) % 1.0
        # The glottis opens slowly and closes fast; the lips radiate the derivative of the flow.
        before, flow = flow, voice * glottis(phase)
        x = 8.0 * (flow - before) + breath * noise.next()
        for resonator, frequency, bandwidth in zip(tract, formants, BANDWIDTHS):
            x = resonator.step(x, frequency, bandwidth)
        samples.append(x)
    return samples


def main(path):
    samples = synthesise()
    scale = 0.7 * 32767 / max(abs(x) for x in samples)
    with wave.open(path, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(b"".join(struct.pack("<h", round(x * scale)) for x in samples))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "speech.wav")
