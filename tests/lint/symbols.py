#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Shared objects export what they mean to and nothing else.

    symbols.py REGEX FILE...

Every dynamic symbol that a file defines matches the expression as a whole, and there
is at least one.
"""
import os
import re
import shutil
import subprocess
import sys

import tree


def exported(path):
    """The dynamic symbols that a shared object defines."""
    listed = subprocess.run(["nm", "-D", "--defined-only", path], stdout=subprocess.PIPE, check=True, text=True)
    return [line.split()[-1].split("@")[0] for line in listed.stdout.splitlines() if line.strip()]


def main(expression, files):
    if not shutil.which("nm"):
        print("skipped: no nm here")
        return tree.SKIP
    complaints, checked = [], 0
    for path in files:
        names = exported(path)
        checked += len(names)
        base = os.path.basename(path)
        if not names:
            complaints.append(f"{base}: exports nothing")
        complaints += [f"{base}: exports {name}" for name in names if not re.fullmatch(expression, name)]
    return tree.finish(complaints, checked)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
