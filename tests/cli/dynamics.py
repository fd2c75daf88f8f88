#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Loudness, dynamics, equalizers and pictures of sound, by the command."""
import array
import json
import math
import os
import re
import select
import subprocess
import tarfile
import time

import harness


class Case(harness.Case):
    def measured(self, report, channel=None):
        """What a report gives for all channels together, or for one."""
        told = json.loads(self.read(report))["files"][0]["measurements"]
        return {m["name"]: m["value"] for m in told if m["channel"] == channel}


class Equalizer(Case):
    def test_is_biquads_in_a_row(self):
        """One pass makes the bits of so many stages in double precision, mono and stereo."""
        for channels in (1, 2, 3):
            harness.write_wav(self.path("in.wav"), harness.tone(6000, channels), channels)
            self.succeed("-i", "in.wav", "--precision", "f64", "-p", "gain:0.25", "-p",
                         "equalizer:100,500,2000,5000:gain=6dB,-3dB,2dB,-5.5dB:q=0.7,1.4,2,0.7:ends=shelf",
                         "-o", "a.npy")
            self.succeed("-i", "in.wav", "--precision", "f64", "-p", "gain:0.25",
                         "-p", "biquad:lowshelf:freq=100:gain=6dB:q=0.7", "-p", "biquad:peak:freq=500:gain=-3dB:q=1.4",
                         "-p", "biquad:peak:freq=2000:gain=2dB:q=2", "-p", "biquad:highshelf:freq=5000:gain=-5.5dB:q=0.7",
                         "-o", "b.npy")
            self.assertEqual(self.read("a.npy"), self.read("b.npy"))

    def test_gain_at_a_band(self):
        """A tone at the centre of a band is raised by what was said."""
        self.succeed("-p", "tone:sine:freq=1000:length=48000:level=0.1", "-p", "equalizer:1000:gain=+6dB", "-p",
                     "crop:start=24000:length=24000", "-p", "stats:rms", "--report", "r.json")
        self.assertAlmostEqual(20 * math.log10(self.measured("r.json")["rms"] / (0.1 / math.sqrt(2))), 6, places=3)

    def test_refuses(self):
        harness.write_wav(self.path("in.wav"), harness.tone(100))
        for text, what in (("equalizer:100,200:gain=1dB,2dB,3dB", "3 values for 2 bands"),
                           ("equalizer:200,100:gain=1:ends=shelf", "from low to high"),
                           ("equalizer:100:gain=1:ends=shelf", "give two"),
                           ("equalizer:9000:gain=2dB", "half the sample rate")):
            self.assertIn(what, self.fails(2, "-i", "in.wav", "-p", text, "-o", "out.wav"))

    def test_a_gain_without_decibels(self):
        """Is a factor, as everywhere; who comes from other programs is told, once."""
        harness.write_wav(self.path("in.wav"), [100, -100] * 50)
        for stage, hint in (("equalizer:100,200:gain=3dB,6", "equalizer: gain=6 is a factor, 15.6 dB: decibels are written 6dB"),
                            ("biquad:peak:freq=100:gain=0.5", "biquad: gain=0.5 is a factor, -6.02 dB: decibels are written 0.5dB")):
            done = self.run_command("-i", "in.wav", "-p", stage, "-o", "out.wav")
            self.assertEqual((done.returncode, done.stderr), (0, f"filterchain: warning: {hint}\n"))
        for stage in ("equalizer:100:gain=1", "biquad:peak:freq=100:gain=-6dB"):
            self.assertEqual(self.run_command("-i", "in.wav", "-p", stage, "-o", "out.wav").stderr, "")


class Loudness(Case):
    def measure(self, *arguments):
        self.succeed(*arguments, "--report", "r.json")
        return json.loads(self.read("r.json"))["files"][0]["measurements"]

    def test_reference_tone(self):
        """EBU Tech 3341: 1 kHz at -23 dBFS in both channels is at -23 LUFS."""
        self.measure("-p", "tone:sine:freq=1000:length=480000:channels=2:level=-23dB", "-p", "loudness")
        told = self.measured("r.json")
        self.assertAlmostEqual(told["integrated"], -23, delta=0.02)
        self.assertAlmostEqual(told["range"], 0, delta=0.02)
        self.assertAlmostEqual(told["peak"], -23, delta=0.01)
        self.assertAlmostEqual(self.measured("r.json", 1)["true_peak"], -23, delta=0.05)

    def test_same_for_every_chunk(self):
        """Also where a later stage looks around, so that chunks overlap, and with other threads."""
        harness.write_wav(self.path("in.wav"), harness.tone(150000, 2), 2)
        for after in ([], ["-p", "conv1d:[1,2,3,2,1]/9"]):
            want = self.measure("-i", "in.wav", "-p", "loudness", *after, "-o", "a.wav")
            for how in (["--chunk", "1600"], ["--chunk", "10000", "-j", "4"], ["--chunk", "1000000"]):
                self.assertEqual(self.measure("-i", "in.wav", "-p", "loudness", *after, "-o", "b.wav", *how), want, how)
                self.assertEqual(self.read("a.wav"), self.read("b.wav"), how)

    def test_silence_and_short(self):
        self.measure("-p", "tone:silence:length=96000", "-p", "loudness")
        told = self.measured("r.json")
        self.assertEqual((told["integrated"], told["range"], told["peak"]), ("-inf", 0, "-inf"))
        self.measure("-p", "tone:length=1000", "-p", "loudness")
        self.assertEqual(self.measured("r.json")["integrated"], "-inf")


class Normalize(Case):
    def setUp(self):
        super().setUp()
        self.succeed("-p", "tone:sine:freq=1000:length=96000:channels=2:level=-30dB", "-o", "in.wav")

    def test_loudness(self):
        self.succeed("-i", "in.wav", "-p", "normalize:loudness=-23LUFS", "-o", "out.wav", "--report", "a.json")
        told = self.measured("a.json")
        self.assertAlmostEqual(told["integrated"], -30, delta=0.02)
        self.assertAlmostEqual(told["gain"], 7, delta=0.02)
        self.succeed("-i", "out.wav", "-p", "loudness", "--report", "b.json")
        self.assertAlmostEqual(self.measured("b.json")["integrated"], -23, delta=0.01)

    def test_peak(self):
        """Two of them, of which the second measures what the first one and a stage between them make."""
        self.succeed("-i", "in.wav", "-p", "normalize:peak=-6dBFS", "-p", "gain:0.1", "-p", "normalize:peak=-1dBFS",
                     "-p", "stats:peak", "-o", "out.wav", "--report", "a.json")
        told = json.loads(self.read("a.json"))["files"][0]["measurements"]
        gains = [m["value"] for m in told if m["name"] == "gain"]
        self.assertAlmostEqual(gains[0], 24, delta=0.01)
        self.assertAlmostEqual(gains[1], 25, delta=0.01)
        self.assertAlmostEqual([m["value"] for m in told if m["operator"] == "stats" and m["channel"] is None][0], -1,
                               delta=0.01)

    def test_limited_by_peak(self):
        self.succeed("-i", "in.wav", "-p", "normalize:loudness=-10:peak=-15dBFS", "-p", "stats:peak", "--report", "a.json")
        told = json.loads(self.read("a.json"))["files"][0]["measurements"]
        self.assertAlmostEqual([m["value"] for m in told if m["operator"] == "stats" and m["channel"] is None][0], -15,
                               delta=0.01)

    def test_batch_and_chunks(self):
        """Each file of several by its own level; the same bytes for every chunk and number of threads."""
        self.succeed("-p", "tone:sine:freq=500:length=50000:level=-9dB", "-o", "b.wav")
        self.succeed("-i", "in.wav", "b.wav", "-p", "normalize:peak=-2dBFS", "-o", "out/")
        for name in ("in.wav", "b.wav"):
            self.succeed("-i", f"out/{name}", "-p", "stats:peak", "--report", "r.json")
            self.assertAlmostEqual(self.measured("r.json")["peak"], -2, delta=0.01)
            for how in (["--chunk", "1000", "-j", "3"], ["--chunk", "9999999", "-j", "1"]):
                self.succeed("-i", name, "-p", "normalize:peak=-2dBFS", "-o", "again.wav", *how)
                self.assertEqual(self.read("again.wav"), self.read(f"out/{name}"))

    def test_joined_and_members(self):
        """What is joined is measured as one sound; members of archives are there to be read again."""
        self.succeed("-p", "tone:sine:freq=1000:length=9600:channels=2:rate=48000:level=-9dB", "-o", "b.wav")
        self.succeed("--concat", "-i", "in.wav", "b.wav", "-p", "normalize:peak=-2dBFS", "-o", "out.wav", "--report", "r.json")
        self.assertAlmostEqual(self.measured("r.json")["gain"], 7, delta=0.01)
        with tarfile.open(self.path("in.tar"), "w") as archive:
            archive.add(self.path("in.wav"), "in.wav")
        self.succeed("-i", "in.tar", "-p", "normalize:peak=-2dBFS", "-o", "out/")
        self.succeed("-i", "in.wav", "-p", "normalize:peak=-2dBFS", "-o", "one.wav")
        self.assertEqual(self.read("out/in.wav"), self.read("one.wav"))

    def test_a_side_through_a_pipe(self):
        """A further input is read again for stages after it, not for stages before it."""
        side = self.read("in.wav")
        for stages, fits in ((("mixin:/dev/stdin", "normalize:loudness=-20"), False), (("normalize:loudness=-20", "mixin:/dev/stdin"), True)):
            done = self.run_command("-i", "in.wav", "-p", stages[0], "-p", stages[1], "-o", "out.wav", input=side, text=False)
            self.assertEqual(done.returncode, 0 if fits else 2, done.stderr)
            self.assertEqual(b"name a file" in done.stderr, not fits)

    def test_output_is_looked_at_first(self):
        """What is wrong with the output is said before the pass that measures, which fails here."""
        self.succeed("-i", "in.wav", "-o", "in.flac:dtype=i16")
        damaged = bytearray(self.read("in.flac"))
        damaged[len(damaged) * 3 // 4] ^= 0xff
        with open(self.path("in.flac"), "wb") as file:
            file.write(damaged)
        self.succeed("-i", "in.wav", "-o", "out.wav")
        words = ("-i", "in.flac", "-p", "loudnorm:-20", "-o", "out.wav")
        self.assertIn("in.flac: ", self.fails(1, *words))
        self.assertIn("out.wav: exists already", self.fails(1, *words, "-n"))
        self.assertIn("no folder", self.fails(1, *words[:-1], "none/out.wav"))

    def test_says_and_refuses(self):
        self.assertIn("the input is read twice", self.succeed("-i", "in.wav", "-p", "normalize:loudness=-20", "-o", "out.wav", "--dry-run"))
        plan = json.loads(self.succeed("-i", "in.wav", "-p", "normalize:loudness=-20", "-o", "out.wav", "--dry-run", "--json"))
        self.assertEqual(plan["passes"], 2)
        with open(self.path("in.wav"), "rb") as file:
            self.assertIn("name a file", self.fails(2, "-i", "-", "-p", "normalize:loudness=-20", "-o", "out.wav", stdin=file))
        with open(self.path("in.wav"), "rb") as file:
            self.assertIn("name a file", self.fails(2, "--concat", "-i", "in.wav", "-", "-p", "normalize:loudness=-20",
                                                    "-o", "out.wav", stdin=file))
        for stage, what in (("loudnorm", "give loudness"), ("normalize", "of sound give peak, as in normalize:peak=-1dBFS"),
                            ("normalize:peak=-1dB:mean=0.5", "give one or the other"), ("normalize:true_peak=yes", "give peak"),
                            ("normalize:peak=-1", "is out of range: expected 1e-06 to 1000, or decibels, -1dB")):
            self.assertIn(what, self.fails(2, "-i", "in.wav", "-p", stage, "-o", "out.wav"))
        done = self.run_command("-p", "tone:silence", "-p", "normalize:loudness=-20", "-o", "out.wav")
        self.assertEqual(done.returncode, 0)
        self.assertIn("normalize: the sound has no level that could be raised: it stays as it is", done.stderr)

    def test_images_in_one_pass(self):
        """The same operator on pictures measures nothing, and so takes a pipe; loudness it refuses."""
        harness.write_png(self.path("in.png"), [[0, 51], [102, 255]], 1)
        plan = json.loads(self.succeed("-i", "in.png", "-p", "normalize", "-o", "out.npy", "--dry-run", "--json"))
        self.assertEqual(plan["passes"], 1)
        self.succeed("-i", "in.png", "-p", "normalize", "-o", "a.npy")
        self.succeed("-i", "-", "-p", "normalize", "-o", "b.npy", input=self.read("in.png"), text=False)
        self.assertEqual(self.read("a.npy"), self.read("b.npy"))
        self.assertIn("of sound", self.fails(2, "-i", "in.png", "-p", "normalize:peak=-1dB", "-o", "o.npy"))

    def test_loudnorm_is_another_name(self):
        self.succeed("-i", "in.wav", "-p", "normalize:loudness=-20:peak=-4dB", "-o", "a.wav")
        self.succeed("-i", "in.wav", "-p", "loudnorm:-20:peak=-4dB", "-o", "b.wav")
        self.assertEqual(self.read("a.wav"), self.read("b.wav"))


class Dynamics(Case):
    STAGES = ("compand:-40,-40,-20,-30,0,-25:attack=0.002s:ahead=0.001", "gate:-20dB:hold=0.001:link=no",
              "limiter:-12dBFS:ahead=0.003s")

    def test_same_for_every_chunk(self):
        """Of each alone, and where a later stage looks around."""
        harness.write_wav(self.path("in.wav"), harness.tone(20000, 2), 2)
        for stage in self.STAGES:
            for after in ([], ["-p", "conv1d:[1,2,1]/4"]):
                self.succeed("-i", "in.wav", "-p", stage, *after, "-o", "a.wav", "--chunk", "20000", "-j", "1")
                for how in (["--chunk", "1"] if not after else ["--chunk", "64"], ["--chunk", "777", "-j", "4"]):
                    self.succeed("-q", "-i", "in.wav", "-p", stage, *after, "-o", "b.wav", *how)
                    self.assertEqual(self.read("a.wav"), self.read("b.wav"), (stage, how))

    def test_levels(self):
        for level, stage, want in ((0, "compand:-40,-40,-20,-30,0,-25:attack=0.001:decay=1", -25),
                                   (-60, "gate:-40dB:floor=-20dB", -80), (-20, "gate:-40dB", -20),
                                   (12, "limiter:-3dBFS", -3), (-9, "limiter:-3dBFS", -9)):
            self.succeed("-p", f"tone:square:freq=100:level={level}dB", "-p", stage, "-p",
                         "crop:start=24000:length=20000", "-p", "stats:rms", "--report", "r.json")
            got = 20 * math.log10(self.measured("r.json")["rms"])
            self.assertAlmostEqual(got, want, delta=0.1, msg=stage)

    def test_refuses(self):
        harness.write_wav(self.path("in.wav"), harness.tone(100))
        for text, what in (("compand:-20", "in pairs"), ("compand:-20,-20,-30,-30", "must increase"),
                           ("limiter:ahead=2", "ahead"), ("gate:5cm", "not a number")):
            self.assertIn(what, self.fails(2, "-i", "in.wav", "-p", text, "-o", "out.wav"))


class Cascades(Case):
    def test_neighbours_are_one_stage(self):
        """To the bits of the stages one by one, which stats between them, or --fuse=no, makes of them."""
        bands = [f"biquad:peak:freq={f}:gain={g}dB" for f, g in ((60, 3), (300, -2), (1000, 4), (3000, -5), (7000, 2))]
        chains = {"sections": bands, "of two operators": ["biquad:highpass:freq=80:sections=3", "equalizer:100,1k,5k:gain=3dB,-2dB,4dB", *bands[:2]],
                  "with others": [bands[0], bands[1], "gain:0.5", bands[2], "limiter", bands[3], bands[4]],
                  "more than 64 sections": ["biquad:lowpass:freq=9000:sections=40"] * 2 + ["biquad:lowpass:freq=12000:sections=3"]}
        for channels in (1, 2, 5):
            self.succeed("-q", "-p", f"tone:noise:length=30000:channels={channels}:level=0.3:rate=48000", "-p", "convert:i16", "-o", "in.wav")
            for what, stages in chains.items():
                for more in ([], ["--precision", "f64"]):
                    words = ["-q", "-i", "in.wav", *(w for s in stages for w in ("-p", s)), *more, "--device", "cpu"]
                    self.succeed(*words, "-o", "one.wav:dtype=f32", "--fuse", "no", "-j", "1")
                    for how in (["-j", "1"], ["-j", "3", "--chunk", "1000"]):
                        self.succeed(*words, "-o", "all.wav:dtype=f32", *how)
                        self.assertEqual(self.read("one.wav"), self.read("all.wav"), (channels, what, more, how))
                self.assertNotIn("cascade", self.succeed(*words, "-o", "o.wav", "--fuse", "no", "--dry-run"))
                self.assertIn("one cascade with the", self.succeed(*words, "-o", "o.wav", "--dry-run"))
        self.succeed("-q", "-i", "-", "-p", bands[0], "-p", bands[1], "-o", "pipe.wav", input=self.read("in.wav"), text=False)
        self.succeed("-q", "-i", "in.wav", "-p", bands[0], "-p", bands[1], "-o", "file.wav", "--fuse", "no")
        self.assertEqual(self.read("pipe.wav"), self.read("file.wav"))


class Pictures(Case):
    def test_spectrogram(self):
        """A tone of 2 kHz is the brightest row of the picture, the same for every number of threads and chunk."""
        self.succeed("-p", "tone:sine:freq=2000:length=32000:rate=16000:channels=2:level=0.9", "-o", "in.wav")
        self.succeed("-i", "in.wav", "-p", "spectrogram:axes=no:colors=gray:width=64:height=200", "-o", "a.png")
        picture, channels = harness.read_png(self.path("a.png"))
        self.assertEqual(channels, 1)
        column = [row[30] for row in picture]
        for panel in (column[:100], column[100:]):
            brightest = max(range(100), key=lambda y: panel[y])
            self.assertAlmostEqual(brightest, 75, delta=1)
            self.assertGreater(panel[brightest], 250)
            self.assertLess(panel[20], 40)
        self.succeed("-i", "in.wav", "-p", "spectrogram:axes=no:colors=gray:width=64:height=200", "-o", "b.png", "-j", "4",
                     "--chunk", "1")
        self.assertEqual(self.read("a.png"), self.read("b.png"))

    def test_from_a_pipe_and_after_stages(self):
        self.succeed("-p", "tone:noise:length=16000", "-o", "in.wav")
        self.succeed("-i", "-", "-p", "gain:0.5", "-p", "spectrogram:mel", "-o", "a.png", input=self.read("in.wav"),
                     text=False)
        self.succeed("-i", "in.wav", "-p", "gain:0.5", "-p", "spectrogram:mel", "-o", "b.png")
        self.assertEqual(self.read("a.png"), self.read("b.png"))
        self.succeed("-i", "in.wav", "-p", "waveform:width=300", "-o", "w.png")

    def test_piece_by_piece(self):
        """The picture does not depend on chunks, threads or how the sound comes; --dry-run says that it is drawn of a survey."""
        self.succeed("-p", "tone:noise:length=200000:channels=2:rate=48000", "-o", "in.wav")
        for stage in ("spectrogram:fft=512", "waveform"):
            self.succeed("-i", "-", "-p", "delay:0,7", "-p", stage, "-o", "pipe.png", input=self.read("in.wav"), text=False)
            for options in ([], ["-j", "1"], ["-j", "4", "--chunk", "5"]):
                self.succeed("-i", "in.wav", "-p", "delay:0,7", "-p", stage, "-o", "file.png", *options)
                self.assertEqual(self.read("file.png"), self.read("pipe.png"))
            self.assertIn("piece by piece", self.succeed("-i", "in.wav", "-p", stage, "-o", "file.png", "--dry-run"))

    def test_beside_measurements(self):
        """What measures ahead of a picture sees the sound once, what comes behind sees the picture."""
        self.succeed("-p", "tone:noise:length=20000:rate=48000", "-o", "in.wav")
        said = self.succeed("-i", "in.wav", "-p", "stats:count", "-p", "waveform:width=300:height=100", "-p", "stats:count", "-o", "out.png")
        self.assertEqual(re.findall(r"count\D*(\d+)", said), ["20000", "90000"])

    def test_refuses(self):
        self.succeed("-p", "tone:length=100:channels=40", "-o", "in.wav")
        self.assertIn("mix", self.fails(2, "-i", "in.wav", "-p", "waveform", "-o", "out.png"))
        self.succeed("-p", "tone:length=100", "-o", "in.wav")
        for text, what in (("spectrogram:high=30000", "half the rate"), ("spectrogram:width=20", "give 112"),
                           ("waveform:height=20", "height=20"), ("spectrogram:log:low=0", "log has not")):
            self.assertIn(what, self.fails(2, "-i", "in.wav", "-p", text, "-o", "out.png"))


class Plot(Case):
    def curves(self, *arguments):
        """The points of each curve, in pixels."""
        self.succeed("plot", *arguments, "-o", "p.svg")
        text = self.read("p.svg").decode()
        return [[tuple(map(float, p.split())) for p in re.split("[ML]", d) if p]
                for d in re.findall(r'stroke-width="1.6" d="([^"]*)"', text)]

    def at(self, curve, frequency, rate=48000):
        """The height of a curve at a frequency, from where the axis of frequencies lies."""
        x = 64 + math.log(frequency / 20) / math.log(rate / 2 / 20) * (860 - 64 - 20)
        return min(curve, key=lambda p: abs(p[0] - x))[1]

    def test_responses(self):
        magnitude, phase, delay = self.curves("-p", "gain:0.5", "-p", "conv1d:[0,0,1]")
        self.assertEqual(len(magnitude), 600)
        self.assertLess(max(y for _, y in magnitude) - min(y for _, y in magnitude), 0.1)
        self.assertLess(max(y for _, y in delay) - min(y for _, y in delay), 0.1)
        self.assertGreater(len(phase), 500)
        # Of linear phase: 0 degrees, and 180 where the gain is negative.
        _, phase, _ = self.curves("-p", "fir:lowpass=3k:taps=255")
        self.assertEqual(len({round(y / 4) for _, y in phase}), 2)
        # A low pass: 0, -3.01 and -12.3 dB; the axis of which ends at what the highest frequency has.
        low, _, _ = self.curves("-p", "biquad:lowpass:freq=1000")
        pass_, corner, octave = (self.at(low, f) for f in (50, 1000, 2000))
        self.assertAlmostEqual((octave - pass_) / (corner - pass_), 12.38 / 3.01, delta=0.15)

    def test_refuses(self):
        for stages, what in ((["gate"], "gate: it is not linear"), (["stft:64"], "stft: "), (["dither"], "dither: it is not linear"),
                             (["normalize:peak=-1dB"], "normalize: it depends on"), (["tone"], "tone"),
                             (["reverse"], "reverse: it needs the whole signal")):
            arguments = [a for stage in stages for a in ("-p", stage)]
            self.assertIn(what, self.fails(2, "plot", *arguments, "-o", "p.svg"))
        self.assertIn("plot needs", self.fails(2, "plot", "-p", "gain:2"))
        self.assertIn("name it p.svg", self.fails(2, "plot", "-p", "gain:2", "-o", "p.png"))

    def test_warns_once(self):
        """Though the chain is asked several times."""
        self.succeed("-p", "tone:noise:length=100:rate=44100", "-o", "room.wav")
        said = self.run_command("plot", "-p", "conv1d:room.wav", "-o", "p.svg").stderr
        self.assertEqual(said, "filterchain: warning: conv1d: room.wav is resampled from 44100 to 48000 Hz\n")

    def test_the_linear_part(self):
        done = self.run_command("plot", "-p", "gain:0.5", "-p", "compand:-20,-20,0,-10", "-p", "conv1d:[1,1]", "-o", "part.svg")
        self.assertEqual(done.returncode, 0)
        self.assertIn("compand: it is not linear, so it has no frequency response: it is left out", done.stderr)
        self.succeed("plot", "-p", "gain:0.5", "-p", "conv1d:[1,1]", "-o", "all.svg")
        curves = [re.findall(r'd="(M[^"]*)"', self.read(name).decode()) for name in ("part.svg", "all.svg")]
        self.assertTrue(curves[0])
        done = self.run_command("plot", "-p", "dither", "-p", "compand:-20,-20,0,-10", "-o", "none.svg")
        self.assertEqual((done.returncode, done.stderr.splitlines()[-1]), (2, "filterchain: no stage of the chain has a frequency response"))
        self.assertEqual(curves[0], curves[1])


class HistogramPlot(Case):
    def bars(self, name):
        """Of each panel the heights of its bars, in pixels."""
        panels = re.findall(r'fill="#1f5fb4" d="M[^L]*(L[^"]*)L[^L"]*Z"', self.read(name).decode())
        floors = [float(y) for y in re.findall(r'fill="#1f5fb4" d="M[0-9.]+ ([0-9.]+)L', self.read(name).decode())]
        return [[floor - float(point.split()[1]) for point in panel.split("L")[1::2]] for panel, floor in zip(panels, floors)]

    def test_with_stats(self):
        """Bars are as high as parts of the samples, which are counted here; nothing more is told than without."""
        harness.write_png(self.path("in.png"), [[10, 10, 20, 30] * 3, [10, 10, 30, 40] * 3], 1)
        plain = self.succeed("-i", "in.png", "-p", "stats")
        self.assertEqual(self.succeed("-i", "in.png", "-p", "stats", "--plot", "h.svg", "--report", "r.json"), plain)
        self.assertNotIn(b"bin", self.read("r.json"))
        (bars,) = self.bars("h.svg")
        self.assertEqual(len(bars), 256)
        filled = {code: height for code, height in enumerate(bars) if height > 0}
        self.assertEqual(sorted(filled), [10, 20, 30, 40])
        for code, part in ((10, 4), (20, 1), (30, 2), (40, 1)):
            self.assertAlmostEqual(filled[code] / filled[10], part / 4, places=3)

    def test_of_what_comes_out(self):
        """Behind all stages, a panel a channel; of a stage of one's own its bins."""
        self.succeed("-p", "tone:square:level=0.5:length=1000:channels=2", "-p", "gain:0.5", "--plot", "h.svg", "-o", "out.wav")
        panels = self.bars("h.svg")
        self.assertEqual([[i for i, height in enumerate(bars) if height > 0] for bars in panels], [[96, 160], [96, 160]])
        self.succeed("-i", "out.wav", "-p", "histogram:4", "-p", "gain:0", "--plot", "h.svg", "-o", "zero.wav", "-q")
        self.assertEqual([[i for i, height in enumerate(bars) if height > 0] for bars in self.bars("h.svg")], [[1, 2], [1, 2]])

    def test_refuses(self):
        harness.write_wav(self.path("in.wav"), harness.tone(100))
        harness.write_wav(self.path("b.wav"), harness.tone(100))
        for arguments, what in ((["-i", "in.wav", "--plot", "-"], "name a file"), (["-i", "in.wav", "--plot", "in.wav"], "would overwrite in.wav"),
                                (["-i", "in.wav", "b.wav", "-o", "out/", "--plot", "h.svg"], "give one input"),
                                (["-i", "in.wav", "--plot", "h.svg", "--report", "h.svg"], "would both write h.svg")):
            self.assertIn(what, self.fails(2, *arguments))


class Live(Case):
    """Sound through pipes that stay open: what has come is out again but for what the latency allows."""

    RATE, LATENCY = 48000, 0.02

    def begin(self, *arguments):
        process = subprocess.Popen([harness.COMMAND, "-i", "-", *arguments, "-o", "-", "--latency", "20ms"],
                                   cwd=self.folder, env=harness.fixed_environment(), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, bufsize=0)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, process, got, wanted):
        """Reads until so many bytes are there, or until it hangs."""
        deadline = time.monotonic() + harness.PATIENCE
        while len(got) < wanted and time.monotonic() < deadline:
            if select.select([process.stdout], [], [], 0.1)[0]:
                got += os.read(process.stdout.fileno(), 1 << 16)
        self.assertGreaterEqual(len(got), wanted)

    def follow(self, process, frame, header, held=LATENCY, piece=4800, ratio=1):
        got, sent, tone = bytearray(), 0, array.array("h", [int(9000 * math.sin(i / 9)) for i in range(piece)])
        for _ in range(5):
            process.stdin.write(tone.tobytes())
            sent += len(tone)
            self.wait_for(process, got, header + frame * int((sent - int(held * self.RATE)) * ratio))
        process.stdin.close()
        self.wait_for(process, got, header + frame * math.ceil(sent * ratio))
        got += process.stdout.read()  # a tail, of what rings on
        self.assertEqual(process.wait(harness.PATIENCE), 0)
        return bytes(got), tone * 5

    def test_raw(self):
        process = self.begin("--raw", "dtype=i16,channels=1,rate=48000", "--format", "raw", "-p", "limiter:0.9",
                             "-p", "conv1d:[0,1,0]", "-p", "convert:i16")
        got, sent = self.follow(process, 2, 0)
        self.assertEqual(got, sent.tobytes())

    RAW = ("--raw", "dtype=i16,channels=1,rate=48000", "--format", "raw")

    def test_no_more_is_held_than_it_says(self):
        """What --dry-run tells is the most that is missing at any time: of filters that look ahead, of recursive ones,
        of convolutions, which by transforms would hold blocks, and of all together."""
        harness.write_wav(self.path("in.wav"), harness.tone(10000), rate=self.RATE)
        self.write("mask.txt", "\n".join(str(math.sin(i) / (i + 1)) for i in range(3000)))
        for stages in (("fir:lowpass=3k:taps=301",), ("conv1d:mask.txt:mode=full",), ("equalizer:100,1k,5k:gain=3dB",),
                       ("compand:-70,-60,0,-20", "gate:-60dB"), ("delay:0",), ("fade:in=10ms",), ("mix:0",),
                       ("resample:44100:quality=best",), ("limiter", "resample:16k"),
                       ("equalizer:1k:gain=3dB", "conv1d:mask.txt:mode=full", "limiter:-1dB")):
            chain = [argument for stage in stages for argument in ("-p", stage)]
            plan = self.succeed("-i", "in.wav", *chain, "-o", "out.wav", "--latency", "20ms", "--dry-run")
            held = float(re.search(r"sound is held for ([0-9.e-]+) ms", plan).group(1)) / 1e3
            self.assertLessEqual(held, self.LATENCY, stages)
            process = self.begin(*self.RAW, *chain, "-p", "convert:i16")
            rate = re.search(r"resample:(\d+)", stages[-1].replace("k", "000"))
            self.follow(process, 2, 0, 1.005 * held, 1000, int(rate[1]) / self.RATE if rate else 1)  # it is told to three digits

    def test_wav(self):
        """Of a length that nobody knows, in and out."""
        process = self.begin("--format", "wav", "-p", "gain:1")
        process.stdin.write(harness.open_wav_header(1, self.RATE))
        got, sent = self.follow(process, 2, 44)
        self.assertEqual(got[:4] + got[8:12] + got[36:44], b"RIFFWAVEdata\xff\xff\xff\xff")
        self.assertEqual(got[44:], sent.tobytes())
        self.succeed("-i", self.write("open.wav", got), "-o", "closed.wav")
        self.assertEqual(self.read("closed.wav")[-len(sent) * 2:], sent.tobytes())

    def test_says_and_refuses(self):
        harness.write_wav(self.path("in.wav"), harness.tone(4000))
        self.assertIn("sound is held for", self.succeed("-i", "in.wav", "-p", "limiter", "-o", "out.wav", "--latency", "20ms",
                                                        "--dry-run"))
        for stages, latency, what in ((["loudness"], "20ms", "most of it for loudness"),
                                      (["limiter:ahead=0.1"], "0.05s", "most of it for limiter"),
                                      (["gain:1"], "20", "not a time"), (["gain:1"], "-3ms", "not a time"),
                                      (["waveform"], "20ms", "the whole sound at once")):
            arguments = [a for stage in stages for a in ("-p", stage)]
            output = "out.png" if stages == ["waveform"] else "out.wav"
            self.assertIn(what, self.fails(2, "-i", "in.wav", *arguments, "-o", output, "--latency", latency))


if __name__ == "__main__":
    harness.main()
