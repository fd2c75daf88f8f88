#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Debian packages: made, unpacked into a clean folder, and used there.

    package.py BUILD_FOLDER SOURCE_FOLDER MESON
"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(sys.argv[2], "tests", "cli"))
import harness  # noqa: E402


class Package(harness.Case):
    def call(self, *command, **environment):
        done = subprocess.run(command, cwd=self.folder, env={**harness.fixed_environment(), **environment}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}")
        return done.stdout

    def test_made_unpacked_used(self):
        for tool in ("dpkg-deb", "dpkg-query", "objdump", "strip", "meson", "pkg-config"):
            if not shutil.which(tool):
                self.skipTest(f"no {tool} here")
        if harness.sanitized():
            self.skipTest("a sanitizer's build is no package")
        made = self.call(os.path.join(harness.SOURCE, "packaging", "make_deb.py"), harness.BUILD, "out").split()
        self.assertEqual(len(made), 2)
        for path in made:
            control = self.call("dpkg-deb", "--field", path)
            self.assertIn("Version: ", control)
            self.call("dpkg-deb", "-x", path, "root")
        self.assertRegex(self.call("dpkg-deb", "--field", made[0], "Depends"), r"libc6.*libglib2\.0-0.*libsndfile1")
        self.assertNotIn("/include/", self.call("dpkg-deb", "-c", made[0]))
        places = {name: folder for folder, _, names in os.walk(self.path("root")) for name in names}
        self.assertIn("plugin.h", places)
        program = os.path.join(places["filterchain"], "filterchain")
        listed = self.call(program, "list")
        self.assertIn("gain ", listed)
        harness.write_wav(self.path("in.wav"), [100, -200])
        self.call(program, "-i", "in.wav", "-p", "gain:2", "-o", "out.wav")
        self.assertEqual(harness.read_wav(self.path("out.wav"))[0], [200, -400])
        self.assertIn("passed, 0 failed", self.call(program, "check", "gain", "--seconds", "0.2"))
        self.call(program, "new", "mine")
        self.call("sh", "-c", "cc -std=c11 -shared -fPIC $(pkg-config --cflags filterchain-plugin) mine/mine.c -o mine.so",
                  PKG_CONFIG_LIBDIR=places["filterchain-plugin.pc"], PKG_CONFIG_SYSROOT_DIR=self.path("root"))
        self.call(program, "check", "./mine.so", "--seconds", "0.2")


if __name__ == "__main__":
    harness.main()
