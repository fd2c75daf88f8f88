// SPDX-License-Identifier: MIT
//
// tables.cuh - the tables of overlap-save (overlap_save.cuh), computed on the host: twiddles, and the spectra
// of the masks. They are in the order of registers.
#ifndef FC_FILTERS_OVERLAP_TABLES_CUH
#define FC_FILTERS_OVERLAP_TABLES_CUH

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "filters/conv1d/conv1d_overlap.h"
#include "filters/fourier/gpu/overlap_save.cuh"
#include "filters/fourier/fft.h"

// exp(-2 pi i turns)
template <typename F> fc_complex<F> fc_turned_by(double turns) {
  const double angle = -6.283185307179586476925286766559 * turns;
  return {static_cast<F>(cos(angle)), static_cast<F>(sin(angle))};
}

// A column of a pass's twiddles, of w^(R/m) = e^(-2 pi i / 4 quarters / of * R/m).
template <typename F>
void fc_make_column(fc_complex<F> *table, bool wide, int radix, int columns, int column, int64_t quarters,
                    int64_t of) {
  int row = 0;
  for (int m = 2; m <= radix; m *= 2)
    for (int k = 0; k < (wide && m > 4 ? m / 4 : 1); k++, row++) {
      const int at = wide ? (row / 2 * columns + column) * 2 + row % 2 : row * columns + column;
      const int64_t turns = quarters * (radix / m) % (4 * of);
      table[at] = fc_turned_by<F>(static_cast<double>(turns) / static_cast<double>(4 * of) +
                                  static_cast<double>(k) / m);
    }
}

// The tables of fft_registers.cuh: twiddles, then what turns the results.
template <typename C> void fc_make_twiddles(fc_complex<typename C::F> *tables, int shift) {
  using F = typename C::F;
  using S = typename C::S;
  for (int back = 0; back < 2; back++)
    for (int p = back ? 1 : 2; p < (back ? S::passes : S::passes + 1); p++)
      for (int column = 0; column < S::columns(p, back); column++)
        fc_make_column<F>(tables + S::table(p, back), S::wide(p, back), S::radix(p), S::columns(p, back),
                          column, int64_t{4} * (back ? column : S::settled(p, column)) + (back ? 0 : shift),
                          back ? S::block(p) : S::N / S::step(p));
  fc_complex<F> *turn = tables + fc_fft_turn_table<S>;
  for (int t = 0; t < S::threads; t++)
    for (int e = 0; e < S::E; e++) {
      const fc_complex<double> w = fc_turned_by<double>(shift * (t + S::index(1, 0, e)) / (4. * S::N));
      if (S::turns)
        turn[(e / 2 * S::threads + t) * 2 + e % 2] = {static_cast<F>(-w.im / (1 + w.re)),
                                                      static_cast<F>(-w.im)};
      else if (e == 0)
        turn[t] = {static_cast<F>(w.re), static_cast<F>(w.im)};
    }
}

// Buffers for computing spectra, in double for all types.
struct fc_spectrum_maker {
  fc_fft *plan;
  double *re, *im;
  void *scratch;
};

static inline double *fc_spectrum_row(int n) {
  return static_cast<double *>(aligned_alloc(64, static_cast<size_t>(n + 8) * sizeof(double)));
}

static inline void fc_maker_free(fc_spectrum_maker *m) {
  free(m->plan);
  free(m->re);
  free(m->im);
  free(m->scratch);
}

static inline size_t fc_lines_of(size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// n is a multiple of 64.
static inline fc_status fc_maker_init(fc_spectrum_maker *m, int n) {
  *m = {};
  m->plan = static_cast<fc_fft *>(aligned_alloc(64, fc_lines_of(fc_fft_bytes(n, FC_F64))));
  fc_status status = m->plan ? fc_fft_init(m->plan, n, FC_F64, fc_isa_best()) : FC_NO_MEMORY;
  if (status == FC_OK) {
    m->re = fc_spectrum_row(n), m->im = fc_spectrum_row(n);
    m->scratch = aligned_alloc(64, fc_lines_of(fc_fft_scratch(m->plan, 1) + 64));
    if (!m->re || !m->im || !m->scratch) status = FC_NO_MEMORY;
  }
  if (status != FC_OK) fc_maker_free(m);
  return status;
}

// The operation is a correlation, so the spectrum is conjugated; it includes the 1/N of the inverse. The
// spectrum at shifted frequencies is that of the taps multiplied by exp(-2 pi i SHIFT n / 4N).
template <typename S, typename F>
void fc_make_spectrum(const fc_spectrum_maker *m, const F *taps, int64_t count, int64_t lead, int shift,
                      fc_complex<F> *spectrum) {
  memset(m->re, 0, S::N * sizeof *m->re), memset(m->im, 0, S::N * sizeof *m->im);
  for (int64_t i = lead; i < lead + count; i++) { // may exceed N
    const double tap = static_cast<double>(taps[i - lead]) / S::N;
    const fc_complex<double> w =
        fc_turned_by<double>(static_cast<double>(shift * i % (4 * S::N)) / (4. * S::N));
    m->re[i % S::N] += tap * w.re, m->im[i % S::N] += tap * w.im;
  }
  fc_fft_run(m->plan, m->re, m->im, 1, m->scratch);
  for (int t = 0; t < S::threads; t++)
    for (int e = 0; e < S::E; e++) {
      const int k = S::frequency(t, e);
      spectrum[(e / 2 * S::threads + t) * 2 + e % 2] = {static_cast<F>(m->re[k]), static_cast<F>(-m->im[k])};
    }
}

template <typename C>
fc_status fc_overlap_tables(const fc_conv1d_overlap *o, const fc_conv1d *c,
                            fc_complex<typename C::F> *tables) {
  using S = typename C::S;
  fc_spectrum_maker m;
  fc_status status = fc_maker_init(&m, S::N);
  if (status != FC_OK) return status;
  const int shift = o->stretches == 2 ? FC_OVERLAP_SHIFT : 0;
  fc_make_twiddles<C>(tables, shift);
  fc_complex<typename C::F> *spectrum = tables + fc_fft_table_size<S>;
  for (int64_t mask = 0; mask < c->masks; mask++)
    for (int64_t p = 0; p < o->parts; p++, spectrum += S::N) {
      const int64_t first = p * o->part, left = c->taps - first;
      const auto *taps = static_cast<const typename C::F *>(c->mask) + mask * c->taps + first;
      fc_make_spectrum<S>(&m, taps, left < o->part ? left : o->part, o->lead, shift, spectrum);
    }
  fc_maker_free(&m);
  return FC_OK;
}

#endif
