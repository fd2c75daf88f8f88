/* SPDX-License-Identifier: MIT */
/*
 * stats_cpu.c - blocks of stats with the loops of one instruction set.
 *
 * The samples of a block are processed row after row, 1024 per channel at a time: loaded into a buffer,
 * packed channels together, and measured there, in the first-level cache. Channels that are not interleaved,
 * or are more than the buffers hold, are processed one by one.
 */
#include <math.h>
#include <string.h>

#include "filters/base/codes.h"
#include "filters/stats/stats_kernels.h"

/* Channels processed together: about 24 KiB of buffers each. */
#define TOGETHER 16

typedef struct walk {
  const fc_view *in;
  const fc_stats_kernels *k;
  int64_t channels; /* processed together */
  int floats;
  void *cells; /* a chunk of samples: double or int32 */
  fc_stats_lanes lanes;
  fc_stats_part *parts; /* of the chunk */
  fc_stats_tree *trees; /* of the block, for each channel of `channels` */
  int64_t n, c, filled; /* current position; samples in the buffer */
} walk;

static int is_packed(const fc_view *v) {
  int64_t size = (int64_t)fc_dtype_size(v->dtype), channels = v->shape[FC_AXIS_C];
  return channels <= TOGETHER && v->stride[FC_AXIS_X] == size * channels &&
         (channels == 1 || v->stride[FC_AXIS_C] == size);
}

/* Allocates pieces of the scratch; only counts if there is none. */
typedef struct bump {
  char *memory;
  size_t used;
} bump;

static void *take(bump *b, size_t bytes) {
  void *p = b->memory ? b->memory + b->used : NULL;
  b->used += (bytes + 63) / 64 * 64;
  return p;
}

static void take_memory(walk *k, bump *b) {
  const size_t channels = (size_t)k->channels, lanes = FC_STATS_LANES * channels;
  fc_stats_lanes *l = &k->lanes;
  double **doubles[] = {&l->sum, &l->squares, &l->least, &l->most, &l->finite, &l->nan, &l->mean};
  k->cells = take(b, FC_STATS_CHUNK * channels * sizeof(double));
  for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) *doubles[i] = take(b, lanes * sizeof(double));
  l->codes = take(b, lanes * sizeof(int64_t));
  l->low = take(b, lanes * sizeof(uint64_t));
  l->high = take(b, lanes * sizeof(uint64_t));
  l->small = take(b, lanes * sizeof(int32_t));
  l->large = take(b, lanes * sizeof(int32_t));
  k->parts = take(b, channels * sizeof(fc_stats_part));
  k->trees = take(b, channels * sizeof(fc_stats_tree));
}

size_t fc_stats_cpu_scratch(const fc_view *in) {
  walk k;
  bump b = {NULL, 0};
  int64_t channels = in->shape[FC_AXIS_C];
  k.channels = channels < 1 ? 1 : channels < TOGETHER ? channels : TOGETHER;
  take_memory(&k, &b);
  return b.used;
}

/* Measures the content of the buffer. */
static void flush(walk *k) {
  if (k->filled == 0) return;
  if (k->floats) {
    double *cells = k->cells;
    int64_t rows = (k->filled + FC_STATS_LANES - 1) / FC_STATS_LANES, room = rows * FC_STATS_LANES;
    int64_t missing = room - k->filled;
    for (int64_t i = k->filled * k->channels; i < room * k->channels; i++) cells[i] = NAN;
    k->k->values(cells, rows, k->channels, k->in->dtype == FC_F64, &k->lanes, k->parts);
    for (int64_t c = 0; c < k->channels; c++) k->parts[c].nan -= (uint64_t)missing;
  } else
    k->k->codes(k->cells, k->filled, k->channels, k->in->dtype == FC_I32, &k->lanes, k->parts);
  for (int64_t c = 0; c < k->channels; c++) fc_stats_push(&k->trees[c], &k->parts[c]);
  k->filled = 0;
}

/* Adds `count` positions of a row. */
static void add_row(walk *k, int64_t y, int64_t x, int64_t count) {
  const fc_view *v = k->in;
  const int64_t size = k->floats ? (int64_t)sizeof(double) : (int64_t)sizeof(int32_t);
  const int64_t stride = k->channels > 1 ? (int64_t)fc_dtype_size(v->dtype) : v->stride[FC_AXIS_X];
  while (count > 0) {
    int64_t room = FC_STATS_CHUNK - k->filled, now = count < room ? count : room;
    const void *from = fc_view_at(v, k->n, y, x, k->c);
    char *to = (char *)k->cells + k->filled * k->channels * size;
    if (k->floats)
      fc_load_f64((double *)to, from, stride, now * k->channels, v->kind, v->dtype);
    else
      fc_codes_load((int32_t *)to, from, stride, now * k->channels, v->kind, v->dtype);
    k->filled += now, x += now, count -= now;
    if (k->filled == FC_STATS_CHUNK) flush(k);
  }
}

/* One block of the current channels; `to` is its memory. */
static void measure_block(walk *k, int64_t from, int64_t end, char *to) {
  for (int64_t c = 0; c < k->channels; c++) k->trees[c].count = 0;
  k->filled = 0;
  if (k->in->kind == FC_AUDIO)
    add_row(k, 0, from, end - from);
  else
    for (int64_t y = from; y < end; y++) add_row(k, y, 0, k->in->shape[FC_AXIS_X]);
  flush(k);
  fc_stats_part *parts = (fc_stats_part *)(void *)(to + sizeof(fc_stats_block));
  for (int64_t c = 0; c < k->channels; c++) parts[k->c + c] = fc_stats_total(&k->trees[c]);
}

fc_status fc_stats_cpu(const fc_view *in, int64_t align, void *blocks, int64_t frame_bytes, void *scratch,
                       fc_isa isa) {
  walk k = {.in = in, .k = FC_ISA_PICK(fc_stats_kernels, isa), .floats = fc_dtype_is_float(in->dtype)};
  const int64_t length = in->shape[in->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y],
                channels = in->shape[FC_AXIS_C];
  const fc_stats_block head = {(uint32_t)channels, in->kind, in->dtype, 0};
  k.channels = is_packed(in) && channels > 0 ? channels : 1;
  bump b = {scratch, 0};
  take_memory(&k, &b);
  for (k.n = 0; k.n < in->shape[FC_AXIS_N]; k.n++) {
    char *to = (char *)blocks + k.n * frame_bytes;
    for (int64_t i = 0; i < length; i += align) {
      memcpy(to, &head, sizeof head);
      for (k.c = 0; k.c < channels; k.c += k.channels)
        measure_block(&k, i, i + align < length ? i + align : length, to);
      to += fc_stats_block_bytes(channels);
    }
  }
  return FC_OK;
}
