// SPDX-License-Identifier: MIT
//
// emulated_median.cpp - median.h's CUDA version as C++ for the host: for test_emulated_kernels.c.
#include "tests/device/emulated/matrix.h"

#include "filters/local/median.cu"
