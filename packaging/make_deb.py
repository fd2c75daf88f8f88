#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debian packages of a build, by dpkg-deb: filterchain (command, library, plugins) and filterchain-dev (headers,
pkg-config files, the manual page for authors).

    make_deb.py BUILD_FOLDER OUTPUT_FOLDER

The packages install to the build's prefix; for a system package configure the build with --prefix=/usr. Nothing is
built: the result of `./bootstrap demo` is enough. Dependencies are found from the libraries that the files need.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

DEVELOPMENT = re.compile(r"/include/|/pkgconfig/|\.7$")

CONTROL = """Package: {name}
Version: {version}
Architecture: {architecture}
Maintainer: the filterchain authors <filterchain@example.org>
Section: sound
Priority: optional
Installed-Size: {size}
Depends: {depends}
Description: {summary}
 {more}
"""


def output_of(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def files_of(tree):
    return [os.path.join(folder, name) for folder, _, names in os.walk(tree) for name in names]


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def dependencies(tree):
    """The packages of the libraries that files in the tree need and that are not in it."""
    own, needed = {os.path.basename(path) for path in files_of(tree)}, set()
    for path in files_of(tree):
        if not os.path.islink(path) and is_elf(path):
            needed |= set(re.findall(r"NEEDED\s+(\S+)", output_of("objdump", "-p", path)))
    places = dict(re.findall(r"^\s*(\S+) \(.*\) => (\S+)$", output_of("/sbin/ldconfig", "-p"), re.M))
    packages = set()
    for name in needed - own:
        found = os.path.realpath(places.get(name, name))
        for path in (found, "/usr" + found, found.replace("/usr/lib", "/lib", 1)):
            done = subprocess.run(["dpkg-query", "-S", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
            if done.returncode == 0:
                packages.add(done.stdout.split(":")[0])
                break
    return packages


def build_package(tree, output, name, depends, summary, more, version):
    size = sum(os.lstat(path).st_size for path in files_of(tree)) // 1024 + 1
    architecture = output_of("dpkg", "--print-architecture").strip()
    os.makedirs(os.path.join(tree, "DEBIAN"))
    with open(os.path.join(tree, "DEBIAN", "control"), "w", encoding="utf-8") as file:
        file.write(CONTROL.format(name=name, version=version, architecture=architecture, size=size, depends=", ".join(sorted(depends)),
                                  summary=summary, more=more))
    path = os.path.join(output, f"{name}_{version}_{architecture}.deb")
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, path], stdout=subprocess.DEVNULL, check=True)
    return path


def split(tree, other):
    """Moves the files for development into another tree."""
    for path in files_of(tree):
        inner = os.path.relpath(path, tree)
        if DEVELOPMENT.search("/" + inner):
            os.makedirs(os.path.dirname(os.path.join(other, inner)), exist_ok=True)
            shutil.move(path, os.path.join(other, inner))
    for folder, _, _ in os.walk(tree, topdown=False):
        if not os.listdir(folder):
            os.rmdir(folder)


def main(build, output):
    with open(os.path.join(build, "meson-info", "intro-projectinfo.json"), encoding="utf-8") as file:
        version = json.load(file)["version"]
    os.makedirs(output, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        tree, other = os.path.join(work, "tree"), os.path.join(work, "dev")
        subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", tree], stdout=subprocess.DEVNULL, check=True)
        for path in files_of(tree):
            if not os.path.islink(path) and is_elf(path):
                subprocess.run(["strip", "--strip-unneeded", path], check=True)
        split(tree, other)
        print(build_package(tree, output, "filterchain", dependencies(tree), "filter audio and images through a chain of operators",
                            "Every operator is a plugin; results are the same on the CPU and on a GPU.", version))
        print(build_package(other, output, "filterchain-dev", {f"filterchain (= {version})", "libglib2.0-dev"}, "headers for plugins and programs around filterchain",
                            "The contract with plugins, its helpers, and the library's header.", version))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: make_deb.py BUILD_FOLDER OUTPUT_FOLDER")
    main(*sys.argv[1:])
