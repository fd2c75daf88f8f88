#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An operator written by somebody else: filterchain is installed into a folder, the
example plugin is built against that with the one line that its head shows, and used."""
import os
import re
import shutil
import subprocess
import sys

import harness

MESON = sys.argv[3]


# The helpers in C++17, whose initialisers go by position.
HALVE = r"""
#include <fc_helpers.h>
enum { HALF = 1, THIRD = 2 };
FC_POINTWISE(process, const fc_arg *const *, args, x, x / (fc_value)(args[0]->ints[0] + 1))
static const fc_param *const *const params = FC_STATIC_LIST(
    fc_param,
    FC_ENUM_PARAM(FC_PARAM_MAIN, "part", "Which part.", "half",
                  FC_CHOICES(FC_CHOICE(HALF, "half", "a half"), FC_CHOICE(THIRD, "third", "a third"))),
    FC_INT_PARAM(0, "unused", "Nothing.", "samples", "3", FC_INT_BETWEEN(1, 5)));
static const fc_operator op = {
    sizeof(fc_operator), FC_OP_KEEPS_MEANING, "halve", "divides", "Divides.", FC_TEXTS("halve:half"), 2,
    FC_KINDS_ALL, FC_DTYPES_ALL, FC_DTYPES_ALL, params, fc_create_args, nullptr, nullptr,
    FC_BACKENDS(FC_ON_CPU(nullptr, nullptr, nullptr, process)), nullptr, nullptr, nullptr, nullptr, nullptr};
FC_PLUGIN("org.example.halve", "1.0", "you", "MIT", "https://example.org/halve", &op)
"""


class OutOfTree(harness.Case):
    def install(self):
        """Installs into the folder; the environment in which pkg-config finds it there."""
        root = self.path("root")
        done = subprocess.run([MESON, "install", "-C", harness.BUILD, "--no-rebuild", "--quiet", "--destdir", root],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        found = [folder for folder, _, names in os.walk(root) if "filterchain-plugin.pc" in names]
        self.assertEqual(len(found), 1)
        return {**harness.fixed_environment(), "PKG_CONFIG_LIBDIR": found[0], "PKG_CONFIG_SYSROOT_DIR": root}

    def build(self, environment, name):
        source = os.path.join(harness.SOURCE, "examples", "plugin", name + ".c")
        with open(source, encoding="utf-8") as file:
            line = re.search(r"^ \*   (cc (?:.*\\\n)*.*)$", file.read(), re.M).group(1).replace("\\\n *", "")
        shutil.copy(source, self.folder)
        done = subprocess.run(["sh", "-c", line], cwd=self.folder, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    @staticmethod
    def declicked(samples, threshold):
        ends = [samples[0], *samples, samples[-1]]
        middle = [sorted(ends[i:i + 3])[1] for i in range(len(samples))]
        return [m if abs(s - m) > threshold else s for s, m in zip(samples, middle)]

    def test_installed_and_built(self):
        if not shutil.which("pkg-config"):
            self.skipTest("no pkg-config here")
        environment = self.install()
        self.build(environment, "declick")
        self.build(environment, "solarize")
        samples = list(harness.tone(3000))
        harness.write_wav(self.path("in.wav"), samples)
        self.assertIn("declick", self.succeed("inspect", "./declick.so"))
        self.succeed("-i", "in.wav", "--plugin-dir", ".", "-p", "declick:0.2", "-o", "out.wav")
        want = self.declicked(samples, 0.2 * 32768)
        self.assertNotEqual(want, samples)
        self.assertEqual(harness.read_wav(self.path("out.wav"))[0], want)

        self.succeed("-i", "in.wav", "--plugin-dir", ".", "-p", "solarize:0.25", "-o", "turned.wav")
        want = [16384 - v if v > 8192 else v for v in samples]
        self.assertNotEqual(want, samples)
        self.assertEqual(harness.read_wav(self.path("turned.wav"))[0], want)

    def test_helpers_in_plusplus(self):
        if not shutil.which("pkg-config") or not shutil.which("c++"):
            self.skipTest("no pkg-config or no C++ compiler here")
        with open(self.path("halve.cpp"), "w", encoding="utf-8") as file:
            file.write(HALVE)
        line = ("c++ -std=c++17 -pedantic -Wall -Wextra -Wno-missing-field-initializers -Werror -shared -fPIC "
                "$(pkg-config --cflags filterchain-plugin) halve.cpp -o halve.so")
        done = subprocess.run(["sh", "-c", line], cwd=self.folder, env=self.install(), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        samples = [3 * v for v in range(-500, 500)]
        harness.write_wav(self.path("in.wav"), samples)
        self.succeed("-i", "in.wav", "--plugin-dir", ".", "-p", "halve:third", "-o", "out.wav")
        self.assertEqual(harness.read_wav(self.path("out.wav"))[0], [v // 3 for v in samples])

    def test_the_library_page(self):
        """The program of docs/library.md is built with what is installed, and runs."""
        if not shutil.which("pkg-config") or harness.sanitized():
            self.skipTest("no pkg-config here, or a sanitizer that the program would need too")
        with open(os.path.join(harness.SOURCE, "docs", "library.md"), encoding="utf-8") as file:
            name, program = re.search(r"^```c (\S+)\n(.*?)^```$", file.read(), re.M | re.S).groups()
        self.write(name, program)
        self.install()
        folders = {name: folder for folder, _, names in os.walk(self.path("root")) for name in names}
        library = folders["libfilterchain.so"]
        line = (f"cc -Wall -Werror {name} -I{folders['filterchain.h']} $(pkg-config --cflags --libs glib-2.0) -L{library} "
                f"-Wl,-rpath,{library} -lfilterchain -o smooth && ./smooth")
        harness.write_wav(self.path("in.wav"), [1000] * 50)
        done = subprocess.run(["sh", "-c", line], cwd=self.folder, env=harness.fixed_environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(harness.read_wav(self.path("out.wav"))[0][10:40], [501] * 30)

    def test_what_is_installed_runs(self):
        environment = self.install()
        folders = {name: folder for folder, _, names in os.walk(self.path("root")) for name in names}
        for name in ("filterchain", "filterchain.h", "plugin.h", "view.h", "fc_helpers.h", "fc_helpers.cuh", "filterchain.pc", "filterchain.1"):
            self.assertTrue(any(other.startswith(name) for other in folders), name)
        plugin = next(name for name in folders if re.fullmatch(r"[a-z0-9_]+\.so", name))
        done = subprocess.run([os.path.join(folders["filterchain"], "filterchain"), "list"], stdout=subprocess.PIPE,
                              env={**environment, "FILTERCHAIN_PLUGIN_PATH": folders[plugin]}, text=True, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertIn(plugin[:-3], done.stdout)


if __name__ == "__main__":
    harness.main()
