#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Source files of a library call each other one way: no circle of object files by the symbols they define and use.

    circles.py LIBRARY.a...
"""
import os
import shutil
import subprocess
import sys

import tree


def symbols_in(archive):
    """For each object file the symbols that it defines for others, and those it wants."""
    symbols = {}
    listed = subprocess.run(["nm", "-g", "-A", archive], stdout=subprocess.PIPE, check=True, text=True)
    for line in listed.stdout.splitlines():
        path, _, rest = line.rpartition(":")
        *_, kind, name = rest.split()
        defined, wanted = symbols.setdefault(os.path.basename(path.rpartition(":")[2]), (set(), set()))
        (wanted if kind in "Uw" else defined).add(name)
    return symbols


def calls_between(symbols):
    """For each file the files whose symbols it uses."""
    home = {name: path for path, (defined, _) in symbols.items() for name in defined}
    return {path: sorted({home[name] for name in wanted if name in home} - {path})
            for path, (_, wanted) in symbols.items()}


def circles_in(calls):
    """Paths that come back to their beginning, one of each circle."""
    done, found = set(), []

    def walk(path, way):
        if path in way:
            found.append([*way[way.index(path):], path])
        elif path not in done:
            for other in calls[path]:
                walk(other, [*way, path])
            done.add(path)

    for path in calls:
        walk(path, [])
    return found


def main(archives):
    if not shutil.which("nm"):
        print("skipped: no nm here")
        return tree.SKIP
    complaints, checked = [], 0
    for archive in archives:
        calls = calls_between(symbols_in(archive))
        checked += len(calls)
        complaints += [" -> ".join(name.removesuffix(".o") for name in circle) for circle in circles_in(calls)]
    return tree.finish(complaints, checked)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
