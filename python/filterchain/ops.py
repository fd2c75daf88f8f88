# SPDX-License-Identifier: MIT
"""The operators as functions: `ops.conv1d(h, border="wrap")` is `op("conv1d", h, border="wrap")`.

A parameter whose name is a Python keyword has an underscore appended: `ops.mel(20, from_="spectrum")`.
"""
import functools

from . import _chain


def __getattr__(name):
    described = _chain.operators_by_name().get(name)
    if described is None:
        raise AttributeError(f"there is no operator \"{name}\"")
    function = functools.partial(_chain.op, name)
    function.__doc__ = f"{described['summary']}\n\n{described['doc']}"
    function.__name__ = name
    return function


def __dir__():
    return sorted(_chain.operators_by_name())
