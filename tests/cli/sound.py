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


if __name__ == "__main__":
    harness.main()
