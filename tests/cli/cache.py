#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which plugin files the command opens, and what it remembers of them: as the dynamic linker and
the kernel tell it. The plugins are those of tests/plugins, under names that say nothing."""
import os
import re
import shutil
import subprocess
import time

import harness

COPIES = {"p1.so": "good", "p2.so": "older", "p3.so": "newer", "p4.so": "two_mains", "p5.so": "pair"}


class Cache(harness.Case):
    def setUp(self):
        super().setUp()
        harness.write_wav(self.path("in.wav"), harness.tone(400))
        self.write("mask.txt", "0.25 0.5 0.25\n")
        os.makedirs(self.path("plugins"))
        for copy, name in COPIES.items():
            shutil.copy(os.path.join(harness.BUILD, "tests", "plugins", name + ".so"), self.path("plugins/" + copy))
        time.sleep(0.15)  # younger files are not remembered
        self.cache = self.path("home/filterchain/plugins")

    def environment(self, **more):
        kept = {k: v for k, v in harness.fixed_environment().items() if k != "FILTERCHAIN_NO_CACHE"}
        return {**kept, "XDG_CACHE_HOME": self.path("home"), **more}

    def opened(self, *arguments, **more):
        """The plugins that the command and its children load."""
        log = self.path("log")
        os.mkdir(log)
        env = self.environment(LD_DEBUG="files", LD_DEBUG_OUTPUT=os.path.join(log, "of"), **more)
        self.succeed(*arguments, env=env)
        text = "".join(self.read(f"log/{name}").decode(errors="replace") for name in os.listdir(log))
        shutil.rmtree(log)
        if not text:
            self.skipTest("the dynamic linker tells nothing here")
        return sorted(set(re.findall(r"file=\S*/(\w+\.so) .*dynamically loaded", text)))


class Foreign(Cache):
    """An operator in a file of another name."""

    def opened_for(self, name, **more):
        return self.opened("-i", "in.wav", "-p", name, "-o", "out.wav", "--plugin-dir", "plugins", **more)

    def test_one_file_when_warm(self):
        every = sorted(COPIES)
        self.assertEqual(self.opened_for("pair"), every)
        self.assertEqual(self.opened_for("pair"), ["p5.so"])
        self.assertEqual(self.opened_for("good"), ["p1.so"])
        self.assertEqual(self.opened_for("pair", FILTERCHAIN_NO_CACHE="1"), every)
        os.utime(self.path("plugins/p2.so"), (1, 1))
        time.sleep(0.15)
        self.assertEqual(self.opened_for("pair"), ["p2.so", "p5.so"])
        self.assertEqual(self.opened_for("pair"), ["p5.so"])

    def test_no_place_for_it(self):
        """A folder that cannot be, none named, no home: nothing is said of it."""
        for more in ({"XDG_CACHE_HOME": "/proc/none"}, {"XDG_CACHE_HOME": "relative"},
                     {"XDG_CACHE_HOME": "", "HOME": "/nonexistent/home"}):
            for _ in range(2):
                self.assertEqual(len(self.opened_for("pair", **more)), len(COPIES), more)
        self.assertEqual(self.files(), sorted(["in.wav", "mask.txt", "out.wav", *(f"plugins/{n}" for n in COPIES)]))
        self.assertFalse(os.path.exists("/nonexistent/home"))

    def test_list_fills_it(self):
        self.succeed("list", "--plugin-dir", "plugins", env=self.environment())
        self.assertTrue(os.path.isfile(self.cache))
        self.assertEqual(self.opened_for("older"), ["p2.so"])


class Own(Cache):
    """A chain of our own operators."""
    CHAIN = ("-i", "in.wav", "-p", "conv1d:mask.txt", "-p", "gain:0.5", "-o", "out.wav")

    def test_only_the_chain_is_opened(self):
        self.assertEqual(self.opened(*self.CHAIN), ["conv1d.so", "gain.so"])
        self.assertFalse(os.path.exists(self.path("home")))

    def test_another_folder_might_define_them(self):
        """So its plugins are opened, until it is remembered that they do not."""
        chain = (*self.CHAIN, "--plugin-dir", "plugins")
        self.assertEqual(self.opened(*chain), sorted(["conv1d.so", "gain.so", *COPIES]))
        self.assertEqual(self.opened(*chain), ["conv1d.so", "gain.so"])

    def test_the_cache_is_not_touched(self):
        self.succeed("list", "--plugin-dir", "plugins", env=self.environment())
        self.assertTrue(os.path.isfile(self.cache))
        log = self.path("trace")
        if not shutil.which("strace"):
            self.skipTest("no strace here")
        done = subprocess.run(["strace", "-f", "-o", log, "-e", "trace=file", harness.COMMAND, *self.CHAIN], check=False,
                              cwd=self.folder, env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if b"ptrace" in done.stderr.lower():
            self.skipTest("processes may not be traced here")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = self.read("trace").decode(errors="replace")
        self.assertIn("conv1d.so", text)
        self.assertNotIn(self.path("home"), text)


if __name__ == "__main__":
    harness.main()
