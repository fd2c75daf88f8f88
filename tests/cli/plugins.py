#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plugins that do what they must not, as the command meets them: which definition of an operator counts, what is said
of one that is not fit, what a plugin prints, and what is left when an operator ends the process."""
import json
import os
import shutil
import signal
import unittest

import harness


class Plugins(harness.Case):
    def setUp(self):
        super().setUp()
        harness.write_wav(self.path("in.wav"), harness.tone(400))
        os.makedirs(self.path("plugins"))

    def add(self, name, copy=None):
        """A plugin of tests/plugins in the folder `plugins`, under its own name or another."""
        shutil.copy(os.path.join(harness.BUILD, "tests", "plugins", name + ".so"),
                    self.path(f"plugins/{copy or name}.so"))

    def run_with(self, *arguments, **options):
        return self.run_command(*arguments, "--plugin-dir", "plugins", **options)

    def listed(self):
        """What `list --json` says of plugin files, by their names."""
        done = self.run_with("list", "--json")
        return {os.path.basename(entry["path"]): entry for entry in json.loads(done.stdout)["rejected"]}


class Unfit(Plugins):
    def test_one_operator_alone_is_left_out(self):
        self.add("half", "two")
        self.assertEqual(self.run_with("-i", "in.wav", "-p", "half", "-o", "out.wav").returncode, 0)
        done = self.run_with("-i", "in.wav", "-p", "other_half", "-o", "out.wav")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r'no operator "other_half": \S+/two\.so operator "other_half": it takes no kind of media')
        entry = self.listed()["two.so"]
        self.assertEqual((entry["plugin"], entry["reason"]), ("fixture-half", 'operator "other_half": it takes no kind of media'))
        self.assertRegex(self.run_with("list").stdout, r'(?m)^not used: \S+/two\.so: operator "other_half": it takes no kind')


class Precedence(Plugins):
    """A foreign operator of the name of one of ours, in a file that is called otherwise."""

    def setUp(self):
        super().setUp()
        self.add("foreign_gain", "zzz")

    def test_the_first_folder_wins_and_it_is_said_once(self):
        done = self.run_with("-i", "in.wav", "-p", "gain:0.5", "-p", "gain:0.5", "-o", "out.wav")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r'\Afilterchain: warning: operator "gain" is taken from \S+/zzz\.so \(fixture-gain\) '
                                      r'in place of the built-in one\n\Z')
        self.assertEqual(harness.read_wav(self.path("out.wav")), harness.read_wav(self.path("in.wav")))

    def test_in_the_list(self):
        entry = self.listed()["gain.so"]
        self.assertRegex(entry["reason"], r'operator "gain" is not used: \S+/zzz\.so defines it first')

    def test_a_qualified_name_reaches_the_other(self):
        ours = json.loads(self.run_command("inspect", "gain", "--json").stdout)[0]
        done = self.run_with("-i", "in.wav", "-p", f"{ours['plugin']['id']}/gain:0.5", "-o", "out.wav")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotEqual(harness.read_wav(self.path("out.wav")), harness.read_wav(self.path("in.wav")))
        found = json.loads(self.run_with("inspect", "fixture-gain/gain", f"{ours['plugin']['id']}/gain", "--json").stdout)
        self.assertEqual([op["plugin"]["id"] for op in found], ["fixture-gain", ours["plugin"]["id"]])


class Described(Plugins):
    """Parameters that none of ours may have."""

    def setUp(self):
        super().setUp()
        self.add("describes")

    def test_inspect(self):
        text = self.run_with("inspect", "describes").stdout
        for lines in ("    reference=FILE\n        the name may be left out\n",
                      "    count=INT\n        at least 9007199254740993; also called n, number\n",
                      "    hard=yes|no\n        default no; deprecated: give count\n", "    list=FILE\n        Is not opened.\n"):
            self.assertIn(lines, text)

    def test_as_json(self):
        params = {p["name"]: p for p in json.loads(self.run_with("inspect", "describes", "--json").stdout)[0]["params"]}
        self.assertEqual([params[name]["type"] for name in ("reference", "list")], ["input", "path"])
        self.assertEqual((params["count"]["min"], params["count"]["aliases"]), (9007199254740993, ["n", "number"]))
        self.assertNotIn("max", params["count"])
        self.assertEqual((params["hard"]["deprecated"], params["count"]["deprecated"]), ("give count", None))

    def test_a_deprecated_parameter_is_said(self):
        done = self.run_with("-i", "in.wav", "-p", "describes:hard=yes", "-o", "out.wav")
        self.assertEqual((done.returncode, done.stderr),
                         (0, 'filterchain: warning: describes: "hard" is deprecated: give count\n'))

    def test_another_name(self):
        done = self.run_with("-i", "in.wav", "-p", "describes:n=1", "-o", "out.wav")
        self.assertEqual((done.returncode, done.stderr), (2, "filterchain: describes: count: 1 is out of range: "
                                                             "expected at least 9007199254740993\n"))


class Generator(Plugins):
    """An operator that makes the chain's signal."""

    def setUp(self):
        super().setUp()
        self.add("makes")
        self.made = [i % 100 for i in range(1000)]

    def test_without_an_input(self):
        for more in ((), ("-j", "3"), ("--chunk", "64")):
            done = self.run_with("-p", "makes", "-o", "out.wav", *more)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            samples, channels, rate = harness.read_wav(self.path("out.wav"))
            self.assertEqual((list(samples), channels, rate), (self.made, 1, 8000))

    def test_report_and_plan(self):
        done = self.run_with("-p", "makes", "-p", "stats", "--json")
        entry = json.loads(done.stdout)["files"][0]
        self.assertEqual((entry["input"], entry["output"], entry["out"]["x"]), (None, None, 1000))
        self.assertEqual(self.run_with("-p", "makes", "-o", "out.wav", "--dry-run").returncode, 0)
        self.assertFalse(os.path.exists(self.path("out.wav")))

    def refused(self, *arguments):
        done = self.run_with(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        return done.stderr

    def test_mistakes(self):
        self.assertEqual(self.refused("-i", "in.wav", "-p", "makes", "-o", "out.wav"),
                         "filterchain: makes generates its signal: leave out -i in.wav\n")
        self.assertEqual(self.refused("-p", "makes", "-o", "."),
                         "filterchain: . is a folder, and without an input there is no name for the file: give -o FILE\n")
        self.assertIn("no output", self.refused("-p", "makes"))
        self.assertIn("makes", self.refused("-i", "in.wav", "-p", "gain:1", "-p", "makes", "-o", "out.wav"))
        self.assertIn("no input", self.refused("-p", "gain:1", "-o", "out.wav"))

    def test_synopsis(self):
        text = self.run_with("inspect", "makes").stdout
        self.assertIn("\nSYNOPSIS\n    filterchain -p makes", text)
        self.assertIn("\nTAKES\n    no input\n\nMAKES\n    audio; samples of type i16\n", text)
        self.assertTrue(json.loads(self.run_with("inspect", "makes", "--json").stdout)[0]["generator"])


class Prints(Plugins):
    def test_nothing_of_it_among_results(self):
        self.add("prints")
        for arguments in (("list", "--json"), ("inspect", "prints", "--json")):
            done = self.run_with(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(json.loads(done.stdout))
        for arguments in (("list",), ("inspect", "prints"), ("completion", "bash"),
                          ("-i", "in.wav", "-p", "prints", "-p", "stats")):
            done = self.run_with(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout)
            for printed in ("loaded", "at once", "asked"):
                self.assertNotIn(printed, done.stdout, arguments)

    def test_nothing_of_it_among_samples(self):
        self.add("prints")
        done = self.run_with("-i", "in.wav", "-p", "prints", "-o", "-", "--format", "raw", text=False)
        self.assertEqual((done.returncode, done.stdout), (0, self.read("in.wav")[44:]))


@unittest.skipIf(harness.sanitized(), "the sanitizer has handlers of its own")
class Ends(Plugins):
    """The operator ends the process: the output holds what it held, and there is no temporary."""

    def ends(self, name, *more):
        self.add(name)
        self.write("out.wav", "what was here before")
        done = self.run_with("-i", "in.wav", "-p", name, "-o", "out.wav", *more)
        os.remove(self.path(f"plugins/{name}.so"))
        self.assertEqual(self.read("out.wav"), b"what was here before")
        self.assertEqual(self.files(), ["in.wav", "out.wav"])
        self.assertEqual(done.stdout, "")
        return done.returncode, done.stderr

    def test_exit_is_no_success(self):
        for name in ("exits_in_process", "exits_in_create", "exits_in_negotiate", "exits_quickly"):
            with self.subTest(name):
                self.assertEqual(self.ends(name), (1, f"filterchain: {name}: the operator ended the process\n"))
        self.assertEqual(self.ends("exits_in_process", "-j", "4")[0], 1)

    def test_exit_in_a_dry_run(self):
        self.assertEqual(self.ends("exits_in_negotiate", "--dry-run"),
                         (1, "filterchain: exits_in_negotiate: the operator ended the process\n"))

    def test_exit_in_any_callback(self):
        """The operator is named. Once the output is in place, and the chain given back, it stays."""
        self.add("ends_anywhere")
        said = "filterchain: ends_anywhere: the operator ended the process\n"
        for callback in ("create", "negotiate", "extension", "wanted", "begin", "prepare", "scratch", "reset", "process", "collect", "report",
                         "release", "destroy"):
            with self.subTest(callback):
                self.write("out.wav", "what was here before")
                done = self.run_with("-i", "in.wav", "-p", "ends_anywhere", "-o", "out.wav",
                                     env={**harness.fixed_environment(), "FIXTURE_ENDS_IN": callback})
                self.assertEqual((done.returncode, done.stderr, done.stdout), (1, said, ""))
                self.assertEqual(self.files(), ["in.wav", "out.wav", "plugins/ends_anywhere.so"])
                if callback not in ("release", "destroy"):
                    self.assertEqual(self.read("out.wav"), b"what was here before")

    def test_a_stack_that_is_used_up(self):
        """On the calling thread and on others, where the handler needs a stack of its own."""
        harness.write_wav(self.path("in.wav"), harness.tone(400000))
        for threads in ("1", "4"):
            with self.subTest(threads):
                self.assertEqual(self.ends("overflows_in_process", "-j", threads, "--chunk", "1000"),
                                 (-signal.SIGSEGV, "filterchain: overflows_in_process: crashed (SIGSEGV)\n"))

    def test_a_crash_names_the_operator(self):
        for name, number in (("crashes_in_process", signal.SIGSEGV), ("aborts_in_process", signal.SIGABRT)):
            with self.subTest(name):
                self.assertEqual(self.ends(name), (-number, f"filterchain: {name}: crashed ({number.name})\n"))


if __name__ == "__main__":
    harness.main()
