/* SPDX-License-Identifier: MIT */
/* choice.c - see choice.h. */
#include "filters/stats/choice.h"

#include "filters/stats/stats_math.h"

enum {
  LONG = 1024, /* units of a signal from which on streaming pays */
  MANY = 256   /* blocks of threads that fill a device; fewer get more warps each */
};

fc_stats_case fc_stats_case_of(const fc_view *in, int64_t align) {
  fc_stats_case l = {.kind = in->kind, .dtype = in->dtype, .align = align, .audio = in->kind == FC_AUDIO};
  l.bias = (int32_t)fc_scaling_of(in->kind, in->dtype).bias;
  l.frames = in->shape[FC_AXIS_N], l.channels = in->shape[FC_AXIS_C], l.columns = in->shape[FC_AXIS_X];
  l.length = l.audio ? l.columns : in->shape[FC_AXIS_Y];
  l.blocks = (l.length + align - 1) / align;
  const int64_t positions = align < l.length ? align : l.length,
                samples = l.audio ? positions : positions * l.columns;
  l.chunks = (samples + FC_STATS_CHUNK - 1) / FC_STATS_CHUNK;
  if (l.chunks < 1) l.chunks = 1;
  l.unit = 1;
  while (l.unit < FC_STATS_UNIT && l.unit < l.chunks) l.unit *= 2, l.unit_bits++;
  l.units = (l.chunks + l.unit - 1) / l.unit;
  l.block_bytes = (int64_t)fc_stats_block_bytes(l.channels);
  /* A single column has equal steps, and a block of a single row contains no end of a row. */
  const int64_t step = in->stride[!l.audio && l.columns == 1 ? FC_AXIS_Y : FC_AXIS_X],
                size = (int64_t)fc_dtype_size(in->dtype);
  l.even = l.audio || positions <= 1 || in->stride[FC_AXIS_Y] == step * l.columns;
  l.adjacent = l.even && step == size;
  l.runs = step == size && (l.even || l.columns >= FC_STATS_CHUNK);
  l.ragged = samples % FC_STATS_CHUNK != 0;
  l.pixels = l.channels > 1 && in->stride[FC_AXIS_C] == size && step == l.channels * size &&
             (l.even || in->dtype == FC_F32);
  uint64_t all = (uintptr_t)in->data | (uint64_t)(in->stride[l.audio ? FC_AXIS_X : FC_AXIS_Y] * positions);
  if (l.frames > 1) all |= (uint64_t)in->stride[FC_AXIS_N];
  if (l.channels > 1) all |= (uint64_t)in->stride[FC_AXIS_C];
  l.whole = l.adjacent && all % 16 == 0 && positions > 0 && l.length % positions == 0 &&
            samples % (FC_STATS_UNIT * FC_STATS_CHUNK) == 0;
  return l;
}

int64_t fc_stats_units(const fc_stats_case *c) {
  return c->frames * c->blocks * c->channels * c->units;
}

int64_t fc_stats_groups(const fc_stats_case *c) {
  const int64_t each = FC_STATS_UNIT / c->unit;
  return (fc_stats_units(c) + each - 1) / each;
}

static int is_float(const fc_stats_case *c) {
  return c->dtype == FC_F32 || c->dtype == FC_F64;
}

static int takes_stream(const fc_stats_case *c) {
  return c->dtype == FC_F32 && c->whole && fc_stats_units(c) >= LONG && fc_stats_units(c) <= INT32_MAX;
}

static int takes_clusters(const fc_stats_case *c) {
  return !is_float(c) && fc_stats_groups(c) < MANY && c->unit == FC_STATS_UNIT;
}

static int takes_warps(const fc_stats_case *c) {
  return fc_stats_groups(c) < MANY;
}

static int takes_gather(const fc_stats_case *c) {
  return c->dtype == FC_F32;
}

static int takes_pixels(const fc_stats_case *c) {
  return !is_float(c) && c->pixels && c->channels <= 4;
}

static const struct {
  fc_stats_kernel kernel;
  int (*takes)(const fc_stats_case *c);
} choices[] = {
    {FC_STATS_STREAM, takes_stream},     /* 1.03 to 1.04 of CUB, of the table */
    {FC_STATS_CLUSTERS, takes_clusters}, /* 2^20 i32 in a graph 3.8 us, of the table (CUB 4.1); by warps 4.6
                                          */
    {FC_STATS_WARPS, takes_warps},
    {FC_STATS_GATHER, takes_gather}, /* 1.3 times the aligned time a byte */
    {FC_STATS_PIXELS, takes_pixels}, /* u8 RGB 1.45, by units 2.6 */
};

fc_stats_kernel fc_stats_choose(const fc_stats_case *c, fc_stats_kernel from) {
  for (unsigned i = 0; i < sizeof choices / sizeof *choices; i++)
    if (choices[i].kernel >= from && choices[i].takes(c)) return choices[i].kernel;
  return FC_STATS_UNITS;
}
