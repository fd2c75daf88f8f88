/* SPDX-License-Identifier: MIT */
/*
 * test_border.c - borders made on a device against fc_border_map, position by position:
 * every mode, element type and axis, halos of many periods, empty signals, stretches
 * from the middle, and borders longer than one launch. What is not wanted stays untouched.
 */
#include "tests/gpu/gpu.h"

#define ROOM (1 << 23)

typedef struct box {
  gint64 extent[FC_AXES];
  fc_range wanted[FC_AXES], held[FC_AXES];
} box;

/* What a buffer must hold of an axis: the wanted positions and all their images. */
static fc_range held_by(fc_range wanted, int border, gint64 extent) {
  fc_range held = wanted;
  for (gint64 p = wanted.lo; p < wanted.hi; p++) {
    gint64 q = fc_border_map(border, p, extent < 0 ? G_MAXINT64 / 4 : extent);
    if (q >= 0) held = fc_range_hull(held, (fc_range){q, q + 1});
  }
  return held;
}

/* One axis has a deep halo, of several periods of its signal. */
static box random_box(int border) {
  static const gint64 most[FC_AXES] = {2, 7, 12, 4};
  box b;
  int deep = (int)random_int(FC_AXIS_Y, FC_AXIS_C);
  for (int a = 0; a < FC_AXES; a++) {
    gint64 halo = a == deep ? 24 : a == FC_AXIS_N ? 0 : random_int(0, 2);
    gboolean is_long = a == FC_AXIS_X && a == deep && random_int(0, 1);
    b.extent[a] = random_int(0, 25) == 0 ? 0 : is_long ? random_int(50, 300) : random_int(1, most[a]);
    gint64 lo = random_int(0, b.extent[a]), hi = random_int(lo, b.extent[a]);
    if (random_int(0, 1)) lo = 0, hi = b.extent[a];
    b.wanted[a] = (fc_range){lo - random_int(0, halo), hi + random_int(0, halo)};
    /* Wholly outside, as after a crop that went too far. */
    if (halo && random_int(0, 15) == 0) b.wanted[a].hi = MIN(b.wanted[a].hi, -1);
    gboolean endless = a == FC_AXIS_X && border != FC_BORDER_WRAP && b.wanted[a].hi <= b.extent[a];
    if (endless && random_int(0, 1)) b.extent[a] = FC_UNKNOWN;
    b.held[a] = held_by(b.wanted[a], border, b.extent[a]);
  }
  return b;
}

/* The element at a position of the signal, in memory like that of `v`. */
static char *at(const fc_view *v, const gint64 p[FC_AXES]) {
  return fc_view_at(v, p[0] - v->origin[0], p[1] - v->origin[1], p[2] - v->origin[2], p[3] - v->origin[3]);
}

/* Sets every wanted position outside the signal, as the device should. */
static void model(const fc_view *v, const box *b, int border, const void *code) {
  gint64 shape[FC_AXES];
  for (int a = 0; a < FC_AXES; a++) shape[a] = fc_range_length(b->wanted[a]);
  size_t size = fc_dtype_size(v->dtype);
  if (border == FC_BORDER_NONE) return;
  EVERY_INDEX(shape, n, y, x, c) {
    gint64 p[FC_AXES] = {n, y, x, c}, q[FC_AXES];
    gboolean inside = TRUE, image = TRUE;
    for (int a = 0; a < FC_AXES; a++) {
      gint64 extent = b->extent[a] < 0 ? G_MAXINT64 / 4 : b->extent[a];
      p[a] += b->wanted[a].lo;
      q[a] = fc_border_map(border, p[a], extent);
      inside = inside && p[a] >= 0 && p[a] < extent;
      image = image && q[a] >= 0;
    }
    if (!inside) memcpy(at(v, p), image ? at(v, q) : (const char *)code, size);
  }
}

static void one_case(fc_runner *r, unsigned char *host, unsigned char *got, void *device, int dtype,
                     int border) {
  box b = random_box(border);
  gint64 shape[FC_AXES];
  for (int a = 0; a < FC_AXES; a++) shape[a] = fc_range_length(b.held[a]);
  fc_view v;
  gint64 bytes = random_layout(&v, dtype, FC_IMAGE, shape, host, ROOM);
  for (int a = 0; a < FC_AXES; a++) v.origin[a] = b.held[a].lo, v.extent[a] = b.extent[a];
  for (gint64 i = 0; i < bytes; i++) host[i] = (unsigned char)random_bits();
  guint64 code = random_bits();
  device_set(r, device, host, bytes);
  fc_view on_device = moved(&v, host, device, r->device);
  gpu_border(r, &on_device, b.wanted, border, &code);
  device_get(r, got, device, bytes);
  model(&v, &b, border, &code);
  CHECK(memcmp(host, got, (size_t)bytes) == 0,
        "%s border %d extent %dx%dx%dx%d wanted Y [%d,%d) X [%d,%d) C [%d,%d)", fc_dtype_name(dtype), border,
        (int)b.extent[0], (int)b.extent[1], (int)b.extent[2], (int)b.extent[3], (int)b.wanted[1].lo,
        (int)b.wanted[1].hi, (int)b.wanted[2].lo, (int)b.wanted[2].hi, (int)b.wanted[3].lo,
        (int)b.wanted[3].hi);
}

/* The value of zero when no code is given: silence lies in the middle of u8 and u16. */
static void check_default_code(fc_runner *r, unsigned char *host, void *device) {
  static const struct {
    int dtype, kind;
    double zero;
  } cases[] = {{FC_U8, FC_AUDIO, 128}, {FC_U16, FC_AUDIO, 32768}, {FC_I16, FC_AUDIO, 0},
               {FC_U8, FC_IMAGE, 0},   {FC_F32, FC_AUDIO, 0},     {FC_F64, FC_IMAGE, 0}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    gint64 size = (gint64)fc_dtype_size(cases[i].dtype);
    fc_view v = bytes_view(device, 4, r->device);
    v.dtype = cases[i].dtype, v.kind = cases[i].kind;
    for (int a = 0; a < FC_AXES; a++) v.stride[a] = a == FC_AXIS_X ? size : 4 * size;
    v.origin[FC_AXIS_X] = -2, v.extent[FC_AXIS_X] = 2;
    fc_range wanted[FC_AXES] = {{0, 1}, {0, 1}, {-2, 2}, {0, 1}};
    memset(host, 0x5a, 64);
    device_set(r, device, host, 64);
    gpu_border(r, &v, wanted, FC_BORDER_ZERO, NULL);
    device_get(r, host, device, 64);
    for (int x = 0; x < 2; x++)
      CHECK(element_get(host + x * size, cases[i].dtype) == cases[i].zero, "case %u", i);
    CHECK(host[2 * size] == 0x5a, "case %u: the signal was written", i);
  }
}

static void check_endless_wrap(fc_runner *r, void *device) {
  fc_view v = bytes_view(device, 8, r->device);
  v.origin[FC_AXIS_X] = -2, v.extent[FC_AXIS_X] = FC_UNKNOWN;
  fc_range wanted[FC_AXES] = {{0, 1}, {0, 1}, {-2, 2}, {0, 1}};
  gpu_work work = {r, &v, NULL, NULL, wanted, FC_BORDER_WRAP, NULL};
  GError *error = NULL;
  CHECK(!r->compute(r, 0, 0, gpu_enqueue, &work, &error), "a wrap around an unknown end was made");
  CHECK(error && error->code == FC_UNSUPPORTED, "%s", error ? error->message : "no error");
  g_clear_error(&error);
}

/* A border of more than 2^30 elements repeats 251 bytes; a comb of samples tells. */
static void check_huge(fc_runner *r, unsigned char *host) {
  const gint64 length = (G_GINT64_CONSTANT(1) << 30) + 12345, period = 251, comb = 104729;
  void *memory = r->alloc(r, (gsize)length);
  if (!memory) {
    printf("not tried: a border of 2^30 elements: too little device memory\n");
    return;
  }
  for (int i = 0; i < period; i++) host[i] = (unsigned char)i;
  device_set(r, memory, host, period);
  fc_view v = bytes_view(memory, length, r->device);
  v.extent[FC_AXIS_X] = period;
  fc_range wanted[FC_AXES] = {{0, 1}, {0, 1}, {0, length}, {0, 1}};
  gpu_border(r, &v, wanted, FC_BORDER_WRAP, NULL);
  const gint64 starts[] = {0, length / 2 - 50, length - 100};
  for (guint s = 0; s < G_N_ELEMENTS(starts); s++) {
    device_get(r, host, (char *)memory + starts[s], 100);
    for (int i = 0; i < 100; i++) CHECK(host[i] == (starts[s] + i) % period, "at %d of start %u", i, s);
  }
  gint64 teeth = length / comb;
  fc_view from = bytes_view(memory, teeth, r->device), to = bytes_view(host, teeth, FC_HOST);
  from.stride[FC_AXIS_X] = comb;
  gpu_download(r, &to, &from);
  for (gint64 i = 0; i < teeth; i++) CHECK(host[i] == i * comb % period, "tooth %d", (int)i);
  r->release(r, memory);
}

int main(void) {
  fc_runner *r = gpu_start();
  random_start(20240611);
  unsigned char *host = must_alloc(r->alloc_host(r, ROOM)), *got = must_alloc(r->alloc_host(r, ROOM));
  void *device = must_alloc(r->alloc(r, ROOM));
  for (int border = FC_BORDER_ZERO; border <= FC_BORDER_NONE; border++)
    for (int dtype = 0; dtype < FC_DTYPE_COUNT; dtype++)
      for (int i = 0; i < 60; i++)
        if (!trial_skipped()) one_case(r, host, got, device, dtype, border);
  check_default_code(r, host, device);
  check_endless_wrap(r, device);
  if (trial_step() == 1) check_huge(r, host);
  r->free(r);
  return check_result();
}
