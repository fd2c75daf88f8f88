#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sound as people who come from sox and ffmpeg edit it: times, rates, fades, several files to one."""
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
        self.assertIn("crop: start: 1s is a time, and the sample rate is not known: give samples", line)
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
        self.assertIn("is too far for one step", self.fails(2, "-i", "in.wav", "-p", "resample:1:quality=best", "-p", "resample:900M",
                                                            "-p", "resample:1:quality=best", "-o", "o.wav"))


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
                          ("fir:lowpass=300:width=1e-5", "are the most: make width larger")):
            self.assertIn(line, self.fails(2, "-i", "in.wav", "-p", fir, "-o", "o.wav"))
            self.assertIn(line, self.fails(2, "design", "-p", fir, "--rate", "16000"))
        self.assertEqual(self.fails(2, "design", "-p", "gain:2", "--rate", "8000"), "gain: it designs no mask")
        self.assertEqual(self.fails(2, "design"), "design needs one operator: -p fir:lowpass=3k --rate 48000")
        self.assertIn("the sample rate is not known", self.fails(2, "design", "-p", "fir:lowpass=300"))
        self.write("there.txt", "1")
        self.assertIn("there.txt: is there already", self.fails(1, "design", "-p", "fir:lowpass=1k", "--rate", "8000", "-n", "-o", "there.txt"))
        self.assertIn("No such file", self.fails(1, "design", "-p", "fir:lowpass=1k", "--rate", "8000", "-o", "no/mask.txt"))


if __name__ == "__main__":
    harness.main()
