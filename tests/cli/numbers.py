#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Numbers at their limits: more samples than 32 bits count, masks of 65536 taps, images of one
row or column, 64 channels, NaN and infinities on their way into every kind of file; and that
results do not depend on threads, chunks, batches and runs.

What takes long is left to FILTERCHAIN_TRIALS=all.
"""
import array
import json
import math
import os
import random
import struct
import wave

import harness

EVERYTHING = os.environ.get("FILTERCHAIN_TRIALS") == "all"
NAN, INF = math.nan, math.inf
BEYOND = (1 << 32) + 1000  # more than 32 bits count
MARK = (1 << 32) + 10      # where the samples below lie
MARKED = bytes([255, 1, 77])


class Long(harness.Case):
    """A file with holes, in memory, stands for one of over 4 GiB samples of one byte."""

    def setUp(self):
        super().setUp()
        self.long = f"/dev/shm/filterchain-test-{os.getpid()}"

    def make(self, header, trailer=b""):
        try:
            with open(self.long, "wb") as file:
                self.addCleanup(os.remove, self.long)
                file.write(header)
                file.truncate(len(header) + BEYOND)
                file.seek(len(header) + MARK)
                file.write(MARKED)
                file.seek(len(header) + BEYOND)
                file.write(trailer)
        except OSError as error:
            self.skipTest(f"no large file in memory: {error}")

    def check(self, *how):
        """What lies beyond 2^32 is what comes out, through a filter that needs its neighbours."""
        start = 1 << 32
        self.succeed("-i", self.long, *how, "-p", f"crop:start={start}:length=100", "-p", "convert:u8", "-o", "out.raw")
        want = bytearray(100)
        want[10:13] = MARKED
        self.assertEqual(self.read("out.raw"), bytes(want))
        self.succeed("-i", self.long, *how, "-p", "conv1d:[0,0,1]", "-p", f"crop:start={start - 3}:length=40",
                     "-p", "convert:u8", "-o", "out.raw")
        self.assertEqual(self.read("out.raw").find(MARKED), 14)
        line = self.fails(2, "-i", self.long, *how, "-p", f"crop:start={BEYOND - 5}:length=6", "-o", "no.raw")
        self.assertIn(str(BEYOND), line)

    def test_raw(self):
        self.make(b"")
        self.check("--raw", "dtype=u8,rate=8000,channels=1")

    def test_a_size_that_no_file_has(self):
        """A writer to a pipe left 2^31-1, where a little more than that has come: all of it is samples, of two bytes."""
        size = (1 << 31) - 1
        head = b"RIFF" + struct.pack("<I", size + 36) + b"WAVEfmt "
        self.make(head + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16) + b"data" + struct.pack("<I", size))
        os.truncate(self.long, 44 + size + 1 + 8_000_000)
        self.succeed("-q", "-i", self.long, "-p", f"crop:start={size // 2 + 4_000_000 - 10}:length=10", "-o", "out.raw")
        self.assertEqual(self.read("out.raw"), bytes(20))

    def test_stats(self):
        if not EVERYTHING:
            self.skipTest("reads 4 GiB: FILTERCHAIN_TRIALS=all")
        self.make(b"")
        found = json.loads(self.succeed("-i", self.long, "--raw", "dtype=u8,rate=8000,channels=1", "-p", "stats", "--json"))["files"][0]["measurements"]
        got = {m["name"]: m for m in found if m["channel"] is None}
        self.assertEqual(got["count"]["value"], BEYOND)
        self.assertEqual(int(got["sum"]["exact"]), sum(v - 128 for v in MARKED) - 128 * (BEYOND - 3))
        self.assertEqual(int(got["sumsq"]["exact"]), sum((v - 128) ** 2 for v in MARKED) + 128 ** 2 * (BEYOND - 3))

    def test_rf64(self):
        if not EVERYTHING:
            self.skipTest("reads 4 GiB: FILTERCHAIN_TRIALS=all")
        head = b"WAVE" + b"ds64" + struct.pack("<IQQQI", 28, BEYOND + 72, BEYOND, BEYOND, 0)
        head += b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8) + b"data\xff\xff\xff\xff"
        self.make(b"RF64\xff\xff\xff\xff" + head)
        self.check()


class LongPipe(harness.Case):
    def stats_of(self, size, more, bits, block, blocks, behind=b""):
        """Of a WAV file from a pipe whose header counts so many bytes of samples and more; what is said, too."""
        head = b"RIFF" + struct.pack("<I", min(size + 36 + more, 0xffffffff)) + b"WAVEfmt "
        head += struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000 * bits // 8, bits // 8, bits) + b"data" + struct.pack("<I", size)
        reading, writing = os.pipe()
        if os.fork() == 0:
            try:
                os.close(reading)
                os.write(writing, head)
                for _ in range(blocks):
                    os.write(writing, block)
                os.write(writing, behind)
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            done = self.run_command("-i", "-", "-p", "stats", "--json", stdin=pipe)
        os.wait()
        return {m["name"]: m["value"] for m in json.loads(done.stdout)["files"][0]["measurements"]}, done.stderr

    def test_sizes_that_were_never_set_or_wrapped(self):
        """More than 4 GiB from a pipe: all is read, or that it was not is said."""
        if not EVERYTHING:
            self.skipTest("reads 4 GiB: FILTERCHAIN_TRIALS=all")
        block, blocks = b"\1\0" * (1 << 19), 4100
        for size, count in ((0xffffffff, blocks << 19), (4 << 20, 2 << 20)):
            found, said = self.stats_of(size, 0, 16, block, blocks)
            self.assertEqual(found["count"], count)
            told = "filterchain: warning: standard input: goes on behind its own end; what follows is left out\n"
            self.assertEqual(said, "" if size == 0xffffffff else told)

    def test_two_gigabytes_and_more_behind(self):
        """A size that some leave who know none is one where the file's own has room for what follows: that is no sound."""
        if harness.sanitized() and not EVERYTHING:
            self.skipTest("reads 2 GiB: FILTERCHAIN_TRIALS=all")
        size, behind = 0x7ffff000, b"LIST" + struct.pack("<I", 4000) + b"INFO" + bytes(3996)
        found, said = self.stats_of(size, len(behind), 8, b"\x80" * 4096, size >> 12, behind)
        self.assertEqual((found["count"], found["min"], found["max"], said), (size, 0, 0, ""))

    def test_sizes_never_set(self):
        """Sizes that were never set, as in a recording that broke off: samples that follow are read, from files and pipes."""
        samples = struct.pack("<500h", *range(1, 501))
        format_chunk = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
        common = b"COMM" + struct.pack(">IHIH", 18, 1, 0, 16) + b"\x40\x0b\xfa\0\0\0\0\0\0\0"
        heads = [b"RIFF" + struct.pack("<I", total) + b"WAVE" + format_chunk + b"data" + struct.pack("<I", 0)
                 for total in (0, 36, 36 + len(samples))]
        heads += [b"FORM" + struct.pack(">I", total) + b"AIFF" + common + b"SSND" + struct.pack(">III", size, 0, 0)
                  for total, size in ((0, 0), (46, 8), (46 + len(samples), 8))]
        heads += [heads[0][:4] + struct.pack("<I", size) + heads[0][8:-4] + struct.pack("<I", size)
                  for size in (0xffffffff, 0x7ffff000, 0x80000000)]
        for head in heads:
            for following in (samples, b""):
                if not following and head[4:8] not in (b"\x24\0\0\0", b"\0\0\0\x2e"):
                    continue
                self.write("open", head + following)
                for arguments in (("-i", self.path("open")), ("-i", "-")):
                    pipe = {"input": head + following, "text": False} if arguments[1] == "-" else {}
                    result = self.run_command(*arguments, "-o", "out.raw", "--format", "raw", **pipe)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertEqual(len(self.read("out.raw")), len(following), (head[:8], arguments))


class Masks(harness.Case):
    def test_65536_taps(self):
        """Direct sums, transforms, the choice of the two and double precision agree; a few impulses
        show every tap."""
        taps, length = 65536, 70000
        dice = random.Random(5)
        mask = array.array("f", (dice.uniform(-1, 1) / 64 for _ in range(taps)))
        signal = array.array("f", bytes(4 * length))
        impulses = {20000: 0.5, 41111: -0.25, length - 1: 1.0}
        for at, value in impulses.items():
            signal[at] = value
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % taps
        header += b" " * (-(len(header) + 11) % 64) + b"\n"
        self.write("mask.npy", b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + mask.tobytes())
        self.write("in.raw", signal.tobytes())
        centre = (taps - 1) // 2
        want = [0.0] * length
        for at, value in impulses.items():
            for i in range(max(0, at - centre), min(length, at - centre + taps)):
                want[i] += value * mask[i - at + centre]
        for method, precision, bound in (("direct", "f32", 1e-7), ("fft", "f32", 1e-6), ("auto", "f32", 1e-6), ("fft", "f64", 1e-8)):
            self.succeed("-i", "in.raw", "--raw", "dtype=f32,rate=8000,channels=1", "--precision", precision,
                         "-p", f"conv1d:mask.npy:method={method}", "-p", "convert:f32", "-o", "out.raw")
            got = array.array("f", self.read("out.raw"))
            self.assertEqual(len(got), length)
            self.assertLess(max(abs(a - b) for a, b in zip(got, want)), bound, (method, precision))


class Shapes(harness.Case):
    """Images of one row, one column, and one pixel more than a file of the kind holds."""

    def setUp(self):
        super().setUp()
        self.row = [(i * i + i // 7) % 251 for i in range(100000)]
        harness.write_png(self.path("row.png"), [self.row], 1)
        harness.write_png(self.path("column.png"), [[value] for value in self.row], 1)

    def test_filtered(self):
        """Along the image and across it, where there is but the border."""
        want = [min(255, max(0, round((a + 2 * b + c) / 4))) for a, b, c in
                zip(self.row[1:2] + self.row, self.row, self.row[1:] + self.row[-2:-1])]
        for name, axis, other in (("row", "x", "y"), ("column", "y", "x")):
            for stage, expected in ((f"conv1d:[1,2,1]/4:axis={axis}", want), (f"conv1d:[1,2,1]/4:axis={other}", self.row),
                                    ("sepconv:[1,2,1]/4", want), (f"winstat:window=1:axis={axis}:stat=max", self.row)):
                with self.subTest(name=name, stage=stage):
                    self.succeed("-i", name + ".png", "-p", stage, "-o", "out.png")
                    rows, _ = harness.read_png(self.path("out.png"))
                    self.assertEqual([value for line in rows for value in line], expected)

    def test_every_example(self):
        """Of every operator: a result or a sentence, in time."""
        for op in harness.operators():
            for example in op["examples"]:
                if "image" not in op["kinds"] or ".txt" in example or ".wav" in example:
                    continue
                for name in ("row", "column"):
                    with self.subTest(example=example, name=name):
                        done = self.run_command("-i", name + ".png", "-p", example, "-o", "out.npy", timeout=harness.SOON)
                        self.assertIn(done.returncode, (0, 1, 2))
                        if done.returncode:
                            self.assertRegex(done.stderr, r"\Afilterchain: [^\n]+\n\Z")

    def test_too_long_for_the_format(self):
        for ending in ("jpg", "tga", "bmp"):
            for name in ("row", "column"):
                line = self.fails(2, "-i", name + ".png", "-o", "out." + ending)
                self.assertRegex(line, r"\Aout\.\w+: .*(65535|65500)")


class Channels(harness.Case):
    def test_64(self):
        """Each channel of 64 as it comes out alone; the same to the byte however it is cut."""
        channels, frames = 64, 700
        samples = harness.tone(frames, channels)
        harness.write_wav(self.path("in.wav"), samples, channels)
        stages = ["-p", "conv1d:[1,-2,5,1]/6", "-p", "winstat:window=9:stat=mean", "-p", "gain:0.7"]
        self.succeed("-i", "in.wav", *stages, "-o", "out.wav")
        got, count, _ = harness.read_wav(self.path("out.wav"))
        self.assertEqual(count, channels)
        for channel in (0, 1, 31, 63):
            harness.write_wav(self.path("one.wav"), samples[channel::channels])
            self.succeed("-i", "one.wav", *stages, "-o", "one_out.wav")
            self.assertEqual(harness.read_wav(self.path("one_out.wav"))[0], got[channel::channels])
        whole = self.read("out.wav")
        for how in (["-j", "1"], ["-j", "4", "--chunk", "7"], ["--chunk", "1"], ["-j", "3", "--chunk", "333"]):
            self.succeed("-i", "in.wav", *stages, "-o", "out.wav", *how)
            self.assertEqual(self.read("out.wav"), whole, how)

    def test_every_example(self):
        harness.write_wav(self.path("in.wav"), harness.tone(500, 64), 64)
        for op in harness.operators():
            for example in op["examples"]:
                if "audio" not in op["kinds"] or ".txt" in example or ".wav" in example:
                    continue
                with self.subTest(example=example):
                    results = set()
                    for how in (["-j", "1"], ["-j", "4", "--chunk", "37"], ["-j", "4", "--chunk", "37"]):
                        done = self.run_command("-i", "in.wav", "-p", example, "-o", "out.npy", "-q", *how)
                        if done.returncode:
                            self.assertRegex(done.stderr, r"\Afilterchain: [^\n]+\n\Z")
                            break
                        results.add(self.read("out.npy"))
                    self.assertLessEqual(len(results), 1)


class Batches(harness.Case):
    def test_a_file_is_what_it_is_alone(self):
        """Whatever came before it in a batch, and when a chain measures or looks for extremes."""
        os.mkdir(self.path("out"))
        for i in range(4):
            harness.write_wav(self.path(f"{i}.wav"), harness.tone(900 + 311 * i, 1 + i % 2), 1 + i % 2)
        stages = ["-p", "winstat:window=31:stat=std", "-p", "stats"]
        text = self.succeed("-i", "2.wav", "-i", "0.wav", "-i", "3.wav", "-i", "1.wav", *stages, "-o", "out")
        for i in range(4):
            alone = self.succeed("-i", f"{i}.wav", *stages, "-o", "alone.wav")
            self.assertEqual(self.read("alone.wav"), self.read(f"out/{i}.wav"))
            self.assertIn(alone.strip(), text)


class NotNumbers(harness.Case):
    """Floating point keeps NaN and infinities; an integer takes an infinity for its largest, which
    is said, and no NaN; lossy codecs take neither."""

    WITH_NAN, WITH_INF = [0, 0.25, NAN, 0.5, INF, -INF, 1.5, -0.5], [0, 0.25, 2, 0.5, INF, -INF, 1.5, -0.5]

    def sound(self, values, ending, *stages, dtype="f32"):
        kind = "d" if dtype == "f64" else "f"
        self.write("in.raw", struct.pack(f"<{len(values)}{kind}", *values))
        return self.run_command("-i", "in.raw", "--raw", f"dtype={dtype},rate=8000,channels=1", *stages, "-o", "out." + ending)

    def assert_refused(self, done, ending, word):
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rf"\Afilterchain: out\.{ending}: [^\n]*{word}[^\n]*\n\Z")
        self.assertFalse(os.path.exists(self.path("out." + ending)))

    def test_floating_point_keeps_them(self):
        for dtype in ("f32", "f64"):
            for ending in ("wav", "rf64", "w64", "aiff", "au", "caf", "npy", "raw"):
                with self.subTest(ending=ending, dtype=dtype):
                    done = self.sound(self.WITH_NAN, ending, dtype=dtype)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    back = ["--raw", f"dtype={dtype},rate=8000,channels=1"] if ending == "raw" else []
                    self.succeed("-i", "out." + ending, *back, "-o", "back.raw")
                    self.assertEqual(self.read("back.raw"), self.read("in.raw"))

    def test_integers(self):
        for ending, stages in (("flac", []), ("wav", ["-p", "convert:i16"]), ("wav", ["-p", "convert:u8"]), ("aiff", ["-p", "convert:i32"]),
                               ("npy", ["-p", "convert:u16"]), ("raw", ["-p", "convert:i16"])):
            with self.subTest(ending=ending, stages=stages):
                self.assert_refused(self.sound(self.WITH_NAN, ending, *stages), ending, r"NaN")
                done = self.sound(self.WITH_INF, ending, *stages)
                self.assertEqual(done.returncode, 0)
                self.assertRegex(done.stderr, rf"\Afilterchain: warning: out\.{ending}: [^\n]*clipped[^\n]*\n\Z")
                os.remove(self.path("out." + ending))
        self.sound(self.WITH_INF, "raw", "-p", "convert:i16")
        self.assertEqual(struct.unpack("<8h", self.read("out.raw")), (0, 8192, 32767, 16384, 32767, -32768, 32767, -16384))

    def test_integers_rounded_once(self):
        """24 bits into 8: just below a half goes down; in 16 bits it would be a half, which is rounded again."""
        values = [(k << 16) + 0x7fff for k in range(-60, 60)] + [(k << 16) + 0x8001 for k in range(-60, 60)]
        self.write("in.raw", b"".join(struct.pack("<i", v << 8) for v in values))
        for stages in ([], ["-p", "gain:1"]):
            self.succeed("-i", "in.raw", "--raw", "dtype=i32,rate=8000,channels=1", *stages, "-o", "out.wav:dtype=u8")
            self.assertEqual([b - 128 for b in self.read("out.wav")[-240:]],
                             [(v + 0x8000) >> 16 for v in values], stages)

    def test_rounded_once(self):
        """Just below a half of a step goes down: through 16 or 32 bits it would be a half first, and go up."""
        for stages in ([], ["-p", "gain:1"]):
            for ending, shift, size in (("wav:dtype=i24", 23, 3), ("aiff:dtype=i24", 23, 3), ("wav:dtype=u8", 7, 1)):
                step = 2.0 ** -shift
                below = [(k + 0.5) * step * (1 - 2.0 ** -22) for k in (1, 3, 5)]
                done = self.sound(below, ending, *stages)
                self.assertEqual((done.returncode, done.stderr), (0, ""), ending)
                self.succeed("-i", "out." + ending.split(":")[0], "-p", f"gain:{2 ** shift}", "-o", "back.npy")
                self.assertEqual(struct.unpack("<3f", self.read("back.npy")[-12:]), (1, 3, 5), (ending, stages))

    def test_lossy_codecs(self):
        for ending in ("ogg", "opus"):
            for values in (self.WITH_NAN, self.WITH_INF):
                self.assert_refused(self.sound(values, ending), ending, "not a finite number")

    def test_images(self):
        for ending in ("png", "jpg", "bmp", "tga"):
            self.write("in.raw", struct.pack("<4f", 0, NAN, 5, 9))
            how = ["-i", "in.raw", "--raw", "dtype=f32,width=2,height=2", "-o", "out." + ending]
            self.assert_refused(self.run_command(*how), ending, r"NaN")
            self.write("in.raw", struct.pack("<4f", 0, INF, -INF, 9))
            done = self.run_command(*how)
            self.assertEqual(done.returncode, 0)
            self.assertIn("clipped", done.stderr)
        self.succeed("-i", "in.raw", "--raw", "dtype=f32,width=2,height=2", "-o", "out.npy")
        self.assertEqual(self.read("out.npy")[-16:], self.read("in.raw"))

    def test_tables_take_none(self):
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }".ljust(117) + b"\n"
        for value in (NAN, INF):
            self.write("mask.npy", b"\x93NUMPY\x01\0" + struct.pack("<H", 118) + header + struct.pack("<3d", 1, value, 2))
            harness.write_wav(self.path("in.wav"), [1, 2, 3])
            line = self.fails(1, "-i", "in.wav", "-p", "conv1d:mask.npy", "-o", "out.wav")
            self.assertRegex(line, r"\Aconv1d: mask\.npy: ")


class Dither(harness.Case):
    """A tone of 24 bits, softer than the steps of 16."""
    COUNT, PERIODS, PEAK = 8192, 37, 0.4 * 256

    def setUp(self):
        super().setUp()
        with wave.open(self.path("in.wav"), "wb") as file:
            file.setparams((1, 3, 16000, self.COUNT, "NONE", ""))
            for i in range(self.COUNT):
                code = round(self.PEAK * math.sin(self.angle(i)))
                file.writeframes(code.to_bytes(3, "little", signed=True))

    def angle(self, i):
        return 2 * math.pi * self.PERIODS * i / self.COUNT

    def made(self, *arguments):
        self.succeed("-i", "in.wav", *arguments, "-o", "out.wav")
        return self.read("out.wav")

    def amplitude(self, width):
        with wave.open(self.path("out.wav")) as file:
            self.assertEqual(file.getsampwidth(), width)
            data = file.readframes(self.COUNT)
        codes = [int.from_bytes(data[i:i + width], "little", signed=True) for i in range(0, len(data), width)]
        return 2 / self.COUNT * math.hypot(sum(c * math.cos(self.angle(i)) for i, c in enumerate(codes)),
                                           sum(c * math.sin(self.angle(i)) for i, c in enumerate(codes)))

    def test_tone_below_a_step(self):
        self.made("-p", "convert:i16")
        self.assertEqual(self.amplitude(2), 0)
        self.made("-p", "dither:16", "-p", "convert:i16")
        self.assertAlmostEqual(self.amplitude(2), 0.4, delta=0.05)
        self.made("-p", "dither:16")  # stays at 24 bits
        self.assertAlmostEqual(self.amplitude(3), self.PEAK, delta=0.05 * 256)

    def test_same_bytes(self):
        stages = ["-p", "dither:16", "-p", "convert:i16"]
        want = self.made(*stages, "-j", "1")
        for how in (["--chunk", "1"], ["--chunk", "7", "-j", "4"], ["--chunk", "4096"]):
            self.assertEqual(self.made(*stages, *how), want, how)
        self.assertNotEqual(self.made("-p", "dither:16:seed=1", "-p", "convert:i16"), want)

    def test_bits_of_what_is_stored(self):
        for stages, bits in ((["dither"], 24), (["dither", "gain:2"], 16), (["gain:2", "dither"], 24),
                             (["convert:u8", "gain:2", "dither"], 8), (["convert:u8", "dither", "gain:2"], 8), (["dither:12"], 12)):
            arguments = [a for stage in stages for a in ("-p", stage)]
            self.assertIn(f"noise for {bits} bits", self.succeed("-i", "in.wav", *arguments, "-o", "out.wav", "--dry-run"), stages)


if __name__ == "__main__":
    harness.main()
