#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The outside of every file: its licence line, name, length, and that of its functions; how many a folder holds.

    files.py ROOT
"""
import ast
import os
import re
import sys

import tree

LICENCE = "SPDX-License-Identifier: MIT"
CODE = (".c", ".h", ".hpp", ".cu", ".cuh", ".py", ".sh", "meson.build", "meson.options", "meson_options.txt")
NAME = re.compile(r"Cargo\.toml|[a-z0-9_]+(\.[a-z0-9_]+)*|[a-z]+(-[a-z]+)+\.(md|\d)|[A-Z]+(\.md)?|\d{4}-\d\d-\d\d-[a-z0-9-]+\.json")
MAX_LINES = 900
MAX_FUNCTION = 80
MAX_FILES = 25  # of a folder, in those below, but for what is written about it
FOLDERS = ("filters/", "cli/")
MAX_WHY = 40  # lines of a WHY.md


def is_script(root, path):
    """Whether a file without a telling name starts as a script does."""
    with open(os.path.join(root, path), "rb") as file:
        return file.read(2) == b"#!"


def long_functions(text):
    """(line, length) of every function longer than the ceiling. In our layout its body
    opens with the first line that ends in ") {" and closes with "}" at the margin; those
    within a struct of C++ end with it."""
    opened = None
    for number, line in enumerate(text.splitlines(), 1):
        if opened is None and line.endswith(") {"):
            opened = number
        elif line in ("}", "};") and opened is not None:
            if number - opened + 1 > MAX_FUNCTION:
                yield opened, number - opened + 1
            opened = None


def defined_twice(block):
    """(line, name) of every class or function of Python that takes the place of another: of two classes of tests
    the first is never run."""
    seen = set()
    for item in block:
        if isinstance(item, (ast.ClassDef, ast.FunctionDef)):
            if item.name in seen:
                yield item.lineno, item.name
            seen.add(item.name)
            yield from defined_twice(item.body)


def check_code(path, text):
    """The complaints about a file of code."""
    lines = text.splitlines()
    if not any(LICENCE in line for line in lines[:2]):
        yield f"{path}:1: no line {LICENCE}"
    if len(lines) > MAX_LINES:
        yield f"{path}: {len(lines)} lines, more than {MAX_LINES}: it wants to be several rooms"
    if not text.endswith("\n") or text.endswith("\n\n"):
        yield f"{path}:{len(lines)}: should end with one newline"
    for number, line in enumerate(lines, 1):
        if line != line.rstrip() or "\t" in line:
            yield f"{path}:{number}: a tab or a blank at the end"
    if path.endswith(".py"):
        for number, name in defined_twice(ast.parse(text).body):
            yield f"{path}:{number}: {name} is defined a second time"
    if path.endswith((".c", ".cu")):
        for number, length in long_functions(text):
            yield f"{path}:{number}: a function of {length} lines, more than {MAX_FUNCTION}"


def main(root):
    complaints, checked, folders = [], 0, {}
    for path in tree.sources(root):
        name = os.path.basename(path)
        if path.startswith(FOLDERS) and not path.endswith(".md"):
            folders[os.path.dirname(path)] = folders.get(os.path.dirname(path), 0) + 1
        if not name.startswith(".") and not NAME.fullmatch(name):
            complaints.append(f"{path}: names are lower case, digits and _")
        if name == "WHY.md" and tree.read(root, path).count("\n") > MAX_WHY:
            complaints.append(f"{path}: more than {MAX_WHY} lines")
        if path.endswith(CODE) or is_script(root, path):
            checked += 1
            complaints += check_code(path, tree.read(root, path))
    complaints += [f"{folder}: {count} files, more than {MAX_FILES}" for folder, count in folders.items() if count > MAX_FILES]
    return tree.finish(complaints, checked)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
