/* SPDX-License-Identifier: MIT */
/*
 * stats.c - merges parts and derives statistics; and the plain scalar reference, with which the vectorised
 * version (stats_cpu.c) and the CUDA version are compared.
 */
#include "filters/stats/stats.h"

#include <math.h>
#include <string.h>

#include "filters/base/codes.h"
#include "filters/stats/stats_math.h"

__extension__ typedef unsigned __int128 uint128;
__extension__ typedef __int128 int128;

/* Target for samples of a channel per block: enough that the size of its part does not matter, few enough
 * that threads and chunks can be cut between blocks. */
#define BLOCK_SAMPLES 16384
/* A chunk consists of whole blocks: with more channels than this blocks are shorter, down to one chunk of
 * the sums, so that a spectrum's thousand channels do not make chunks of hundreds of megabytes. */
#define FEW_CHANNELS 16

int64_t fc_stats_align(int kind, int64_t columns, int64_t channels) {
  int64_t samples = BLOCK_SAMPLES;
  if (channels > FEW_CHANNELS) samples = BLOCK_SAMPLES * FEW_CHANNELS / channels;
  if (samples < FC_STATS_CHUNK) samples = FC_STATS_CHUNK;
  if (kind == FC_AUDIO) return samples;
  return columns < 1 || columns >= samples ? 1 : samples / columns;
}

/* ---- merging ---------------------------------------------------------- */

fc_stats_part fc_stats_merge(const fc_stats_part *a, const fc_stats_part *b) {
  return fc_stats_part_merge(a, b);
}

fc_stats_part fc_stats_none(void) {
  return fc_stats_part_none();
}

void fc_stats_push(fc_stats_tree *tree, const fc_stats_part *next) {
  fc_stats_part carry = *next;
  int level = 0;
  /* Like adding 1 to a binary number: full digits are merged and carried. */
  for (; tree->count >> level & 1; level++) carry = fc_stats_part_merge(&tree->level[level], &carry);
  tree->level[level] = carry;
  tree->count++;
}

fc_stats_part fc_stats_total(const fc_stats_tree *tree) {
  fc_stats_part total = fc_stats_part_none();
  int any = 0;
  for (int level = 0; level < 64; level++) {
    if (!(tree->count >> level & 1)) continue;
    total = any ? fc_stats_part_merge(&tree->level[level], &total) : tree->level[level];
    any = 1;
  }
  return total;
}

/* ---- results ---------------------------------------------------------- */

static int128 sum_of(const fc_stats_part *p) {
  return (int128)((uint128)p->sum_high << 64 | p->sum_low);
}

static uint128 squares_of(const fc_stats_part *p) {
  return (uint128)p->squares_high << 64 | p->squares_low;
}

/*
 * Squared deviations of integers. Relative to q, the integer nearest to the mean, the sum is r, |r| <= n/2,
 * and the sum of squares at least |r|: subtracting r^2/n <= |r|/2 loses at most a bit, so doubles suffice
 * from there on.
 */
static double spread_of_codes(const fc_stats_part *p) {
  int128 n = (int128)p->finite, sum = sum_of(p), q = sum / n;
  int128 r = sum - q * n;
  if (2 * r > n) q++, r -= n;
  if (2 * r < -n) q--, r += n;
  int128 squares = (int128)squares_of(p) - q * (sum + r);
  return (double)squares - (double)r * ((double)r / (double)n);
}

static fc_stats_result results_of_codes(const fc_stats_part *p, double scale) {
  const double n = (double)p->finite;
  fc_stats_result r = {.sum = (double)sum_of(p) * scale, .squares = (double)squares_of(p) * scale * scale};
  r.mean = (double)sum_of(p) / n * scale;
  r.rms = sqrt((double)squares_of(p) / n) * scale;
  r.var = p->finite ? spread_of_codes(p) / n * scale * scale : NAN;
  r.least = p->least * scale, r.most = p->most * scale;
  return r;
}

fc_stats_result fc_stats_results(const fc_stats_part *p, int kind, int dtype) {
  const double n = (double)p->finite;
  fc_stats_result r;
  if (fc_dtype_is_float(dtype))
    r = (fc_stats_result){.sum = p->sum,
                          .squares = p->squares,
                          .mean = p->sum / n,
                          .rms = sqrt(p->squares / n),
                          .var = p->spread / n,
                          .least = p->least,
                          .most = p->most};
  else
    r = results_of_codes(p, fc_scaling_of(kind, dtype).scale);
  r.count = (double)(p->finite + p->nan + p->inf);
  r.std = sqrt(r.var);
  r.peak = fmax(fabs(r.least), fabs(r.most));
  if (!p->finite) r.least = r.most = r.peak = NAN;
  return r;
}

static void write_decimal(uint128 v, int negative, char text[FC_STATS_DIGITS]) {
  char digits[FC_STATS_DIGITS];
  int n = 0;
  do digits[n++] = (char)('0' + (int)(v % 10));
  while (v /= 10);
  if (negative) *text++ = '-';
  while (n > 0) *text++ = digits[--n];
  *text = 0;
}

void fc_stats_exact_sum(const fc_stats_part *p, char text[FC_STATS_DIGITS]) {
  int128 sum = sum_of(p);
  write_decimal(sum < 0 ? -(uint128)sum : (uint128)sum, sum < 0, text);
}

void fc_stats_exact_squares(const fc_stats_part *p, char text[FC_STATS_DIGITS]) {
  write_decimal(squares_of(p), 0, text);
}

/* ---- reference -------------------------------------------------------- */

/* The samples of one block in the view's coordinates, one channel. */
typedef struct stretch {
  const fc_view *in;
  int64_t n, c, x0, x1, y0, y1;
} stretch;

static void add_code(fc_stats_part *p, int32_t code) {
  uint64_t square = (uint64_t)((int64_t)code * code);
  p->finite++;
  p->least = fmin(p->least, code), p->most = fmax(p->most, code);
  fc_stats_add_wide(&p->sum_low, &p->sum_high, (uint64_t)(int64_t)code, code < 0 ? UINT64_MAX : 0);
  fc_stats_add_wide(&p->squares_low, &p->squares_high, square, 0);
}

static void add_value(fc_stats_part *p, double v) {
  if (isnan(v))
    p->nan++;
  else if (isinf(v))
    p->inf++;
  else {
    p->finite++;
    p->sum += v, p->squares += v * v;
    p->least = fmin(p->least, v), p->most = fmax(p->most, v);
  }
}

static double value_at(const stretch *s, int64_t y, int64_t x) {
  double v;
  fc_load_f64(&v, fc_view_at(s->in, s->n, y, x, s->c), 0, 1, s->in->kind, s->in->dtype);
  return v;
}

static fc_stats_part measure_stretch(const stretch *s) {
  fc_stats_part p = fc_stats_part_none();
  int floats = fc_dtype_is_float(s->in->dtype);
  for (int64_t y = s->y0; y < s->y1; y++)
    for (int64_t x = s->x0; x < s->x1; x++) {
      int32_t code = 0;
      if (floats)
        add_value(&p, value_at(s, y, x));
      else {
        fc_codes_load(&code, fc_view_at(s->in, s->n, y, x, s->c), 0, 1, s->in->kind, s->in->dtype);
        add_code(&p, code);
      }
    }
  for (int64_t y = s->y0; floats && y < s->y1; y++)
    for (int64_t x = s->x0; x < s->x1; x++) {
      double apart = value_at(s, y, x) - p.sum / (double)p.finite;
      if (isfinite(value_at(s, y, x))) p.spread += apart * apart;
    }
  return p;
}

fc_status fc_stats_ref(const fc_view *in, int64_t align, void *blocks, int64_t frame_bytes) {
  const int along = in->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y;
  const int64_t length = in->shape[along], channels = in->shape[FC_AXIS_C];
  for (int64_t n = 0; n < in->shape[FC_AXIS_N]; n++) {
    char *to = (char *)blocks + n * frame_bytes;
    for (int64_t i = 0; i < length; i += align) {
      int64_t end = i + align < length ? i + align : length;
      fc_stats_block head = {(uint32_t)channels, in->kind, in->dtype, 0};
      memcpy(to, &head, sizeof head);
      for (int64_t c = 0; c < channels; c++) {
        stretch s = {in, n, c, 0, in->shape[FC_AXIS_X], 0, in->shape[FC_AXIS_Y]};
        if (along == FC_AXIS_X)
          s.x0 = i, s.x1 = end;
        else
          s.y0 = i, s.y1 = end;
        fc_stats_part p = measure_stretch(&s);
        memcpy(to + sizeof head + (size_t)c * sizeof p, &p, sizeof p);
      }
      to += fc_stats_block_bytes(channels);
    }
  }
  return FC_OK;
}
