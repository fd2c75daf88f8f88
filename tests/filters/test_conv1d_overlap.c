/* SPDX-License-Identifier: MIT */
/*
 * test_conv1d_overlap.c - what overlap-save on a device is planned to do: blocks that a
 * transform can make, grids that fit those of the CPU, direct sums where they are quicker.
 * That it does it is tested where there is a device.
 */
#include "filters/conv1d/conv1d_fft.h"
#include "filters/conv1d/conv1d_overlap.h"
#include "tests/filters/check.h"

static void plan_check(int64_t taps, int even, int compute) {
  fc_conv1d_overlap o = fc_conv1d_overlap_plan(taps, taps / 2, FC_UNKNOWN, even, compute, FC_AXIS_X, 1);
  int64_t window = o.stretches * o.n;
  CHECK(o.n > 0 && o.hop > 0 && o.run > 0, "nothing for %" PRId64 " taps", taps);
  CHECK(even || o.stretches > 1, "pairs of an odd number");
  CHECK(o.lead + o.hop + o.part - 1 <= window, "%" PRId64 " taps: blocks of %" PRId64 " of %" PRId64, taps,
        o.hop, window);
  CHECK(o.parts * o.part >= taps && (o.parts - 1) * o.part < taps, "%" PRId64 " taps in %" PRId64 " parts",
        taps, o.parts);
  CHECK(o.parts == 1 || o.part == o.hop, "parts that are no blocks");
  CHECK(fc_conv1d_overlap_grid(&o) % (o.run * o.hop) == 0, "a grid that is not of blocks");
  CHECK(o.hop >= window / 2, "%" PRId64 " taps: most of a transform is overlap", taps);
}

/* The CPU's blocks are multiples of a device's, at little cost. */
static void unit_check(int64_t taps, int even) {
  fc_conv1d_overlap o = fc_conv1d_overlap_plan(taps, taps / 2, FC_UNKNOWN, even, FC_F32, FC_AXIS_X, 0);
  int64_t n = fc_conv1d_fft_length(taps, FC_UNKNOWN, FC_F32, o.hop, 0);
  if (o.n == 0 || n == 0) return;
  int64_t hop = fc_conv1d_fft_hop(taps, n, o.hop), alone = fc_conv1d_fft_hop(taps, n, 0);
  CHECK(hop % o.hop == 0, "%" PRId64 " taps: blocks of %" PRId64 " and %" PRId64, taps, hop, o.hop);
  CHECK((double)hop > 0.75 * (double)alone, "%" PRId64 " taps: %" PRId64 " of %" PRId64, taps, hop, alone);
}

int main(void) {
  static const int64_t some[] = {1,    2,    31,    512,   513,   961,    962,   2048,
                                 2049, 2050, 16384, 16385, 16386, 100000, 999999};
  random_start(5);
  for (size_t i = 0; i < sizeof some / sizeof *some; i++)
    for (int compute = FC_F32; compute <= FC_F64; compute++)
      for (int even = 0; even < 2; even++) plan_check(some[i], even, compute);
  for (int i = 0; i < 300; i++)
    plan_check(random_int(1, 200000), random_int(0, 1), random_int(0, 1) ? FC_F32 : FC_F64);
  for (int64_t taps = 1; taps < 40000; taps += 1 + taps / 40) unit_check(taps, 0), unit_check(taps, 1);
  for (int compute = FC_F32; compute <= FC_F64; compute++) {
    CHECK(fc_conv1d_overlap_plan(5, 2, -1, 0, compute, FC_AXIS_X, 0).n == 0, "5 taps by transforms");
    CHECK(fc_conv1d_overlap_plan(1023, 511, -1, 0, compute, FC_AXIS_X, 0).n > 0, "1023 taps tap by tap");
    CHECK(fc_conv1d_overlap_plan(1023, 511, 3, 0, compute, FC_AXIS_X, 0).n == 0, "3 outputs by transforms");
  }
  CHECK(fc_conv1d_overlap_plan(1023, 511, 1500, 0, FC_F32, FC_AXIS_Y, 1).n == 0,
        "an image that cannot be cut");
  return check_result();
}
