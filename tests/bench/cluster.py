#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Images a second: the command, the bare callables, Ray with that many actors, and torchvision; docs/cluster.md has figures.

    PYTHONPATH=build/python tests/bench/cluster.py build/cli/filterchain [--images 120] [--actors 2] [--device cpu|cuda] [--gpus 0.5]

Two jobs: JPEGs of 1920 x 1080 blurred into JPEGs, and four times as many of 640 x 480 made smaller and normalised into one array, as
for training. Prints rows of that page's table. --gpus is each actor's share. Ray and torchvision are left out where they are not
installed; Ray's start is counted beside. The outputs of our ways are compared byte for byte, torchvision's within the difference of
two JPEG decoders.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import filterchain as fc
import numpy as np

BLUR = "gauss:1.1:border=reflect101:truncate=1.8"  # 5 taps, as torchvision's gaussian_blur(x, 5, 1.1)
SMALL = ("resize:224x224:filter=bilinear", "normalize:imagenet")
BATCH = 64


def filled(folder, command, count, width, height):
    """`count` JPEGs of that size: noise of many sizes, which takes as long as a photo."""
    folder.mkdir()
    rng = np.random.default_rng(1)
    image = sum(np.kron(rng.random((-(-height // n), -(-width // n), 3)), np.ones((n, n, 1)))[:height, :width] for n in (1, 8, 40, 120)) / 4
    fc.write(folder / "0.png", np.round(image * 255).astype("u1"))
    subprocess.run([command, "-q", "-i", folder / "0.png", "-o", folder / "0.jpg:quality=85"], check=True)
    os.unlink(folder / "0.png")
    for i in range(1, count):
        shutil.copy(folder / "0.jpg", folder / f"{i}.jpg")
    return sorted(folder.glob("*.jpg"))


def contents(paths):
    """Batches of encoded rows, as Ray Data gives them."""
    for first in range(0, len(paths), BATCH):
        yield {"bytes": np.array([path.read_bytes() for path in paths[first:first + BATCH]], object)}


class Ours:
    """Each way returns what it made: a set of files' contents, or an array."""

    def __init__(self, given):
        self.given = given

    def command(self, *words):
        subprocess.run([self.given.command, "-q", *words, "--device", self.given.device], check=True)

    def blur_by_command(self, paths, out):
        self.command("-i", *paths, "-p", BLUR, "-o", f"{out}/")

    def blur_by_callable(self, paths, out):
        call = fc.ray.Files(BLUR, device=self.given.device, on_error="raise", resume=False)
        call({"path": np.array([str(path) for path in paths]), "out": np.array([str(out / path.name) for path in paths])})

    def blur_by_ray(self, paths, out):
        fc.ray.images(paths, BLUR, out, concurrency=self.given.actors, num_gpus=self.given.gpus, device=self.given.device, threads=1,
                      on_error="raise").materialize()

    def small_by_command(self, paths, out):
        self.command("-i", *paths, *(word for stage in SMALL for word in ("-p", stage)), "-o", out / "all.npy")
        return np.load(out / "all.npy")

    def small_by_callable(self, paths, _out):
        call = fc.ray.Chain(*SMALL, device=self.given.device)
        return np.concatenate([call(batch)["data"] for batch in contents(paths)])


class Torchvision:
    """The same jobs as a program of PyTorch does them: threads that decode on the CPU, or nvJPEG, a batch at a time."""

    def __init__(self, given, decode_on):
        import torch
        import torchvision.io
        import torchvision.transforms.v2.functional
        self.torch, self.io, self.work = torch, torchvision.io, torchvision.transforms.v2.functional
        self.device, self.decode_on = given.device, decode_on
        self.pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())

    def decoded(self, batch):
        """One tensor on the device."""
        encoded = [self.torch.frombuffer(bytearray(content), dtype=self.torch.uint8) for content in batch["bytes"]]
        if self.decode_on != "cpu":
            return self.torch.stack(self.io.decode_jpeg(encoded, device=self.decode_on))
        return self.torch.stack(list(self.pool.map(self.io.decode_jpeg, encoded))).to(self.device)

    def blur(self, paths, out):
        for number, batch in enumerate(contents(paths)):
            images = self.work.gaussian_blur(self.decoded(batch), [5, 5], [1.1, 1.1])
            if self.decode_on != "cpu":
                made = [content.cpu() for content in self.io.encode_jpeg(list(images), quality=85)]
            else:
                made = list(self.pool.map(lambda image: self.io.encode_jpeg(image, quality=85), images.cpu()))
            for path, content in zip(paths[number * BATCH:], made):
                (out / path.name).write_bytes(content.numpy().tobytes())

    def small(self, paths, _out):
        mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
        made = []
        for batch in contents(paths):
            images = self.work.resize(self.decoded(batch), [224, 224], antialias=True)
            made.append(self.work.normalize(images.float() / 255, mean, std).permute(0, 2, 3, 1).contiguous().cpu().numpy())
        return np.concatenate(made)


def torchvisions(given):
    """(name, Torchvision) of what works here."""
    for name, where in [("torchvision, decoding on all cores", "cpu")] + [("torchvision, nvJPEG", "cuda")] * (given.device != "cpu"):
        try:
            yield name, Torchvision(given, where)
        except ImportError:
            print(f"without {name}, which is not here")


def started_ray():
    """Whether there is one, which is running then."""
    try:
        import ray.data
    except ImportError:
        print("without Ray, which is not here")
        return False
    began = time.perf_counter()
    ray.init(include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    print(f"Ray {ray.__version__} started in {time.perf_counter() - began:.1f} s")
    return True


def compare(what, made, good, ours):
    """Of files the first and the last; of ours all bytes."""
    if ours:
        same = made.tobytes() == good.tobytes() if isinstance(made, np.ndarray) else made == good
        assert same, f"{what}: not the command's result"
        return
    if isinstance(made, list):
        made, good = (np.asarray(fc.decode(files[-1])).astype("f4") for files in (made, good))
    apart = np.abs(made - good).mean() / np.ptp(good)
    assert apart < 0.02, f"{what}: differs from the command by {apart:.3f} of the range on average"


def race(job, ways, paths, folder, repeats=1):
    """A row for each way; outputs are compared with those of the first."""
    good, rows = None, []
    print(f"| {job} | images/s |\n|---|---|", flush=True)
    for what, way, ours in ways:
        took = []
        for _ in range(repeats):
            out = folder / "out"
            out.mkdir()
            began = time.perf_counter()
            try:
                made = way(paths, out)
            except RuntimeError as why:  # nvJPEG is not in every build of torchvision
                print(f"without {what}: {' '.join(str(why).split())[:200]}")
                made = None
            took.append(time.perf_counter() - began)
            if made is None:
                made = [path.read_bytes() for path in sorted(out.iterdir())]
            shutil.rmtree(out)
        if len(made) != len(paths):
            continue
        good = made if good is None else good
        compare(what, made, good, ours)
        rows.append({"job": job, "way": what, "images": len(paths), "images_per_s": round(len(paths) / min(took), 1)})
        print(f"| {what} | {rows[-1]['images_per_s']} |", flush=True)
    return rows


def figures(given):
    """The rows of both jobs."""
    ours, rivals = Ours(given), list(torchvisions(given))
    blur = [("the command", ours.blur_by_command, True), ("the bare callable, one process", ours.blur_by_callable, True)]
    small = [("the command", ours.small_by_command, True), ("the bare callable, one process", ours.small_by_callable, True)]
    if given.actors and started_ray():
        blur.append((f"Ray, {given.actors} actors of one thread", ours.blur_by_ray, True))
    blur += [(name, rival.blur, False) for name, rival in rivals]
    small += [(name, rival.small, False) for name, rival in rivals]
    with tempfile.TemporaryDirectory() as name:
        folder, where = pathlib.Path(name), f"{os.cpu_count()} cores, {given.device}"
        photos = filled(folder / "photos", given.command, given.images, 1920, 1080)
        rows = race(f"{len(photos)} JPEGs of 1920 x 1080 to JPEG, {where}", blur, photos, folder, given.repeats)
        thumbs = filled(folder / "thumbs", given.command, 4 * given.images, 640, 480)
        return rows + race(f"{len(thumbs)} JPEGs of 640 x 480 to one array of 224 x 224, {where}", small, thumbs, folder, given.repeats)


def add_arguments(parser, images, actors):
    parser.add_argument("--images", type=int, default=images)
    parser.add_argument("--actors", type=int, default=actors, help="0: without Ray")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--gpus", type=float, default=0)
    parser.add_argument("--repeats", type=int, default=1, help="the fastest of so many counts")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", type=os.path.abspath)
    add_arguments(parser, 120, 2)
    figures(parser.parse_args())


if __name__ == "__main__":
    main()
