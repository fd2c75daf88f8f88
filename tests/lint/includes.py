#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Includes run one way, as HACKING.md says; an arrow the wrong way is a complaint.

    includes.py ROOT          checks the tree
    includes.py --self-test   checks this script on a small tree of right and wrong arrows
"""
import os
import re
import sys
import tempfile

import tree

# What each folder may include, as prefixes of paths from the root.
ALLOWED = {
    "core": ("core/",),
    "filters": ("filters/", "core/contract/device_function.h", "core/contract/edges.h", "core/contract/fc_helpers.cuh", "core/contract/random.h", "core/contract/rows.h", "core/contract/rows_table.h", "core/contract/view.h"),
    "plugins": ("plugins/", "filters/", "core/contract/fc_helpers.h", "core/contract/plugin.h", "core/contract/view.h"),
    "media": ("media/", "core/"),
    "check": ("check/", "core/base/error.h", "core/contract/", "core/registry/"),
    "cli": ("cli/", "core/contract/filterchain.h"),
    "python": ("python/", "core/contract/filterchain.h"),
    "tests": ("",),
}

# Among the folders of filters/: what each may include besides itself and base/.
FILTERS = {
    "base": (),
    "gpu": (),
    "color": ("gpu",),
    "conv1d": ("gpu", "fourier"),
    "filter2d": ("gpu",),
    "fourier": ("gpu",),
    "gemm": ("gpu",),
    "generate": ("gpu", "pointwise"),
    "geometry": ("gpu",),
    "histogram": ("gpu",),
    "local": ("gpu", "filter2d"),
    "matrix": ("gpu", "gemm", "pointwise"),
    "picture": ("fourier",),
    "pointwise": ("gpu",),
    "polyphase": ("gpu", "fourier"),
    "recursive": ("gpu",),
    "resample": ("gpu",),
    "dynamics": (),
    "stats": ("gpu",),
    "timeline": ("gpu",),
    "winstat": ("gpu",),
}

# Authors of plugins see these together in one folder, so they name each other bare.
INSTALLED = ("core/contract/device_function.h", "core/contract/edges.h", "core/contract/fc_helpers.cuh", "core/contract/fc_helpers.h", "core/contract/fc_plugin.hpp", "core/contract/filterchain.h", "core/contract/plugin.h",
             "core/contract/random.h", "core/contract/rows.h", "core/contract/view.h")

# Libraries, by the beginning of what is included, and who may use them.
LIBRARIES = (
    (("glib", "gio"), ("core", "media", "check", "cli", "tests", "examples")),
    (("sndfile", "stb", "zlib"), ("media", "tests")),
    (("stdio.h",), ("core", "media", "check", "cli", "tests", "examples", "plugins")),
)
CUDA = ("cuda", "cublas", "cufft", "cub/", "cooperative_groups")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">]+)[">]', re.M)


def wrong_own(root, path, named):
    """Why a quoted include is wrong, or None."""
    folder = path.split("/")[0]
    if path in INSTALLED and "/" not in named:
        return None if "core/contract/" + named in INSTALLED else f"{named} is not an installed header"
    if folder == "examples":
        if "/" not in named and os.path.exists(os.path.join(root, os.path.dirname(path), named)):
            return None
        return "examples include what is installed: <filterchain/...> by pkg-config, so <plugin.h>"
    if not os.path.exists(os.path.join(root, named)):
        return f"there is no {named}; paths start at the root"
    if named.endswith(".c"):
        return "sources are compiled, not included"
    if not named.startswith(ALLOWED[folder]):
        return f"{folder}/ may not include {named}"
    return wrong_family(path, named) if folder == "filters" and named.startswith("filters/") else None


def wrong_family(path, named):
    """Why an include between two folders of filters/ is wrong, or None."""
    family, other = (name.split("/")[1] for name in (path, named))
    if family not in FILTERS:
        return f"filters/{family} is no folder of the filters: {', '.join(FILTERS)}"
    if other not in (family, "base", *FILTERS[family]):
        return f"filters/{family}/ may not include {named}"
    return None


def wrong_library(path, named):
    """Why an include in angle brackets is wrong, or None."""
    folder = path.split("/")[0]
    if named.startswith(CUDA) and not path.endswith((".cu", ".cuh")) and folder not in ("check", "tests"):
        return f"<{named}>: CUDA stays in .cu files"
    for prefixes, folders in LIBRARIES:
        if named.startswith(prefixes) and folder not in folders:
            return f"{folder}/ may not include <{named}>"
    return None


def check(root):
    """The complaints of a tree, and how many includes were looked at."""
    complaints, count = [], 0
    for path in tree.sources(root, (".c", ".h", ".hpp", ".cu", ".cuh", ".cpp")):
        if path.split("/")[0] not in (*ALLOWED, "examples"):
            complaints.append(f"{path}: sources live in {', '.join(ALLOWED)} and examples")
            continue
        text = tree.read(root, path)
        for match in INCLUDE.finditer(text):
            count += 1
            quote, named = match.groups()
            reason = wrong_own(root, path, named) if quote == '"' else wrong_library(path, named)
            if reason:
                line = text.count("\n", 0, match.start(1)) + 1
                complaints.append(f"{path}:{line}: {reason}")
    return complaints + circles(root, "media"), count


def circles(root, folder):
    """Sources of a folder that include each other in a circle, a header and what implements it being one."""
    includes = {}
    for path in tree.sources(root, (".c", ".h")):
        if path.startswith(folder + "/"):
            named = {match.group(2)[:-2] for match in INCLUDE.finditer(tree.read(root, path)) if match.group(1) == '"'}
            includes.setdefault(path[:-2], set()).update(named)
    for name in includes:
        includes[name] = {other for other in includes[name] if other in includes and other != name}
    while ends := [name for name, others in includes.items() if not others or not any(name in of for of in includes.values())]:
        for name in ends:
            del includes[name]
        for others in includes.values():
            others.difference_update(ends)
    return [f"{name}.c: stands in a circle with {', '.join(sorted(others))}" for name, others in sorted(includes.items())]


# A tree for the self-test: file, its include, whether that is a wrong arrow.
ARROWS = (
    ("core/a.c", '"core/contract/view.h"', False),
    ("core/b.c", "<glib.h>", False),
    ("core/c.c", '"media/m.h"', True),
    ("core/d.c", '"filters/base/f.h"', True),
    ("core/e.c", "<sndfile.h>", True),
    ("core/f.c", "<cuda_runtime.h>", True),
    ("core/device/cuda.cu", "<cuda_runtime.h>", False),
    ("core/contract/plugin.h", '"view.h"', False),
    ("core/g.c", '"view.h"', True),
    ("filters/base/f.h", '"core/contract/view.h"', False),
    ("filters/base/g.c", '"core/contract/plugin.h"', True),
    ("filters/base/h.c", "<glib.h>", True),
    ("filters/base/i.c", "<stdio.h>", True),
    ("filters/gemm/j.cu", '"filters/base/f.h"', False),
    ("filters/matrix/k.cu", '"filters/gemm/j.cuh"', False),
    ("filters/gemm/j.cuh", '"filters/matrix/k.cuh"', True),
    ("filters/base/l.h", '"filters/gemm/j.cuh"', True),
    ("filters/m.h", '"filters/base/f.h"', True),
    ("filters/matrix/k.cuh", '"filters/gemm/nowhere.h"', True),
    ("plugins/p.c", '"core/contract/plugin.h"', False),
    ("plugins/q.c", '"filters/base/f.h"', False),
    ("plugins/r.c", '"core/contract/filterchain.h"', True),
    ("plugins/s.c", "<glib.h>", True),
    ("media/m.h", '"core/contract/view.h"', False),
    ("media/n.c", '"cli/x.h"', True),
    ("media/o.c", '"media/p.h"', True),
    ("media/p.c", '"media/o.h"', True),
    ("media/o.h", '"core/contract/view.h"', False),
    ("media/p.h", '"core/contract/view.h"', False),
    ("check/c.c", '"core/contract/view.h"', False),
    ("check/d.c", '"media/m.h"', True),
    ("cli/x.h", '"core/contract/filterchain.h"', False),
    ("cli/y.c", '"core/contract/view.h"', True),
    ("cli/z.c", '"media/m.h"', True),
    ("cli/w.c", '"cli/nowhere.h"', True),
    ("tests/unit/t.c", '"media/m.h"', False),
    ("tests/unit/u.c", '"core/a.c"', True),
    ("examples/plugin/e.c", "<plugin.h>", False),
    ("examples/plugin/f.c", '"core/contract/plugin.h"', True),
    ("lib/l.c", "<math.h>", True),
)


def self_test():
    """Every wrong arrow of ARROWS is found and no right one is."""
    with tempfile.TemporaryDirectory() as root:
        for path, named, _ in (*ARROWS, ("core/contract/view.h", "<stdint.h>", False), ("core/contract/filterchain.h", "<glib.h>", False)):
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(f"// a comment\n#include {named}\n")
        found = {complaint.split(":")[0] for complaint in check(root)[0]}
    wrong = [f"{path} including {named}: expected {'a' if bad else 'no'} complaint"
             for path, named, bad in ARROWS if bad != (path in found)]
    return tree.finish(wrong, len(ARROWS))


def main(argument):
    if argument == "--self-test":
        return self_test()
    return tree.finish(*check(argument))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
