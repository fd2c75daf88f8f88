#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Operators on pixels and small neighbourhoods against other libraries: tests/goldens/make_pixels.py says what
the file holds. And what they say where they cannot go on.
"""
import base64
import json
import os
import random
import struct
import unittest
import zlib

import harness


def write_png16(path, width, values):
    """A grey image of 16 bits."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = [values[i:i + width] for i in range(0, len(values), width)]
    packed = zlib.compress(b"".join(b"\0" + struct.pack(f">{width}H", *row) for row in rows))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, len(rows), 16, 0, 0, 0, 0)))
        file.write(chunk(b"IDAT", packed) + chunk(b"IEND", b""))


def read_goldens():
    """Lists of [words of the line, numbers of the next]."""
    with open(os.path.join(harness.SOURCE, "tests", "goldens", "pixels.txt"), encoding="utf-8") as file:
        lines = [line.split() for line in file if not line.startswith("#")]
    return list(zip(lines[::2], ([float(v) for v in line] for line in lines[1::2])))


class Goldens(harness.Case):
    def make_input(self, words, values):
        name, bits, width, _, channels = words[1], *map(int, words[2:6])
        values = [int(v) for v in values]
        if bits == 16:
            write_png16(self.path(name + ".png"), width, values)
        else:
            step = width * channels
            harness.write_png(self.path(name + ".png"), [values[i:i + step] for i in range(0, len(values), step)], channels)

    def result(self, kind, name, stages):
        chain = [word for stage in [*stages, f"convert:{kind}:scale=none"] for word in ("-p", stage)]
        done = self.run_command("-i", name + ".png", *chain, "-o", "out.raw")
        self.assertEqual(done.returncode, 0, done.stderr)
        data = self.read("out.raw")
        code = {"u8": "B", "u16": "H", "f32": "f"}[kind]
        return struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)

    def test_all(self):
        for words, values in read_goldens():
            if words[0] == "input":
                self.make_input(words, values)
                continue
            _, name, kind, tolerance, *stages = words
            with self.subTest(chain=stages, input=name):
                got = self.result(kind, name, stages)
                self.assertEqual(len(got), len(values))
                worst = max(abs(a - b) for a, b in zip(got, values))
                self.assertLessEqual(worst, float(tolerance))


class White(harness.Case):
    def test_of_pictures_of_sound(self):
        """What an operator has made codes of has their white, also when floats have been made of it since."""
        harness.write_wav(self.path("in.wav"), harness.tone(8000))
        for picture in ("spectrogram", "waveform"):
            for name, gamma in (("a.png", "gamma:0.5"), ("b.png", "gamma:0.5:white=255")):
                self.succeed("-i", "in.wav", "-p", picture, "-p", "gauss:1", "-p", gamma, "-o", name)
            self.assertEqual(self.read("a.png"), self.read("b.png"))


# 24 x 8 pixels of four inks, in thirds: by Pillow, whose convert("RGB") says what they are.
INKS = ("/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwADAgIDAgIDAwMDBAMDBAUIBQUEBAUKBwcGCAwKDAwLCgsLDQ4SEA0OEQ4LCxAWEBETFBUVFQwPFxgWFB"
        "gSFBUU/8AAFAgACAAYBEMRAE0RAFkRAEsRAP/EABkAAQACAwAAAAAAAAAAAAAAAAkACAUHCv/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAOBEMA"
        "TQBZAEsAAD8AVNTwgZUxfn7bQVfKAzaOfd//2Q==")


class Inks(harness.Case):
    def test_a_jpeg_of_four_inks(self):
        self.write("ink.jpg", base64.b64decode(INKS))
        said = self.run_command("-v", "-i", "ink.jpg", "-o", "out.png").stderr
        self.assertIn("ink.jpg: is CMYK, and made RGB without its colour profile", said)
        rows, channels = harness.read_png(self.path("out.png"))
        self.assertEqual((len(rows), len(rows[0]), channels), (8, 72, 3))
        for x, colour in ((4, (255, 55, 225)), (12, (103, 187, 195)), (20, (0, 0, 0))):
            self.assertTrue(all(abs(a - b) <= 3 for a, b in zip(rows[4][3 * x:3 * x + 3], colour)), (x, rows[4][3 * x:3 * x + 3]))
        self.succeed("-q", "-i", "ink.jpg:scale=1/2", "-o", "half.png")
        self.assertEqual(len(harness.read_png(self.path("half.png"))[0]), 4)


TIFF_IS_READ = any(f["name"] == "tiff" and f["read_by"] for f in json.loads(harness.formats())["formats"])


@unittest.skipUnless(TIFF_IS_READ, "TIFF is not read")
class Tiff(harness.Case):
    """Samples that lie in the file otherwise than in a picture; nothing is read with fewer bits than it has."""
    WIDTH, HEIGHT = 7, 5

    def store(self, pixels, bits=8, photometric=2, extra=None, apart=False, tile=None, coding=1, sample_format=None, strip=2):
        """Pixels are tuples, row after row; `tile` is a side: else strips of so many rows."""
        samples, code = len(pixels[0]), {8: "B", 16: "H"}.get(bits, "I")
        side = tile or max(self.WIDTH, 2)
        blocks = []
        for plane in range(samples) if apart else [slice(None)]:
            for y in range(0, self.HEIGHT, tile or strip):
                for x in range(0, self.WIDTH, side):
                    inside = [(j, i) for j in range(y, y + (tile or strip)) for i in range(x, x + side) if tile or j < self.HEIGHT]
                    there = [pixels[j * self.WIDTH + i] if j < self.HEIGHT and i < self.WIDTH else (0,) * samples for j, i in inside]
                    values = [v for pixel in there for v in (pixel[plane:plane + 1] if apart else pixel)]
                    packed = struct.pack(f"<{len(values)}{code}", *values)
                    runs = [packed[i:i + 128] for i in range(0, len(packed), 128)]  # of PackBits, across rows
                    blocks.append(zlib.compress(packed, 1) if coding == 8 else
                                  b"".join(bytes([len(run) - 1]) + run for run in runs) if coding == 32773 else packed)
        fields = {256: [self.WIDTH], 257: [self.HEIGHT], 258: [bits] * samples, 259: [coding], 277: [samples],
                  284: [2 if apart else 1]}
        fields.update({262: [photometric]} if photometric is not None else {})
        fields.update({338: extra} if extra else {})
        fields.update({339: [sample_format] * samples} if sample_format else {})
        sizes, offsets = [len(b) for b in blocks], [8 + sum(map(len, blocks[:i])) for i in range(len(blocks))]
        fields.update({322: [tile], 323: [tile], 324: offsets, 325: sizes} if tile else {273: offsets, 278: [strip], 279: sizes})
        data, entries = b"II*\0" + struct.pack("<I", 8 + sum(sizes)) + b"".join(blocks), b""
        after = len(data) + 2 + 12 * len(fields) + 4
        beyond = b""
        for tag, values in sorted(fields.items()):
            packed = struct.pack(f"<{len(values)}I", *values)
            entries += struct.pack("<HHI", tag, 4, len(values)) + (packed if len(packed) == 4 else struct.pack("<I", after + len(beyond)))
            beyond += packed if len(packed) > 4 else b""
        self.write("in.tif", data + struct.pack("<H", len(fields)) + entries + bytes(4) + beyond)

    def read_back(self, bits):
        self.succeed("-i", "in.tif", "-o", "out.npy")
        data = self.read("out.npy")
        head = 10 + struct.unpack("<H", data[8:10])[0]
        self.assertIn({8: b"|u1", 16: b"<u2"}[bits], data[:head])
        size = len(data) - head
        return list(struct.unpack(f"<{size * 8 // bits}{'BH'[bits == 16]}", data[head:]))

    def pixels(self, samples, bits):
        return [tuple((y * 7919 + x * 104729 + c * 31337 + 12345) % (1 << bits) for c in range(samples))
                for y in range(self.HEIGHT) for x in range(self.WIDTH)]

    def test_layouts(self):
        for bits in (8, 16):
            for samples, photometric, extra in ((1, 1, None), (2, 1, [2]), (3, 2, None), (4, 2, [2]), (4, 2, [0])):
                for apart in (False, True):
                    for tile in (None, 16):
                        with self.subTest(bits=bits, samples=samples, apart=apart, tile=tile):
                            pixels = self.pixels(samples, bits)
                            self.store(pixels, bits, photometric, extra, apart, tile)
                            self.assertEqual(self.read_back(bits), [v for pixel in pixels for v in pixel])

    def test_further_channels_are_left_out(self):
        for apart in (False, True):
            pixels = self.pixels(6, 16)
            self.store(pixels, 16, 2, [0, 0, 0], apart)
            self.assertEqual(self.read_back(16), [v for pixel in pixels for v in pixel[:3]])
            self.store(pixels, 16, 2, [2, 0, 0], apart)
            self.assertEqual(self.read_back(16), [v for pixel in pixels for v in pixel[:4]])

    def test_many_channels(self):
        """Their strips are larger than the memory of the decoder, and read row by row."""
        self.WIDTH, self.HEIGHT = 500, 400
        for samples in (15, 70):
            rows = [[(y * 100 + x + c) % 65536 for c in range(samples)] for y in range(4) for x in range(self.WIDTH)]
            for extra in (None, [0]):
                self.store(rows * 100, 16, 1, extra, coding=8, strip=self.HEIGHT)
                self.assertEqual(self.read_back(16), [pixel[0] for pixel in rows] * 100)

    def test_many_channels_of_runs_across_rows(self):
        pixels = self.pixels(26, 8)
        self.store(pixels, 8, 1, [0], coding=32773, strip=self.HEIGHT)
        self.assertEqual(self.read_back(8), [pixel[0] for pixel in pixels])

    def test_where_0_is_white(self):
        for bits in (8, 16):
            pixels = self.pixels(1, bits)
            self.store(pixels, bits, 0)
            self.assertEqual(self.read_back(bits), [(1 << bits) - 1 - v for v, in pixels])

    def test_without_a_colour_model(self):
        for samples in (1, 3, 4):
            pixels = self.pixels(samples, 16)
            self.store(pixels, 16, None, [2] if samples == 4 else None)
            self.assertEqual(self.read_back(16), [v for pixel in pixels for v in pixel], samples)

    def test_colours_weighed_by_alpha(self):
        """As Pillow and OpenCV read them: divided by it."""
        for bits in (8, 16):
            most = (1 << bits) - 1
            straight = [(r % (a + 1), g % (a + 1), b % (a + 1), a) for r, g, b, a in self.pixels(4, bits)]
            self.store(straight, bits, 2, [1])
            self.assertEqual(self.read_back(bits), [v for *colors, a in straight
                                                    for v in [(c * most + a // 2) // a if a else c for c in colors] + [a]])

    def test_what_is_not_read(self):
        for sentence, options in (("a signed TIFF", {"bits": 16, "sample_format": 2}), ("a floating-point TIFF", {"bits": 32, "sample_format": 3}),
                                  ("a 16-bit CMYK or palette TIFF", {"bits": 16, "photometric": 5}), ("a 12-bit TIFF", {"bits": 12})):
            self.store(self.pixels(4, 8), **options)
            self.assertEqual(self.fails(1, "-i", "in.tif", "-o", "o.png"), f"in.tif: is {sentence}, which is not decoded here; convert it to PNG")
        self.store(self.pixels(3, 8), coding=34712)
        self.assertEqual(self.fails(1, "-i", "in.tif", "-o", "o.png"),
                         "in.tif: is of a kind that is not decoded here (its compression); convert it to PNG")
        self.write("in.tif", b"II+\0\x08\0\0\0" + bytes(100))
        self.assertEqual(self.fails(1, "-i", "in.tif", "-o", "o.png"), "in.tif: is a Big TIFF, which is not decoded here; convert it to PNG")


def make_jpeg(width, height, sampling):
    """Three components with so many blocks across and down, each block of one value."""
    def segment(kind, body):
        return b"\xff" + bytes([kind]) + struct.pack(">H", len(body) + 2) + body
    most = [max(s[axis] for s in sampling) for axis in (0, 1)]
    bits, before, draw = [], [0] * 3, random.Random(str(sampling))
    for _ in range(-(-width // (8 * most[0])) * -(-height // (8 * most[1]))):
        for c, (across, down) in enumerate(sampling):
            for _ in range(across * down):
                value = draw.randrange(-60, 61)
                change, before[c] = value - before[c], value
                size = abs(change).bit_length()
                bits.append(f"{size:04b}" + (f"{change if change > 0 else change + (1 << size) - 1:0{size}b}" if size else "") + "0")
    text = "".join(bits)
    text += "1" * (-len(text) % 8)
    coded = bytes(int(text[i:i + 8], 2) for i in range(0, len(text), 8)).replace(b"\xff", b"\xff\0")
    frame = struct.pack(">BHHB", 8, height, width, 3) + b"".join(bytes([c + 1, across << 4 | down, 0]) for c, (across, down) in enumerate(sampling))
    return (b"\xff\xd8" + segment(0xdb, b"\0" + b"\x10" * 64) + segment(0xc0, frame)
            + segment(0xc4, b"\0" + bytes([0, 0, 0, 12] + [0] * 12) + bytes(range(12))) + segment(0xc4, b"\x10\1" + bytes(15) + b"\0")
            + segment(0xda, b"\3\1\0\2\0\3\0\0\x3f\0") + coded + b"\xff\xd9")


@unittest.skipUnless("scale" in harness.formats(), "JPEG is not read in parts")
class Windows(harness.Case):
    """Of a JPEG only what the chain looks at is transformed, to the pixels of the whole."""

    def rows(self, name):
        data = self.read(name)
        shape = [int(n) for n in data[:128].split(b"'shape': (")[1].split(b")")[0].split(b",")]
        pixels = data[10 + struct.unpack("<H", data[8:10])[0]:]
        return [pixels[y * shape[1] * 3:(y + 1) * shape[1] * 3] for y in range(shape[0])]

    def test_any_sampling_and_scale(self):
        for sampling in (((1, 1), (1, 1), (1, 1)), ((2, 1), (1, 1), (1, 1)), ((1, 2), (1, 1), (1, 1)), ((2, 2), (1, 1), (1, 1)), ((4, 1), (1, 1), (1, 1)),
                         ((4, 2), (1, 1), (1, 1)), ((2, 4), (1, 1), (1, 1)), ((2, 2), (2, 1), (1, 2)), ((1, 1), (2, 2), (1, 1))):
            self.write("in.jpg", make_jpeg(201, 131, sampling))
            for scale in (1, 2, 4, 8):
                source = "in.jpg" + (f":scale=1/{scale}" if scale > 1 else "")
                self.succeed("-i", source, "-o", "whole.npy")
                whole = self.rows("whole.npy")
                width, height = len(whole[0]) // 3, len(whole)
                for left, top in ((0, 0), (width // 3, height // 2), (width - 9, height - 9)):
                    with self.subTest(sampling=sampling, scale=scale, left=left, top=top):
                        self.succeed("-i", source, "-p", f"crop:x={left}:y={top}:width=9:height=9", "-o", "part.npy")
                        self.assertEqual(self.rows("part.npy"), [row[3 * left:3 * left + 27] for row in whole[top:top + 9]])


class Histogram(harness.Case):
    def test_counts(self):
        """A bin a code, counted here; and of eight bins, with what lies outside."""
        values = [(x * x + 7 * y) % 256 for y in range(97) for x in range(83)]
        harness.write_png(self.path("in.png"), [values[i:i + 83] for i in range(0, len(values), 83)], 1)
        self.succeed("-i", "in.png", "-p", "histogram:256", "-p", "histogram:8:low=32:high=160", "-q", "--report", "r.json")
        with open(self.path("r.json"), encoding="utf-8") as file:
            told = [m for m in self.measured(json.load(file))]
        bins = [int(m["value"]) for m in told if m["name"].startswith("bin")]
        self.assertEqual(bins[:256], [values.count(code) for code in range(256)])
        want = [sum(32 + 16 * b <= v < 48 + 16 * b or (b == 7 and v == 160) for v in values) for b in range(8)]
        self.assertEqual(bins[256:], want)
        outside = {m["name"]: int(m["value"]) for m in told[-3:]}
        self.assertEqual(outside, {"below": sum(v < 32 for v in values), "above": sum(v > 160 for v in values), "nan": 0})

    def measured(self, node):
        """Every object with a name and a value, in order."""
        if isinstance(node, dict):
            if "name" in node and "value" in node:
                yield node
            node = list(node.values())
        if isinstance(node, list):
            for child in node:
                yield from self.measured(child)


class Refusals(harness.Case):
    def refused(self, stage, *said):
        harness.write_png(self.path("in.png"), [[1, 2, 3, 4] * 5] * 4, 4)
        line = self.fails(2, "-i", "in.png", "-p", stage, "-o", "out.npy")
        for words in said:
            self.assertIn(words, line)

    def test_median(self):
        self.refused("median:4", "window=4", "say 3 or 5")
        line = self.fails(2, "-i", "in.png", "-p", "convert:f32", "-p", "median:33", "-o", "out.npy")
        self.assertIn("for f32 a window has at most 961 samples (31,31): put convert:u16 before it", line)

    def test_normalize(self):
        self.refused("normalize:imagenet", "mean has 3 numbers for 4 channels", "mix:0,1,2")
        self.refused("normalize:imagenet:mean=1", "imagenet sets mean and std")
        self.refused("normalize:std=0", "std=0", "above 0")

    def test_color(self):
        self.refused("color:yuv", "say ycbcr")
        self.refused("color:rgb:from=gray", "from=gray is for one channel")

    def test_levels(self):
        self.refused("levels:200:white=100", "black=200 is not below white, which is 100")

    def test_threshold(self):
        self.refused("threshold:9:type=above:high=3", "type=binary")


if __name__ == "__main__":
    harness.main()
