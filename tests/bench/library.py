# SPDX-License-Identifier: MIT
"""As much of libfilterchain as runs chains on arrays: core/contract/filterchain.h by ctypes, for benchmarks."""
import ctypes
import os
import sys

DTYPES = {"uint8": 0, "int16": 1, "uint16": 2, "int32": 3, "float32": 4, "float64": 5}
AUDIO, IMAGE, ARRAY = 0, 1, 2
HOST = 0
CUDA = 1 << 16  # of device 0


class View(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("dtype", ctypes.c_int32), ("kind", ctypes.c_int32),
                ("device", ctypes.c_int32), ("data", ctypes.c_void_p), ("shape", ctypes.c_int64 * 4),
                ("stride", ctypes.c_int64 * 4), ("origin", ctypes.c_int64 * 4), ("extent", ctypes.c_int64 * 4)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("device", ctypes.c_char_p), ("threads", ctypes.c_int),
                ("precision", ctypes.c_int), ("chunk", ctypes.c_int64), ("no_clobber", ctypes.c_int),
                ("allow_truncated", ctypes.c_int), ("sync", ctypes.c_int), ("trace", ctypes.c_char_p),
                ("in_format", ctypes.c_char_p), ("out_format", ctypes.c_char_p), ("in_raw", ctypes.c_char_p),
                ("max_pixels", ctypes.c_int64), ("progress", ctypes.c_void_p),
                ("progress_data", ctypes.c_void_p), ("cancel", ctypes.c_void_p), ("fuse", ctypes.c_int)]


class GError(ctypes.Structure):
    _fields_ = [("domain", ctypes.c_uint32), ("code", ctypes.c_int), ("message", ctypes.c_char_p)]


def view_at(address, dtype, itemsize, shape, kind, device=HOST):
    """Of elements in C order: (frames,) or (frames, channels) of sound, (rows, columns[, channels]) of an image."""
    if len(shape) < 3:
        shape = (1,) + shape if kind == AUDIO else shape + (1,)
    if len(shape) < 3:
        shape += (1,)
    v = View(ctypes.sizeof(View), DTYPES[dtype], kind, device, address)
    v.shape[:] = v.extent[:] = (1,) + tuple(shape)
    step = itemsize
    for axis in (3, 2, 1, 0):
        v.stride[axis] = step
        step *= v.shape[axis]
    return v


def view(array, kind):
    """Of a NumPy array."""
    return view_at(array.ctypes.data, array.dtype.name, array.itemsize, array.shape, kind)


class Library:
    """A context; a mistake ends the program with the library's sentence."""

    def __init__(self, build, threads=0):
        self.lib = ctypes.CDLL(os.path.join(build, "libfilterchain.so"))
        self.lib.fc_context_new.restype = ctypes.c_void_p
        self.lib.fc_chain_parse.restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.lib.fc_context_new())
        self.threads = threads

    def chain(self, text):
        error = ctypes.POINTER(GError)()
        stages = (ctypes.c_char_p * 2)(text.encode(), None)
        chain = self.lib.fc_chain_parse(self.context, stages, ctypes.byref(error))
        if not chain:
            sys.exit(error.contents.message.decode())
        return ctypes.c_void_p(chain)

    def free(self, chain):
        self.lib.fc_chain_free(chain)

    def run(self, chain, source, to, kind):
        """NumPy arrays, on the CPU."""
        error = ctypes.POINTER(GError)()
        options = Options(ctypes.sizeof(Options), b"cpu", self.threads, -1)
        views = view(source, kind), view(to, kind)
        if not self.lib.fc_chain_run_host(chain, ctypes.byref(views[0]), ctypes.byref(views[1]),
                                          ctypes.byref(options), None, ctypes.byref(error)):
            sys.exit(error.contents.message.decode())

    def run_device(self, chain, source, to, stream):
        """Views of device memory; enqueues on the stream, a cudaStream_t as a number."""
        error = ctypes.POINTER(GError)()
        if not self.lib.fc_chain_run_device(chain, ctypes.byref(source), ctypes.byref(to), ctypes.c_void_p(stream),
                                            None, ctypes.byref(error)):
            sys.exit(error.contents.message.decode())


def device_seconds(torch, stream, jobs, repeats, wait=0, apart=True):
    """Seconds on a stream of PyTorch of jobs in turns, by events: a list for each. The device is idle before a turn if turns
    are `apart`, and busy for `wait` of its cycles, so that the host's calls do not count."""
    marks = [[torch.cuda.Event(enable_timing=True) for _ in range(len(jobs) + 1)] for _ in range(repeats)]
    with torch.cuda.stream(stream):
        for turn in marks:
            if wait:
                torch.cuda._sleep(wait)
            turn[0].record(stream)
            for job, mark in zip(jobs, turn[1:]):
                job()
                mark.record(stream)
            if apart:
                stream.synchronize()
        stream.synchronize()
    return [[turn[i].elapsed_time(turn[i + 1]) * 1e-3 for turn in marks] for i in range(len(jobs))]


def text_of(mask):
    """A mask as a stage has it: rows of numbers."""
    rows = mask if hasattr(mask[0], "__len__") else [mask]
    return "[" + ";".join(",".join("%.9g" % v for v in row) for row in rows) + "]"
