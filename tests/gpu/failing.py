#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A real GPU that is not there, is full, or breaks under way: failing.py BUILD SOURCE.

What --device cuda was asked for ends in one line and leaves the output as it was; --device auto goes on with
the CPU, says so, and delivers what the CPU does. Skipped (77) where there is no GPU.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import harness  # noqa: E402

HOG = os.path.join(harness.BUILD, "tests", "gpu", "hog")
PLUGINS = os.path.join(harness.BUILD, "tests", "gpu")
SECONDS = 60


def environment(**changes):
    return {**harness.fixed_environment(), **changes}


class Failing(harness.Case):
    """A sound and a mask with which auto takes a GPU instead of two threads."""

    def setUp(self):
        super().setUp()
        harness.write_wav(self.path("in.wav"), harness.tone(SECONDS * 48000 // 16) * 16, rate=48000)
        self.write("mask.txt", "".join(f"{1 / (k + 20000)}\n" for k in range(16383)))
        self.chain = ["-j", "2", "-i", "in.wav", "-p", "conv1d:mask.txt:method=direct", "-p", "gain:0.2"]
        self.write("out.wav", b"as it was")

    def expected(self, chain):
        self.succeed(*chain, "-o", "cpu.wav", "--device", "cpu")
        return self.read("cpu.wav")

    def goes_on(self, chain, pattern, **changes):
        """By --device auto: the CPU's result and a warning."""
        done = self.run_command(*chain, "-o", "out.wav", "--device", "auto", env=environment(**changes))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, pattern)
        self.assertEqual(self.read("out.wav"), self.expected(chain))

    def ends(self, chain, pattern, **changes):
        """By --device cuda: one line, and nothing is changed."""
        line = self.fails(1, *chain, "-o", "out.wav", "--device", "cuda", env=environment(**changes))
        self.assertRegex(line, pattern)
        self.assertEqual(self.read("out.wav"), b"as it was")
        self.assertEqual([name for name in self.files() if name.startswith(".")], [])


class NoDevice(Failing):
    """A driver without a device."""

    def test_asked_for(self):
        self.ends(self.chain, "device", CUDA_VISIBLE_DEVICES="")

    def test_auto(self):
        done = self.run_command(*self.chain, "-o", "out.wav", "-v", env=environment(CUDA_VISIBLE_DEVICES=""))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "running on the CPU: .*device")
        self.assertEqual(self.read("out.wav"), self.expected(self.chain))


class Full(Failing):
    """Its memory is another process's, but for so many MiB."""

    def hog(self, leave):
        hog = subprocess.Popen([HOG, str(leave)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(hog.stdout.close)
        self.addCleanup(hog.wait)
        self.addCleanup(hog.stdin.close)
        self.assertEqual(hog.stdout.readline(), b"ready\n")

    def test_nothing_left(self):
        self.hog(0)
        self.ends(self.chain, "memory|GPU|device|cuda")
        self.goes_on(self.chain, "GPU|cuda|memory")

    def test_a_little_left(self):
        """Enough for a context, not for the chunk: smaller ones."""
        self.hog(800)
        chain = ["-i", "in.wav", "-p", "matrix:[" + ";".join(["1"] * 64) + "]",
                 "-p", "matrix:[" + ",".join(["0.015625"] * 64) + "]"]
        done = self.run_command(*chain, "-o", "out.wav", "--device", "cuda", "--chunk", str(SECONDS * 48000))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "memory was short on .*: worked on")
        self.assertEqual(self.read("out.wav"), self.expected(chain))


class Breaks(Failing):
    """A kernel traps in the third chunk: the context is lost."""

    def setUp(self):
        super().setUp()
        self.chain = ["--plugin-dir", PLUGINS, "--chunk", "500000", *self.chain, "-p", "trap"]

    def test_unless(self):
        self.assertEqual(self.run_command(*self.chain, "-o", "out.wav", "--device", "cuda").returncode, 0)

    def test_asked_for(self):
        self.ends(self.chain, "cuda:0", FILTERCHAIN_TRAP_AT="3")

    def test_auto(self):
        self.goes_on(self.chain, "the GPU failed", FILTERCHAIN_TRAP_AT="3")


if __name__ == "__main__":
    if subprocess.run([HOG, "1000000000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False).returncode == 77:
        print("skipped: no CUDA device")
        sys.exit(77)
    harness.main()
