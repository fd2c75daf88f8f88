/* SPDX-License-Identifier: MIT */
/*
 * pointwise.c - the reference, and the loops of the vectorised version: lines in tiles that stay in the
 * first-level cache, converted into scratch, processed, and converted back; without conversion if the views
 * have the compute type.
 */
#include "filters/pointwise/pointwise.h"

#include <math.h>
#include <string.h>

#include "filters/base/lines.h"
#include "filters/pointwise/curve.h"
#include "filters/pointwise/pointwise_kernels.h"

/* ---- reference ------------------------------------------------------------ */

static double number_at(const void *numbers, int compute, int64_t i) {
  return compute == FC_F64 ? ((const double *)numbers)[i] : (double)((const float *)numbers)[i];
}

static double rounded(double v, int compute) {
  return compute == FC_F64 ? v : (double)(float)v;
}

static double affine(const fc_pointwise *p, double v, int64_t channel) {
  const double factor = p->factors ? number_at(p->factors, p->compute, 2 * channel) : p->factor;
  const double add = p->factors ? number_at(p->factors, p->compute, 2 * channel + 1) : p->to;
  return p->compute == FC_F64 ? fma(v, factor, add) : (double)fmaf((float)v, (float)factor, (float)add);
}

/* The single definition, in either type. */
static double curve(const fc_pointwise *p, double v) {
  const int power = p->exponent != 1;
  if (p->compute == FC_F64)
    return fc_curve_value_f64(v, p->from, p->factor, p->high, p->exponent, p->span, p->to, power);
  return (double)fc_curve_value_f32((float)v, (float)p->from, (float)p->factor, (float)p->high,
                                    (float)p->exponent, (float)p->span, (float)p->to, power);
}

static double apply(const fc_pointwise *p, double v, int64_t frame, int64_t channel) {
  double factor = rounded(p->factor, p->compute), from = rounded(p->from, p->compute);
  switch (p->form) {
  case FC_POINTWISE_SCALE: return v * (p->factors ? number_at(p->factors, p->compute, channel) : factor);
  case FC_POINTWISE_MAP:
    if (p->frames) {
      from = number_at(p->frames, p->compute, 2 * frame);
      factor = number_at(p->frames, p->compute, 2 * frame + 1);
    }
    return (v - from) * factor + rounded(p->to, p->compute);
  case FC_POINTWISE_CLAMP:
    if (v < rounded(p->low, p->compute)) return rounded(p->low, p->compute);
    return v > rounded(p->high, p->compute) ? rounded(p->high, p->compute) : v;
  case FC_POINTWISE_AFFINE: return affine(p, v, channel);
  case FC_POINTWISE_CURVE: return curve(p, v);
  case FC_POINTWISE_THRESHOLD:
    return fc_threshold_value_f64(v, rounded(p->from, p->compute), rounded(p->high, p->compute),
                                  rounded(p->low, p->compute), p->keeps);
  default: return v;
  }
}

fc_status fc_pointwise_ref(const fc_pointwise *p, const fc_view *in, const fc_view *out, uint32_t *notes) {
  int64_t at[FC_AXES] = {0};
  for (int64_t left = fc_view_count(out); left > 0; left--, fc_advance(out, at)) {
    double v;
    fc_load_f64(&v, fc_view_at(in, at[0], at[1], at[2], at[3]), 0, 1, in->kind, in->dtype);
    v = rounded(apply(p, rounded(v, p->compute), at[0], at[3]), p->compute);
    fc_store_f64(fc_view_at(out, at[0], at[1], at[2], at[3]), 0, &v, 1, out->kind, out->dtype, notes);
  }
  return FC_OK;
}

/* ---- tables ---------------------------------------------------------------- */

int fc_pointwise_wants_table(const fc_pointwise *p, int dtype) {
  return p->form == FC_POINTWISE_CURVE && p->exponent != 1 && (dtype == FC_U8 || dtype == FC_U16);
}

int64_t fc_pointwise_codes(int dtype) {
  return dtype == FC_U8 ? 256 : 65536;
}

void fc_pointwise_table(const fc_pointwise *p, int kind, int dtype, void *table) {
  const fc_scaling map = fc_scaling_of(kind, dtype);
  for (int64_t code = 0; code < fc_pointwise_codes(dtype); code++) {
    const double v = apply(p, ((double)code - map.bias) * map.scale, 0, 0);
    if (p->compute == FC_F64)
      ((double *)table)[code] = v;
    else
      ((float *)table)[code] = (float)v;
  }
}

/* ---- vectorised ------------------------------------------------------------- */

#define TILE 2048 /* elements: input, output, factors and terms of one are 32 KiB in f32 */

size_t fc_pointwise_cpu_scratch(const fc_pointwise *p) {
  return 4 * TILE * fc_dtype_size(p->compute);
}

/* Constant throughout a call. */
typedef struct walk {
  const fc_pointwise *p;
  const fc_pointwise_kernels *kernels;
  const fc_samples_kernels *samples;
  int in_dtype, out_dtype;
  fc_scaling in_map, out_map;
  int64_t size;                   /* bytes of the compute type */
  char *input, *output, *pattern; /* scratch, a tile each */
  int in_direct, out_direct;      /* dense lines can be processed in place */
  int of_bytes;                   /* affine, of codes of 8 bits that are their values, in f32 */
  int64_t tile;
  uint32_t *notes;
} walk;

/* The numbers of one line: doubles hold floats exactly. */
typedef struct numbers {
  double from, factor, to;
  int each; /* use factors and terms from the pattern */
} numbers;

static void load(const walk *w, char *to, const char *from, int64_t stride, int64_t count) {
  if (w->p->compute == FC_F64)
    w->samples->load_f64[w->in_dtype]((double *)to, from, stride, count, w->in_map);
  else
    w->samples->load_f32[w->in_dtype]((float *)to, from, stride, count, w->in_map);
}

static void store(const walk *w, char *to, int64_t stride, const char *from, int64_t count) {
  if (w->p->compute == FC_F64)
    w->samples->store_f64[w->out_dtype](to, stride, (const double *)from, count, w->out_map, w->notes);
  else
    w->samples->store_f32[w->out_dtype](to, stride, (const float *)from, count, w->out_map, w->notes);
}

static void compute_f32(const walk *w, float *to, const float *from, int64_t count, numbers n) {
  const fc_pointwise *p = w->p;
  const float *each = (const float *)w->pattern;
  switch (p->form) {
  case FC_POINTWISE_SCALE:
    if (n.each)
      w->kernels->scale_each_f32(to, from, count, each);
    else
      w->kernels->scale_f32(to, from, count, (float)n.factor);
    break;
  case FC_POINTWISE_AFFINE:
    if (n.each)
      w->kernels->affine_each_f32(to, from, count, each, each + TILE);
    else
      w->kernels->affine_f32(to, from, count, (float)n.factor, (float)n.to);
    break;
  case FC_POINTWISE_MAP:
    w->kernels->map_f32(to, from, count, (float)n.from, (float)n.factor, (float)p->to);
    break;
  case FC_POINTWISE_CURVE: w->kernels->curve_f32(to, from, count, p); break;
  case FC_POINTWISE_THRESHOLD: w->kernels->threshold_f32(to, from, count, p); break;
  default: w->kernels->clamp_f32(to, from, count, (float)p->low, (float)p->high);
  }
}

static void compute_f64(const walk *w, double *to, const double *from, int64_t count, numbers n) {
  const fc_pointwise *p = w->p;
  const double *each = (const double *)w->pattern;
  switch (p->form) {
  case FC_POINTWISE_SCALE:
    if (n.each)
      w->kernels->scale_each_f64(to, from, count, each);
    else
      w->kernels->scale_f64(to, from, count, n.factor);
    break;
  case FC_POINTWISE_AFFINE:
    if (n.each)
      w->kernels->affine_each_f64(to, from, count, each, each + TILE);
    else
      w->kernels->affine_f64(to, from, count, n.factor, n.to);
    break;
  case FC_POINTWISE_MAP: w->kernels->map_f64(to, from, count, n.from, n.factor, p->to); break;
  case FC_POINTWISE_CURVE: w->kernels->curve_f64(to, from, count, p); break;
  case FC_POINTWISE_THRESHOLD: w->kernels->threshold_f64(to, from, count, p); break;
  default: w->kernels->clamp_f64(to, from, count, p->low, p->high);
  }
}

/* The results of codes, from the table. */
static void look_up(const walk *w, char *to, const char *from, int64_t step, int64_t count) {
  const fc_pointwise_kernels *k = w->kernels;
  const int single = w->p->compute == FC_F32;
  if (w->in_dtype == FC_U8 && single)
    k->look_up_u8_f32((float *)to, from, step, count, w->p->table);
  else if (w->in_dtype == FC_U8)
    k->look_up_u8_f64((double *)to, from, step, count, w->p->table);
  else if (single)
    k->look_up_u16_f32((float *)to, from, step, count, w->p->table);
  else
    k->look_up_u16_f64((double *)to, from, step, count, w->p->table);
}

static void filter_line(const walk *w, const char *from, int64_t in_step, char *to, int64_t out_step,
                        int64_t length, numbers n) {
  for (int64_t i = 0; i < length; i += w->tile) {
    int64_t count = length - i < w->tile ? length - i : w->tile;
    const char *in = from + i * in_step;
    char *out = to + i * out_step;
    int direct = w->out_direct && out_step == w->size;
    char *made = direct ? out : w->output;
    if (w->p->table) {
      look_up(w, made, in, in_step, count);
      if (!direct) store(w, out, out_step, made, count);
      continue;
    }
    if (n.each && w->of_bytes && in_step == 1) {
      const float *each = (const float *)w->pattern;
      w->kernels->affine_each_bytes((float *)made, (const uint8_t *)in, count, each, each + TILE);
      if (!direct) store(w, out, out_step, made, count);
      continue;
    }
    if (!w->in_direct || in_step != w->size) {
      load(w, w->input, in, in_step, count);
      in = w->input;
    }
    if (w->p->form == FC_POINTWISE_COPY) {
      store(w, out, out_step, in, count);
      continue;
    }
    if (w->p->compute == FC_F64)
      compute_f64(w, (double *)made, (const double *)in, count, n);
    else
      compute_f32(w, (float *)made, (const float *)in, count, n);
    if (!direct) store(w, out, out_step, made, count);
  }
}

static numbers numbers_of(const fc_pointwise *p, int64_t frame, int64_t channel) {
  numbers n = {p->from, p->factor, p->to, 0};
  if (p->form == FC_POINTWISE_SCALE && p->factors) n.factor = number_at(p->factors, p->compute, channel);
  if (p->form == FC_POINTWISE_AFFINE && p->factors) {
    n.factor = number_at(p->factors, p->compute, 2 * channel);
    n.to = number_at(p->factors, p->compute, 2 * channel + 1);
  }
  if (p->form == FC_POINTWISE_MAP && p->frames) {
    n.from = number_at(p->frames, p->compute, 2 * frame);
    n.factor = number_at(p->frames, p->compute, 2 * frame + 1);
  }
  return n;
}

/* `each` repeats from `channels` on. */
static void repeat(char *each, int64_t channels, int64_t count, int64_t size) {
  for (int64_t n = channels; n < count; n *= 2)
    memcpy(each + n * size, each, (size_t)((2 * n < count ? n : count - n) * size));
}

/* The factors of interleaved channels, repeated, followed by their terms; a tile consists of whole groups. */
static void fill_pattern(walk *w, int64_t channels) {
  const int pairs = w->p->form == FC_POINTWISE_AFFINE;
  w->tile = TILE - TILE % channels;
  for (int part = 0; part <= pairs; part++) {
    char *each = w->pattern + part * TILE * w->size;
    for (int64_t i = 0; i < channels; i++) {
      const double number = number_at(w->p->factors, w->p->compute, pairs ? 2 * i + part : i);
      if (w->p->compute == FC_F64)
        ((double *)each)[i] = number;
      else
        ((float *)each)[i] = (float)number;
    }
    repeat(each, channels, w->tile, w->size);
  }
}

static walk walk_of(const fc_pointwise *p, const fc_view *in, const fc_view *out, char *scratch,
                    uint32_t *notes) {
  int64_t size = (int64_t)fc_dtype_size(p->compute);
  int apart = in->data != out->data; /* the kernels' rows may not overlap */
  walk w = {
      .p = p,
      .kernels = FC_ISA_PICK(fc_pointwise_kernels, p->isa),
      .samples = fc_samples_kernels_of(p->isa),
      .in_dtype = in->dtype,
      .out_dtype = out->dtype,
      .in_map = fc_scaling_of(in->kind, in->dtype),
      .out_map = fc_scaling_of(out->kind, out->dtype),
      .size = size,
      .input = scratch,
      .output = scratch + TILE * size,
      .pattern = scratch + 2 * TILE * size,
      .in_direct = apart && in->dtype == p->compute,
      .out_direct = apart && out->dtype == p->compute,
      .of_bytes = apart && p->form == FC_POINTWISE_AFFINE && p->compute == FC_F32 && in->dtype == FC_U8 &&
                  in->kind != FC_AUDIO,
      .tile = TILE,
      .notes = notes,
  };
  return w;
}

/* ---- bytes to bytes ------------------------------------------------------ */

typedef struct byte_step {
  int level;
  uint8_t kept[2], set[2]; /* for codes that are not above the level, and for those that are */
} byte_step;

static int is_code(double v) {
  return v >= 0 && v <= 255 && v == (double)(int)v;
}

/* Whether it is a threshold on codes that equal their values. */
static int byte_step_of(const fc_pointwise *p, const fc_view *in, const fc_view *out, byte_step *s) {
  if (p->form != FC_POINTWISE_THRESHOLD || in->dtype != FC_U8 || out->dtype != FC_U8 ||
      in->kind == FC_AUDIO || out->kind == FC_AUDIO || (!p->keeps && (!is_code(p->low) || !is_code(p->high))))
    return 0;
  *s = (byte_step){.level = -1};
  while (s->level < 255 && !((double)(s->level + 1) > rounded(p->from, p->compute))) s->level++;
  s->kept[0] = p->keeps == FC_POINTWISE_KEEPS_BELOW ? 255 : 0,
  s->kept[1] = p->keeps == FC_POINTWISE_KEEPS_ABOVE ? 255 : 0;
  if (!p->keeps) s->set[0] = (uint8_t)p->low, s->set[1] = (uint8_t)p->high;
  if (s->level < 0) s->level = 0, s->kept[0] = s->kept[1], s->set[0] = s->set[1];
  return 1;
}

/* The table of a curve from bytes to bytes; not if a code is stored with a note. */
static int byte_table_of(walk *w, const fc_view *in, const fc_view *out, uint8_t table[256]) {
  uint8_t codes[256];
  uint32_t none[2] = {0, 0}, *notes = w->notes;
  if (!w->p->table || in->dtype != FC_U8 || out->dtype != FC_U8) return 0;
  for (int i = 0; i < 256; i++) codes[i] = (uint8_t)i;
  w->notes = none;
  look_up(w, w->output, (const char *)codes, 1, 256);
  store(w, (char *)table, 1, w->output, 256);
  w->notes = notes;
  return !none[0] && !none[1];
}

/* Bytes by a step, or by a table. */
static void byte_lines(const fc_pointwise_kernels *k, const byte_step *s, const uint8_t *table,
                       const fc_view *in, const fc_view *out) {
  fc_lines l = fc_lines_of(in, out, 1);
  fc_lines_merge(&l, in, out, 1);
  for (int64_t f = 0; f < l.frames; f++)
    for (int64_t y = 0; y < l.rows; y++)
      for (int64_t c = 0; c < l.channels; c++) {
        const uint8_t *from = fc_view_at(in, f, y, 0, c);
        uint8_t *to = fc_view_at(out, f, y, 0, c);
        const int64_t whole = l.in_step == 1 && l.out_step == 1 ? l.length : 1;
        for (int64_t i = 0; i < l.length; i += whole)
          if (table)
            k->look_up_bytes(to + i * l.out_step, from + i * l.in_step, whole, table);
          else
            k->step_bytes(to + i * l.out_step, from + i * l.in_step, whole, s->level, s->kept, s->set);
      }
}

/* ---- all ---------------------------------------------------------------------------- */

fc_status fc_pointwise_cpu(const fc_pointwise *p, const fc_view *in, const fc_view *out, void *scratch,
                           uint32_t *notes) {
  byte_step step;
  if (byte_step_of(p, in, out, &step)) {
    byte_lines(FC_ISA_PICK(fc_pointwise_kernels, p->isa), &step, NULL, in, out);
    return FC_OK;
  }
  walk w = walk_of(p, in, out, scratch, notes);
  uint8_t table[256];
  if (byte_table_of(&w, in, out, table)) {
    byte_lines(w.kernels, NULL, table, in, out);
    return FC_OK;
  }
  int64_t channels = out->shape[FC_AXIS_C];
  int varies =
      (p->form == FC_POINTWISE_SCALE || p->form == FC_POINTWISE_AFFINE) && p->factors && channels > 1;
  fc_lines l = fc_lines_of(in, out, !varies || channels <= TILE / 2);
  int each = varies && l.channels == 1;
  if (each) fill_pattern(&w, channels);
  for (int64_t f = 0; f < l.frames; f++)
    for (int64_t y = 0; y < l.rows; y++)
      for (int64_t c = 0; c < l.channels; c++) {
        numbers n = numbers_of(p, f, c);
        n.each = each;
        filter_line(&w, fc_view_at(in, f, y, 0, c), l.in_step, fc_view_at(out, f, y, 0, c), l.out_step,
                    l.length, n);
      }
  return FC_OK;
}
