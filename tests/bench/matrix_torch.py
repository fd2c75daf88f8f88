#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The operator matrix along x, in blocks, against torch.matmul (cuBLAS, without TF32) on the same 8192 x 8192
elements of the device's memory; the best of five each.

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


def compare(engine, dtype, block, folder, stream):
    x = torch.rand(SIZE, SIZE, dtype=dtype, device="cuda") - 0.5
    ours, theirs = torch.empty_like(x), torch.empty_like(x)
    numbers = numpy.random.rand(block, block) - 0.5
    path = os.path.join(folder, f"{block}.npy")
    numpy.save(path, numbers)
    matrix = torch.tensor(numbers, dtype=dtype, device="cuda")
    chain = engine.chain(f"matrix:{path}:axis=x:block={block}")
    name = str(dtype).rsplit(".", maxsplit=1)[-1]
    views = [view_at(t.data_ptr(), name, t.element_size(), (SIZE, SIZE), ARRAY, CUDA) for t in (x, ours)]

    def run():
        if not engine.lib.fc_chain_run_device(chain, ctypes.byref(views[0]), ctypes.byref(views[1]),
                                              ctypes.c_void_p(stream.cuda_stream), None, None):
            sys.exit("the chain failed")

    mine = best(run, stream)
    other = best(lambda: torch.matmul(x.view(-1, block), matrix.T, out=theirs.view(-1, block)), stream)
    differ = ((ours - theirs).abs().max() / theirs.abs().max()).item()
    print(f"{name} {block}: {mine:.3f} ms, cuBLAS {other:.3f} ms: {other / mine:.2f}; they differ by {differ:.1e} of the largest")
    engine.free(chain)


def main(build):
    torch.backends.cuda.matmul.allow_tf32 = False
    engine, stream = Library(build), torch.cuda.Stream()
    with tempfile.TemporaryDirectory() as folder, torch.cuda.stream(stream):
        for dtype in (torch.float32, torch.float64):
            for block in (64, 256, 512, 2048):
                compare(engine, dtype, block, folder, stream)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
