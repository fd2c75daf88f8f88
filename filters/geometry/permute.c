/* SPDX-License-Identifier: MIT */
/*
 * permute.c - copies with axes exchanged: whole pixels if channels are adjacent in both views, in tiles of
 * rows and columns; pixels of three adjacent elements to or from three planes by rows; else channel by
 * channel, likewise.
 */
#include "filters/geometry/permute.h"
#include "filters/base/lines.h"

#include <string.h>

#include "filters/base/integers.h"
#include "filters/geometry/permute_kernels.h"

#define TILE 64

fc_status fc_permute_ref(const fc_permute *p, const fc_view *in, const fc_view *out) {
  const size_t size = fc_dtype_size(out->dtype);
  int64_t at[FC_AXES] = {0};
  for (int64_t left = fc_view_count(out); left > 0; left--, fc_advance(out, at)) {
    int64_t from[FC_AXES];
    for (int a = 0; a < FC_AXES; a++) {
      const int64_t to = at[a] + (fc_permute_moves(p, a) ? out->origin[a] : 0);
      from[p->axis[a]] = p->reversed[a] ? in->shape[p->axis[a]] - 1 - to : to;
    }
    memcpy(fc_view_at(out, at[0], at[1], at[2], at[3]), fc_view_at(in, from[0], from[1], from[2], from[3]),
           size);
  }
  return FC_OK;
}

/* `count` things of `bytes` bytes; `bytes` is a constant where this is inlined with one. */
static inline void copy_things(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t count,
                               int64_t bytes) {
  for (int64_t i = 0; i < count; i++) memcpy(to + i * to_step, from + i * from_step, (size_t)bytes);
}

/* Reverses pixels of 3 bytes: each copy includes a byte of the neighbouring pixel, which the next copy
 * overwrites. */
static void reverse_threes(char *to, const char *from, int64_t count) {
  if (count > 0) memcpy(to, from, 3);
  for (int64_t i = 1; i < count - 1; i++) memcpy(to + 3 * i, from - 3 * i, 4);
  if (count > 1) memcpy(to + 3 * (count - 1), from - 3 * (count - 1), 3);
}

static void copy_line(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t count,
                      int64_t bytes) {
  if (to_step == bytes && from_step == bytes) {
    memcpy(to, from, (size_t)(count * bytes));
    return;
  }
  switch (bytes) {
  case 1: copy_things(to, to_step, from, from_step, count, 1); break;
  case 2: copy_things(to, to_step, from, from_step, count, 2); break;
  case 3:
    if (to_step == 3 && from_step == -3)
      reverse_threes(to, from, count);
    else
      copy_things(to, to_step, from, from_step, count, 3);
    break;
  case 4: copy_things(to, to_step, from, from_step, count, 4); break;
  case 6: copy_things(to, to_step, from, from_step, count, 6); break;
  case 8: copy_things(to, to_step, from, from_step, count, 8); break;
  case 12: copy_things(to, to_step, from, from_step, count, 12); break;
  case 16: copy_things(to, to_step, from, from_step, count, 16); break;
  default: copy_things(to, to_step, from, from_step, count, bytes); break;
  }
}

typedef struct plane {
  int64_t count, to_step, from_step;
} plane;

static int64_t size_of(int64_t step) {
  return step < 0 ? -step : step;
}

/* Loops over two axes; the inner one is the one with the smaller steps. In tiles if the input prefers the
 * other. */
static void copy_plane(char *to, const char *from, plane a, plane b, int64_t bytes) {
  if (size_of(a.to_step) < size_of(b.to_step)) {
    const plane swap = a;
    a = b, b = swap;
  }
  const int crossed = size_of(a.from_step) < size_of(b.from_step);
  const int64_t rows = crossed ? TILE : 1, columns = crossed ? TILE : fc_larger(b.count, 1);
  const int threes = crossed && bytes == 3 && b.to_step == 3 && size_of(a.from_step) == 3 && a.count > 1;
  for (int64_t i = 0; i < a.count; i += rows)
    for (int64_t j = 0; j < b.count; j += columns) {
      const int64_t height = fc_smaller(rows, a.count - i), width = fc_smaller(columns, b.count - j);
      char *tile = to + i * a.to_step + j * b.to_step;
      const char *seen = from + i * a.from_step + j * b.from_step;
      if (threes)
        FC_ISA_PICK(fc_permute_kernels, fc_isa_best())
            ->turn_threes(tile, a.to_step, seen, a.from_step, b.from_step, height, width);
      else
        for (int64_t k = 0; k < height; k++)
          copy_line(tile + k * a.to_step, b.to_step, seen + k * a.from_step, b.from_step, width, bytes);
    }
}

/* Whether the three things of `c` lie side by side on one side, and along `along` on the other. TRUE: done.
 */
static int copy_threes(char *to, const char *from, plane c, plane rows, plane along, int64_t size) {
  const fc_permute_kernels *k = FC_ISA_PICK(fc_permute_kernels, fc_isa_best());
  const int kind = size == 1 ? 0 : size == 2 ? 1 : 2;
  const int splits = c.from_step == size && along.from_step == 3 * size && along.to_step == size,
            joins = c.to_step == size && along.to_step == 3 * size && along.from_step == size;
  const int64_t places = (int64_t)(uintptr_t)to | (int64_t)(uintptr_t)from | c.to_step | c.from_step |
                         rows.to_step | rows.from_step;
  if (c.count != 3 || size > 4 || places % size || !(splits || joins)) return 0;
  for (int64_t i = 0; i < rows.count; i++, to += rows.to_step, from += rows.from_step) {
    if (splits)
      k->split[kind](to, c.to_step, from, along.count);
    else
      k->join[kind](to, from, c.from_step, along.count);
  }
  return 1;
}

static plane plane_of(const fc_view *out, const fc_view *seen, int axis) {
  return (plane){out->shape[axis], out->stride[axis], seen->stride[axis]};
}

fc_status fc_permute_cpu(const fc_permute *p, const fc_view *in, const fc_view *out) {
  const fc_view seen = fc_permute_view(p, in, out);
  const int64_t size = (int64_t)fc_dtype_size(out->dtype);
  if (fc_view_count(out) == 0) return FC_OK;
  const int whole = out->stride[FC_AXIS_C] == size && seen.stride[FC_AXIS_C] == size;
  plane y = plane_of(out, &seen, FC_AXIS_Y), x = plane_of(out, &seen, FC_AXIS_X),
        c = plane_of(out, &seen, FC_AXIS_C);
  int64_t bytes = size;
  if (whole) bytes *= c.count, c = (plane){1, 0, 0};
  /* The shortest axis becomes the outer loop. */
  plane outer = c;
  if (!whole && y.count <= x.count && y.count <= c.count)
    outer = y, y = c;
  else if (!whole && x.count < c.count)
    outer = x, x = c;
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++) {
    char *to = fc_view_at(out, n, 0, 0, 0);
    const char *from = fc_view_at(&seen, n, 0, 0, 0);
    if (copy_threes(to, from, outer, y, x, bytes) || copy_threes(to, from, outer, x, y, bytes)) continue;
    for (int64_t o = 0; o < outer.count; o++)
      copy_plane(to + o * outer.to_step, from + o * outer.from_step, y, x, bytes);
  }
  return FC_OK;
}
