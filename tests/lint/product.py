#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `meson install` installs, the target `product` builds: so that `meson install --no-rebuild` works in the folder that
`./bootstrap demo` leaves, where nothing else is built.

    product.py BUILD_FOLDER
"""
import json
import os
import shutil
import subprocess
import sys


def load(build, name):
    with open(os.path.join(build, "meson-info", name), encoding="utf-8") as file:
        return json.load(file)


def inputs(build, ninja, target, seen):
    """All that a target of ninja's is made of, by name."""
    said = subprocess.run([ninja, "-C", build, "-t", "query", target], stdout=subprocess.PIPE, text=True, check=True).stdout
    lines = said.split("  outputs:")[0].splitlines()
    for name in (line.strip(" |").strip() for line in lines if line.startswith("    ")):
        if name not in seen:
            seen.add(name)
            yield name


def main(build):
    ninja = shutil.which("ninja") or shutil.which("ninja-build")
    built = {os.path.relpath(path, build) for target in load(build, "intro-targets.json") for path in target["filename"]}
    installed = {os.path.relpath(path, build) for path in load(build, "intro-installed.json")} & built
    seen, left = set(), ["product"]
    while left:
        name = left.pop()
        if name == "product" or name in built or name.endswith(".symbols"): # of a library that is linked to
            left += inputs(build, ninja, name, seen)
    missing = sorted(installed - seen)
    for name in missing:
        print(f"{name}: is installed, and not part of the target product (meson.build)")
    assert len(installed) > 50, installed
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
