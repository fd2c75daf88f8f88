/* SPDX-License-Identifier: MIT */
/*
 * test_copy.c - copies and conversions on a device against a scalar model: all pairs of
 * element types, audio and images, extremes, half-way values, NaN and infinities, the
 * notes they leave, any strides, and more elements than one launch takes.
 */
#include "tests/gpu/gpu.h"

#define ROOM (1 << 22)

static const double lowest[] = {0, -32768, 0, -2147483648.0}, highest[] = {255, 32767, 65535, 2147483647.0};

/* One element converted as DESIGN says. Every code of every type is exact in a double. */
static void convert_one(void *to, const fc_view *t, const void *from, const fc_view *f, guint32 *notes) {
  fc_scaling in = fc_scaling_of(f->kind, f->dtype), out = fc_scaling_of(t->kind, t->dtype);
  if (t->dtype == f->dtype) {
    memcpy(to, from, fc_dtype_size(t->dtype)); /* NaN payloads too */
    return;
  }
  double v = (element_get(from, f->dtype) - in.bias) * in.scale;
  if (!fc_dtype_is_float(t->dtype)) {
    double lo = lowest[t->dtype] - out.bias, hi = highest[t->dtype] - out.bias;
    v = nearbyint(v / out.scale); /* half to even */
    if (isnan(v)) notes[FC_NOTE_NAN] = 1, v = 0;
    if (v < lo) notes[FC_NOTE_CLIPPED] = 1, v = lo;
    if (v > hi) notes[FC_NOTE_CLIPPED] = 1, v = hi;
    v += out.bias;
  }
  element_set(to, t->dtype, v);
}

/* A value that is hard for somebody: near the limits and half-way points of the other types. */
static double awkward(int dtype, int to, int kind) {
  static const double specials[] = {0.0, -0.0, 1e300, -1e300, 1e-300, INFINITY, -INFINITY, NAN};
  if (!fc_dtype_is_float(dtype)) {
    switch (random_int(0, 3)) {
    case 0: return lowest[dtype] + (double)random_int(0, 3);
    case 1: return highest[dtype] - (double)random_int(0, 3);
    default: return element_random(dtype);
    }
  }
  if (random_int(0, 15) == 0) return specials[random_int(0, 7)];
  if (fc_dtype_is_float(to)) return ldexp(random_real(), (int)random_int(-140, 127));
  fc_scaling s = fc_scaling_of(kind, to);
  double code = element_random(to);
  if (random_int(0, 3) == 0) code = random_int(0, 1) ? lowest[to] - 1 : highest[to];
  code += 0.5 * (double)random_int(-2, 2) - s.bias;
  /* Just beside the half: whoever adds the bias before rounding rounds twice. */
  if (random_int(0, 3) == 0) code = nextafter(code, random_int(0, 1) ? INFINITY : -INFINITY);
  return code * s.scale;
}

static void random_elements(const fc_view *v, int to) {
  size_t size = fc_dtype_size(v->dtype);
  EVERY_INDEX(v->shape, n, y, x, c) {
    char *at = fc_view_at(v, n, y, x, c);
    double value = awkward(v->dtype, to, v->kind);
    if (v->dtype == FC_F32)
      *(float *)at = (float)value;
    else if (to == v->dtype)
      for (size_t i = 0; i < size; i++) at[i] = (char)random_bits();
    else
      element_set(at, v->dtype, value);
  }
}

typedef struct room {
  fc_runner *runner;
  unsigned char *from, *to, *got; /* host */
  unsigned char *device_from, *device_to;
  guint32 *notes; /* host memory that the device writes */
} room;

/* Converts a random view into another and compares all memory of the result. */
static void one_case(const room *m, int from, int to, int kind, const gint64 shape[FC_AXES]) {
  fc_view f, t;
  gint64 bytes_from = random_layout(&f, from, kind, shape, m->from, ROOM);
  gint64 bytes_to = random_layout(&t, to, kind, shape, m->to, ROOM);
  for (gint64 i = 0; i < bytes_to; i++) m->to[i] = (unsigned char)random_bits();
  random_elements(&f, to);
  device_set(m->runner, m->device_from, m->from, bytes_from);
  device_set(m->runner, m->device_to, m->to, bytes_to);
  guint32 expected[FC_NOTES] = {0, 0};
  EVERY_INDEX(shape, n, y, x, c)
  convert_one(fc_view_at(&t, n, y, x, c), &t, fc_view_at(&f, n, y, x, c), &f, expected);
  fc_view df = moved(&f, m->from, m->device_from, 0), dt = moved(&t, m->to, m->device_to, 0);
  m->notes[0] = m->notes[1] = 0;
  gpu_copy(m->runner, &dt, &df, from == to ? NULL : m->notes);
  device_get(m->runner, m->got, m->device_to, bytes_to);
  EVERY_INDEX(shape, n, y, x, c) {
    char *want = fc_view_at(&t, n, y, x, c), *have = (char *)m->got + (want - (char *)m->to);
    gboolean both_nan =
        from != to && fc_dtype_is_float(to) && isnan(element_get(want, to)) && isnan(element_get(have, to));
    if (both_nan) memcpy(want, have, fc_dtype_size(to)); /* whose payloads may differ */
    CHECK(memcmp(want, have, fc_dtype_size(to)) == 0, "%s %s %.17g to %s: %.17g, should be %.17g",
          kind == FC_AUDIO ? "audio" : "image", fc_dtype_name(from),
          element_get(fc_view_at(&f, n, y, x, c), from), fc_dtype_name(to), element_get(have, to),
          element_get(want, to));
  }
  CHECK(memcmp(m->to, m->got, (size_t)bytes_to) == 0, "%s to %s: something between the elements was written",
        fc_dtype_name(from), fc_dtype_name(to));
  for (int i = 0; i < FC_NOTES; i++)
    CHECK(m->notes[i] == expected[i], "%s to %s: note %d is %u", fc_dtype_name(from), fc_dtype_name(to), i,
          m->notes[i]);
}

static void every_pair(const room *m) {
  static const gint64 shapes[][FC_AXES] = {{1, 1, 1, 1},  {1, 1, 0, 2},  {1, 1, 2500, 2}, {1, 13, 37, 3},
                                           {2, 5, 64, 4}, {3, 7, 11, 1}, {1, 1, 16384, 1}};
  for (int from = 0; from < FC_DTYPE_COUNT; from++)
    for (int to = 0; to < FC_DTYPE_COUNT; to++)
      for (int kind = FC_AUDIO; kind <= FC_IMAGE; kind++)
        for (guint i = 0; i < 3 * G_N_ELEMENTS(shapes); i++)
          if (!trial_skipped()) one_case(m, from, to, kind, shapes[i % G_N_ELEMENTS(shapes)]);
}

/* Each kind of value alone, so that a note cannot hide behind another element's. */
static void notes_one_by_one(const room *m) {
  static const struct {
    double value;
    guint32 nan, clipped;
    gint16 code;
  } cases[] = {{0.0, 0, 0, 0},
               {1.0, 0, 1, 32767},
               {-1.0, 0, 0, -32768},
               {32767.49 / 32768, 0, 0, 32767},
               {32767.5 / 32768, 0, 1, 32767},
               {-32768.5 / 32768, 0, 0, -32768},
               {-32768.51 / 32768, 0, 1, -32768},
               {0.5 / 32768, 0, 0, 0},
               {1.5 / 32768, 0, 0, 2},
               {2.5 / 32768, 0, 0, 2},
               {-1.5 / 32768, 0, 0, -2},
               {NAN, 1, 0, 0},
               {INFINITY, 0, 1, 32767},
               {-INFINITY, 0, 1, -32768}};
  fc_view f = bytes_view(m->device_from, 1, 0), t = bytes_view(m->device_to, 1, 0);
  f.dtype = FC_F64, t.dtype = FC_I16, f.kind = t.kind = FC_AUDIO;
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    memcpy(m->from, &cases[i].value, sizeof(double));
    device_set(m->runner, m->device_from, m->from, sizeof(double));
    m->notes[0] = m->notes[1] = 0;
    gpu_copy(m->runner, &t, &f, m->notes);
    device_get(m->runner, m->got, m->device_to, sizeof(gint16));
    gint16 code;
    memcpy(&code, m->got, sizeof code);
    CHECK(code == cases[i].code, "%.17g became %d", cases[i].value, code);
    CHECK(m->notes[FC_NOTE_NAN] == cases[i].nan && m->notes[FC_NOTE_CLIPPED] == cases[i].clipped,
          "notes %u %u of %.17g", m->notes[0], m->notes[1], cases[i].value);
  }
}

/* One side in pinned host memory, as around stages that leave the device. */
static void host_memory(const room *m) {
  const gint64 bytes = 100000;
  for (gint64 i = 0; i < bytes; i++) m->from[i] = (unsigned char)random_bits();
  fc_view host = bytes_view(m->from, bytes / 2, FC_HOST), device = bytes_view(m->device_to, bytes / 2, 0);
  fc_view back = bytes_view(m->to, bytes / 2, FC_HOST);
  host.stride[FC_AXIS_X] = 2; /* by a kernel */
  gpu_copy(m->runner, &device, &host, NULL);
  gpu_copy(m->runner, &back, &device, NULL); /* in one piece */
  for (gint64 i = 0; i < bytes / 2; i++) CHECK(m->to[i] == m->from[2 * i], "at %d", (int)i);
}

/* More than 2^30 elements, of every other i16: bytes that repeat after 251. */
static void huge(const room *m) {
  const gint64 length = (G_GINT64_CONSTANT(1) << 30) + 4321, period = 251, comb = 104729;
  unsigned char *codes = m->runner->alloc(m->runner, (gsize)length);
  gint16 *wide = codes ? m->runner->alloc(m->runner, (gsize)length * 2) : NULL;
  if (!wide) {
    printf("not tried: a copy of 2^30 elements: too little device memory\n");
    return;
  }
  for (int i = 0; i < period; i++) m->from[i] = (unsigned char)i;
  device_set(m->runner, codes, m->from, period);
  fc_view f = bytes_view(codes, length, 0), t = f;
  f.extent[FC_AXIS_X] = period;
  fc_range wanted[FC_AXES] = {{0, 1}, {0, 1}, {0, length}, {0, 1}};
  gpu_border(m->runner, &f, wanted, FC_BORDER_WRAP, NULL);
  t.dtype = FC_I16, t.data = wide, t.stride[FC_AXIS_X] = 2,
  t.stride[FC_AXIS_Y] = t.stride[FC_AXIS_N] = 2 * length;
  gpu_copy(m->runner, &t, &f, m->notes);
  gint64 teeth = length / comb;
  fc_view to = t, from = t;
  to.data = m->got, to.device = FC_HOST, to.shape[FC_AXIS_X] = from.shape[FC_AXIS_X] = teeth;
  from.stride[FC_AXIS_X] = 2 * comb;
  gpu_download(m->runner, &to, &from);
  for (gint64 i = 0; i < teeth; i++)
    CHECK(((gint16 *)m->got)[i] == i * comb % period, "tooth %d is %d", (int)i, ((gint16 *)m->got)[i]);
  from.data = wide + (length - 1), from.shape[FC_AXIS_X] = to.shape[FC_AXIS_X] = 1;
  gpu_download(m->runner, &to, &from);
  CHECK(((gint16 *)m->got)[0] == (length - 1) % period, "the last is %d", ((gint16 *)m->got)[0]);
  m->runner->release(m->runner, codes);
  m->runner->release(m->runner, wide);
}

static void wrong_shapes(const room *m) {
  fc_view f = bytes_view(m->device_from, 10, 0), t = bytes_view(m->device_to, 11, 0);
  gpu_work work = {m->runner, &t, &f, NULL, NULL, 0, NULL};
  GError *error = NULL;
  CHECK(!m->runner->compute(m->runner, 0, 0, gpu_enqueue, &work, &error), "copied");
  CHECK(error && error->code == FC_FATAL, "%s", error ? error->message : "no error");
  g_clear_error(&error);
}

int main(void) {
  fc_runner *r = gpu_start();
  random_start(20240612);
  room m = {r,
            must_alloc(r->alloc_host(r, ROOM)),
            must_alloc(r->alloc_host(r, ROOM)),
            must_alloc(r->alloc_host(r, ROOM)),
            must_alloc(r->alloc(r, ROOM)),
            must_alloc(r->alloc(r, ROOM)),
            must_alloc(r->alloc_host(r, FC_NOTES * sizeof(guint32)))};
  every_pair(&m);
  notes_one_by_one(&m);
  host_memory(&m);
  if (trial_step() == 1) huge(&m);
  wrong_shapes(&m);
  r->free(r);
  return check_result();
}
