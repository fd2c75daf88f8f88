#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a call from Python costs beside the call of the library, and the package beside SciPy and OpenCV on the same
arrays, in turns. One thread each, where they can be told.

    python_call.py CALL_COST [--most US] [--rivals]

CALL_COST is the program built from call_cost.c. --most fails where a call costs more microseconds beside the library's.
Needs numpy; --rivals takes what there is of scipy, cv2 and torch, whose results are compared with ours first.
"""
import argparse
import statistics
import subprocess
import sys
import time
import timeit

import filterchain as fc
import numpy as np

CALLS, ROUNDS = 2000, 7
SIZES = ((1, 1, 1), (64, 64, 3))


def overhead(program, stage, size):
    """(us of the library's call, us of Python's, of Python's into a given array) on one thread."""
    ours = min(float(subprocess.run([program, stage, *map(str, size), "1"], stdout=subprocess.PIPE, check=True, text=True).stdout)
               for _ in range(5))
    image, chain = np.zeros(size, "u1"), fc.chain(stage, device="cpu", threads=1)
    out = np.zeros(size, "f4")
    if size[0] < 5:
        image, out = image[:, :, 0], out[:, :, 0]

    def cost(call):
        return min(timeit.repeat(call, number=CALLS, repeat=ROUNDS)) / CALLS * 1e6
    return ours, cost(lambda: chain(image)), cost(lambda: chain(image, out=out))


def median_ms(call):
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


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
        print(f"without {name}, which is not here")
    return sys.modules.get(name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("call_cost")
    parser.add_argument("--most", type=float)
    parser.add_argument("--rivals", action="store_true")
    given = parser.parse_args()
    worst = 0
    for size in SIZES:
        ours, python, into = overhead(given.call_cost, "gain:0.5", size)
        worst = max(worst, python - ours, into - ours)
        print(f"gain on {'x'.join(map(str, size))} u8: the library's call {ours:.2f} us, from Python {python:.2f} us "
              f"(+{python - ours:.2f}), with out= {into:.2f} us (+{into - ours:.2f})")
    for what, ours, name, theirs in rivals() if given.rivals else ():
        difference = np.abs(np.asarray(ours(), "f8") - np.asarray(theirs(), "f8")).max()
        mine, its = median_ms(ours), median_ms(theirs)
        print(f"{what}: {mine:.2f} ms, {name} {its:.2f} ms, ratio {its / mine:.2f}; largest difference {difference:.3g}")
    if given.most is not None and worst > given.most:
        sys.exit(f"a call costs {worst:.2f} us beside the library's, more than {given.most}")


if __name__ == "__main__":
    main()
