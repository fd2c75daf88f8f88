/* SPDX-License-Identifier: MIT */
/*
 * test_conv2d_cuda.c - sepconv and conv2d on a CUDA device: against the reference in
 * every type, layout and shape; cut anywhere, bit for bit; and the same bits from
 * whichever kernel a layout leads to. Skipped without a device.
 *
 *     test_conv2d_cuda [--part I/N]
 *
 * Of N parts, which may run side by side, each has its share of the cases and random ones of its own. With
 * FILTERCHAIN_TRIALS=few, as under compute-sanitizer, every number of taps is still met, by smaller images: a
 * part then takes 20 s under one of its tools on an H200, where whole images by a seventh of them took more
 * than 240.
 */
#include <cuda_runtime_api.h>

#include "filters/filter2d/choice.h"
#include "tests/filters/border.h"
#include "tests/filters/filters2d.h"

#define SKIPPED 77

static int part = 0, parts = 1;
static int64_t turns; /* of all parts */

/* Is the next case one of this part's? */
static int is_mine(void) {
  return turns++ % parts == part;
}

/* Of so many random cases, this part's. */
static int my_share(int cases) {
  return (cases + parts - 1) / parts;
}

static void *device_new(size_t bytes) {
  void *memory = NULL;
  if (cudaMalloc(&memory, bytes + 1) != cudaSuccess) abort();
  return memory;
}

static void *device_copy(const void *from, size_t bytes) {
  void *to = device_new(bytes);
  if (bytes > 0) cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice);
  return to;
}

/* The image's memory on the device, guard bands and all, and its view there. */
static fc_view image_up(const image *m) {
  fc_view v = m->view;
  char *base = (char *)device_copy(m->memory.base, m->memory.bytes + 2 * GUARD_BYTES);
  v.data = base + ((char *)v.data - (char *)m->memory.base);
  v.device = FC_CUDA_DEVICE(0);
  return v;
}

static void *device_base(const image *m, const fc_view *v) {
  return (char *)v->data - ((char *)m->view.data - (char *)m->memory.base);
}

static int without_scratch;

/* `edges` NULL: the border has been made. */
static fc_status run_on_device(const filter2d *f, const fc_view *in, const fc_edges *edges,
                               const fc_view *out, uint32_t *notes) {
  filter2d g = *f;
  size_t size = fc_dtype_size(f->dense ? f->conv.compute : f->sep.compute);
  void *a = NULL, *b = NULL, *scratch = NULL;
  fc_status status;
  const size_t bytes = without_scratch ? 0 : edges || f->dense ? 0 : fc_sepconv_cuda_scratch(&g.sep, out);
  if (bytes > 0) scratch = device_new(bytes);
  if (f->dense) {
    g.conv.device_mask = a = device_copy(f->conv.mask, (size_t)(f->conv.nx * f->conv.ny) * size);
    status = edges ? fc_conv2d_cuda_edges(&g.conv, in, edges, out, NULL, notes)
                   : fc_conv2d_cuda(&g.conv, in, out, NULL, notes);
  } else {
    g.sep.device_x = a = device_copy(f->sep.x, (size_t)(f->sep.rank * f->sep.nx) * size);
    g.sep.device_y = b = device_copy(f->sep.y, (size_t)(f->sep.rank * f->sep.ny) * size);
    status = edges ? fc_sepconv_cuda_edges(&g.sep, in, edges, out, NULL, notes)
                   : fc_sepconv_cuda(&g.sep, in, out, scratch, NULL, notes);
  }
  cudaError_t error = cudaDeviceSynchronize();
  CHECK(error == cudaSuccess, "%s", cudaGetErrorString(error));
  if (error != cudaSuccess) exit(1); /* nothing works after it */
  cudaFree(a);
  cudaFree(b);
  cudaFree(scratch);
  return status;
}

static fc_status run_image(const filter2d *f, const image *in, const fc_edges *edges, const image *out) {
  fc_view from = image_up(in), to = image_up(out);
  fc_status status = run_on_device(f, &from, edges, &to, NULL);
  cudaMemcpy(out->memory.base, device_base(out, &to), out->memory.bytes + 2 * GUARD_BYTES,
             cudaMemcpyDeviceToHost);
  cudaFree(device_base(in, &from));
  cudaFree(device_base(out, &to));
  return status;
}

static void filter2d_run_cuda(const filter2d *f, const image *in, const image *out) {
  fc_status status = run_image(f, in, NULL, out);
  CHECK(status == FC_OK, "status %d", status);
}

/* The input on the device with nothing written but what may be read: compute-sanitizer's initcheck reports
 * every read beyond. Not of gapped elements. */
static fc_view image_up_bare(const image *m, const image_border *b) {
  const fc_view *v = &m->view;
  const int planar = v->stride[FC_AXIS_C] > v->stride[FC_AXIS_X];
  const int64_t planes = planar ? v->shape[FC_AXIS_C] : 1, rows = v->shape[FC_AXIS_Y] + b->top + b->bottom,
                row = (v->shape[FC_AXIS_X] + b->left + b->right) * v->stride[FC_AXIS_X];
  fc_view up = *v;
  char *base = (char *)device_new(m->memory.bytes + 2 * GUARD_BYTES);
  up.data = base + ((char *)v->data - (char *)m->memory.base);
  up.device = FC_CUDA_DEVICE(0);
  for (int64_t n = 0; n < v->shape[FC_AXIS_N]; n++)
    for (int64_t c = 0; c < planes; c++)
      cudaMemcpy2D(fc_view_at(&up, n, -b->top, -b->left, c), (size_t)v->stride[FC_AXIS_Y],
                   fc_view_at(v, n, -b->top, -b->left, c), (size_t)v->stride[FC_AXIS_Y], (size_t)row,
                   (size_t)rows, cudaMemcpyHostToDevice);
  return up;
}

/* The same bits whatever lies beyond what may be read: something, or nothing yet. */
static void check_unwritten(int dense, int dtype, image_layout layout) {
  static const int64_t widths[] = {1, 5, 130, 385, 513, 1027};
  for (int i = 0; i < 6; i++) {
    const int64_t shape[FC_AXES] = {2, 9, widths[i], 1 + i % 4};
    const image_border border = border_of(3, 3);
    filter2d f = filter2d_new(dense, FC_F32, 1, 3, 3);
    image in = image_random(dtype, shape, layout, border);
    image want = image_new(dtype, shape, layout, (image_border){0}),
          out = image_new(dtype, shape, layout, (image_border){0});
    filter2d_run(&f, &in, &want);
    fc_view from = image_up_bare(&in, &border), to = image_up(&out);
    CHECK(run_on_device(&f, &from, NULL, &to, NULL) == FC_OK, "status");
    cudaMemcpy(out.memory.base, device_base(&out, &to), out.memory.bytes + 2 * GUARD_BYTES,
               cudaMemcpyDeviceToHost);
    CHECK(image_equal(&want, &out), "%s, layout %d, %" PRId64 " wide: other bits beside nothing",
          fc_dtype_name(dtype), layout, widths[i]);
    cudaFree(device_base(&in, &from));
    cudaFree(device_base(&out, &to));
    image_free(&in), image_free(&want), image_free(&out);
    filter2d_free(&f);
  }
}

/* Rows of adjacent elements are marched over, others are not: the same input in either
 * layout gives the same bits. */
static void check_kernels_agree(int dense, int rounds) {
  for (int round = 0; round < rounds; round++) {
    int dtype = (int)random_int(FC_U8, FC_F32);
    case2d k = case2d_new(dense, dtype, FC_F32);
    image in = image_new(dtype, k.shape, INTERLEAVED, k.border),
          gapped = image_new(dtype, k.shape, GAPPED, k.border);
    for (int64_t n = 0; n < k.shape[0]; n++)
      for (int64_t y = -k.border.top; y < k.shape[1] + k.border.bottom; y++)
        for (int64_t x = -k.border.left; x < k.shape[2] + k.border.right; x++)
          for (int64_t c = 0; c < k.shape[3]; c++) {
            double v = element_random(dtype);
            element_set(fc_view_at(&in.view, n, y, x, c), dtype, v);
            element_set(fc_view_at(&gapped.view, n, y, x, c), dtype, v);
          }
    image a = image_new(FC_F32, k.shape, INTERLEAVED, (image_border){0});
    image b = image_new(FC_F32, k.shape, INTERLEAVED, (image_border){0});
    filter2d_run(&k.filter, &in, &a);
    filter2d_run(&k.filter, &gapped, &b);
    CHECK(image_equal(&a, &b), "%s: other bits from another layout", k.name);
    image_free(&in);
    image_free(&gapped);
    image_free(&a);
    image_free(&b);
    case2d_free(&k);
  }
}

/* Of large masks, the same bits from two kernels with the sums along the rows between them as from one. */
static void check_scratch(int rounds) {
  static const int64_t taps[] = {9, 33, 129, 300}, rows[] = {1, 5, 40, 130}, widths[] = {1, 17, 200};
  int used = 0;
  for (int round = 0; round < rounds; round++) {
    const int dtype = (int)random_int(FC_U8, FC_F32), compute = random_int(0, 1) ? FC_F64 : FC_F32;
    const int64_t nx = taps[random_int(0, 3)], ny = taps[random_int(1, 3)];
    const int64_t shape[FC_AXES] = {random_int(1, 3), rows[round > 0 ? random_int(0, 3) : 3],
                                    widths[random_int(0, 2)], random_int(1, 4)};
    const image_layout layout = random_int(0, 1) ? INTERLEAVED : PLANAR;
    filter2d f = filter2d_new(0, compute, (int)random_int(1, 3), ny, nx);
    image in = image_random(dtype, shape, layout, border_of(ny, nx));
    image two = image_new(FC_F64, shape, INTERLEAVED, (image_border){0}),
          one = image_new(FC_F64, shape, INTERLEAVED, (image_border){0});
    used += fc_sepconv_cuda_scratch(&f.sep, &two.view) > 0;
    filter2d_run(&f, &in, &two);
    without_scratch = 1;
    filter2d_run(&f, &in, &one);
    without_scratch = 0;
    CHECK(image_equal(&one, &two), "%" PRId64 " x %" PRId64 " taps on %" PRId64 " x %" PRId64 ": other bits",
          nx, ny, shape[2], shape[1]);
    image_free(&in), image_free(&two), image_free(&one);
    filter2d_free(&f);
  }
  CHECK(used > 0, "scratch was never needed");
}

/* Images of many strips and segments, against the CPU; or of few. Rows are of whole quads, or not. */
static void check_large(int dense, int64_t taps, int64_t channels, int dtype) {
  const int few = trial_step() > 1;
  const int64_t shape[FC_AXES] = {few ? 1 : 2, few ? 43 : 517, random_int(0, 1) ? 1536 : 1031, channels};
  case2d k = {.compute = FC_F32, .nx = taps, .ny = taps, .border = border_of(taps, taps)};
  memcpy(k.shape, shape, sizeof shape);
  snprintf(k.name, sizeof k.name, "large %s, %" PRId64 " taps, %" PRId64 " %s", dense ? "conv2d" : "sepconv",
           taps, channels, fc_dtype_name(dtype));
  k.filter = filter2d_new(dense, FC_F32, 1, taps, taps);
  k.in = image_random(dtype, shape, INTERLEAVED, k.border);
  image want = image_new(FC_F64, shape, INTERLEAVED, (image_border){0});
  image out = image_new(dtype, shape, INTERLEAVED, (image_border){0});
  filter2d_run_cpu(&k.filter, &k.in, &want);
  filter2d_run(&k.filter, &k.in, &out);
  case2d_compare(&k, &out, &want);
  image_free(&want);
  image_free(&out);
  case2d_free(&k);
}

static void check_notes(int dense) {
  static const int64_t shape[] = {1, 20, 200, 1};
  for (int special = 0; special < 3; special++) {
    filter2d f = filter2d_new(dense, FC_F32, 1, 3, 3);
    image in = image_random(FC_F32, shape, INTERLEAVED, border_of(3, 3));
    image out = image_new(FC_I16, shape, INTERLEAVED, (image_border){0});
    if (special) *(float *)fc_view_at(&in.view, 0, 7, 133, 0) = special == 1 ? 1e9f : NAN;
    fc_view from = image_up(&in), to = image_up(&out);
    uint32_t notes[2] = {0, 0}, *device_notes = (uint32_t *)device_copy(notes, sizeof notes);
    CHECK(run_on_device(&f, &from, NULL, &to, device_notes) == FC_OK, "status");
    cudaMemcpy(notes, device_notes, sizeof notes, cudaMemcpyDeviceToHost);
    CHECK(notes[0] == (special == 2) && notes[1] == (special == 1), "special %d noted as %u %u", special,
          notes[0], notes[1]);
    cudaFree(device_notes);
    cudaFree(device_base(&in, &from));
    cudaFree(device_base(&out, &to));
    image_free(&in);
    image_free(&out);
    filter2d_free(&f);
  }
}

/* Bytes, to bytes: a pixel that is clipped is noted, where it is an output; what lies beside
 * the image or beyond it is not. */
static void check_notes_of_bytes(int dense) {
  static const float one[] = {0, 1, 0}, two[] = {0, 2, 0};
  static const float ones[] = {0, 0, 0, 0, 1, 0, 0, 0, 0}, twos[] = {0, 0, 0, 0, 2, 0, 0, 0, 0};
  static const int64_t shape[] = {1, 21, 701, 3};
  for (int special = 0; special < 4; special++) {
    const float *x = special == 0 ? one : two;
    filter2d f = {.dense = dense};
    f.sep = (fc_sepconv){FC_F32, fc_isa_best(), 1, 3, 3, x, one, NULL, NULL};
    f.conv = (fc_conv2d){FC_F32, fc_isa_best(), 3, 3, special == 0 ? ones : twos, NULL};
    image in = image_new(FC_U8, shape, PADDED, border_of(3, 3)); /* all 255 */
    image out = image_new(FC_U8, shape, INTERLEAVED, (image_border){0});
    for (int64_t y = 0; special && y < shape[1]; y++)
      for (int64_t i = 0; i < shape[2] * shape[3]; i++)
        *((uint8_t *)fc_view_at(&in.view, 0, y, 0, 0) + i) = 127;
    if (special > 1)
      *(uint8_t *)fc_view_at(&in.view, 0, special == 2 ? 0 : 20, special == 2 ? 0 : 700, 2) = 128;
    fc_view from = image_up(&in), to = image_up(&out);
    uint32_t notes[2] = {0, 0}, *device_notes = (uint32_t *)device_copy(notes, sizeof notes);
    CHECK(run_on_device(&f, &from, NULL, &to, device_notes) == FC_OK, "status");
    cudaMemcpy(notes, device_notes, sizeof notes, cudaMemcpyDeviceToHost);
    CHECK(notes[0] == 0 && notes[1] == (special > 1), "bytes %d noted as %u %u", special, notes[0], notes[1]);
    cudaFree(device_notes);
    cudaFree(device_base(&in, &from));
    cudaFree(device_base(&out, &to));
    image_free(&in);
    image_free(&out);
  }
}

/* Widths and heights around those of a band and of its batches, in every layout that is marched over: against
 * the CPU, and cut anywhere. */
static void check_bands(int dense, int dtype, int rounds) {
  static const int64_t widths[] = {1, 3, 127, 171, 341, 342, 511, 512, 513, 683, 1023, 1025, 1536, 2049};
  static const int64_t heights[] = {1, 2, 7, 8, 16, 17, 33, 300};
  static const image_layout layouts[] = {INTERLEAVED, PADDED, PLANAR, SHIFTED};
  for (int round = 0; round < rounds; round++) {
    case2d k = {.compute = FC_F32, .nx = random_int(1, 31)};
    if (dense) k.nx = 2 * random_int(1, 7) + 1;
    k.ny = dense || dtype == FC_F32 ? (k.nx |= 1) : random_int(1, 31);
    k.shape[0] = random_int(1, 2), k.shape[1] = heights[random_int(0, 7)];
    k.shape[2] = widths[random_int(0, 13)], k.shape[3] = random_int(1, 4);
    k.border = border_of(k.ny, k.nx);
    snprintf(k.name, sizeof k.name,
             "bands of %s, %" PRId64 "x%" PRId64 " taps, shape %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
             fc_dtype_name(dtype), k.ny, k.nx, k.shape[0], k.shape[1], k.shape[2], k.shape[3]);
    k.filter = filter2d_new(dense, FC_F32, 1, k.ny, k.nx);
    k.in = image_random(dtype, k.shape, layouts[random_int(0, 3)], k.border);
    image want = image_new(FC_F64, k.shape, INTERLEAVED, (image_border){0});
    image out = image_new(dtype, k.shape, layouts[random_int(0, 3)], (image_border){0});
    filter2d_run_cpu(&k.filter, &k.in, &want);
    filter2d_run(&k.filter, &k.in, &out);
    case2d_compare(&k, &out, &want);
    if (round % 4 == 0) case2d_cut(&k, &out);
    image_free(&want);
    image_free(&out);
    case2d_free(&k);
  }
}

/* `to` becomes `from` with a border. */
static void fill_border(const image *to, image_border b, const image *from, const fc_edges *edges) {
  const size_t size = fc_dtype_size(from->view.dtype);
  const int64_t *shape = from->view.shape;
  for (int64_t n = 0; n < shape[0]; n++)
    for (int64_t y = -b.top; y < shape[1] + b.bottom; y++)
      for (int64_t x = -b.left; x < shape[2] + b.right; x++)
        for (int64_t c = 0; c < shape[3]; c++) {
          const int64_t row = source_of(edges->border, y, shape[1]),
                        column = source_of(edges->border, x, shape[2]);
          const int inside = row >= 0 && column >= 0;
          memcpy(fc_view_at(&to->view, n, y, x, c),
                 inside ? fc_view_at(&from->view, n, row, column, c) : (const void *)&edges->code, size);
        }
}

/* Planes are not mixed with others: bytes then go another way, which rounds otherwise. */
static image_layout any_layout(int planar) {
  static const image_layout layouts[] = {INTERLEAVED, PADDED, SHIFTED};
  return planar ? PLANAR : layouts[random_int(0, 2)];
}

/* The border made by the filter: to the bit what comes of one that was made before. Was it? */
static int check_border(int dense, int dtype, int64_t ny, int64_t nx, const int64_t shape[FC_AXES],
                        int border_of_edges) {
  fc_edges edges = {sizeof edges, border_of_edges, 0};
  if (edges.border == FC_BORDER_CONSTANT) element_set(&edges.code, dtype, dtype == FC_F32 ? 0.625 : 77);
  const image_border border = border_of(ny, nx);
  const int planar = random_int(0, 3) == 0;
  filter2d f = filter2d_new(dense, FC_F32, 1, ny, nx);
  image in = image_random(dtype, shape, any_layout(planar), (image_border){0});
  image bordered = image_new(dtype, shape, any_layout(planar), border);
  fill_border(&bordered, border, &in, &edges);
  const image_layout layout = any_layout(planar);
  image want = image_new(dtype, shape, layout, (image_border){0}),
        out = image_new(dtype, shape, layout, (image_border){0});
  const fc_status status = run_image(&f, &in, &edges, &out);
  if (status == FC_OK) {
    filter2d_run(&f, &bordered, &want);
    CHECK(image_equal(&want, &out),
          "%s %s, border %d, %" PRId64 "x%" PRId64 " taps, shape %" PRId64 " %" PRId64 " %" PRId64
          " %" PRId64,
          dense ? "conv2d" : "sepconv", fc_dtype_name(dtype), edges.border, ny, nx, shape[0], shape[1],
          shape[2], shape[3]);
  } else {
    CHECK(status == FC_UNSUPPORTED, "status %d", status);
  }
  image_free(&in), image_free(&bordered), image_free(&want), image_free(&out);
  filter2d_free(&f);
  return status == FC_OK;
}

static void check_edges(int dense, int dtype, int rounds) {
  static const int64_t widths[] = {1, 2, 5, 127, 171, 341, 512, 513, 683, 1025, 1536, 2049};
  static const int64_t heights[] = {1, 2, 7, 16, 33, 300};
  int taken = 0;
  for (int round = 0; round < rounds; round++) {
    const int64_t nx = 2 * random_int(1, dense ? 7 : 15) + 1,
                  ny = dense || dtype == FC_F32 ? nx : random_int(1, 31);
    const int64_t shape[FC_AXES] = {random_int(1, 2), heights[random_int(0, 5)], widths[random_int(0, 11)],
                                    random_int(1, 4)};
    taken += check_border(dense, dtype, ny, nx, shape, (int)random_int(FC_BORDER_ZERO, FC_BORDER_WRAP));
  }
  CHECK(taken > rounds / 40 || rounds < 80, "%d of %d", taken, rounds);
}

/* The images of a batch side by side, each with its border, as one that is wide. */
static image mosaic_of(const image *in, image_border b, int64_t pitch) {
  const int64_t *shape = in->view.shape;
  const int64_t wide = shape[0] * pitch > 600 ? shape[0] * pitch : 600;
  image all = image_random(in->view.dtype, (int64_t[]){1, shape[1], wide, shape[3]}, INTERLEAVED, b);
  const size_t pixel = (size_t)shape[3] * fc_dtype_size(in->view.dtype);
  for (int64_t n = 0; n < shape[0]; n++)
    for (int64_t y = -b.top; y < shape[1] + b.bottom; y++)
      for (int64_t x = -b.left; x < shape[2] + b.right; x++)
        memcpy(fc_view_at(&all.view, 0, y, n * pitch + x, 0), fc_view_at(&in->view, n, y, x, 0), pixel);
  return all;
}

static int mosaic_equal(const image *out, const image *all, int64_t pitch) {
  const int64_t *shape = out->view.shape;
  const size_t pixel = (size_t)shape[3] * fc_dtype_size(out->view.dtype);
  for (int64_t n = 0; n < shape[0]; n++)
    for (int64_t y = 0; y < shape[1]; y++)
      for (int64_t x = 0; x < shape[2]; x++)
        if (memcmp(fc_view_at(&out->view, n, y, x, 0), fc_view_at(&all->view, 0, y, n * pitch + x, 0), pixel))
          return 0;
  return 1;
}

/* Narrow images and batches of small ones: whether the filter makes the border or it was made before, to the
 * bit what comes of all side by side as one wide image. */
static void check_narrow(int dense, int dtype, int rounds) {
  static const int64_t widths[] = {2, 3, 5, 8, 28, 31, 32, 33, 64, 85, 100, 127, 128, 129, 200, 256, 257};
  static const int64_t heights[] = {1, 2, 3, 5, 28, 32, 33, 63, 64, 65, 130};
  static const image_layout layouts[] = {INTERLEAVED, PADDED, SHIFTED};
  for (int round = 0; round < rounds; round++) {
    const int64_t nx = 2 * random_int(0, dense ? 7 : 15) + 1, ny = dtype == FC_U8 ? random_int(1, 31) : nx;
    int64_t shape[FC_AXES] = {random_int(1, 40), heights[random_int(0, 10)], widths[random_int(0, 16)],
                              random_int(1, 4)};
    while (shape[0] > 1 && shape[0] * shape[1] * shape[2] * shape[3] > 40000) shape[0] /= 2;
    const int out_dtype = random_int(0, 3) ? dtype : FC_F32;
    fc_edges edges = {sizeof edges, (int32_t)random_int(FC_BORDER_ZERO, FC_BORDER_WRAP), 0};
    if (edges.border == FC_BORDER_CONSTANT) element_set(&edges.code, dtype, dtype == FC_F32 ? 0.625 : 77);
    const image_border border = border_of(ny, nx);
    const int64_t pitch = shape[2] + nx - 1;
    filter2d f = filter2d_new(dense, FC_F32, 1, ny, nx);
    image in = image_random(dtype, shape, layouts[random_int(0, 2)], (image_border){0});
    image bordered = image_new(dtype, shape, layouts[random_int(0, 2)], border);
    fill_border(&bordered, border, &in, &edges);
    image mosaic = mosaic_of(&bordered, border, pitch);
    /* How bytes are summed follows from the signal's extent: as if this were as narrow. */
    memcpy(mosaic.view.extent, in.view.extent, sizeof in.view.extent);
    image want = image_new(out_dtype, mosaic.view.shape, INTERLEAVED, (image_border){0});
    image out = image_new(out_dtype, shape, layouts[random_int(0, 2)], (image_border){0});
    filter2d_run(&f, &mosaic, &want);
    for (int made = 0; made < 2; made++) {
      const fc_status status = run_image(&f, made ? &bordered : &in, made ? NULL : &edges, &out);
      if (!made && status == FC_UNSUPPORTED) continue;
      CHECK(status == FC_OK && mosaic_equal(&out, &want, pitch) && guarded_intact(&out.memory),
            "narrow %s to %s, border %d, made %d, %" PRId64 "x%" PRId64 " taps, shape %" PRId64 " %" PRId64
            " %" PRId64 " %" PRId64,
            fc_dtype_name(dtype), fc_dtype_name(out_dtype), edges.border, made, ny, nx, shape[0], shape[1],
            shape[2], shape[3]);
    }
    image_free(&in), image_free(&bordered), image_free(&mosaic), image_free(&want), image_free(&out);
    filter2d_free(&f);
  }
}

/* Bytes by short masks, whose rows begin at every place in a word, of few rows and of more. */
static void check_words(int dense) {
  static const int64_t heights[] = {2, 5, 8, 21};
  for (int64_t taps = 3; taps <= (dense ? FC_CONV2D_TAPS_BYTES : 7); taps += 2)
    for (int64_t channels = 1; channels <= 4; channels++)
      for (int64_t width = 1019; width < 1031; width += 1 + channels % 2) {
        if (!is_mine() || trial_skipped()) continue;
        const int64_t shape[FC_AXES] = {random_int(1, 2), heights[random_int(0, 3)],
                                        random_int(0, 1) ? width : width / channels, channels};
        check_border(dense, FC_U8, dense ? taps : random_int(1, 7), taps, shape,
                     (int)random_int(FC_BORDER_ZERO, FC_BORDER_WRAP));
      }
}

/* Every number of taps that has a kernel of its own, and others; every number of channels that has. */
static void check_all_kernels(int dense) {
  for (int64_t taps = 3; taps <= (dense ? 15 : 31); taps += 2)
    for (int64_t channels = 1; channels <= 4; channels++)
      for (int bytes = 0; bytes < 2; bytes++)
        if (is_mine()) check_large(dense, taps, channels, bytes ? FC_U8 : FC_F32);
}

/* What is looked at in one case each. */
static void check_singly(int dense) {
  static const int dtypes[] = {FC_U8, FC_I16, FC_U16, FC_F32};
  static const image_layout layouts[] = {INTERLEAVED, PADDED, PLANAR, SHIFTED};
  if (is_mine()) check_notes(dense);
  if (is_mine()) check_accuracy(dense);
  if (is_mine()) check_odd_shapes(dense);
  for (int i = 0; i < 16; i++)
    if (is_mine()) check_unwritten(dense, dtypes[i / 4], layouts[i % 4]);
  if (is_mine()) check_notes_of_bytes(dense);
}

/* Every pair of element types and either compute type. */
static void check_types(int dense) {
  for (int in = 0; in < FC_DTYPE_COUNT; in++)
    for (int out = 0; out < FC_DTYPE_COUNT; out++)
      for (int compute = FC_F32; compute <= FC_F64; compute++) {
        if (!is_mine()) continue;
        case2d k = case2d_new(dense, in, compute);
        case2d_check(&k, out);
        case2d_free(&k);
      }
}

static void check_randomly(int dense) {
  const int step = trial_step();
  for (int round = 0; round < (step > 1 ? 1 : 8); round++) check_types(dense);
  check_kernels_agree(dense, my_share(100 / step));
  if (!dense) check_scratch(my_share(64 / step));
  check_bands(dense, FC_F32, my_share(150 / step));
  check_bands(dense, FC_U8, my_share(250 / step));
  check_edges(dense, FC_F32, my_share(150 / step));
  check_words(dense);
  check_edges(dense, FC_U8, my_share(250 / step));
  for (int dtype = FC_U8; dtype <= FC_F32; dtype++) check_narrow(dense, dtype, my_share(60 / step));
}

int main(int argc, char **argv) {
  int devices = 0;
  if (argc > 1 && (argc != 3 || strcmp(argv[1], "--part") || sscanf(argv[2], "%d/%d", &part, &parts) != 2 ||
                   part < 0 || part >= parts)) {
    fprintf(stderr, "usage: test_conv2d_cuda [--part I/N], I from 0\n");
    return 2;
  }
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    fprintf(stderr, "skipped: no CUDA device\n");
    return SKIPPED;
  }
  random_start(20262 + (uint64_t)part);
  filter2d_run = filter2d_run_cuda;
  for (int dense = 0; dense < 2; dense++) {
    check_singly(dense);
    check_all_kernels(dense);
    check_randomly(dense);
  }
  return check_result();
}
