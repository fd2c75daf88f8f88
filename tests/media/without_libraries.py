#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The library without libjpeg-turbo, libspng, libwebp and libtiff: it builds, and stb_image reads what is left.

    without_libraries.py SOURCE

The test of PNG is left out: stb_image does not verify checksums.
"""
import os
import subprocess
import sys
import tempfile

TESTS = ("image", "jpeg", "bmp_tga", "decoders")
OFF = ("cuda", "python", "turbojpeg", "spng", "webp", "tiff")


def run(*arguments):
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}:\n{done.stdout[-8000:]}")
    return done.stdout


with tempfile.TemporaryDirectory() as build:
    run("meson", "setup", build, os.path.abspath(sys.argv[1]), *(f"-D{name}=disabled" for name in OFF))
    run("ninja", "-C", build, "media/image/decoder/filterchain-decode", *(f"tests/media/test_media_{name}" for name in TESTS))
    passed = run("meson", "test", "-C", build, "--no-rebuild", *TESTS)
    if passed.count(" OK ") != len(TESTS):
        sys.exit("not every test ran:\n" + passed)
