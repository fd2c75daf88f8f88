/* SPDX-License-Identifier: MIT */
/*
 * test_dft.c - transforms of blocks and back: against NumPy (goldens), the references, each
 * other (there and back, energy), and themselves cut anywhere, bit for bit.
 */
#include "filters/fourier/dft.h"
#include "tests/filters/golden.h"
#include "tests/filters/grid.h"
#include "tests/filters/quad.h"

static const char *goldens;

/* ---- transforms as the tests hold them ------------------------------------------ */

typedef struct setup {
  fc_dft d;
  guarded real, complex;
} setup;

static setup setup_new(int compute, int isa, int64_t nx, int64_t ny, int half) {
  setup t = {.d = {.compute = compute, .isa = isa, .nx = nx, .ny = ny, .half = half, .scale = 1}};
  int64_t n = nx ? nx : ny;
  t.real = guarded_new(fc_rfft_bytes(n, compute));
  fc_rfft_init(t.real.data, n, compute, isa);
  t.d.real = t.real.data;
  if (nx && ny) {
    t.complex = guarded_new(fc_fft_bytes(ny, compute));
    fc_fft_init(t.complex.data, ny, compute, isa);
    t.d.complex = t.complex.data;
  }
  t.d.components = 2;
  t.d.component[0] = FC_RE, t.d.component[1] = FC_IM;
  return t;
}

static void setup_free(setup *t) {
  guarded_free(&t->real);
  if (t->d.complex) guarded_free(&t->complex);
}

/* Runs one of the four functions with as much scratch as it asks for. */
static void run(const fc_dft *d, const fc_view *in, const fc_view *out,
                size_t (*bytes)(const fc_dft *, const fc_view *),
                fc_status (*process)(const fc_dft *, const fc_view *, const fc_view *, void *, uint32_t *)) {
  guarded scratch = guarded_new(bytes(d, out));
  CHECK(process(d, in, out, scratch.data, NULL) == FC_OK, "blocks of %" PRId64 " x %" PRId64, d->nx, d->ny);
  CHECK(guarded_intact(&scratch), "wrote beyond its scratch");
  guarded_free(&scratch);
}

static int64_t whole(int64_t n) {
  return n ? n : 1;
}

/* Room for the values, or for the bins, of so many blocks. */
static grid values_new(const fc_dft *d, int dtype, const int64_t blocks[FC_AXES], int order) {
  int64_t shape[FC_AXES] = {blocks[0], blocks[1] * whole(d->ny), blocks[2] * whole(d->nx), blocks[3]};
  return grid_new(dtype, FC_IMAGE, shape, order, (int)random_int(0, 1));
}
static grid bins_new(const fc_dft *d, int dtype, const int64_t blocks[FC_AXES], int64_t channels, int order) {
  int64_t shape[FC_AXES] = {blocks[0], blocks[1] * fc_dft_bins_y(d), blocks[2] * fc_dft_bins_x(d), channels};
  return grid_new(dtype, FC_IMAGE, shape, order, (int)random_int(0, 1));
}

/* ---- goldens ---------------------------------------------------------------------- */

static golden read_part(const char *name, const char *part) {
  char full[100];
  snprintf(full, sizeof full, "%s-%s", name, part);
  return golden_read(goldens, full);
}

/* |channel c of g - want| / |want| */
static double distance(const grid *g, int64_t c, const golden *want) {
  double off = 0, size = 0;
  int64_t width = g->view.shape[FC_AXIS_X];
  CHECK(want->count == width * g->view.shape[FC_AXIS_Y], "a golden of %" PRId64, want->count);
  for (int64_t i = 0; i < want->count; i++) {
    double v = want->values[i];
    off += pow(grid_value(g, 0, i / width, i % width, c) - v, 2), size += v * v;
  }
  return size > 0 ? sqrt(off / size) : sqrt(off);
}

static void fill(grid *g, int64_t c, const golden *from) {
  int64_t width = g->view.shape[FC_AXIS_X];
  for (int64_t i = 0; i < from->count; i++)
    element_set(fc_view_at(&g->view, 0, i / width, i % width, c), g->view.dtype, from->values[i]);
}

/* The bins that make_transforms.py turns back: those of x, turned and shifted. */
static void skew(grid *g, const golden *re, const golden *im) {
  int64_t width = g->view.shape[FC_AXIS_X];
  for (int64_t i = 0; i < re->count; i++) {
    double a = re->values[i], b = im->values[i];
    element_set(fc_view_at(&g->view, 0, i / width, i % width, 0), FC_F64, 0.25 * a - b + 0.5);
    element_set(fc_view_at(&g->view, 0, i / width, i % width, 1), FC_F64, 0.25 * b + a);
  }
}

static void check_golden(int64_t width, int64_t height, int64_t rows, int64_t columns, const char *axis,
                         int half) {
  char size[60], name[80];
  snprintf(size, sizeof size, "dft-%dx%d", (int)width, (int)height);
  snprintf(name, sizeof name, "%s-%s-%s", size, axis, half ? "half" : "full");
  golden x = read_part(size, "x"), re = read_part(name, "re"), im = read_part(name, "im"),
         back = read_part(name, "back");
  int along_x = strchr(axis, 'x') != NULL, along_y = strchr(axis, 'y') != NULL;
  int64_t blocks[FC_AXES] = {1, along_y ? rows : rows * height, along_x ? columns : columns * width, 1};
  for (int compute = FC_F32; compute <= FC_F64; compute++) {
    double most = compute == FC_F32 ? 1e-6 : 1e-14;
    setup t = setup_new(compute, fc_isa_best(), along_x ? width : 0, along_y ? height : 0, half);
    grid values = values_new(&t.d, FC_F64, blocks, 0), bins = bins_new(&t.d, FC_F64, blocks, 2, 0);
    fill(&values, 0, &x);
    run(&t.d, &values.view, &bins.view, fc_dft_scratch, fc_dft_cpu);
    /* The imaginary parts of short blocks are few: both parts together. */
    double off = hypot(distance(&bins, 0, &re), distance(&bins, 1, &im));
    CHECK(off <= most, "%s in %s: off by %g", name, fc_dtype_name(compute), off);
    skew(&bins, &re, &im);
    run(&t.d, &bins.view, &values.view, fc_idft_scratch, fc_idft_cpu);
    off = distance(&values, 0, &back);
    CHECK(off <= most, "%s back in %s: off by %g", name, fc_dtype_name(compute), off);
    run(&t.d, &bins.view, &values.view, fc_idft_ref_scratch, fc_idft_ref);
    off = distance(&values, 0, &back);
    CHECK(off <= most, "%s back, the reference in %s: off by %g", name, fc_dtype_name(compute), off);
    grid_free(&values), grid_free(&bins);
    setup_free(&t);
  }
  golden_free(&x), golden_free(&re), golden_free(&im), golden_free(&back);
}

/* ---- against the references ---------------------------------------------------------- */

/* Blocks of random lengths: none, one or both axes. */
static setup random_setup(int compute, int isa) {
  int64_t nx = random_int(1, 70), ny = random_int(1, 45);
  int which = (int)random_int(0, 2);
  setup t = setup_new(compute, isa, which == 1 ? 0 : nx, which == 0 ? 0 : ny, (int)random_int(0, 1));
  t.d.scale = random_int(0, 1) ? 1 : 0.37;
  return t;
}

static void random_blocks(const fc_dft *d, int64_t blocks[FC_AXES]) {
  blocks[0] = random_int(1, 2), blocks[3] = random_int(1, 3);
  blocks[1] = d->ny ? random_int(0, 3) : random_int(1, 9);
  blocks[2] = d->nx ? random_int(0, 9) : random_int(1, 70);
}

static double size_of(const grid *g) {
  double largest = 0;
  GRID_EACH(g, n, y, x, c) largest = fmax(largest, fabs(grid_value(g, n, y, x, c)));
  return largest;
}

static void check_near(const grid *got, const grid *want, double slack, const char *what, const fc_dft *d) {
  GRID_EACH(got, n, y, x, c) {
    double a = grid_value(want, n, y, x, c), b = grid_value(got, n, y, x, c);
    CHECK(fabs(a - b) <= slack,
          "%s %s %s, blocks of %" PRId64 " x %" PRId64 " at %" PRId64 ",%" PRId64
          ": %.9g, not %.9g (%g allowed)",
          what, fc_isa_name((fc_isa)d->isa), fc_dtype_name(d->compute), d->nx, d->ny, x, y, b, a, slack);
  }
  CHECK(grid_intact(got), "%s wrote beyond", what);
}

static void check_forward(int dtype, int compute, int isa, int component) {
  setup t = random_setup(compute, isa);
  int64_t blocks[FC_AXES];
  random_blocks(&t.d, blocks);
  t.d.components = 1 + (int)random_int(0, 1);
  t.d.component[0] = t.d.component[1] = component;
  grid x = values_new(&t.d, dtype, blocks, (int)random_int(0, GRID_ORDERS - 1));
  int64_t channels = blocks[3] * t.d.components;
  grid got = bins_new(&t.d, compute, blocks, channels, (int)random_int(0, GRID_ORDERS - 1)),
       want = bins_new(&t.d, FC_F64, blocks, channels, 0);
  grid_randomise(&x);
  run(&t.d, &x.view, &want.view, fc_dft_ref_scratch, fc_dft_ref);
  run(&t.d, &x.view, &got.view, fc_dft_scratch, fc_dft_cpu);
  /* Levels do not grow with the values, but one that is small is off by more than a large one. */
  double eps = compute == FC_F32 ? 0x1p-23 : 0x1p-52, most = size_of(&want);
  if (component == FC_DB) {
    GRID_EACH(&want, n, y, i, c) {
      double *v = fc_view_at(&want.view, n, y, i, c), *g = &(double){grid_value(&got, n, y, i, c)};
      if (*v < most - 50) *v = *g; /* lost in the noise of the others */
    }
    most = 1e5;
  }
  check_near(&got, &want, 64 * eps * most, "dft", &t.d);
  grid_free(&x), grid_free(&got), grid_free(&want);
  setup_free(&t);
}

static void check_back(int dtype, int compute, int isa) {
  setup t = random_setup(compute, isa);
  int64_t blocks[FC_AXES];
  random_blocks(&t.d, blocks);
  grid bins = bins_new(&t.d, dtype, blocks, 2 * blocks[3], (int)random_int(0, GRID_ORDERS - 1));
  grid got = values_new(&t.d, compute, blocks, (int)random_int(0, GRID_ORDERS - 1)),
       want = values_new(&t.d, FC_F64, blocks, 0);
  grid_randomise(&bins);
  run(&t.d, &bins.view, &want.view, fc_idft_ref_scratch, fc_idft_ref);
  run(&t.d, &bins.view, &got.view, fc_idft_scratch, fc_idft_cpu);
  check_near(&got, &want, 64 * (compute == FC_F32 ? 0x1p-23 : 0x1p-52) * size_of(&want), "idft", &t.d);
  grid_free(&bins), grid_free(&got), grid_free(&want);
  setup_free(&t);
}

/* ---- properties ------------------------------------------------------------------------- */

/* Energy of the values, and of the bins: those that a half leaves out are counted too. */
static void check_energy(const fc_dft *d, const grid *x, const grid *bins) {
  quad in = 0, out = 0; /* of the tests' own sums nothing must be lost */
  int along_x = d->nx > 0;
  int64_t n = along_x ? d->nx : d->ny, count = along_x ? fc_dft_bins_x(d) : fc_dft_bins_y(d);
  GRID_EACH(x, i, y, s, c) in += quad_square(grid_value(x, i, y, s, c));
  GRID_EACH(bins, i, y, s, c) {
    int64_t k = (along_x ? s : y) % count;
    int weight = !d->half || k == 0 || 2 * k == n ? 1 : 2;
    out += weight * quad_square(grid_value(bins, i, y, s, c));
  }
  out /= (quad)(whole(d->nx) * whole(d->ny));
  CHECK(quad_abs(in - out) <= (d->compute == FC_F32 ? 2e-6 : 1e-14) * in,
        "blocks of %" PRId64 " x %" PRId64 ": energy %g became %g", d->nx, d->ny, (double)in, (double)out);
}

static void check_there_and_back(int compute, int isa) {
  setup t = random_setup(compute, isa);
  int64_t blocks[FC_AXES];
  t.d.scale = 1;
  random_blocks(&t.d, blocks);
  int order = (int)random_int(0, GRID_ORDERS - 1);
  grid x = values_new(&t.d, compute, blocks, order), y = values_new(&t.d, compute, blocks, order);
  grid bins = bins_new(&t.d, compute, blocks, 2 * blocks[3], order);
  GRID_EACH(&x, n, i, s, c)
  element_set(fc_view_at(&x.view, n, i, s, c), compute, random_real());
  run(&t.d, &x.view, &bins.view, fc_dft_scratch, fc_dft_cpu);
  check_energy(&t.d, &x, &bins);
  run(&t.d, &bins.view, &y.view, fc_idft_scratch, fc_idft_cpu);
  check_near(&y, &x, 40 * (compute == FC_F32 ? 0x1p-24 : 0x1p-53), "there and back", &t.d);
  grid_free(&x), grid_free(&y), grid_free(&bins);
  setup_free(&t);
}

/* A NaN or infinity is all of its block's, and of no other's; on the way back too. */
static void check_nan(int compute, int which) {
  static const int64_t sizes[][2] = {{8, 0}, {37, 0}, {0, 6}, {0, 41}, {6, 4}, {5, 37}};
  setup t = setup_new(compute, fc_isa_best(), sizes[which][0], sizes[which][1], (int)random_int(0, 1));
  int64_t blocks[FC_AXES] = {1, 2, 3, 1};
  grid x = values_new(&t.d, compute, blocks, 0), bins = bins_new(&t.d, compute, blocks, 2, 0);
  int64_t wide = fc_dft_bins_x(&t.d), high = fc_dft_bins_y(&t.d);
  grid_randomise(&x);
  element_set(fc_view_at(&x.view, 0, 2 * whole(t.d.ny) - 1, whole(t.d.nx), 0), compute,
              random_int(0, 1) ? NAN : INFINITY);
  run(&t.d, &x.view, &bins.view, fc_dft_scratch, fc_dft_cpu);
  GRID_EACH(&bins, n, y, i, c)
  CHECK((isnan(grid_value(&bins, n, y, i, c)) != 0) == (i / wide == 1 && y / high == 1),
        "blocks of %" PRId64 " x %" PRId64 ": bin %" PRId64 ",%" PRId64 " is %g", t.d.nx, t.d.ny, i, y,
        grid_value(&bins, n, y, i, c));
  grid_randomise(&bins);
  element_set(fc_view_at(&bins.view, 0, high, 2 * wide - 1, 1), compute, random_int(0, 1) ? NAN : -INFINITY);
  run(&t.d, &bins.view, &x.view, fc_idft_scratch, fc_idft_cpu);
  GRID_EACH(&x, n, y, i, c)
  CHECK((isnan(grid_value(&x, n, y, i, c)) != 0) == (i / whole(t.d.nx) == 1 && y / whole(t.d.ny) == 1),
        "blocks of %" PRId64 " x %" PRId64 ": value %" PRId64 ",%" PRId64 " is %g", t.d.nx, t.d.ny, i, y,
        grid_value(&x, n, y, i, c));
  grid_free(&x), grid_free(&bins);
  setup_free(&t);
}

/* Cut between blocks, either way gives the same bits: fewer lanes, or others, are in use. */
static void check_cuts(int compute, int isa) {
  setup t = random_setup(compute, isa);
  int64_t blocks[FC_AXES] = {1, random_int(1, 4), random_int(1, 40), 1};
  int axis = random_int(0, 1) ? FC_AXIS_X : FC_AXIS_Y;
  grid x = values_new(&t.d, compute, blocks, 0), bins = bins_new(&t.d, compute, blocks, 2, 0);
  grid_randomise(&x);
  run(&t.d, &x.view, &bins.view, fc_dft_scratch, fc_dft_cpu);
  grid back = values_new(&t.d, compute, blocks, 0);
  run(&t.d, &bins.view, &back.view, fc_idft_scratch, fc_idft_cpu);
  int64_t values = axis == FC_AXIS_X ? whole(t.d.nx) : whole(t.d.ny),
          made = axis == FC_AXIS_X ? fc_dft_bins_x(&t.d) : fc_dft_bins_y(&t.d);
  int64_t first = random_int(0, blocks[axis] - 1), count = random_int(1, blocks[axis] - first);
  int64_t part[FC_AXES] = {1, blocks[1], blocks[2], 1};
  part[axis] = count;
  grid some = bins_new(&t.d, compute, part, 2, 0), same = values_new(&t.d, compute, part, 0);
  fc_view in = grid_part(&x.view, axis, first * values, count * values),
          of = grid_part(&bins.view, axis, first * made, count * made);
  run(&t.d, &in, &some.view, fc_dft_scratch, fc_dft_cpu);
  run(&t.d, &of, &same.view, fc_idft_scratch, fc_idft_cpu);
  int64_t skip_x = axis == FC_AXIS_X ? first : 0, skip_y = axis == FC_AXIS_Y ? first : 0;
  GRID_EACH(&some, n, y, i, c)
  CHECK(grid_value(&some, n, y, i, c) == grid_value(&bins, n, y + skip_y * made, i + skip_x * made, c),
        "dft of blocks %" PRId64 " to %" PRId64, first, first + count);
  GRID_EACH(&same, n, y, i, c)
  CHECK(grid_value(&same, n, y, i, c) == grid_value(&back, n, y + skip_y * values, i + skip_x * values, c),
        "idft of blocks %" PRId64 " to %" PRId64, first, first + count);
  grid_free(&x), grid_free(&bins), grid_free(&back), grid_free(&some), grid_free(&same);
  setup_free(&t);
}

static void check_refusals(void) {
  setup t = setup_new(FC_F32, fc_isa_best(), 8, 0, 1);
  int64_t blocks[FC_AXES] = {1, 1, 2, 1};
  grid x = values_new(&t.d, FC_F32, blocks, 0), bins = bins_new(&t.d, FC_F32, blocks, 2, 0);
  CHECK(fc_dft_check(&t.d, &x.view, &bins.view) == FC_OK, "views that fit");
  CHECK(fc_idft_check(&t.d, &bins.view, &x.view) == FC_OK, "views that fit, back");
  fc_view cut = grid_part(&bins.view, FC_AXIS_X, 0, 9), odd = grid_part(&bins.view, FC_AXIS_C, 0, 1);
  CHECK(fc_dft_check(&t.d, &x.view, &cut) == FC_INVALID, "a part of a block");
  CHECK(fc_dft_check(&t.d, &x.view, &odd) == FC_INVALID, "too few channels");
  CHECK(fc_idft_check(&t.d, &odd, &x.view) == FC_INVALID, "no imaginary parts");
  t.d.nx = 0;
  CHECK(fc_dft_check(&t.d, &x.view, &bins.view) == FC_INVALID, "no axis");
  grid_free(&x), grid_free(&bins);
  setup_free(&t);
}

int main(int argc, char **argv) {
  static const int64_t shapes[][4] = {{8, 8, 1, 2}, {5, 4, 2, 2}, {1, 6, 1, 5}, {37, 4, 1, 1}, {3, 41, 1, 1}};
  static const char *const axes[] = {"x", "y", "xy"};
  if (argc != 2) return 2;
  goldens = argv[1];
  random_start(9);
  for (int s = 0; s < 5; s++)
    for (int a = 0; a < 6; a++)
      check_golden(shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3], axes[a / 2], a % 2);
  for (int compute = FC_F32; compute <= FC_F64; compute++) {
    for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++) {
      for (int dtype = 0; dtype < FC_DTYPE_COUNT; dtype++) {
        for (int component = 0; component < FC_COMPONENTS; component++)
          check_forward(dtype, compute, isa, component);
        for (int i = 0; i < 4; i++) check_back(dtype, compute, isa);
      }
      for (int i = 0; i < 30; i++) check_there_and_back(compute, isa), check_cuts(compute, isa);
    }
    for (int i = 0; i < 12; i++) check_nan(compute, i / 2);
  }
  check_refusals();
  return check_result();
}
