#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The operator matrix along x, in blocks, against torch.matmul (cuBLAS, without TF32) on the same 8192 x 8192
elements of the device's memory; the best of five each. Integers, and sums with an offset, against the same in PyTorch:
converted, multiplied, added to, rounded, clamped and converted back.

    matrix_torch.py BUILD
"""
import ctypes
import os
import sys
import tempfile

import numpy
import torch

from library import ARRAY, CUDA, Library, view_at

SIZE = 8192


def best(work, stream):
    """Milliseconds."""
    times = []
    for _ in range(7):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record(stream)
        work()
        end.record(stream)
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return min(times[2:])


def theirs_of(x, matrix, offset, result):
    """A call that makes `result` of x."""
    lines, made = x.view(-1, matrix.shape[1]), result.view(-1, matrix.shape[0])
    if x.dtype == matrix.dtype and result.dtype == matrix.dtype:
        if offset.any():
            return lambda: torch.addmm(offset, lines, matrix.T, out=made)
        return lambda: torch.matmul(lines, matrix.T, out=made)
    if result.dtype.is_floating_point:
        return lambda: made.copy_(torch.addmm(offset, lines.to(matrix.dtype), matrix.T))
    least, most = torch.iinfo(result.dtype).min, torch.iinfo(result.dtype).max
    return lambda: made.copy_(torch.addmm(offset, lines.to(matrix.dtype), matrix.T).round_().clamp_(least, most))


def name_of(dtype):
    return str(dtype).rsplit(".", maxsplit=1)[-1]


def compare(engine, case, block, folder, stream):
    dtype, made, added, options = case
    whole = not dtype.is_floating_point
    x = torch.randint(0, 100, (SIZE, SIZE), dtype=dtype, device="cuda") if whole else torch.rand(SIZE, SIZE, dtype=dtype, device="cuda") - 0.5
    ours, theirs = torch.empty(SIZE, SIZE, dtype=made, device="cuda"), torch.empty(SIZE, SIZE, dtype=made, device="cuda")
    numbers = (numpy.random.rand(block, block) - 0.5) / (block**0.5 if whole else 1)
    path = os.path.join(folder, f"{block}.npy")
    numpy.save(path, numbers)
    working = torch.float64 if dtype == torch.float64 else torch.float32
    matrix = torch.tensor(numbers, dtype=working, device="cuda")
    offset = torch.full((block,), added, dtype=working, device="cuda")
    chain = engine.chain(f"matrix:{path}:axis=x:block={block}" + (f":offset={added}" if added else "") + options)
    views = [view_at(t.data_ptr(), name_of(t.dtype), t.element_size(), (SIZE, SIZE), ARRAY, CUDA) for t in (x, ours)]

    def run():
        if not engine.lib.fc_chain_run_device(chain, ctypes.byref(views[0]), ctypes.byref(views[1]),
                                              ctypes.c_void_p(stream.cuda_stream), None, None):
            sys.exit("the chain failed")

    mine = best(run, stream)
    other = best(theirs_of(x, matrix, offset, theirs), stream)
    differ = ((ours.double() - theirs.double()).abs().max() / theirs.double().abs().max()).item()
    what = name_of(dtype) + (f" to {name_of(made)}" if made != dtype else "") + (" + offset" if added else "") + options
    print(f"{what} {block}: {mine:.3f} ms, cuBLAS {other:.3f} ms: {other / mine:.2f}; they differ by {differ:.1e} of the largest", flush=True)
    engine.free(chain)


def main(build):
    torch.backends.cuda.matmul.allow_tf32 = False
    engine, stream = Library(build), torch.cuda.Stream()
    with tempfile.TemporaryDirectory() as folder, torch.cuda.stream(stream):
        for case in ((torch.float32, torch.float32, 0, ""), (torch.float64, torch.float64, 0, ""), (torch.float32, torch.float32, 3, ""),
                     (torch.uint8, torch.uint8, 3, ""), (torch.int16, torch.int16, 0, ""), (torch.int16, torch.float32, 3, ""),
                     (torch.float32, torch.uint8, 3, ""), (torch.float32, torch.float32, 3, ":tensor=yes")):
            for block in (64, 256, 512, 2048):
                compare(engine, case, block, folder, stream)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
