#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples that `filterchain inspect` prints, of every operator: each says in a few words what it does, and runs on the
medium that it names without a warning, so none clips."""
import os
import re
import shutil
import subprocess

import harness

MOST_WORDS = 8
BINS = 513  # of stft:1024


def examples_of(text):
    """(words, command) of each example in what inspect printed."""
    section = text.partition("\nEXAMPLES\n")[2].partition("\nPLUGIN\n")[0]
    return re.findall(r"^    # (.*)\n    (filterchain .*)$", section, re.M)


class Examples(harness.Case):
    def setUp(self):
        super().setUp()
        shipped = os.path.join(harness.SOURCE, "examples")
        for name in ("in.wav", "other.wav", "reference.wav"):
            shutil.copy(os.path.join(shipped, "speech.wav"), self.path(name))
        # Of less contrast than the shipped one, whose edges overshoot when they are sharpened, like those of any photograph.
        self.succeed("-i", os.path.join(shipped, "picture.png"), "-p", "levels:out_black=30:out_white=225", "-o", "in.png")
        shutil.copy(self.path("in.png"), self.path("reference.png"))
        shutil.copy(os.path.join(shipped, "mask.txt"), self.path("mask.txt"))
        harness.write_npy(self.path("in.npy"), (1, 20, 2 * BINS), [0.0] * (20 * 2 * BINS))

    def run_line(self, command):
        environment = harness.fixed_environment()
        environment["PATH"] = os.path.join(harness.BUILD, "cli") + ":" + environment["PATH"]
        return subprocess.run(["sh", "-c", command], cwd=self.folder, env=environment, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_every_example(self):
        for op in harness.operators():
            examples = examples_of(self.succeed("inspect", op["name"]))
            self.assertEqual(len(examples), len(op["examples_explained"]))
            self.assertTrue(examples, f"{op['name']} has no example with words")
            for words, command in examples:
                with self.subTest(command=command):
                    self.assertLessEqual(len(words.split()), MOST_WORDS, words)
                    done = self.run_line(command)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_examples_without_words(self):
        """Of other people's plugins, which need none: they are shown as before."""
        self.assertEqual(examples_of("\nEXAMPLES\n    filterchain -p x\n"), [])


if __name__ == "__main__":
    harness.main()
