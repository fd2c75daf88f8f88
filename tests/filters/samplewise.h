/* SPDX-License-Identifier: MIT */
/*
 * samplewise.h - random trials of the operations on single samples (pointwise, dither,
 * stretch, gather), for the test of the CPU versions and for that of the CUDA ones.
 */
#ifndef FC_TESTS_SAMPLEWISE_H
#define FC_TESTS_SAMPLEWISE_H

#include "filters/pointwise/dither.h"
#include "filters/pointwise/gather.h"
#include "filters/pointwise/pointwise.h"
#include "filters/pointwise/stretch.h"
#include "tests/filters/views.h"

typedef enum trial_kind {
  TRIAL_POINTWISE,
  TRIAL_STRETCH,
  TRIAL_GATHER,
  TRIAL_DITHER,
  TRIAL_KINDS
} trial_kind;

#define TRIAL_CHANNELS 1100 /* more than a tile's worth of factors */

typedef struct trial {
  trial_kind kind;
  fc_pointwise pointwise;
  fc_dither dither;
  fc_stretch stretch;
  fc_gather gather;
  double factors_f64[2 * TRIAL_CHANNELS]; /* of either type, as the trial computes */
  float factors_f32[2 * TRIAL_CHANNELS];
  double table[65536]; /* of either type */
  int32_t channels[TRIAL_CHANNELS];
  signal in, out;
} trial;

static inline int64_t random_of(const int64_t *values, int count) {
  return values[random_int(0, count - 1)];
}

/* Now and then what is no ordinary number. */
static inline void sprinkle(signal *s) {
  static const double odd[] = {INFINITY, -INFINITY, NAN, -0.0, 1e300, -3e38};
  int64_t at[FC_AXES];
  if (!fc_dtype_is_float(s->view.dtype)) return;
  FOR_EACH(&s->view, at) {
    double v = random_real() * (double)random_int(1, 70000);
    if (random_int(0, 199) == 0) v = odd[random_int(0, 5)];
    view_set(&s->view, at, v);
  }
}

static inline void trial_pointwise(trial *t, int64_t channels) {
  fc_pointwise *p = &t->pointwise;
  *p = (fc_pointwise){.form = (int32_t)random_int(FC_POINTWISE_COPY, FC_POINTWISE_THRESHOLD),
                      .compute = random_int(0, 1) ? FC_F64 : FC_F32};
  p->from = random_real() * 300, p->factor = random_real() * 300, p->to = random_real() * 300;
  p->low = random_real() * 300, p->high = p->low + fabs(random_real()) * 300;
  p->exponent = random_int(0, 2) ? fabs(random_real()) * 3 : 1, p->span = random_real() * 300;
  p->keeps = (int32_t)random_int(0, 2);
  for (int64_t c = 0; c < 2 * channels; c++) {
    t->factors_f64[c] = random_real() * 300;
    t->factors_f32[c] = (float)t->factors_f64[c];
  }
  if ((p->form == FC_POINTWISE_SCALE || p->form == FC_POINTWISE_AFFINE) && random_int(0, 1))
    p->factors = p->compute == FC_F64 ? (const void *)t->factors_f64 : (const void *)t->factors_f32;
}

/* Widths around the sizes of tiles, blocks and lanes; now and then a column or short rows, enough for
 * them to be taken together. */
static inline void trial_shape(trial_kind kind, int64_t shape[FC_AXES]) {
  static const int64_t tall[] = {1023, 1024, 1299, 2051}, narrow[] = {1, 1, 1, 2, 5, 16, 37};
  static const int64_t sizes[] = {0, 1, 2, 3, 15, 16, 17, 64, 255, 257, 1025, 2049, 17001};
  static const int64_t few[] = {1, 1, 1, 2, 3, 4, 7};
  shape[FC_AXIS_N] = random_int(0, 3);
  shape[FC_AXIS_Y] = random_int(0, 5);
  shape[FC_AXIS_X] = random_of(sizes, 13);
  shape[FC_AXIS_C] = random_of(few, 7);
  if (random_int(0, 19) == 0) shape[FC_AXIS_C] = TRIAL_CHANNELS, shape[FC_AXIS_X] = random_int(0, 5);
  if (random_int(0, 9) == 0) {
    shape[FC_AXIS_Y] = random_of(tall, 4), shape[FC_AXIS_X] = random_of(narrow, 7);
    shape[FC_AXIS_C] = random_int(1, 4);
  }
  if (kind == TRIAL_STRETCH && shape[FC_AXIS_N] == 0) shape[FC_AXIS_N] = 1;
}

/* The input of a gather has a halo that the shift moves into, and channels of its own. */
static inline void trial_gather(trial *t, int media, int dtype, const int64_t shape[FC_AXES], int lay) {
  int64_t from[FC_AXES], axis = random_int(0, 1) ? FC_AXIS_X : FC_AXIS_Y, shift = random_int(-4, 6);
  memcpy(from, shape, sizeof from);
  t->gather = (fc_gather){.shift_x = axis == FC_AXIS_X ? shift : 0, .shift_y = axis == FC_AXIS_Y ? shift : 0};
  if (random_int(0, 1)) {
    from[FC_AXIS_C] = random_int(1, 5);
    for (int64_t c = 0; c < shape[FC_AXIS_C]; c++)
      t->channels[c] = (int32_t)random_int(0, from[FC_AXIS_C] - 1);
    t->gather.channels = t->channels;
  }
  t->in = signal_new(media, dtype, from, lay, (int)axis, shift < 0 ? -shift : 0, shift > 0 ? shift : 0);
  signal_fill(&t->in, 0);
}

static inline trial *trial_new(trial_kind kind) {
  trial *t = (trial *)calloc(1, sizeof *t);
  int64_t shape[FC_AXES];
  int media = (int)random_int(0, FC_KIND_COUNT - 1), in = (int)random_int(0, FC_DTYPE_COUNT - 1);
  int out = random_int(0, 2) ? (int)random_int(0, FC_DTYPE_COUNT - 1) : in;
  int in_lay = (int)random_int(0, LAYOUT_COUNT - 1);
  int out_lay = random_int(0, 1) ? in_lay : (int)random_int(0, LAYOUT_COUNT - 1);
  if (!t) abort();
  t->kind = kind;
  trial_shape(kind, shape);
  if (kind == TRIAL_GATHER) {
    out = in;
    trial_gather(t, media, in, shape, in_lay);
  } else {
    t->in = signal_new(media, in, shape, in_lay, FC_AXIS_X, 0, 0);
    signal_fill(&t->in, 0);
    sprinkle(&t->in);
  }
  t->out = signal_new(media, out, shape, out_lay, FC_AXIS_X, 0, 0);
  trial_pointwise(t, shape[FC_AXIS_C]);
  if (fc_pointwise_wants_table(&t->pointwise, in) && random_int(0, 1)) {
    fc_pointwise_table(&t->pointwise, media, in, t->table);
    t->pointwise.table = t->table;
  }
  double span = fc_dtype_is_float(out) ? 1 : 255;
  t->dither = (fc_dither){.compute = t->pointwise.compute, .seed = (uint64_t)random_int(0, INT32_MAX)};
  if (kind == TRIAL_DITHER)
    for (int a = 0; a < FC_AXES; a++) t->out.view.origin[a] = random_int(0, (int64_t)1 << 40);
  t->dither.step = random_int(0, 1) ? 0x1p-7 : fabs(random_real());
  t->stretch = (fc_stretch){.compute = t->pointwise.compute, .low = random_int(0, 1) ? -3 : 0, .span = span};
  return t;
}

static inline void trial_free(trial *t) {
  signal_free(&t->in);
  signal_free(&t->out);
  free(t);
}

/* For messages. */
static inline const char *trial_name(const trial *t) {
  static char text[256];
  const int64_t *s = t->out.view.shape;
  snprintf(text, sizeof text, "%s form %d in %s: %s to %s, kind %d, %dx%dx%dx%d",
           t->kind == TRIAL_POINTWISE ? "pointwise"
           : t->kind == TRIAL_STRETCH ? "stretch"
           : t->kind == TRIAL_DITHER  ? "dither"
                                      : "gather",
           (int)t->pointwise.form, fc_dtype_name(t->pointwise.compute), fc_dtype_name(t->in.view.dtype),
           fc_dtype_name(t->out.view.dtype), (int)t->in.view.kind, (int)s[0], (int)s[1], (int)s[2],
           (int)s[3]);
  return text;
}

/* The CPU version of an instruction set. */
static inline void trial_run(const trial *t, fc_isa isa, const fc_view *in, const fc_view *out,
                             uint32_t notes[2]) {
  fc_pointwise p = t->pointwise;
  fc_stretch s = t->stretch;
  fc_dither d = t->dither;
  p.isa = s.isa = d.isa = isa;
  guarded scratch = guarded_new(t->kind == TRIAL_STRETCH  ? fc_stretch_scratch(&s, out->shape[FC_AXIS_N])
                                : t->kind == TRIAL_DITHER ? fc_dither_cpu_scratch(&d)
                                                          : fc_pointwise_cpu_scratch(&p));
  fc_status status = t->kind == TRIAL_POINTWISE ? fc_pointwise_cpu(&p, in, out, scratch.data, notes)
                     : t->kind == TRIAL_STRETCH ? fc_stretch_cpu(&s, in, out, scratch.data, notes)
                     : t->kind == TRIAL_DITHER  ? fc_dither_cpu(&d, in, out, scratch.data, notes)
                                                : fc_gather_cpu(&t->gather, in, out);
  CHECK(status == FC_OK, "%s: status %d", trial_name(t), (int)status);
  CHECK(guarded_intact(&scratch), "%s: wrote beyond its scratch", trial_name(t));
  guarded_free(&scratch);
}

/* A signal like another one, still empty. */
static inline signal signal_like(const signal *s) {
  signal copy = *s;
  copy.memory = guarded_new(s->memory.bytes);
  copy.view.data = (char *)copy.memory.data + ((char *)s->view.data - (char *)s->memory.data);
  return copy;
}

static inline int same_memory(const signal *a, const signal *b) {
  return a->memory.bytes == 0 || memcmp(a->memory.data, b->memory.data, a->memory.bytes) == 0;
}

#endif
