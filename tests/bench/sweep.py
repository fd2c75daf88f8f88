#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random chains against what the machine could do at best.

    sweep.py BUILD [--seed N] [--chains N] [--samples N] [--json FILE]          on a GPU; needs PyTorch
    sweep.py BUILD --device cpu [...]                                           needs NumPy alone

One to five stages of gain, clip, mix, matrix, conv1d (2 to 3000 taps), sepconv and conv2d (2 to 19 x 2 to 19) and winstat
(windows of 2 to 6000 of sound, 2 to 40 of images), on u8, i16 and f32, one to four channels, of sound or of images of odd
sizes, some in batches; the result is of the input's type.

On a GPU a chain is timed on the device's memory and compared with its floor: the input read and the output written once at
the machine's copy speed, or the arithmetic at 50 TFLOP/s, whichever is more. A convolution's arithmetic is that of sums or
of transforms (100 flop a sample), whichever is less. Times are those of the device: the host calls while it waits, as in a
program that keeps it busy; `called` is from the call on, with what the host takes, some 10 to 40 microseconds. Answers of kernels that join stages and of stages one by one must agree
to the bit, and those of the CPU, on a part of the signal, to rounding. On the CPU the floor is the sum of the stages run
singly, each from memory to memory in f32, and answers are not compared: that is the operator tests' work.

Exit status 1 when answers differ, never for a slow chain; 77 without a GPU.
"""
import argparse
import ctypes
import json
import random
import statistics
import sys
import time

import numpy

from library import AUDIO, CUDA, IMAGE, Library, Options, device_seconds, view_at

PEAK = 50e12
FUSE_NO, FUSE_WAIT = 1, 2
WAIT = 2_000_000  # cycles, about a millisecond


class Numbers(random.Random):
    def list(self, count, low, high):
        return ",".join(f"{self.uniform(low, high):.4f}" for _ in range(count))

    def log(self, low, high):
        """An integer; each order of magnitude is as likely."""
        return round(low * (high / low) ** self.random())

    def mask(self, rows, columns):
        """All positive, of sum 1 about."""
        count = rows * columns
        return "[" + ";".join(self.list(columns, 0.2 / count, 1.8 / count) for _ in range(rows)) + "]"


def stage_of(r, kind, channels, full):
    """A stage's text and its flop a sample."""
    names = ["gain", "clip", "mix", "matrix", "conv1d", "winstat"] + (["sepconv", "conv2d"] * 2 if kind == IMAGE else ["conv1d"])
    name = r.choice(names)
    kx, ky = r.randint(2, 19), r.randint(2, 19)
    if name == "gain":
        return f"gain:{r.uniform(0.3, 1.5):.3f}", 1
    if name == "clip":
        return f"clip:min={full * r.uniform(-1, 0.1):.3f}:max={full * r.uniform(0.5, 1):.3f}", 2
    if name == "mix":
        return "mix:" + ",".join(str(c) for c in r.sample(range(channels), channels)), 0
    if name == "matrix":
        rows = ";".join(r.list(channels, 0, 1.6 / channels) for _ in range(channels))
        return f"matrix:[{rows}]", 2 * channels
    if name == "conv1d":
        taps = r.log(2, 3000) if kind == AUDIO else r.log(2, 100)
        axis = ":axis=y" if kind == IMAGE and r.random() < 0.5 else ""
        return f"conv1d:{r.mask(1, taps)}{axis}", min(2 * taps, 100)
    if name == "winstat":
        window = r.log(2, 6000) if kind == AUDIO else r.randint(2, 40)
        return f"winstat:window={window}:stat={r.choice(['mean', 'rms', 'std', 'min', 'max'])}", 6
    if name == "sepconv":
        return f"sepconv:{r.mask(1, kx)}:y={r.mask(1, ky)}", 2 * (kx + ky)
    return f"conv2d:{r.mask(ky, kx)}:separate=no", 2 * kx * ky


def chain_of(r, samples):
    """Stages, kind, type, shape and flop a sample."""
    kind, dtype = r.choice([AUDIO, IMAGE, IMAGE]), r.choice(["uint8", "int16", "float32"])
    if kind == IMAGE and dtype == "int16":
        dtype = "uint16"
    channels = r.choice([1, 2, 3, 4] if kind == IMAGE else [1, 2, 2, 4])
    if kind == AUDIO:
        shape = (1, 1, samples // channels)
    elif r.random() < 0.3:
        size = r.randint(100, 600)
        shape = (max(samples // channels // size // size, 1), size, size + r.randint(0, 40))
    else:
        width = r.randint(700, 9000)
        shape = (1, max(samples // channels // width, 20), width)
    full = 1 if kind == AUDIO else 1 if dtype == "float32" else 255 if dtype == "uint8" else 65535
    stages = [stage_of(r, kind, channels, full) for _ in range(r.randint(1, 5))]
    return [s for s, _ in stages], kind, dtype, shape + (channels,), sum(f for _, f in stages)


class Machine:
    """What runs a chain: `seconds(stages, fuse)` of a signal made before."""

    def __init__(self, build, threads):
        self.engine = Library(build, threads)

    def view(self, address, dtype, shape, kind, device):
        v = view_at(address, dtype, numpy.dtype(dtype).itemsize, shape[1:], kind, device)
        n = shape[0]
        v.shape[0] = v.extent[0] = n
        return v

    def call(self, stages, views, fuse, stream=None, device=b"cpu"):
        error = ctypes.c_void_p()
        texts = (ctypes.c_char_p * (len(stages) + 1))(*[s.encode() for s in stages], None)
        lib = self.engine.lib
        chain = lib.fc_chain_parse(self.engine.context, texts, ctypes.byref(error))
        if not chain:
            sys.exit(f"no chain: {' | '.join(stages)}")
        chain = ctypes.c_void_p(chain)
        options = Options(ctypes.sizeof(Options), device, self.engine.threads, -1)
        options.fuse = fuse

        def run():
            if stream is None:
                done = lib.fc_chain_run_host(chain, ctypes.byref(views[0]), ctypes.byref(views[1]), ctypes.byref(options), None, None)
            else:
                done = lib.fc_chain_run_device(chain, ctypes.byref(views[0]), ctypes.byref(views[1]), ctypes.c_void_p(stream),
                                               ctypes.byref(options), None)
            if not done:
                sys.exit(f"it failed: {' | '.join(stages)}")

        return run, chain

    def on_host(self, stages, source, kind):
        to = numpy.empty_like(source)
        views = [self.view(a.ctypes.data, a.dtype.name, a.shape, kind, 0) for a in (source, to)]
        run, chain = self.call(stages, views, 0)
        return run, chain, to


def noise(dtype, shape, seed):
    g = numpy.random.default_rng(seed)
    if dtype == "float32":
        return g.random(shape, dtype="float32")
    low, high = numpy.iinfo(dtype).min, numpy.iinfo(dtype).max
    return g.integers(low, high, shape, dtype, endpoint=True)


class Gpu(Machine):
    def __init__(self, build):
        super().__init__(build, 0)
        import torch
        if not torch.cuda.is_available():
            sys.exit(77)
        self.torch, self.stream = torch, torch.cuda.Stream()
        half = torch.rand(64 << 20, device="cuda")
        other = torch.empty_like(half)
        self.copy = 2 * half.numel() * 4 / self.best(lambda: other.copy_(half), WAIT)

    def best(self, job, wait=0):
        """Seconds from the call on; with a wait of so many cycles of the device that the host calls behind it, those of the
        device alone."""
        return min(device_seconds(self.torch, self.stream, [job], 6, wait)[0][2:])

    def measure(self, stages, kind, dtype, shape, flop, seed):
        data = noise(dtype, shape, seed)
        source = self.torch.from_numpy(data.view("int16") if dtype == "uint16" else data).cuda()
        results, seconds, called = [], [], []
        for fuse in (FUSE_NO, FUSE_WAIT):
            to = self.torch.zeros_like(source)
            views = [self.view(t.data_ptr(), dtype, shape, kind, CUDA) for t in (source, to)]
            run, chain = self.call(stages, views, fuse, self.stream.cuda_stream, b"cuda")
            called.append(self.best(run))
            seconds.append(self.best(run, WAIT))
            self.engine.free(chain)
            results.append(to.view(self.torch.uint8))
        same = bool((results[0] == results[1]).all())
        floor = max(2 * data.nbytes / self.copy, flop * data.size / PEAK)
        return {"seconds": seconds[1], "one_by_one": seconds[0], "called": called[1], "floor": floor, "same": same and self.agrees(stages, kind, data)}

    def agrees(self, stages, kind, data):
        """With the CPU, on a part of the signal."""
        part = numpy.ascontiguousarray(data[:, :, :50000] if kind == AUDIO else data[:1, :300, :400])
        run, chain, expected = self.on_host(stages, part, kind)
        run()
        self.engine.free(chain)
        source = self.torch.from_numpy(part.view("int16") if part.dtype == "uint16" else part).cuda()
        to = self.torch.zeros_like(source)
        views = [self.view(t.data_ptr(), part.dtype.name, part.shape, kind, CUDA) for t in (source, to)]
        run, chain = self.call(stages, views, FUSE_WAIT, self.stream.cuda_stream, b"cuda")
        run()
        self.stream.synchronize()
        self.engine.free(chain)
        got = to.cpu().numpy().view(part.dtype).astype("float64")
        apart = numpy.abs(got - expected.astype("float64")).max()
        return bool(apart <= (1e-4 if part.dtype == "float32" else 1))


class Cpu(Machine):
    def best(self, job):
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            job()
            times.append(time.perf_counter() - begin)
        return min(times)

    def measure(self, stages, kind, dtype, shape, flop, seed):
        del flop
        data = noise(dtype, shape, seed)
        run, chain, _ = self.on_host(stages, data, kind)
        whole = self.best(run)
        self.engine.free(chain)
        floor = 0
        for s in stages:
            run, chain, _ = self.on_host([s], data, kind)
            floor += self.best(run)
            self.engine.free(chain)
        return {"seconds": whole, "floor": floor, "same": True}


def quantile(values, q):
    return sorted(values)[min(int(q * len(values)), len(values) - 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--chains", type=int, default=80)
    parser.add_argument("--samples", type=int, default=30_000_000)
    parser.add_argument("--json")
    args = parser.parse_args()
    machine = Gpu(args.build) if args.device == "cuda" else Cpu(args.build, 0)
    r, rows = Numbers(args.seed), []
    for i in range(args.chains):
        stages, kind, dtype, shape, flop = chain_of(r, args.samples)
        row = machine.measure(stages, kind, dtype, shape, flop, args.seed * 1000 + i)
        row.update(chain=[s if len(s) < 60 else s[:40] + "..." for s in stages], dtype=dtype, shape=shape,
                   of_floor=round(row["floor"] / row["seconds"], 4))
        rows.append(row)
        print(f"{row['of_floor']:7.3f} {row['seconds'] * 1e3:9.3f} ms {dtype:8} {'x'.join(map(str, shape)):18} "
              f"{' | '.join(row['chain'])}{'' if row['same'] else '  ANSWERS DIFFER'}", flush=True)
    of = [row["of_floor"] for row in rows]
    for stages in range(1, 6):
        some = [row["of_floor"] for row in rows if len(row["chain"]) == stages]
        if some:
            print(f"{stages} stages: {len(some)} chains, median {statistics.median(some):.3f}")
    differ = sum(not row["same"] for row in rows)
    print(f"{len(rows)} chains of the floor: median {statistics.median(of):.3f}, tenth percentile {quantile(of, 0.1):.3f}, "
          f"worst {min(of):.3f}; {differ} answers differ")
    called = [row["floor"] / row["called"] for row in rows if "called" in row]
    if called:
        print(f"with the host's calls: median {statistics.median(called):.3f}, tenth percentile {quantile(called, 0.1):.3f}, "
              f"worst {min(called):.3f}")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"seed": args.seed, "device": args.device, "rows": rows}, file, indent=1)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
