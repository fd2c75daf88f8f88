#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pages for authors: their commands run, in order and in a clean folder, against an installed copy; their files
compile. A line "    $ COMMAND" is one, and a block "```c NAME" a file.

    docs.py BUILD_FOLDER SOURCE_FOLDER MESON
"""
import os
import re
import shutil

from installed import MESON, Installed
import harness

DOCS = os.path.join(harness.SOURCE, "docs")
PAGES = ("first-operator", "contract", "halos", "state", "side-inputs", "cuda", "testing-plugins")
MORE = ("../README",)  # has a plugin too


class Docs(Installed):
    def page(self, name):
        with open(os.path.join(DOCS, name + ".md"), encoding="utf-8") as file:
            return file.read()

    def test_commands_run(self):
        tools = self.path("tools")
        os.mkdir(tools)
        os.symlink(MESON, os.path.join(tools, "meson"))
        ran = 0
        for name in PAGES + MORE:
            folder = self.path(os.path.basename(name))
            os.mkdir(folder)
            text = self.page(name)
            for file, content in re.findall(r"^```c (\S+)\n(.*?)^```$", text, re.M | re.S):
                with open(os.path.join(folder, file), "w", encoding="utf-8") as to:
                    to.write(content)
            commands = re.findall(r"^    \$ (.*)$", text, re.M)
            if not commands:
                continue
            ran += len(commands)
            shutil.copy(os.path.join(harness.SOURCE, "examples", "speech.wav"), folder)
            os.mkdir(os.path.join(folder, "examples"))
            shutil.copy(os.path.join(harness.SOURCE, "examples", "speech.wav"), os.path.join(folder, "examples"))
            # Where the first page has changed the folder, the sound is wanted there too.
            script = "set -e\n" + "\n".join(c + (" && cp ../speech.wav ." if c.startswith("cd ") else "") for c in commands)
            script = script.replace("/tmp/soften-package", self.path("package"))
            self.call("sh", "-c", script, cwd=folder, PATH=tools + ":" + self.environment["PATH"])
        self.assertGreater(ran, 20)

    def test_links_and_lengths(self):
        for name in PAGES:
            text = self.page(name)
            self.assertLess(len(text.splitlines()), 90, name)
            for other in re.findall(r"\b([a-z-]+\.md)\b", text):
                self.assertTrue(os.path.exists(os.path.join(DOCS, other)), f"{name} names {other}")
            for path in re.findall(r"examples/plugins/[a-z_.]*[a-z]", text):
                self.assertTrue(os.path.exists(os.path.join(harness.SOURCE, path)), f"{name} names {path}")

    def test_names_are_those_of_the_headers(self):
        headers = ""
        for name in os.listdir(self.places["plugin.h"]):
            with open(os.path.join(self.places["plugin.h"], name), encoding="utf-8") as file:
                headers += file.read()
        for name in PAGES:
            for word in set(re.findall(r"\b(?:FC_[A-Z_]+|fc_[a-z_]+)\b", self.page(name))):
                self.assertRegex(headers, r"\b" + word, f"{name} names {word}")


if __name__ == "__main__":
    harness.main()
