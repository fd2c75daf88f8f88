// SPDX-License-Identifier: MIT
//
// fft_registers.cuh - Fourier transforms of 2^k complex values in the registers of a group of threads, E
// values each, forward and inverse, for filtering by a product of spectra.
//
// A transform is two or three passes of a large radix; between passes threads exchange values through shared
// memory. Everything is in place: the forward transform leaves frequencies in digit-reversed order, which is
// also that of the mask's spectrum, and the inverse starts from it, so that nothing is reordered. A thread
// writes to the locations that it has read before, so an exchange needs one barrier.
//
// Both directions multiply by twiddles before a butterfly, in powers of one w per butterfly, so that they
// merge into its stages: a + w b and a - w b are six multiply-adds. The inverse is the forward transform of
// values whose re and im are swapped.
#ifndef FC_FILTERS_FFT_REGISTERS_CUH
#define FC_FILTERS_FFT_REGISTERS_CUH

#include "filters/fourier/gpu/complex.cuh"

// ---- butterflies -----------------------------------------------------------------

// cos(2 pi k / 128), 0 <= k <= 32; known at compile time wherever k is.
template <typename F> __host__ __device__ constexpr F fc_cos128(int k) {
  switch (k) {
  case 0: return F(1);
  case 1: return F(0.99879545620517240501);
  case 2: return F(0.99518472667219692873);
  case 3: return F(0.98917650996478101444);
  case 4: return F(0.98078528040323043058);
  case 5: return F(0.97003125319454397424);
  case 6: return F(0.95694033573220882438);
  case 7: return F(0.94154406518302080631);
  case 8: return F(0.92387953251128673848);
  case 9: return F(0.90398929312344333820);
  case 10: return F(0.88192126434835504956);
  case 11: return F(0.85772861000027211809);
  case 12: return F(0.83146961230254523567);
  case 13: return F(0.80320753148064494287);
  case 14: return F(0.77301045336273699338);
  case 15: return F(0.74095112535495910588);
  case 16: return F(0.70710678118654757274);
  case 17: return F(0.67155895484701833009);
  case 18: return F(0.63439328416364548779);
  case 19: return F(0.59569930449243346793);
  case 20: return F(0.55557023301960228867);
  case 21: return F(0.51410274419322166128);
  case 22: return F(0.47139673682599780857);
  case 23: return F(0.42755509343028219593);
  case 24: return F(0.38268343236508983729);
  case 25: return F(0.33688985339222005111);
  case 26: return F(0.29028467725446233105);
  case 27: return F(0.24298017990326398197);
  case 28: return F(0.19509032201612833135);
  case 29: return F(0.14673047445536174793);
  case 30: return F(0.09801714032956077016);
  case 31: return F(0.04906767432741812596);
  default: return F(0);
  }
}

// e^(-2 pi i k / m), m a power of two <= 128
template <typename F> __host__ __device__ constexpr fc_complex<F> fc_root(int m, int k) {
  const int turn = 128 / m * k & 127, rest = turn & 31;
  const F c = fc_cos128<F>(rest), s = fc_cos128<F>(32 - rest);
  switch (turn >> 5) {
  case 0: return {c, -s};
  case 1: return {-s, -c};
  case 2: return {-c, s};
  default: return {s, c};
  }
}

// a + w b and a - w b
template <typename F>
__device__ __forceinline__ void fc_twist(fc_complex<F> &a, fc_complex<F> &b, fc_complex<F> w) {
  const F re = fc_fft_fma(w.re, b.re, fc_fft_fma(-w.im, b.im, a.re));
  const F im = fc_fft_fma(w.re, b.im, fc_fft_fma(w.im, b.re, a.im));
  b = {fc_fft_fma(F(2), a.re, -re), fc_fft_fma(F(2), a.im, -im)};
  a = {re, im};
}

// x e^(-i angle) by three shears, of the angle's sine and half the angle's tangent.
template <typename F> __device__ __forceinline__ fc_complex<F> fc_turn(fc_complex<F> x, F tangent, F sine) {
  const F re = fc_fft_fma(tangent, x.im, x.re), im = fc_fft_fma(-sine, re, x.im);
  return {fc_fft_fma(tangent, im, re), im};
}

// Two adjacent values: one access of 16 bytes in f32.
template <typename F> struct alignas(16) fc_two { fc_complex<F> v[2]; };

__host__ __device__ constexpr int fc_log2(int n) {
  return n <= 1 ? 0 : 1 + fc_log2(n / 2);
}
__host__ __device__ constexpr int fc_bits_reversed(int i, int n) {
  return n <= 1 ? 0 : (i & 1) * (n / 2) + fc_bits_reversed(i >> 1, n / 2);
}

// What a butterfly's inputs are multiplied by: input j by common w^j, of which the stage that makes
// transforms of length m needs factor(m, k) = w^(R/m) e^(-2 pi i k / m), k < m/4, as the other quarter is a
// quarter turn on. `common` is 1 unless `scaled`.
template <typename F> struct fc_no_twiddles {
  static constexpr bool none = true, scaled = false;
  __device__ __forceinline__ fc_complex<F> factor(int, int m, int k) const { return fc_root<F>(m, k); }
};
// All factors are in a table, in the order of stages, two adjacent ones at a time.
template <typename F, int R, bool WIDE> struct fc_twiddles {
  static constexpr bool none = false, scaled = false;
  fc_complex<F> all[R / 2];
  __device__ __forceinline__ fc_twiddles(const fc_complex<F> *table, int columns, int column) {
    const fc_two<F> *from = reinterpret_cast<const fc_two<F> *>(table) + column;
#pragma unroll
    for (int i = 0; i < R / 4; i++) {
      const fc_two<F> w = from[i * columns];
      all[2 * i] = w.v[0], all[2 * i + 1] = w.v[1];
    }
  }
  __device__ __forceinline__ fc_complex<F> factor(int, int m, int k) const {
    return all[m == 2 ? 0 : m / 4 + k];
  }
};
// Powers of w are, as the table would leave no room in the first cache.
template <typename F, int R> struct fc_twiddles<F, R, false> {
  static constexpr bool none = false, scaled = true;
  fc_complex<F> power[fc_log2(R)], common; // w^(R/2), w^(R/4) .. w
  bool is_scaled = false;
  __device__ __forceinline__ fc_twiddles(const fc_complex<F> *table, int columns, int column) {
#pragma unroll
    for (int i = 0; i < fc_log2(R); i++) power[i] = table[i * columns + column];
  }
  __device__ __forceinline__ fc_complex<F> factor(int stage, int m, int k) const {
    return k ? fc_times(power[stage], fc_root<F>(m, k)) : power[stage];
  }
};

// x[k] = sum over j of x[j] common w^j e^(-2 pi i j k / R)
template <typename F, int R, typename W>
__device__ __forceinline__ void fc_butterfly_twisted(fc_complex<F> *x, const W &w) {
  fc_complex<F> a[R];
#pragma unroll
  for (int j = 0; j < R; j++) a[j] = x[fc_bits_reversed(j, R)];
  fc_complex<F> first = w.factor(0, 2, 0);
  if constexpr (W::scaled)
    if (w.is_scaled) {
      first = fc_times(first, w.common);
#pragma unroll
      for (int j = 0; j < R; j += 2) a[j] = fc_times(a[j], w.common);
    }
#pragma unroll
  for (int stage = 0; stage < fc_log2(R); stage++) {
    const int m = 2 << stage;
#pragma unroll
    for (int k = 0; k < m / 2; k++) {
      const bool turned = m >= 4 && k >= m / 4; // a quarter turn on, which costs nothing
      const int q = turned ? k - m / 4 : k;
      fc_complex<F> c = stage == 0 ? first : w.factor(stage, m, q);
      if (turned) c = {c.im, -c.re};
#pragma unroll
      for (int b = 0; b < R; b += m) {
        fc_complex<F> &u = a[b + k], &v = a[b + k + m / 2];
        if (!W::none || q) {
          fc_twist(u, v, c);
        } else {
          const fc_complex<F> s = turned ? fc_minus_i(u, v) : fc_add(u, v);
          v = turned ? fc_plus_i(u, v) : fc_subtract(u, v);
          u = s;
        }
      }
    }
  }
#pragma unroll
  for (int j = 0; j < R; j++) x[j] = a[j];
}

// ---- where values lie --------------------------------------------------------------

// A transform of N values by radices R1, R2, R3 (1: there is no third), E values a thread.
// Pass p works on blocks of block(p) values in a row, whose butterflies take every
// step(p)-th.
template <int N_, int E_, int R1, int R2, int R3> struct fc_fft_shape {
  static constexpr int N = N_, E = E_, threads = N / E, passes = R3 > 1 ? 3 : 2;
  static_assert(R1 * R2 * R3 == N && R1 <= E && R2 <= E && R3 <= E, "radices make the length");

  __host__ __device__ static constexpr int radix(int p) { return p == 1 ? R1 : p == 2 ? R2 : R3; }
  __host__ __device__ static constexpr int block(int p) { return p == 1 ? N : p == 2 ? N / R1 : R3; }
  __host__ __device__ static constexpr int step(int p) { return block(p) / radix(p); }
  // Threads that share a block, as long as it has more values than a thread.
  __host__ __device__ static constexpr int group(int p) { return block(p) >= E ? block(p) / E : 1; }
  // In shared memory every E values are followed by a gap: of one, so no two threads of a half warp use the
  // same bank in any pass; of two where pairs are moved as one, so that these are aligned. With that, groups
  // of 8 threads would share banks in pass 2 (4000 taps 0.129 -> 0.146 ms).
  static constexpr bool pairs = passes == 2 || group(2) >= 16;
  __host__ __device__ static constexpr int place(int i, int gap) { return i + i / E * gap; }

  // Butterfly m of thread t in pass p: its block, and the position of its first value in it.
  __host__ __device__ static constexpr int block_of(int p, int t, int m) {
    return block(p) >= E ? t / group(p) : t * (E / block(p)) + m;
  }
  __host__ __device__ static constexpr int low_of(int p, int t, int m) {
    return block(p) >= E ? t % group(p) + m * group(p) : 0;
  }
  __host__ __device__ static constexpr int first_of(int p, int t, int m) {
    return block_of(p, t, m) * block(p) + low_of(p, t, m);
  }
  // Value e of a thread in pass p.
  __host__ __device__ static constexpr int index(int p, int t, int e) {
    return first_of(p, t, e / radix(p)) + e % radix(p) * step(p);
  }

  // The part of a frequency that is determined by the passes before p, in block b.
  __host__ __device__ static constexpr int settled(int p, int b) {
    return p == 1 ? 0 : p == 2 ? b : b / R2 + b % R2 * R1;
  }
  // The frequency of value e of thread t between the transforms.
  __host__ __device__ static constexpr int frequency(int t, int e) {
    const int i = index(passes, t, e);
    return settled(passes, i / block(passes)) + i % block(passes) * (N / block(passes));
  }

  // Twiddles: for each pass and direction, rows of numbers; a column for each block in the forward direction,
  // for each position in the inverse. All factors where there are few columns, else powers.
  __host__ __device__ static constexpr int columns(int p, bool back) { return back ? step(p) : N / block(p); }
  __host__ __device__ static constexpr bool wide(int p, bool back) { return columns(p, back) <= 64; }
  __host__ __device__ static constexpr int rows(int p, bool back) {
    return wide(p, back) ? radix(p) / 2 : fc_log2(radix(p));
  }
  __host__ __device__ static constexpr int table(int p, bool back) {
    int at = 0;
    for (int q = 2; q <= (back ? passes : p - 1); q++) at += rows(q, false) * columns(q, false);
    for (int q = 1; back && q < p; q++) at += rows(q, true) * columns(q, true);
    return at;
  }
  // Whether results are turned by a table (see fc_turn_before).
  static constexpr bool turns = wide(1, true);
};

// After them tangents and sines of fc_turn for each value of pass 1, as re and im, in pairs like spectra; or
// a factor for each position of pass 1.
template <typename S> constexpr int fc_fft_turn_table = S::table(S::passes, true);
template <typename S> constexpr int fc_fft_table_size = fc_fft_turn_table<S> + (S::turns ? S::N : S::step(1));

// ---- passes ----------------------------------------------------------------------------

// All threads of a group of `threads` that is aligned to its size.
template <int THREADS> __device__ __forceinline__ void fc_group_barrier(void) {
  if constexpr (THREADS <= 32)
    __syncwarp();
  else
    __syncthreads();
}

// The same, and whether `flag` is set in any of them.
template <int THREADS> __device__ __forceinline__ bool fc_group_any(bool flag) {
  if constexpr (THREADS <= 32)
    return __any_sync(0xffffffffu, flag) != 0;
  else
    return __syncthreads_or(flag) != 0;
}

// `shifted`: results of the inverse are turned by what depends on t, if not by a table.
template <typename S, int P, bool BACK, typename F>
__device__ __forceinline__ void fc_register_pass(fc_complex<F> *x, int t, const fc_complex<F> *tables,
                                                 bool shifted = false) {
  constexpr int R = S::radix(P);
#pragma unroll
  for (int m = 0; m < S::E / R; m++) {
    if constexpr (P == (BACK ? S::passes : 1)) {
      fc_butterfly_twisted<F, R>(x + m * R, fc_no_twiddles<F>{});
    } else {
      const int column = BACK ? S::low_of(P, t, m) : S::block_of(P, t, m);
      fc_twiddles<F, R, S::wide(P, BACK)> w(tables + S::table(P, BACK), S::columns(P, BACK), column);
      if constexpr (BACK && P == 1 && !S::turns)
        if (shifted) w.common = tables[fc_fft_turn_table<S> + column], w.is_scaled = true;
      fc_butterfly_twisted<F, R>(x + m * R, w);
    }
  }
}

// Values of type V, of which PAIRS are moved as one where they are adjacent.
template <typename S, int PASS, bool PAIRS, typename V, typename Value>
__device__ __forceinline__ void fc_put(V *shared, int t, Value value) {
  constexpr int R = S::radix(PASS), GAP = PAIRS ? 2 : 1, MANY = PAIRS && S::step(PASS) == 1 ? 2 : 1;
  struct alignas(MANY * sizeof(V)) some {
    V v[MANY];
  };
#pragma unroll
  for (int e = 0; e < S::E; e += MANY) {
    some s;
#pragma unroll
    for (int i = 0; i < MANY; i++) s.v[i] = value(e + i);
    *reinterpret_cast<some *>(shared + S::place(S::first_of(PASS, t, e / R), GAP) +
                              S::place(e % R * S::step(PASS), GAP)) = s;
  }
}

template <typename S, int PASS, bool PAIRS, typename V, typename Value>
__device__ __forceinline__ void fc_get(const V *shared, int t, Value value) {
  constexpr int R = S::radix(PASS), GAP = PAIRS ? 2 : 1, MANY = PAIRS && S::step(PASS) == 1 ? 2 : 1;
  struct alignas(MANY * sizeof(V)) some {
    V v[MANY];
  };
#pragma unroll
  for (int e = 0; e < S::E; e += MANY) {
    const some s = *reinterpret_cast<const some *>(shared + S::place(S::first_of(PASS, t, e / R), GAP) +
                                                   S::place(e % R * S::step(PASS), GAP));
#pragma unroll
    for (int i = 0; i < MANY; i++) value(e + i) = s.v[i];
  }
}

// From the positions of pass FROM to those of pass TO, in the order of threads; with HALVES through half the
// memory, re and im one after the other. Returns whether any thread's flag is set, if ASKED.
template <typename S, bool HALVES, int FROM, int TO, bool ASKED = false, typename F>
__device__ __forceinline__ bool fc_exchange(fc_complex<F> *x, int t, void *shared, bool flag = false) {
  constexpr int threads = S::group(FROM < TO ? FROM : TO);
  const auto meet = [&] {
    if constexpr (ASKED) return fc_group_any<threads>(flag);
    fc_group_barrier<threads>();
    return false;
  };
  if constexpr (HALVES) {
    F *half = static_cast<F *>(shared);
    fc_put<S, FROM, false>(half, t, [&](int e) { return x[e].re; });
    const bool any = meet();
    fc_get<S, TO, false>(half, t, [&](int e) -> F & { return x[e].re; });
    fc_group_barrier<threads>();
    fc_put<S, FROM, false>(half, t, [&](int e) { return x[e].im; });
    fc_group_barrier<threads>();
    fc_get<S, TO, false>(half, t, [&](int e) -> F & { return x[e].im; });
    return any;
  } else {
    fc_complex<F> *all = static_cast<fc_complex<F> *>(shared);
    fc_put<S, FROM, S::pairs && sizeof(F) == 4>(all, t, [&](int e) { return x[e]; });
    const bool any = meet();
    fc_get<S, TO, S::pairs && sizeof(F) == 4>(all, t, [&](int e) -> fc_complex<F> & { return x[e]; });
    return any;
  }
}

// The frequencies may be SHIFT quarters above the integers: for a signal that continues as x[i + N] = e^(2 pi
// i SHIFT/4) x[i]. Tables are for one shift. Input i is turned by SHIFT/4 i/N of a circle: what depends on e
// here, what depends on t by the factors of pass 2. So are results of the inverse: by a table at once, or
// what depends on t ahead of the last pass.
template <typename S, int SHIFT, typename F>
__device__ __forceinline__ void fc_turn_before(fc_complex<F> *x) {
  static_assert(S::radix(1) == S::E && (SHIFT == 0 || SHIFT == -1), "a butterfly a thread");
#pragma unroll
  for (int e = 1; SHIFT && e < S::E; e++) {
    constexpr int M = 4 * S::E;
    const F sine = fc_root<F>(M, e).im, cosine = fc_root<F>(M, e).re;
    x[e] = fc_turn(x[e], sine / (1 + cosine), sine);
  }
}
template <typename S, int SHIFT, typename F>
__device__ __forceinline__ void fc_turn_after(fc_complex<F> *x, int t, const fc_complex<F> *tables) {
  if constexpr (!S::turns) return fc_turn_before<S, SHIFT>(x);
  const fc_two<F> *h = reinterpret_cast<const fc_two<F> *>(tables + fc_fft_turn_table<S>) + t;
#pragma unroll
  for (int e = 0; e < S::E; e += 2) {
    const fc_two<F> w = h[e / 2 * S::threads];
    x[e] = fc_turn(x[e], w.v[0].re, w.v[0].im), x[e + 1] = fc_turn(x[e + 1], w.v[1].re, w.v[1].im);
  }
}

// x[e] is value index(1, t, e); afterwards frequency(t, e).
template <typename S, bool HALVES, typename F>
__device__ __forceinline__ void fc_register_fft(fc_complex<F> *x, int t, const fc_complex<F> *tables,
                                                void *shared) {
  fc_register_pass<S, 1, false>(x, t, tables);
  fc_exchange<S, HALVES, 1, 2>(x, t, shared);
  fc_register_pass<S, 2, false>(x, t, tables);
  if constexpr (S::passes == 3) {
    fc_exchange<S, HALVES, 2, 3>(x, t, shared);
    fc_register_pass<S, 3, false>(x, t, tables);
  }
}

// The inverse, of values whose re and im are swapped, as are the results. Returns whether the flag of any
// thread in the group is set; with SURE there are no flags.
template <typename S, bool HALVES, bool SURE = false, typename F>
__device__ __forceinline__ bool fc_register_fft_back(fc_complex<F> *x, int t, const fc_complex<F> *tables,
                                                     void *shared, bool flag, bool shifted) {
  if constexpr (S::passes == 3) {
    fc_register_pass<S, 3, true>(x, t, tables);
    fc_exchange<S, HALVES, 3, 2>(x, t, shared);
  }
  fc_register_pass<S, 2, true>(x, t, tables);
  const bool any = fc_exchange<S, HALVES, 2, 1, !SURE>(x, t, shared, flag);
  fc_register_pass<S, 1, true>(x, t, tables, shifted);
  return any;
}

// There and back, with between(x) on the frequencies, which swaps re and im and returns a flag. Where a
// transform is square and a warp's, both directions differ in tables alone, so they are the same
// instructions, which fit the caches of these better. Returns whether any thread's flag is set.
template <typename S, bool HALVES, bool SURE, typename F, typename Between>
__device__ __forceinline__ bool fc_register_there_and_back(fc_complex<F> *x, int t,
                                                           const fc_complex<F> *tables, void *shared,
                                                           bool shifted, Between between) {
  if constexpr (S::passes == 2 && S::radix(1) == S::radix(2) && S::threads <= 32) {
    constexpr int R = S::E;
    bool any = false; // not a second way out of the loop, for which values would have to be moved
    const int last = static_cast<int>(gridDim.y); // 1, but the compiler would write out a loop of two rounds
    int back = 0;
#pragma unroll 1
    do {
      fc_butterfly_twisted<F, R>(x, fc_no_twiddles<F>{});
      fc_group_barrier<S::threads>();
      fc_exchange<S, HALVES, 1, 2>(x, t, shared);
      fc_butterfly_twisted<F, R>(x, fc_twiddles<F, R, true>(tables + back * S::table(1, true), R, t));
      if (back > 0) continue;
      const bool flag = between(x);
      if constexpr (!SURE) any = fc_group_any<S::threads>(flag);
    } while (back++ < last);
    return any;
  } else {
    fc_register_fft<S, HALVES>(x, t, tables, shared);
    return fc_register_fft_back<S, HALVES, SURE>(x, t, tables, shared, between(x), shifted);
  }
}

#endif
