# SPDX-License-Identifier: MIT
"""Filter chains for sound, images and arrays, on the CPU and the GPU.

    >>> import filterchain as fc
    >>> smooth = fc.chain("conv1d:[1,2,1]/4", "gain:-6dB")
    >>> memoryview(smooth(fc.array([0, 4, 0, 0]))).tolist()
    [0.50..., 1.00..., 0.50..., 0.0]

A chain consists of the same stages as the command's -p options and is called on arrays. For a NumPy array it returns
a NumPy array; for a tensor of PyTorch or CuPy such a tensor, on the same device and the current stream; for any other
object that exports its memory (buffer protocol, DLPack, __cuda_array_interface__) an `Array`, which exports its memory
in the same ways.
"""
from . import _filterchain, _helpers, ops
from ._chain import Chain, Op, array, chain, decode, op, operators, read, write
from ._filterchain import (Array, DeviceError, Error, FatalError, FileError, InvalidError, OutOfMemoryError,
                           UnsupportedError)
from ._operator import operator

__version__ = _filterchain.version
has_cuda = _filterchain.has_cuda



def __getattr__(name):
    if name != "ray":
        raise AttributeError(f"module filterchain has no attribute {name}")
    import importlib
    return importlib.import_module("filterchain.ray")


__all__ = ["Array", "Chain", "DeviceError", "Error", "FatalError", "FileError", "InvalidError", "Op", "OutOfMemoryError",
           "UnsupportedError", "array", "chain", "decode", "has_cuda", "op", "operator", "operators", "ops", "read", "write"]
