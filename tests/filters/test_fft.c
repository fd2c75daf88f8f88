/* SPDX-License-Identifier: MIT */
/*
 * test_fft.c - transforms of every small length and some large ones, complex and real,
 * against the sum itself in 113 bits; energy; there and back; lanes that do not
 * depend on each other, bit for bit; guard bands; numpy.fft (goldens).
 */
#include "filters/fourier/fft.h"
#include "tests/filters/golden.h"
#include "tests/filters/quad.h"

static const char *goldens;

typedef struct signal {
  int64_t n, lanes;
  int type;
  guarded re, im;
} signal;

static signal signal_new(int type, int64_t n, int64_t lanes) {
  size_t bytes = (size_t)(n * lanes) * fc_dtype_size(type);
  return (signal){n, lanes, type, guarded_new(bytes), guarded_new(bytes)};
}

static void signal_free(signal *s) {
  guarded_free(&s->re);
  guarded_free(&s->im);
}

static double at(const guarded *plane, const signal *s, int64_t i, int64_t lane) {
  return element_get((char *)plane->data + (i * s->lanes + lane) * (int64_t)fc_dtype_size(s->type), s->type);
}

static void set(const guarded *plane, const signal *s, int64_t i, int64_t lane, double v) {
  element_set((char *)plane->data + (i * s->lanes + lane) * (int64_t)fc_dtype_size(s->type), s->type, v);
}

static signal signal_random(int type, int64_t n, int64_t lanes) {
  signal s = signal_new(type, n, lanes);
  for (int64_t i = 0; i < n; i++)
    for (int64_t l = 0; l < lanes; l++)
      set(&s.re, &s, i, l, random_real()), set(&s.im, &s, i, l, random_real());
  return s;
}

static signal signal_copy(const signal *from) {
  signal s = signal_new(from->type, from->n, from->lanes);
  memcpy(s.re.data, from->re.data, s.re.bytes);
  memcpy(s.im.data, from->im.data, s.im.bytes);
  return s;
}

static double tolerance(int type, int64_t n) {
  return (type == FC_F64 ? 0x1p-52 : 0x1p-23) * (2 + sqrt(log2((double)n + 1)));
}

typedef struct plan {
  guarded memory;
  const fc_fft *fft;
} plan;

static plan plan_new(int type, int64_t n, int isa) {
  plan p = {guarded_new(fc_fft_bytes(n, type)), NULL};
  CHECK(fc_fft_init(p.memory.data, n, type, isa) == FC_OK, "plan of %" PRId64, n);
  CHECK(guarded_intact(&p.memory), "plan of %" PRId64 " wrote beyond its memory", n);
  p.fft = p.memory.data;
  CHECK((size_t)p.fft->bytes <= p.memory.bytes, "plan of %" PRId64 " keeps more than it has", n);
  return p;
}

/* Forward, or inverse with the planes exchanged. */
static void run(const plan *p, signal *s, int inverse) {
  guarded scratch = guarded_new(fc_fft_scratch(p->fft, s->lanes));
  if (inverse)
    fc_fft_run(p->fft, s->im.data, s->re.data, s->lanes, scratch.data);
  else
    fc_fft_run(p->fft, s->re.data, s->im.data, s->lanes, scratch.data);
  CHECK(guarded_intact(&scratch) && guarded_intact(&s->re) && guarded_intact(&s->im),
        "length %" PRId64 " wrote beyond", s->n);
  guarded_free(&scratch);
}

/* X[k] of one lane, by definition. */
static void definition(const signal *x, const quad_circle *w, int64_t lane, int64_t k, quad *re, quad *im) {
  *re = *im = 0;
  for (int64_t i = 0; i < x->n; i++) {
    quad c = w->cosine[i * k % x->n], s = w->sine[i * k % x->n];
    quad a = at(&x->re, x, i, lane), b = at(&x->im, x, i, lane);
    *re += a * c + b * s;
    *im += b * c - a * s;
  }
}

/* The whole spectrum, or with `stride` some bins of it, against the definition. */
static void compare(const signal *x, const signal *y, int64_t stride, const char *who) {
  quad_circle circle = quad_circle_new(x->n);
  for (int64_t l = 0; l<x->lanes; l += x->lanes> 1 ? x->lanes - 1 : 1) {
    quad off = 0, size = 0, re, im;
    for (int64_t k = 0; k < x->n; k += stride) {
      definition(x, &circle, l, k, &re, &im);
      off += quad_square(re - at(&y->re, y, k, l)) + quad_square(im - at(&y->im, y, k, l));
      size += re * re + im * im;
    }
    double relative = (double)quad_root(off / size);
    CHECK(relative <= tolerance(x->type, x->n),
          "%s %s length %" PRId64 ", lane %" PRId64 " of %" PRId64 ": off by %g", who, fc_dtype_name(x->type),
          x->n, l, x->lanes, relative);
  }
  quad_circle_free(&circle);
}

static void check_complex(int type, int isa, int64_t n, int64_t lanes) {
  plan p = plan_new(type, n, isa);
  signal x = signal_random(type, n, lanes), y = signal_copy(&x);
  run(&p, &y, 0);
  compare(&x, &y, n > 600 ? n / 50 : 1, fc_isa_name((fc_isa)isa));
  run(&p, &y, 1);
  double worst = 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t l = 0; l < lanes; l++) {
      worst = fmax(worst, fabs(at(&y.re, &y, i, l) / (double)n - at(&x.re, &x, i, l)));
      worst = fmax(worst, fabs(at(&y.im, &y, i, l) / (double)n - at(&x.im, &x, i, l)));
    }
  CHECK(worst <= 8 * tolerance(type, n), "length %" PRId64 " came back off by %g", n, worst);
  signal_free(&x), signal_free(&y);
  guarded_free(&p.memory);
}

/* Each lane alone gives the bits that it gives among others. */
static void check_lanes(int type, int isa, int64_t n, int64_t lanes) {
  plan p = plan_new(type, n, isa);
  signal x = signal_random(type, n, lanes), all = signal_copy(&x);
  run(&p, &all, 0);
  for (int64_t l = 0; l < lanes; l++) {
    signal one = signal_new(type, n, 1);
    for (int64_t i = 0; i < n; i++)
      set(&one.re, &one, i, 0, at(&x.re, &x, i, l)), set(&one.im, &one, i, 0, at(&x.im, &x, i, l));
    run(&p, &one, 0);
    int equal = 1;
    for (int64_t k = 0; k < n; k++)
      equal &= at(&one.re, &one, k, 0) == at(&all.re, &all, k, l) &&
               at(&one.im, &one, k, 0) == at(&all.im, &all, k, l);
    CHECK(equal, "%s length %" PRId64 ": lane %" PRId64 " of %" PRId64 " depends on the others",
          fc_isa_name((fc_isa)isa), n, l, lanes);
    signal_free(&one);
  }
  signal_free(&x), signal_free(&all);
  guarded_free(&p.memory);
}

static void check_real(int type, int isa, int64_t n, int64_t lanes) {
  guarded memory = guarded_new(fc_rfft_bytes(n, type));
  fc_rfft *p = memory.data;
  CHECK(fc_rfft_init(p, n, type, isa) == FC_OK && guarded_intact(&memory), "real plan of %" PRId64, n);
  signal x = signal_random(type, n, lanes), y = signal_new(type, p->bins, lanes),
         back = signal_new(type, n, lanes);
  memset(x.im.data, 0, x.im.bytes);
  guarded scratch = guarded_new(fc_rfft_scratch(p, lanes));
  fc_rfft_forward(p, x.re.data, y.re.data, y.im.data, lanes, scratch.data);
  CHECK(guarded_intact(&scratch) && guarded_intact(&y.re) && guarded_intact(&y.im),
        "real %" PRId64 " wrote beyond", n);
  quad_circle circle = quad_circle_new(n);
  quad off = 0, size = 0, re, im, energy = 0, power = 0;
  for (int64_t k = 0; k < p->bins; k++) {
    definition(&x, &circle, lanes - 1, k, &re, &im);
    double a = at(&y.re, &y, k, lanes - 1), b = at(&y.im, &y, k, lanes - 1);
    off += quad_square(re - a) + quad_square(im - b);
    size += re * re + im * im;
    power += (k == 0 || 2 * k == n ? 1 : 2) * (quad_square(a) + quad_square(b));
    if (k == 0 || 2 * k == n) CHECK(b == 0, "real %" PRId64 ": bin %" PRId64 " is not real", n, k);
  }
  for (int64_t i = 0; i < n; i++) energy += quad_square(at(&x.re, &x, i, lanes - 1));
  double slack = tolerance(type, n);
  CHECK(quad_root(off / size) <= slack, "real %s %" PRId64 ": off by %g", fc_dtype_name(type), n,
        (double)quad_root(off / size));
  CHECK(quad_abs(power / n - energy) <= 4 * slack * energy, "real %" PRId64 ": energy %g became %g", n,
        (double)energy, (double)(power / n));
  fc_rfft_inverse(p, y.re.data, y.im.data, back.re.data, lanes, scratch.data);
  CHECK(guarded_intact(&scratch) && guarded_intact(&back.re), "real inverse %" PRId64 " wrote beyond", n);
  for (int64_t i = 0; i < n; i++)
    for (int64_t l = 0; l < lanes; l++)
      CHECK(fabs(at(&back.re, &back, i, l) - at(&x.re, &x, i, l)) <= 8 * slack,
            "real %" PRId64 ": came back %g for %g", n, at(&back.re, &back, i, l), at(&x.re, &x, i, l));
  guarded_free(&scratch), guarded_free(&memory);
  signal_free(&x), signal_free(&y), signal_free(&back);
  quad_circle_free(&circle);
}

static void check_golden(int64_t n) {
  char name[64];
  snprintf(name, sizeof name, "rfft-%d-x", (int)n);
  golden x = golden_read(goldens, name);
  snprintf(name, sizeof name, "rfft-%d-re", (int)n);
  golden re = golden_read(goldens, name);
  snprintf(name, sizeof name, "rfft-%d-im", (int)n);
  golden im = golden_read(goldens, name);
  guarded memory = guarded_new(fc_rfft_bytes(n, FC_F64));
  fc_rfft *p = memory.data;
  fc_rfft_init(p, n, FC_F64, fc_isa_best());
  guarded scratch = guarded_new(fc_rfft_scratch(p, 1));
  double *a = malloc((size_t)(p->bins + 1) * sizeof *a), *b = malloc((size_t)(p->bins + 1) * sizeof *b);
  fc_rfft_forward(p, x.values, a, b, 1, scratch.data);
  double off = hypot(golden_distance(a, &re), golden_distance(b, &im));
  CHECK(off <= 1e-14, "numpy.fft.rfft of %" PRId64 ": off by %g", n, off);
  free(a), free(b);
  guarded_free(&memory), guarded_free(&scratch);
  golden_free(&x), golden_free(&re), golden_free(&im);
}

/* Lengths and types that are none. */
static void check_refusals(void) {
  char plan_memory[sizeof(fc_fft)];
  CHECK(fc_fft_bytes(0, FC_F32) == 0 && fc_fft_bytes(-1, FC_F64) == 0, "no length");
  CHECK(fc_fft_bytes(FC_FFT_LONGEST + 1, FC_F32) == 0 && fc_fft_bytes(8, FC_I32) == 0,
        "too long, or integers");
  CHECK(fc_fft_init((fc_fft *)(void *)plan_memory, 0, FC_F32, FC_ISA_BASE) == FC_INVALID, "plan of nothing");
}

int main(int argc, char **argv) {
  static const int64_t lengths[] = {72,  97,  100,  127,  128,  243,  256,  257,  323,  509,  512,
                                    625, 768, 1000, 1024, 1155, 2047, 2048, 4096, 5040, 10007};
  static const int64_t golden_lengths[] = {1, 2, 5, 16, 30, 37, 64, 101};
  if (argc != 2) return 2;
  goldens = argv[1];
  random_start(7);
  check_refusals();
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++)
    for (int type = FC_F32; type <= FC_F64; type++) {
      for (int64_t n = 1; n <= 70; n += trial_step() * (isa == (int)fc_isa_best() ? 1 : random_int(1, 5))) {
        check_complex(type, isa, n, random_int(1, 9) * random_int(1, 2));
        check_real(type, isa, n, random_int(1, 9) * random_int(1, 2));
      }
      for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        if (trial_skipped() || (isa != (int)fc_isa_best() && random_int(0, 2))) continue;
        check_complex(type, isa, lengths[i], random_int(1, 4));
        if (lengths[i] < 2000) check_real(type, isa, lengths[i], random_int(1, 3));
      }
      for (int round = 0; round < 8; round++) check_lanes(type, isa, random_int(1, 200), random_int(2, 37));
      check_lanes(type, isa, 960, 17);
      check_lanes(type, isa, 1019, 5);
    }
  for (size_t i = 0; i < sizeof golden_lengths / sizeof golden_lengths[0]; i++)
    check_golden(golden_lengths[i]);
  return check_result();
}
