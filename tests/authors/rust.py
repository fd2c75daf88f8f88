#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""examples/rust: an operator in Rust, against bindings made of the installed header, built, checked and used.

    rust.py BUILD_FOLDER SOURCE_FOLDER MESON
"""
import os
import shutil

from installed import Installed
import harness


class Rust(Installed):
    def test_built_checked_and_used(self):
        for program in ("cargo", "bindgen"):
            if not shutil.which(program):
                self.skipTest(f"no {program} here: apt-get install cargo bindgen")
        source = os.path.join(harness.SOURCE, "examples", "rust")
        with open(os.path.join(source, "src", "lib.rs"), encoding="utf-8") as file:
            self.assertLessEqual(len(file.readlines()), 60)
        project = self.path("rust")
        shutil.copytree(source, project, ignore=shutil.ignore_patterns("target"))
        said = self.call("cargo", "build", "--release", "--offline", cwd=project, CARGO_HOME=self.path("cargo"), CARGO_TERM_COLOR="never",
                         **{name: os.environ[name] for name in ("HOME", "RUSTUP_HOME") if name in os.environ})
        self.assertNotIn("warning", said)
        plugin = os.path.join(project, "target", "release", "libbend.so")
        self.assertIn("8 passed, 0 failed", self.call("filterchain", "check", plugin, "--seconds", "0.5"))
        harness.write_wav(self.path("in.wav"), [0, 16384, -16384, 32767])
        self.call("filterchain", "--plugin-dir", os.path.dirname(plugin), "-i", "in.wav", "-p", "bend:2", "-o", "out.wav")
        self.assertEqual(harness.read_wav(self.path("out.wav"))[0], [0, 16384, -16384, 21845])


if __name__ == "__main__":
    harness.main()
