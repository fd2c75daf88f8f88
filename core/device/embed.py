#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the headers of composed kernels (compose.h) as C: those given and all that they include, and in place of the
CUDA Toolkit's and C's, which NVRTC has not, the few lines of them that are used.

    embed.py ROOT OUTPUT HEADER...
"""
import os
import re
import sys

# What NVRTC does not know by itself.
STANDARD = {
    "cuda_runtime.h": "",
    "stddef.h": "#define offsetof(type, member) __builtin_offsetof(type, member)\n",
    "string.h": "",
    "stdint.h": """typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned long long uintptr_t;
#define INT32_MAX 0x7fffffff
#define INT32_MIN (-INT32_MAX - 1)
""",
    "type_traits": """namespace std {
template <typename T> struct is_signed { static constexpr bool value = T(-1) < T(0); };
template <typename T, typename U> struct is_same { static constexpr bool value = false; };
template <typename T> struct is_same<T, T> { static constexpr bool value = true; };
template <typename T> struct make_unsigned { typedef T type; };
template <> struct make_unsigned<signed char> { typedef unsigned char type; };
template <> struct make_unsigned<short> { typedef unsigned short type; };
template <> struct make_unsigned<int> { typedef unsigned int type; };
}
""",
}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">]+)[">]', re.M)


def place(folder, name):
    """What an include in a header of this folder means."""
    return name if name in STANDARD or "/" in name else os.path.join(folder, name)


def gather(root, names):
    """{name: text} of the headers and what they include."""
    found, waiting = {}, list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        if name in STANDARD:
            found[name] = STANDARD[name]
            continue
        with open(os.path.join(root, name), encoding="utf-8") as file:
            text = file.read()
        # Those that are installed name each other without a folder.
        folder = os.path.dirname(name)
        text = INCLUDE.sub(lambda match: f'#include "{place(folder, match.group(2))}"', text)
        found[name] = text
        waiting.extend(other for _, other in INCLUDE.findall(text))
    return found


def quoted(text):
    """A C string of it, a line a line."""
    lines = (line.replace("\\", "\\\\").replace('"', '\\"') for line in text.splitlines())
    return "\n".join(f'    "{line}\\n"' for line in lines) or '    ""'


def without_comments(text):
    """Comments are no news to a compiler, and a fifth of the text."""
    return re.sub(r"[ \t]*//[^\n]*", "", re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S))


def main(root, output, names):
    with open(output, "w", encoding="utf-8") as file:
        file.write('/* Made by core/device/embed.py. */\n#include "core/compose/compose.h"\n\n')
        file.write("const fc_compose_header fc_compose_headers[] = {\n")
        for name, text in sorted(gather(root, names).items()):
            file.write(f'  {{"{name}",\n{quoted(without_comments(text))}}},\n')
        file.write("  {NULL, NULL}};\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
