#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""filterchain beside PyTorch (cuDNN) and CuPy on one GPU, in one run: rivals_torch.py BUILD [options].

    rivals_torch.py build                        everything
    rivals_torch.py build --only conv1d,box      some groups: conv1d sliding box sep dense
    rivals_torch.py build --json FILE            the figures as JSON too

What filterchain-rivals (rivals_cuda.cu) does for the libraries of the CUDA Toolkit: the rival and
us in turns on the same tensors and one stream, ours as a chain on a caller's stream, answers compared over
the whole result, medians by CUDA events, the machine's copy speed in the same run. PyTorch computes f32 without TF32
and picks cuDNN's fastest algorithm. Needs PyTorch, which holds the memory; rows of CuPy where that is
there too. Exit status 1 when two answers differ, never for a slow one; 77 without a GPU.
"""
import argparse
import datetime
import json
import math
import statistics
import sys
import warnings

from library import ARRAY, AUDIO, CUDA, Library, device_seconds, text_of, view_at

SIDE = 16384
SAMPLES = 1 << 27
SLACK = 0.005  # two digits of a ratio are what is told

COPY = r"""
extern "C" __global__ void __launch_bounds__(512) copy(float4 *to, const float4 *from, size_t count) {
  const size_t first = (size_t)blockIdx.x * 2048 + threadIdx.x;
  float4 v[4];
  for (int k = 0; k < 4; k++) if (first + k * 512 < count) v[k] = __ldcs(from + first + k * 512);
  for (int k = 0; k < 4; k++) if (first + k * 512 < count) __stcs(to + first + k * 512, v[k]);
}
"""


class Machine:
    """PyTorch, CuPy or None, the library, and a stream that all three use."""

    def __init__(self, args):
        import torch
        self.torch, self.cupy, self.repeats = torch, None, args.repeats
        if not torch.cuda.is_available():
            print("skipped: no CUDA device")
            sys.exit(77)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        self.engine = Library(args.build)
        self.stream = torch.cuda.Stream()
        self.copies = {}
        try:
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("ignore", DeprecationWarning)  # of ExternalStream, which older CuPy has alone
            import cupy
            import cupyx.scipy.ndimage
            import cupyx.scipy.signal
            self.cupy, self.ndimage, self.signal = cupy, cupyx.scipy.ndimage, cupyx.scipy.signal
        except ImportError as missing:
            print(f"CuPy is left out: {missing}")

    def noise(self, *shape):
        return self.torch.rand(*shape, device="cuda") * 2 - 1

    def of_cupy(self, tensor):
        return self.cupy.asarray(tensor)

    def in_turns(self, *jobs):
        """Median seconds of each; nothing waits in between."""
        for _ in range(3):
            for job in jobs:
                job()
        self.stream.synchronize()
        return [statistics.median(times) for times in device_seconds(self.torch, self.stream, jobs, self.repeats, apart=False)]

    def copy_speed(self, total):
        """Bytes a second, read and written, of the fastest copy of so many."""
        if total not in self.copies:
            count = int(total / 2) // 16 * 4
            source, to = self.noise(count), self.torch.empty(count, device="cuda")
            jobs = [lambda: to.copy_(source)]
            if self.cupy:
                kernel = self.cupy.RawKernel(COPY, "copy")
                blocks = ((count // 4 + 2047) // 2048,)
                jobs.append(lambda: kernel(blocks, (512,), (self.of_cupy(to), self.of_cupy(source), count // 4)))
            self.copies[total] = 8 * count / min(self.in_turns(*jobs))
        return self.copies[total]


class Table:
    def __init__(self, machine):
        self.machine, self.rows, self.wrong = machine, [], 0
        print(f"{'work':<50} {'rival':<30} {'ours ms':>8} {'theirs':>8} {'ratio':>6} {'copy':>6}  target")

    def add(self, work, rival, seconds, size, error, target, note=None, allowed=1e-5):
        """`size` in bytes read and written at the least; `target` of (ratio, fraction of copy)."""
        ours, theirs = seconds
        of_copy, ratio = size / ours / self.machine.copy_speed(size), theirs / ours
        met, same = ratio >= target[0] - SLACK and of_copy >= target[1] - SLACK, error <= allowed
        row = {"work": work, "rival": rival, "ours_ms": round(ours * 1e3, 5), "theirs_ms": round(theirs * 1e3, 5),
               "ratio": round(ratio, 3), "bytes": size, "of_copy": round(of_copy, 3),
               "target": {"ratio": target[0], "of_copy": target[1], "of_peak": 0}, "met": met,
               "error": error if math.isfinite(error) else 1e300, "allowed": allowed, "same": same}
        if note:
            row["note"] = note
        self.rows.append(row)
        self.wrong += not same
        aim = f">= {target[0]:.2f} x" + (f", {target[1]:.2f} of copy" if target[1] else "")
        print(f"{work:<50} {rival:<30} {ours * 1e3:8.4f} {theirs * 1e3:8.4f} {ratio:6.2f} {of_copy:6.2f}  {aim:<24} "
              f"{'met' if met else 'not met':<8} {error:.1e}{'' if same else ' ANSWERS DIFFER'}", flush=True)


class Contest:
    """A chain on a tensor, beside several rivals that each return a tensor or an array of CuPy."""

    def __init__(self, machine, stage, source, kind, planes=1):
        self.machine, self.planes = machine, planes
        self.chain = machine.engine.chain(stage)
        self.source = source
        self.result = machine.torch.full((planes,) + tuple(source.shape), float("nan"), device="cuda")
        self.views = [view_at(t.data_ptr(), "float32", 4, tuple(source.shape), kind, CUDA) for t in (source, self.result)]
        if planes > 1:
            # A picture a channel, one after the other.
            out = self.views[1]
            out.shape[3] = out.extent[3] = planes
            out.stride[3] = source.numel() * 4
        self.ours()

    def ours(self):
        self.machine.engine.run_device(self.chain, *self.views, self.machine.stream.cuda_stream)

    def against(self, table, work, rival, job, target, note=None, scale=1.0):
        """job returns the answer; ours is compared with scale times it."""
        torch = self.machine.torch
        theirs = torch.as_tensor(job(), device="cuda").reshape(self.source.shape)
        apart = (self.result[0] - scale * theirs).abs_().max() / (scale * theirs).abs().max()
        error = float(apart)
        del theirs
        seconds = self.machine.in_turns(self.ours, job)
        table.add(work, rival, seconds, self.source.numel() * 4 * (1 + self.planes), error, target, note)

    def end(self):
        self.machine.stream.synchronize()
        self.machine.engine.free(self.chain)


def uneven(torch, *shape):
    taps = torch.rand(*shape, generator=torch.Generator().manual_seed(5)) - 0.3
    return taps / taps.abs().sum()


def bell(torch, count):
    x = torch.arange(count, dtype=torch.float64) - (count - 1) / 2
    taps = torch.exp(-0.5 * (x / (0.25 * count)) ** 2)
    return (taps / taps.sum()).float()


# ---- the groups --------------------------------------------------------------------------------


def conv1d(m, table):
    source = m.noise(SAMPLES)
    for taps, of_copy in ((5, 0.88), (31, 0.88), (127, 0.40), (1023, 0.50), (16383, 0.30)):
        mask = uneven(m.torch, taps)
        work, aim = f"conv1d 128 Mi f32, {taps} taps", (1, of_copy)
        ours = Contest(m, f"conv1d:{text_of(mask.tolist())}:flip=no:border=zero", source, AUDIO)
        device = mask.cuda()
        if taps <= 1023:
            ours.against(table, work, "PyTorch conv1d", lambda: m.torch.nn.functional.conv1d(
                source.view(1, 1, -1), device.view(1, 1, -1), padding=taps // 2), aim)
        if m.cupy:
            x, k = m.of_cupy(source), m.of_cupy(device.flip(0))
            if taps <= 127:
                ours.against(table, work, "CuPy ndimage.convolve1d",
                             lambda: m.ndimage.convolve1d(x, k, mode="constant"), aim)
            if taps >= 127:
                ours.against(table, work, "CuPy signal.oaconvolve", lambda: m.signal.oaconvolve(x, k, mode="same"), aim)
        ours.end()


def sliding(m, table):
    source = m.noise(SIDE, SIDE)
    for w in (15, 127):
        work, aim = f"sliding sum + sumsq 16384^2 f32, w = {w}", (1, 0.85)
        note = "the rival makes the mean alone, which is compared with the sum"
        ours = Contest(m, f"winstat:{w}:stat=sum,sumsq:border=zero", source, ARRAY, planes=2)
        ours.against(table, work, "PyTorch avg_pool1d", lambda: m.torch.nn.functional.avg_pool1d(
            source, w, stride=1, padding=w // 2), aim, note, w)
        if m.cupy:
            x = m.of_cupy(source)
            ours.against(table, work, "CuPy uniform_filter1d",
                         lambda: m.ndimage.uniform_filter1d(x, w, mode="constant"), aim, note, w)
        ours.end()


def box(m, table):
    source = m.noise(SIDE, SIDE)
    x = m.of_cupy(source) if m.cupy else None
    for k in (3, 15, 31):
        ours = Contest(m, f"winstat:{k}x{k}:stat=mean:border=zero", source, ARRAY)
        if m.cupy:
            ours.against(table, f"box 16384^2 f32, {k} x {k}", "CuPy uniform_filter",
                         lambda: m.ndimage.uniform_filter(x, k, mode="constant"), (1, 0.80))
        ours.end()


def sep(m, table):
    source = m.noise(SIDE, SIDE)
    for k, of_copy in ((7, 0.85), (15, 0.85), (31, 0.70)):
        mask = bell(m.torch, k)
        work, aim = f"sepconv 16384^2 f32, k = {k}", (1, of_copy)
        ours = Contest(m, f"sepconv:{text_of(mask.tolist())}:border=zero", source, ARRAY)
        device = mask.cuda()

        def by_torch():
            conv2d, image = m.torch.nn.functional.conv2d, source.view(1, 1, SIDE, SIDE)
            rows = conv2d(image, device.view(1, 1, 1, k), padding=(0, k // 2))
            return conv2d(rows, device.view(1, 1, k, 1), padding=(k // 2, 0))

        ours.against(table, work, "PyTorch conv2d, twice", by_torch, aim)
        if m.cupy:
            x, taps = m.of_cupy(source), m.of_cupy(device)
            ours.against(table, work, "CuPy ndimage.convolve1d, twice", lambda: m.ndimage.convolve1d(
                m.ndimage.convolve1d(x, taps, axis=1, mode="constant"), taps, axis=0, mode="constant"), aim)
        ours.end()


def dense(m, table):
    source = m.noise(SIDE, SIDE)
    for k, of_copy in ((3, 0), (7, 0.80)):
        mask = uneven(m.torch, k, k)
        work, aim = f"conv2d 16384^2 f32, {k} x {k}", (1, of_copy)
        ours = Contest(m, f"conv2d:{text_of(mask.tolist())}:flip=no:separate=no:border=zero", source, ARRAY)
        device = mask.cuda()
        ours.against(table, work, "PyTorch conv2d", lambda: m.torch.nn.functional.conv2d(
            source.view(1, 1, SIDE, SIDE), device.view(1, 1, k, k), padding=k // 2), aim)
        if m.cupy:
            x, weights = m.of_cupy(source), m.of_cupy(device)
            ours.against(table, work, "CuPy ndimage.correlate",
                         lambda: m.ndimage.correlate(x, weights, mode="constant"), aim)
        ours.end()


GROUPS = {"conv1d": conv1d, "sliding": sliding, "box": box, "sep": sep, "dense": dense}


def run_groups(machine, table, names):
    torch = machine.torch
    with torch.cuda.stream(machine.stream), torch.inference_mode():
        for name in names:
            if machine.cupy:
                with machine.cupy.cuda.ExternalStream(machine.stream.cuda_stream):
                    GROUPS[name](machine, table)
                    machine.cupy.get_default_memory_pool().free_all_blocks()
            else:
                GROUPS[name](machine, table)
            torch.cuda.empty_cache()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("--only", default=",".join(GROUPS), help="groups, with commas")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    try:
        machine = Machine(args)
    except ImportError as missing:
        print(f"skipped: {missing}")
        return 77
    name = machine.torch.cuda.get_device_name()
    print(f"{name}; PyTorch {machine.torch.__version__}" + (f", CuPy {machine.cupy.__version__}" if machine.cupy else ""))
    table = Table(machine)
    run_groups(machine, table, args.only.split(","))
    print(f"{sum(row['met'] for row in table.rows)} of {len(table.rows)} targets met, {table.wrong} answers differ")
    if args.json:
        versions = {"torch": machine.torch.__version__, "cupy": machine.cupy.__version__ if machine.cupy else None}
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"program": "rivals_torch.py", "versions": versions, "device": name, "repeats": args.repeats,
                       "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
                       "copy_gbs": round(machine.copy_speed(8 * SIDE * SIDE) / 1e9, 1), "rows": table.rows}, file, indent=1)
    return 1 if table.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
