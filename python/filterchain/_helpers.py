# SPDX-License-Identifier: MIT
"""Python code used by the extension module: logging, and the tensors of other libraries."""
import logging
import sys

from . import _filterchain

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13  # DLPack's kinds of devices


def log(level, message):
    """A warning or an error of the library."""
    logging.getLogger("filterchain").log(level, message)


def _library(x):
    """The library of a tensor, if results can be made with it: "torch", "cupy"; or None."""
    name = type(x).__module__.partition(".")[0]
    return sys.modules.get(name) if name in ("torch", "cupy") else None


def _current_stream(x, ordinal):
    """The current stream of the tensor's library: 1 is the default stream."""
    library = _library(x)
    if library and library.__name__ == "torch":
        return library.cuda.current_stream(ordinal).cuda_stream or 1
    if library and library.__name__ == "cupy":
        return library.cuda.get_current_stream().ptr or 1
    return 1


def _check_tensor(x):
    if getattr(x, "requires_grad", False) is True:
        raise TypeError("the tensor requires a gradient, which filterchain does not have: call it with x.detach()")
    if hasattr(x, "is_neg") and x.is_neg() is True:  # which DLPack cannot say
        raise TypeError("the tensor's values are stored with the opposite sign: call it with x.resolve_neg()")


def _take_dlpack(x, stream):
    arguments = {} if stream is None else {"stream": stream}
    try:
        capsule = x.__dlpack__(max_version=(1, 0), **arguments)
    except TypeError:  # for a library without DLPack version 1
        capsule = x.__dlpack__(**arguments)
    return _filterchain.from_dlpack(capsule)


def _take_interface(x, interface, ordinal):
    """By __array_interface__ or __cuda_array_interface__."""
    names = {"|u1": "uint8", "<i2": "int16", "<u2": "uint16", "<i4": "int32", "<f4": "float32", "<f8": "float64"}
    if interface.get("mask") is not None:
        raise TypeError("an array with a mask: filterchain takes arrays without")
    address, readonly = interface["data"]
    dtype = names.get(interface["typestr"], interface["typestr"])
    strides = interface.get("strides")
    return _filterchain.from_pointer(address or 0, tuple(interface["shape"]), strides and tuple(strides), dtype, ordinal, bool(readonly), x)


def _take(x):
    """(Array, stream or None) on the memory that an object exports."""
    _check_tensor(x)
    if isinstance(x, _filterchain.Array):
        return x, None if x.device == "cpu" else 1
    if hasattr(x, "__dlpack__"):
        kind, ordinal = x.__dlpack_device__()
        stream = _current_stream(x, ordinal) if kind in (CUDA, CUDA_MANAGED) else None
        return _take_dlpack(x, stream), stream
    interface = getattr(x, "__cuda_array_interface__", None)
    if interface is not None:
        # Only DLPack gives the device; otherwise it is the library's, or the first one.
        ordinal = getattr(getattr(x, "device", None), "id", 0)
        return _take_interface(x, interface, ordinal), interface.get("stream") or 1
    interface = getattr(x, "__array_interface__", None)
    if interface is not None:
        return _take_interface(x, interface, -1), None
    raise TypeError(f"{type(x).__name__}: not an array: use what has the buffer protocol, DLPack or __cuda_array_interface__, "
                    "fc.array([...]) for numbers, fc.read(path) for a file")


def lend(x):
    """The object itself if it has a buffer, or an Array on its memory."""
    try:
        memoryview(x).release()
        return x
    except TypeError:
        return _take(x)[0]


def as_array(x):
    """An Array on the memory that an object exports."""
    lent = lend(x)
    return lent if isinstance(lent, _filterchain.Array) else _filterchain.from_buffer(lent)


def apply(function, lent, out, values):
    """Calls a Python operator for one piece. The function gets a copy, since the memory is not valid after the call."""
    import numpy
    made = numpy.asarray(function(numpy.array(lent), **values))
    room = numpy.asarray(out)
    if made.shape != room.shape:
        raise ValueError(f"the function returned shape {made.shape} of {lent.shape} where {room.shape} is to be made: "
                         "its input has the halo around it, its output has not")
    room[...] = made


def sentence(error):
    """An exception as the end of an error message."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def _empty(x, shape, dtype):
    """A tensor of x's library, on its device; None: the library is not supported."""
    library = _library(x)
    if library is None:
        return None
    if library.__name__ == "torch":
        return library.empty(shape, dtype=getattr(library, dtype), device=x.device)
    with x.device:
        return library.empty(shape, dtype=getattr(library, dtype))


def _back(x, result):
    """Converts an Array to an array of x's library, if that supports DLPack."""
    if type(x).__module__.partition(".")[0] == "filterchain":
        return result
    space = getattr(x, "__array_namespace__", None)
    library = space() if space else sys.modules.get(type(x).__module__.partition(".")[0])
    return library.from_dlpack(result) if hasattr(library, "from_dlpack") else result


def call(chain, x, options):
    """A call on an object that the extension module does not handle: a tensor, or None for a chain that begins with a
    generator."""
    if x is None:
        return chain._load(None, **options)
    lent, stream = _take(x)
    out = options.pop("out", None)
    if out is None:
        shape, dtype, _layout = chain._format(lent, **options)
        made = _empty(x, shape, dtype)
    else:
        made = out
    if made is None:
        return _back(x, chain._run(lent, None, stream or 0, **options))
    options["dtype"] = None
    chain._run(lent, _take(made)[0] if not isinstance(made, _filterchain.Array) else made, stream or 0, **options)
    return made


_filterchain.set_helpers(sys.modules[__name__])
