#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random operators: what they draw follows from seed, epoch, name, stage and frame alone, by the generator that
core/contract/random.h describes, here written once more; and it is spread as they say."""
import json
import math
import os
import struct
import zlib

import harness

MASK = 2**64 - 1


def philox(key, high, low):
    """Four words of Philox4x32-10."""
    keys = [key & 0xffffffff, key >> 32]
    a, b, c, d = low & 0xffffffff, low >> 32, high & 0xffffffff, high >> 32
    for _ in range(10):
        first, second = a * 0xd2511f53, c * 0xcd9e8d57
        a, b, c, d = (second >> 32) ^ b ^ keys[0], second & 0xffffffff, (first >> 32) ^ d ^ keys[1], first & 0xffffffff
        keys = [(keys[0] + 0x9e3779b9) & 0xffffffff, (keys[1] + 0xbb67ae85) & 0xffffffff]
    return a, b, c, d


def mix(key, high, low):
    words = philox(key, high, low)
    return words[1] << 32 | words[0]


def key_of(name, seed=0, epoch=0, stage=0, frame=0):
    hashed = 0xcbf29ce484222325
    for byte in os.fsencode(name):
        hashed = (hashed ^ byte) * 0x100000001b3 & MASK
    return mix(mix(seed, epoch, hashed), stage, frame)


def even(key, i):
    return (mix(key, 0, i) >> 11) * 2.0**-53


def png(width, height, channels, pixels):
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    line = width * channels
    rows = b"".join(b"\0" + bytes(pixels[y * line:(y + 1) * line]) for y in range(height))

    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


class Augment(harness.Case):
    def folder_of(self, count, width=16, height=12):
        """Pictures whose every pixel tells where it is."""
        os.makedirs(self.path("in/more"), exist_ok=True)
        pixels = bytes(y * width + x for y in range(height) for x in range(width))
        for i in range(count):
            self.write(f"in/more/{i:03}.png" if i % 3 == 0 else f"in/{i:03}.png", png(width, height, 1, pixels))

    def raw(self, folder):
        """{path: samples} of the .npy files below a folder."""
        found = {}
        for at, _, names in os.walk(self.path(folder)):
            for name in names:
                if name.endswith(".npy"):
                    with open(os.path.join(at, name), "rb") as file:
                        data = file.read()
                    path = os.path.relpath(os.path.join(at, name), self.path(folder))
                    found[path] = data[10 + struct.unpack("<H", data[8:10])[0]:]
        return found

    def run_all(self, out, *arguments):
        self.succeed("-i", "in", "-r", *arguments, "-o", f"{out}/", "--format", "npy", "-q")
        return self.raw(out)


CHAIN = ("-p", "random_crop:9x7", "-p", "random_flip:xy", "-p", "erase:p=0.7", "-p", "noise:3", "-p",
         "jitter:brightness=0.3:contrast=0.2", "-p", "random_resized_crop:6")


class Order(Augment):
    def test_nothing_but_the_key_matters(self):
        self.folder_of(24)
        want = self.run_all("one", *CHAIN, "-j", "1", "--seed", "5", "--epoch", "2")
        self.assertEqual(len(want), 24)
        self.assertGreater(len(set(want.values())), 20)
        self.assertEqual(self.run_all("four", *CHAIN, "-j", "4", "--seed", "5", "--epoch", "2"), want)
        self.assertEqual(self.run_all("chunks", *CHAIN, "--chunk", "2", "--seed", "5", "--epoch", "2"), want)
        for part in range(3):
            self.run_all("parts", *CHAIN, "--shard", f"{part}/3", "--seed", "5", "--epoch", "2")
        self.assertEqual(self.raw("parts"), want)
        other = self.run_all("epoch", *CHAIN, "--seed", "5", "--epoch", "3")
        self.assertGreater(sum(want[name] != other[name] for name in want), 20)
        other = self.run_all("seed", *CHAIN, "--seed", "6", "--epoch", "2")
        self.assertGreater(sum(want[name] != other[name] for name in want), 20)

    def test_the_same_alone_and_from_an_archive(self):
        self.folder_of(6)
        want = self.run_all("one", *CHAIN)
        # By its path below the folder: from within it, a file alone is called the same.
        os.symlink("in/more", self.path("more"))
        self.succeed("-i", "more/003.png", *CHAIN, "-o", "alone.npy", "-q")
        self.assertTrue(self.read("alone.npy").endswith(want["more/003.npy"]))
        self.succeed("-i", "in", "-r", "-o", "all.tar", "-q")
        self.succeed("-i", "all.tar", *CHAIN, "-o", "back/", "--format", "npy", "-q")
        self.assertEqual(self.raw("back"), want)

    def test_another_order(self):
        self.folder_of(9)
        paths = sorted(os.path.join("in", name) for name in self.run_all("plain", "-p", "gray"))
        paths = [path.replace(".npy", ".png") for path in paths]
        self.write("forth.txt", "\n".join(paths) + "\n")
        self.write("back.txt", "\n".join(reversed(paths)) + "\n")
        for name in ("forth", "back"):
            self.succeed("-i", f"@{name}.txt", *CHAIN, "-o", f"{name}/{{stem}}.npy", "-q")
        self.assertEqual(self.raw("forth"), self.raw("back"))

    def test_resume_is_of_one_seed_and_epoch(self):
        self.folder_of(3)
        self.run_all("out", *CHAIN, "--seed", "1")
        self.succeed("-i", "in", "-r", *CHAIN, "-o", "out/", "--format", "npy", "-q", "--seed", "1", "--resume")
        for other in (("--seed", "2"), ("--seed", "1", "--epoch", "1")):
            self.assertIn("another batch", self.fails(2, "-i", "in", "-r", *CHAIN, "-o", "out/", "--format", "npy", *other, "--resume"))

    def test_resume_is_of_the_same_further_input(self):
        self.folder_of(2)
        self.write("other.png", png(16, 12, 1, bytes(192)))
        run = ("-i", "in", "-r", "-p", "compare:other.png", "-o", "out/", "-q")
        self.run_command(*run)
        self.assertEqual(self.run_command(*run, "--resume").returncode, 0)
        self.write("other.png", png(16, 12, 1, bytes([1]) * 192))
        self.assertIn("another batch", self.fails(2, *run, "--resume"))


class Draws(Augment):
    def test_places_of_crops(self):
        self.folder_of(40)
        for name, samples in self.run_all("out", "-p", "mix:0", "-p", "random_crop:9x7", "--seed", "11", "--epoch", "4").items():
            key = key_of(name.replace(".npy", ".png"), 11, 4, stage=1)
            x, y = int(even(key, 0) * (16 - 9 + 1)), int(even(key, 1) * (12 - 7 + 1))
            self.assertEqual((samples[0], len(samples)), (y * 16 + x, 63), name)

    def test_flips(self):
        self.folder_of(300)
        flipped = 0
        for name, samples in self.run_all("out", "-p", "random_flip:p=0.3").items():
            want = even(key_of(name.replace(".npy", ".png")), 0) < 0.3
            self.assertEqual(samples[0], 15 if want else 0, name)
            flipped += want
        self.assertLess(abs(flipped - 90), 5 * math.sqrt(300 * 0.3 * 0.7))

    def test_frames_of_an_array(self):
        pixels = bytes(range(192)) * 60
        header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (60, 12, 16, 1), }"
        header += b" " * (117 - len(header)) + b"\n"
        self.write("frames.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + pixels)
        for chunk in ((), ("--chunk", "7"), ("-j", "1")):
            self.succeed("-i", "frames.npy", "-p", "random_flip", *chunk, "-o", "out.npy")
            samples = self.read("out.npy")[-len(pixels):]
            for n in range(60):
                want = even(key_of("frames.npy", frame=n), 0) < 0.5
                self.assertEqual(samples[n * 192], 15 if want else 0, n)

    def test_erased_area(self):
        self.folder_of(200, 16, 16)
        painted = [sum(sample == 255 for sample in samples) / 256 for samples in
                   self.run_all("out", "-p", "erase:p=0.5:area=0.1,0.3:ratio=0.5,2:value=255").values()]
        erased = [part - 1 / 256 for part in painted if part > 2 / 256]
        self.assertLess(abs(len(erased) - 100), 5 * math.sqrt(200 * 0.25))
        self.assertTrue(all(0.06 < part < 0.36 for part in erased), (min(erased), max(erased)))
        self.assertLess(abs(sum(erased) / len(erased) - 0.2), 0.03)

    def test_noise(self):
        self.write("grey.png", png(256, 256, 3, bytes([128]) * 3 * 65536))
        for form, kurtosis in (("normal", 3), ("uniform", 1.8)):
            self.succeed("-i", "grey.png", "-p", "convert:f32", "-p", f"noise:20:form={form}", "-o", "out.npy")
            data = self.read("out.npy")[-3 * 65536 * 4:]
            values = [v - 128 for v in struct.unpack(f"<{3 * 65536}f", data)]
            n = len(values)
            mean = sum(values) / n
            variance = sum((v - mean)**2 for v in values) / n
            fourth = sum((v - mean)**4 for v in values) / n / variance**2
            self.assertLess(abs(mean), 5 * 20 / math.sqrt(n))
            self.assertLess(abs(math.sqrt(variance) / 20 - 1), 0.01)
            self.assertLess(abs(fourth - kurtosis), 0.06)
            beside = sum(values[i] * values[i + 3] for i in range(n - 3)) / n / variance
            colours = sum(values[i] * values[i + 1] for i in range(0, n, 3)) * 3 / n / variance
            self.assertLess(abs(beside), 5 / math.sqrt(n))
            self.assertLess(abs(colours), 5 / math.sqrt(n / 3))

    def test_factors_of_jitter(self):
        os.makedirs(self.path("in"))
        for i in range(200):
            self.write(f"in/{i}.png", png(2, 1, 1, (100, 50)))
        factors = [samples[0] / 100 for samples in self.run_all("out", "-p", "jitter:brightness=0.4", "-p", "convert:u8").values()]
        self.assertTrue(all(0.59 <= f <= 1.41 for f in factors), (min(factors), max(factors)))
        self.assertLess(abs(sum(factors) / 200 - 1), 5 * 0.8 / math.sqrt(12 * 200))
        self.assertTrue(min(factors) < 0.65 and max(factors) > 1.35)

    def test_colours_of_jitter(self):
        """Saturation 0 is grey, hue leaves grey alone and luma where it was; alpha stays."""
        self.write("a.png", png(2, 1, 4, (200, 100, 50, 77, 90, 90, 90, 78)))

        def pixels(arguments):
            self.succeed("-i", "a.png", "-p", f"jitter:{arguments}", "-p", "convert:u8", "-o", "o.npy", "-q")
            return struct.unpack("<8B", self.read("o.npy")[-8:])
        grey = pixels("saturation=0,0")
        self.assertEqual(grey, (124, 124, 124, 77, 90, 90, 90, 78))
        turned = pixels("hue=0.25,0.25")
        self.assertLess(abs(0.299 * turned[0] + 0.587 * turned[1] + 0.114 * turned[2] - 124.2), 1.1)
        self.assertNotEqual(turned[:3], (200, 100, 50))
        self.assertEqual(turned[3:], (77, 90, 90, 90, 78))
        self.assertEqual(pixels("contrast=0.5,0.5")[4:], (109, 109, 109, 78))
        self.assertEqual(pixels("brightness=2,2"), (255, 200, 100, 77, 180, 180, 180, 78))

    def test_sizes_of_resized_crops(self):
        self.folder_of(30)
        self.assertEqual({len(samples) for samples in self.run_all("out", "-p", "random_resized_crop:9x5").values()}, {45})
        # All of the image, at its own size: nothing is left to chance.
        whole = self.run_all("all", "-p", "random_resized_crop:16x12:area=1,1:ratio=1.3333333333,1.3333333334")
        self.assertEqual(set(whole.values()), {bytes(range(192))})

    def test_refusals(self):
        self.folder_of(1)
        run = ("-i", "in/001.png", "-o", "o.png")
        os.rename(self.path("in/more/000.png"), self.path("in/001.png"))
        self.assertEqual(self.fails(2, *run, "-p", "random_crop:99"),
                         "random_crop: the image is 16 x 12, smaller than the 99 x 99 that are to be kept: first make it larger "
                         "(resize:99x99:mode=fill) or pad it")
        self.assertIn("nothing changes: give brightness", self.fails(2, *run, "-p", "jitter"))
        self.assertIn("the least and the most", self.fails(2, *run, "-p", "erase:area=0.5,0.1"))
        self.assertEqual(self.fails(2, *run, "--seed", "-1"), "--seed: -1 is too small")

    def test_the_listing_tells(self):
        for operator in json.loads(self.succeed("inspect", "erase", "jitter", "noise", "random_crop", "random_flip",
                                                "random_resized_crop", "--json")):
            self.assertIn("--seed", operator["doc"], operator["name"])


if __name__ == "__main__":
    harness.main()
