#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The commands of README.md and of the pages for users do what these say.

Every block fenced as `console` is run, the blocks of a page one after the other in a folder that holds the shipped
examples: a line that begins with "$ " is a command, those below it are what it prints. "..." stands for anything
within a line, and alone on a line for any lines. Numbers that depend on the machine (seconds, sizes of memory) are
the page's to elide so.

Of tables the commands in the last column are run and must succeed: whole ones, and stages (`-p ...`) on the page's
medium.
"""
import os
import re
import shutil
import subprocess

import harness


PAGES = ("README.md", "docs/images.md", "docs/folders.md", "docs/devices.md", "docs/speed.md")
# The pages with tables, and the file that stages by themselves are tried on.
TABLES = {"docs/sound.md": "wav", "docs/images.md": "png", "docs/from-sox-ffmpeg-vips.md": "wav"}


def text_of(page):
    with open(os.path.join(harness.SOURCE, page), encoding="utf-8") as file:
        return file.read()


def blocks(page):
    """(command, expected output) of every console block."""
    for block in re.findall(r"^```console\n(.*?)^```", text_of(page), re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            while command.endswith("\\"):
                more, _, output = output.partition("\n")
                command = command[:-1] + more
            yield command, output


def commands(page, medium):
    """The commands in the last column of a page's tables."""
    for cell in re.findall(r"^\|.*\| (.*) \|$", text_of(page), re.M):
        for code in re.findall(r"`([^`]*)`", cell):
            if code.startswith("filterchain "):
                yield code
            elif code.startswith("-p "):
                yield f"filterchain -i in.{medium} {code} -o out.{medium}"


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

    def run_line(self, command, folder):
        environment = harness.fixed_environment()
        environment["PATH"] = os.path.join(harness.BUILD, "cli") + ":" + environment["PATH"]
        return subprocess.run(["sh", "-c", command], cwd=folder, env=environment, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_every_block(self):
        for page in PAGES:
            folder = self.path(os.path.basename(page))
            shutil.copytree(os.path.join(harness.SOURCE, "examples"), os.path.join(folder, "examples"))
            count = 0
            for command, expected in blocks(page):
                with self.subTest(page=page, command=command):
                    done = self.run_line(command, folder)
                    self.assertRegex(done.stdout, pattern_of(expected))
                    count += 1
            self.assertGreaterEqual(count, 2, page)

    def make_media(self):
        """What the tables' commands name."""
        examples = os.path.join(harness.SOURCE, "examples")
        for name in ("a.wav", "b.wav", "hall.wav"):
            shutil.copy(os.path.join(examples, "speech.wav"), self.path(name))
        os.mkdir(self.path("photos"))
        for name in ("in.png", "b.png", "photos/1.png"):
            shutil.copy(os.path.join(examples, "picture.png"), self.path(name))
        for command in ("filterchain -p tone:noise:length=130s:rate=16000:channels=2 -o in.wav", "filterchain -i in.png -o in.jpg"):
            self.assertEqual(self.run_line(command, self.folder).returncode, 0)

    def test_every_table(self):
        self.make_media()
        for page, medium in TABLES.items():
            count = 0
            for command in commands(page, medium):
                with self.subTest(page=page, command=command):
                    done = self.run_line(command, self.folder)
                    self.assertEqual(done.returncode, 0, done.stdout)
                    count += 1
            self.assertGreaterEqual(count, 8, page)

    def test_every_other_command(self):
        """Those within the text of any page, of the manual page's examples and of --help."""
        self.make_media()
        for name, like in (("pad.wav", "a.wav"), ("drums.wav", "a.wav"), ("photo.png", "in.png"), ("photo.jpg", "in.jpg")):
            shutil.copy(self.path(like), self.path(name))
        shutil.copy(os.path.join(harness.SOURCE, "examples", "mask.txt"), self.path("mask.txt"))
        self.write("gauss.txt", "1 4 6 4 1\n")
        self.succeed("-i", "a.wav", "-o", "in.flac")
        pages = ["README.md", "cli/man/filterchain.1", *(os.path.join("docs", name) for name in os.listdir(os.path.join(harness.SOURCE, "docs")))]
        texts = {page: text_of(page) for page in pages if page.endswith((".md", ".1"))}
        texts["--help"] = self.succeed("--help")
        lines = {(page, command.strip()) for page, text in texts.items()
                 for command in re.findall(r"(?:^ *|`)(filterchain (?:-[ip]|--concat) [^`\n#|]*)", text, re.M)
                 if not command.startswith("filterchain -i INPUT")}
        self.assertGreater(len(lines), 60)
        for page, command in sorted(lines):
            with self.subTest(page=page, command=command):
                done = self.run_line(command, self.folder)
                self.assertEqual(done.returncode, 0, done.stdout)

    def test_links(self):
        """Files that the pages link to, or name in docs/, are there."""
        for page in {*PAGES, *TABLES, "docs/building.md", "docs/benchmarks.md", "docs/operators.md", "docs/library.md", "HACKING.md",
                     "docs/engine.md", "SECURITY.md"}:
            folder = os.path.join(harness.SOURCE, os.path.dirname(page))
            for target in re.findall(r"\]\(([^)#:]+)\)", text_of(page)):
                self.assertTrue(os.path.exists(os.path.join(folder, target)), f"{page} links to {target}")

    def test_the_pictures(self):
        """Those of README.md are what its commands make, and small."""
        folder = os.path.join(harness.SOURCE, "docs", "pictures")
        subprocess.run([os.path.join(folder, "make.sh"), harness.COMMAND, self.folder], check=True, env=harness.fixed_environment())
        made = os.listdir(self.folder)
        self.assertGreaterEqual(len(made), 5)
        for name in os.listdir(folder):
            self.assertLess(os.path.getsize(os.path.join(folder, name)), 60_000, name)
        for name in made:
            with open(os.path.join(folder, name), "rb") as file:
                self.assertEqual(file.read() == self.read(name), True, f"{name}: run docs/pictures/make.sh")
        for name in re.findall(r"docs/pictures/[a-z.]+", text_of("README.md")):
            self.assertTrue(os.path.exists(os.path.join(harness.SOURCE, name)), name)

    def test_the_length(self):
        """The README is to be read in one go."""
        self.assertLessEqual(len(text_of("README.md").splitlines()), 150)


if __name__ == "__main__":
    harness.main()
