// SPDX-License-Identifier: MIT
//
// blocks.cuh - for test_emulated.c: the tables of overlap-save for each length, and one block there and back,
// by the arithmetic that kernels share (filters/fourier/gpu/overlap_save.cuh).
#include "filters/conv1d/tables.cuh"
#include "filters/conv1d/overlap.cuh"

template <int N> struct plain_block {
  typedef fc_overlap_of<N> C;
  typedef typename C::S S;
  fc_complex<float> *values;
  const fc_complex<float> *tables, *spectrum;
  int *bad, lines;

  static void enter(const void *params) {
    const plain_block &p = *static_cast<const plain_block *>(params);
    const int t = static_cast<int>(threadIdx.x);
    fc_complex<float> x[S::E];
    for (int e = 0; e < S::E; e++) x[e] = p.values[t + S::index(1, 0, e)];
    const bool bad = fc_overlap_block<S, C::halves>(
        x, t, p.tables, [&] { return p.spectrum; }, fc_shared_memory(), p.lines);
    if (t == 0) *p.bad = bad;
    for (int e = 0; e < S::E; e++) p.values[t + S::index(1, 0, e)] = x[e];
  }
};

// Complex values of tables and spectra, these beginning at `spectra`; and the block itself, with the spectrum
// of one mask. Returns whether it has to be summed tap by tap.
#define BLOCKS_OF(N)                                                                                         \
  extern "C" size_t table_##N(size_t masks) {                                                                \
    return (fc_fft_table_size<fc_overlap_of<N>::S> + masks * N) * sizeof(fc_complex<float>);                 \
  }                                                                                                          \
  extern "C" int make_##N(const fc_conv1d_overlap *o, const fc_conv1d *c, void *tables) {                    \
    return fc_overlap_tables<fc_overlap_of<N>>(o, c, static_cast<fc_complex<float> *>(tables));              \
  }                                                                                                          \
  extern "C" int block_##N(void *values, const void *tables, int mask, int lines) {                          \
    const unsigned one[3] = {1, 1, 1};                                                                       \
    const auto *all = static_cast<const fc_complex<float> *>(tables);                                        \
    int bad = 0;                                                                                             \
    const plain_block<N> p = {static_cast<fc_complex<float> *>(values), all,                                 \
                              all + fc_fft_table_size<fc_overlap_of<N>::S> + mask * N, &bad, lines};         \
    run_grid(plain_block<N>::enter, &p, one, fc_overlap_of<N>::S::threads);                                  \
    return bad;                                                                                              \
  }
BLOCKS_OF(1024)
BLOCKS_OF(4096)
BLOCKS_OF(8192)
BLOCKS_OF(16384)
