/* SPDX-License-Identifier: MIT */
/*
 * samples_kernels.c - the loops of samples.h, for one instruction set.
 *
 * Loading is value = (code - bias) * scale, exact where the value fits: the bias is an integer and the scale
 * a power of two. Storing multiplies by the inverse, rounds, clamps, and adds the bias last, as an integer:
 * adding it before rounding would round twice.
 *
 * Rounding half to even is by the magic number 1.5 * 2^(mantissa bits), below which adding and subtracting
 * leaves the nearest integer: it needs no rounding instruction (SSE2 has none, and would call libm for each
 * sample) and is the same to the bit in every build. Values are first clamped to one beyond the range, so
 * that they are small enough for this.
 */
#include <string.h>

#include "core/contract/rows_table.h"
#include "filters/base/isa.h"
#include "filters/base/samples.h"
#include "filters/base/threes.h"

FC_ISA_DECLARE(fc_samples_kernels, fc_samples_kernels);

/* Each loop is written once and compiled for adjacent elements, where it becomes
 * vectors, and for any other stride. */
#define AT(T, base, i, stride) (*(T *)((char *)(base) + (i) * (stride)))

#define DEFINE_LOAD(T, F)                                                                                    \
  static inline void load_loop_##F##_##T(F *restrict to, const void *restrict from, int64_t stride,          \
                                         int64_t count, F scale, F bias) {                                   \
    for (int64_t i = 0; i < count; i++) to[i] = ((F)AT(const T, from, i, stride) - bias) * scale;            \
  }                                                                                                          \
  static void load_##F##_##T(F *to, const void *from, int64_t stride, int64_t count, fc_scaling map) {       \
    if (stride == (int64_t)sizeof(T))                                                                        \
      load_loop_##F##_##T(to, from, sizeof(T), count, (F)map.scale, (F)map.bias);                            \
    else                                                                                                     \
      load_loop_##F##_##T(to, from, stride, count, (F)map.scale, (F)map.bias);                               \
  }

/* Floating-point elements are not scaled in any kind. */
#define DEFINE_LOAD_FLOAT(T, F)                                                                              \
  static void load_##F##_##T(F *restrict to, const void *restrict from, int64_t stride, int64_t count,       \
                             fc_scaling map) {                                                               \
    (void)map;                                                                                               \
    if (stride == (int64_t)sizeof(T))                                                                        \
      for (int64_t i = 0; i < count; i++) to[i] = (F)AT(const T, from, i, (int64_t)sizeof(T));               \
    else                                                                                                     \
      for (int64_t i = 0; i < count; i++) to[i] = (F)AT(const T, from, i, stride);                           \
  }                                                                                                          \
  static void store_##F##_##T(void *restrict to, int64_t stride, const F *restrict from, int64_t count,      \
                              fc_scaling map, uint32_t *notes) {                                             \
    (void)map, (void)notes;                                                                                  \
    if (stride == (int64_t)sizeof(T))                                                                        \
      for (int64_t i = 0; i < count; i++) AT(T, to, i, (int64_t)sizeof(T)) = (T)from[i];                     \
    else                                                                                                     \
      for (int64_t i = 0; i < count; i++) AT(T, to, i, stride) = (T)from[i];                                 \
  }

/* The bits of floats that are not negative have the order of the floats. */
static void note_most(uint32_t *to, float excess) {
  uint32_t bits, seen = __atomic_load_n(to, __ATOMIC_RELAXED);
  memcpy(&bits, &excess, sizeof bits);
  while (bits > seen &&
         !__atomic_compare_exchange_n(to, &seen, bits, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

static void note_count(uint32_t *to, uint32_t count) {
  uint32_t seen = __atomic_load_n(to, __ATOMIC_RELAXED), sum;
  do sum = count > UINT32_MAX - seen ? UINT32_MAX : seen + count;
  while (!__atomic_compare_exchange_n(to, &seen, sum, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

static void note_clipped(uint32_t *notes, uint32_t count, float above, float below) {
  note_count(&notes[FC_COUNTED], count);
  /* A half is rounded to even: beyond the highest code, which is odd, but not below the lowest. */
  if (above >= 0.5f) note_most(&notes[FC_COUNTED_ABOVE], above);
  if (below > 0.5f) note_most(&notes[FC_COUNTED_BELOW], below);
}

/*
 * R is the type in which rounding is done: F, but double for i32, whose largest value a float cannot
 * represent. `low` and `high` are the limits less the bias.
 *
 * What is to be noted is gathered as integers, which costs less than a comparison for each
 * sample: the largest magnitude, which shows a NaN, and what clamping has changed. A run with a
 * NaN in it is stored again by the loop that sees to them, and one in which something was clipped is gone
 * through once more to count, if that is wanted: signals that are not clipped pay nothing for it. */
#define STORE_RUN 1024

#define DEFINE_STORE(T, F, R, BITS, MAGIC)                                                                   \
  static inline int store_loop_##F##_##T(void *restrict to, int64_t stride, const F *restrict from,          \
                                         int64_t count, R inverse, R low, R high, int32_t bias) {            \
    BITS largest = 0, changed = 0;                                                                           \
    for (int64_t i = 0; i < count; i++) {                                                                    \
      R v = (R)from[i] * inverse;                                                                            \
      BITS bits, before, after;                                                                              \
      memcpy(&bits, &v, sizeof bits);                                                                        \
      bits &= MAGNITUDE_##BITS;                                                                              \
      largest = bits > largest ? bits : largest;                                                             \
      v = v < low - 1 ? low - 1 : v;                                                                         \
      v = v > high + 1 ? high + 1 : v;                                                                       \
      R r = (v + (R)MAGIC) - (R)MAGIC;                                                                       \
      memcpy(&before, &r, sizeof before);                                                                    \
      r = r > low ? r : low; /* also for a NaN, which is detected below but must not be converted */         \
      r = r > high ? high : r;                                                                               \
      memcpy(&after, &r, sizeof after);                                                                      \
      changed |= before ^ after;                                                                             \
      AT(T, to, i, stride) = (T)((int32_t)r + bias);                                                         \
    }                                                                                                        \
    return largest > INFINITE_##BITS ? -1 : changed != 0;                                                    \
  }                                                                                                          \
  static void note_run_##F##_##T(const F *restrict from, int64_t count, R inverse, R low, R high,            \
                                 uint32_t *notes) {                                                          \
    BITS above = 0, below = 0, beyond = 0;                                                                   \
    R most_above, most_below;                                                                                \
    if (!notes) return;                                                                                      \
    if (__atomic_load_n(&notes[1], __ATOMIC_RELAXED) != FC_COUNTING) {                                       \
      __atomic_store_n(&notes[1], 1, __ATOMIC_RELAXED);                                                      \
      return;                                                                                                \
    }                                                                                                        \
    for (int64_t i = 0; i < count; i++) {                                                                    \
      R v = (R)from[i] * inverse, over = v - high, under = low - v;                                          \
      BITS bits;                                                                                             \
      over = over > 0 ? over : 0, under = under > 0 ? under : 0;                                             \
      memcpy(&bits, &over, sizeof bits);                                                                     \
      above = bits > above ? bits : above;                                                                   \
      memcpy(&bits, &under, sizeof bits);                                                                    \
      below = bits > below ? bits : below;                                                                   \
      v = v < low - 1 ? low - 1 : v;                                                                         \
      v = v > high + 1 ? high + 1 : v;                                                                       \
      R r = (v + (R)MAGIC) - (R)MAGIC;                                                                       \
      beyond += (r < low) | (r > high);                                                                      \
    }                                                                                                        \
    memcpy(&most_above, &above, sizeof above);                                                               \
    memcpy(&most_below, &below, sizeof below);                                                               \
    note_clipped(notes, (uint32_t)beyond, (float)most_above, (float)most_below);                             \
  }                                                                                                          \
  static void store_nans_##F##_##T(void *restrict to, int64_t stride, const F *restrict from, int64_t count, \
                                   R inverse, R low, R high, int32_t bias, uint32_t *notes) {                \
    for (int64_t i = 0; i < count; i++) {                                                                    \
      F zero = 0;                                                                                            \
      int nan = from[i] != from[i];                                                                          \
      if (store_loop_##F##_##T((char *)to + i * stride, stride, nan ? &zero : from + i, 1, inverse, low,     \
                               high, bias))                                                                  \
        note_run_##F##_##T(from + i, 1, inverse, low, high, notes);                                          \
      if (nan && notes) __atomic_store_n(&notes[0], 1, __ATOMIC_RELAXED);                                    \
    }                                                                                                        \
  }                                                                                                          \
  static void store_##F##_##T(void *to, int64_t stride, const F *from, int64_t count, fc_scaling map,        \
                              uint32_t *notes) {                                                             \
    R inverse = (R)(1.0 / map.scale), low = (R)(LOWEST_##T - map.bias), high = (R)(HIGHEST_##T - map.bias);  \
    for (int64_t i = 0, n; i < count; i += n) {                                                              \
      n = count - i < STORE_RUN ? count - i : STORE_RUN;                                                     \
      char *out = (char *)to + i * stride;                                                                   \
      int seen =                                                                                             \
          stride == (int64_t)sizeof(T)                                                                       \
              ? store_loop_##F##_##T(out, sizeof(T), from + i, n, inverse, low, high, (int32_t)map.bias)     \
              : store_loop_##F##_##T(out, stride, from + i, n, inverse, low, high, (int32_t)map.bias);       \
      if (seen < 0)                                                                                          \
        store_nans_##F##_##T(out, stride, from + i, n, inverse, low, high, (int32_t)map.bias, notes);        \
      else if (seen > 0)                                                                                     \
        note_run_##F##_##T(from + i, n, inverse, low, high, notes);                                          \
    }                                                                                                        \
  }

/* Bit patterns of floats: all bits except the sign; and infinity, above which are the NaNs. */
#define MAGNITUDE_int32_t 0x7fffffff
#define INFINITE_int32_t  0x7f800000
#define MAGNITUDE_int64_t 0x7fffffffffffffff
#define INFINITE_int64_t  0x7ff0000000000000

#define LOWEST_uint8_t   0.0
#define HIGHEST_uint8_t  255.0
#define LOWEST_int16_t   -32768.0
#define HIGHEST_int16_t  32767.0
#define LOWEST_uint16_t  0.0
#define HIGHEST_uint16_t 65535.0
#define LOWEST_int32_t   -2147483648.0
#define HIGHEST_int32_t  2147483647.0

#define MAGIC_FLOAT  0x1.8p23
#define MAGIC_DOUBLE 0x1.8p52

DEFINE_LOAD(uint8_t, float)
DEFINE_LOAD(int16_t, float)
DEFINE_LOAD(uint16_t, float)
DEFINE_LOAD(int32_t, float)
DEFINE_LOAD(uint8_t, double)
DEFINE_LOAD(int16_t, double)
DEFINE_LOAD(uint16_t, double)
DEFINE_LOAD(int32_t, double)

DEFINE_STORE(uint8_t, float, float, int32_t, MAGIC_FLOAT)
DEFINE_STORE(int16_t, float, float, int32_t, MAGIC_FLOAT)
DEFINE_STORE(uint16_t, float, float, int32_t, MAGIC_FLOAT)
DEFINE_STORE(int32_t, float, double, int64_t, MAGIC_DOUBLE)
DEFINE_STORE(uint8_t, double, double, int64_t, MAGIC_DOUBLE)
DEFINE_STORE(int16_t, double, double, int64_t, MAGIC_DOUBLE)
DEFINE_STORE(uint16_t, double, double, int64_t, MAGIC_DOUBLE)
DEFINE_STORE(int32_t, double, double, int64_t, MAGIC_DOUBLE)

DEFINE_LOAD_FLOAT(float, float)
DEFINE_LOAD_FLOAT(double, float)
DEFINE_LOAD_FLOAT(float, double)
DEFINE_LOAD_FLOAT(double, double)

/* The number of channels is constant where this is inlined, so that bytes are transposed in vectors. */
#define DEFINE_SPLIT(N)                                                                                      \
  static void split_##N(uint8_t *restrict to, int64_t apart, const uint8_t *restrict from, int64_t count) {  \
    uint8_t *restrict a = to, *restrict b = to + apart, *restrict c = to + (N > 2 ? 2 : 1) * apart,          \
                      *restrict d = to + (N > 3 ? 3 : 1) * apart;                                            \
    for (int64_t i = 0; i < count; i++) {                                                                    \
      a[i] = from[N * i], b[i] = from[N * i + 1];                                                            \
      if (N > 2) c[i] = from[N * i + (N > 2 ? 2 : 0)];                                                       \
      if (N > 3) d[i] = from[N * i + (N > 3 ? 3 : 0)];                                                       \
    }                                                                                                        \
  }                                                                                                          \
  static void join_##N(uint8_t *restrict to, const uint8_t *restrict from, int64_t apart, int64_t count) {   \
    const uint8_t *a = from, *b = from + apart, *c = from + (N > 2 ? 2 : 1) * apart,                         \
                  *d = from + (N > 3 ? 3 : 1) * apart;                                                       \
    for (int64_t i = 0; i < count; i++) {                                                                    \
      to[N * i] = a[i], to[N * i + 1] = b[i];                                                                \
      if (N > 2) to[N * i + (N > 2 ? 2 : 0)] = c[i];                                                         \
      if (N > 3) to[N * i + (N > 3 ? 3 : 0)] = d[i];                                                         \
    }                                                                                                        \
  }
DEFINE_SPLIT(2)
DEFINE_SPLIT(4)

static void split_bytes(uint8_t *to, int64_t apart, const uint8_t *from, int channels, int64_t count) {
  switch (channels) {
  case 2: split_2(to, apart, from, count); break;
  case 3: fc_split_threes(to, apart, from, count); break;
  default: split_4(to, apart, from, count);
  }
}

static void join_bytes(uint8_t *to, const uint8_t *from, int64_t apart, int channels, int64_t count) {
  switch (channels) {
  case 2: join_2(to, from, apart, count); break;
  case 3: fc_join_threes(to, from, apart, count); break;
  default: join_4(to, from, apart, count);
  }
}

/* In the order of fc_dtype. */
#define EVERY(prefix)                                                                                        \
  { prefix##_uint8_t, prefix##_int16_t, prefix##_uint16_t, prefix##_int32_t, prefix##_float, prefix##_double }

const fc_samples_kernels FC_ISA_NAME(fc_samples_kernels) = {
    .load_f32 = EVERY(load_float),
    .load_f64 = EVERY(load_double),
    .store_f32 = EVERY(store_float),
    .store_f64 = EVERY(store_double),
    .split_bytes = split_bytes,
    .join_bytes = join_bytes,
};
