/* SPDX-License-Identifier: MIT */
/*
 * matrix.c - the reference, and three methods on the CPU.
 *
 *   mix     up to four interleaved channels: rows of pixels, converted whole
 *   along   the axis runs along memory, or is X: blocks are loaded one after another and
 *           a vector holds several outputs of one block
 *   across  anything else: a vector holds one output of several positions
 *
 * All three use a tile in scratch that fits the first- or second-level cache, and their sums are the same.
 */
#include <string.h>

#include "filters/base/blocks.h"
#include "filters/gemm/gemm_kernels.h"
#include "filters/base/integers.h"
#include "filters/matrix/matrix.h"
#include "filters/matrix/matrix_kernels.h"

/* Elements of a tile in scratch, in and out together: 128 KiB of f32. */
#define TILE_ELEMENTS (32 * 1024)
/* Maximum of positions, or blocks, in a tile: more would not be faster. */
#define TILE_LONGEST 1024
/* Columns that are summed at a time; the sums of such blocks are added, so that errors grow with 256 +
 * cols/256 roundings instead of cols. */
#define BLOCK FC_MATRIX_BLOCK
/* Elements of padding after a tile, since whole vectors are read. */
#define TILE_SLACK FC_TILE_MAX_COLS

/* ---- the matrix ------------------------------------------------------- */

/* The kernels for vectors along the rows: those with shorter vectors if one of these holds a whole block,
 * since half of a longer one would be unused. */
static const fc_gemm_kernels *kernels_along(const fc_matrix *m) {
  int isa = m->isa;
  int64_t lanes = m->compute == FC_F64 ? 4 : 8;
  if (isa == FC_ISA_AVX512 && m->rows <= lanes) isa = FC_ISA_AVX2;
  return fc_gemm_kernels_of(isa, m->compute);
}

void fc_matrix_init(fc_matrix *m, int compute, int isa, int axis, int64_t rows, int64_t cols) {
  *m = (fc_matrix){.compute = compute, .isa = isa, .axis = axis, .rows = rows, .cols = cols};
  m->pitch = fc_round_up(rows, kernels_along(m)->lanes);
}

size_t fc_matrix_bytes(const fc_matrix *m) {
  return (size_t)(m->cols * m->pitch) * fc_dtype_size(m->compute);
}

size_t fc_matrix_offset_bytes(const fc_matrix *m) {
  return (size_t)m->pitch * fc_dtype_size(m->compute);
}

static void set_element(void *to, int compute, int64_t at, double v) {
  if (compute == FC_F64)
    ((double *)to)[at] = v;
  else
    ((float *)to)[at] = (float)v;
}

static double element(const void *from, int compute, int64_t at) {
  return compute == FC_F64 ? ((const double *)from)[at] : (double)((const float *)from)[at];
}

void fc_matrix_fill(const fc_matrix *m, void *matrix, void *offset, const double *rows,
                    const double *offsets) {
  for (int64_t c = 0; c < m->cols; c++)
    for (int64_t r = 0; r < m->pitch; r++)
      set_element(matrix, m->compute, c * m->pitch + r, r < m->rows ? rows[r * m->cols + c] : 0);
  for (int64_t r = 0; offset && r < m->pitch; r++)
    set_element(offset, m->compute, r, r < m->rows ? offsets[r] : 0);
}

fc_status fc_matrix_check(const fc_matrix *m, const fc_view *in, const fc_view *out) {
  if (m->rows < 1 || m->cols < 1 || m->axis < 0 || m->axis >= FC_AXES) return FC_INVALID;
  if (out->shape[m->axis] % m->rows != 0) return FC_INVALID;
  for (int axis = 0; axis < FC_AXES; axis++)
    if (axis != m->axis && out->shape[axis] != in->shape[axis]) return FC_INVALID;
  return FC_OK;
}

/* ---- reference -------------------------------------------------------- */

static double reference_sum(const fc_matrix *m, const fc_view *in, const char *block, int64_t r) {
  double sum = m->offset ? element(m->offset, m->compute, r) : 0;
  for (int64_t c = 0; c < m->cols; c++) {
    double x;
    fc_load_f64(&x, block + c * in->stride[m->axis], 0, 1, in->kind, in->dtype);
    if (m->compute == FC_F32) x = (float)x;
    sum += element(m->matrix, m->compute, c * m->pitch + r) * x;
  }
  return sum;
}

fc_status fc_matrix_ref(const fc_matrix *m, const fc_view *in, const fc_view *out, uint32_t *notes) {
  fc_status status = fc_matrix_check(m, in, out);
  if (status != FC_OK) return status;
  fc_blocks w = fc_blocks_of(m->axis, m->rows, m->cols, in, out);
  for (int64_t line = 0; line < w.lines; line++)
    for (int64_t b = 0; b < w.each; b++)
      for (int64_t r = 0; r < m->rows; r++) {
        double sum = reference_sum(m, in, fc_line_at(&w, in, out, line) + b * w.in_block, r);
        char *to = fc_line_at(&w, out, out, line) + b * w.out_block + r * w.out_step;
        fc_store_f64(to, w.out_step, &sum, 1, out->kind, out->dtype, notes);
      }
  return FC_OK;
}

/* ---- the CPU: what the three ways share --------------------------------- */

typedef struct run {
  const fc_matrix *m;
  const fc_view *in, *out;
  uint32_t *notes;
  fc_blocks w;
  int64_t size; /* bytes of a computed element */
  char *x, *y;  /* the tile: input and output */
  char *block;  /* like y, for the sums over a block of columns after the first */
} run;

/* Maximum of positions (blocks) in a tile for this method. */
static int64_t tile_positions(int64_t elements_each) {
  int64_t fit = TILE_ELEMENTS / fc_larger(elements_each, 1);
  return fc_larger(fc_smaller(fit, TILE_LONGEST) / FC_TILE_MAX_COLS, 1) * FC_TILE_MAX_COLS;
}

static int64_t x_elements(const fc_matrix *m) {
  return m->cols * tile_positions(m->cols + m->pitch) + TILE_SLACK;
}

static int64_t y_elements(const fc_matrix *m) {
  return m->pitch * tile_positions(m->cols + m->pitch) + TILE_SLACK;
}

size_t fc_matrix_scratch(const fc_matrix *m) {
  int64_t elements = x_elements(m) + (m->cols > BLOCK ? 2 : 1) * y_elements(m);
  return (size_t)(elements * (int64_t)fc_dtype_size(m->compute));
}

static void load(const run *r, int64_t at, const char *from, int64_t stride, int64_t count) {
  fc_load(r->x + at * r->size, r->m->compute, from, stride, count, r->in->kind, r->in->dtype);
}

static void store(const run *r, int64_t at, char *to, int64_t stride, int64_t count) {
  fc_store(to, stride, r->y + at * r->size, r->m->compute, count, r->out->kind, r->out->dtype, r->notes);
}

/* Initial values of sums: y[i][0..pitch) = offset, i < count. */
static void start_along(const run *r, int64_t count) {
  for (int64_t i = 0; r->m->offset && i < count; i++)
    memcpy(r->y + i * r->m->pitch * r->size, r->m->offset, (size_t)(r->m->pitch * r->size));
}

/* y[i][0..width) = offset[i], i < rows. */
static void start_across(const run *r, int64_t width) {
  for (int64_t i = 0; r->m->offset && i < r->m->rows; i++)
    for (int64_t j = 0; j < width; j++)
      set_element(r->y, r->m->compute, i * width + j, element(r->m->offset, r->m->compute, i));
}

/* ---- mix: a few interleaved channels ------------------------------------- */

static int is_dense(const fc_view *v) {
  int64_t size = (int64_t)fc_dtype_size(v->dtype);
  return (v->stride[FC_AXIS_C] == size || v->shape[FC_AXIS_C] == 1) &&
         v->stride[FC_AXIS_X] == v->shape[FC_AXIS_C] * size;
}

static int can_mix(const run *r) {
  const fc_matrix *m = r->m;
  return m->axis == FC_AXIS_C && m->rows <= FC_MIX_MAX && m->cols <= FC_MIX_MAX && r->w.each == 1 &&
         r->in->shape[FC_AXIS_C] == m->cols && is_dense(r->in) && is_dense(r->out);
}

static void mix_pixels(const run *r, const char *from, char *to, int64_t count) {
  const fc_matrix *m = r->m;
  const fc_matrix_kernels *k = FC_ISA_PICK(fc_matrix_kernels, m->isa);
  static const double none[FC_MIX_MAX]; /* zeros of either type */
  const void *offset = m->offset ? m->offset : none;
  load(r, 0, from, (int64_t)fc_dtype_size(r->in->dtype), count * m->cols);
  if (m->compute == FC_F64)
    k->mix_f64[m->cols - 1][m->rows - 1]((double *)r->y, (const double *)r->x, m->matrix, m->pitch, offset,
                                         count);
  else
    k->mix_f32[m->cols - 1][m->rows - 1]((float *)r->y, (const float *)r->x, m->matrix, m->pitch, offset,
                                         count);
  store(r, 0, to, (int64_t)fc_dtype_size(r->out->dtype), count * m->rows);
}

static void mix(const run *r) {
  int64_t most = tile_positions(r->m->cols + r->m->pitch);
  for (int64_t n = 0; n < r->out->shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < r->out->shape[FC_AXIS_Y]; y++)
      for (int64_t x = 0; x < r->out->shape[FC_AXIS_X]; x += most)
        mix_pixels(r, fc_view_at(r->in, n, y, x, 0), fc_view_at(r->out, n, y, x, 0),
                   fc_smaller(most, r->out->shape[FC_AXIS_X] - x));
}

/* ---- along: vectors over the outputs of a block ---------------------------- */

/* Blocks [first, first+count), numbered through all lines: calls `move` for every run within one line. */
static void along_stretches(const run *r, int64_t first, int64_t count, int storing) {
  const fc_matrix *m = r->m;
  for (int64_t done = 0; done < count;) {
    int64_t line = (first + done) / r->w.each, block = (first + done) % r->w.each;
    int64_t stretch = fc_smaller(r->w.each - block, count - done);
    if (storing)
      store(r, done * m->rows, fc_line_at(&r->w, r->out, r->out, line) + block * r->w.out_block,
            r->w.out_step, stretch * m->rows);
    else
      load(r, done * m->cols, fc_line_at(&r->w, r->in, r->out, line) + block * r->w.in_block, r->w.in_step,
           stretch * m->cols);
    done += stretch;
  }
}

/* The columns from c on, of `count` blocks in the tile. */
static void along_block(const run *r, const fc_gemm_kernels *k, int64_t c, int64_t count) {
  const fc_matrix *m = r->m;
  char *to = c ? r->block : r->y;
  for (int64_t j = 0; j < m->pitch; j += k->cols)
    k->tile((int)count, (int)fc_smaller(k->cols, m->pitch - j), fc_smaller(BLOCK, m->cols - c),
            r->x + c * r->size, m->cols, 1, (const char *)m->matrix + (c * m->pitch + j) * r->size, m->pitch,
            to + j * r->size, m->pitch, c == 0 && m->offset != NULL);
  if (c) k->add(r->y, to, count * m->pitch);
}

static void along(const run *r) {
  const fc_matrix *m = r->m;
  const fc_gemm_kernels *k = kernels_along(m);
  int64_t total = r->w.lines * r->w.each, most = tile_positions(m->cols + m->pitch);
  for (int64_t first = 0; first < total; first += most) {
    int64_t count = fc_smaller(most, total - first);
    along_stretches(r, first, count, 0);
    start_along(r, count);
    for (int64_t c = 0; c < m->cols; c += BLOCK) along_block(r, k, c, count);
    for (int64_t i = 1; i < count && m->pitch != m->rows; i++)
      memmove(r->y + i * m->rows * r->size, r->y + i * m->pitch * r->size, (size_t)(m->rows * r->size));
    along_stretches(r, first, count, 1);
  }
}

/* ---- across: vectors over positions ----------------------------------------- */

/* The columns from c on, of `width` positions in the tile. */
static void across_block(const run *r, const fc_gemm_kernels *k, int64_t c, int64_t width) {
  const fc_matrix *m = r->m;
  char *to = c ? r->block : r->y;
  for (int64_t j = 0; j < width; j += k->cols)
    k->tile((int)m->rows, (int)fc_smaller(k->cols, width - j), fc_smaller(BLOCK, m->cols - c),
            (const char *)m->matrix + c * m->pitch * r->size, 1, m->pitch, r->x + (c * width + j) * r->size,
            width, to + j * r->size, width, c == 0 && m->offset != NULL);
  if (c) k->add(r->y, to, m->rows * width);
}

/* One block of `count` positions that lie in_next, out_next bytes apart. */
static void across_tile(const run *r, const char *from, int64_t in_next, char *to, int64_t out_next,
                        int64_t count) {
  const fc_matrix *m = r->m;
  const fc_gemm_kernels *k = fc_gemm_kernels_of(m->isa, m->compute);
  int64_t width = fc_round_up(count, k->lanes);
  for (int64_t c = 0; c < m->cols; c++) {
    load(r, c * width, from + c * r->w.in_step, in_next, count);
    memset(r->x + (c * width + count) * r->size, 0, (size_t)((width - count) * r->size));
  }
  start_across(r, width);
  for (int64_t c = 0; c < m->cols; c += BLOCK) across_block(r, k, c, width);
  for (int64_t i = 0; i < m->rows; i++) store(r, i * width, to + i * r->w.out_step, out_next, count);
}

/* A row of `length` positions, every block of it. */
static void across_row(const run *r, const char *from, int64_t in_next, char *to, int64_t out_next,
                       int64_t length) {
  const fc_matrix *m = r->m;
  int64_t most = tile_positions(m->cols + m->pitch);
  for (int64_t b = 0; b < r->w.each; b++)
    for (int64_t i = 0; i < length; i += most)
      across_tile(r, from + b * r->w.in_block + i * in_next, in_next, to + b * r->w.out_block + i * out_next,
                  out_next, fc_smaller(most, length - i));
}

static void across(const run *r) {
  const fc_view *in = r->in, *out = r->out;
  int a = r->m->axis == FC_AXIS_N ? FC_AXIS_Y : FC_AXIS_N;
  int b = r->m->axis == FC_AXIS_C ? FC_AXIS_Y : FC_AXIS_C;
  int one_run = b == FC_AXIS_C && fc_is_one_run(in) && fc_is_one_run(out);
  int along_row = one_run ? FC_AXIS_C : FC_AXIS_X;
  int64_t rows = one_run ? 1 : out->shape[b];
  int64_t length = out->shape[FC_AXIS_X] * (one_run ? out->shape[FC_AXIS_C] : 1);
  for (int64_t i = 0; i < out->shape[a]; i++)
    for (int64_t j = 0; j < rows; j++)
      across_row(r, (const char *)in->data + i * in->stride[a] + j * in->stride[b], in->stride[along_row],
                 (char *)out->data + i * out->stride[a] + j * out->stride[b], out->stride[along_row], length);
}

fc_status fc_matrix_cpu(const fc_matrix *m, const fc_view *in, const fc_view *out, void *scratch,
                        uint32_t *notes) {
  fc_status status = fc_matrix_check(m, in, out);
  if (status != FC_OK || fc_view_count(out) == 0) return status;
  run r = {m,
           in,
           out,
           notes,
           fc_blocks_of(m->axis, m->rows, m->cols, in, out),
           (int64_t)fc_dtype_size(m->compute),
           scratch,
           NULL};
  r.y = r.x + x_elements(m) * r.size;
  r.block = r.y + y_elements(m) * r.size;
  int dense = in->stride[m->axis] == (int64_t)fc_dtype_size(in->dtype);
  if (can_mix(&r))
    mix(&r);
  else if (m->axis == FC_AXIS_X || (m->axis == FC_AXIS_C && dense))
    along(&r);
  else
    across(&r);
  return FC_OK;
}
