/* SPDX-License-Identifier: MIT */
/*
 * median.c - the reference, and the loops of the vectorised version: rows of keys, each made once and kept
 * for the rows of a window, or the image's own rows if its samples are keys.
 */
#include "filters/local/median.h"

#include <stdlib.h>
#include <string.h>

#include "filters/base/lines.h"
#include "filters/local/median_kernels.h"
#include "filters/local/median_key.h"

static uint64_t bits_at(const void *at, size_t size) {
  switch (size) {
  case 1: return *(const uint8_t *)at;
  case 2: return *(const uint16_t *)at;
  case 4: return *(const uint32_t *)at;
  default: return *(const uint64_t *)at;
  }
}

static void set_bits(void *at, size_t size, uint64_t bits) {
  switch (size) {
  case 1: *(uint8_t *)at = (uint8_t)bits; break;
  case 2: *(uint16_t *)at = (uint16_t)bits; break;
  case 4: *(uint32_t *)at = (uint32_t)bits; break;
  default: *(uint64_t *)at = bits;
  }
}

/* ---- reference ------------------------------------------------------------ */

static int compare_keys(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

fc_status fc_median_ref(const fc_median *m, const fc_view *in, const fc_view *out, void *scratch) {
  const size_t size = fc_dtype_size(in->dtype);
  uint64_t *window = scratch;
  int64_t at[FC_AXES] = {0};
  if (in->dtype != out->dtype) return FC_UNSUPPORTED;
  for (int64_t left = fc_view_count(out); left > 0; left--, fc_advance(out, at)) {
    size_t count = 0;
    for (int64_t j = -(m->ny / 2); j <= m->ny / 2; j++)
      for (int64_t i = -(m->nx / 2); i <= m->nx / 2; i++)
        window[count++] =
            fc_key_of(bits_at(fc_view_at(in, at[0], at[1] + j, at[2] + i, at[3]), size), in->dtype);
    qsort(window, count, sizeof *window, compare_keys);
    set_bits(fc_view_at(out, at[0], at[1], at[2], at[3]), size, fc_key_to(window[count / 2], in->dtype));
  }
  return FC_OK;
}

/* ---- vectorised ------------------------------------------------------------- */

typedef struct walk {
  const fc_median *m;
  const fc_median_kernels *kernels;
  int dtype, log_size;
  int64_t size;
  int64_t apart;          /* elements from one column to the next */
  int64_t length, loaded; /* of a line of the output; including the margins that are read */
  int direct_in, direct_out;
  char *ring, *made, *rest; /* rows of keys; one of results; memory for selection */
} walk;

static size_t rounded_up(size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

static size_t row_bytes(const fc_median *m, const fc_view *out) {
  const size_t elements = (size_t)((out->shape[FC_AXIS_X] + m->nx) * out->shape[FC_AXIS_C]);
  return rounded_up(elements * fc_dtype_size(out->dtype));
}

/* Histograms of 16 bits with their coarse histogram, or the keys of a window. */
static size_t rest_bytes(const fc_median *m) {
  const size_t window = (size_t)(m->nx * m->ny) * sizeof(uint64_t),
               histogram = (65536 + 256) * sizeof(uint32_t);
  return window > histogram ? window : histogram;
}

size_t fc_median_scratch(const fc_median *m, const fc_view *out) {
  return (size_t)(m->ny + 1) * row_bytes(m, out) + rest_bytes(m);
}

/* The median of keys, by partitioning around one of them; the window's order changes. */
static uint64_t select_key(uint64_t *keys, int64_t count) {
  int64_t low = 0, high = count - 1;
  const int64_t wanted = count / 2;
  while (low < high) {
    const uint64_t pivot = keys[(low + high) / 2];
    int64_t i = low, j = high;
    while (i <= j) {
      while (keys[i] < pivot) i++;
      while (keys[j] > pivot) j--;
      if (i > j) break;
      const uint64_t other = keys[i];
      keys[i++] = keys[j], keys[j--] = other;
    }
    if (wanted <= j)
      high = j;
    else if (wanted >= i)
      low = i;
    else
      break;
  }
  return keys[wanted];
}

static void select_line(const walk *w, const void *const *rows, char *to) {
  uint64_t *window = (uint64_t *)(void *)w->rest;
  for (int64_t i = 0; i < w->length; i++) {
    int64_t count = 0;
    for (int64_t j = 0; j < w->m->ny; j++)
      for (int64_t k = 0; k < w->m->nx; k++)
        window[count++] = bits_at((const char *)rows[j] + (i + k * w->apart) * w->size, (size_t)w->size);
    set_bits(to + i * w->size, (size_t)w->size, select_key(window, count));
  }
}

/* A histogram of codes below 2^16, and one of their upper bytes. */
typedef struct histogram {
  uint32_t *fine, *coarse;
  int shift; /* shift from a code to its index in the coarse histogram */
} histogram;

static void count_column(const walk *w, const histogram *h, const void *const *rows, int64_t at,
                         uint32_t add) {
  for (int64_t j = 0; j < w->m->ny; j++) {
    const uint32_t code = w->size == 1 ? ((const uint8_t *)rows[j])[at] : ((const uint16_t *)rows[j])[at];
    h->fine[code] += add;
    h->coarse[code >> h->shift] += add;
  }
}

/* The code that is the `wanted`th smallest of a window, counted from 0. */
static uint32_t find_code(const histogram *h, uint32_t wanted) {
  uint32_t below = 0, part = 0;
  while (below + h->coarse[part] <= wanted) below += h->coarse[part++];
  uint32_t code = part << h->shift;
  while (below + h->fine[code] <= wanted) below += h->fine[code++];
  return code;
}

static void slide_line(const walk *w, const void *const *rows, char *to) {
  const histogram h = {(uint32_t *)(void *)w->rest, (uint32_t *)(void *)w->rest + 65536,
                       w->size == 1 ? 4 : 8};
  const size_t codes = w->size == 1 ? 256 : 65536;
  const uint32_t wanted = (uint32_t)(w->m->nx * w->m->ny / 2);
  for (int64_t c = 0; c < w->apart; c++) {
    memset(h.fine, 0, codes * sizeof *h.fine);
    memset(h.coarse, 0, 256 * sizeof *h.coarse);
    for (int64_t k = 0; k < w->m->nx - 1; k++) count_column(w, &h, rows, c + k * w->apart, 1);
    for (int64_t i = c; i < w->length; i += w->apart) {
      count_column(w, &h, rows, i + (w->m->nx - 1) * w->apart, 1);
      set_bits(to + i * w->size, (size_t)w->size, find_code(&h, wanted));
      count_column(w, &h, rows, i, (uint32_t)-1);
    }
  }
}

/* A line of the output from the rows of its window. */
static void filter_line(const walk *w, const void *const *rows, char *to) {
  if (w->m->nx == 3 && w->m->ny == 3)
    w->kernels->network3[w->log_size](to, rows, w->apart, w->length);
  else if (w->m->nx == 5 && w->m->ny == 5)
    w->kernels->network5[w->log_size](to, rows, w->apart, w->length);
  else if (w->size <= 2 && w->m->nx * w->m->ny > 1)
    slide_line(w, rows, to);
  else
    select_line(w, rows, to);
}

/* The lines of one channel, or of all interleaved channels, of a frame. */
static void filter_plane(const walk *w, const fc_view *in, const fc_lines *l, const fc_view *out, int64_t n,
                         int64_t c) {
  const void *rows[FC_MEDIAN_MOST];
  const int64_t ny = w->m->ny, reach = w->m->nx / 2;
  const size_t row = rounded_up((size_t)(w->loaded * w->size));
  for (int64_t y = -(ny - 1); y < l->rows; y++) { /* the row that enters the window of output row y */
    const char *from = fc_view_at(in, n, y + ny / 2, -reach, c);
    char *slot = w->ring + (size_t)((y + ny) % ny) * row, *to = fc_view_at(out, n, y < 0 ? 0 : y, 0, c);
    if (!w->direct_in) w->kernels->load[w->dtype](slot, from, l->in_step, w->loaded);
    if (y < 0) continue;
    for (int64_t j = 0; j < ny; j++)
      rows[j] = w->direct_in ? fc_view_at(in, n, y + j - ny / 2, -reach, c)
                             : (const void *)(w->ring + (size_t)((y + j + 1) % ny) * row);
    filter_line(w, rows, w->direct_out ? to : w->made);
    if (!w->direct_out) w->kernels->store[w->dtype](to, l->out_step, w->made, w->length);
  }
}

fc_status fc_median_cpu(const fc_median *m, const fc_view *in, const fc_view *out, void *scratch) {
  const fc_lines l = fc_lines_of(in, out, 1);
  const int64_t size = (int64_t)fc_dtype_size(in->dtype), apart = l.channels == 1 ? out->shape[FC_AXIS_C] : 1;
  const int same = in->dtype == FC_U8 || in->dtype == FC_U16; /* keys are the codes */
  if (in->dtype != out->dtype) return FC_UNSUPPORTED;
  if (fc_view_count(out) == 0) return FC_OK;
  walk w = {.m = m,
            .kernels = FC_ISA_PICK(fc_median_kernels, m->isa),
            .dtype = in->dtype,
            .log_size = size == 1   ? 0
                        : size == 2 ? 1
                        : size == 4 ? 2
                                    : 3,
            .size = size,
            .apart = apart,
            .length = l.length,
            .loaded = l.length + (m->nx - 1) * apart,
            .direct_in = same && l.in_step == size,
            .direct_out = same && l.out_step == size,
            .ring = scratch};
  w.made = w.ring + (size_t)m->ny * row_bytes(m, out);
  w.rest = w.made + row_bytes(m, out);
  for (int64_t n = 0; n < l.frames; n++)
    for (int64_t c = 0; c < l.channels; c++) filter_plane(&w, in, &l, out, n, c);
  return FC_OK;
}
