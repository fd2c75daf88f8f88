#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples of examples/plugins: built against an installed copy without a warning, checked, and used on files.

    examples.py BUILD_FOLDER SOURCE_FOLDER MESON
"""
import collections
import os
import re
import shutil

from installed import MESON, Installed, has_nvcc
import harness


class Examples(Installed):
    def run_one(self, *arguments):
        self.call("filterchain", "--plugin-dir", self.path("plugins/build"), *arguments)

    def build(self, *options):
        self.call(MESON, "setup", "build", "--werror", *options, cwd=self.path("plugins"))
        self.call("ninja", "-C", "build", cwd=self.path("plugins"))
        self.assertIn("Ok:                 6", self.call(MESON, "test", "-C", "build", cwd=self.path("plugins")))

    def test_with_nvcc(self):
        if not has_nvcc():
            self.skipTest("no nvcc here")
        shutil.copytree(os.path.join(harness.SOURCE, "examples", "plugins"), self.path("plugins"))
        self.build("-Dcuda=enabled")
        self.assertIn('"cuda"', self.call("filterchain", "inspect", "plugins/build/median.so", "--json"))

    def test_built_checked_and_used(self):
        source = os.path.join(harness.SOURCE, "examples", "plugins")
        lines = collections.Counter() # of an example's files together
        for name in os.listdir(source):
            with open(os.path.join(source, name), encoding="utf-8") as file:
                lines[re.split("[._]", name)[0]] += len(file.readlines())
        self.assertLess(max(lines.values()), 120, lines)
        project = self.path("plugins")
        shutil.copytree(source, project)
        self.build("-Dcuda=disabled")

        # A click goes; a step stays.
        harness.write_wav(self.path("in.wav"), [0, 0, 9000, 0, 0, 500, 500, 500])
        self.run_one("-i", "in.wav", "-p", "median:3", "-o", "out.wav")
        self.assertEqual(harness.read_wav(self.path("out.wav"))[0], [0, 0, 0, 0, 0, 500, 500, 500])

        # Open for three samples from where the key is loud.
        harness.write_wav(self.path("pad.wav"), [1000] * 10)
        harness.write_wav(self.path("key.wav"), [0, 0, 20000, 0, 0, 0, -20000, 0])
        self.run_one("-i", "pad.wav", "-p", "gate:key.wav:threshold=0.5:hold=3:closed=0.5", "-o", "out.wav")
        self.assertEqual(harness.read_wav(self.path("out.wav"))[0], [500, 500, 1000, 1000, 1000, 500, 1000, 1000, 1000, 500])

        # 1 - strength (u^2 + v^2) / 2 at the pixels' centres.
        self.write("in.raw", bytes([200] * 8))
        self.run_one("-i", "in.raw", "--raw", "dtype=u8,width=4,height=2,channels=1", "-p", "vignette:0.8", "-p", "convert:u8", "-o", "out.raw")
        want = [round(200 * (1 - 0.4 * (((2 * x - 3) / 4) ** 2 + ((2 * y - 1) / 2) ** 2))) for y in range(2) for x in range(4)]
        self.assertEqual(list(self.read("out.raw")), want)

        # Black becomes the dark colour, white the light one.
        self.write("in.raw", bytes([0, 0, 0, 255, 255, 255]))
        self.run_one("-i", "in.raw", "--raw", "dtype=u8,width=2,height=1,channels=3", "-p", "duotone:dark=20,0,60:light=250,220,160", "-p", "convert:u8", "-o", "out.raw")
        self.assertEqual(list(self.read("out.raw")), [20, 0, 60, 250, 220, 160])

        # What neighbours differ is enlarged; an end is its own neighbour.
        harness.write_wav(self.path("in.wav"), [1000, 1000, 3000, 3000])
        self.run_one("-i", "in.wav", "-p", "crisp:0.5", "-o", "out.wav")
        self.assertEqual(harness.read_wav(self.path("out.wav"))[0], [1000, 500, 3500, 3000])

        # What stands out goes half of the way, also in a corner; an edge stays.
        rows = [[90, 10, 10, 50], [10, 10, 10, 50], [10, 0, 10, 50]]
        self.write("in.raw", bytes(sum(rows, [])))
        self.run_one("-i", "in.raw", "--raw", "dtype=u8,width=4,height=3,channels=1", "-p", "despeckle:0.5", "-p", "convert:u8", "-o", "out.raw")
        rows[0][0], rows[2][1] = 50, 5
        self.assertEqual(list(self.read("out.raw")), sum(rows, []))


if __name__ == "__main__":
    harness.main()
