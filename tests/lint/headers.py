#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every header compiles alone, pedantically: as C11, and those that others may use from
C++ as C++17 too.

    headers.py ROOT CC...     the C compiler and its fixed arguments
"""
import os
import re
import shlex
import shutil
import subprocess
import sys

import tree

FOLDERS = ("core/", "filters/", "media/", "plugins/", "cli/")
FOR_CPLUSPLUS = re.compile(r"core/contract/\w+\.h(pp)?|filters/(\w+/)+\w+\.h")
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unused-parameter"]


def library_flags():
    """The folders of GLib's and libsndfile's headers, as system ones: their warnings are not ours."""
    said = subprocess.run(["pkg-config", "--cflags", "glib-2.0", "sndfile"],
                          stdout=subprocess.PIPE, check=True, text=True).stdout
    return [re.sub(r"^-I", "-isystem", flag) for flag in shlex.split(said)] + ["-isystem/usr/include/stb"]


def compile_alone(command, language, root, header):
    """What the compiler says of a file that includes nothing but this header."""
    # Nothing comes after the include but a declaration: an empty file is no C.
    source = f'#include "{header}"\nextern int nothing;\n'
    done = subprocess.run([*command, *WARNINGS, "-I", root, "-x", language, "-fsyntax-only", "-"], input=source,
                          stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout if done.returncode else None


def main(root, compiler):
    libraries = library_flags()
    as_c = [*compiler, "-std=c11", "-D_GNU_SOURCE", *libraries]
    plusplus = shutil.which(os.environ.get("CXX", "c++"))
    complaints, checked = [], 0
    for header in tree.sources(root, (".h", ".hpp")):
        if not header.startswith(FOLDERS):
            continue
        checked += 1
        said = None if header.endswith(".hpp") else compile_alone(as_c, "c", root, header)
        if said:
            complaints.append(f"{header} as C11:\n{said}")
        if FOR_CPLUSPLUS.fullmatch(header) and plusplus:
            said = compile_alone([plusplus, "-std=c++17", *libraries], "c++", root, header)
            if said:
                complaints.append(f"{header} as C++17:\n{said}")
    if not plusplus:
        complaints.append("no C++ compiler: the headers for plugin authors cannot be checked")
    return tree.finish(complaints, checked)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
