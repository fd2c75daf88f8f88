/* SPDX-License-Identifier: MIT */
/*
 * sepconv.c - the reference, and the CPU version: columns first, then rows.
 *
 * A block of rows is summed vertically into `work`, a piece of PIECE elements at a time that stays in the L1
 * cache, and each row of the piece is then summed horizontally. Vertical sums come first because dense input
 * then needs no buffer, and no row is summed twice at the borders of the host's strips. The last (nx - 1) *
 * step sums of a piece are moved to before the next one, not computed again.
 */
#include "filters/filter2d/sepconv.h"
#include "filters/base/lines.h"
#include "filters/filter2d/conv2d_strips.h"
#include "filters/base/samples.h"
#include "filters/filter2d/sepconv_kernels.h"

#include <string.h>

#define PIECE 1024
/* Taps of a column up to which bytes are converted as they are read, (ny + 3) / 4 times, instead of
 * once into a row of floats. */
#define TAPS_OF_BYTES 16

static double tap_at(const fc_sepconv *op, const void *taps, int64_t i) {
  return op->compute == FC_F64 ? ((const double *)taps)[i] : ((const float *)taps)[i];
}

static double sum_at(const fc_sepconv *op, const fc_view *in, const int64_t at[FC_AXES]) {
  double sum = 0;
  for (int64_t t = 0; t < op->rank; t++)
    for (int64_t i = 0; i < op->nx; i++) {
      double column = 0;
      for (int64_t j = 0; j < op->ny; j++) {
        double v;
        fc_load_f64(&v, fc_view_at(in, at[0], at[1] - op->ny / 2 + j, at[2] - op->nx / 2 + i, at[3]), 0, 1,
                    in->kind, in->dtype);
        column += tap_at(op, op->y, t * op->ny + j) * v;
      }
      sum += tap_at(op, op->x, t * op->nx + i) * column;
    }
  return sum;
}

fc_status fc_sepconv_ref(const fc_sepconv *op, const fc_view *in, const fc_view *out, uint32_t *notes) {
  int64_t at[FC_AXES] = {0};
  for (int64_t left = fc_view_count(out); left > 0; left--, fc_advance(out, at)) {
    double v = sum_at(op, in, at);
    fc_store_f64(fc_view_at(out, at[0], at[1], at[2], at[3]), 0, &v, 1, out->kind, out->dtype, notes);
  }
  return FC_OK;
}

/* `work` holds, for each term and each row of the block, `lead` elements for what is
 * kept of the piece before (at their end), then the piece. */
typedef struct piece_layout {
  int64_t margin, lead, pitch; /* elements */
} piece_layout;

static piece_layout piece_layout_of(const fc_sepconv *op, int64_t step) {
  int64_t margin = (op->nx - 1) * step, lead = (margin + 15) / 16 * 16;
  /* 16 more: rows of a whole number of pages would meet in the cache. */
  return (piece_layout){margin, lead, lead + PIECE + 16};
}

static size_t work_bytes(const void *self, int64_t step) {
  const fc_sepconv *op = (const fc_sepconv *)self;
  /* The last of it is a piece of a row before it becomes bytes. */
  return (size_t)(op->rank * FC_STRIP_ROWS * piece_layout_of(op, step).pitch + PIECE) *
         fc_dtype_size(op->compute);
}

/* Sums `n` columns of all terms, from element `from` of the rows on, into `at` of work. */
static void sum_columns(const fc_sepconv *op, const fc_sepconv_kernels *k, const fc_strip_block *b,
                        piece_layout w, int64_t from, int64_t at, int64_t n) {
  for (int64_t t = 0; n > 0 && t < op->rank; t++)
    (b->rows_u8 ? k->columns_u8 : k->columns)(
        b->count, b->rows, from, (const char *)op->y + (size_t)(t * op->ny) * k->size, op->ny,
        (char *)b->work + (size_t)(t * FC_STRIP_ROWS * w.pitch + at) * k->size, w.pitch, n);
}

/* Moves the last sums of a piece of n elements to before the next. */
static void keep_margin(const fc_sepconv *op, const fc_sepconv_kernels *k, const fc_strip_block *b,
                        piece_layout w, int64_t n) {
  for (int64_t row = 0; row < op->rank * FC_STRIP_ROWS; row++) {
    char *piece = (char *)b->work + (size_t)(row * w.pitch + w.lead - w.margin) * k->size;
    memmove(piece, piece + (size_t)n * k->size, (size_t)w.margin * k->size);
  }
}

/* The first piece ends where a cache line of the output does, and so do the others. */
static int64_t first_piece(const fc_sepconv_kernels *k, const fc_strip_block *b) {
  return PIECE - (int64_t)((uintptr_t)b->to[0] % 64 / (b->to_u8 ? 1 : k->size));
}

/* Sums n elements along row r of a piece, which begins at element i of the block. */
static void sum_row(const fc_sepconv *op, const fc_sepconv_kernels *k, const fc_strip_block *b,
                    piece_layout w, int64_t r, int64_t i, int64_t n) {
  const char *from = (const char *)b->work + (size_t)(r * w.pitch + w.lead - w.margin) * k->size;
  void *floats = (char *)b->work + (size_t)(op->rank * FC_STRIP_ROWS * w.pitch) * k->size;
  if (!b->to_u8) {
    k->row(from, FC_STRIP_ROWS * w.pitch, op->rank, op->x, op->nx, b->step,
           (char *)b->to[r] + (size_t)i * k->size, n, b->stream);
    return;
  }
  uint8_t *to = (uint8_t *)b->to[r] + i;
  if (op->rank == 1 && k->row_u8(from, op->x, op->nx, b->step, to, n, b->stream)) return;
  k->row(from, FC_STRIP_ROWS * w.pitch, op->rank, op->x, op->nx, b->step, floats, n, 0);
  fc_store_f32(to, 1, (const float *)floats, n, b->kind, FC_U8, b->notes);
}

static void block_run(const void *self, const fc_strip_block *b) {
  const fc_sepconv *op = (const fc_sepconv *)self;
  const fc_sepconv_kernels *k = fc_sepconv_kernels_of(op->isa, op->compute);
  piece_layout w = piece_layout_of(op, b->step);
  int64_t most = first_piece(k, b);
  int64_t done = 0; /* columns; the first piece comes with the margin ahead of it */
  for (int64_t i = 0, n; i < b->n; i += n, most = PIECE) {
    n = b->n - i < most ? b->n - i : most;
    const int64_t sums = w.margin + i + n - done;
    sum_columns(op, k, b, w, done, w.lead + n - sums, sums);
    done += sums;
    for (int64_t r = 0; r < b->count; r++) sum_row(op, k, b, w, r, i, n);
    if (i + n < b->n) keep_margin(op, k, b, w, n);
  }
}

static fc_strips strips_of(const fc_sepconv *op) {
  const int f32 = op->compute == FC_F32;
  return (fc_strips){op->compute, op->nx, op->ny, op, block_run, work_bytes, f32 && op->ny <= TAPS_OF_BYTES,
                     f32};
}

size_t fc_sepconv_scratch(const fc_sepconv *op, const fc_view *out) {
  fc_strips s = strips_of(op);
  return fc_strips_scratch(&s, out);
}

fc_status fc_sepconv_cpu(const fc_sepconv *op, const fc_view *in, const fc_view *out, void *scratch,
                         uint32_t *notes) {
  fc_strips s = strips_of(op);
  fc_strips_run(&s, in, out, scratch, notes);
  return FC_OK;
}
