/* SPDX-License-Identifier: MIT */
/* test_fir_design.c - masks against scipy.signal.firwin and kaiserord; the attenuation that Kaiser's window
 * is asked for, measured. */
#include "filters/conv1d/fir_design.h"
#include "tests/filters/golden.h"

#define PI 3.14159265358979323846

static void check_masks(const char *path) {
  golden masks = golden_read(path, "masks");
  for (int k = 0; k < (int)masks.values[0]; k++) {
    char name[32];
    snprintf(name, sizeof name, "mask_%d", k);
    golden g = golden_read(path, name);
    const double *v = g.values;
    const fc_fir_design d = {.band = (fc_fir_band)v[0],
                             .low = v[1],
                             .high = v[2],
                             .window = (fc_window)v[3],
                             .beta = v[4],
                             .taps = g.count - 5};
    const golden want = {g.count - 5, g.values + 5};
    double taps[64];
    fc_fir_design_fill(&d, taps);
    CHECK(golden_distance(taps, &want) < 1e-12, "%s: off by %g", name, golden_distance(taps, &want));
    golden_free(&g);
  }
  golden_free(&masks);
}

static void check_kaiser(const char *path) {
  for (int k = 0; k < 4; k++) {
    char name[32];
    snprintf(name, sizeof name, "kaiser_%d", k);
    golden g = golden_read(path, name);
    const double *v = g.values, off = fc_fir_kaiser_beta(v[0]) - v[3];
    CHECK(fc_fir_kaiser_taps(v[0], v[1]) == (int64_t)v[2], "%s: %g taps are wanted", name, v[2]);
    CHECK(fabs(off) < 1e-9, "%s: beta is off by %g", name, off);
    CHECK(fabs(fc_fir_kaiser_attenuation((int64_t)v[2], v[1]) - v[0]) < 0.02 * v[0] + 1, "%s: attenuation",
          name);
    golden_free(&g);
  }
}

static double gain(const fc_fir_design *d, const double *taps, double frequency) {
  double sum = 0;
  for (int64_t i = 0; i < d->taps; i++)
    sum += taps[i] * cos(2 * PI * frequency * ((double)i - 0.5 * (double)(d->taps - 1)));
  return sum;
}

/* Below the edges by half the width all is passed, above stopped; at an edge it is half. */
static void check_attenuation(void) {
  static double taps[4096];
  for (int attenuation = 40; attenuation <= 120; attenuation += 40)
    for (int band = FC_FIR_LOWPASS; band <= FC_FIR_BANDSTOP; band++) {
      const double width = 0.02, low = 0.1, high = 0.3, most = 1.3 * pow(10, -attenuation / 20.0);
      const fc_fir_design d = {.band = (fc_fir_band)band,
                               .low = low,
                               .high = high,
                               .window = FC_WINDOW_KAISER,
                               .beta = fc_fir_kaiser_beta(attenuation),
                               .taps = fc_fir_kaiser_taps(attenuation, width) | 1};
      fc_fir_design_fill(&d, taps);
      for (int i = 0; i <= 200; i++) {
        const double f = 0.5 * i / 200;
        const int above = f > low, beyond = band >= FC_FIR_BANDPASS && f > high;
        const int first = band == FC_FIR_LOWPASS || band == FC_FIR_BANDSTOP;
        const double want = above == beyond ? first : !first;
        if (fabs(f - low) < width / 2 || (band >= FC_FIR_BANDPASS && fabs(f - high) < width / 2)) continue;
        CHECK(fabs(gain(&d, taps, f) - want) < most, "%d dB, band %d: %g at %g", attenuation, band,
              gain(&d, taps, f), f);
      }
      CHECK(fabs(gain(&d, taps, low) - 0.5) < 0.01, "the edge is at %g", gain(&d, taps, low));
    }
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  check_masks(argv[1]);
  check_kaiser(argv[1]);
  check_attenuation();
  return check_result();
}
