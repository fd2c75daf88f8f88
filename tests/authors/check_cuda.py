#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`filterchain check` on a device: plugins whose CUDA function has one defect each fail just that, one without passes.

    check_cuda.py PROGRAM MODULE_FOLDER PREFIX

PROGRAM is filterchain-check, or the one that takes fake_cuda for a device; PREFIX, of the modules for it. Ends with 77
where there is no device.
"""
import json
import subprocess
import sys
import unittest

PROGRAM, FOLDER, PREFIX = sys.argv[1:]

# Defect: the item that fails, and in which test.
EXPECTED = {
    "allocates": ("calls", "allocation"),
    "allocates_there": ("calls", "allocation"),
    "prints": ("calls", "printing"),
    "exits": ("calls", "exit"),
    "crashes": ("calls", "crash"),
    "leaks_host": ("calls", "leak"),
    "other_stream": ("stream", "stream"),
    "synchronises": ("stream", "synchronisation"),
    "writes_nothing": ("results", "unwritten"),
    "writes_input": ("results", "input"),
    "writes_beyond": ("results", "band"),
    "other_sample": ("results", "value"),
    "shares_instances": ("instances", "instances"),
    "leaks": ("memory", "leak"),
    "leaks_there": ("memory", "leak"),
    "reads_beyond": ("halo", "halo"),
}
# What the sanitizers' own allocators hide.
UNSEEN = ("allocates", "allocates_there", "leaks", "leaks_there")


def check(defect):
    done = subprocess.run([PROGRAM, f"{FOLDER}/{PREFIX}_{defect}.so", "--backend", "cuda", "--json", "--seed", "5", "--cases", "40"],
                          stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


class CheckCuda(unittest.TestCase):
    def test_sound(self):
        _, report = check("none")
        # The library has no device of threads: where it is built with CUDA, it cannot load a plugin made for one.
        failed = [r for r in report["results"] if r["status"] == "failed" and not (PREFIX == "fake" and r["test"] == "engine")]
        self.assertEqual(failed, [])
        ran = {r["test"] for r in report["results"] if r["status"] == "passed"}
        self.assertLessEqual({"calls", "stream", "results", "instances", "halo"}, ran, report)

    def test_each_defect_is_its_item(self):
        memory = next(r["status"] for r in check("none")[1]["results"] if r["test"] == "memory")
        for defect, expected in EXPECTED.items():
            if memory == "skipped" and defect in UNSEEN:
                continue
            with self.subTest(defect):
                status, report = check(defect)
                failed = [(r["test"], r["item"]) for r in report["results"] if r["status"] == "failed"]
                self.assertEqual((status, failed), (1, [expected]), report)


if __name__ == "__main__":
    if check("none")[0] == 77:
        print("skipped: no CUDA device")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
