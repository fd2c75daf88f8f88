#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The binary interface of both libraries, held against abi/*.abi.gz by libabigail's abidiff: functions may be added, and fields at
the end of structs. Types are compared where the build has debugging information (the sanitizers' has), else symbols alone.

    abi.py BUILD_FOLDER SOURCE_FOLDER [--write]

--write makes the current interface the one that is held to; of a build with debugging information, when a change is meant.
"""
import glob
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile

LIBRARIES = ("libfilterchain", "filters/libfilterchain-filters")
SKIP = 77


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def has_types(library):
    return ".debug_info" in run("readelf", "-S", "-W", library).stdout


def describe(library, headers, to):
    """The interface as text; of what the headers do not tell, nothing."""
    done = run("abidw", "--exported-interfaces-only", "--headers-dir", headers, "--drop-private-types", "--no-corpus-path", "--no-comp-dir-path",
               "--no-show-locs", "--no-parameter-names", "--no-elf-needed", "--type-id-style", "hash", "--out-file", to, library)
    assert done.returncode == 0, done.stdout


def differs(before, now, rules):
    """What abidiff says that is no mere addition. (Its rule for additions at the end lets changes of types pass.)"""
    all_of_it = run("abidiff", "--no-added-syms", before, now)
    other = run("abidiff", "--no-added-syms", "--suppressions", rules, before, now) if now.endswith(".abi") else all_of_it
    assert min(all_of_it.returncode, other.returncode) >= 0, "abidiff crashed"
    return all_of_it.stdout if other.returncode or re.search("data member (change|deletion)", all_of_it.stdout) else ""


def find_changes(text, now, rules, scratch):
    """The comparison itself: a field more at the end is none, one of another type, and one fewer, are."""
    struct = re.search(r"<class-decl name='fc_options'.*?</class-decl>", text, re.S).group(0)
    fields = re.findall(r"\s*<data-member.*?</data-member>", struct, re.S)
    types = [re.search(r"type-id='(\w+)'", field).group(1) for field in fields]
    other = next(name for name in types if name != types[1])
    size = re.search(r"layout-offset-in-bits='(\d+)'", fields[-1]).group(1)
    shorter = re.sub("size-in-bits='[0-9]+'", f"size-in-bits='{size}'", struct.replace(fields[-1], ""), count=1)
    for changed, found in ((shorter, False), (struct.replace(fields[1], fields[1].replace(types[1], other)), True), (struct.replace(fields[4], ""), True)):
        path = os.path.join(scratch, "changed.abi")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(struct, changed))
        assert bool(differs(path, now, rules)) == found, changed


def compare(library, held, headers, folder, scratch):
    rules = os.path.join(folder, "additions.suppr")
    before, now = os.path.join(scratch, "before.abi"), os.path.join(scratch, "now.abi")
    with gzip.open(held, "rt", encoding="utf-8") as file, open(before, "w", encoding="utf-8") as to:
        to.write(file.read())
    if not has_types(library):
        return "symbols", differs(before, library, rules)
    describe(library, headers, now)
    with open(now, encoding="utf-8") as file:
        text = file.read()
    if "'fc_options'" in text:
        find_changes(text, now, rules, scratch)
    return "types and symbols", differs(before, now, rules)


def main(build, source, *options):
    folder = os.path.join(source, "tests", "authors", "abi")
    headers = os.path.join(source, "core", "contract")
    if not shutil.which("abidiff") or not shutil.which("readelf"):
        print("skipped: no abidiff here: apt-get install abigail-tools")
        return SKIP
    failed = 0
    for name in LIBRARIES:
        library = sorted(glob.glob(os.path.join(build, name + ".so.*.*")))[0]
        held = os.path.join(folder, os.path.basename(name).replace("-", "_") + ".abi.gz")
        with tempfile.TemporaryDirectory() as scratch:
            if "--write" in options:
                assert has_types(library), "no debugging information: meson setup --buildtype=debugoptimized"
                describe(library, headers, os.path.join(scratch, "now.abi"))
                with open(os.path.join(scratch, "now.abi"), "rb") as text, open(held, "wb") as file:
                    file.write(gzip.compress(text.read(), 9, mtime=0))
                continue
            what, said = compare(library, held, headers, folder, scratch)
        failed += bool(said)
        print(f"{os.path.basename(name)}: {what} {'DIFFER' if said else 'as before'}\n{said}", end="")
    if failed:
        print("Where that is meant: tests/authors/abi.py BUILD_FOLDER SOURCE_FOLDER --write, of a build with debugging information")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
