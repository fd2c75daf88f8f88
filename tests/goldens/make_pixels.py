#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes pixels.txt: what Pillow, OpenCV, SciPy and scikit-image make of small images, or NumPy by the formula.

    make_pixels.py > pixels.txt

Lines of words and numbers:

    input NAME BITS WIDTH HEIGHT CHANNELS          and the samples, row by row, on the next line
    case INPUT TYPE TOLERANCE STAGE...             the stages of a chain, and its results, of that type

tests/cli/pixels.py reads it. Made with Pillow 13.0, OpenCV 5.0, SciPy 1.17, scikit-image 0.26, NumPy 2.4.
"""
import sys

import cv2
import numpy as np
from PIL import Image, ImageOps
from scipy import ndimage
from skimage import color as skcolor
from skimage import exposure, filters

WIDTH, HEIGHT = 23, 13
CASES = []


def case(name, kind, tolerance, stages, result):
    """A case whose result the command must give within the tolerance; 0: exactly."""
    CASES.append((name, kind, tolerance, stages if isinstance(stages, list) else [stages], np.asarray(result)))


def made_inputs():
    """Smooth where pictures are, with noise, edges and the ends of the range."""
    rng = np.random.default_rng(19)
    y, x, c = np.mgrid[0:HEIGHT, 0:WIDTH, 0:3]
    smooth = 120 + 90 * np.sin(x / 5 + c) * np.cos(y / 3 - c) + rng.normal(0, 12, (HEIGHT, WIDTH, 3))
    smooth[4:9, 8:12] = 250
    smooth[0, 0], smooth[-1, -1] = 0, 255
    rgb8 = np.clip(np.rint(smooth), 0, 255).astype(np.uint8)
    gray16 = np.clip(np.rint(smooth[..., 0] * 257 + rng.integers(-128, 129, (HEIGHT, WIDTH))), 0, 65535)
    return {"rgb8": rgb8, "gray8": rgb8[..., 1], "gray16": gray16.astype(np.uint16)}


def normalized(inputs):
    unit = inputs["rgb8"] / 255
    case("rgb8", "f32", 1e-6, "normalize", unit)
    case("rgb8", "f32", 1e-6, "normalize:imagenet", (unit - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225])
    case("rgb8", "f32", 1e-6, "normalize:signed", unit * 2 - 1)
    case("rgb8", "f32", 1e-6, ["gain:0.5", "normalize:mean=0.1,0.2,0.3:std=2"], (unit / 2 - [0.1, 0.2, 0.3]) / 2)
    case("gray16", "f32", 1e-6, "normalize:mean=0.4:std=0.3", (inputs["gray16"] / 65535 - 0.4) / 0.3)
    case("gray16", "f32", 1e-6, ["convert:u8", "normalize"], np.rint(inputs["gray16"] / 257) / 255)


def curves(inputs):
    rgb8, gray16 = inputs["rgb8"], inputs["gray16"]
    for gamma in (2.2, 0.4545, 1):
        case("rgb8", "u8", 0, f"gamma:{gamma}", exposure.adjust_gamma(rgb8, gamma))
    case("rgb8", "f32", 1e-4, "gamma:1.7:gain=0.9", 255 * 0.9 * (rgb8 / 255) ** 1.7)
    case("gray16", "u16", 1, "gamma:0.6", np.rint(65535 * (gray16 / 65535) ** 0.6))
    t = np.clip((rgb8 - 20.0) / (203 - 20), 0, 1)  # an odd number, so that no result is half-way between two codes
    case("rgb8", "u8", 0, "levels:20:white=203", np.rint(t * 255))
    case("rgb8", "u8", 0, "levels:20:white=203:gamma=1.4:out_black=16:out_white=235",
         np.rint(t ** (1 / 1.4) * 219 + 16))
    case("rgb8", "u8", 0, "levels:out_black=255:out_white=0", 255 - rgb8)
    case("gray16", "u16", 1, "levels:gamma=2", np.rint((gray16 / 65535) ** 0.5 * 65535))
    kinds = {"binary": cv2.THRESH_BINARY, "inverse": cv2.THRESH_BINARY_INV, "truncate": cv2.THRESH_TRUNC,
             "above": cv2.THRESH_TOZERO, "below": cv2.THRESH_TOZERO_INV}
    level = int(np.median(rgb8))
    for name, kind in kinds.items():
        case("rgb8", "u8", 0, f"threshold:{level}:type={name}", cv2.threshold(rgb8, level, 255, kind)[1])
    case("gray16", "u16", 0, "threshold:30000:high=7", np.where(gray16 > 30000, 7, 0))


def linear(t):
    """sRGB's curve undone."""
    return np.where(t <= 0.04045, t / 12.92, ((t + 0.055) / 1.055) ** 2.4)


def luma(image, weights):
    """Whole numbers, so that halves are halves; rounded half to even."""
    total = image.astype(np.int64) @ np.array(weights)
    return np.rint(total / sum(weights))


def colors(inputs):
    rgb8 = inputs["rgb8"]
    case("rgb8", "u8", 0, "gray", luma(rgb8, (299, 587, 114)))
    case("rgb8", "u8", 1, "gray", np.array(Image.fromarray(rgb8).convert("L")))
    case("rgb8", "u8", 1, "gray", cv2.cvtColor(rgb8, cv2.COLOR_RGB2GRAY))
    case("rgb8", "u8", 0, "gray:luma=709", luma(rgb8, (2126, 7152, 722)))
    case("gray16", "u16", 0, "gray", inputs["gray16"])
    case("gray8", "u8", 0, "color:rgb", np.repeat(inputs["gray8"][..., None], 3, 2))
    case("rgb8", "u8", 1, "color:ycbcr", np.array(Image.fromarray(rgb8).convert("YCbCr")))
    case("rgb8", "f32", 2e-3, "color:hsv", skcolor.rgb2hsv(rgb8) * 255)
    case("rgb8", "f32", 2e-3, "color:linear", linear(rgb8 / 255) * 255)
    lab = skcolor.rgb2lab(rgb8)  # its D65 has another fifth digit
    case("rgb8", "f32", 0.02, "color:lab", lab * [2.55, 1, 1] + [0, 128, 128])
    case("rgb8", "u8", 1, "color:lab", cv2.cvtColor(rgb8, cv2.COLOR_RGB2LAB))
    for space in ("linear", "hsv", "lab", "ycbcr"):
        case("rgb8", "f32", 2e-3, [f"color:{space}", "color:rgb"], rgb8)
    case("rgb8", "u8", 0, ["color:hsv", "color:gray"], luma(rgb8, (299, 587, 114)))


def blurred(image, sigma, truncate=4.0):
    """Channel by channel, mirrored at the edge pixel."""
    planes = np.atleast_3d(image).astype(np.float64)
    made = [ndimage.gaussian_filter(planes[..., c], sigma, mode="mirror", truncate=truncate) for c in range(planes.shape[2])]
    return np.stack(made, axis=2)


def blurs(inputs):
    rgb8, gray16 = inputs["rgb8"], inputs["gray16"]
    case("rgb8", "f32", 5e-4, "gauss:1.5", blurred(rgb8, 1.5))
    case("rgb8", "u8", 1, "gauss:0.7:truncate=3", np.rint(blurred(rgb8, 0.7, 3)))
    case("rgb8", "f32", 5e-4, "gauss:2,0.5", blurred(rgb8, (0.5, 2)))
    case("rgb8", "f32", 5e-4, "gauss:1,0", blurred(rgb8, (0, 1)))
    case("rgb8", "u8", 0, "gauss:0", rgb8)
    detail = rgb8 - blurred(rgb8, 1.2)
    case("rgb8", "f32", 1e-3, "sharpen:1.2:amount=0.8", rgb8 + 0.8 * detail)
    case("rgb8", "f32", 1e-3, "sharpen:1.2:amount=2:threshold=5.5",
         np.where(abs(detail) > 5.5, rgb8 + 2 * detail, rgb8))
    case("gray8", "f32", 1e-3, ["sharpen:1:amount=1", "crop:x=4:y=4:width=15:height=5"],
         filters.unsharp_mask(inputs["gray8"].astype(float), 1, 1, preserve_range=True)[4:-4, 4:-4])
    case("gray16", "f32", 0.2, "gauss:1", blurred(gray16, 1))


def medians(inputs):
    rgb8, gray16 = inputs["rgb8"], inputs["gray16"]
    noisy = [ndimage.median_filter(rgb8[..., c], 3, mode="mirror") for c in range(3)]
    case("rgb8", "u8", 0, "median:3", np.stack(noisy, axis=2))
    case("gray8", "u8", 0, "median:5:border=replicate", cv2.medianBlur(inputs["gray8"].copy(), 5))
    case("gray8", "u8", 0, "median:11:border=replicate", cv2.medianBlur(inputs["gray8"].copy(), 11))
    for columns, rows in ((5, 5), (7, 3), (1, 5), (9, 9)):
        wanted = ndimage.median_filter(gray16, (rows, columns), mode="mirror")
        case("gray16", "u16", 0, f"median:{columns},{rows}", wanted)
        case("gray16", "u16", 0, ["convert:f32", f"median:{columns},{rows}"], wanted)


def equalized(inputs):
    rgb8, gray16 = inputs["rgb8"], inputs["gray16"]
    case("rgb8", "u8", 0, "equalize", np.array(ImageOps.equalize(Image.fromarray(rgb8))))
    case("rgb8", "u8", 0, ["levels:white=510:out_black=40:out_white=295", "convert:u8", "equalize"],
         np.array(ImageOps.equalize(Image.fromarray(np.rint(rgb8 / 2 + 40).astype(np.uint8)))))
    counts = np.bincount(gray16.ravel(), minlength=65536)
    below = np.concatenate([[0], np.cumsum(counts)[:-1]])
    spread = gray16.size - counts[gray16.max()]
    case("gray16", "u16", 0, "equalize", ((2 * below * 65535 + spread) // (2 * spread))[gray16])


def parted(inputs):
    """OpenCV of bytes, scikit-image of 16 bits; of an even image nothing is above."""
    rgb8, gray16 = inputs["rgb8"], inputs["gray16"]
    levels = [cv2.threshold(np.ascontiguousarray(rgb8[..., c]), 0, 255, cv2.THRESH_BINARY | cv2.THRESH_OTSU) for c in range(3)]
    white = np.dstack([made for _, made in levels])
    case("rgb8", "u8", 0, "otsu", white)
    case("rgb8", "u8", 0, "otsu:inverse:white=7", np.where(white > 0, 0, 7))
    case("gray16", "u16", 0, "otsu", np.where(gray16 > filters.threshold_otsu(gray16), 65535, 0))
    case("gray16", "u8", 0, ["convert:u8", "threshold:-1", "otsu"], np.zeros(gray16.shape))


def numbers(array):
    if array.dtype.kind == "f":
        return " ".join(f"{v:.7g}" for v in array.ravel())
    return " ".join(str(int(v)) for v in array.ravel())


def main(out):
    inputs = made_inputs()
    for make in (normalized, curves, colors, blurs, medians, equalized, parted):
        make(inputs)
    out.write("# Made by make_pixels.py; see there for what the lines mean.\n")
    for name, image in inputs.items():
        channels = image.shape[2] if image.ndim == 3 else 1
        out.write(f"input {name} {image.dtype.itemsize * 8} {WIDTH} {HEIGHT} {channels}\n{numbers(image)}\n")
    for name, kind, tolerance, stages, result in CASES:
        result = result if kind == "f32" else result.astype(int)
        out.write(f"case {name} {kind} {tolerance} {' '.join(stages)}\n{numbers(result)}\n")


if __name__ == "__main__":
    main(sys.stdout)
