#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes conv2d.txt and sepconv.txt: what SciPy says the results of these operators are.

    make_conv2d.py FOLDER

Records as tests/filters/golden.h reads them: the image, 9 x 7 pixels of 2 channels; each
mask; and for each mask MASK, border BORDER and FLIP (yes, no) a result MASK_BORDER_FLIP.
Inputs are exact in single precision.
"""
import os
import sys

import numpy
from scipy import ndimage

BORDERS = {"zero": "constant", "constant": "constant", "replicate": "nearest", "reflect": "reflect",
           "reflect101": "mirror", "wrap": "wrap"}
VALUE = 0.625
SHAPE = (9, 7, 2)
MATRICES = {"square": (3, 3), "even": (4, 5), "row": (1, 7), "column": (6, 1), "large": (15, 13)}
PAIRS = {"odd": (3, 5), "even": (4, 6), "long": (17, 12)}  # taps down, taps along


def origin(taps, flip):
    """SciPy centres an even mask on tap n/2 when it convolves, we on (n-1)/2."""
    return -1 if flip == "yes" and taps % 2 == 0 else 0


def conv2d(image, mask, border, flip):
    function = ndimage.convolve if flip == "yes" else ndimage.correlate
    return function(image, mask[..., None], mode=BORDERS[border], cval=VALUE if border == "constant" else 0,
                    origin=[origin(n, flip) for n in mask.shape] + [0])


def sepconv(image, down, along, border, flip):
    """One convolution by the product: two in turn would fill the border of the second with
    what lies beyond the result of the first, which only for some borders is the same."""
    return conv2d(image, numpy.outer(down, along), border, flip)


def record(out, name, values):
    values = numpy.asarray(values, float).ravel()
    out.write(f"{name} {len(values)}\n" + " ".join(repr(float(v)) for v in values) + "\n")


def cases(out, name, result):
    for border in BORDERS:
        for flip in ("yes", "no") if name == "even" else ("yes",):
            record(out, f"{name}_{border}_{flip}", result(border, flip))


def random(rng, shape):
    return rng.standard_normal(shape).astype("f4").astype(float)


def main(folder):
    rng = numpy.random.default_rng(2)
    image = random(rng, SHAPE)
    with open(os.path.join(folder, "conv2d.txt"), "w", encoding="ascii") as out:
        record(out, "image", image)
        for name, shape in MATRICES.items():
            mask = random(rng, shape)
            record(out, name, mask)
            cases(out, name, lambda border, flip, m=mask: conv2d(image, m, border, flip))
    with open(os.path.join(folder, "sepconv.txt"), "w", encoding="ascii") as out:
        record(out, "image", image)
        for name, (down, along) in PAIRS.items():
            y, x = random(rng, down), random(rng, along)
            record(out, name + "_y", y)
            record(out, name + "_x", x)
            cases(out, name, lambda border, flip, y=y, x=x: sepconv(image, y, x, border, flip))


if __name__ == "__main__":
    main(sys.argv[1])
