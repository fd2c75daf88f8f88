// SPDX-License-Identifier: MIT
//
// emulated_along.cpp - along.cu as C++ for the host: for test_emulated_kernels.c.
#include "tests/device/emulated/matrix.h"

// Of a block: blocks run one after the other, on one thread.
#undef __shared__
#define __shared__ thread_local

namespace {
alignas(16) thread_local unsigned char resample_along_shared[256 << 10];
const bool known = (emulated_shared = resample_along_shared, true);
} // namespace

#include "filters/resample/along.cu"
