#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plugins as they are found while they are written: why one is not taken, which of two counts, and that a file that was
built anew is seen at once, with the cache of earlier runs in use.

    discovery.py BUILD_FOLDER SOURCE_FOLDER MESON
"""
import json
import os
import subprocess

from installed import Installed
import harness

SOURCE = r"""
#include <fc_helpers.h>
FC_POINTWISE(process, const void *, self, x, x * 2)
#ifdef NEEDS
extern void nowhere_to_be_found(void);
void *needs(void) { return (void *)nowhere_to_be_found; }
#endif
#ifdef SLOW
#include <unistd.h>
__attribute__((constructor)) static void begin(void) { usleep(1200000); }
#endif
static const fc_operator op = {.size = sizeof(fc_operator), .name = NAME, .summary = "doubles", .doc = "Doubles.",
  .examples = FC_TEXTS(NAME), FC_EVERY_SIGNAL, .backends = FC_BACKENDS(FC_ON_CPU(NULL, NULL, NULL, process))};
FC_PLUGIN(ID, "1.0", "you", "MIT", "https://example.org", &op)
"""


class Discovery(Installed):
    def setUp(self):
        super().setUp()
        self.write("op.c", SOURCE)
        harness.write_wav(self.path("in.wav"), [100, 200])

    def build(self, to, name, *options):
        os.makedirs(os.path.dirname(self.path(to)), exist_ok=True)
        self.call("sh", "-c", f"""cc -shared -fPIC -fvisibility=hidden -DNAME='"{name}"' -DID='"{to.replace('/', '-')}"' {" ".join(options)} """
                  f"$(pkg-config --cflags filterchain-plugin) op.c -o {to}.new && mv {to}.new {to}")

    def listed(self, *folders):
        words = [word for folder in folders for word in ("--plugin-dir", folder)]
        return json.loads(self.call("filterchain", "list", "--json", *words, FILTERCHAIN_NO_CACHE=""))

    def reason(self, folder="a"):
        return [entry["reason"] for entry in self.listed(folder)["rejected"]]

    def run_op(self, name):
        done = subprocess.run(["filterchain", "--plugin-dir", "a", "-i", "in.wav", "-p", name, "-o", "out.wav"], cwd=self.folder,
                              env={**self.environment, "FILTERCHAIN_NO_CACHE": ""}, stderr=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stderr

    def test_the_linkers_own_sentence(self):
        self.build("a/needs.so", "needs", "-DNEEDS")
        self.assertRegex(self.reason()[0], "cannot be loaded: undefined symbol: nowhere_to_be_found")
        status, said = self.run_op("needs")
        self.assertEqual(status, 2)
        self.assertIn("undefined symbol: nowhere_to_be_found", said)

    def test_one_that_takes_long(self):
        self.build("a/slow.so", "slow", "-DSLOW")
        self.assertEqual(self.run_op("slow"), (0, f"filterchain: warning: waited for {self.path('a/slow.so')}, which took long to open\n"))

    def test_a_sanitizer(self):
        if harness.sanitized():
            self.skipTest("its runtime is there")
        self.build("a/checked.so", "checked", "-fsanitize=address")
        self.assertRegex(self.reason()[0], "is built with AddressSanitizer, .*LD_PRELOAD")
        self.assertIn("AddressSanitizer", self.call("filterchain", "check", "a/checked.so", status=1))

    def test_which_of_two(self):
        self.build("a/one.so", "twice")
        self.build("b/two.so", "twice")
        told = self.listed("b", "a")
        self.assertEqual([op["path"] for op in told["operators"] if op["name"] == "twice"], [self.path("b/two.so")])
        self.assertRegex(told["rejected"][0]["reason"], f'operator "twice" is not used: {self.path("b/two.so")} defines it first')

    def test_built_anew_within_a_second(self):
        for round in range(6):
            name, other = ("first", "second") if round % 2 else ("second", "first")
            self.build("a/one.so", name)
            self.assertEqual(self.run_op(name), (0, ""), round)
            self.assertEqual(self.run_op(other)[0], 2, round)

    def test_what_was_missing_comes(self):
        """As a library of a GPU's driver may, on a machine that gains one."""
        self.build("a/needs.so", "needs", "-DNEEDS")
        self.assertEqual(self.run_op("needs")[0], 2)
        self.write("lib.c", "void nowhere_to_be_found(void) {}")
        self.call("cc", "-shared", "-fPIC", "lib.c", "-o", "lib.so")
        self.environment = {**self.environment, "LD_PRELOAD": self.path("lib.so")}
        self.assertEqual(self.run_op("needs"), (0, ""))


if __name__ == "__main__":
    harness.main()
