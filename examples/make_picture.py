#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes picture.png: a landscape of 320 x 200 pixels in RGB, 8 bits.

    make_picture.py [FILE]

A sky, a sun and hills of a few sine waves, drawn without anti-aliasing, so that there
are edges for a filter to work on. The same bytes every time.
"""
import math
import struct
import sys
import zlib

WIDTH, HEIGHT = 320, 200
SUN = (236, 52, 24)

# Far to near: base line, height and length of the wave, phase, colour.
HILLS = (
    (112, 16, 97.0, 0.4, (120, 144, 176)),
    (132, 20, 61.0, 2.1, (84, 120, 112)),
    (160, 14, 41.0, 0.9, (52, 92, 60)),
)


def sky(x, y):
    x0, y0, radius = SUN
    if (x - x0) ** 2 + (y - y0) ** 2 < radius**2:
        return (255, 220, 96)
    fade = y / HEIGHT
    return (int(96 + 128 * fade), int(148 + 76 * fade), int(224 + 8 * fade))


def pixel(x, y):
    colour = sky(x, y)
    for base, height, length, phase, hill in HILLS:
        if y > base - height * math.sin(2 * math.pi * x / length + phase) * math.sin(x / 200):
            colour = hill
    return colour


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def main(path):
    rows = b"".join(b"\0" + bytes(v for x in range(WIDTH) for v in pixel(x, y)) for y in range(HEIGHT))
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        file.write(chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "picture.png")
