/* SPDX-License-Identifier: MIT */
/*
 * test_samples.c - loads and stores of every instruction set, element type, kind and
 * stride against the definition, in long double: value = (code - bias) * scale, and
 * back with half-to-even rounding, clamping and notes, counted or not. With --time: what counting costs.
 */
#include <time.h>

#include "core/contract/rows_table.h"
#include "tests/filters/check.h"
#include "filters/base/samples.h"

static const int64_t counts[] = {0, 1, 2, 3, 7, 16, 31, 64, 67, 257, 1009};
#define N_COUNTS (sizeof counts / sizeof counts[0])

static const double lowest[] = {0, -32768, 0, INT32_MIN}, highest[] = {255, 32767, 65535, INT32_MAX};

/* Of what was clipped. */
typedef struct tally {
  uint32_t count;
  double above, below;
} tally;

/* What a store should leave, and what it should note. */
static double code_expected(double value, int kind, int dtype, uint32_t *notes, tally *t) {
  fc_scaling map = fc_scaling_of(kind, dtype);
  if (dtype == FC_F32) return (float)value;
  if (dtype == FC_F64) return value;
  if (isnan(value)) {
    notes[0] = 1;
    return map.bias;
  }
  long double r = nearbyintl((long double)value / map.scale) + map.bias;
  if (r < lowest[dtype] || r > highest[dtype]) {
    const double code = value / map.scale + map.bias;
    notes[1] = 1;
    t->count++;
    t->above = fmax(t->above, code - highest[dtype]), t->below = fmax(t->below, lowest[dtype] - code);
  }
  return (double)(r < lowest[dtype] ? lowest[dtype] : r > highest[dtype] ? highest[dtype] : r);
}

/* Elements `step` apart, upwards, or downwards from the last when step < 0. */
typedef struct strip {
  guarded memory;
  char *first;
  int64_t stride, count;
  int dtype;
} strip;

static strip strip_new(int dtype, int64_t count, int64_t step) {
  int64_t size = (int64_t)fc_dtype_size(dtype), gap = step < 0 ? -step : step;
  strip s = {guarded_new((size_t)(count * gap * size)), NULL, step * size, count, dtype};
  s.first = (char *)s.memory.data + (step < 0 && count > 0 ? (count - 1) * gap * size : 0);
  return s;
}

static void load_check(const fc_samples_kernels *k, int compute, int kind, int dtype, int64_t count,
                       int64_t step, const char *isa) {
  strip s = strip_new(dtype, count, step);
  fc_scaling map = fc_scaling_of(kind, dtype);
  for (int64_t i = 0; i < count; i++) {
    double v = i < 2 && dtype < FC_F32 ? (i ? lowest[dtype] : highest[dtype]) : element_random(dtype);
    element_set(s.first + i * s.stride, dtype, v);
  }
  guarded out = guarded_new((size_t)count * fc_dtype_size(compute));
  if (compute == FC_F32)
    k->load_f32[dtype](out.data, s.first, s.stride, count, map);
  else
    k->load_f64[dtype](out.data, s.first, s.stride, count, map);
  for (int64_t i = 0; i < count; i++) {
    double code = element_get(s.first + i * s.stride, dtype), want = (code - map.bias) * map.scale;
    if (compute == FC_F32) want = (float)want;
    double got = element_get((char *)out.data + i * (int64_t)fc_dtype_size(compute), compute);
    CHECK(got == want, "%s load %s to %s, kind %d, step %" PRId64 ": code %.17g gave %.17g, not %.17g", isa,
          fc_dtype_name(dtype), fc_dtype_name(compute), kind, step, code, got, want);
  }
  CHECK(guarded_intact(&out), "%s load %s wrote beyond", isa, fc_dtype_name(dtype));
  guarded_free(&out);
  guarded_free(&s.memory);
}

/* Values that stores find hard, as multiples of a code: halves, limits, beyond them. */
static double hard_value(int64_t i, int kind, int dtype, int special) {
  fc_scaling map = fc_scaling_of(kind, dtype);
  if (dtype >= FC_F32) return special && i % 5 == 0 ? NAN : random_real() * 1e3;
  double low = lowest[dtype] - map.bias, high = highest[dtype] - map.bias, code;
  switch (special ? random_int(0, 9) : 9) {
  case 0: return NAN;
  case 1: return random_int(0, 1) ? INFINITY : -INFINITY;
  case 2: code = high + 0.25 * (double)random_int(-4, 4); break;
  case 3: code = low + 0.25 * (double)random_int(-4, 4); break;
  case 4: code = (high - low) * 10 * random_real(); break;
  case 5: code = 0x1p40 * random_real(); break;
  case 6: code = 0.49999997 + (double)random_int(0, 3); break;
  default: code = low + 1 + floor((high - low - 2) * fabs(random_real())) + 0.5 * (double)random_int(0, 1);
  }
  return code * map.scale;
}

static double excess_of(uint32_t bits) {
  float number;
  memcpy(&number, &bits, sizeof number);
  return (double)number;
}

/* What is noted beside a NaN, as flags or as a count. */
static void notes_check(const uint32_t *notes, const uint32_t *want, const tally *t, int counting,
                        const char *isa, const char *type) {
  const double above = excess_of(notes[FC_COUNTED_ABOVE]), below = excess_of(notes[FC_COUNTED_BELOW]);
  CHECK(notes[0] == want[0], "%s store %s: NaN noted as %u, not %u", isa, type, notes[0], want[0]);
  CHECK(notes[1] == (counting ? FC_COUNTING : want[1]), "%s store %s: clipping noted as %u", isa, type,
        notes[1]);
  if (!counting) return;
  CHECK(notes[FC_COUNTED] == t->count, "%s store %s: counted %u, not %u", isa, type, notes[FC_COUNTED],
        t->count);
  CHECK(above == t->above || fabs(above - t->above) <= 1e-3 * t->above + 1e-3,
        "%s store %s: %g above, not %g", isa, type, above, t->above);
  CHECK(below == t->below || fabs(below - t->below) <= 1e-3 * t->below + 1e-3,
        "%s store %s: %g below, not %g", isa, type, below, t->below);
}

static void store_check(const fc_samples_kernels *k, int compute, int kind, int dtype, int64_t count,
                        int64_t step, int special, const char *isa) {
  strip s = strip_new(dtype, count, step);
  guarded in = guarded_new((size_t)count * fc_dtype_size(compute));
  const int counting = (int)random_int(0, 1);
  uint32_t notes[FC_COUNTED_WORDS] = {0, counting ? FC_COUNTING : 0}, want_notes[2] = {0, 0};
  tally t = {0};
  for (int64_t i = 0; i < count; i++)
    element_set((char *)in.data + i * (int64_t)fc_dtype_size(compute), compute,
                hard_value(i, kind, dtype, special));
  if (compute == FC_F32)
    k->store_f32[dtype](s.first, s.stride, in.data, count, fc_scaling_of(kind, dtype), notes);
  else
    k->store_f64[dtype](s.first, s.stride, in.data, count, fc_scaling_of(kind, dtype), notes);
  for (int64_t i = 0; i < count; i++) {
    double value = element_get((char *)in.data + i * (int64_t)fc_dtype_size(compute), compute);
    double want = code_expected(value, kind, dtype, want_notes, &t);
    double got = element_get(s.first + i * s.stride, dtype);
    CHECK(got == want || (isnan(got) && isnan(want)),
          "%s store %s to %s, kind %d, step %" PRId64 ": %.17g gave %.17g, not %.17g", isa,
          fc_dtype_name(compute), fc_dtype_name(dtype), kind, step, value, got, want);
  }
  notes_check(notes, want_notes, &t, counting, isa, fc_dtype_name(dtype));
  /* What lies between the elements is not ours. */
  for (int64_t i = 0; step == 2 && i < count; i++)
    CHECK((unsigned char)s.first[i * s.stride + s.stride - 1] == GUARD_PATTERN, "%s store %s: wrote in a gap",
          isa, fc_dtype_name(dtype));
  CHECK(guarded_intact(&s.memory), "%s store %s wrote beyond", isa, fc_dtype_name(dtype));
  guarded_free(&in);
  guarded_free(&s.memory);
}

static void isa_check(fc_isa isa) {
  static const int64_t steps[] = {1, 2, 3, -1};
  const fc_samples_kernels *k = fc_samples_kernels_of(isa);
  for (int compute = FC_F32; compute <= FC_F64; compute++)
    for (int kind = 0; kind < FC_KIND_COUNT; kind++)
      for (int dtype = 0; dtype < FC_DTYPE_COUNT; dtype++)
        for (size_t c = 0; c < N_COUNTS; c++)
          for (size_t s = 0; s < 4; s++) {
            load_check(k, compute, kind, dtype, counts[c], steps[s], fc_isa_name(isa));
            store_check(k, compute, kind, dtype, counts[c], steps[s], 0, fc_isa_name(isa));
            store_check(k, compute, kind, dtype, counts[c], steps[s], 1, fc_isa_name(isa));
          }
}

/* Every 16-bit code comes back, through the public entries. */
static void round_trip_check(void) {
  static int16_t codes[65536], back[65536];
  static float values[65536];
  uint32_t notes[2] = {0, 0};
  for (int i = 0; i < 65536; i++) codes[i] = (int16_t)(i - 32768);
  for (int kind = 0; kind < FC_KIND_COUNT; kind++) {
    fc_load(values, FC_F32, codes, 2, 65536, kind, FC_I16);
    fc_store(back, 2, values, FC_F32, 65536, kind, FC_I16, notes);
    CHECK(memcmp(codes, back, sizeof codes) == 0, "i16 does not survive kind %d", kind);
  }
  CHECK(notes[0] == 0 && notes[1] == 0, "notes %u %u without cause", notes[0], notes[1]);
  float nan = NAN;
  fc_store(back, 2, &nan, FC_F32, 1, FC_AUDIO, FC_I16, NULL);
  CHECK(back[0] == 0, "NaN became %d", back[0]);
}

/* A count that is full stays so; and one that a plugin's own store has spoilt is not continued. */
static void full_check(void) {
  uint32_t notes[FC_COUNTED_WORDS] = {0, FC_COUNTING, UINT32_MAX - 1};
  const float high[] = {2, 0, 2, 2};
  int16_t codes[4];
  fc_store(codes, 2, high, FC_F32, 4, FC_AUDIO, FC_I16, notes);
  CHECK(notes[FC_COUNTED] == UINT32_MAX, "the count went on to %u", notes[FC_COUNTED]);
  uint32_t spoilt[FC_COUNTED_WORDS] = {0, 1, 7};
  fc_store(codes, 2, high, FC_F32, 4, FC_AUDIO, FC_I16, spoilt);
  CHECK(spoilt[1] == 1 && spoilt[FC_COUNTED] == 7, "flag %u, count %u", spoilt[1], spoilt[FC_COUNTED]);
  CHECK(excess_of(notes[FC_COUNTED_ABOVE]) == 2 * 32768 - 32767, "above: %g",
        excess_of(notes[FC_COUNTED_ABOVE]));
}

/* ---- --time ------------------------------------------------------------------------------ */

#define TIMED 65536

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The least of many, in ns a value. */
static double store_time(const float *values, int dtype, int counting) {
  static int32_t codes[TIMED];
  double best = INFINITY;
  for (int round = 0; round < 300; round++) {
    uint32_t notes[FC_COUNTED_WORDS] = {0, counting ? FC_COUNTING : 0};
    const double start = seconds();
    fc_store(codes, (int64_t)fc_dtype_size(dtype), values, FC_F32, TIMED, FC_AUDIO, dtype, notes);
    best = fmin(best, seconds() - start);
  }
  return best / TIMED * 1e9;
}

static int print_times(void) {
  static float values[TIMED];
  static const int one_in[] = {0, 10000, 100, 2};
  for (int dtype = FC_U8; dtype <= FC_I32; dtype++)
    for (int i = 0; i < 4; i++) {
      for (int k = 0; k < TIMED; k++)
        values[k] = (float)(random_real() * 0.9 + (one_in[i] && k % one_in[i] == 0 ? 2 : 0));
      printf("%s, clipped 1 in %d: flag %.3f ns a value, count %.3f\n", fc_dtype_name(dtype), one_in[i],
             store_time(values, dtype, 0), store_time(values, dtype, 1));
    }
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--time") == 0) return print_times();
  random_start(1);
  for (int isa = 0; isa <= (int)fc_isa_best(); isa++) isa_check((fc_isa)isa);
  round_trip_check();
  full_check();
  return check_result();
}
