/* SPDX-License-Identifier: MIT */
/*
 * test_random.c - random numbers and what is made of them: the generator against the published known answers;
 * its draws evenly spread and not alike for neighbouring keys; noise and twists of colour, every instruction
 * set against the reference to the bit, in one piece and in many, and against what they are in closed form.
 */
#include "core/contract/random.h"
#include "tests/filters/randoms.h"

/* Of the Random123 distribution (kat_vectors, philox4x32 10). */
static void check_known_answers(void) {
  static const struct {
    uint64_t key, high, low;
    uint32_t words[4];
  } known[] = {
      {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {0x299f31d0a4093822,
       0x0370734413198a2e,
       0x85a308d3243f6a88,
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    const fc_random_words made = fc_random_at(known[i].key, known[i].high, known[i].low);
    CHECK(memcmp(made.word, known[i].words, sizeof made.word) == 0, "answer %zu is another", i);
  }
}

static void check_draws(void) {
  enum { COUNT = 100000, BINS = 10 };
  int64_t bins[BINS] = {0};
  double with_next = 0, with_key = 0, with_place = 0;
  for (uint64_t i = 0; i < COUNT; i++) {
    const double v = fc_random_even(7, i) - 0.5;
    const int64_t below = fc_random_below(7, i, BINS);
    CHECK(v >= -0.5 && v < 0.5 && below >= 0 && below < BINS, "a draw of %g and %" PRId64, v, below);
    bins[below]++;
    with_next += v * (fc_random_even(7, i + 1) - 0.5) * 12 / COUNT;
    with_key += v * (fc_random_even(8, i) - 0.5) * 12 / COUNT;
    with_place += v * ((double)fc_random_mix(7, 1, i) * 0x1p-64 - 0.5) * 12 / COUNT;
  }
  for (int i = 0; i < BINS; i++)
    CHECK(fabs((double)bins[i] - COUNT / BINS) < 5 * sqrt(COUNT / BINS), "%" PRId64 " draws of %d", bins[i],
          i);
  CHECK(fabs(with_next) < 5 / sqrt(COUNT) && fabs(with_key) < 5 / sqrt(COUNT) &&
            fabs(with_place) < 5 / sqrt(COUNT),
        "correlations %g, %g, %g", with_next, with_key, with_place);
}

/* ---- versions, cuts -------------------------------------------------------------- */

static int64_t differences(const fc_view *a, const fc_view *b) {
  int64_t at[FC_AXES], count = 0;
  FOR_EACH(a, at) {
    const double x = view_get(a, at), y = view_get(b, at);
    count += !(x == y || (x != x && y != y));
  }
  return count;
}

static fc_status run(trial *t, int isa, const fc_view *in, const fc_view *out, uint32_t *notes) {
  static _Alignas(64) char scratch[65536];
  if (isa < 0)
    return t->twists ? fc_twist_ref(&t->twist, in, out, notes) : fc_noise_ref(&t->noise, in, out, notes);
  t->noise.isa = t->twist.isa = (fc_isa)isa;
  CHECK(fc_twist_scratch(&t->twist) <= sizeof scratch && fc_noise_scratch(&t->noise) <= sizeof scratch,
        "scratch");
  return t->twists ? fc_twist_cpu(&t->twist, in, out, scratch, notes)
                   : fc_noise_cpu(&t->noise, in, out, scratch, notes);
}

static void check_trial(void) {
  static const int64_t widths[] = {0, 1, 3, 8, 511, 513, 1100};
  const int64_t shape[FC_AXES] = {1, random_int(1, 5), widths[random_int(0, 6)], random_int(1, 4)};
  const int in_type = (int)random_int(0, FC_DTYPE_COUNT - 1),
            out_type = (int)random_int(0, FC_DTYPE_COUNT - 1);
  trial t = trial_new(shape[FC_AXIS_C]);
  signal in = signal_new(FC_IMAGE, in_type, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  signal want = signal_new(FC_IMAGE, out_type, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  want.view.origin[FC_AXIS_X] = random_int(0, 1 << 20), want.view.origin[FC_AXIS_Y] = random_int(0, 1 << 20);
  signal_fill(&in, 0);
  uint32_t notes[2] = {0, 0};
  CHECK(run(&t, -1, &in.view, &want.view, notes) == FC_OK, "the reference fails");
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++)
    for (int cut = 0; cut < 2; cut++) {
      signal got =
          signal_new(FC_IMAGE, out_type, shape, (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
      uint32_t got_notes[2] = {0, 0};
      memcpy(got.view.origin, want.view.origin, sizeof got.view.origin);
      for (int64_t from = 0, count; from < shape[FC_AXIS_X]; from += count) {
        count = cut ? random_int(1, shape[FC_AXIS_X] - from) : shape[FC_AXIS_X];
        fc_view to = view_cut(&got.view, FC_AXIS_X, from, count),
                part = view_cut(&in.view, FC_AXIS_X, from, count);
        CHECK(run(&t, isa, &part, &to, got_notes) == FC_OK, "it fails");
      }
      CHECK(differences(&want.view, &got.view) == 0, "%s%s: %s differs from the reference",
            fc_isa_name((fc_isa)isa), cut ? ", cut" : "", t.twists ? "twist" : "noise");
      CHECK(memcmp(notes, got_notes, sizeof notes) == 0, "%s: other notes", fc_isa_name((fc_isa)isa));
      CHECK(signal_only_written(&got), "wrote beyond the elements");
      signal_free(&got);
    }
  signal_free(&in), signal_free(&want);
}

/* A turn of hue in the plane of Cb and Cr, by libm; neutral numbers change nothing. */
static void check_numbers(void) {
  for (int i = 0; i < 2000; i++) {
    const double b = fabs(random_real()) * 2, c = fabs(random_real()) * 2, s = fabs(random_real()) * 2,
                 h = random_real() / 2, rgb[3] = {random_real(), random_real(), random_real()};
    fc_twist t = {.colors = 3, .white = 1};
    fc_twist_set(&t, b, c, s, h);
    const double y = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2], angle = 2 * 3.141592653589793 * h;
    const double cb = (rgb[2] - y) / 1.772, cr = (rgb[0] - y) / 1.402;
    const double tb = s * (cb * cos(angle) - cr * sin(angle)), tr = s * (cb * sin(angle) + cr * cos(angle));
    const double turned[3] = {y + 1.402 * tr, y - 0.344136286201022 * tb - 0.714136286201022 * tr,
                              y + 1.772 * tb};
    for (int k = 0; k < 3; k++) {
      const double want = (turned[k] * b) * c + (1 - c) / 2,
                   got =
                       t.matrix[k][0] * rgb[0] + t.matrix[k][1] * rgb[1] + t.matrix[k][2] * rgb[2] + t.offset;
      CHECK(fabs(want - got) < 1e-12, "colour %d is %.15g, not %.15g", k, got, want);
    }
    fc_twist_set(&t, 1, 1, 1, 0);
    for (int k = 0; k < 9; k++)
      CHECK(fabs(t.matrix[k / 3][k % 3] - (k % 4 == 0)) < 1e-15, "number %d of no change: %g", k,
            t.matrix[k / 3][k % 3]);
  }
}

int main(void) {
  random_start(20261125);
  check_known_answers();
  check_draws();
  check_numbers();
  for (int i = 0; i < 300; i += trial_step()) check_trial();
  return check_result();
}
