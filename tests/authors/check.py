#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`filterchain check`: plugins with one defect each fail just that, one without passes; options, exclusions, JSON.

    check.py BUILD_FOLDER SOURCE_FOLDER
"""
import concurrent.futures
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(sys.argv[2], "tests", "cli"))
import harness  # noqa: E402  (its arguments are ours)

MODULES = os.path.join(harness.BUILD, "tests", "authors")
SANITIZED = harness.sanitized()

# Defect: the item that fails, and in which test.
EXPECTED = {
    "load_prints": ("load", "printing"),
    "load_crashes": ("load", "crash"),
    "load_denormals": ("load", "load"),
    "no_doc": ("descriptor", "descriptor"),
    "wrong_example": ("descriptor", "descriptor"),
    "reads_beyond": ("halo", "halo"),
    "writes_beyond": ("halo", "halo"),
    "halo_too_small": ("halo", "halo"),
    "allocates": ("calls", "allocation"),
    "prints": ("calls", "printing"),
    "exits": ("halo", "exit"),
    "crashes": ("halo", "crash"),
    "aborts": ("halo", "crash"),
    "hangs": ("halo", "time"),
    "writes_nothing": ("results", "unwritten"),
    "writes_part": ("results", "unwritten"),
    "writes_input": ("results", "input"),
    "depends_on_cut": ("results", "cut"),
    "shares_buffer": ("results", "threads"),
    "no_border": ("halo", "contract"),
    "alternates": ("halo", "contract"),
    "keeps_state": ("results", "state"),
    "forgets_carry": ("results", "cut"),
    "truncates": ("results", "value"),
    "forgets_notes": ("results", "notes"),
    "refuses_silently": ("halo", "sentence"),
    "leaks": ("memory", "leak"),
    "leaks_host": ("halo", "leak"),
    "shares_instances": ("instances", "instances"),
    "two_at_most": ("engine", "engine"),
    "function_differs": ("function", "function"),
    "function_misplaced": ("function", "function"),
    "function_syntax": ("function", "function"),
    "function_elsewhere": ("function", "function"),
    "function_ranges": ("function", "function"),
    "function_grows": ("function", "function"),
    "function_selects": ("function", "function"),
    "function_ranks": ("function", "function"),
    "window_differs": ("function", "function"),
    "window_misplaced": ("function", "function"),
    "around_differs": ("function", "function"),
    "around_misplaced": ("function", "function"),
    "around_large": ("function", "function"),
    "linear_differs": ("linear", "linear"),
    "linear_misplaced": ("linear", "linear"),
    "linear_infinite": ("linear", "linear"),
    "writes_side": ("results", "input"),
    "reads_side_beyond": ("halo", "halo"),
    "ignores_stride": ("results", "unwritten"),
    "scratch_beyond": ("results", "band"),
    "fails": ("results", "status"),
    "adds_to_output": ("results", "halo"),
    "refuses_all": ("results", "nothing"),
    "refuses_example": ("results", "nothing"),
    "measures_cuts": ("results", "measure"),
    "carries_beyond": ("results", "band"),
    "generates_cuts": ("results", "cut"),
    "remembers_size": ("results", "cut"),
    "wrong_preset": ("load", "load"),
}
# What a device function says of its results, and is not so.
FALSE_CLAIMS = ("function_ranges", "function_grows", "function_selects", "function_ranks")
# What the sanitizers' own allocators hide.
UNSEEN = ("allocates", "leaks")


class Check(harness.Case):
    def check(self, name, *options):
        """Exit status and report."""
        done = self.run_command("check", os.path.join(MODULES, name + ".so"), "--json", "--seed", "5", "--cases", "100", *options)
        return done.returncode, json.loads(done.stdout)

    @staticmethod
    def failures(report):
        return [(r["test"], r["item"]) for r in report["results"] if r["status"] == "failed"]

    def test_sound(self):
        status, report = self.check("none")
        self.assertEqual((status, self.failures(report)), (0, []))
        ran = {r["test"] for r in report["results"] if r["status"] == "passed"}
        self.assertLessEqual({"load", "descriptor", "halo", "calls", "results", "instances", "engine"}, ran)

    def test_each_defect_is_its_item(self):
        defects = [d for d in EXPECTED if not (SANITIZED and d in UNSEEN)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            reports = list(pool.map(lambda d: self.check(d, "--timeout", "15" if d == "hangs" else "300"), defects))
        for defect, (status, report) in zip(defects, reports):
            with self.subTest(defect):
                self.assertEqual((status, self.failures(report)), (1, [EXPECTED[defect]]), report)
                if defect in FALSE_CLAIMS:
                    self.assertIn("says that", next(r["text"] for r in report["results"] if r["status"] == "failed"))

    def test_honest_claims(self):
        self.assertEqual(self.failures(self.check("function_honest")[1]), [])

    def test_so_many_cases(self):
        """Without --seconds, of every test: its result does not depend on the speed of a machine. With them, at most."""
        for test in ("halo", "calls", "instances", "memory"):
            for cases in ("1", "67"):
                text = "".join(r["text"] for r in self.check("none", "--test", test, "--cases", cases)[1]["results"] if r["test"] == test)
                self.assertEqual(text, f"{cases} cases", test)
        halo = [r["text"] for r in self.check("none", "--test", "halo", "--cases", "1000000", "--seconds", "1")[1]["results"] if r["test"] == "halo"]
        self.assertLessEqual(int(halo[0].split()[0]), 60)

    def test_a_map_that_is_not_used_is_named(self):
        """Where a run would join stages: each of them once, with the reason."""
        harness.write_png(self.path("in.png"), [[7] * 30] * 20, 1)
        for defect, why in (("linear_misplaced", "it is not what negotiate asks for"), ("linear_infinite", "it is not what linear/1 allows"),
                            ("linear_differs", None)):
            folder = self.path(defect)
            os.mkdir(folder)
            shutil.copy(os.path.join(MODULES, defect + ".so"), folder)
            command = ("--plugin-dir", folder, "-i", "in.png", "-p", "gain:2", "-p", "mean3:0.25", "-o", "out.png")
            for chain, options, times in ((("-p", "mean3:0.125"), ("--fuse", "algebra", "-v"), 2), (("-p", "gain:3"), ("--fuse", "algebra", "-v"), 1),
                                          ((), ("--fuse", "algebra", "-v"), 1), ((), ("--fuse", "algebra", "--dry-run"), 1),
                                          ((), ("--fuse", "auto", "-v"), 0)):
                done = self.run_command(*command, *chain, *options)
                said = done.stdout + done.stderr
                self.assertEqual(done.returncode, 0, said)
                self.assertEqual(said.count("its map for --fuse=algebra is not used"), times if why else 0, said)
                if why and times and "-v" in options:
                    self.assertIn(f"mean3:0.25: its map for --fuse=algebra is not used: {why}\n", said)

    def test_a_map_that_is_too_large_is_not_called_unsound(self):
        """A matrix of 65 x 65 is not multiplied out, which is no fault of the operator."""
        harness.write_npy(self.path("in.npy"), (4, 5, 65), [0] * (4 * 5 * 65))
        rows = [" ".join("1" if x == y else "0" for x in range(65)) for y in range(65)]
        self.write("matrix.txt", "\n".join(rows))
        for options in ("-v", "--dry-run"):
            done = self.run_command("-i", "in.npy", "-p", "matrix:matrix.txt", "-p", "gain:2", "-o", "out.npy", "--fuse", "algebra", options)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("not used", done.stdout + done.stderr)

    def test_the_engine_runs_sound_at_a_rate(self):
        for name in ("compand", "equalizer", "fir", "limiter", "loudness", "resample", "spectrogram"):
            done = self.run_command("check", os.path.join(harness.BUILD, "plugins", name + ".so"), "--json", "--seed", "5", "--backend", "cpu",
                                    "--test", "engine", "--seconds", "3")
            run = [(r["test"], r["status"]) for r in json.loads(done.stdout)["results"]]
            self.assertEqual(run, [("load", "passed"), ("engine", "passed")], done.stdout)

    def test_every_way_to_allocate_is_seen(self):
        if SANITIZED:
            self.skipTest("a sanitizer has its own allocator")
        for name in ("malloc", "calloc", "realloc", "aligned_alloc", "memalign", "posix_memalign", "valloc", "pvalloc", "mmap",
                     "reallocarray", "strdup"):
            done = self.run_command("check", os.path.join(MODULES, "allocates.so"), "--seed", "5", "--test", "calls",
                                    env={**harness.fixed_environment(), "BROKEN_TAKES": name})
            seen = {"reallocarray": "realloc", "strdup": "malloc"}.get(name, name)
            self.assertIn(f"(allocation): mean3 on cpu: process allocates: {seen} of ", done.stdout, name)

    def test_printing_is_seen_in_any_process(self):
        for more in ((), ("--in-process",), ("--verbose",), ("--in-process", "--verbose")):
            for module, test in (("prints", "calls"), ("load_prints", "load")):
                done = self.run_command("check", os.path.join(MODULES, module + ".so"), "--seed", "5", "--test", test, *more)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(f"{test} (printing)", done.stdout)
                if more:
                    self.assertIn({"prints": "working", "load_prints": "hello"}[module], done.stderr)

    def test_text(self):
        path = os.path.join(MODULES, "truncates.so")
        done = self.run_command("check", path, "--seed", "5", "--seconds", "0.3", "--only-failed")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"FAIL mean3 on cpu: results \(value\): .*\n +again: filterchain check \S+ --op mean3 ")
        self.assertNotIn("descriptor", done.stdout)
        again = done.stdout.split("filterchain check ", 1)[1].split("\n")[0].split()
        for more in ((), ("--in-process",)):
            done = self.run_command("check", *again, *more)
            self.assertEqual((done.returncode, "(value)" in done.stdout), (1, True), done.stdout)
        done = self.run_command("check", *again, "--tolerance", "1000")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_exclusions(self):
        shutil.copy(os.path.join(MODULES, "prints.so"), self.folder)
        self.write("prints.check", "# why\nmean3/cpu printing: it reports its progress\n")
        done = self.run_command("check", "./prints.so", "--seed", "5", "--test", "calls")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("it reports its progress", done.stdout)
        self.write("prints.check", "mean3 printing\n")
        done = self.run_command("check", "./prints.so", "--seed", "5")
        self.assertEqual(done.returncode, 1)
        self.assertIn("prints.check:1: expected", done.stdout)
        for line, said in (("mean4 printing: why", "the plugin has no operator mean4"), ("mean3/gpu printing: why", "there is no backend gpu"),
                           ("mean3 print: why", "there is no test or item print")):
            self.write("prints.check", "# why\n" + line + "\n")
            done = self.run_command("check", "./prints.so", "--seed", "5", "--test", "calls")
            self.assertEqual(done.returncode, 1)
            self.assertIn("prints.check:2: " + said, done.stdout)

    def test_folder_and_name(self):
        shutil.copy(os.path.join(MODULES, "none.so"), self.folder)
        quick = ("--test", "descriptor", "--seed", "5")
        self.assertIn("mean3: descriptor: 1 example", self.succeed("check", ".", *quick))
        self.assertIn("mean3: descriptor: 1 example", self.succeed("check", "mean3", "--plugin-dir", ".", *quick))
        self.assertIn("gain: descriptor: 3 examples", self.succeed("check", "gain", *quick))
        for wrong in (("no_such_operator",), (), (".", "--backend", "gpu"), (".", "--test", "speed")):
            done = self.run_command("check", *wrong)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)

    def test_what_is_not_there(self):
        """The others are tested, and JSON stays JSON."""
        path = os.path.join(MODULES, "none.so")
        for words, said in (((path, "nosuch"), "no operator \"nosuch\""), ((path, "--op", "typo"), "--op: no operator \"typo\"")):
            done = self.run_command("check", *words, "--json", "--test", "descriptor", "--seed", "5")
            report = json.loads(done.stdout)
            self.assertEqual((done.returncode, len(report["errors"])), (2, 1), done.stderr)
            self.assertIn(said, report["errors"][0])
            self.assertIn(report["errors"][0], done.stderr)
        self.assertEqual(report["results"][0]["status"], "passed")


if __name__ == "__main__":
    harness.main()
