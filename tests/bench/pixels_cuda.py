#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Operators on images on a GPU, of copy speed:

    PYTHONPATH=BUILD/python pixels_cuda.py [--only TEXT] [--repeats N] [--no-rivals] [--json FILE]

Tensors of PyTorch on a stream of the caller's, several times the second-level cache in size. `copy` is the bytes that must
be read and written over the time, as a fraction of a copy of as many bytes in the same run; of images of which
whole rows are not needed, only the rows that are. Medians by CUDA events; the device waits until all calls are enqueued, so
that the host's time does not show. PyTorch does the same work where it has it, in turns. Results are compared with the
CPU's, which must be the same bits where whole numbers are computed or copied, else within 1. Needs PyTorch; exit status 1 when results differ, 77 without a GPU."""
import argparse
import datetime
import json
import re
import statistics
import sys
import time

from library import device_seconds

BATCH, HEIGHT, WIDTH = 128, 768, 1024
SIDE = 12288
WAIT = 4_000_000  # cycles that the device waits for the host, a few milliseconds
SLACK = 1e-4      # of floating point, relative to full scale
ROUNDED = ("color", "gray", "sharpen", "gauss", "gamma", "normalize")  # floating point in between: within 1 of the CPU


def interpolation(mode, antialias=True):
    """PyTorch's, of planes, which is how it runs on a GPU; nhwc is passed as channels_last."""
    def make(torch, x, out):
        planes, size = x.permute(0, 3, 1, 2), tuple(out.shape[1:3])
        more = {} if mode in ("nearest-exact", "area") else {"antialias": antialias, "align_corners": False}
        if mode == "area" or x.dtype != torch.uint8:
            planes = planes.float()
        if planes.dtype == torch.uint8 and mode != "nearest-exact":
            planes = planes.float()  # there is no kernel of bytes; the conversion is not timed
        return lambda: torch.nn.functional.interpolate(planes, size=size, mode=mode, **more)
    return make


def torch_preset(torch, x, out):
    """What a loader does: resize, crop, scale, normalise, planes; the conversion to float is timed."""
    mean = torch.tensor([0.485, 0.456, 0.406], device="cuda").view(1, 3, 1, 1) * 255
    rest = torch.tensor([0.229, 0.224, 0.225], device="cuda").view(1, 3, 1, 1) * 255
    to = torch.nn.functional.interpolate

    def run():
        y = to(x.permute(0, 3, 1, 2).float(), size=(256, 341), mode="bilinear", antialias=True, align_corners=False)
        return ((y[:, :, 16:240, 58:282] - mean) / rest).contiguous()
    return run


def normalized(torch, x, out):
    mean, std = (torch.tensor(v, device="cuda") * 255 for v in ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
    return lambda: (x - mean) / std


BATCHES = (BATCH, HEIGHT, WIDTH, 3)
GREY = (3 * BATCH, HEIGHT, WIDTH, 1)
LARGE = (1, SIDE, SIDE, 3)
# Stages, type, shape, type of the result, rows that are read of all (1: all), PyTorch's way.
WORK = [
    ("resize:256", "uint8", BATCHES, None, 1, interpolation("bilinear")),
    ("resize:256:filter=bicubic", "uint8", BATCHES, None, 1, interpolation("bicubic")),
    ("resize:256:filter=lanczos3", "uint8", BATCHES, None, 1, None),
    ("resize:256:filter=area", "uint8", BATCHES, None, 1, interpolation("area")),
    ("resize:256:filter=nearest", "uint8", BATCHES, None, 1 / 3, interpolation("nearest-exact")),
    ("resize:256:antialias=no", "uint8", BATCHES, None, 1 / 3, interpolation("bilinear", False)),
    ("resize:512x384", "uint8", BATCHES, None, 1, interpolation("bilinear")),
    ("resize:512x384:antialias=no", "uint8", BATCHES, None, 1, interpolation("bilinear", False)),
    ("resize:358x269", "uint8", BATCHES, None, 1, interpolation("bilinear")),
    ("resize:358x269:antialias=no", "uint8", BATCHES, None, 2 * 0.35, interpolation("bilinear", False)),
    ("resize:2048x1536", "uint8", (32, HEIGHT, WIDTH, 3), None, 1, interpolation("bilinear")),
    ("resize:2048x1536:filter=bicubic", "uint8", (32, HEIGHT, WIDTH, 3), None, 1, interpolation("bicubic")),
    ("resize:2048x1536:filter=nearest", "uint8", (32, HEIGHT, WIDTH, 3), None, 1, interpolation("nearest-exact")),
    ("resize:256", "uint8", GREY, None, 1, None),
    ("resize:256", "uint8", BATCHES[:3] + (4,), None, 1, None),
    ("resize:256", "float32", (BATCH, HEIGHT, WIDTH, 1), None, 1, interpolation("bilinear")),
    ("resize:256", "float32", BATCHES[:3] + (3,), None, 1, interpolation("bilinear")),
    ("resize:512x384:filter=bicubic", "float32", (BATCH, HEIGHT, WIDTH, 1), None, 1, interpolation("bicubic")),
    ("resize:256", "uint16", BATCHES, None, 1, None),
    ("resize:scale=0.5", "uint8", LARGE, None, 1, None),
    ("resize:scale=0.1:filter=lanczos3", "uint8", LARGE, None, 1, None),
    ("resize:scale=0.5", "float32", (1, SIDE, SIDE, 1), None, 1, interpolation("bilinear")),
    ("flip", "uint8", BATCHES, None, 1, lambda torch, x, out: lambda: x.flip(2)),
    ("flip:y", "uint8", BATCHES, None, 1, lambda torch, x, out: lambda: x.flip(1)),
    ("rotate:90", "uint8", BATCHES, None, 1, lambda torch, x, out: lambda: x.rot90(-1, (1, 2)).contiguous()),
    ("rotate:90", "float32", (BATCH, HEIGHT, WIDTH, 1), None, 1, lambda torch, x, out: lambda: x.rot90(-1, (1, 2)).contiguous()),
    ("pad:1040x784", "uint8", BATCHES, None, 1, None),
    ("layout:chw", "uint8", BATCHES, None, 1, lambda torch, x, out: lambda: x.permute(0, 3, 1, 2).contiguous()),
    ("layout:chw", "float32", BATCHES[:3] + (3,), None, 1, lambda torch, x, out: lambda: x.permute(0, 3, 1, 2).contiguous()),
    ("normalize:imagenet", "uint8", BATCHES, None, 1, normalized),
    ("normalize:imagenet | layout:chw", "uint8", BATCHES, None, 1, None),
    ("color:ycbcr", "uint8", BATCHES, "uint8", 1, None),
    ("color:hsv", "uint8", BATCHES, "uint8", 1, None),
    ("color:lab", "uint8", BATCHES, "uint8", 1, None),
    ("gray", "uint8", BATCHES, "uint8", 1, None),
    ("median:3", "uint8", BATCHES, None, 1, None),
    ("median:5", "uint8", BATCHES, None, 1, None),
    ("median:3", "float32", (BATCH, HEIGHT, WIDTH, 1), None, 1, None),
    ("sharpen", "uint8", BATCHES, "uint8", 1, None),
    ("gauss:2", "uint8", BATCHES, "uint8", 1, None),
    ("equalize", "uint8", BATCHES, None, 2, None),
    ("threshold:128", "uint8", BATCHES, "uint8", 1, lambda torch, x, out: lambda: (x > 128) * 255),
    ("gamma:0.45", "uint8", BATCHES, "uint8", 1, None),
    ("resize:256 | crop:224 | normalize:imagenet | layout:chw", "uint8", BATCHES, "float32", 1, torch_preset),
]


class Machine:
    def __init__(self, repeats):
        import torch
        if not torch.cuda.is_available():
            print("skipped: no CUDA device")
            sys.exit(77)
        self.torch, self.repeats, self.stream, self.copies = torch, repeats, torch.cuda.Stream(), {}

    def in_turns(self, *jobs):
        """Median seconds of each."""
        return [statistics.median(times) for times in device_seconds(self.torch, self.stream, jobs, self.repeats, WAIT)]

    def copy_speed(self, total):
        """Bytes a second, read and written, of a copy of about so many."""
        total = 1 << max(int(total).bit_length(), 26)
        if total not in self.copies:
            with self.torch.cuda.stream(self.stream):
                source = self.torch.rand(total // 8, device="cuda")
                to = self.torch.empty_like(source)
                self.copies[total] = total / self.in_turns(lambda: to.copy_(source), lambda: to.copy_(source))[1]
        return self.copies[total]

    def tensor(self, dtype, shape):
        torch, g = self.torch, self.torch.Generator("cuda").manual_seed(1)
        if dtype == "float32":
            return torch.rand(shape, device="cuda", generator=g)
        # Smooth with noise, as a photograph is.
        y = torch.linspace(0, 40, shape[1], device="cuda").view(1, -1, 1, 1)
        x = torch.linspace(0, 60, shape[2], device="cuda").view(1, 1, -1, 1)
        waves = 0.5 + 0.4 * torch.sin(x) * torch.cos(y)
        made = torch.empty(shape, dtype=getattr(torch, dtype), device="cuda")
        for n in range(shape[0]):
            noise = 0.1 * torch.rand((1,) + tuple(shape[1:]), device="cuda", generator=g)
            made[n] = ((waves + noise) * (255 if dtype == "uint8" else 65535)).clamp(0, 255 if dtype == "uint8" else 65535)[0].to(made.dtype)
        return made


def stages_of(text):
    return [s.strip() for s in text.split("|")]


def apart(torch, text, x, dtype, got):
    """Of the first image, relative to full scale for floating point; the CPU's is whole."""
    import filterchain as fc
    if x[0].numel() > 1 << 24:
        return None
    host = fc.chain(*stages_of(text), device="cpu")(x[:1].cpu(), layout="nhwc", **({"dtype": dtype} if dtype else {}))
    a, b = torch.as_tensor(host).double().reshape(-1), got[:1].cpu().double().reshape(-1)
    scale = 1 if got.dtype in (torch.uint8, torch.uint16) else float(a.abs().max())
    return float((a - b).abs().max()) / scale


def kernels_of(torch, jobs):
    """Names and microseconds of what each job runs, by the profiler; a kernel that waits is between them."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as seen:
        for job in jobs:
            torch.cuda._sleep(1)
            job()
        torch.cuda.synchronize()
    found, at = [[] for _ in jobs], -1
    for event in sorted((e for e in seen.events() if e.device_type == torch.autograd.DeviceType.CUDA), key=lambda e: e.time_range.start):
        name = event.name
        if "spin" in name or "sleep" in name:
            at += 1
        elif 0 <= at < len(jobs) and "memset" not in name.lower():
            short = re.search(r"(\w+)\s*(<|\(|$)", name.replace("(anonymous namespace)::", "").replace("void ", ""))
            found[at].append((short.group(1) if short else name[:30], round(event.time_range.elapsed_us(), 1)))
    return found


def measure(machine, work, rivals):
    import filterchain as fc
    torch = machine.torch
    text, dtype, shape, to, part, rival = work
    x = machine.tensor(dtype, shape)
    more = {"dtype": to} if to else {}
    chain = fc.chain(*stages_of(text), device="cuda", fuse="wait")
    out = chain(x, layout="nhwc", **more)

    def ours():
        chain(x, layout="nhwc", out=out)
    ours()
    machine.stream.synchronize()
    size = part * x.nbytes + out.nbytes
    jobs = [ours]
    if rivals and rival:
        theirs = rival(torch, x, out)
        try:
            theirs()
            jobs.append(theirs)
        except (RuntimeError, torch.cuda.OutOfMemoryError, NotImplementedError) as why:
            print(f"PyTorch: {str(why).splitlines()[0][:100]}")
    for job in jobs:
        job()
    seconds = machine.in_turns(*jobs)
    row = {"stages": text, "dtype": dtype, "shape": list(shape), "to": str(out.dtype).replace("torch.", ""), "bytes": int(size), "us": round(seconds[0] * 1e6, 1),
           "of_copy": round(size / seconds[0] / machine.copy_speed(size), 3),
           "torch_us": round(seconds[1] * 1e6, 1) if len(seconds) > 1 else None}
    row["apart"] = apart(torch, text, x, to, out)
    try:
        row["kernels"] = kernels_of(torch, [ours])[0]
    except Exception as why:  # the profiler is a help only
        row["kernels"] = [(f"{type(why).__name__}: {why}"[:60], 0)]
    allowed = SLACK if out.dtype.is_floating_point else 1 if any(name in text for name in ROUNDED) else 0
    row["differs"] = row["apart"] is not None and row["apart"] > allowed
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--no-rivals", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    try:
        machine = Machine(args.repeats)
    except ImportError as missing:
        print(f"skipped: {missing}")
        return 77
    torch, rows, began = machine.torch, [], time.perf_counter()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, copy {machine.copy_speed(1 << 29) / 1e12:.2f} TB/s")
    print("  copy       us  PyTorch  type    shape               stages; kernels and their us")
    with torch.cuda.stream(machine.stream), torch.inference_mode():
        for work in WORK:
            if args.only not in work[0]:
                continue
            try:
                row = measure(machine, work, not args.no_rivals)
            except Exception as why:  # the others are measured all the same
                print(f"{work[0]} {work[1]}: {type(why).__name__}: {str(why).splitlines()[0][:150]}")
                continue
            rows.append(row)
            kernels = " ".join(f"{name}={us}" for name, us in row["kernels"][:4])
            print(f"{row['of_copy']:6.2f} {row['us']:8.1f} {row['torch_us'] or '':>8}  {row['dtype']:7} {'x'.join(map(str, row['shape'])):19} "
                  f"{row['stages']}; {kernels}{'  DIFFERS by %.3g' % row['apart'] if row['differs'] else ''}", flush=True)
            torch.cuda.empty_cache()
    print(f"{time.perf_counter() - began:.0f} s")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"program": "pixels_cuda.py", "device": torch.cuda.get_device_name(), "torch": torch.__version__, "repeats": args.repeats,
                       "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
                       "copy_gbs": round(machine.copy_speed(1 << 29) / 1e9, 1), "rows": rows}, file, indent=1)
    return 1 if any(row["differs"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
