#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A folder of photographs to tensors, beside the programs people use for it, in one run:

    folders.py BUILD [--images N] [--megapixels M,M...] [--jobs J] [--photographs FOLDER] [--largest M] [--device D]...
               [--only NAME,...] [--json FILE] [--shard-size N] [--verbose]

Each program decodes every JPEG, makes the short side 256 (bilinear, antialiased), cuts the middle 224 x 224 out,
normalises by ImageNet's mean and deviation and writes float32 of 3 x 224 x 224: ours into tar shards and as files,
the others one .npy an image, by J processes (all cores). Of each the best of three rounds counts. Processes of the others
have been started and have read an image before their time begins; ours includes its start. What they made is compared. Programs that are not installed are left out: Pillow, opencv-python-headless, torchvision,
pyvips. torchvision on a GPU decodes by nvJPEG in batches of 64; "nvjpeg alone" is that without anything else. With the device cuda ours is
run once with each decoder; the library of nvJPEG must be found (LD_LIBRARY_PATH). A start takes about half a second, so with a GPU give some ten
thousand images."""
import argparse
import importlib.util
import math
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
from PIL import Image

import images
import rivals_cpu

MEAN, DEVIATION = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
CHAIN = ["resize:256", "crop:224", "normalize:imagenet", "layout:chw"]
ROUNDS = 3
BATCH = 64


def photographs(folder, megapixels):
    """Every JPEG below a folder that is not larger."""
    found = sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name.lower().endswith((".jpg", ".jpeg")))
    return [path for path in found if math.prod(Image.open(path).size) <= megapixels * 1e6]


def make(folder, count, megapixels, others):
    """Photographs of 4:3, a few of each size, each under several names; every fifth is one of the others, in turns."""
    paths, made = [], {}
    for i in range(count):
        path = os.path.join(folder, f"{i:06}.jpg")
        which = i % (8 * len(megapixels))
        if others and i % 5 == 4:
            shutil.copy(others[i // 5 % len(others)], path)
        elif which in made:
            os.link(made[which], path)
        else:
            made[which] = path
            width = round((megapixels[i % len(megapixels)] * 1e6 * 4 / 3) ** 0.5)
            images.photograph(width, width * 3 // 4, i).save(path, quality=90)
        paths.append(path)
    return paths


def save(array, path, out):
    np.save(os.path.join(out, os.path.basename(path)[:-4] + ".npy"), array)


def tensor(pixels):
    """Rows, columns, channels of codes as the network takes them."""
    return np.ascontiguousarray(((pixels.astype(np.float32) / 255 - MEAN) / DEVIATION).transpose(2, 0, 1))


def short_side(width, height):
    return (256, round(256 * height / width)) if width < height else (round(256 * width / height), 256)


def middle(pixels):
    top, left = (pixels.shape[0] - 224) // 2, (pixels.shape[1] - 224) // 2
    return pixels[top : top + 224, left : left + 224]


def pillow(path, out):
    image = Image.open(path).convert("RGB")
    save(tensor(middle(np.asarray(image.resize(short_side(*image.size), Image.BILINEAR)))), path, out)


def opencv(path, out):
    import cv2

    cv2.setNumThreads(1)
    image = cv2.imread(path)
    small = cv2.resize(image, short_side(image.shape[1], image.shape[0]), interpolation=cv2.INTER_AREA)
    save(tensor(middle(cv2.cvtColor(small, cv2.COLOR_BGR2RGB))), path, out)


def torchvision(path, out):
    import torch
    from torchvision import io

    if importlib.util.find_spec("torchvision.transforms.v2"):
        from torchvision.transforms.v2 import functional
    else:  # before 0.15
        from torchvision.transforms import functional

    torch.set_num_threads(1)
    image = functional.center_crop(functional.resize(io.decode_jpeg(io.read_file(path)), [256], antialias=True), [224])
    save(functional.normalize(image.float() / 255, MEAN.tolist(), DEVIATION.tolist()).numpy(), path, out)


def pyvips(path, out):
    import pyvips as vips

    vips.cache_set_max(0)
    image = vips.Image.new_from_file(path, access="sequential")
    small = image.resize(256 / min(image.width, image.height), kernel="linear")
    save(tensor(middle(small.numpy())), path, out)


def torchvision_cuda(paths, out):
    import torch
    from torchvision import io
    from torchvision.transforms.v2 import functional

    for i in range(0, len(paths), BATCH):
        some = paths[i : i + BATCH]
        made = []
        for image in io.decode_jpeg([io.read_file(path) for path in some], device="cuda"):
            image = functional.center_crop(functional.resize(image, [256], antialias=True), [224])
            made.append(functional.normalize(image.float() / 255, MEAN.tolist(), DEVIATION.tolist()))
        for array, path in zip(torch.stack(made).cpu().numpy(), some):
            save(array, path, out)


def nvjpeg_alone(paths, out):
    import torch
    from torchvision import io

    for i in range(0, len(paths), BATCH):
        io.decode_jpeg([io.read_file(path) for path in paths[i : i + BATCH]], device="cuda")
    torch.cuda.synchronize()


def one(task):
    name, path, out = task
    globals()[name](path, out)


def timed(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def by_processes(name, paths, out, jobs):
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        pool.map(one, [(name, path, out) for path in paths[: jobs * 4]], chunksize=1)
        return timed(lambda: pool.map(one, [(name, path, out) for path in paths], chunksize=8))


def on_gpu(queue, name, paths, out):
    run = globals()[name]
    run(paths[: 2 * BATCH], out)
    queue.put(timed(lambda: run(paths, out)))


def by_gpu(name, paths, out):
    spawn = multiprocessing.get_context("spawn")
    queue = spawn.Queue()
    process = spawn.Process(target=on_gpu, args=(queue, name, paths, out))
    process.start()
    seconds = queue.get()
    process.join()
    return seconds


def ours(options, source, out, device, decode, shards):
    command = [os.path.join(options.build, "cli/filterchain"), "-i", source + "/"]
    for stage in CHAIN:
        command += ["-p", stage]
    command += ["-j", str(options.jobs), "--device", device, "--format", "npy"] + (["--decode", decode] if decode else [])
    command += ["-o", os.path.join(out, "{shard:06}.tar"), "--shard-size", str(options.shard_size)] if shards else ["-o", out + "/"]
    environment = {**os.environ, "FILTERCHAIN_PLUGIN_PATH": os.path.join(options.build, "plugins")}
    seconds = timed(lambda: subprocess.run(command, check=True, env=environment))
    if options.verbose: # not timed
        said = subprocess.run([*command, "-v"], check=True, env=environment, stderr=subprocess.PIPE, text=True).stderr.splitlines()
        print(f"{seconds:.2f} s, {' '.join(command[3:])}", *[line for line in said if "a worker:" in line],
              *[line for line in said if "decoded by" in line or "one by one" in line][:2], sep="\n", file=sys.stderr)
    return seconds


def programs(options, source, paths):
    """name -> a call that takes the folder to write to and gives the seconds it took."""
    made = {}
    for device in options.device:
        for decode in ("cpu", "gpu") if device.startswith("cuda") else (None,):
            by = f" decoded by the {decode}" if decode else ""
            made[f"filterchain {device}, shards{by}"] = lambda out, d=device, e=decode: ours(options, source, out, d, e, True)
            made[f"filterchain {device}, files{by}"] = lambda out, d=device, e=decode: ours(options, source, out, d, e, False)
    for name, module in (("pillow", "PIL"), ("opencv", "cv2"), ("torchvision", "torchvision"), ("pyvips", "pyvips")):
        if importlib.util.find_spec(module):
            made[name] = lambda out, n=name: by_processes(n, paths, out, options.jobs)
    if "cuda" in options.device and "torchvision" in made:
        made["torchvision cuda"] = lambda out: by_gpu("torchvision_cuda", paths, out)
        made["nvjpeg alone"] = lambda out: by_gpu("nvjpeg_alone", paths, out)
    return {name: call for name, call in made.items() if not options.only or any(word in name for word in options.only.split(","))}


def read_first(out):
    """The first image's tensor, wherever it was written."""
    path = os.path.join(out, "000000.npy")
    if not os.listdir(out):
        return None
    if not os.path.exists(path):
        subprocess.run(["tar", "-xf", "000000.tar", "000000.npy"], cwd=out, check=True)
    return np.load(path)


def compare(options, scratch):
    source = os.path.join(scratch, "in")
    os.mkdir(source)
    others = photographs(options.photographs, options.largest) if options.photographs else []
    paths = make(source, options.images, [float(size) for size in options.megapixels.split(",")], others)
    rounds, tensors = {}, {}
    calls = programs(options, source, paths)
    for _ in range(options.rounds):
        for name, call in calls.items():
            out = os.path.join(scratch, "out")
            os.mkdir(out)
            rounds.setdefault(name, []).append(call(out))
            tensors[name] = read_first(out)
            shutil.rmtree(out)
    reference = next(tensor for tensor in tensors.values() if tensor is not None)
    return [{"program": name, "images_per_second": round(len(paths) / min(rounds[name]), 1), "images": len(paths),
             "megapixels": options.megapixels, "photographs": len(others), "seconds": [round(s, 2) for s in rounds[name]], "jobs": options.jobs,
             "mean_difference": None if tensors[name] is None else round(float(np.abs(tensors[name] - reference).mean()), 4)} for name in rounds]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--megapixels", default="0.2,0.79,2,12")
    parser.add_argument("--photographs", metavar="FOLDER", help="every fifth image is one of the JPEGs below it, as of the package mate-backgrounds")
    parser.add_argument("--largest", type=float, default=12, metavar="MEGAPIXELS", help="of those (12)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--device", action="append")
    parser.add_argument("--only")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--shard-size", type=int, default=1000)
    parser.add_argument("--verbose", action="store_true", help="of ours, where the time of each worker goes")
    parser.add_argument("--folder", help="where to work, as /dev/shm (the system's folder of temporary files)")
    parser.add_argument("--json")
    options = parser.parse_args()
    options.device = options.device or ["cpu"]
    options.build = os.path.abspath(options.build)
    run = rivals_cpu.circumstances(options.jobs)
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        rows = compare(options, scratch)
    for row in sorted(rows, key=lambda row: -row["images_per_second"]):
        print(f"{row['images_per_second']:10.1f} images/s  {row['program']:48} " + ("" if row["mean_difference"] is None else f"differs by {row['mean_difference']:.4f} on average"))
    rivals_cpu.store(options.json, run, rows=rows)


if __name__ == "__main__":
    sys.exit(main())
