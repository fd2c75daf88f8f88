#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes compare.txt: two images and what SciPy says of how alike they are.

    make_compare.py > compare.txt

Records are a line with a name and a count and a line of that many numbers: size_K (rows, columns, peak), a_K and
b_K (the images, row-major), result_K (largest difference, mean squared difference, mean SSIM). The SSIM is made of
scipy.ndimage.gaussian_filter with sigma=1.5 and truncate=3.5, which is 11 taps, without the 5 rows and columns at
each edge: scikit-image's structural_similarity(gaussian_weights=True, use_sample_covariance=False).
"""
import sys

import numpy as np
from scipy.ndimage import gaussian_filter


def similarity(a, b, peak):
    def mean(x):
        return gaussian_filter(x, sigma=1.5, truncate=3.5)
    ma, mb = mean(a), mean(b)
    va, vb, cov = mean(a * a) - ma * ma, mean(b * b) - mb * mb, mean(a * b) - ma * mb
    c1, c2 = (0.01 * peak) ** 2, (0.03 * peak) ** 2
    ssim = (2 * ma * mb + c1) * (2 * cov + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2))
    return ssim[5:-5, 5:-5].mean()


def record(name, values):
    values = np.asarray(values, float).ravel()
    print(name, len(values))
    print(" ".join(repr(float(v)) for v in values))


def main():
    rng = np.random.default_rng(11)
    for k, (rows, columns, peak, noise) in enumerate(((11, 11, 255, 20), (24, 37, 255, 3), (19, 300, 65535, 900),
                                                      (40, 12, 255, 100))):
        smooth = gaussian_filter(rng.uniform(0, peak, (rows, columns)), 2) * 2 - peak / 2
        a = np.clip(np.rint(smooth), 0, peak)
        b = np.clip(np.rint(a + rng.normal(0, noise, a.shape)), 0, peak)
        record(f"size_{k}", (rows, columns, peak))
        record(f"a_{k}", a)
        record(f"b_{k}", b)
        record(f"result_{k}", (np.abs(a - b).max(), ((a - b) ** 2).mean(), similarity(a, b, peak)))


sys.exit(main())
