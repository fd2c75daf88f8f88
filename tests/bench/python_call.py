#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a call from Python costs beside the call of the library, and the package beside other libraries on the same
arrays, in turns. One thread each, where they can be told.

    python_call.py CALL_COST [--most US] [--rivals] [--cuda] [--command FILTERCHAIN] [--json FILE]

CALL_COST is the program built from call_cost.c. --most fails where a call on arrays in host memory costs more microseconds beside the
library's. --rivals takes what there is of scipy, cv2, torch, torchaudio and torchvision, whose results are compared with ours first.
--cuda adds tensors of torch and cupy on a GPU: what a call costs, and that it is enqueued on the current stream behind a kernel that
is still running, without waiting for it. --command adds images a second from JPEG, as cluster.py does it, without Ray. On a machine
with a GPU and no network, within a minute:

    PYTHONPATH=build/python tests/bench/python_call.py build/tests/bench/call_cost --cuda --command build/cli/filterchain \
      --device cuda --json FILE
"""
import argparse
import json
import os
import subprocess
import sys
import time
import timeit

import cluster
import filterchain as fc
import numpy as np
import rivals_cpu

CALLS, ROUNDS = 200, 300  # as in call_cost.c
REPEATS = 7
RETRIES, PATIENCE = 2, 60  # too slow calls are measured again so often at least, and for so many seconds
SIZES = ((1, 1, 1), (64, 64, 3))
STAGE = "gain:0.5"


def by_library(program, size, *device):
    """us of the library's own call"""
    words = [program, STAGE, *map(str, size), "1", *device]
    return float(subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True).stdout)


def cost(call, wait=lambda: None):
    """us of a call, in the fastest of the rounds"""
    times = []
    for _ in range(ROUNDS):
        times.append(timeit.timeit(call, number=CALLS) / CALLS * 1e6)
        wait()
    return min(times)


def overhead(what, size, library, python, into):
    row = {"arrays": what, "size": "x".join(map(str, size)), "library_us": round(library, 2), "python_us": round(python, 2), "out_us": round(into, 2),
           "more_us": round(max(python, into) - library, 2)}
    print(f"{STAGE} on {row['size']} u8, {what}: the library's call {library:.2f} us, from Python {python:.2f} us (+{python - library:.2f}), "
          f"with out= {into:.2f} us (+{into - library:.2f})", flush=True)
    return row


def overheads(program):
    """On arrays in host memory: NumPy's, and tensors of PyTorch where that is, from version 2 on, whose DLPack is quick."""
    torch = library("torch")
    if torch and int(torch.__version__.split(".")[0]) < 2:
        torch = None
    for size in SIZES:
        base, chain = by_library(program, size), fc.chain(STAGE, device="cpu", threads=1)
        image = np.zeros(size if size[0] > 4 else size[:2], "u1")
        out = np.zeros(image.shape, "f4")
        yield overhead("numpy", size, base, cost(lambda: chain(image)), cost(lambda: chain(image, out=out)))
        if torch:
            tensor, to = torch.from_numpy(image), torch.from_numpy(out)
            yield overhead("torch", size, base, cost(lambda: chain(tensor)), cost(lambda: chain(tensor, out=to)))


def worst(calls):
    """us that a call on arrays in host memory costs beside the library's"""
    return max(row["more_us"] for row in calls if row["arrays"] in ("numpy", "torch"))


# ---- tensors on a GPU ------------------------------------------------------------------------


class Torch:
    """What is asked of a library of tensors on a GPU."""
    name = "torch"

    def __init__(self):
        import torch
        self.lib, self.stream = torch, torch.cuda.Stream()
        self.wait = torch.cuda.synchronize

    def on_stream(self):
        return self.lib.cuda.stream(self.stream)

    def zeros(self, shape, dtype):
        return self.lib.zeros(shape, dtype=getattr(self.lib, dtype), device="cuda")

    def busy(self, seconds):
        """A kernel that runs so long, on the current stream."""
        self.lib.cuda._sleep(int(seconds * 1.6e9))

    def fill(self, x, value):
        x.fill_(value)

    def is_idle(self):
        return self.stream.query()

    def host(self, x):
        return x.cpu().numpy()


class Cupy(Torch):
    name = "cupy"

    def __init__(self):
        import cupy
        self.lib, self.stream = cupy, cupy.cuda.Stream(non_blocking=True)
        self.wait = cupy.cuda.Device().synchronize
        # The time is stored: a loop without an effect may be left out by the compiler.
        self.spin = cupy.RawKernel("extern \"C\" __global__ void spin(long long n, long long *spent) "
                                   "{ long long from = clock64(); do *spent = clock64() - from; while (*spent < n); }", "spin")
        self.spent = cupy.zeros(1, "int64")

    def on_stream(self):
        return self.stream

    def zeros(self, shape, dtype):
        return self.lib.zeros(shape, dtype)

    def busy(self, seconds):
        self.spin((1,), (1,), (np.int64(seconds * 1.6e9), self.spent))

    def fill(self, x, value):
        x.fill(value)

    def is_idle(self):
        return self.stream.done

    def host(self, x):
        return x.get()


def gpu_libraries():
    for maker in (Torch, Cupy):
        try:
            yield maker()
        except (ImportError, AttributeError, RuntimeError) as why:
            print(f"without {maker.name} on a GPU: {why}")


def gpu_overheads(program):
    """A call enqueues; how long it takes until it returns."""
    for size in SIZES:
        base = by_library(program, size, "cuda")
        for tensors in gpu_libraries():
            shape = size if size[0] > 4 else size[:2]
            x, out, chain = tensors.zeros(shape, "uint8"), tensors.zeros(shape, "float32"), fc.chain(STAGE)
            chain(x, out=out)
            yield overhead(f"{tensors.name} on a GPU", size, base, cost(lambda: chain(x), tensors.wait),
                           cost(lambda: chain(x, out=out), tensors.wait))


def on_current_stream(tensors, seconds=0.3):
    """Queues a kernel that runs for `seconds`, then one that fills the input, then the chain: it must return at once, and
    its result be of the filled input. Returns a row; exits where that is not so."""
    chain = fc.chain("conv1d:[1,2,1]/4:border=replicate", "gain:2")
    with tensors.on_stream():
        x = tensors.zeros((1 << 20,), "float32")
        for _ in range(10):  # prepared, and what is compiled in the background is loaded
            chain(x)
            time.sleep(0.2)
        tensors.busy(0)  # CuPy compiles at the first use, which would outlast the kernel
        tensors.fill(x, 1)  # not 0: zeros are not filled in by a kernel
        tensors.stream.synchronize()
        tensors.busy(seconds)
        tensors.fill(x, 3)
        began = time.perf_counter()
        y = chain(x)
        took = time.perf_counter() - began
        running = not tensors.is_idle()
        tensors.stream.synchronize()
        waited = time.perf_counter() - began
        right = bool((tensors.host(y) == 6).all())
    row = {"library": tensors.name, "returned_ms": round(took * 1e3, 3), "stream_idle_ms": round(waited * 1e3, 1), "still_running": running,
           "result_right": right, "same_library": type(y) is type(x)}
    print(f"{tensors.name}: behind a kernel of {waited * 1e3:.0f} ms a call returned after {took * 1e3:.2f} ms, result {'right' if right else 'WRONG'}",
          flush=True)
    if not (running and right and row["same_library"] and took < seconds / 4 < waited):
        sys.exit(f"{tensors.name}: the call was not enqueued on the current stream, or waited: {row}")
    return row


# ---- other libraries on the CPU ----------------------------------------------------------------


def fastest_ms(*calls):
    """Each call's fastest time, in turns"""
    times = [[] for _ in calls]
    for _ in range(REPEATS):
        for call, took in zip(calls, times):
            start = time.perf_counter()
            call()
            took.append(time.perf_counter() - start)
    return [min(took) * 1e3 for took in times]


def rivals():
    """(what, ours, name, theirs): calls that give the same."""
    rng = np.random.default_rng(1)
    sound = rng.random(1 << 20).astype("f4")
    taps = rng.random(101).astype("f4")
    image = rng.integers(0, 256, (1080, 1920, 3), dtype="uint8")
    plane = image[..., 0].astype("f4")
    row = np.array([1, 4, 6, 4, 1]) / 16
    def one(*stages):
        return fc.chain(*stages, device="cpu", threads=1)
    conv, sep = one(fc.op("conv1d", taps.astype("f8"))), one(fc.op("sepconv", row))
    box, median = one("winstat:window=15x15:stat=mean:border=reflect101"), one("median:5:border=replicate")
    half, turn, grey = one("resize:960x540:filter=area"), one("rotate:90"), one("gray")
    low = one("biquad:coefficients=[0.2,0.4,0.2,1,-0.5,0.3]")
    if scipy := library("scipy.ndimage"):
        yield "conv1d, 101 taps, 1 M f32", lambda: conv(sound), "scipy.ndimage", \
            lambda: scipy.convolve1d(sound, taps, mode="constant")
        yield "sepconv, 5 taps, 1080p f32", lambda: sep(plane, layout="hw"), "scipy.ndimage", \
            lambda: scipy.convolve1d(scipy.convolve1d(plane, row, 0, mode="mirror"), row, 1, mode="mirror")
        yield "winstat mean, 15 x 15, 1080p f32", lambda: box(plane, layout="hw"), "scipy.ndimage", \
            lambda: scipy.uniform_filter(plane, 15, mode="mirror")
        yield "median, 5 x 5, 1080p u8", lambda: median(image[..., 0]), "scipy.ndimage", \
            lambda: scipy.median_filter(image[..., 0], 5, mode="nearest")
    if signal := library("scipy.signal"):
        yield "biquad, 1 M f32", lambda: low(sound), "scipy.signal", \
            lambda: signal.lfilter([0.2, 0.4, 0.2], [1, -0.5, 0.3], sound)
    if cv2 := library("cv2"):
        cv2.setNumThreads(1)
        yield "sepconv, 5 taps, 1080p rgb u8", lambda: sep(image, dtype="uint8"), "cv2", \
            lambda: cv2.sepFilter2D(image, -1, row, row, borderType=cv2.BORDER_REFLECT_101)
        yield "winstat mean, 15 x 15, 1080p f32", lambda: box(plane, layout="hw"), "cv2", \
            lambda: cv2.blur(plane, (15, 15), borderType=cv2.BORDER_REFLECT_101)
        yield "median, 5 x 5, 1080p rgb u8", lambda: median(image), "cv2", lambda: cv2.medianBlur(image, 5)
        yield "resize to half, area, 1080p rgb u8", lambda: half(image), "cv2", \
            lambda: cv2.resize(image, (960, 540), interpolation=cv2.INTER_AREA)
        yield "rotate by 90, 1080p rgb u8", lambda: turn(image), "cv2", lambda: cv2.rotate(image, cv2.ROTATE_90_CLOCKWISE)
        yield "gray, 1080p rgb u8", lambda: grey(image, dtype="uint8"), "cv2", lambda: cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)[..., None]
    if torch := library("torch"):
        torch.set_num_threads(1)
        tensor, kernel = torch.from_numpy(sound), torch.from_numpy(taps[::-1].copy())[None, None]
        yield "conv1d, 101 taps, 1 M f32", lambda: conv(tensor), "torch", \
            lambda: torch.nn.functional.conv1d(tensor[None, None], kernel, padding=50)[0, 0]
    if (audio := library("torchaudio.functional")) and torch:
        a, b = torch.tensor([1, -0.5, 0.3]), torch.tensor([0.2, 0.4, 0.2])
        yield "biquad, 1 M f32", lambda: low(tensor), "torchaudio", lambda: audio.lfilter(tensor, a, b, clamp=False)
    if (vision := library("torchvision.transforms.functional")) and torch:
        pixels, blur = torch.from_numpy(plane)[None], one(fc.op("gauss", "1.1", border="reflect101", truncate=1.8))
        yield "gauss, 5 taps, 1080p f32", lambda: blur(plane, layout="hw"), "torchvision", \
            lambda: vision.gaussian_blur(pixels, [5, 5], [1.1, 1.1])[0]


def library(name):
    try:
        __import__(name)
    except ImportError:
        if name not in absent:
            print(f"without {name}, which is not here")
        absent.add(name)
    return sys.modules.get(name)


absent = set()


def compared():
    """A row for each rival."""
    for what, ours, name, theirs in rivals():
        difference = float(np.abs(np.asarray(ours(), "f8") - np.asarray(theirs(), "f8")).max())
        mine, its = fastest_ms(ours, theirs)
        print(f"{what}: {mine:.2f} ms, {name} {its:.2f} ms, ratio {its / mine:.2f}; largest difference {difference:.3g}", flush=True)
        yield {"work": what, "rival": name, "ours_ms": round(mine, 3), "theirs_ms": round(its, 3), "ratio": round(its / mine, 2), "difference": difference}


def versions():
    names = ("numpy", "scipy", "cv2", "torch", "torchaudio", "torchvision", "cupy")
    return {name: sys.modules[name].__version__ for name in names if name in sys.modules}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("call_cost")
    parser.add_argument("--most", type=float)
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--cuda", action="store_true")
    parser.add_argument("--command", type=os.path.abspath)
    parser.add_argument("--json")
    parser.add_argument("--commit", help="for the record, where there is no Git")
    cluster.add_arguments(parser, 256, 0)
    given = parser.parse_args()
    if given.cuda and not fc.has_cuda:
        sys.exit("--cuda: this build has no CUDA backend")
    began, told = time.perf_counter(), rivals_cpu.circumstances(os.cpu_count())
    told["commit"] = given.commit or told["commit"]
    told["calls"] = list(overheads(given.call_cost))
    retries = 0
    while given.most is not None and worst(told["calls"]) > given.most and (retries < RETRIES or time.perf_counter() - began < PATIENCE):
        time.sleep(0.5)  # other programs only ever add to it
        told["calls"], retries = list(overheads(given.call_cost)), retries + 1
    if given.cuda:
        told["calls"] += gpu_overheads(given.call_cost)
        told["streams"] = [on_current_stream(tensors) for tensors in gpu_libraries()]
    if given.rivals:
        told["rivals"] = list(compared())
    if given.command:
        told["images"] = cluster.figures(given)
    told["versions"], told["seconds"] = versions(), round(time.perf_counter() - began, 1)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(told, file, indent=1)
    if given.most is not None and worst(told["calls"]) > given.most:
        sys.exit(f"a call costs {worst(told['calls']):.2f} us beside the library's, more than {given.most}")


if __name__ == "__main__":
    main()
