#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every C and CUDA file is as clang-format lays it out with .clang-format.

    format.py ROOT

Other versions of clang-format lay out differently, so one is pinned; without it the
test is skipped and says so.
"""
import re
import shutil
import subprocess
import sys

import tree

PINNED = 14


def pinned_formatter():
    """The command of the pinned version, or None."""
    for name in (f"clang-format-{PINNED}", "clang-format"):
        command = shutil.which(name)
        if not command:
            continue
        said = subprocess.run([command, "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout
        version = re.search(r"version (\d+)", said)
        if version and int(version.group(1)) == PINNED:
            return command
    return None


def main(root):
    command = pinned_formatter()
    if not command:
        print(f"skipped: no clang-format {PINNED} here")
        return tree.SKIP
    files = tree.sources(root, (".c", ".h", ".hpp", ".cu", ".cuh"))
    checked = subprocess.run([command, "--style=file", "--dry-run", "-Werror", *files], cwd=root,
                             stderr=subprocess.PIPE, text=True, check=False)
    places = re.findall(r"^(\S+?:\d+):\d+: error", checked.stderr, re.M)
    complaints = [f"{place}: not as clang-format has it" for place in dict.fromkeys(places)]
    if checked.returncode and not complaints:
        complaints = [checked.stderr]
    return tree.finish(complaints, len(files))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
