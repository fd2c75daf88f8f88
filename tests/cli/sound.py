#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sound as people who come from sox and ffmpeg edit it: times, rates, fades, several files to one."""
import math
import os
import resource

import harness


def counting(length, first=0):
    """Samples that tell where they were."""
    return [i % 30000 for i in range(first, first + length)]


class Times(harness.Case):
    def test_a_time_where_samples_are_counted(self):
        harness.write_wav(self.path("in.wav"), counting(24000), rate=8000)
        for start, first in (("1.5s", 12000), ("250ms", 2000), ("0:00:02", 16000), ("00:00:02.5", 20000), ("'0:01'", 8000)):
            self.succeed("-i", "in.wav", "-p", f"crop:start={start}:length=10ms", "-o", "out.wav")
            self.assertEqual(harness.read_wav(self.path("out.wav")), (counting(80, first), 1, 8000), start)

    def test_files_of_several_rates(self):
        rates = (8000, 11025, 48000)
        for rate in rates:
            harness.write_wav(self.path(f"in{rate}.wav"), counting(rate), rate=rate)
        self.succeed("-i", *(f"in{rate}.wav" for rate in rates), "-p", "crop:start=0.25s", "-o", "out/", "-j", "2")
        for rate in rates:
            first = int(rate * 0.25 + 0.5)
            self.assertEqual(harness.read_wav(self.path(f"out/in{rate}.wav")), (counting(rate - first, first), 1, rate))

    def test_a_generator(self):
        self.succeed("-p", "tone:silence:length=1.5s:rate=44.1k", "-p", "convert:i16", "-o", "out.wav")
        self.assertEqual(harness.read_wav(self.path("out.wav")), ([0] * 66150, 1, 44100))

    def test_frequencies(self):
        harness.write_wav(self.path("in.wav"), counting(1000), rate=48000)
        self.succeed("-i", "in.wav", "-p", "biquad:lowpass:freq=3.5kHz", "-o", "a.wav")
        self.succeed("-i", "in.wav", "-p", "biquad:lowpass:freq=3500", "-o", "b.wav")
        self.assertEqual(self.read("a.wav"), self.read("b.wav"))

    def test_mistakes(self):
        harness.write_wav(self.path("in.wav"), counting(8000), rate=8000)
        harness.write_npy(self.path("in.npy"), (4, 5), [0] * 20)
        line = self.fails(2, "-i", "in.npy", "-p", "crop:start=1s", "-o", "o.npy")
        self.assertIn("crop: start: 1s is a time, but the sample rate is unknown: give a number of samples", line)
        line = self.fails(2, "-i", "in.wav", "-p", "fade:in=1:30", "-o", "o.wav")
        self.assertEqual(line, """fade: "30" belongs to no parameter: a time is written with its hours, 0:01:30, or in quotes, '1:30'""")
        line = self.fails(2, "-i", "in.wav", "-p", "crop:start=2sec", "-o", "o.wav")
        self.assertIn("crop: start: 2sec is not a number, nor a time such as 1.5s: expected 0 to", line)
        line = self.fails(2, "-i", "in.wav", "-p", "crop:length=0s", "-o", "o.wav")
        self.assertIn("crop: length: 0s is 0 samples at 8000 Hz: expected 1 to 1099511627776 samples", line)


class Rates(harness.Case):
    def setUp(self):
        super().setUp()
        harness.write_wav(self.path("in.wav"), harness.tone(30000, 2, 44100), 2, 44100)

    def test_any_cut_gives_the_same_bytes(self):
        for to, length in (("48k", 32654), ("44101", 30001), ("8000", 5443)):
            self.succeed("-i", "in.wav", "-p", f"resample:{to}", "-p", "conv1d:[1,2,1]/4", "-o", "whole.wav", "-j", "1", "--chunk", "100000")
            samples, channels, rate = harness.read_wav(self.path("whole.wav"))
            self.assertEqual((len(samples), channels, rate), (2 * length, 2, int(to.replace("k", "000"))))
            for chunk in (333, 4096):
                self.succeed("-i", "in.wav", "-p", f"resample:{to}", "-p", "conv1d:[1,2,1]/4", "-o", "cut.wav", "-j", "2", "--chunk", str(chunk))
                self.assertEqual(self.read("whole.wav"), self.read("cut.wav"), (to, chunk))

    def test_a_stream_without_an_end(self):
        self.succeed("-i", "in.wav", "-p", "resample:48k", "-o", "file.wav")
        open_end = harness.open_wav_header(2, 44100) + self.read("in.wav")[44:]
        got = self.succeed("-i", "-", "-p", "resample:48k", "-o", "-", "--format", "wav", input=open_end, text=False)
        self.assertEqual(got[-2 * 2 * 32654:], self.read("file.wav")[-2 * 2 * 32654:])

    def test_there_and_back(self):
        """A chirp below both Nyquist frequencies comes back, but for the rounding to 16 bits and the click's overtones."""
        self.succeed("-i", "in.wav", "-p", "crop:length=14000", "-p", "resample:96k:quality=best", "-p", "resample:44.1kHz:quality=best",
                     "-o", "back.wav")
        want, got = harness.read_wav(self.path("in.wav"))[0], harness.read_wav(self.path("back.wav"))[0]
        self.assertEqual(len(got), 28002)  # the end lies between two samples of 96 kHz
        self.assertLessEqual(max(abs(a - b) for a, b in zip(want[2000:26000], got[2000:26000])), 1)

    def test_mistakes(self):
        harness.write_png(self.path("in.png"), [[1, 2], [3, 4]], 1)
        self.assertIn("works on audio, not on images", self.fails(2, "-i", "in.png", "-p", "resample:8000", "-o", "o.png"))
        self.assertIn("is too large a ratio for one step", self.fails(2, "-i", "in.wav", "-p", "resample:1:quality=best", "-p", "resample:900M",
                                                            "-p", "resample:1:quality=best", "-o", "o.wav"))

    def test_an_impulse_response_at_another_rate(self):
        response = [int(2500 * math.exp(-i / 40) * math.sin(i / 5)) for i in range(300)]
        harness.write_wav(self.path("hall.wav"), response, rate=16000)
        self.succeed("-i", "hall.wav", "-p", "resample:44100:quality=best", "-p", "gain:0.36281179138321995", "-p", "convert:f32",
                     "-o", "hall.npy")
        done = self.run_command("-i", "in.wav", "-p", "conv1d:hall.wav", "-o", "a.wav")
        self.assertEqual((done.returncode, done.stderr), (0, "filterchain: warning: conv1d: hall.wav is resampled from 16000 to 44100 Hz\n"))
        self.succeed("-i", "in.wav", "-p", "conv1d:hall.npy", "-o", "b.wav")
        a, b = harness.read_wav(self.path("a.wav"))[0], harness.read_wav(self.path("b.wav"))[0]
        self.assertGreater(max(map(abs, a)), 1000)
        self.assertLessEqual(max(abs(x - y) for x, y in zip(a, b)), 1)


class Spectra(harness.Case):
    def test_there_and_back_gives_the_length(self):
        """From a file and from a stream whose end nobody knows, through stages that leave the frames alone."""
        for length in (1, 15, 16, 4000, 4001, 4015):
            samples = harness.tone(length, 2)
            harness.write_wav(self.path("in.wav"), samples, 2)
            for chain in (("stft:64:hop=16", "istft:64:hop=16"), ("stft:64:hop=16", "gain:2", "gain:0.5", "istft:64:hop=16"),
                          ("stft:64:hop=16:center=no:window=hamming", "istft:64:hop=16:center=no:window=hamming")):
                stages = [word for stage in chain for word in ("-p", stage)]
                self.succeed("-i", "in.wav", *stages, "-o", "out.wav")
                self.assertEqual(harness.read_wav(self.path("out.wav"))[0], list(samples), (length, chain))
                got = self.succeed("-i", "-", *stages, "-o", "-", "--format", "wav", "--chunk", "100", text=False,
                                   input=harness.open_wav_header(2) + self.read("in.wav")[44:])
                self.assertEqual(got.split(b"data", 1)[1][4:], self.read("in.wav")[44:], (length, chain))

    def test_frames_that_were_cut_have_a_length_of_their_own(self):
        harness.write_wav(self.path("in.wav"), harness.tone(4001))
        self.succeed("-i", "in.wav", "-p", "stft:64:hop=16", "-p", "crop:length=100", "-p", "istft:64:hop=16", "-o", "out.wav")
        self.assertEqual(len(harness.read_wav(self.path("out.wav"))[0]), 99 * 16)


class Edits(harness.Case):
    def setUp(self):
        super().setUp()
        harness.write_wav(self.path("in.wav"), counting(8000), rate=8000)

    def result(self, *stages, source="in.wav", how=()):
        self.succeed("-i", source, *(word for stage in stages for word in ("-p", stage)), "-o", "out.wav", *how)
        return harness.read_wav(self.path("out.wav"))[0]

    def test_trim(self):
        self.assertEqual(self.result("trim:0.5s"), counting(4000, 4000))
        self.assertEqual(self.result("trim:0.25s:to=0:00:00.5"), counting(2000, 2000))
        self.assertEqual(self.result("trim:from=5:length=10ms"), counting(80, 5))
        self.assertEqual(self.result("resample:8k", "trim:0:00:00.5:to=0:00:01"), counting(4000, 4000))
        for trim, line in (("trim:1s", "nothing would be left: it begins at sample 8000, and the sound ends at 8000, 1.000 s"),
                           ("trim:0:to=1.5s", "sample 12000 is beyond the end of the sound, which is at 8000, 1.000 s"),
                           ("trim:5:to=5", "to=5 is not behind from=5"), ("trim:5:to=8:length=3", "give to or length, not both")):
            self.assertEqual(self.fails(2, "-i", "in.wav", "-p", trim, "-o", "o.wav").split("trim: ", 1)[-1], line)

    def test_delay(self):
        self.assertEqual(self.result("delay:10ms"), [0] * 80 + counting(8000))
        harness.write_wav(self.path("two.wav"), counting(200), 2, 8000)
        got = self.result("delay:0,4", source="two.wav")
        self.assertEqual((got[0::2], got[1::2]), (counting(200)[0::2] + [0] * 4, [0] * 4 + counting(200)[1::2]))
        self.assertIn("2 delays for 1 channel", self.fails(2, "-i", "in.wav", "-p", "delay:1,2", "-o", "o.wav"))

    def test_a_time_for_images(self):
        self.assertIn("did you mean before=1s or after=1s?", self.fails(2, "-i", "in.wav", "-p", "pad:1s", "-o", "o.wav"))

    def test_reverse(self):
        self.assertEqual(self.result("reverse", how=("--chunk", "777")), counting(8000)[::-1])
        self.assertEqual(self.result("reverse", "reverse"), counting(8000))

    def test_what_is_held_is_told(self):
        """Of a pipe whose header does not say how long it is."""
        pipe = harness.open_wav_header() + bytes(2 * 5000)
        for stage, out, held in (("reverse", "out.wav", True), ("spectrogram", "out.png", True), ("gain:0.5", "out.wav", False)):
            told = self.succeed("-i", "-", "-p", stage, "-o", out, "--dry-run", input=pipe, text=False).decode()
            self.assertEqual("; held in memory, since its length was not known\n" in told, held, told)

    def test_reverse_piece_by_piece(self):
        """Files are read from their end, what stands ahead of it is asked for backwards, with its borders; the rest is held."""
        self.succeed("-p", "tone:noise:length=50000:channels=2:rate=48000", "-p", "convert:i16", "-o", "in.wav")
        ahead = ["-p", "gain:0.5", "-p", "conv1d:[1,2,3,4,5]/15:border=reflect", "-p", "resample:44100"]
        self.succeed("-q", "-i", "in.wav", *ahead, "-o", "ahead.wav")
        want = harness.read_wav(self.path("ahead.wav"))[0]
        for name in ("in.wav", "in.aiff", "in.flac", "in.caf", "in.w64", "in.ogg"):
            if name != "in.wav":
                self.succeed("-q", "-i", "in.wav", "-o", name)
            for how in (["--chunk", "1000", "-j", "2"], ["--chunk", "7001", "-j", "1"], []):
                done = self.succeed("-i", name, *ahead, "-p", "reverse", "-o", "out.wav", *how, "--dry-run")
                self.assertEqual("backwards" in done, name != "in.ogg", name)
                self.succeed("-q", "-i", name, *ahead, "-p", "reverse", "-o", "out.wav", *how)
                got = harness.read_wav(self.path("out.wav"))[0]
                if name == "in.ogg":
                    self.assertEqual(len(got), len(want))
                    continue
                self.assertEqual(got[0::2][::-1], want[0::2], (name, how))
                self.assertEqual(got[1::2][::-1], want[1::2], (name, how))
        for held in (["-p", "biquad:lowpass:freq=1000"], ["-p", "stats"], ["-p", "mixin:in.wav"]):
            self.assertNotIn("backwards", self.succeed("-i", "in.wav", *held, "-p", "reverse", "-o", "out.wav", "--dry-run"))
        self.succeed("-q", "-p", "tone:length=30000:channels=1", "-p", "reverse", "-p", "convert:i16", "-o", "a.wav", "--chunk", "1000")
        self.succeed("-q", "-p", "tone:length=30000:channels=1", "-p", "convert:i16", "-o", "b.wav")
        self.assertEqual(harness.read_wav(self.path("a.wav"))[0][::-1], harness.read_wav(self.path("b.wav"))[0])

    def test_fade(self):
        harness.write_wav(self.path("flat.wav"), [10000] * 8000, rate=8000)
        for shape, curve in (("linear", lambda u: u), ("cosine", lambda u: (1 - math.cos(math.pi * u)) / 2),
                             ("power", lambda u: math.sin(math.pi / 2 * u)), ("log", lambda u: 10 ** (-5 * (1 - u)) if u else 0)):
            got = self.result(f"fade:in=250ms:out=0.5s:shape={shape}", source="flat.wav")
            for i in range(8000):
                want = 10000 * curve(min(i / 2000, 1)) * curve(min((7999 - i) / 4000, 1))
                self.assertLess(abs(got[i] - want), 0.51, (shape, i))
            self.assertEqual(got, self.result(f"fade:in=250ms:out=0.5s:shape={shape}", source="flat.wav", how=("-q", "--chunk", "100", "-j", "2")))
        self.assertIn("a fade of 16000 samples is longer than the sound, which has 8000",
                      self.fails(2, "-i", "in.wav", "-p", "fade:out=2s", "-o", "o.wav"))

    def test_a_fade_where_a_stream_ends(self):
        """Nobody knows where, until it does."""
        self.result("fade:in=10ms:out=300ms")
        stream = harness.open_wav_header(1, 8000) + self.read("in.wav")[44:]
        for chunk in ("64", "1000", "100000"):
            got = self.succeed("-q", "-i", "-", "-p", "fade:in=10ms:out=300ms", "-o", "-", "--format", "wav", "--chunk", chunk, input=stream,
                               text=False)
            self.assertEqual(got[-16000:], self.read("out.wav")[-16000:], chunk)


class Concatenation(harness.Case):
    def setUp(self):
        super().setUp()
        for name, first in (("a.wav", 0), ("b.wav", 900), ("c.wav", 2000)):
            harness.write_wav(self.path(name), counting(700 + first, first), rate=8000)

    def test_one_after_another(self):
        want = counting(700) + counting(1600, 900) + counting(2700, 2000)
        for how in ((), ("--chunk", "300"), ("--chunk", "701", "-j", "2")):
            self.succeed("--concat", "-i", "a.wav", "b.wav", "c.wav", "-o", "out.wav", *how)
            self.assertEqual(harness.read_wav(self.path("out.wav")), (want, 1, 8000))
        self.succeed("--concat", "-i", "a.wav", "b.wav", "c.wav", "-p", "trim:699:length=3", "-o", "cut.wav")
        self.assertEqual(harness.read_wav(self.path("cut.wav"))[0], [699, 900, 901])
        self.succeed("--concat", "-i", "a.wav", "-o", "one.wav")
        self.assertEqual(harness.read_wav(self.path("one.wav"))[0], counting(700))

    def test_more_than_may_be_open_at_first(self):
        few = (30, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        harness.write_wav(self.path("one.wav"), counting(2), rate=8000)
        self.succeed("--concat", "-i", *["one.wav"] * 60, "-o", "out.wav",
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few))
        self.assertEqual(harness.read_wav(self.path("out.wav"))[0], counting(2) * 60)

    def test_folders_and_patterns(self):
        """Stand for their files in the order of their names, without the output of an earlier run; a missing one is named."""
        os.mkdir(self.path("d"))
        for i, name in enumerate(("b.wav", "a10.wav", "a2.wav")):
            harness.write_wav(self.path("d/" + name), [i + 1] * 10, rate=8000)
        want = [2] * 10 + [3] * 10 + [1] * 10
        for inputs, more in ((["d"], []), (["d/*.wav"], []), (["d/"], ["-r"]), (["d/a*.wav", "d/b.wav"], [])):
            self.succeed("--concat", "-i", *inputs, "-o", "d/out.wav", *more)
            self.assertEqual(harness.read_wav(self.path("d/out.wav"))[0], want, inputs)
        self.succeed("--concat", "-i", "d/a2.wav", "d/a1*", "-p", "reverse", "-o", "out.wav", "--chunk", "7")
        self.assertEqual(harness.read_wav(self.path("out.wav"))[0], [2] * 10 + [3] * 10)
        self.assertIn("backwards", self.succeed("--concat", "-i", "d", "-p", "reverse", "-o", "out.wav", "--dry-run"))
        self.assertEqual(self.fails(1, "--concat", "-i", "x*.wav", "-o", "out.wav"), "x*.wav: no file matches this pattern")

    def test_a_stream_among_them(self):
        stream = harness.open_wav_header(1, 8000) + self.read("b.wav")[44:]
        self.succeed("--concat", "-i", "a.wav", "-", "c.wav", "-p", "reverse", "-o", "out.wav", input=stream, text=False)
        self.assertEqual(harness.read_wav(self.path("out.wav"))[0][::-1], counting(700) + counting(1600, 900) + counting(2700, 2000))

    def test_element_types(self):
        self.succeed("-i", "b.wav", "-p", "convert:u8", "-o", "b8.wav")
        self.succeed("-i", "b.wav", "-p", "convert:f32", "-o", "bf.wav")
        self.succeed("--concat", "-i", "a.wav", "bf.wav", "-o", "out.wav")
        self.assertEqual(harness.read_wav(self.path("out.wav"))[0], counting(700) + counting(1600, 900))
        self.succeed("--concat", "-i", "a.wav", "b8.wav", "-o", "out.wav")
        self.assertLessEqual(max(abs(a - b) for a, b in zip(harness.read_wav(self.path("out.wav"))[0],
                                                            counting(700) + counting(1600, 900))), 128)

    def test_mistakes(self):
        harness.write_wav(self.path("fast.wav"), counting(10), rate=16000)
        harness.write_wav(self.path("two.wav"), counting(10), 2, 8000)
        harness.write_png(self.path("in.png"), [[1, 2], [3, 4]], 1)
        for other, line in (("fast.wav", "fast.wav: 16000 Hz cannot follow 8000 Hz of a.wav; resample one of them"),
                            ("two.wav", "two.wav: 2 channels cannot follow 1 of a.wav; mix one of them"),
                            ("in.png", "in.png: only sounds can follow each other in one output")):
            self.assertEqual(self.fails(2, "--concat", "-i", "a.wav", other, "-o", "o.wav"), line)
        self.assertIn("no.wav: cannot be opened: No such file", self.fails(1, "--concat", "-i", "a.wav", "no.wav", "-o", "o.wav"))
        self.assertIn("--report would overwrite b.wav", self.fails(2, "--concat", "-i", "a.wav", "b.wav", "-p", "stats", "--report", "b.wav"))
        self.assertIn("--concat joins sounds", self.fails(2, "-i", "a.wav", "b.wav", "-o", "o.wav"))
        self.assertNotIn("o.wav", self.files())


class Design(harness.Case):
    def test_a_designed_mask_is_what_fir_convolves_with(self):
        harness.write_wav(self.path("in.wav"), harness.tone(9000, 2), 2)
        for fir, taps in (("fir:lowpass=3k:taps=255", 255), ("fir:bandpass=300,3400:atten=60dB:width=100", 583),
                          ("fir:highpass=80:window=hann:taps=401", 401), ("fir:bandstop=1k,1.1kHz:beta=5", 255),
                          ("fir:lowpass=500:taps=20", 20)):
            self.succeed("design", "-p", fir, "--rate", "16000", "-o", "mask.txt")
            self.assertEqual(len([line for line in self.read("mask.txt").splitlines() if not line.startswith(b"#")]), taps)
            self.succeed("-i", "in.wav", "-p", fir, "-o", "a.wav")
            self.succeed("-i", "in.wav", "-p", "conv1d:mask.txt", "-o", "b.wav")
            self.assertEqual(self.read("a.wav"), self.read("b.wav"), fir)
        self.assertEqual(self.succeed("design", "-p", "fir:lowpass=500:taps=20", "--rate", "16000").encode(), self.read("mask.txt"))

    def test_mistakes(self):
        harness.write_wav(self.path("in.wav"), harness.tone(900))
        for fir, line in (("fir:taps=3", "fir: give one of lowpass, highpass, bandpass and bandstop, as in fir:lowpass=3k"),
                          ("fir:lowpass=8k", "fir: lowpass=8k is not below half the sample rate, 8000 Hz"),
                          ("fir:bandpass=300", "fir: 300: a band has two edges, the lower first, as in 300,3400"),
                          ("fir:highpass=300:taps=4", "fir: taps=4: a filter that passes half the sample rate has an odd number of taps"),
                          ("fir:lowpass=300:taps=2:window=hann", "fir: taps=2: this window is 0 at both ends, so the mask would be 0: give more taps"),
                          ("fir:lowpass=300:taps=2:window=blackman", "fir: taps=2: this window is 0 at both ends, so the mask would be 0: give more taps"),
                          ("fir:lowpass=300:width=1e-5", "are possible: make width larger")):
            self.assertIn(line, self.fails(2, "-i", "in.wav", "-p", fir, "-o", "o.wav"))
            self.assertIn(line, self.fails(2, "design", "-p", fir, "--rate", "16000"))
        self.assertEqual(self.fails(2, "design", "-p", "gain:2", "--rate", "8000"), "gain: it does not design a mask")
        self.assertEqual(self.fails(2, "design"), "design needs one operator: -p fir:lowpass=3k --rate 48000")
        self.assertIn("the sample rate is not known", self.fails(2, "design", "-p", "fir:lowpass=300"))
        self.write("there.txt", "1")
        self.assertIn("there.txt: exists already", self.fails(1, "design", "-p", "fir:lowpass=1k", "--rate", "8000", "-n", "-o", "there.txt"))
        self.assertIn("No such file", self.fails(1, "design", "-p", "fir:lowpass=1k", "--rate", "8000", "-o", "no/mask.txt"))


if __name__ == "__main__":
    harness.main()
