#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Images a second from JPEG to JPEG: the command, the bare callable, and Ray with that many actors; docs/cluster.md has figures.

    PYTHONPATH=build/python tests/bench/cluster.py build/cli/filterchain [--images 120] [--actors 2] [--device cpu|cuda] [--gpus 0.5]

Prints rows of that page's table. --gpus is each actor's share. Ray is left out where it is not installed; its start is counted
beside. The outputs of all ways are compared with the command's, byte for byte.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import filterchain as fc

STAGE = "sepconv:[1,4,6,4,1]/16"


def filled(folder, command, count):
    """`count` JPEGs of 1920 x 1080: noise of many sizes, which takes as long as a photo."""
    import numpy as np
    rng = np.random.default_rng(1)
    image = sum(np.kron(rng.random((-(-1080 // n), -(-1920 // n), 3)), np.ones((n, n, 1)))[:1080, :1920] for n in (1, 8, 40, 120)) / 4
    fc.write(folder / "0.png", np.round(image * 255).astype("u1"))
    subprocess.run([command, "-q", "-i", folder / "0.png", "-o", folder / "0.jpg:quality=85"], check=True)
    os.unlink(folder / "0.png")
    for i in range(1, count):
        shutil.copy(folder / "0.jpg", folder / f"{i}.jpg")
    return sorted(folder.glob("*.jpg"))


def by_command(given, paths, out):
    subprocess.run([given.command, "-q", "-i", *paths, "-p", STAGE, "-o", f"{out}/", "--device", given.device], check=True)


def by_callable(given, paths, out):
    import numpy as np
    call = fc.ray.Files(STAGE, device=given.device, on_error="raise", resume=False)
    call({"path": np.array([str(path) for path in paths]), "out": np.array([str(out / path.name) for path in paths])})


def by_ray(given, paths, out):
    fc.ray.images(paths, STAGE, out, concurrency=given.actors, num_gpus=given.gpus, device=given.device, threads=1,
                  on_error="raise").materialize()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", type=os.path.abspath)
    parser.add_argument("--images", type=int, default=120)
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--gpus", type=float, default=0)
    given = parser.parse_args()
    ways = [("the command", by_command), ("the bare callable, one process", by_callable)]
    try:
        import ray.data
        began = time.perf_counter()
        ray.init(include_dashboard=False, log_to_driver=False)
        ray.data.DataContext.get_current().enable_progress_bars = False
        print(f"Ray {ray.__version__} started in {time.perf_counter() - began:.1f} s")
        ways.append((f"Ray, {given.actors} actors of one thread", by_ray))
    except ImportError:
        print("without Ray, which is not here")
    with tempfile.TemporaryDirectory() as name:
        (pathlib.Path(name) / "in").mkdir()
        paths = filled(pathlib.Path(name) / "in", given.command, given.images)
        good = None
        print(f"| {given.images} JPEGs, {os.cpu_count()} cores, {given.device} | images/s |\n|---|---|")
        for what, way in ways:
            out = pathlib.Path(name) / "out"
            out.mkdir()
            began = time.perf_counter()
            way(given, paths, out)
            took = time.perf_counter() - began
            made = {path.read_bytes() for path in out.iterdir()}
            good = good or made
            assert made == good and len(made) == 1 and len(list(out.iterdir())) == given.images, what
            shutil.rmtree(out)
            print(f"| {what} | {given.images / took:.1f} |")


if __name__ == "__main__":
    main()
