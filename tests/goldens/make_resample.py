#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes resample.txt: images resized by Pillow and OpenCV.

    make_resample.py > resample.txt

Records are a line with a name and a count and a line of that many numbers: image_I (rows, columns, channels, then
the samples), case_K (image, filter as in resample.h, antialias, alpha, columns, rows, tolerance; 0 to 255 are codes
of u8 unless the last number, float, is 1) and result_K. Pillow's resize is antialiased, OpenCV's is not, but for
INTER_AREA. Rows are resized before columns, by two calls, for which of them is first depends on Pillow's version
(bytes are limited to 0..255 in between). Images with alpha are premultiplied in floating point, resized by Pillow as such, and divided again.
"""
import sys

import cv2
import numpy as np
from PIL import Image

NEAREST, BILINEAR, BICUBIC, LANCZOS3, AREA = range(5)
PILLOW = {NEAREST: Image.NEAREST, BILINEAR: Image.BILINEAR, BICUBIC: Image.BICUBIC, LANCZOS3: Image.LANCZOS,
          AREA: Image.BOX}
OPENCV = {NEAREST: cv2.INTER_NEAREST_EXACT, BILINEAR: cv2.INTER_LINEAR, BICUBIC: cv2.INTER_CUBIC, AREA: cv2.INTER_AREA}

images, cases = [], 0


def record(name, values):
    values = np.asarray(values, float).ravel()
    print(name, len(values))
    print(" ".join(f"{v:.9g}" for v in values))


def new_image(a):
    images.append(a)
    record(f"image_{len(images) - 1}", np.concatenate([a.shape, a.ravel()]))
    return len(images) - 1


def case(image, filter, antialias, alpha, size, tolerance, floating, result):
    global cases
    record(f"case_{cases}", (image, filter, antialias, alpha, *size, tolerance, floating))
    record(f"result_{cases}", result)
    cases += 1


def in_floats(a, filter, size):
    planes = [np.asarray(Image.fromarray(a[..., c].astype(np.float32)).resize(size, PILLOW[filter]))
              for c in range(a.shape[2])]
    return np.stack(planes, axis=-1)


def by_pillow(image, filter, size):
    a = images[image]
    picture = Image.fromarray(a[..., 0] if a.shape[2] == 1 else a)
    result = picture.resize((size[0], a.shape[0]), PILLOW[filter]).resize(size, PILLOW[filter])
    case(image, filter, 1, 0, size, 0 if filter == NEAREST else 1, 0, np.asarray(result))


def by_opencv(image, filter, size):
    result = cv2.resize(images[image], size, interpolation=OPENCV[filter])
    case(image, filter, 0, 0, size, 0 if filter == NEAREST else 1, 0, result)


def with_alpha(image, filter, size):
    a = images[image].astype(np.float64)
    weighed = a.copy()
    weighed[..., :-1] *= a[..., -1:]
    r = in_floats(weighed, filter, size).astype(np.float64)
    alpha = r[..., -1:]
    colours = np.where(alpha > 0, r[..., :-1] / np.where(alpha > 0, alpha, 1), 0)
    result = np.clip(np.rint(np.concatenate([colours, alpha], axis=-1)), 0, 255)
    case(image, filter, 1, 1, size, 1, 0, result)


def main():
    rng = np.random.default_rng(19)
    noise = new_image(rng.integers(0, 256, (17, 23, 3), np.uint8))
    gray = new_image(rng.integers(0, 256, (12, 18, 1), np.uint8))
    edges = new_image((rng.integers(0, 2, (31, 40, 1)) * 255).astype(np.uint8))
    row = new_image(rng.integers(0, 256, (1, 37, 3), np.uint8))
    column = new_image(rng.integers(0, 256, (29, 1, 1), np.uint8))
    for filter in (NEAREST, BILINEAR, BICUBIC, LANCZOS3):
        for size in ((11, 8), (7, 17), (23, 5), (29, 20), (23, 17), (1, 1), (5, 34), (2, 3)):
            by_pillow(noise, filter, size)
        for size in ((13, 9), (40, 31), (101, 7), (16, 50)):
            by_pillow(edges, filter, size)
        for size in ((9, 1), (80, 1), (37, 4), (1, 3)):
            by_pillow(row, filter, size)
        for size in ((1, 9), (1, 64), (3, 29)):
            by_pillow(column, filter, size)
    for size in ((9, 6), (6, 4), (3, 12), (1, 1)):
        by_pillow(gray, AREA, size)
    for filter in (NEAREST, BILINEAR, BICUBIC):
        for size in ((11, 8), (29, 20), (23, 40), (5, 17)):
            by_opencv(noise, filter, size)
        for size in ((20, 9), (7, 31), (48, 32)):
            by_opencv(edges, filter, size)
    for size in ((11, 8), (22, 16), (5, 17), (1, 1)):
        by_opencv(noise, AREA, size)
    values = new_image(rng.normal(0, 1000, (14, 21, 2)).astype(np.float32))
    for filter in (BILINEAR, BICUBIC, LANCZOS3):
        for size in ((8, 5), (30, 33), (21, 3)):
            case(values, filter, 1, 0, size, 0.01, 1, in_floats(images[values], filter, size))
    seen = rng.integers(0, 256, (15, 16, 4), np.uint8)
    seen[..., 3] = np.where(rng.random((15, 16)) < 0.4, 0, seen[..., 3])
    clear = new_image(seen)
    for filter in (BILINEAR, AREA):
        for size in ((8, 5), (4, 3) if filter == AREA else (31, 40)):
            if filter == AREA and (16 % size[0] or 15 % size[1]):
                continue
            with_alpha(clear, filter, size)
    record("cases", [cases])


sys.exit(main())
