#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole jobs: sound and images through the command, judged by a direct computation here."""
import array
import fcntl
import json
import os
import random
import re
import struct
import subprocess
import threading
import time

import harness

F_SETPIPE_SZ = 1031  # of fcntl(2) on Linux
MASK = [0.5, -0.25, 0.125, 0.3, 0.325, -0.1, 0.05]


def convolve(signal, mask):
    """numpy.convolve(signal, mask, "same") for a mask no longer than the signal, but with the
    centre at floor((n - 1) / 2), and silence beyond the ends."""
    centre, result = (len(mask) - 1) // 2, []
    for i in range(len(signal)):
        first = i + centre
        result.append(sum(tap * signal[first - j] for j, tap in enumerate(mask) if 0 <= first - j < len(signal)))
    return result


def reflect101(i, n):
    """The index that stands for i: d c b | a b c d | c b a."""
    while not 0 <= i < n:
        i = -i if i < 0 else 2 * (n - 1) - i
    return i


def to_code(value, low, high):
    """Rounds half to even and clamps."""
    return min(max(round(value), low), high)


class Sound(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("mask.txt", "# seven taps\n" + "\n".join(map(str, MASK)) + "\n")

    def filtered(self, samples, channels):
        harness.write_wav(self.path("in.wav"), samples, channels, 22050)
        self.succeed("-i", "in.wav", "-p", "conv1d:mask.txt", "-o", "out.wav")
        return harness.read_wav(self.path("out.wav"))

    def check(self, samples, channels):
        got, got_channels, rate = self.filtered(samples, channels)
        self.assertEqual((got_channels, rate, len(got)), (channels, 22050, len(samples)))
        for channel in range(channels):
            want = convolve([samples[i] for i in range(channel, len(samples), channels)], MASK)
            for i, value in enumerate(want):
                code = to_code(value, -32768, 32767)
                # Sums in f32 may fall on the other side of a half.
                self.assertAlmostEqual(got[i * channels + channel], code, delta=abs(value % 1 - 0.5) < 1e-2)

    def test_mono(self):
        self.check(harness.tone(5000), 1)

    def test_stereo(self):
        self.check(harness.tone(3001, 2), 2)

    def test_five_channels(self):
        self.check(harness.tone(500, 5), 5)

    def test_borders(self):
        samples = harness.tone(700, 2)
        harness.write_wav(self.path("in.wav"), samples, 2, 8000)
        last = len(samples) // 2 - 1
        nearest = {"replicate": lambda i: min(max(i, 0), last), "wrap": lambda i: i % (last + 1),
                   "reflect101": lambda i: reflect101(i, last + 1)}
        for border, index in nearest.items():
            self.succeed("-i", "in.wav", "-p", f"conv1d:[0,0,0,0,1]:border={border}", "-o", "out.wav")
            want = [samples[2 * index(i // 2 - 2) + i % 2] for i in range(len(samples))]
            self.assertEqual(list(harness.read_wav(self.path("out.wav"))[0]), want, border)

    def test_a_border_beyond_full_scale(self):
        """Harmless in floating point; integers have no more than their largest."""
        self.write("in.raw", struct.pack("<4f", 0.25, 0.5, -0.5, 1))
        delay = "conv1d:[0,0,1]:border=constant:value=5"
        self.succeed("-i", "in.raw", "--raw", "dtype=f32,channels=1,rate=8000", "-p", delay, "-o", "out.raw")
        self.assertEqual(struct.unpack("<4f", self.read("out.raw")), (5, 0.25, 0.5, -0.5))
        harness.write_wav(self.path("in.wav"), [1, 2, 3, 4])
        self.succeed("-i", "in.wav", "-p", delay, "-o", "out.wav")
        self.assertEqual(harness.read_wav(self.path("out.wav"))[0], [32767, 1, 2, 3])
        self.assertNotIn("-1 to 1", self.succeed("inspect", "conv1d"))

    def test_shorter_than_the_mask(self):
        self.check(harness.tone(3), 1)

    def test_clipping_clamps_and_is_said(self):
        samples = [32767] * 50 + [-32768] * 50
        harness.write_wav(self.path("in.wav"), samples)
        done = self.run_command("-i", "in.wav", "-p", "conv1d:mask.txt", "-o", "out.wav")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"\Afilterchain: warning: out\.wav: [^\n]*clipped[^\n]*\n\Z")
        want = [to_code(value, -32768, 32767) for value in convolve(samples, MASK)]
        self.assertEqual((max(want), min(want)), (32767, -32768))
        for got, code in zip(harness.read_wav(self.path("out.wav"))[0], want):
            self.assertAlmostEqual(got, code, delta=1)
        self.assertEqual(self.run_command("-i", "in.wav", "-p", "conv1d:mask.txt", "-o", "out.wav", "-q").stderr, "")

    def test_noise_at_the_ends_is_no_clipping(self):
        """Dither leads beyond full scale where a signal touches it; a signal that goes beyond by itself is warned of."""
        harness.write_wav(self.path("in.wav"), [32767, -32768, 5] * 500)
        harness.write_png(self.path("in.png"), [[0, 255] * 50] * 20, 1)
        for name in ("in.wav", "in.png"):
            for stages in (["dither"], ["dither:8"], ["dither", "convert:" + ("i16" if name == "in.wav" else "u8")]):
                out = "out" + name[2:]
                self.succeed("-i", name, "-o", out, *[word for stage in stages for word in ("-p", stage)])
                self.assertNotEqual(self.read(out), self.read(name))
            done = self.run_command("-i", name, "-o", out, "-p", "gain:2", "-p", "dither")
            self.assertEqual((done.returncode, done.stderr.count("clipped")), (0, 1), done.stderr)
            done = self.run_command("-i", name, "-o", out, "-p", "gain:1", "-p", "dither")
            self.assertIn("the noise alone may exceed it where samples touch the ends of the range", done.stderr)

    def test_identity_keeps_every_sample(self):
        samples = list(range(-32768, 32768, 7))
        harness.write_wav(self.path("in.wav"), samples)
        for stages in ([], ["-p", "conv1d:[1]"], ["-p", "conv1d:[0,1,0]", "-p", "conv1d:[1]"]):
            self.succeed("-i", "in.wav", *stages, "-o", "out.wav")
            self.assertEqual(harness.read_wav(self.path("out.wav"))[0], samples)

    def test_same_bytes_twice_and_with_any_chunk_and_threads(self):
        harness.write_wav(self.path("in.wav"), harness.tone(20000, 2), 2)
        want = None
        for options in ([], [], ["--chunk", "1000"], ["--chunk", "7777", "-j", "3"], ["-j", "1"]):
            self.succeed("-i", "in.wav", "-p", "conv1d:mask.txt", "-o", "out.wav", "--device", "cpu", *options)
            want = want or self.read("out.wav")
            self.assertEqual(self.read("out.wav"), want, options)

    def test_onto_the_input(self):
        harness.write_wav(self.path("in.wav"), harness.tone(9000))
        self.succeed("-i", "in.wav", "-p", "conv1d:mask.txt", "-o", "out.wav")
        self.succeed("-i", "in.wav", "-p", "conv1d:mask.txt", "-o", "in.wav")
        self.assertEqual(self.read("in.wav"), self.read("out.wav"))

    def test_through_pipes(self):
        harness.write_wav(self.path("in.wav"), harness.tone(9000))
        self.succeed("-i", "in.wav", "-p", "conv1d:mask.txt", "-o", "out.wav")
        piped = self.succeed("-i", "-", "-p", "conv1d:mask.txt", "-o", "-", "--format", "wav",
                             input=self.read("in.wav"), text=False)
        self.write("piped.wav", piped)
        self.assertEqual(harness.read_wav(self.path("piped.wav")), harness.read_wav(self.path("out.wav")))

    def test_an_ogg_stream_without_an_end(self):
        """What has come is filtered before the rest is there, and kept nowhere; that the end is missing is seen."""
        dice = random.Random(1)
        harness.write_wav(self.path("in.wav"), [dice.randrange(-9000, 9000) for _ in range(200000)])
        self.succeed("-i", "in.wav", "-o", "in.ogg")
        stream = self.read("in.ogg")
        self.assertGreater(len(stream), 50000)
        with subprocess.Popen([harness.COMMAND, "-i", "-", "-o", "-", "--format", "au", "--chunk", "1000"], cwd=self.folder,
                              env={**harness.fixed_environment(), "TMPDIR": self.path("nowhere")}, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            self.addCleanup(child.kill)
            child.stdin.write(stream[:40000])  # as much as a pipe holds
            child.stdin.flush()
            early = os.read(child.stdout.fileno(), 50000)
            while len(early) < 50000:
                more = os.read(child.stdout.fileno(), 50000 - len(early))
                self.assertTrue(more, f"ends after {len(early)} bytes")
                early += more
            rest, said = child.communicate()
        self.assertEqual(child.returncode, 1)
        self.assertRegex(said, rb"\Afilterchain: standard input: is cut off: its last page is not the end of a stream[^\n]*\n\Z")
        self.succeed("-i", "in.ogg", "-o", "whole.au", "-q")
        self.assertEqual((early + rest)[24:], self.read("whole.au")[24:len(early + rest)])

    def through(self, data, out, pause_at=None, capacity=None):
        """What is said of a sound from a pipe whose writer pauses, or that holds so little."""
        reading, writing = os.pipe()
        if capacity:
            fcntl.fcntl(writing, F_SETPIPE_SZ, capacity)
        with subprocess.Popen([harness.COMMAND, "-i", "-", "-p", "gain:1", "-o", out], cwd=self.folder, stdin=reading,
                              env=harness.fixed_environment(), stderr=subprocess.PIPE) as child:
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                if pause_at:
                    pipe.write(data[:pause_at])
                    pipe.flush()
                    time.sleep(0.7)
                for at in range(pause_at or 0, len(data), 3000):  # which fill a page each
                    pipe.write(data[at:at + 3000])
                    pipe.flush()
            said = child.communicate(timeout=harness.PATIENCE)[1]
        self.assertEqual(child.returncode, 0, said)
        return said

    def test_a_writer_that_takes_its_time(self):
        """Does not change what is made of its sound; and none waits for one that waits for it."""
        def chunk(name, content):
            return name + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)

        harness.write_wav(self.path("in.wav"), harness.tone(3000))
        data = self.read("in.wav")
        for size in (200, 20000, 55000, 90000):
            with self.subTest(ahead=size):
                ahead = data[:36] + chunk(b"abcd", bytes(size)) + data[36:]
                ahead = ahead[:4] + struct.pack("<I", len(ahead) - 8) + ahead[8:]
                said = self.through(ahead, "fast.wav")
                for how in ({"pause_at": 100}, {"capacity": 4096}, {"pause_at": 100, "capacity": 4096}):
                    slow = self.through(ahead, "slow.wav", **how)
                    if size < 4000 or "capacity" not in how:
                        self.assertEqual((slow, self.read("slow.wav")), (said, self.read("fast.wav")), how)
                    elif how:
                        self.assertGreaterEqual(len(self.read("slow.wav")), len(data))

    def test_ogg_streams_one_after_another(self):
        """Of which the first is read: that there are more is told, be it a file or a pipe."""
        for name, count in (("one", 30000), ("other", 9000)):
            harness.write_wav(self.path(name + ".wav"), harness.tone(count))
            self.succeed("-i", name + ".wav", "-o", name + ".ogg")
        self.succeed("-i", "one.ogg", "-o", "one.au", "-q")
        chain = self.read("one.ogg") + self.read("other.ogg")
        self.write("chain.ogg", chain)
        said = "holds streams one after another; the first is read, and what follows is left out"
        file = self.run_command("-i", "chain.ogg", "-o", "file.au")
        self.assertEqual((file.returncode, file.stderr), (0, f"filterchain: warning: chain.ogg: {said}\n"))
        self.assertEqual(self.read("file.au"), self.read("one.au"))
        with subprocess.Popen(["cat", self.path("chain.ogg")], stdout=subprocess.PIPE) as child:
            pipe = self.run_command("-i", "-", "-o", "pipe.au", stdin=child.stdout)
        self.assertEqual((pipe.returncode, pipe.stderr), (0, f"filterchain: warning: standard input: {said}\n"))
        self.assertEqual(self.read("pipe.au")[24:], self.read("one.au")[24:])

    def test_a_name_in_no_encoding(self):
        """Files are made as named, and JSON about them can be read."""
        name = b"caf\xe9\nnoir.wav"
        harness.write_wav(self.path("in.wav"), harness.tone(900))
        os.rename(self.path("in.wav"), os.path.join(self.folder.encode(), name))
        self.succeed("-i", name, "-o", b"out-" + name, "-p", "gain:1")
        for words in (["-o", "out.wav", "--dry-run", "--json"], ["--json"], ["--report", "-"]):
            said = self.succeed("-i", name, "-p", "stats", *words, text=False).decode("utf-8")
            self.assertIn("caf\ufffd\nnoir.wav", str(json.loads(said[said.index("{"):])).replace("\\n", "\n"))
        done = self.run_command("-i", name, "-o", "out.wav", "-p", "gain:1", "--progress", "json", text=False)
        for line in done.stderr.decode("utf-8").splitlines():
            json.loads(line)
        self.assertIn(b"out-" + name, os.listdir(self.folder.encode()))

    def test_stdin_is_left_alone(self):
        harness.write_wav(self.path("in.wav"), harness.tone(100))
        read_end, write_end = os.pipe()
        os.write(write_end, b"still here")
        os.close(write_end)
        with os.fdopen(read_end, "rb") as stdin:
            self.succeed("-i", "in.wav", "-o", "out.wav", stdin=stdin)
            self.assertEqual(stdin.read(), b"still here")


class Images(harness.Case):
    def picture(self, width, height, channels):
        return [[(31 * x + 17 * y * c + 97 * c + x * y) % 256 for x in range(width) for c in range(channels)]
                for y in range(height)]

    def test_rows_are_convolved(self):
        mask = [0.25, 0.5, 0.125]
        for channels in (1, 3, 4):
            rows = self.picture(23, 9, channels)
            harness.write_png(self.path("in.png"), rows, channels)
            self.succeed("-i", "in.png", "-p", "conv1d:[0.25,0.5,0.125]", "-o", "out.png")
            got, got_channels = harness.read_png(self.path("out.png"))
            self.assertEqual((got_channels, len(got), len(got[0])), (channels, 9, 23 * channels))
            for y, row in enumerate(rows):
                for x in range(23):
                    for c in range(channels):
                        taps = (row[reflect101(x + 1 - j, 23) * channels + c] * tap for j, tap in enumerate(mask))
                        # Eighths are exact in f32, ties included.
                        self.assertEqual(got[y][x * channels + c], to_code(sum(taps), 0, 255), (x, y, c))

    def test_identity_keeps_every_pixel(self):
        rows = self.picture(40, 30, 3)
        harness.write_png(self.path("in.png"), rows, 3)
        self.succeed("-i", "in.png", "-p", "conv1d:[1]", "-o", "out.png")
        self.assertEqual(harness.read_png(self.path("out.png")), (rows, 3))


class Arrays(harness.Case):
    def shape_of(self, *stages):
        self.succeed("-i", "in.npy", *(word for stage in stages for word in ("-p", stage)), "-o", "out.npy")
        return harness.read_npy(self.path("out.npy"))

    def test_one_row_is_a_signal(self):
        """Blocks of a signal of one dimension must not become as many rows."""
        values = [0.5, -1, 2, 3, 0.25, 5, -6, 7]
        harness.write_npy(self.path("in.npy"), (8,), values)
        for there in ("dct:4", "dft:4"):
            spectra, _ = self.shape_of(there)
            self.assertEqual(spectra, (8,) if there == "dct:4" else (1, 6, 2))
            shape, back = self.shape_of(there, there + ":inverse=yes")
            self.assertEqual(len(back), 8, shape)
            for got, wanted in zip(back, values):
                self.assertAlmostEqual(got, wanted, places=5)
        self.assertEqual(self.shape_of("dct:4x2")[0], (2, 8))
        self.assertEqual(self.shape_of("dct:4:axis=xy")[0], (4, 8))

    def test_spectra_are_no_picture(self):
        """What stft writes of a sound is read as rows and columns, which istft says."""
        harness.write_wav(self.path("in.wav"), harness.tone(200))
        self.succeed("-i", "in.wav", "-p", "stft:16", "-o", "two.npy")
        shape, values = harness.read_npy(self.path("two.npy"))
        self.assertIn("array[None]", self.fails(2, "-i", "two.npy", "-p", "istft:16", "-o", "out.npy"))
        harness.write_npy(self.path("in.npy"), (1, *shape), values)
        self.assertEqual(len(self.shape_of("istft:16:length=200")[1]), 200)


class Batches(harness.Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("out"))
        for i in range(3):
            harness.write_wav(self.path(f"{i}.wav"), harness.tone(300 + i))

    def test_all_good(self):
        self.succeed("-i", "0.wav", "-i", "1.wav", "-i", "2.wav", "-p", "conv1d:[1]", "-o", "out")
        for i in range(3):
            self.assertEqual(harness.read_wav(self.path(f"out/{i}.wav")), harness.read_wav(self.path(f"{i}.wav")))

    def test_words_behind_an_input(self):
        self.write("-q.wav", self.read("1.wav"))
        self.succeed("-i", "0.wav", "2.wav", "-p", "gain:0.5", "-o", "out", "-i", "1.wav", "--", "-q.wav")
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["-q.wav", "0.wav", "1.wav", "2.wav"])
        self.assertEqual(self.read("out/-q.wav"), self.read("out/1.wav"))

    def test_a_folder_that_is_made(self):
        self.succeed("-i", "0.wav", "1.wav", "-o", "new/", "--report", "new/report.json")
        self.assertEqual(sorted(os.listdir(self.path("new"))), ["0.wav", "1.wav", "report.json"])
        self.succeed("-i", "2.wav", "-o", "new/")
        self.assertIn("new/2.wav", self.succeed("--dry-run", "-i", "2.wav", "-o", "new/"))
        self.assertIn("other/2.wav", self.succeed("--dry-run", "-i", "2.wav", "-o", "other/"))
        self.succeed("-i", "2.wav", "-o", "a/b/c/")
        self.succeed("-i", "0.wav", "1.wav", "-o", "d/e//f/")
        self.assertEqual([os.listdir(self.path(name)) for name in ("a/b/c", "d/e")], [["2.wav"], ["f"]])
        self.assertIn("File name too long", self.fails(1, "-i", "2.wav", "-o", f"g/h/{'x' * 300}/"))
        self.assertFalse(os.path.exists(self.path("g")))
        self.write("file", "")
        self.assertEqual(self.fails(1, "-i", "2.wav", "-o", "file/"), "file/: the folder cannot be created: Not a directory")
        self.run_command("-i", "x.wav", "y.wav", "-o", "new/other/one/")
        self.assertEqual(sorted(os.listdir(self.path("new"))), ["0.wav", "1.wav", "2.wav", "report.json"], "nothing was put into it")

    def test_a_pattern(self):
        self.succeed("-i", "0.wav", "1.wav", "-o", "out/{stem}-new.npy")
        self.succeed("-i", "2.wav", "-o", "out/{stem}.flac:level=0")
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["0-new.npy", "1-new.npy", "2.flac"])
        self.succeed("-i", "2.wav", "-o", "made/of/{stem}.npy")
        self.assertEqual(os.listdir(self.path("made/of")), ["2.npy"])
        self.assertIn("made/too/2.npy", self.succeed("--dry-run", "-i", "2.wav", "-o", "made/too/{stem}.npy"))
        self.assertEqual(self.fails(1, "-i", "2.wav", "-o", "not/{stem.wav"), "not/{stem.wav: there is no folder not")
        self.assertEqual(os.listdir(self.path("made")), ["of"])

    def test_part_failed(self):
        self.write("bad.wav", "no sound")
        line = self.fails(3, "-i", "0.wav", "-i", "bad.wav", "-i", "2.wav", "-o", "out", "--report", "report.json")
        self.assertTrue(line.startswith("bad.wav: "), line)
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["0.wav", "2.wav"])
        files = json.loads(self.read("report.json"))["files"]
        self.assertEqual(["error" in file for file in files], [False, True, False])

    def test_all_failed(self):
        done = self.run_command("-i", "x.wav", "-i", "y.wav", "-o", "out")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 2))
        self.assertEqual(os.listdir(self.path("out")), [])

    def test_same_words_and_bytes_on_any_number_of_workers(self):
        """Large files before small ones and bad ones between: all is told in the order of the inputs."""
        inputs = []
        for i in range(12):
            name = f"file{i}.wav"
            if i in (3, 7):
                self.write(name, "no sound")
            else:
                harness.write_wav(self.path(name), harness.tone(40000 >> i))
            inputs += ["-i", name]
        told = {}
        for workers in ("1", "2", "5"):
            os.mkdir(self.path("out" + workers))
            done = self.run_command(*inputs, "-p", "gain:0.5", "-p", "stats", "-o", "out" + workers, "-j", workers,
                                    "--report", "report.json")
            files = {name: self.read(f"out{workers}/{name}") for name in os.listdir(self.path("out" + workers))}
            report = json.loads(self.read("report.json"))["files"]
            told[workers] = (done.returncode, done.stdout, done.stderr, files, [file["input"] for file in report])
        self.assertEqual(told["1"][0], 3)
        self.assertEqual(re.findall(r"(?m)^(file\d+)\.wav$", told["1"][1]), [f"file{i}" for i in range(12) if i not in (3, 7)])
        self.assertEqual(re.findall(r"(?m)^filterchain: (file\d+)\.wav: ", told["1"][2]), ["file3", "file7"])
        self.assertEqual(told["1"][4], inputs[1::2])
        self.assertEqual(len(told["1"][3]), 10)
        self.assertEqual(told["2"], told["1"])
        self.assertEqual(told["5"], told["1"])

    def test_another_format(self):
        self.succeed("-i", "0.wav", "-i", "1.wav", "-o", "out", "--format", "flac")
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["0.flac", "1.flac"])

    def test_one_into_a_folder(self):
        self.succeed("-i", "1.wav", "-o", "out")
        self.assertEqual(os.listdir(self.path("out")), ["1.wav"])


class FurtherInputs(harness.Case):
    """Signals that a stage names beside the first."""

    def test_a_sound_against_itself(self):
        for channels in (1, 2, 3):
            harness.write_wav(self.path("in.wav"), harness.tone(3000, channels), channels)
            for more in ((), ("--chunk", "77"), ("-j", "1")):
                self.succeed("-i", "in.wav", "-p", "compare:in.wav:max=0", *more)
                self.succeed("-i", "in.wav", "-p", "mixin:in.wav:gain=-1", "-o", "out.wav", *more)
                self.assertFalse(any(harness.read_wav(self.path("out.wav"))[0]))

    def test_an_image_against_itself(self):
        harness.write_png(self.path("in.png"), [[(x * y) % 251 for x in range(40 * 3)] for y in range(30)], 3)
        self.assertIn("ssim", self.succeed("-i", "in.png", "-p", "compare:in.png:max=0"))

    def test_a_measurement_that_fails_the_run(self):
        """Status 1, and what was measured is told; the output is what it was."""
        harness.write_wav(self.path("in.wav"), harness.tone(3000))
        harness.write_wav(self.path("other.wav"), harness.tone(3000)[::-1])
        self.write("out.wav", "old")
        chain = ("-p", "compare:other.wav:max=0.001", "--report", "report.json")
        done = self.run_command("-i", "in.wav", *chain, "-o", "out.wav")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Afilterchain: compare: the largest difference is [0-9.]+, more than max=0\.001\n\Z")
        self.assertRegex(done.stdout, r"(?m)^psnr ")
        self.assertEqual(self.read("out.wav"), b"old")
        file = json.loads(self.read("report.json"))["files"][0]
        self.assertIn("psnr", [m["name"] for m in file["measurements"]])
        self.assertRegex(file["error"], r"^compare: ")
        done = self.run_command("-i", "in.wav", "-i", "other.wav", *chain)
        self.assertEqual((done.returncode, done.stdout.count("psnr"), done.stderr.count("\n")), (3, 2, 1))
        self.assertRegex(done.stderr, r"^filterchain: in\.wav: compare: ")

    def pipe(self, samples):
        """A named pipe through which such a sound comes, which says nothing of its length."""
        path = self.path(f"pipe{len(os.listdir(self.folder))}.wav")
        os.mkfifo(path)
        feeder = threading.Thread(target=self.feed, args=(path, harness.open_wav_header() + array.array("h", samples).tobytes()))
        feeder.start()
        self.addCleanup(feeder.join)
        return path

    @staticmethod
    def feed(path, data):
        try:
            with open(path, "wb", buffering=0) as file:
                for at in range(0, len(data), 1000):
                    file.write(data[at:at + 1000])
        except BrokenPipeError:
            pass

    def test_a_pipe(self):
        """Shorter than the first signal or longer; its end is found on the way, and what is needed again is kept."""
        harness.write_wav(self.path("in.wav"), harness.tone(3000))
        for length in (1, 1000, 2999, 3000, 3001, 9000):
            samples = harness.tone(length)[::-1]
            harness.write_wav(self.path("other.wav"), samples)
            for end in ("", ":end=loop"):
                self.succeed("-i", "in.wav", "-p", "mixin:other.wav" + end, "-o", "want.wav")
                for more in ((), ("--chunk", "77"), ("-j", "1")):
                    self.succeed("-i", "in.wav", "-p", f"mixin:{self.pipe(samples)}{end}", "-o", "out.wav", *more)
                    self.assertEqual(self.read("out.wav"), self.read("want.wav"), (length, end, more))
            compare = ("-i", "other.wav", "-p", f"compare:{self.pipe(harness.tone(3000)[::-1])}")
            if length == 3000:
                self.succeed(*compare)
            else:
                self.assertRegex(self.fails(2, *compare), rf" has 3000 samples, the input {length}\Z")

    def test_both_are_pipes(self):
        harness.write_wav(self.path("in.wav"), harness.tone(3000))
        harness.write_wav(self.path("other.wav"), harness.tone(1234)[::-1])
        self.succeed("-i", "in.wav", "-p", "mixin:other.wav", "-p", "compare:in.wav", "-o", "want.wav")
        for chunk in ("50", "1234", "5000"):
            self.succeed("-i", self.pipe(harness.tone(3000)), "-p", f"mixin:{self.pipe(harness.tone(1234)[::-1])}",
                         "-p", f"compare:{self.pipe(harness.tone(3000))}", "--chunk", chunk, "-o", "out.wav")
            self.assertEqual(*(harness.read_wav(self.path(name)) for name in ("out.wav", "want.wav")), chunk)

    def test_behind_a_generator(self):
        tone = "tone:sine:freq=300:length=3000:rate=16000"
        harness.write_wav(self.path("other.wav"), harness.tone(1000))
        self.succeed("-p", tone, "-o", "tone.wav:dtype=f32")
        self.succeed("-i", "tone.wav", "-p", "mixin:other.wav", "-o", "want.wav")
        for other in ("other.wav", self.pipe(harness.tone(1000))):
            self.succeed("-p", tone, "-p", f"mixin:{other}", "-o", "out.wav:dtype=f32", "--chunk", "77")
            self.succeed("-i", "out.wav", "-p", "compare:want.wav:max=0")

    def test_a_file_that_is_not_there(self):
        harness.write_wav(self.path("in.wav"), harness.tone(300))
        self.assertRegex(self.fails(1, "-i", "in.wav", "-p", "mixin:nowhere.wav", "-o", "out.wav"), r"nowhere\.wav")

    def test_not_over_a_further_input(self):
        harness.write_wav(self.path("in.wav"), harness.tone(300))
        harness.write_wav(self.path("other.wav"), harness.tone(300))
        before = self.read("other.wav")
        self.fails(2, "-i", "in.wav", "-p", "mixin:other.wav", "-o", "other.wav")
        self.fails(2, "-p", "tone:length=9", "-p", "mixin:other.wav", "-o", "other.wav")
        self.fails(2, "-p", "tone:length=9", "-o", "other.wav", "--report", "./other.wav")
        self.assertEqual(self.read("other.wav"), before)


class Plans(harness.Case):
    def setUp(self):
        super().setUp()
        harness.write_wav(self.path("in.wav"), harness.tone(1000, 2), 2)

    def test_dry_run_creates_nothing(self):
        text = self.succeed("-i", "in.wav", "-p", "conv1d:[1,2,1]/4", "-o", "out.wav", "--dry-run",
                            "--trace", "trace.json", "--report", "report.json")
        self.assertEqual(self.files(), ["in.wav"])
        for word in ("in.wav", "out.wav", "conv1d", "1000", "i16", "halo", "runs on cpu: "):
            self.assertIn(word, text)

    def test_dry_run_as_json(self):
        plan = json.loads(self.succeed("-i", "in.wav", "-p", "conv1d:[1,2,1]/4", "-o", "out.wav", "--dry-run", "--json"))
        self.assertEqual((plan["input"], plan["output"], plan["in"]["extent"]), ("in.wav", "out.wav", [1, 1, 1000, 2]))
        self.assertEqual(self.files(), ["in.wav"])
        stages = ("-p", "conv1d:[1,2,1]/4", "-p", "gain:0.5", "-p", "matrix:[1,2;3,4]")
        plan = json.loads(self.succeed("-i", "in.wav", *stages, "-o", "out.wav", "--fuse", "algebra", "--dry-run", "--json"))
        said = [(s["joined"], s["as"], s["apart"][:28]) for s in plan["stages"]]
        self.assertEqual(said, [(2, "conv1d of 3 taps", "a window is not joined to a "), (0, "", "")])

    def test_dry_run_plans_for_no_device_that_a_run_does_not_find(self):
        arguments = ("-i", "in.wav", "-p", "gain:1", "-o", "out.wav", "--device", "cuda")
        self.assertEqual(self.run_command(*arguments, "--dry-run").returncode, self.run_command(*arguments).returncode)

    def test_chunks_are_shared_evenly(self):
        """Each worker takes a chunk through all stages: small enough for that many, large enough to be worth it, and
        of whole blocks where a stage has some; what is written does not change."""
        self.write("mask.txt", " ".join(["0.001"] * 1023).encode())
        chain = ["-i", "long.raw", "--raw", "dtype=f32,channels=1,rate=48000", "--device", "cpu"]
        by_taps, by_blocks = ["-p", "conv1d:[1,2,1]/4"], ["-p", "conv1d:mask.txt:method=fft"]

        def plan(stages, threads):
            text = self.succeed(*chain, *stages, "-o", "out.raw", "--dry-run", "-j", str(threads))
            found = re.search(r"chunks of (\d+) frames(?: \(blocks of (\d+)\))?, (\d+) at a time on (\d+) threads?,", text)
            return [int(number or 0) for number in found.groups()]

        for total in (100_000_000, 5_000_000):
            with open(os.path.join(self.folder, "long.raw"), "wb") as file:
                file.truncate(4 * total)
            for threads in (1, 2, 8, 32):
                frames, _, at_a_time, workers = plan(by_taps, threads)
                self.assertEqual((at_a_time, workers), (threads, threads))
                self.assertLessEqual(frames * threads, total + threads)
                self.assertTrue(16384 <= frames <= 1 << 19, frames)
        for threads in (1, 8, 16):
            frames, block, _, _ = plan(by_blocks, threads)
            self.assertTrue(block > 0 and frames % block == 0, (frames, block))
        self.write("long.raw", bytes(range(1, 61)) * 50_000)
        for threads in (1, 32):
            self.succeed(*chain, *by_taps, "-o", f"{threads}.raw", "-j", str(threads))
        self.assertEqual(self.read("1.raw"), self.read("32.raw"))

    def test_what_is_too_small_to_share(self):
        """One chunk, whatever the threads: no other is woken for it, and nothing is said of short chunks. An output is
        not too small if its input is large."""
        with open(self.path("large.raw"), "wb") as file:
            file.truncate(3 * 4000 * 3000)
        planned = self.succeed("-i", "large.raw", "--raw", "dtype=u8,width=4000,height=3000,channels=3", "-p", "resize:60x60",
                               "--device", "cpu", "-j", "2", "-o", "out.npy", "--dry-run")
        self.assertRegex(planned, r"chunks of \d+ rows, 2 at a time")
        self.write("line.raw", bytes(range(92)) * 3)
        self.write("short.raw", bytes(range(250)) * 160)
        image = ["-i", "line.raw", "--raw", "dtype=u8,width=92,height=1,channels=3", "-p", "resize:7x4:filter=lanczos3"]
        sound = ["-i", "short.raw", "--raw", "dtype=f32,channels=1,rate=48000", "-p", "gain:0.5"]
        for chain in (image, sound):
            for threads in ("2", "8"):
                planned = self.succeed(*chain, "--device", "cpu", "-j", threads, "-o", "out.npy", "--dry-run")
                self.assertRegex(planned, r"chunks of \d+ \w+, 1 at a time")
                done = self.run_command(*chain, "--device", "cpu", "-j", threads, "-o", "out.npy")
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_dry_run_finds_what_a_run_would(self):
        self.fails(2, "-i", "in.wav", "-o", "out.xyz", "--dry-run")
        self.fails(1, "-i", "no.wav", "-o", "out.wav", "--dry-run")

    def test_verbose_says_where_and_why(self):
        done = self.run_command("-i", "in.wav", "-p", "conv1d:[1]", "-o", "out.wav", "-v", "--device", "cpu")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"(?m)^filterchain: in\.wav -> out\.wav: cpu .*[0-9]+ chunks?$")

    def test_report_and_trace(self):
        self.succeed("-i", "in.wav", "-p", "conv1d:[1]", "-o", "out.wav", "--report", "report.json",
                     "--trace", "trace.json", "--device", "cpu")
        file = json.loads(self.read("report.json"))["files"][0]
        self.assertEqual((file["input"], file["output"]), ("in.wav", "out.wav"))
        self.assertRegex(file["device"], r"\Acpu\b")
        self.assertEqual((file["in"]["x"], file["in"]["channels"], file["in"]["dtype"]), (1000, 2, "i16"))
        self.assertTrue(json.loads(self.read("trace.json")))


class Measurements(harness.Case):
    """What stats finds, against sums made here, in every way of handing it over."""

    def setUp(self):
        super().setUp()
        self.samples = list(harness.tone(5000, 2))
        harness.write_wav(self.path("in.wav"), self.samples, 2)
        self.stats = ["-i", "in.wav", "-p", "stats"]

    def check_json(self, document):
        got = {(m["name"], m["channel"]): m for m in document["files"][0]["measurements"]}
        for channel in (0, 1):
            mine = self.samples[channel::2]
            self.assertEqual(got["sum", channel]["exact"], str(sum(mine)))
            self.assertEqual(got["sumsq", channel]["exact"], str(sum(x * x for x in mine)))
            self.assertAlmostEqual(got["max", channel]["value"], max(mine) / 32768, places=12)
        self.assertEqual(got["count", None]["value"], len(self.samples))

    def test_table(self):
        lines = [line.split() for line in self.succeed(*self.stats).splitlines()]
        self.assertEqual(lines[0], ["stats", "all", "channel", "0", "channel", "1"])
        rows = {line[0]: line[1:] for line in lines}
        self.assertEqual(rows["count"], ["10000", "5000", "5000"])
        self.assertEqual(rows["sum"][:3], [str(sum(self.samples[k::step])) for k, step in ((0, 1), (0, 2), (1, 2))])
        self.assertEqual(rows["peak"][3:], ["dBFS"])

    def test_table_of_many_channels(self):
        """A line each, since so many columns fit no terminal."""
        samples = list(harness.tone(500, 12))
        harness.write_wav(self.path("many.wav"), samples, 12)
        lines = self.succeed("-i", "many.wav", "-p", "stats:sum,count,peak").splitlines()
        self.assertRegex(lines[0], r"\Astats +count +peak \(dBFS\) +sum \(codes\)\Z")
        self.assertEqual([line[:10].strip() for line in lines[1:]], ["all"] + [f"channel {c}" for c in range(12)])
        self.assertEqual([line.split()[-1] for line in lines[1:]],
                         [str(sum(samples))] + [str(sum(samples[c::12])) for c in range(12)])

    def test_json(self):
        self.check_json(json.loads(self.succeed(*self.stats, "--json")))

    def test_report(self):
        self.succeed(*self.stats, "--report", "report.json", "-q")
        self.check_json(json.loads(self.read("report.json")))

    def test_results_make_way_for_data(self):
        done = self.run_command(*self.stats, "-o", "-", "--format", "wav", text=False)
        self.write("out.wav", done.stdout)
        self.assertEqual(harness.read_wav(self.path("out.wav"))[0], self.samples)
        self.assertTrue(done.stderr.startswith(b"stats "), done.stderr)

    def test_silence_is_valid_json(self):
        harness.write_wav(self.path("in.wav"), [0] * 100)
        found = json.loads(self.succeed(*self.stats, "--json"))["files"][0]["measurements"]
        self.assertEqual([m["value"] for m in found if m["name"] == "peak"], ["-inf"])

    def test_nothing_has_no_mean(self):
        harness.write_wav(self.path("in.wav"), [])
        rows = {line.split()[0]: line.split()[1] for line in self.succeed(*self.stats).splitlines()}
        self.assertEqual((rows["count"], rows["mean"], rows["rms"]), ("0", "nan", "nan"))

    def test_rows_without_samples_are_no_sound(self):
        harness.write_npy(self.path("in.npy"), (3, 0), [])
        lines = [line.split() for line in self.succeed("-i", "in.npy", "-p", "stats:peak,sum").splitlines()]
        self.assertEqual(lines[1:], [["peak", "nan"], ["sum", "0"]])

    def test_a_report_is_replaced_whole_or_not_at_all(self):
        self.write("real.json", "old")
        os.symlink("real.json", self.path("link.json"))
        self.succeed(*self.stats, "--report", "link.json", "-o", "out.wav")
        self.assertTrue(os.path.islink(self.path("link.json")))
        self.check_json(json.loads(self.read("real.json")))
        self.fails(1, "-i", "no.wav", "-p", "stats", "--report", "real.json")
        self.check_json(json.loads(self.read("real.json")))

    def test_a_batch_names_its_files(self):
        os.link(self.path("in.wav"), self.path("b.wav"))
        lines = self.succeed(*self.stats, "-i", "b.wav").splitlines()
        self.assertEqual([line for line in lines if line.endswith(".wav")], ["in.wav", "b.wav"])

    def test_a_batch_tells_which_file_the_chain_is_not_for(self):
        """As alone where there is one; a file that cannot be read is named by its own message, once."""
        harness.write_wav(self.path("mono.wav"), harness.tone(100))
        os.mkdir(self.path("made"))
        chain = ["-p", "mix:1x1", "-o", "made"]
        alone = self.run_command("-i", "mono.wav", *chain).stderr
        self.assertRegex(alone, r"^filterchain: mix: ")
        os.link(self.path("mono.wav"), self.path("mi"))
        done = self.run_command("-i", "mono.wav", "-i", "no.wav", "-i", "in.wav", "-i", "mi", *chain, "--format", "wav")
        lines = done.stderr.splitlines()
        self.assertEqual((done.returncode, len(lines)), (3, 3), done.stderr)
        self.assertEqual(lines[2] + "\n", alone.replace("filterchain: ", "filterchain: mi: "))
        self.assertEqual(lines[0] + "\n", alone.replace("filterchain: ", "filterchain: mono.wav: "))
        self.assertRegex(lines[1], r"^filterchain: no\.wav: (?!no\.wav)")


class Examples(harness.Case):
    """Every example of every operator runs, on a small input of a kind it takes."""

    # Tables that examples name; a name that is not here gets a mask of three taps.
    TABLES = {"matrix": "1 0\n0 1\n", "rgb": "1 0 0\n0 1 0\n0 0 1\n", "kernel": "1 2 1\n2 4 2\n1 2 1\n"}
    FILES = {"audio": ("audio.wav", "out.wav"), "image": ("image.png", "out.png"), "array": ("image.png", "out.npy")}

    def setUp(self):
        super().setUp()
        harness.write_wav(self.path("audio.wav"), harness.tone(8000, 2), 2)
        # Eight channels, as the real and imaginary parts of the four bins of a short frame are.
        harness.write_wav(self.path("spectra.wav"), harness.tone(1000, 8), 8)
        rows = [[(x * y * 3) % 256 for x in range(64 * 3)] for y in range(48)]
        harness.write_png(self.path("image.png"), rows, 3)
        harness.write_npy(self.path("planes.npy"), (3, 48, 64), [n % 256 for n in range(3 * 48 * 64)])

    def make_files(self, op, example):
        """Tables, and further inputs, which are like the first."""
        further = any(param["type"] == "input" for param in op["params"])
        for name in re.findall(r"[\w-]+\.txt", example):
            self.write(name, self.TABLES.get(name[:-4], "1 2 1\n"))
        for name in re.findall(r"[\w-]+\.png", example):
            self.write(name, self.read("image.png"))
        for name in re.findall(r"[\w-]+\.wav", example):
            harness.write_wav(self.path(name), harness.tone(8000, 2) if further else harness.tone(64), 2 if further else 1)

    def run_example(self, op, kind, example):
        source, target = self.FILES[kind]
        return self.run_command(*(() if op["generator"] else ("-i", source)), "-p", example, "-o", target)

    def test_all(self):
        for op in harness.operators():
            for example in op["examples"]:
                with self.subTest(example=example):
                    self.make_files(op, example)
                    said = [self.run_example(op, kind, example) for kind in op["kinds"]]
                    if "array" in op["kinds"] and not op["generator"]:
                        said.append(self.run_command("-i", "planes.npy", "-p", example, "-o", "out.npy"))
                    if "audio" in op["kinds"] and not op["generator"]:
                        said.append(self.run_command("-i", "spectra.wav", "-p", example, "-o", "out.wav"))
                        said.append(self.run_command("-i", self.FILES["audio"][0], "-p", example, "-o", "drawn.png"))
                    self.assertIn(0, [done.returncode for done in said], [done.stderr for done in said])


if __name__ == "__main__":
    harness.main()
