/* SPDX-License-Identifier: MIT */
/*
 * test_matrix_plan.c - what matrix.cu decides before it launches anything, without a GPU: which kernel takes
 * which views; that the pieces of a large matrix cover the output once, and that every address that a
 * conversion, a product or its copies use lies in the scratch memory that was asked for, by doing the same on
 * the CPU between guard bands; that this memory grows with the shape.
 */
#include "filters/matrix/matrix_plan.h"
#include "filters/pointwise/pointwise.h"
#include "tests/filters/grid.h"

/* ---- which kernel ----------------------------------------------------------------- */

typedef struct row {
  int64_t rows, cols;
  int axis, in, out, compute, planar;
  fc_matrix_launch want;
} row;

/* The table of filters/README.md. */
static const row table[] = {
    {3, 3, FC_AXIS_C, FC_F32, FC_F32, FC_F32, 0, FC_MATRIX_PIXELS},
    {3, 3, FC_AXIS_C, FC_U8, FC_U8, FC_F32, 0, FC_MATRIX_BLOCKS_4}, /* composed, as those below */
    {1, 4, FC_AXIS_C, FC_F32, FC_F32, FC_F32, 0, FC_MATRIX_BLOCKS_4},
    {3, 3, FC_AXIS_C, FC_I16, FC_I16, FC_F32, 0, FC_MATRIX_BLOCKS_4},
    {3, 1, FC_AXIS_C, FC_U8, FC_U8, FC_F32, 0, FC_MATRIX_BLOCKS_4},
    {3, 3, FC_AXIS_C, FC_U8, FC_F32, FC_F32, 0, FC_MATRIX_BLOCKS_4},
    {3, 3, FC_AXIS_C, FC_F64, FC_F64, FC_F64, 0, FC_MATRIX_BLOCKS_4},
    {3, 3, FC_AXIS_C, FC_I32, FC_I32, FC_F32, 0, FC_MATRIX_BLOCKS_4},
    {3, 3, FC_AXIS_C, FC_U8, FC_U8, FC_F32, 1, FC_MATRIX_BLOCKS_4},
    {4, 4, FC_AXIS_X, FC_U8, FC_U8, FC_F32, 0, FC_MATRIX_BLOCKS_4},
    {5, 3, FC_AXIS_C, FC_U8, FC_U8, FC_F32, 0, FC_MATRIX_BLOCKS_8},
    {8, 8, FC_AXIS_X, FC_I16, FC_I16, FC_F32, 0, FC_MATRIX_BLOCKS_8},
    {2, 9, FC_AXIS_Y, FC_F32, FC_F32, FC_F32, 0, FC_MATRIX_BLOCKS_16},
    {16, 16, FC_AXIS_X, FC_F64, FC_F64, FC_F64, 0, FC_MATRIX_BLOCKS_16},
    {17, 3, FC_AXIS_X, FC_U8, FC_U8, FC_F32, 0, FC_MATRIX_PRODUCTS},
    {64, 64, FC_AXIS_X, FC_I16, FC_F32, FC_F32, 0, FC_MATRIX_PRODUCTS},
    {512, 512, FC_AXIS_Y, FC_F64, FC_F64, FC_F64, 0, FC_MATRIX_PRODUCTS},
};

static fc_view dense_view(int kind, int dtype, const int64_t shape[FC_AXES], int order) {
  grid g = {.view = {sizeof g.view, dtype, kind, FC_HOST}};
  int64_t step = (int64_t)fc_dtype_size(dtype);
  for (int i = FC_AXES - 1; i >= 0; i--) {
    const int a = grid_orders[order][i];
    g.view.shape[a] = g.view.extent[a] = shape[a], g.view.stride[a] = step;
    step *= shape[a];
  }
  g.view.data = (void *)(uintptr_t)65536;
  return g.view;
}

static void check_choices(void) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    const row *r = &table[i];
    fc_matrix m;
    fc_matrix_init(&m, r->compute, fc_isa_best(), r->axis, r->rows, r->cols);
    int64_t shape[FC_AXES] = {1, 512, 512, 3};
    shape[r->axis] = r->cols * (r->axis == FC_AXIS_C ? 1 : 8);
    const fc_view in = dense_view(FC_IMAGE, r->in, shape, r->planar);
    shape[r->axis] = r->rows * (r->axis == FC_AXIS_C ? 1 : 8);
    const fc_view out = dense_view(FC_IMAGE, r->out, shape, r->planar);
    const fc_matrix_choice c = fc_matrix_choose(&m, &in, &out, FC_MATRIX_PIXELS);
    CHECK(c.launch == r->want, "row %d: %d, not %d", (int)i, (int)c.launch, (int)r->want);
    CHECK(c.us > 0 && c.us < 1e4, "row %d: %g us", (int)i, c.us);
    const int products = c.launch == FC_MATRIX_PRODUCTS;
    CHECK((fc_matrix_device_scratch(&m, &out) > 0) == products, "row %d: scratch", (int)i);
    const int quick = fc_matrix_is_quick(r->compute, r->rows, r->cols, r->in, r->out);
    CHECK(r->axis != FC_AXIS_C || r->in != r->out || r->compute != FC_F32 || r->planar ||
              quick == (c.launch != FC_MATRIX_BLOCKS_4),
          "row %d: %d, %s", (int)i, (int)c.launch, quick ? "not composed" : "composed");
  }
}

/* ---- products, done on the CPU ------------------------------------------------------- */

/* The lowest address of a view and the one behind its highest. */
static void span(const fc_view *v, const char **first, const char **last) {
  *first = *last = v->data;
  for (int a = 0; a < FC_AXES; a++) {
    const int64_t far = (v->shape[a] - 1) * v->stride[a];
    *(far < 0 ? first : last) += far;
  }
  *last += fc_dtype_size(v->dtype);
}

static int lies_in(const fc_view *v, const char *first, const char *last) {
  const char *from, *to;
  span(v, &from, &to);
  return first <= from && to <= last;
}

static void convert(const fc_matrix *m, const fc_view *from, const fc_view *to) {
  fc_pointwise p = {.form = FC_POINTWISE_COPY, .compute = m->compute};
  CHECK(fc_pointwise_ref(&p, from, to, NULL) == FC_OK, "conversion");
}

/* As padded.cu. */
static void copy_lines(const fc_gemm_lines *l, int type, char *work, size_t room) {
  const size_t size = fc_dtype_size(type);
  CHECK(l->at + l->bytes <= room, "a copy of %zu bytes at %zu of %zu", l->bytes, l->at, room);
  for (int64_t i = 0; i < l->count; i++)
    for (int64_t e = 0; e < l->length; e++)
      memcpy(work + l->at + (size_t)(i * l->pitch_to + e) * size,
             (const char *)l->from + (i * l->pitch + e * l->step) * (int64_t)size, size);
}

static void multiply(const fc_matrix *m, fc_gemm g, char *work, size_t room) {
  const fc_gemm by_rows = fc_gemm_by_rows(&g);
  CHECK(by_rows.a_col != 1 || by_rows.b_row != 1, "both operands are adjacent along k: no fast kernel");
  if (m->split && g.k > 0) {
    const fc_gemm_parts parts = fc_gemm_parts_of(&by_rows);
    CHECK(parts.bytes <= fc_gemm_split_scratch(&g), "more parts than asked for");
    CHECK(parts.bytes <= room, "parts of %zu bytes in %zu", parts.bytes, room);
    memset(work, 0, parts.bytes);
  }
  const fc_gemm_padding p = fc_gemm_padding_of(&g);
  copy_lines(&p.a, g.type, work, room), copy_lines(&p.b, g.type, work, room);
  if (p.a.count)
    g.a = work + p.a.at, g.a_row = p.a.by_k ? p.a.pitch_to : 1, g.a_col = p.a.by_k ? 1 : p.a.pitch_to;
  if (p.b.count)
    g.b = work + p.b.at, g.b_col = p.b.by_k ? p.b.pitch_to : 1, g.b_row = p.b.by_k ? 1 : p.b.pitch_to;
  CHECK(p.a.bytes + p.b.bytes == fc_gemm_padded_scratch(&by_rows) || by_rows.m != g.m, "one layout");
  CHECK(fc_gemm_ref(&g) == FC_OK, "product");
}

/* As matrix.cu. */
static void run(const fc_matrix *m, const fc_view *in, const fc_view *out, int64_t piece,
                const guarded *scratch) {
  const fc_matrix_pieces p = fc_matrix_pieces_of(m, in, out, piece);
  char *memory = scratch->data;
  const size_t room = p.layout.bytes - p.layout.work;
  for (int64_t i = 0; i < p.count; i++) {
    const fc_matrix_piece part = fc_matrix_piece_of(m, &p, i, in, out, memory);
    if (part.converts_in) {
      CHECK(lies_in(&part.from, memory, memory + p.layout.to), "input beyond its scratch memory");
      convert(m, &part.in, &part.from);
    }
    if (part.converts_out)
      CHECK(lies_in(&part.to, memory + p.layout.to, memory + p.layout.work),
            "result beyond its scratch memory");
    const fc_matrix_products products = fc_matrix_products_of(m, &part.from, &part.to);
    for (int64_t k = 0; k < products.count; k++)
      multiply(m, fc_matrix_product_at(&products, k), memory + p.layout.work, room);
    if (part.converts_out) convert(m, &part.to, &part.out);
  }
}

static void compare(const grid *got, const grid *want, const char *name) {
  const double unit = fc_scaling_of(got->view.kind, got->view.dtype).scale;
  double largest = 0;
  GRID_EACH(want, n, y, x, c) largest = fmax(largest, fabs(grid_value(want, n, y, x, c)));
  GRID_EACH(got, n, y, x, c) {
    const double a = grid_value(got, n, y, x, c), b = grid_value(want, n, y, x, c);
    const double slack = fc_dtype_is_float(got->view.dtype) ? 1e-6 * largest : fmax(unit, 1e-6 * largest);
    CHECK(fabs(a - b) <= slack, "%s at %" PRId64 ",%" PRId64 ",%" PRId64 ": %g, not %g", name, y, x, c, a, b);
  }
  CHECK(grid_intact(got), "%s: wrote beyond the output", name);
}

static void check_case(int64_t rows, int64_t cols) {
  const int in_dtype = (int)random_int(FC_U8, FC_F64), out_dtype = (int)random_int(FC_U8, FC_F64);
  const int compute = (int)random_int(FC_F32, FC_F64), axis = (int)random_int(FC_AXIS_Y, FC_AXIS_C);
  const int kind = (int)random_int(0, 2), order = (int)random_int(0, GRID_ORDERS - 1);
  int64_t shape[] = {random_int(1, 3), random_int(1, 5), random_int(1, 40), random_int(1, 4)};
  const int64_t blocks = axis == FC_AXIS_C ? 1 : random_int(1, 7),
                piece = random_int(0, 1) ? 1 << 20 : random_int(1, 3000);
  if (rows >= 128) shape[axis == FC_AXIS_X ? FC_AXIS_Y : FC_AXIS_X] = random_int(100, 300);
  double *all = malloc((size_t)(rows * cols + rows) * sizeof *all);
  for (int64_t i = 0; i < rows * cols + rows; i++) all[i] = random_real();
  fc_matrix m;
  fc_matrix_init(&m, compute, fc_isa_best(), axis, rows, cols);
  guarded matrix = guarded_new(fc_matrix_bytes(&m)), offset = guarded_new(fc_matrix_offset_bytes(&m));
  fc_matrix_fill(&m, matrix.data, offset.data, all, all + rows * cols);
  m.matrix = matrix.data, m.offset = random_int(0, 1) ? offset.data : NULL;
  m.split = compute == FC_F32 && random_int(0, 1);

  shape[axis] = blocks * cols;
  grid in = grid_new(in_dtype, kind, shape, order, random_int(0, 4) == 0);
  grid_randomise(&in);
  shape[axis] = blocks * rows;
  const int out_order = random_int(0, 1) ? order : (int)random_int(0, GRID_ORDERS - 1);
  grid want = grid_new(out_dtype, kind, shape, out_order, 0),
       got = grid_new(out_dtype, kind, shape, out_order, 0);
  char name[160];
  snprintf(name, sizeof name, "%s to %s by %s, %d x %d along %d, %d blocks, orders %d and %d, pieces of %d",
           fc_dtype_name(in_dtype), fc_dtype_name(out_dtype), fc_dtype_name(compute), (int)rows, (int)cols,
           axis, (int)blocks, order, out_order, (int)piece);
  CHECK(fc_matrix_ref(&m, &in.view, &want.view, NULL) == FC_OK, "reference");
  guarded scratch = guarded_new(fc_matrix_layout_of(&m, &got.view, piece).bytes);
  run(&m, &in.view, &got.view, piece, &scratch);
  CHECK(guarded_intact(&scratch), "%s: wrote beyond the scratch memory", name);
  compare(&got, &want, name);
  guarded_free(&scratch), guarded_free(&matrix), guarded_free(&offset);
  grid_free(&in), grid_free(&want), grid_free(&got), free(all);
}

/* ---- sizes alone ---------------------------------------------------------------------- */

/* Of any size, as nothing is computed. */
static void check_sizes(void) {
  const int compute = (int)random_int(FC_F32, FC_F64), axis = (int)random_int(FC_AXIS_Y, FC_AXIS_C);
  const int64_t rows = random_int(1, 3000), cols = random_int(17, 3000),
                blocks = axis == FC_AXIS_C ? 1 : random_int(1, 200);
  fc_matrix m;
  fc_matrix_init(&m, compute, fc_isa_best(), axis, rows, cols);
  m.matrix = (void *)(uintptr_t)4096, m.split = compute == FC_F32 && random_int(0, 1);
  int64_t shape[] = {random_int(1, 3), random_int(1, 900), random_int(1, 3000), random_int(1, 4)};
  const int order = (int)random_int(0, GRID_ORDERS - 1);
  shape[axis] = blocks * cols;
  const fc_view in = dense_view(FC_AUDIO, (int)random_int(FC_U8, FC_F64), shape, order);
  shape[axis] = blocks * rows;
  fc_view out = dense_view(FC_AUDIO, (int)random_int(FC_U8, FC_F64), shape, order);
  const size_t bytes = fc_matrix_device_scratch(&m, &out);
  const fc_matrix_pieces p = fc_matrix_pieces_of(&m, &in, &out, FC_MATRIX_PIECE);
  char *scratch = (char *)(uintptr_t)(INT64_C(1) << 44);
  for (int trial = 0; trial < 4; trial++) {
    const int64_t i = trial == 0 ? 0 : random_int(0, p.count - 1);
    const fc_matrix_piece part = fc_matrix_piece_of(&m, &p, i, &in, &out, scratch);
    CHECK(!part.converts_in || lies_in(&part.from, scratch, scratch + p.layout.to), "input");
    CHECK(!part.converts_out || lies_in(&part.to, scratch + p.layout.to, scratch + p.layout.work), "result");
    const fc_matrix_products products = fc_matrix_products_of(&m, &part.from, &part.to);
    const fc_gemm g = fc_matrix_product_at(&products, random_int(0, products.count - 1)),
                  by_rows = fc_gemm_by_rows(&g);
    CHECK(p.layout.work + fc_gemm_padded_scratch(&g) <= bytes, "copies");
    CHECK(!m.split || p.layout.work + fc_gemm_parts_of(&by_rows).bytes <= bytes, "parts");
  }
  for (int a = 0; a < FC_AXES; a++) {
    fc_view larger = out;
    larger.shape[a] += random_int(1, 3) * (a == axis ? rows : 1);
    CHECK(fc_matrix_device_scratch(&m, &larger) >= bytes, "less for more");
  }
}

int main(void) {
  random_start(11);
  check_choices();
  for (int trial = 0; trial < 100; trial++)
    if (!trial_skipped()) check_case(random_int(1, 40), random_int(17, 40));
  for (int trial = 0; trial < 4; trial++)
    if (!trial_skipped()) check_case(random_int(128, 150), random_int(128, 140));
  for (int trial = 0; trial < 3000; trial++) check_sizes();
  return check_result();
}
