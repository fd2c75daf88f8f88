#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sound that comes through a pipe and does not say how long it is: each operator makes the bytes that it makes of a file, in whatever
chunks; and one that then makes less, or more, than it has let the host expect is named, and nothing is left.

    pipes.py BUILD SOURCE
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.abspath(sys.argv[2]), "tests", "cli"))
import harness  # noqa: E402 (its place is told by the command line)

RATE, FRAMES = 8000, 5003


class Pipes(harness.Case):
    def setUp(self):
        super().setUp()
        harness.write_wav(self.path("in.wav"), harness.tone(FRAMES, 2, RATE), 2, RATE)
        self.stream = harness.open_wav_header(2, RATE) + self.read("in.wav")[44:]

    def through_pipe(self, *arguments):
        return self.run_command("-i", "-", *arguments, "--device", "cpu", input=self.stream, text=False)

    def test_each_operator(self):
        """But those that read their input twice, or say that they must know its length."""
        tried = 0
        for op in harness.operators():
            for stage in () if op.get("generator") else op["examples"]:
                if self.run_command("-i", "in.wav", "-p", stage, "-o", "file.npy", "--device", "cpu").returncode:
                    continue
                for options in ((), ("--chunk", "1"), ("--chunk", "700")):
                    with self.subTest(stage=stage, options=options):
                        done = self.through_pipe("-p", stage, "-o", "pipe.npy", *options)
                        if b"it reads its input twice" in done.stderr:
                            continue
                        self.assertEqual(done.returncode, 0, done.stderr)
                        self.assertEqual(self.read("pipe.npy"), self.read("file.npy"))
                        tried += 1
        self.assertGreater(tried, 100)

    def test_an_operator_of_another_length(self):
        os.makedirs(self.path("plugins"))
        for name, because in (("ends_sooner", "its output ends sooner than what it needs of its input says"),
                              ("goes_on", "its output goes on longer than what it needs of its input says")):
            shutil.copy(os.path.join(harness.BUILD, "tests", "plugins", name + ".so"), self.path("plugins"))
            for chunk in ("1", "700", "100000"):
                with self.subTest(name=name, chunk=chunk):
                    done = self.through_pipe("-p", name, "-o", "out.wav", "--chunk", chunk, "--plugin-dir", "plugins")
                    self.assertEqual((done.returncode, done.stderr.decode()),
                                     (1, f"filterchain: {name}: the plugin broke its contract: {because}\n"))
                    self.assertFalse(os.path.exists(self.path("out.wav")))
            self.succeed("-i", "in.wav", "-p", name, "-o", "out.wav", "--plugin-dir", "plugins")
            os.remove(self.path("out.wav"))


if __name__ == "__main__":
    harness.main()
