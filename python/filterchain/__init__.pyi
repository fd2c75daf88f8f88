# SPDX-License-Identifier: MIT
from . import ops as ops, ray as ray
from ._chain import Chain as Chain, Op as Op, array as array, chain as chain, decode as decode, op as op
from ._chain import operators as operators, read as read, write as write
from ._filterchain import Array as Array, DeviceError as DeviceError, Error as Error, FatalError as FatalError
from ._filterchain import FileError as FileError, InvalidError as InvalidError, OutOfMemoryError as OutOfMemoryError
from ._filterchain import UnsupportedError as UnsupportedError
from ._operator import operator as operator

__version__: str
has_cuda: bool
