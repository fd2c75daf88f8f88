/* SPDX-License-Identifier: MIT */
/*
 * test_samplewise.c - the operations on single samples (pointwise, dither, stretch, gather): every
 * instruction set against the reference on random views, the same bits for any cut and in
 * place; and the references against what they are meant to be.
 */
#include "tests/filters/samplewise.h"

/* ---- versions against each other --------------------------------------------- */

static void run_reference(const trial *t, const fc_view *out, uint32_t notes[2]) {
  if (t->kind == TRIAL_POINTWISE)
    fc_pointwise_ref(&t->pointwise, &t->in.view, out, notes);
  else if (t->kind == TRIAL_STRETCH)
    fc_stretch_ref(&t->stretch, &t->in.view, out, notes);
  else if (t->kind == TRIAL_DITHER)
    fc_dither_ref(&t->dither, &t->in.view, out, notes);
  else
    fc_gather_ref(&t->gather, &t->in.view, out);
}

/* The reference rounds once, a map three times: what that may make of a value, in units of the
 * output's codes. */
static double tolerance(const trial *t, double value) {
  int exact = t->kind == TRIAL_GATHER || t->kind == TRIAL_DITHER ||
              (t->kind == TRIAL_POINTWISE && t->pointwise.form != FC_POINTWISE_MAP);
  if (exact) return 0;
  double eps = t->pointwise.compute == FC_F64 && t->out.view.dtype != FC_F32 ? 0x1p-50 : 0x1p-21;
  double size = t->kind == TRIAL_STRETCH ? 300 : fabs(value) + 2 * 300 * 300;
  double code = 1 / fc_scaling_of(t->out.view.kind, t->out.view.dtype).scale;
  return eps * size * code + (fc_dtype_is_float(t->out.view.dtype) ? 0 : 1);
}

static void compare_with_reference(const trial *t, const signal *want) {
  int64_t at[FC_AXES], wrong = 0;
  FOR_EACH(&want->view, at) {
    double a = view_get(&t->out.view, at), b = view_get(&want->view, at);
    int same = a == b || (isnan(a) && isnan(b));
    /* Differences of rounding next to the infinities may tip over. */
    if (!same && !(fabs(a - b) <= tolerance(t, b)) && !(fabs(b) > 1e30 && tolerance(t, b) > 0)) wrong++;
  }
  CHECK(wrong == 0, "%s: %d elements differ from the reference", trial_name(t), (int)wrong);
}

/* In two pieces along an axis; frames of a stretch stay whole. */
static void run_cut(const trial *t, fc_isa isa, signal *out) {
  int axis = t->kind == TRIAL_STRETCH ? FC_AXIS_N : (int)random_int(FC_AXIS_N, FC_AXIS_X);
  int64_t count = out->view.shape[axis], at = random_int(0, count);
  uint32_t notes[2] = {0, 0};
  fc_view in_a = view_cut(&t->in.view, axis, 0, at), in_b = view_cut(&t->in.view, axis, at, count - at);
  fc_view out_a = view_cut(&out->view, axis, 0, at), out_b = view_cut(&out->view, axis, at, count - at);
  trial_run(t, isa, &in_a, &out_a, notes);
  trial_run(t, isa, &in_b, &out_b, notes);
}

static void check_trial(trial *t) {
  signal want = signal_like(&t->out), other = signal_like(&t->out);
  uint32_t ref_notes[2] = {0, 0}, notes[2] = {0, 0};
  run_reference(t, &want.view, ref_notes);
  trial_run(t, FC_ISA_BASE, &t->in.view, &t->out.view, notes);
  compare_with_reference(t, &want);
  if (tolerance(t, 0) == 0)
    CHECK(memcmp(notes, ref_notes, sizeof notes) == 0, "%s: other notes than the reference's", trial_name(t));
  for (int isa = FC_ISA_AVX2; isa <= (int)fc_isa_best(); isa++) {
    uint32_t more[2] = {0, 0};
    trial_run(t, (fc_isa)isa, &t->in.view, &other.view, more);
    CHECK(same_memory(&t->out, &other), "%s: %s differs from base", trial_name(t), fc_isa_name((fc_isa)isa));
    CHECK(memcmp(more, notes, sizeof notes) == 0, "%s: %s notes otherwise", trial_name(t),
          fc_isa_name((fc_isa)isa));
  }
  signal cut = signal_like(&t->out);
  run_cut(t, fc_isa_best(), &cut);
  CHECK(same_memory(&t->out, &cut), "%s: differs when cut", trial_name(t));
  CHECK(signal_only_written(&cut), "%s: wrote between or beyond the elements", trial_name(t));
  signal_free(&want);
  signal_free(&other);
  signal_free(&cut);
}

static void check_in_place(void) {
  trial *t = trial_new(TRIAL_POINTWISE);
  signal_free(&t->out);
  t->out = signal_like(&t->in);
  uint32_t notes[2] = {0, 0};
  trial_run(t, fc_isa_best(), &t->in.view, &t->out.view, notes);
  trial_run(t, fc_isa_best(), &t->in.view, &t->in.view, notes);
  int64_t at[FC_AXES], wrong = 0;
  FOR_EACH(&t->in.view, at) {
    double a = view_get(&t->in.view, at), b = view_get(&t->out.view, at);
    wrong += a != b && !(isnan(a) && isnan(b));
  }
  CHECK(wrong == 0, "%s: differs in place", trial_name(t));
  trial_free(t);
}

/* ---- what they are meant to be ------------------------------------------------- */

static fc_view line_of(void *data, int kind, int dtype, int64_t count) {
  int64_t size = (int64_t)fc_dtype_size(dtype);
  fc_view v = {.size = sizeof v, .dtype = dtype, .kind = kind, .device = FC_HOST, .data = data};
  v.shape[0] = v.shape[1] = v.shape[3] = 1, v.shape[2] = count;
  for (int a = 0; a < FC_AXES; a++) v.stride[a] = size, v.extent[a] = v.shape[a];
  return v;
}

/* Applies an operation to a line of codes, in the reference and on the CPU, whose results
 * must agree. */
static void apply(fc_pointwise p, const fc_view *in, const fc_view *out, uint32_t notes[2]) {
  guarded scratch = guarded_new(fc_pointwise_cpu_scratch(&p)), again = guarded_new(0);
  size_t bytes = (size_t)out->shape[2] * fc_dtype_size(out->dtype);
  guarded_free(&again);
  again = guarded_new(bytes);
  fc_view copy = *out;
  copy.data = again.data;
  p.isa = fc_isa_best();
  fc_pointwise_ref(&p, in, out, notes);
  fc_pointwise_cpu(&p, in, &copy, scratch.data, notes);
  CHECK(memcmp(again.data, out->data, bytes) == 0, "cpu and reference differ");
  guarded_free(&again);
  guarded_free(&scratch);
}

/* Every 16-bit code scaled to 8 bits is the nearest integer to code / 257, and 8 bits to 16
 * and back are themselves. */
static void check_code_ranges(void) {
  static uint16_t wide[65536], back[65536];
  static uint8_t narrow[65536];
  uint32_t notes[2] = {0, 0};
  int wrong = 0;
  for (int i = 0; i < 65536; i++) wide[i] = (uint16_t)i;
  fc_view w = line_of(wide, FC_IMAGE, FC_U16, 65536), n = line_of(narrow, FC_IMAGE, FC_U8, 65536);
  fc_view b = line_of(back, FC_IMAGE, FC_U16, 65536);
  apply((fc_pointwise){.form = FC_POINTWISE_MAP, .compute = FC_F32, .factor = 255.0 / 65535}, &w, &n, notes);
  for (int i = 0; i < 65536; i++) wrong += narrow[i] != (2 * i + 257) / 514;
  apply((fc_pointwise){.form = FC_POINTWISE_MAP, .compute = FC_F32, .factor = 257}, &n, &b, notes);
  for (int i = 0; i < 65536; i++) wrong += back[i] != narrow[i] * 257;
  CHECK(wrong == 0, "%d codes are wrong", wrong);
  CHECK(!notes[0] && !notes[1], "codes within range were noted");
}

/* A gain of 1 gives the same bits back, whatever they are; -1 flips the sign alone. */
static void check_unity(void) {
  float in[1000], out[1000];
  uint32_t notes[2] = {0, 0};
  for (int i = 0; i < 1000; i++) in[i] = (float)random_real() * 1e30f;
  in[0] = -0.0f, in[1] = INFINITY, in[2] = 1e-45f;
  fc_view a = line_of(in, FC_AUDIO, FC_F32, 1000), b = line_of(out, FC_AUDIO, FC_F32, 1000);
  apply((fc_pointwise){.form = FC_POINTWISE_SCALE, .compute = FC_F32, .factor = 1}, &a, &b, notes);
  CHECK(memcmp(in, out, sizeof in) == 0, "a gain of 1 changes bits");
  apply((fc_pointwise){.form = FC_POINTWISE_SCALE, .compute = FC_F32, .factor = -1}, &a, &b, notes);
  int wrong = 0;
  for (int i = 0; i < 1000; i++) wrong += out[i] != -in[i] || signbit(out[i]) == signbit(in[i]);
  CHECK(wrong == 0, "a gain of -1 is not a change of sign");
}

/* Full scale clamps, NaN is noted, and neither wraps. */
static void check_stores(void) {
  const float in[] = {1.0f, 2.0f, -1.0f, -5.0f, 0.5f / 32768, 1.5f / 32768, INFINITY, -INFINITY, NAN};
  const int16_t want[] = {32767, 32767, -32768, -32768, 0, 2, 32767, -32768, 0};
  int16_t out[9];
  float values[9];
  uint32_t notes[2] = {0, 0};
  memcpy(values, in, sizeof in);
  fc_view a = line_of(values, FC_AUDIO, FC_F32, 9), b = line_of(out, FC_AUDIO, FC_I16, 9);
  apply((fc_pointwise){.form = FC_POINTWISE_COPY, .compute = FC_F32}, &a, &b, notes);
  for (int i = 0; i < 9; i++) CHECK(out[i] == want[i], "%g became %d, not %d", in[i], out[i], want[i]);
  CHECK(notes[0] && notes[1], "NaN and clipping were not noted");
}

/* Each frame by itself, without what is not finite. */
static void check_stretch(void) {
  float in[3][6] = {{2, 4, 3, NAN, INFINITY, 2.5f}, {-7, -7, -7, -7, -7, -7}, {NAN, NAN, NAN, NAN, NAN, NAN}};
  float out[3][6];
  uint8_t codes[6], plain[6] = {10, 20, 30, 40, 50, 60};
  uint32_t notes[2] = {0, 0};
  fc_view a = line_of(in, FC_IMAGE, FC_F32, 6), b = line_of(out, FC_IMAGE, FC_F32, 6);
  a.shape[0] = b.shape[0] = 3, a.stride[0] = b.stride[0] = 24;
  fc_stretch s = {.compute = FC_F32, .isa = fc_isa_best(), .low = 0, .span = 1};
  guarded scratch = guarded_new(fc_stretch_scratch(&s, 3));
  fc_stretch_cpu(&s, &a, &b, scratch.data, notes);
  CHECK(out[0][0] == 0 && out[0][1] == 1 && out[0][2] == 0.5f && out[0][5] == 0.25f, "wrong range");
  CHECK(isnan(out[0][3]) && out[0][4] == INFINITY, "what is not finite became finite");
  CHECK(out[1][0] == 0 && out[1][5] == 0, "a frame of one value is not the low end");
  CHECK(isnan(out[2][0]), "NaN became a number");
  fc_view u = line_of(plain, FC_IMAGE, FC_U8, 6), c = line_of(codes, FC_IMAGE, FC_U8, 6);
  s.span = 255;
  fc_stretch_cpu(&s, &u, &c, scratch.data, notes);
  for (int i = 0; i < 6; i++) CHECK(codes[i] == 51 * i, "code %d became %d", plain[i], codes[i]);
  guarded_free(&scratch);
}

/* Swapped channels of a crop, counted by hand. */
static void check_gather(void) {
  int16_t in[2][4][2], out[1][2][3];
  const int32_t channels[] = {1, 0, 1};
  for (int y = 0; y < 2; y++)
    for (int x = 0; x < 4; x++)
      for (int c = 0; c < 2; c++) in[y][x][c] = (int16_t)(100 * y + 10 * x + c);
  fc_view a = {
      .size = sizeof a, .dtype = FC_I16, .data = in, .shape = {1, 2, 4, 2}, .stride = {32, 16, 4, 2}};
  fc_view b = {
      .size = sizeof b, .dtype = FC_I16, .data = out, .shape = {1, 1, 2, 3}, .stride = {12, 12, 6, 2}};
  const int16_t want[] = {121, 120, 121, 131, 130, 131};
  fc_gather g = {.shift_y = 1, .shift_x = 2, .channels = channels};
  fc_gather_ref(&g, &a, &b);
  CHECK(memcmp(out, want, sizeof want) == 0, "the reference gathers elsewhere");
  memset(out, 0, sizeof out);
  fc_gather_cpu(&g, &a, &b);
  CHECK(memcmp(out, want, sizeof want) == 0, "gathers elsewhere");
}

/* Curves of bytes by a table: every code at every place of a vector, and what is left behind the last one. */
static void check_byte_tables(void) {
  uint8_t in[700], want[700], got[700];
  float table[256];
  fc_pointwise p = {.form = FC_POINTWISE_CURVE,
                    .compute = FC_F32,
                    .factor = 1.0 / 255,
                    .high = 1,
                    .exponent = 0.45,
                    .span = 255};
  fc_pointwise_table(&p, FC_IMAGE, FC_U8, table);
  p.table = table;
  guarded scratch = guarded_new(fc_pointwise_cpu_scratch(&p));
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++)
    for (int from = 0; from < 256; from++) {
      const int count = 700 - from;
      uint32_t notes[2] = {0, 0};
      p.isa = (fc_isa)isa;
      for (int i = 0; i < count; i++) in[i] = (uint8_t)(from + i);
      fc_view a = line_of(in, FC_IMAGE, FC_U8, count), b = line_of(want, FC_IMAGE, FC_U8, count),
              c = line_of(got, FC_IMAGE, FC_U8, count);
      fc_pointwise_ref(&p, &a, &b, notes);
      fc_pointwise_cpu(&p, &a, &c, scratch.data, notes);
      CHECK(memcmp(want, got, (size_t)count) == 0, "a table by %s, codes from %d on", fc_isa_name(p.isa),
            from);
    }
  guarded_free(&scratch);
}

int main(void) {
  random_start(20240611);
  check_code_ranges();
  check_unity();
  check_stores();
  check_stretch();
  check_gather();
  check_byte_tables();
  for (int i = 0; i < 1500; i++) {
    trial *t = trial_new((trial_kind)(i % TRIAL_KINDS));
    check_trial(t);
    trial_free(t);
  }
  for (int i = 0; i < 300; i++) check_in_place();
  return check_result();
}
