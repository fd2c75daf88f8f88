#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`filterchain new`: each variant builds without a warning and passes its own test against an installed copy.

    projects.py BUILD_FOLDER SOURCE_FOLDER MESON
"""
import glob
import os
import subprocess
import unittest

from installed import MESON, Installed, has_nvcc
import harness


class Projects(Installed):
    def build(self, *options, setup=()):
        self.call("filterchain", "new", "mine", *options)
        project = self.path("mine")
        self.call(MESON, "setup", "build", "--werror", *setup, cwd=project)
        self.call("ninja", "-C", "build", cwd=project)
        return project

    def try_out(self, *options, setup=()):
        project = self.build(*options, setup=setup)
        self.assertIn("Ok:                 1", self.call(MESON, "test", "-C", "build", cwd=project))
        self.write("in.wav", b"")
        harness.write_wav(self.path("in.wav"), list(harness.tone(2000)))
        self.call("filterchain", "--plugin-dir", "mine/build", "-i", "in.wav", "-p", "mine", "-o", "out.wav")
        self.assertNotEqual(harness.read_wav(self.path("out.wav"))[0], harness.read_wav(self.path("in.wav"))[0])
        text = ""
        for path in glob.glob(project + "/**", recursive=True, include_hidden=True):
            if os.path.isfile(path) and "/build" not in path.replace("/meson.build", ""):
                with open(path, encoding="utf-8") as file:
                    text += file.read()
        self.assertIn("MIT License", text)
        for word in ("@NAME@", "@if", "@end", "@EXT@"):
            self.assertNotIn(word, text)

    def test_c(self):
        self.try_out()

    def test_cplusplus(self):
        self.try_out("--lang", "c++")

    def test_cuda_without_nvcc(self):
        self.try_out("--cuda", setup=["-Dcuda=disabled"])

    def test_cplusplus_and_cuda_without_nvcc(self):
        self.try_out("--cuda", "--lang=c++", setup=["-Dcuda=disabled"])

    @unittest.skipUnless(has_nvcc(), "no nvcc here")
    def test_cuda(self):
        self.try_out("--cuda", setup=["-Dcuda=enabled"])
        self.assertIn('"cuda"', self.call("filterchain", "inspect", "mine/build/mine.so", "--json"))

    @unittest.skipUnless(has_nvcc(), "no nvcc here")
    def test_cplusplus_and_cuda(self):
        self.try_out("--cuda", "--lang=c++", setup=["-Dcuda=enabled"])
        self.assertIn('"cuda"', self.call("filterchain", "inspect", "mine/build/mine.so", "--json"))

    def test_exceptions_stay_inside(self):
        source = os.path.join(harness.SOURCE, "tests", "authors", "throws.cpp")
        self.call("sh", "-c", "c++ -std=c++17 -pedantic -Wall -Wextra -Wno-missing-field-initializers -Werror -shared -fPIC -O1 "
                  f"-fvisibility=hidden $(pkg-config --cflags filterchain-plugin) '{source}' -o throws.so")
        harness.write_wav(self.path("in.wav"), [100, -200, 300])
        run = ("filterchain", "--plugin-dir", ".", "-i", "in.wav", "-o", "out.wav", "-p")
        for stage, sentence in (("create", "not with these arguments"), ("negotiate", "not with these formats"), ("process", "it went wrong"),
                                ("memory", "out of memory"), ("unknown", "an exception that says nothing"), ("run", "say process"),
                                ("nowhere:counts=9", "there is no parameter nothing_like_it"), ("nowhere:counts=1,2,3,4", "counts")):
            with self.subTest(stage):
                done = subprocess.run([*run, "throws:" + stage], cwd=self.folder, env=self.environment, stderr=subprocess.PIPE, text=True, check=False)
                self.assertGreater(done.returncode, 0)
                self.assertRegex(done.stderr, r"\Afilterchain: throws: .*" + sentence + r".*\n\Z")
        self.call(*run, "throws:factor=2:loud=yes:numbers=3")
        self.assertEqual(harness.read_wav(self.path("out.wav"))[0], [400, -800, 1200])
        self.call("filterchain", "check", "./throws.so", "--test", "descriptor")

    def test_refusals(self):
        os.mkdir(self.path("there"))
        for words, status in ((("new",), 2), (("new", "Upper"), 2), (("new", "a/b"), 2), (("new", "a", "b"), 2), (("new", "there"), 1),
                              (("new", "mine", "--lang", "rust"), 2), (("new", "test"), 2), (("new", "double"), 2)):
            said = self.call("filterchain", *words, status=status)
            self.assertEqual(said.count("\n"), 1, said)
        self.assertEqual(os.listdir(self.folder), ["there"])


if __name__ == "__main__":
    harness.main()
