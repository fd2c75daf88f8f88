#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Images of another size, shape and order: resize, crop, pad, flip, rotate and layout, alone and in a chain,
the same for any chunk and number of threads, and what they say where they cannot."""
import os
import random
import struct
import zlib

import harness


class Geometry(harness.Case):
    WIDTH, HEIGHT = 61, 43

    def setUp(self):
        super().setUp()
        dice = random.Random(19)
        self.rows = [[dice.randrange(256) for _ in range(3 * self.WIDTH)] for _ in range(self.HEIGHT)]
        harness.write_png(self.path("in.png"), self.rows, 3)

    def run_stages(self, *stages, source="in.png", out="out.png"):
        """What comes of it, which is the same in chunks and on one thread."""
        given = [word for stage in stages for word in ("-p", stage)]
        self.succeed("-q", "-i", source, *given, "-o", out)
        once = self.read(out)
        for how in (("--chunk", "3"), ("-j", "1"), ("--chunk", "7", "-j", "3")):
            self.succeed("-q", "-i", source, *given, "-o", "again-" + out, *how)
            self.assertEqual(self.read("again-" + out), once, (stages, how))
        return harness.read_png(self.path(out))[0] if out.endswith(".png") else once

    def pixel(self, x, y):
        return self.rows[y][3 * x:3 * x + 3]

    def check(self, rows, width, height, of):
        self.assertEqual((len(rows[0]), len(rows)), (3 * width, height))
        for y, row in enumerate(rows):
            want = [v for x in range(width) for v in of(x, y)]
            self.assertEqual(row, want, f"row {y}")

    def test_sizes(self):
        for stage, width, height in (("resize:20", 28, 20), ("resize:long=30", 30, 21), ("resize:30x10", 30, 10),
                                     ("resize:width=122", 122, 86), ("resize:height=86", 122, 86),
                                     ("resize:100x50:mode=fit", 71, 50), ("resize:100x50:mode=fill", 100, 70),
                                     ("resize:scale=0.5", 31, 22), ("resize:scale=2,0.5", 122, 22),
                                     ("resize:100:up=no", 61, 43), ("resize:100x20:up=no", 61, 20),
                                     ("resize:1x1:filter=lanczos3", 1, 1)):
            rows = self.run_stages(stage)
            self.assertEqual((len(rows[0]) // 3, len(rows)), (width, height), stage)

    def test_fewer_frames_than_a_chunk_from_a_pipe(self):
        """Once that is known, more rows of each are worth a thread: no more than it has memory to work in (AddressSanitizer shows it)."""
        data = bytes(i * 7 % 251 for i in range(3 * 20 * 31))
        for chunk, threads in (("4000", "2"), ("4000", "4"), ("1", "1")):
            self.succeed("-i", "-", "--raw", "dtype=u8,width=31,height=20,channels=1", "-p",
                         "dft:block=30:axis=x:out=mag:bins=full:border=zero", "-o", f"{chunk}.npy", "--chunk", chunk, "-j", threads,
                         input=data, text=False)
        self.assertEqual(self.read("4000.npy"), self.read("1.npy"))

    def test_values_that_are_known(self):
        rows = self.run_stages("resize:scale=3:filter=nearest")
        self.check(rows, 3 * self.WIDTH, 3 * self.HEIGHT, lambda x, y: self.pixel(x // 3, y // 3))
        self.assertEqual(self.run_stages("resize:61x43:filter=lanczos3"), self.rows)
        self.assertEqual(self.run_stages("resize:61x43:filter=bicubic:antialias=no"), self.rows)
        even = [row[:60 * 3] for row in self.rows[:42]]
        harness.write_png(self.path("even.png"), even, 3)
        halves = self.run_stages("resize:30x21:filter=area", source="even.png")
        for y, row in enumerate(halves):
            for i, value in enumerate(row):
                x, c = divmod(i, 3)
                total = sum(even[2 * y + b][3 * (2 * x + a) + c] for a in (0, 1) for b in (0, 1))
                self.assertLessEqual(abs(value - total / 4), 0.75)

    def test_crops(self):
        self.check(self.run_stages("crop:21"), 21, 21, lambda x, y: self.pixel(x + 20, y + 11))
        self.check(self.run_stages("crop:11x5:anchor=bottom-right"), 11, 5, lambda x, y: self.pixel(x + 50, y + 38))
        self.check(self.run_stages("crop:width=50%:height=10%"), 31, 4, self.pixel)
        self.check(self.run_stages("crop:width=11:height=43:anchor=top"), 11, 43, lambda x, y: self.pixel(x + 25, y))

    def test_a_shift_is_no_halo(self):
        """A part from far below is made in small chunks, none of which is said to be computed many times."""
        tall = [[y % 256] * 4 for y in range(3000)]
        harness.write_png(self.path("tall.png"), tall, 1)
        self.succeed("-i", "tall.png", "-p", "crop:y=2900:height=90", "--chunk", "5", "-o", "out.png")
        self.assertEqual(harness.read_png(self.path("out.png"))[0], tall[2900:2990])

    def test_alpha(self):
        """Red beside what is not seen and green stays red."""
        rows = [[v for x in range(40) for v in ((255, 0, 0, 255) if (x // 7 + y // 5) % 2 else (0, 255, 0, 0))] for y in range(30)]
        harness.write_png(self.path("clear.png"), rows, 4)
        for stage in ("resize:13", "resize:17x23:filter=area", "resize:50:filter=bilinear"):
            small = self.run_stages(stage, source="clear.png")
            seen = {tuple(row[i:i + 3]) for row in small for i in range(0, len(row), 4) if row[i + 3]}
            self.assertEqual(seen, {(255, 0, 0)}, stage)

    def test_brightness_leaves_alpha(self):
        """Also where a gain for each channel says so; a file without alpha has none."""
        rows = [[v for x in range(30) for v in (x * 8, y * 8, (x * y) % 256, 255 - x * 5)] for y in range(20)]
        harness.write_png(self.path("clear.png"), rows, 4)
        for stage in ("gain:0.5", "gamma:2", "levels:10:white=200", "threshold:100", "clip:max=90", "equalize", "otsu", "noise:9",
                      "erase:p=1", "jitter:brightness=0.3,0.5"):
            changed = self.run_stages(stage, source="clear.png")
            self.assertEqual([row[3::4] for row in changed], [row[3::4] for row in rows], stage)
            self.assertNotEqual(changed, rows, stage)
        self.assertEqual([row[3::4] for row in self.run_stages("gain:1,1,1,0.5", source="clear.png")],
                         [[round(v / 2) for v in row[3::4]] for row in rows])
        harness.write_npy(self.path("four.npy"), (2, 2, 4), [100] * 16)
        self.succeed("-i", "four.npy", "-p", "gain:0.5", "-o", "out.npy")
        self.assertEqual(harness.read_npy(self.path("out.npy"))[1], [50] * 16)

    def test_pads(self):
        def beside(left, top, colour):
            return lambda x, y: (self.pixel(x - left, y - top) if 0 <= x - left < self.WIDTH and 0 <= y - top < self.HEIGHT
                                 else list(colour))
        self.check(self.run_stages("pad:65"), 65, 65, beside(2, 11, (0, 0, 0)))
        self.check(self.run_stages("pad:multiple=16:value=1,2,3"), 64, 48, beside(0, 0, (1, 2, 3)))
        self.check(self.run_stages("pad:all=2:left=5"), 68, 47, beside(5, 2, (0, 0, 0)))
        for border, index in (("replicate", lambda i, n: min(i, n - 1)), ("reflect101", lambda i, n: i if i < n else 2 * n - 2 - i),
                              ("reflect", lambda i, n: i if i < n else 2 * n - 1 - i), ("wrap", lambda i, n: i % n)):
            self.check(self.run_stages(f"pad:right=9:bottom=20:border={border}"), 70, 63,
                       lambda x, y, at=index: self.pixel(at(x, self.WIDTH), at(y, self.HEIGHT)))

    def test_sound(self):
        samples = [100 * i for i in range(50)]
        harness.write_wav(self.path("in.wav"), samples)
        self.succeed("-i", "in.wav", "-p", "pad:before=7:after=30", "-o", "out.wav")
        self.assertEqual(self.read("out.wav")[-2 * 87:], struct.pack("<87h", *([0] * 7 + samples + [0] * 30)))
        self.assertEqual(self.fails(2, "-i", "in.wav", "-p", "pad:100", "-o", "no.wav"),
                         "pad: sizes and sides are for images; sound has before and after")
        self.assertIn("not on audio", self.fails(2, "-i", "in.wav", "-p", "flip", "-o", "no.wav"))

    def test_turns(self):
        last, bottom = self.WIDTH - 1, self.HEIGHT - 1
        self.check(self.run_stages("flip"), self.WIDTH, self.HEIGHT, lambda x, y: self.pixel(last - x, y))
        self.check(self.run_stages("flip:y"), self.WIDTH, self.HEIGHT, lambda x, y: self.pixel(x, bottom - y))
        self.check(self.run_stages("rotate:90"), self.HEIGHT, self.WIDTH, lambda x, y: self.pixel(y, bottom - x))
        self.check(self.run_stages("rotate:270"), self.HEIGHT, self.WIDTH, lambda x, y: self.pixel(last - y, x))
        self.assertEqual(self.run_stages("rotate:right", "rotate:-90", "rotate:180", "flip:xy"), self.rows)

    def test_orientations(self):
        """Of each number of EXIF, by where it says the first row and column belong; on reading, and by the operator."""
        last, bottom = self.WIDTH - 1, self.HEIGHT - 1
        stored = {1: lambda x, y: (x, y), 2: lambda x, y: (last - x, y), 3: lambda x, y: (last - x, bottom - y),
                  4: lambda x, y: (x, bottom - y), 5: lambda x, y: (y, x), 6: lambda x, y: (y, bottom - x),
                  7: lambda x, y: (last - y, bottom - x), 8: lambda x, y: (last - y, x)}
        plain = self.read("in.png")
        for number, at in stored.items():
            size = (self.WIDTH, self.HEIGHT) if number < 5 else (self.HEIGHT, self.WIDTH)
            body = b"eXIf" + b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01" + struct.pack(">HH", number, 0) + b"\0\0\0\0"
            self.write("turned.png", plain[:33] + struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body)) + plain[33:])
            self.check(self.run_stages(source="turned.png"), *size, lambda x, y, at=at: self.pixel(*at(x, y)))
            self.check(self.run_stages(f"orient:{number}"), *size, lambda x, y, at=at: self.pixel(*at(x, y)))
            self.assertEqual(self.run_stages("orient:1", "orient:auto", source="turned.png:orient=no"), self.rows)
            said = self.run_command("-v", "-i", "turned.png", "-o", "out.png").stderr
            self.assertEqual(f"EXIF orientation {number} says" in said, number > 1, said)

    def test_parts_of_jpegs(self):
        """What is looked at of a JPEG alone is transformed: that is, to the last bit, what the whole picture has there,
        however it is coded, scaled and turned; and damage to what is not looked at is found all the same."""
        dice = random.Random(7)
        rows = [[(3 * x + 2 * y + 40 * c + dice.randrange(40)) % 256 for x in range(203) for c in range(3)] for y in range(141)]
        harness.write_png(self.path("in.png"), rows, 3)
        for coding in ("subsampling=420", "subsampling=422", "subsampling=444", "subsampling=420:progressive=yes"):
            self.succeed("-q", "-i", "in.png", "-o", f"plain.jpg:quality=90:{coding}")
            plain = self.read("plain.jpg")
            for number in range(1, 9):
                body = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01" + struct.pack(">HH", number, 0) + b"\0\0\0\0"
                self.write("turned.jpg", plain[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + plain[2:])
                source = "turned.jpg:scale=" + dice.choice(("1", "1", "1/2", "1/4"))
                self.succeed("-q", "-i", source, "-o", "whole.png")
                whole = harness.read_png(self.path("whole.png"))[0]
                for _ in range(2):
                    left, top = dice.randrange(len(whole[0]) // 3), dice.randrange(len(whole))
                    width, height = dice.randint(1, len(whole[0]) // 3 - left), dice.randint(1, len(whole) - top)
                    stage = f"crop:x={left}:y={top}:width={width}:height={height}"
                    self.succeed("-q", "-i", source, "-p", stage, "-o", "part.png", "--chunk", str(dice.choice((5, 1000))))
                    part = harness.read_png(self.path("part.png"))[0]
                    self.assertEqual(part, [row[3 * left:3 * (left + width)] for row in whole[top:top + height]], (coding, source, number, stage))
            begin = plain.rindex(b"\xff\xda")
            for share in (0.2, 0.5, 0.8, 0.97):
                at = begin + int(share * (len(plain) - begin))
                self.write("bad.jpg", plain[:at] + b"\xff\xd9" + plain[at:])
                whole = self.fails(1, "-i", "bad.jpg", "-o", "whole.png")
                for stage in ("crop:x=80:y=60:width=40:height=9", "crop:x=0:y=0:width=1:height=1"):
                    self.assertEqual(self.fails(1, "-i", "bad.jpg", "-p", stage, "-o", "part.png"), whole, (coding, share, stage))

    def test_layout(self):
        data = self.run_stages("crop:8x6", "convert:f32", "layout:chw", out="out.npy")
        shape, values = harness.read_npy(self.path("out.npy"))
        self.assertEqual(shape, (3, 6, 8))
        want = [self.pixel(x + 26, y + 18)[c] for c in range(3) for y in range(6) for x in range(8)]
        self.assertEqual(values, want)
        self.succeed("-i", "out.npy", "-p", "layout:hwc", "-o", "back.npy")
        self.assertEqual(harness.read_npy(self.path("back.npy"))[0], (6, 8, 3))
        harness.write_npy(self.path("batch.npy"), (2, 4, 5, 3), list(range(120)))
        self.succeed("-i", "batch.npy", "-p", "layout:chw", "-o", "planes.npy")
        shape, values = harness.read_npy(self.path("planes.npy"))
        self.assertEqual(shape, (2, 3, 4, 5))
        self.assertEqual(values[:20], list(range(0, 60, 3)))
        self.assertTrue(data)
        for order in ("hwc", "nhwc"):
            self.assertEqual(self.fails(2, "-i", "in.png", "-p", f"layout:{order}", "-o", "no.npy"),
                             "layout: an image is height x width x channels already: leave layout:hwc out")

    def test_what_cannot_be(self):
        for stage, line in (
                ("crop:50", "crop: the image is 61 x 43, smaller than the 50 x 50 that are to be kept: first make it larger "
                            "(resize:50x50:mode=fill) or pad it"),
                ("crop:width=0", "crop: width: 0 is out of range: expected 1 to 1099511627776 pixels"),
                ("crop:width=101%", "crop: width: 101% is out of range: expected more than 0% and up to 100%"),
                ("crop:width=wide", 'crop: width: "wide": expected pixels, as in width=120, or percent, as in width=50%'),
                ("crop:3:x=1", "crop: give a size (crop:3) or x, y, width and height"),
                ("pad:50", "pad: the image is 61 x 43, larger than 50 x 50 already: crop it, or resize it before "
                           "(resize:50x50:mode=fit)"),
                ("pad:100:value=1,2", "pad: value: 2 values for 3 channels; give one, or one for each channel"),
                ("pad:100:value=1:border=wrap", "pad: value goes with border=constant, not with border=wrap"),
                ("resize:10:long=20", "resize: give one of: a size, width and height, long, scale; more than one contradict "
                                      "each other"),
                ("resize:10:filter=linear", 'resize: filter: "linear" is not accepted: say bilinear')):
            self.assertEqual(self.fails(2, "-i", "in.png", "-p", stage, "-o", "no.png"), line)
        self.assertFalse(os.path.exists(self.path("no.png")))


if __name__ == "__main__":
    harness.main()
