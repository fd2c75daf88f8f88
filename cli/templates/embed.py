#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the templates of `filterchain new` as C (new.h).

    embed.py OUTPUT TEMPLATE...
"""
import os
import sys


def main(output, paths):
    with open(output, "w", encoding="utf-8") as to:
        to.write('#include "cli/templates/new.h"\nconst new_template new_templates[] = {\n')
        for path in paths:
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines(keepends=True)
            to.write('{"%s",\n' % os.path.basename(path)[:-len(".in")])
            for line in lines:
                to.write('  "%s"\n' % line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n"))
            to.write("},\n")
        to.write("{0, 0}};\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
