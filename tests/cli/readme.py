#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The README's commands do what the README says.

Every block fenced as `console` is run in a folder that holds the shipped examples: a
line that begins with "$ " is a command, those below it are what it prints. "..." stands
for anything within a line, and alone on a line for any lines. Numbers that depend on
the machine (seconds, sizes of memory) are the README's to elide so.
"""
import os
import re
import shutil
import subprocess

import harness


def blocks():
    """(command, expected output) of every console block."""
    with open(os.path.join(harness.SOURCE, "README.md"), encoding="utf-8") as file:
        for block in re.findall(r"^```console\n(.*?)^```", file.read(), re.M | re.S):
            for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, output = part.partition("\n")
                while command.endswith("\\"):
                    more, _, output = output.partition("\n")
                    command = command[:-1] + more
                yield command, output


def pattern_of(expected):
    """The regular expression that an expected output means."""
    lines = [r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*?") + "\n"
             for line in expected.splitlines()]
    return r"\A" + "".join(lines) + r"\Z"


class Readme(harness.Case):
    def test_the_patterns(self):
        self.assertRegex("a 12 b\nx\ny\nend\n", pattern_of("a ... b\n...\nend\n"))
        self.assertNotRegex("a b\nend\n", pattern_of("a ...c b\nend\n"))
        self.assertNotRegex("one\ntwo\n", pattern_of("one\n"))

    def test_every_command(self):
        shutil.copytree(os.path.join(harness.SOURCE, "examples"), self.path("examples"))
        environment = harness.fixed_environment()
        environment["PATH"] = os.path.join(harness.BUILD, "cli") + ":" + environment["PATH"]
        count = 0
        for command, expected in blocks():
            with self.subTest(command=command):
                done = subprocess.run(["sh", "-c", command], cwd=self.folder, env=environment, text=True, check=False,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.assertRegex(done.stdout, pattern_of(expected))
                count += 1
        self.assertGreaterEqual(count, 5)


if __name__ == "__main__":
    harness.main()
