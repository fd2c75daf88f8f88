#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Loudness, dynamics, equalizers and pictures of sound, by the command."""
import json
import math

import harness


class Case(harness.Case):
    def measured(self, report, channel=None):
        """What a report tells of all channels together, or of one."""
        told = json.loads(self.read(report))["files"][0]["measurements"]
        return {m["name"]: m["value"] for m in told if m["channel"] == channel}


class Equalizer(Case):
    def test_is_biquads_in_a_row(self):
        """One pass makes the bits of so many stages in double precision, mono and stereo."""
        for channels in (1, 2, 3):
            harness.write_wav(self.path("in.wav"), harness.tone(6000, channels), channels)
            self.succeed("-i", "in.wav", "--precision", "f64", "-p", "gain:0.25", "-p",
                         "equalizer:100,500,2000,5000:gain=6dB,-3dB,2dB,0.5:q=0.7,1.4,2,0.7:ends=shelf",
                         "-o", "a.npy")
            self.succeed("-i", "in.wav", "--precision", "f64", "-p", "gain:0.25",
                         "-p", "biquad:lowshelf:freq=100:gain=6dB:q=0.7", "-p", "biquad:peak:freq=500:gain=-3dB:q=1.4",
                         "-p", "biquad:peak:freq=2000:gain=2dB:q=2", "-p", "biquad:highshelf:freq=5000:gain=0.5:q=0.7",
                         "-o", "b.npy")
            self.assertEqual(self.read("a.npy"), self.read("b.npy"))

    def test_gain_at_a_band(self):
        """A tone at the centre of a band is raised by what was said."""
        self.succeed("-p", "tone:sine:freq=1000:length=48000:level=0.1", "-p", "equalizer:1000:gain=+6dB", "-p",
                     "crop:start=24000:length=24000", "-p", "stats:rms", "--report", "r.json")
        self.assertAlmostEqual(20 * math.log10(self.measured("r.json")["rms"] / (0.1 / math.sqrt(2))), 6, places=3)

    def test_refuses(self):
        harness.write_wav(self.path("in.wav"), harness.tone(100))
        for text, what in (("equalizer:100,200:gain=1,2,3", "3 values for 2 bands"),
                           ("equalizer:200,100:gain=1:ends=shelf", "from low to high"),
                           ("equalizer:100:gain=1:ends=shelf", "give two"),
                           ("equalizer:9000:gain=2", "half the sample rate")):
            self.assertIn(what, self.fails(2, "-i", "in.wav", "-p", text, "-o", "out.wav"))


if __name__ == "__main__":
    harness.main()
