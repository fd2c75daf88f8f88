#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the command says of operators: list, inspect, completion. No operator's name is
written here; what there is comes from `list --json`."""
import json
import os
import re
import shlex
import shutil
import subprocess
import unittest

import harness

OPERATORS = harness.operators()


class List(harness.Case):
    def test_there_is_something(self):
        self.assertTrue(OPERATORS)

    def test_a_line_each(self):
        lines = self.succeed("list").splitlines()
        self.assertEqual([line.split()[0] for line in lines], sorted(op["name"] for op in OPERATORS))
        for line, op in zip(lines, sorted(OPERATORS, key=lambda op: op["name"])):
            self.assertIn(op["summary"], line)

    def test_none_of_ours_is_rejected(self):
        self.assertEqual(json.loads(self.succeed("list", "--json"))["rejected"], [])

    def test_a_rejected_plugin_is_listed_with_the_reason(self):
        self.write("broken.so", "this is no shared object\n")
        done = self.run_command("list", "--plugin-dir", self.folder)
        self.assertRegex(done.stdout, r"(?m)^rejected: .*broken\.so: \S+")
        rejected = json.loads(self.run_command("list", "--json", "--plugin-dir", self.folder).stdout)["rejected"]
        self.assertEqual([os.path.basename(entry["path"]) for entry in rejected], ["broken.so"])
        self.assertTrue(rejected[0]["reason"])


class Inspect(harness.Case):
    def test_reads_like_a_manual_page(self):
        for op in OPERATORS:
            text = self.succeed("inspect", op["name"])
            self.assertIn(f"NAME\n    {op['name']} - {op['summary']}\n", text)
            for heading in ("SYNOPSIS", "DESCRIPTION", "TAKES", "MAKES", "RUNS ON", "EXAMPLES", "PLUGIN"):
                self.assertIn(f"\n{heading}\n", text, op["name"])
            for param in op["params"]:
                self.assertRegex(text, rf"(?m)^    {param['name']}=", op["name"])

    def test_descriptors_are_complete(self):
        for op in OPERATORS:
            self.assertTrue(op["doc"] and op["examples"] and op["backends"], op["name"])
            self.assertRegex(op["summary"], r"[^.]\Z", op["name"])
            self.assertTrue(op["plugin"]["license"] and op["plugin"]["version"], op["name"])
            for param in op["params"]:
                self.assertTrue(param["doc"], f"{op['name']}: {param['name']}")

    def run_examples(self):
        """All that are printed, on in.wav and in.png of this folder: none fails, clips or warns."""
        shutil.copy(self.path("in.wav"), self.path("other.wav"))
        for end in ("png", "wav"):
            shutil.copy(self.path("in." + end), self.path("reference." + end))
        for op in OPERATORS:
            printed = self.succeed("inspect", op["name"]).split("\nEXAMPLES\n")[1].split("\n\n")[0].splitlines()
            words, lines = printed[::2], printed[1::2]
            for word, line in zip(words, lines, strict=True):
                self.assertRegex(word, r"\A    # \S+( \S+){0,5}\Z", op["name"])
                command = shlex.split(line)
                self.assertEqual(command[0], "filterchain")
                with self.subTest(line):
                    done = self.run_command(*command[1:])
                    self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_examples_run_as_they_are_printed(self):
        harness.write_wav(self.path("in.wav"), [s // 4 for s in harness.tone(20000, 2)], channels=2, rate=48000)
        harness.write_png(self.path("in.png"), [[80 + x + y + 20 * c for x in range(48) for c in range(3)] for y in range(40)], 3)
        self.run_examples()

    def test_examples_run_on_the_shipped_files(self):
        shutil.copy(os.path.join(harness.SOURCE, "examples", "speech.wav"), self.path("in.wav"))
        shutil.copy(os.path.join(harness.SOURCE, "examples", "picture.png"), self.path("in.png"))
        self.run_examples()

    def test_channels_count_from_0(self):
        for op in OPERATORS:
            for text in (op["doc"], *(param["doc"] for param in op["params"])):
                self.assertNotRegex(text, r"(?i)count(ed)? from 1", op["name"])

    def test_a_plugin_file(self):
        path = OPERATORS[0]["plugin"]["path"]
        self.assertIn(OPERATORS[0]["name"], [op["name"] for op in json.loads(self.succeed("inspect", "--json", path))])

    def test_a_mistyped_name(self):
        name = OPERATORS[0]["name"]
        self.assertEqual(self.fails(2, "inspect", name + "x"), f'no operator "{name}x": did you mean "{name}"?')

    def test_a_file_that_is_no_plugin(self):
        self.write("text.so", "nothing\n")
        self.assertIn("text.so", self.fails(2, "inspect", "./text.so"))
        self.assertIn("nowhere.so", self.fails(2, "inspect", "./nowhere.so"))


class Shells(harness.Case):
    """What a script for any shell answers."""

    def check_words(self, complete):
        """Values of parameters, options behind files' names, and the options of check with their values."""
        def answers(line):
            return {answer.split(":")[-1] for answer in complete(line)}

        for op in OPERATORS:
            known = {f"{param['name']}={value}" for param in op["params"] if param["type"] in ("enum", "bool")
                     for value in (["yes", "no"] if param["type"] == "bool" else [choice["name"] for choice in param["choices"]])}
            if known:
                self.assertLessEqual(known, answers(f"filterchain -p {op['name']}:"))
        self.assertLessEqual({"quality=", "subsampling=420", "progressive=yes", "background="}, answers("filterchain -i a.png -o a.b.jpeg:"))
        self.assertEqual(answers("filterchain -o a.wav:d"), {f"dtype={name}" for name in ("input", "u8", "i16", "i24", "i32", "f32", "f64")})
        self.assertEqual(answers("filterchain -o a.jpg:quality=9:subs"), {f"subsampling={name}" for name in ("auto", "444", "422", "420")})
        self.assertEqual(answers("filterchain -i a.jpg:sc"), {f"scale={name}" for name in ("1", "1/2", "1/4", "1/8", "auto")})
        self.assertEqual(answers("filterchain -i a.wav:") - set(self.files()), set())
        for command in ("check", "bench"):
            known = set(re.findall(r"--[a-z][a-z-]+", self.succeed(command, "--help")))
            self.assertLessEqual(known, answers(f"filterchain {command} --"))
        self.assertEqual(answers("filterchain check gain --test h"), {"halo"})
        self.assertLessEqual({"cpu", "all"}, answers("filterchain check gain --backend "))
        self.assertLessEqual({"gain", "gamma"}, answers("filterchain check --op ga"))


@unittest.skipUnless(shutil.which("bash"), "no bash here")
class Completion(Shells):
    """The script is loaded by a real bash and asked what it would answer."""

    def complete(self, line):
        script = "completion" if os.path.exists(self.path("completion")) else self.write("completion", self.succeed("completion", "bash"))
        words = re.split(r"\s+", line)
        ask = (f"source {script}; COMP_LINE=$1 COMP_POINT=${{#1}} COMP_WORDS=(); compopt() {{ :; }}; "
               'shift; COMP_WORDS=("$@"); _filterchain; printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "--norc", "-c", ask, "bash", line, *words], cwd=self.folder, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.stderr, "", line)
        return [answer.strip() for answer in done.stdout.split("\n") if answer]

    def test_words(self):
        self.check_words(self.complete)

    def test_nothing_typed_is_run(self):
        self.complete("filterchain -p $(touch${IFS}run):")
        self.complete("filterchain -o $(touch${IFS}run).jpg:q")
        self.assertNotIn("run", self.files())

    def test_operators(self):
        self.assertEqual(sorted(self.complete("filterchain -p ")), sorted(op["name"] for op in OPERATORS))

    def test_parameters(self):
        for op in OPERATORS:
            answers = self.complete(f"filterchain -i a.wav -p {op['name']}:")
            for param in op["params"]:
                self.assertTrue(any(answer.startswith(param["name"] + "=") for answer in answers), param["name"])

    def test_choices(self):
        for op in OPERATORS:
            for param in op["params"]:
                if param["type"] == "enum":
                    answers = self.complete(f"filterchain -p {op['name']}:{param['name']}=")
                    self.assertEqual(sorted(answers), sorted(choice["name"] for choice in param["choices"]))

    def test_files_of_tables_and_inputs(self):
        self.write("0.txt", "1")
        for op in OPERATORS:
            for param in op["params"]:
                if param["type"] in ("table", "input", "path"):
                    for before in ("", param["name"] + "="):
                        self.assertEqual(self.complete(f"filterchain -p {op['name']}:{before}0"), ["0.txt"])
                    self.assertEqual(sorted(self.complete(f"filterchain -p {op['name']}:{param['name']}=")), ["0.txt", "completion"])

    def test_bare_values(self):
        """Those of the main parameter: choices, or files beside the names of parameters."""
        self.write("0.txt", "1")
        for op in OPERATORS:
            for param in (param for param in op["params"] if param["main"]):
                answers = self.complete(f"filterchain -p {op['name']}:")
                if param["type"] == "enum":
                    self.assertLessEqual({choice["name"] for choice in param["choices"]}, set(answers))
                    behind = self.complete(f"filterchain -p {op['name']}:{param['choices'][0]['name']}:")
                    self.assertFalse({choice["name"] for choice in param["choices"]} & set(behind))
                self.assertEqual("0.txt" in answers, param["type"] in ("table", "input", "path"), op["name"])

    def test_formats(self):
        self.assertEqual(self.complete("filterchain --format np"), ["npy"])
        self.assertLessEqual({"wav", "png", "raw"}, set(self.complete("filterchain --in-format ")))

    def test_options_and_commands(self):
        cuda = "CPU only" not in self.succeed("--version")
        self.assertEqual({"auto", "cpu", "cuda"} <= set(self.complete("filterchain --device ")), cuda)
        self.assertEqual("--device" in self.complete("filterchain --devi"), cuda)
        self.assertEqual(set(self.complete("filterchain --fuse ")), {"auto", "no", "wait", "algebra"})
        self.assertEqual(sorted(self.complete("filterchain check ga"))[:2], ["gain", "gamma"])
        self.assertEqual(self.complete("filterchain --dry"), ["--dry-run"])
        self.assertEqual(self.complete("filterchain ins"), ["inspect"])
        self.assertEqual(self.complete("filterchain --progress j"), ["json"])

    def test_files(self):
        self.write("music.wav", "")
        self.assertEqual(self.complete("filterchain -i mus"), ["music.wav"])


class OtherShells(Shells):
    """Scripts for other shells answer like bash's."""

    def check_answers(self, complete):
        self.assertEqual(sorted(complete("filterchain -p ")), sorted(op["name"] for op in OPERATORS))
        for op in OPERATORS:
            answers = complete(f"filterchain -p {op['name']}:")
            for param in op["params"]:
                self.assertTrue(any(answer.split(":")[-1].startswith(param["name"] + "=") for answer in answers), param["name"])
        self.assertEqual(complete("filterchain --dry"), ["--dry-run"])
        self.assertEqual(complete("filterchain --progress j"), ["json"])
        self.assertIn("inspect", complete("filterchain ins"))
        self.assertIn("gain", complete("filterchain check ga"))
        self.check_words(complete)

    def ask(self, shell, *words):
        done = subprocess.run([shell, *words], cwd=self.folder, check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**harness.fixed_environment(), "HOME": self.folder})
        self.assertEqual(done.stderr, "", words)
        return [answer.split("\t")[0].strip() for answer in done.stdout.split("\n") if answer]

    @unittest.skipUnless(shutil.which("fish"), "no fish here")
    def test_fish(self):
        script = self.write("completion", self.succeed("completion", "fish"))
        self.check_answers(lambda line: self.ask("fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"))

    @unittest.skipUnless(shutil.which("zsh"), "no zsh here")
    def test_zsh(self):
        """With the builtins of its completion system, which want a terminal, as functions."""
        script = self.write("completion", self.succeed("completion", "zsh"))
        stubs = ("compdef() { :; }; _files() { :; }; compset() { PREFIX=${PREFIX##${~2}}; }\n"
                 "compadd() { local found=1 w; while [[ $1 != -- ]]; do shift; done; shift\n"
                 "  for w; do [[ $w == $PREFIX* ]] && print -r -- $w && found=0; done; return found; }\n")

        def complete(line):
            words = line.split(" ")
            return self.ask("zsh", "-f", "-c", f"{stubs}source ./{script}; words=(\"$@\"); CURRENT=$#; PREFIX=${{words[-1]}}; _filterchain; true",
                            "zsh", *words)
        self.check_answers(complete)


if __name__ == "__main__":
    harness.main()
