# SPDX-License-Identifier: MIT
"""Operators implemented by Python functions, for experiments."""
import inspect

from . import _chain, _filterchain

_BORDERS = {"auto": -1, "zero": 0, "replicate": 2, "reflect": 3, "reflect101": 4, "wrap": 5}
_KINDS = {"audio": 1, "image": 2, "array": 4}
_TYPES = {bool: 0, int: 1, float: 2, str: 4}  # fc_param_type


def _pair(value):
    before, after = (value, value) if isinstance(value, int) else value
    if before < 0 or after < 0:
        raise ValueError("a halo is not negative")
    return before, after


def _halo(halo):
    """(y before, y after, x before, x after)"""
    if not isinstance(halo, dict):
        return (*_pair(halo), *_pair(halo))
    unknown = set(halo) - set("yxhwt")
    if unknown:
        raise ValueError(f"a halo has the axes y and x (or h, w and t), not {', '.join(sorted(unknown))}")
    rows, columns = (next((halo[name] for name in names if name in halo), 0) for names in ("yh", "xwt"))
    return (*_pair(rows), *_pair(columns))


def _params(function):
    """The parameters after the first one: (name, type, documentation, default)."""
    found = []
    for param in list(inspect.signature(function).parameters.values())[1:]:
        if param.default is inspect.Parameter.empty or type(param.default) not in _TYPES:
            raise TypeError(f"{function.__name__}: parameter {param.name} wants a default that is a bool, int, float or str")
        text = {True: "yes", False: "no"}[param.default] if isinstance(param.default, bool) else str(param.default)
        found.append((param.name, _TYPES[type(param.default)], f"Parameter {param.name} of the function.", text))
    return found


def operator(function=None, *, halo=0, border="auto", kinds=("audio", "image", "array"), name=None):
    """Makes an operator from a function of NumPy arrays, for chains in this process:

        @fc.operator(halo=1)
        def edges(x, strength=1.0):
            return strength * (x[2:, 1:-1] - x[:-2, 1:-1])

        fc.chain("edges:2")(image)

    The function is called for one piece of the signal after the other, each with a `halo` of neighbouring samples: a
    number for all sides, or a dict such as {"x": (before, after), "y": 1}. For sound x has the shape (time, channels),
    for images and arrays (rows, columns, channels), with float32 or float64; the result has the same shape without the
    halo, and must depend on x and the parameters only. Parameters after the first are those of the operator, with their
    defaults. `border` gives the values beyond the ends. Only on the CPU, and one call at a time."""
    if function is None:
        return lambda given: operator(given, halo=halo, border=border, kinds=kinds, name=name)
    if border not in _BORDERS:
        raise ValueError(f"border={border}: expected {', '.join(_BORDERS)}")
    doc = inspect.getdoc(function) or f"The function {function.__name__} of Python."
    _filterchain.add_operator({
        "name": name or function.__name__, "function": function, "doc": doc, "summary": doc.splitlines()[0].rstrip("."),
        "kinds": sum(_KINDS[kind] for kind in kinds), "params": _params(function), "halo": _halo(halo), "border": _BORDERS[border]})
    _chain.kept.pop("operators", None)
    return function
