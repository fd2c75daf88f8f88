// SPDX-License-Identifier: MIT
//
// emulated_strips.cpp - strips.cu as C++ for the host: for test_emulated_kernels.c.
#include "tests/device/emulated/matrix.h"

// Of a block: blocks run one after the other, on one thread.
#undef __shared__
#define __shared__ thread_local

namespace {
alignas(16) thread_local unsigned char resample_strips_shared[256 << 10];
const bool known = (emulated_shared = resample_strips_shared, true);
} // namespace

#include "filters/resample/strips.cu"
