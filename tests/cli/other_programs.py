#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/from-sox-ffmpeg-vips.md: the commands on both sides run, and give the same result unless "differs" is noted. Rows of
a program that is not installed are skipped; readme.py runs all commands on the right."""
import collections
import os
import re
import shutil
import subprocess
import unittest

import harness

LEAST = 50  # dB of PSNR
PAGE = os.path.join(harness.SOURCE, "docs", "from-sox-ffmpeg-vips.md")


def rows():
    """(program, its command, ours, whether a difference is noted)"""
    with open(PAGE, encoding="utf-8") as file:
        for theirs, ours, note in re.findall(r"^\| `([^`]*)` \| `(filterchain [^`]*)`(.*) \|$", file.read(), re.M):
            program = theirs.split()[0]
            if program in ("sox", "ffmpeg", "vips"):
                yield program, theirs, ours, "differs" in note


class OtherPrograms(harness.Case):
    def make_media(self):
        for name in ("a.wav", "b.wav"):
            shutil.copy(os.path.join(harness.SOURCE, "examples", "speech.wav"), self.path(name))
        for name in ("in.png", "b.png"):
            shutil.copy(os.path.join(harness.SOURCE, "examples", "picture.png"), self.path(name))
        self.succeed("-i", "a.wav", "-p", "mix:0,0", "-p", "gain:1,0.5", "-o", "in.wav")
        self.succeed("-i", "in.png", "-o", "in.jpg")
        self.write("mask.mat", "3 3 16 0\n1 2 1\n2 4 2\n1 2 1\n")

    def output_of(self, command):
        """Runs a command and returns the name of its output, which is renamed after the program, or None."""
        program = command.split()[0]
        environment = harness.fixed_environment()
        environment["PATH"] = os.path.join(harness.BUILD, "cli") + ":" + environment["PATH"]
        done = subprocess.run(["sh", "-c", command], cwd=self.folder, env=environment, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        for name in os.listdir(self.folder):
            if name.startswith("out."):
                os.replace(self.path(name), self.path(program + name[3:]))
                return program + name[3:]
        return None

    def test_pairs(self):
        self.make_media()
        same = collections.Counter()
        for program, theirs, ours, differs in rows():
            if not shutil.which(program):
                continue
            with self.subTest(theirs=theirs):
                wanted, got = self.output_of(theirs), self.output_of(ours)
                if not differs:
                    done = self.run_command("-i", got, "-p", "convert:f32", "-p", f"compare:{wanted}:psnr={LEAST}")
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    same[program] += 1
        if not same:
            raise unittest.SkipTest("sox, ffmpeg and vips are not installed")
        self.assertGreaterEqual(min(same.values()), 7)


if __name__ == "__main__":
    harness.main()
