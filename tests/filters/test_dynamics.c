/* SPDX-License-Identifier: MIT */
/*
 * test_dynamics.c - compand against sox's, gate and limiter against their definitions in Python; walks of any
 * cut against the reference to the bit, state and all; what a limiter promises of any signal.
 */
#include "filters/dynamics/compand.h"
#include "filters/dynamics/gate.h"
#include "filters/dynamics/limiter.h"
#include "tests/filters/golden.h"
#include "tests/filters/views.h"

#define RATE 8000.

typedef struct trial {
  fc_compand compand;
  fc_gate gate;
  fc_limiter limiter;
  fc_dynamics d;
} trial;

static void run(const fc_dynamics *d, const fc_view *in, const fc_view *out, void *state, uint32_t notes[2],
                int reference) {
  guarded scratch = guarded_new(fc_dynamics_scratch());
  fc_status status = reference ? fc_dynamics_ref(d, in, out, state, notes)
                               : fc_dynamics_cpu(d, in, out, state, scratch.data, notes);
  CHECK(status == FC_OK && guarded_intact(&scratch), "it fails, or writes beyond its scratch");
  guarded_free(&scratch);
}

/* ---- goldens ------------------------------------------------------------------ */

static void check_golden(const char *path, const char *name, const fc_dynamics *d, double most) {
  char record[64];
  snprintf(record, sizeof record, "%s_output", name);
  golden x = golden_read(path, "input"), want = golden_read(path, record);
  const int64_t shape[FC_AXES] = {1, 1, x.count, 1};
  signal in = signal_new(FC_AUDIO, FC_F64, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, d->ahead);
  fc_view out = in.view;
  double *got = calloc((size_t)x.count, sizeof *got), off = 0;
  void *state = calloc(1, fc_dynamics_state_bytes(d, 1));
  if (!got || !state) abort();
  memset(in.view.data, 0, (size_t)(x.count + d->ahead) * sizeof(double));
  memcpy(in.view.data, x.values, (size_t)x.count * sizeof(double));
  out.data = got;
  run(d, &in.view, &out, state, NULL, 1);
  for (int64_t i = 0; i < x.count; i++) off = fmax(off, fabs(got[i] - want.values[i]));
  CHECK(want.count == x.count && off < most, "%s: off by %g", name, off);
  free(got), free(state);
  signal_free(&in);
  golden_free(&x), golden_free(&want);
}

static void check_goldens(const char *path) {
  for (int k = 0; k < 3; k++) {
    char name[32];
    snprintf(name, sizeof name, "compand_%d", k);
    golden g = golden_read(path, name);
    fc_compand c = {fc_dynamics_rate(g.values[0], RATE), fc_dynamics_rate(g.values[1], RATE), g.values[2],
                    (int32_t)((g.count - 3) / 2)};
    c.gain = pow(10, -24. / 20); /* in integers sox would clip */
    for (int i = 0; i < c.points; i++) c.in[i] = g.values[3 + 2 * i], c.out[i] = g.values[4 + 2 * i];
    const fc_dynamics d = fc_compand_dynamics(&c);
    /* sox takes its samples through 32-bit integers, and its curve begins at the first point. */
    check_golden(path, name, &d, 1e-4);
    golden_free(&g);
  }
  golden g = golden_read(path, "gate"), l = golden_read(path, "limiter");
  const fc_gate gate = {g.values[0], g.values[1], fc_dynamics_rate(g.values[2], RATE),
                        fc_dynamics_rate(g.values[3], RATE), (int64_t)(g.values[4] * RATE + 0.5)};
  const fc_limiter limiter = {l.values[0], fc_dynamics_rate(l.values[1], RATE),
                              (int64_t)(l.values[2] * RATE + 0.5)};
  fc_dynamics d = fc_gate_dynamics(&gate);
  check_golden(path, "gate", &d, 1e-9);
  d = fc_limiter_dynamics(&limiter);
  check_golden(path, "limiter", &d, 1e-9);
  golden_free(&g), golden_free(&l);
}

/* ---- versions, cuts -------------------------------------------------------------- */

static void random_dynamics(trial *t) {
  const int kind = (int)random_int(0, 2);
  t->compand =
      (fc_compand){fabs(random_real()), fabs(random_real()), random_int(0, 1) * 6., 3, {-60, -30, -10}};
  t->compand.out[0] = -70, t->compand.out[1] = -30, t->compand.out[2] = -15, t->compand.gain = 1.5;
  t->gate = (fc_gate){fabs(random_real()) * 0.5, fabs(random_real()), fabs(random_real()),
                      fabs(random_real()), random_int(0, 50)};
  t->limiter = (fc_limiter){0.01 + fabs(random_real()) * 0.5, fabs(random_real()),
                            random_int(0, 1) * random_int(0, 300)};
  t->d = kind == 0   ? fc_compand_dynamics(&t->compand)
         : kind == 1 ? fc_gate_dynamics(&t->gate)
                     : fc_limiter_dynamics(&t->limiter);
  if (kind != 2) t->d.ahead = random_int(0, 1) * random_int(0, 40);
  t->d.linked = (int32_t)random_int(0, 1);
}

static int64_t differences(const fc_view *a, const fc_view *b) {
  int64_t at[FC_AXES], count = 0;
  FOR_EACH(a, at) {
    double x = view_get(a, at), y = view_get(b, at);
    count += x != y && !(isnan(x) && isnan(y));
  }
  return count;
}

static void check_trial(void) {
  static const int64_t lengths[] = {0, 1, 2, 255, 1023, 1024, 1025, 3000};
  const int64_t shape[FC_AXES] = {1, 1, lengths[random_int(0, 7)], random_int(1, 5)};
  trial t;
  random_dynamics(&t);
  const size_t bytes = fc_dynamics_state_bytes(&t.d, shape[3]);
  signal in = signal_new(FC_AUDIO, (int)random_int(0, FC_DTYPE_COUNT - 1), shape,
                         (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, t.d.ahead);
  const int made = (int)random_int(0, FC_DTYPE_COUNT - 1);
  signal want = signal_new(FC_AUDIO, made, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0),
         got = signal_new(FC_AUDIO, made, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  guarded a = guarded_new(bytes), b = guarded_new(bytes);
  uint32_t notes[2] = {0, 0}, other[2] = {0, 0};
  memset(a.data, 0, bytes), memset(b.data, 0, bytes);
  signal_fill(&in, 0);
  run(&t.d, &in.view, &want.view, a.data, notes, 1);
  for (int64_t from = 0, count; from < shape[2]; from += count) {
    count = random_int(1, random_int(0, 1) ? 20 : shape[2] - from);
    if (count > shape[2] - from) count = shape[2] - from;
    fc_view i = view_cut(&in.view, FC_AXIS_X, from, count), o = view_cut(&got.view, FC_AXIS_X, from, count);
    run(&t.d, &i, &o, b.data, other, 0);
  }
  CHECK(differences(&want.view, &got.view) == 0, "another result in pieces");
  CHECK(memcmp(a.data, b.data, bytes) == 0 && memcmp(notes, other, sizeof notes) == 0,
        "another state or note");
  CHECK(guarded_intact(&a) && guarded_intact(&b) && signal_only_written(&got),
        "wrote beyond state or elements");
  guarded_free(&a), guarded_free(&b);
  signal_free(&in), signal_free(&want), signal_free(&got);
}

/* No result beyond the ceiling; what is far from any peak stays as it is, to the bit. */
static void check_limiter(void) {
  enum { LENGTH = 5000 };
  for (int64_t ahead = 0; ahead < 200; ahead += 66) {
    const fc_limiter l = {0.5, fc_dynamics_rate(0.005, RATE), ahead};
    const fc_dynamics d = fc_limiter_dynamics(&l);
    const int64_t shape[FC_AXES] = {1, 1, LENGTH, 2};
    signal in = signal_new(FC_AUDIO, FC_F64, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, ahead);
    signal out = signal_new(FC_AUDIO, FC_F64, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
    void *state = calloc(1, fc_dynamics_state_bytes(&d, 2));
    double *x = in.view.data, *y = out.view.data, most = 0;
    if (!state) abort();
    for (int64_t i = 0; i < 2 * (LENGTH + ahead); i++)
      x[i] = i < 2 * LENGTH ? random_real() * (i / 2 < 1000 || i == 7001 ? 3 : 0.49) : 0;
    run(&d, &in.view, &out.view, state, NULL, 0);
    for (int64_t i = 0; i < 2 * LENGTH; i++) most = fmax(most, fabs(y[i]));
    CHECK(most <= 0.5 && most > 0.3, "%d ahead: a peak of %.17g", (int)ahead, most);
    CHECK(memcmp(x + 2 * 3000, y + 2 * 3000, 2 * 200 * sizeof *x) == 0, "changes what is soft");
    free(state);
    signal_free(&in), signal_free(&out);
  }
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  random_start(20261124);
  check_goldens(argv[1]);
  check_limiter();
  for (int i = 0; i < 200; i++)
    if (!trial_skipped()) check_trial();
  return check_result();
}
