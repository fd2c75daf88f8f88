# SPDX-License-Identifier: MIT
"""The command, where the package contains it: in a wheel."""
import os
import pathlib
import shutil
import sys


def main():
    own = pathlib.Path(__file__).parent / "lib" / "bin" / "filterchain"
    command = str(own) if own.exists() else shutil.which("filterchain")
    if command is None or os.path.realpath(command) == os.path.realpath(sys.argv[0]):
        sys.exit("filterchain: the command is not installed beside the package")
    os.execv(command, ["filterchain", *sys.argv[1:]])


if __name__ == "__main__":
    main()
