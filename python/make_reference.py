#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes type stubs and a reference from the operators' descriptors, which the command prints as JSON.

    make_reference.py COMMAND stubs|reference OUTPUT
"""
import json
import keyword
import subprocess
import sys
import textwrap

HEAD = '''# SPDX-License-Identifier: MIT
# Made of the operators' descriptors by make_reference.py.
from os import PathLike
from typing import Any, Literal, Sequence, Union

from ._chain import Op

_Text = Union[str, "PathLike[str]"]
'''

REFERENCE = '''# The operators in Python

Made of the operators' descriptors. Each is a stage of a chain, as text or as a function of `filterchain.ops`; a parameter
that is a word of Python has an underscore behind its name there.

```python
>>> import filterchain as fc

```
'''


def described(command):
    """The descriptors of all operators, sorted by name."""
    listed = json.loads(subprocess.run([command, "list", "--json"], stdout=subprocess.PIPE, check=True).stdout)
    names = [operator["name"] for operator in listed["operators"]]
    return json.loads(subprocess.run([command, "inspect", *names, "--json"], stdout=subprocess.PIPE, check=True).stdout)


def python_name(name):
    return name + "_" if keyword.iskeyword(name) else name


def type_of(param):
    """The type in the notation of typing."""
    plain = {"bool": "bool", "int": "int", "float": "float", "table": "Any", "input": "Any"}.get(param["type"], "str")
    if param["type"] == "enum":
        plain = "Literal[" + ", ".join(json.dumps(choice["name"]) for choice in param["choices"]) + "]"
    if param["type"] in ("path", "string"):
        plain = "_Text"
    if param["list"]:
        plain = f"Union[{plain}, Sequence[{plain}]]"
    return "Any" if plain == "Any" else f"Union[{plain}, str, None]"


def signature(operator):
    """The main parameter may come first, without its name."""
    params = sorted(operator["params"], key=lambda param: not param["main"])
    parts = [f"{python_name(param['name'])}: {type_of(param)} = ..." for param in params]
    at = 1 if params and params[0]["main"] else 0
    if len(parts) > at:
        parts.insert(at, "*")
    return ", ".join(parts)


def stubs(operators):
    parts = [HEAD]
    for operator in operators:
        doc = textwrap.indent(operator["summary"], "    ")
        parts.append(f'\ndef {python_name(operator["name"])}({signature(operator)}) -> Op:\n    """{doc.strip()}"""\n')
    return "".join(parts)


def range_of(param):
    """ "0 to 10 Hz", "one of a, b", or nothing."""
    if param["type"] == "enum":
        return ", ".join(f"`{choice['name']}`" for choice in param["choices"])
    least, most, unit = param.get("min"), param.get("max"), param["unit"]
    limits = f"{least} to {most}" if least is not None and most is not None else f"from {least}" if least is not None else \
        f"up to {most}" if most is not None else ""
    return " ".join(part for part in (limits, unit) if part)


def cell(text):
    return " ".join(str(text).split()).replace("|", "\\|")


def reference(operators):
    lines = [REFERENCE]
    for operator in operators:
        lines += [f"## {operator['name']}\n", f"{operator['summary'].capitalize()}.\n", operator["doc"] + "\n"]
        if operator["params"]:
            lines += ["| parameter | type | default | range | |", "|---|---|---|---|---|"]
        for param in operator["params"]:
            default = "required" if param["required"] else param["default"] or ""
            kind = f"list of {param['type']}" if param["list"] else param["type"]
            name = f"**{param['name']}**" if param["main"] else param["name"]
            lines.append("| " + " | ".join(cell(part) for part in (name, kind, default, range_of(param), param["doc"])) + " |")
        lines.append("\n```python")
        for i, example in enumerate(operator["examples"]):
            said = f"  # {operator['example_docs'][i]}" if operator["example_docs"] else ""
            lines += [f">>> fc.chain({example!r}){said}", f"filterchain.chain({example!r})"]
        lines.append("\n```\n")
    return "\n".join(lines)


def main(command, what, output):
    text = {"stubs": stubs, "reference": reference}[what](described(command))
    with open(output, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
