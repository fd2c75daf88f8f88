#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The promise of the contract's version: a plugin built against a frozen copy of the header, and plugins built against a
header of a later minor version, load and pass; and the header of today is the frozen one with fields added at the end.

    compat.py BUILD_FOLDER SOURCE_FOLDER
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(sys.argv[2], "tests", "cli"))
import harness  # noqa: E402

CONTRACT = os.path.join(harness.SOURCE, "core", "contract")
FROZEN = os.path.join(harness.SOURCE, "tests", "authors", "plugin_frozen.h")
EXAMPLES = os.path.join(harness.SOURCE, "examples", "plugins")
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-missing-field-initializers"]
STRUCT = re.compile(r"(?:typedef )?struct (fc_\w+) \{\n(.*?)^\}", re.M | re.S)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def fields(body):
    """The names of a struct's members."""
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    for line in re.sub(r"\s+", " ", body).split(";"):
        pointer = re.search(r"\(\*(\w+)\)\(", line)
        if pointer:
            yield pointer.group(1)
        elif line.strip():
            for name in line.split(","):
                yield re.search(r"(\w+)\s*(?:\[[^]]*\])*\s*$", name).group(1)


class Compat(harness.Case):
    def cc(self, *words):
        done = subprocess.run(["cc", *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def passes(self, name):
        self.succeed("check", f"./{name}.so", "--seed", "3", "--seconds", "0.4")

    def test_built_against_the_frozen_header(self):
        source = os.path.join(harness.SOURCE, "tests", "authors", "frozen.c")
        self.cc(*WARNINGS, "-shared", "-fPIC", "-O2", "-ffp-contract=off", "-fvisibility=hidden", "-I", harness.SOURCE, source, "-o", "frozen.so")
        self.passes("frozen")
        harness.write_wav(self.path("in.wav"), [1000, 2000, 3000, 4000])
        self.succeed("-i", "in.wav", "--plugin-dir", ".", "-p", "frozen:0.5:shift=1", "-o", "out.wav")
        self.assertEqual(harness.read_wav(self.path("out.wav"))[0], [1500, 2500, 4000, 5500])

    def test_built_against_a_later_minor_version(self):
        """Longer structs, as an author has them whose filterchain is newer than the user's."""
        os.mkdir(self.path("later"))
        grown = 0
        for name in os.listdir(CONTRACT):
            text = read(os.path.join(CONTRACT, name))
            if name in ("plugin.h", "rows.h", "edges.h"):
                text, n = re.subn(r"((?:typedef )?struct fc_\w+ \{\n  uint32_t size;.*?\n)(\})", r"\1  uint64_t later[4];\n\2", text, flags=re.S)
                grown += n
            self.write("later/" + name, text)
        self.assertGreater(grown, 15)
        build = ("-shared", "-fPIC", "-O2", "-ffp-contract=off", "-fvisibility=hidden", "-Ilater")
        for name in ("gate", "duotone", "vignette", "crisp", "despeckle"):
            self.cc(*WARNINGS, *build, os.path.join(EXAMPLES, name + ".c"), "-o", name + ".so", "-lm")
            self.passes(name)
        if shutil.which("c++"):
            self.cc("-std=c++17", *WARNINGS[1:], *build, os.path.join(EXAMPLES, "median.cpp"), "-o", "median.so", "-lstdc++")
            self.passes("median")

    def layout(self, header, structs, enums):
        """What a compiler makes of the header: offsets of members, sizes, values of constants."""
        lines = [f'  printf("{name}.{field} %zu\\n", offsetof({name}, {field}));' for name, members in structs.items() for field in members]
        lines += [f'  printf("sizeof({name}) %zu\\n", sizeof({name}));' for name in structs]
        lines += [f'  printf("{name} %lld\\n", (long long)({name}));' for name in enums]
        self.write("layout.c", f'#include "{header}"\n#include <stdio.h>\nint main(void) {{\n' + "\n".join(lines) + "\n  return 0;\n}\n")
        self.cc("-std=c11", "-I", harness.SOURCE, "layout.c", "-o", "layout")
        said = subprocess.run([self.path("layout")], stdout=subprocess.PIPE, text=True, check=True).stdout
        return dict(line.rsplit(" ", 1) for line in said.splitlines())

    def test_fields_are_only_added(self):
        text = read(FROZEN)
        structs = {name: list(fields(body)) for name, body in STRUCT.findall(text)}
        enums = sorted(set(re.findall(r"^\s*(FC_[A-Z0-9_]+) = ", text, re.M) + re.findall(r"^#define (FC_[A-Z0-9_]+)\s+\d+u?$", text, re.M)))
        self.assertGreater(len(structs), 20)
        self.assertGreater(len(enums), 60)
        was, now = self.layout(FROZEN, structs, enums), self.layout("core/contract/plugin.h", structs, enums)
        for what, value in was.items():
            if what.startswith("sizeof"):
                self.assertGreaterEqual(int(now[what]), int(value), what)
            elif what not in ("FC_DTYPE_COUNT", "FC_KIND_COUNT"):
                self.assertEqual(now[what], value, what)

    def test_the_version_is_told(self):
        version = re.search(r"#define FC_PLUGIN_ABI\s+(\d+)", read(os.path.join(CONTRACT, "plugin.h"))).group(1)
        told = read(os.path.join(harness.BUILD, "meson-private", "filterchain-plugin.pc"))
        self.assertIn(f"plugin_abi={version}\n", told)
        self.assertIn("fc_plugin_entry_v" + version, read(os.path.join(CONTRACT, "plugin.h")))
        self.assertIn("plugin contract " + version, read(os.path.join(harness.SOURCE, "CHANGELOG.md")).lower())


if __name__ == "__main__":
    harness.main()
