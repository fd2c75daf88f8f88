#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What filterchain-bench, whose path is the first argument, says of operators: figures that JSON can hold
whatever a mask is called, nothing else, and mistakes as the command reports them."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))


class Operators(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_bench(self, *arguments):
        return subprocess.run([PROGRAM, "--device", "cpu", "--repeats", "1", *arguments], cwd=self.folder.name,
                              capture_output=True, text=True, check=False)

    def test_json(self):
        with open(os.path.join(self.folder.name, 'a"b.txt'), "w", encoding="ascii") as mask:
            mask.write("900\n")  # which clips all integers
        done = self.run_bench("--json", "-p", 'conv1d:a"b.txt')
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for line in done.stdout.splitlines():
            self.assertEqual(json.loads(line)["operator"], 'conv1d:a"b.txt')
        self.assertEqual(len(done.stdout.splitlines()), 4)

    def test_mistakes(self):
        for stage, name in (("gain:loud", "gain"), ("gian:1", "gian")):
            done = self.run_bench("-p", stage)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, r"\Afilterchain: .*%s.*\n\Z" % name)


if __name__ == "__main__":
    unittest.main()
