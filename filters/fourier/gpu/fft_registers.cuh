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

#include "filters/gpu/complex.cuh"

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

__host__ __device__ constexpr int fc_log2(int n) {
  return n <= 1 ? 0 : 1 + fc_log2(n / 2);
}
__host__ __device__ constexpr int fc_bits_reversed(int i, int n) {
  return n <= 1 ? 0 : (i & 1) * (n / 2) + fc_bits_reversed(i >> 1, n / 2);
}

// What a butterfly's inputs are multiplied by: input j by common * w^j, of which the stage that makes
// transforms of length m needs w^(R/m) alone. factor(m, k) is that times e^(-2 pi i k / m).
template <typename F> struct fc_no_twiddles {
  static constexpr bool none = true, scaled = false;
  __device__ __forceinline__ fc_complex<F> factor(int, int m, int k) const { return fc_root<F>(m, k); }
};
// w = e^(-2 pi i / R * SHIFT/4): known at compile time.
template <typename F, int SHIFT> struct fc_shift_twiddles {
  static constexpr bool none = SHIFT == 0, scaled = false;
  __device__ __forceinline__ fc_complex<F> factor(int, int m, int k) const {
    return fc_root<F>(4 * m, 4 * k + SHIFT);
  }
};
template <typename F, int R, bool SCALED> struct fc_twiddles {
  static constexpr bool none = false, scaled = SCALED;
  fc_complex<F> power[fc_log2(R)]; // w^(R/2), w^(R/4) .. w
  fc_complex<F> common;
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
#pragma unroll
  for (int stage = 0; stage < fc_log2(R); stage++) {
    const int m = 2 << stage;
#pragma unroll
    for (int k = 0; k < m / 2; k++) {
      const bool turned = m >= 4 && k >= m / 4; // a quarter turn on, which costs nothing
      const int q = turned ? k - m / 4 : k;
      fc_complex<F> c = w.factor(stage, m, q);
      if constexpr (W::scaled) c = stage == 0 ? fc_times(c, w.common) : c;
      if (turned) c = {c.im, -c.re};
#pragma unroll
      for (int b = 0; b < R; b += m) {
        fc_complex<F> &u = a[b + k], &v = a[b + k + m / 2];
        if constexpr (W::scaled) u = stage == 0 ? fc_times(u, w.common) : u;
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
  // In shared memory every E values are followed by a gap of one: so no two threads of a half warp use the
  // same bank in any pass.
  static constexpr int places = N + N / E;
  __host__ __device__ static constexpr int place(int i) { return i + i / E; }

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

  // Twiddles: for each pass and direction, log2(radix) rows of powers; a column for each block in the forward
  // direction, for each position in the inverse.
  __host__ __device__ static constexpr int columns(int p, bool back) { return back ? step(p) : N / block(p); }
  __host__ __device__ static constexpr int table(int p, bool back) {
    int at = 0;
    for (int q = 2; q <= (back ? passes : p - 1); q++) at += fc_log2(radix(q)) * columns(q, false);
    for (int q = 1; back && q < p; q++) at += fc_log2(radix(q)) * columns(q, true);
    return at;
  }
};

// After them a column for each position of pass 1: the rest of the shift, see fc_register_fft.
template <typename S> constexpr int fc_fft_shift_table = S::table(S::passes, true);
template <typename S> constexpr int fc_fft_table_size = fc_fft_shift_table<S> + S::step(1);

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

template <typename S, int P, bool BACK, int SHIFT, typename F>
__device__ __forceinline__ void fc_register_pass(fc_complex<F> *x, int t, const fc_complex<F> *tables) {
  constexpr int R = S::radix(P);
#pragma unroll
  for (int m = 0; m < S::E / R; m++) {
    if constexpr (BACK && P == S::passes) {
      fc_butterfly_twisted<F, R>(x + m * R, fc_no_twiddles<F>{});
    } else if constexpr (!BACK && P == 1) {
      fc_butterfly_twisted<F, R>(x + m * R, fc_shift_twiddles<F, SHIFT>{});
    } else {
      constexpr bool scaled = SHIFT && BACK && P == 1;
      const int column = BACK ? S::low_of(P, t, m) : S::block_of(P, t, m);
      fc_twiddles<F, R, scaled> w;
#pragma unroll
      for (int i = 0; i < fc_log2(R); i++)
        w.power[i] = tables[S::table(P, BACK) + i * S::columns(P, BACK) + column];
      if constexpr (scaled) w.common = tables[fc_fft_shift_table<S> + column];
      fc_butterfly_twisted<F, R>(x + m * R, w);
    }
  }
}

template <typename S, int PASS, typename F, typename V>
__device__ __forceinline__ void fc_put(F *shared, int t, V value) {
  constexpr int R = S::radix(PASS);
#pragma unroll
  for (int e = 0; e < S::E; e++)
    shared[S::place(S::first_of(PASS, t, e / R)) + S::place(e % R * S::step(PASS))] = value(e);
}

template <typename S, int PASS, typename F, typename V>
__device__ __forceinline__ void fc_get(const F *shared, int t, V value) {
  constexpr int R = S::radix(PASS);
#pragma unroll
  for (int e = 0; e < S::E; e++)
    value(e) = shared[S::place(S::first_of(PASS, t, e / R)) + S::place(e % R * S::step(PASS))];
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
    fc_put<S, FROM>(half, t, [&](int e) { return x[e].re; });
    const bool any = meet();
    fc_get<S, TO>(half, t, [&](int e) -> F & { return x[e].re; });
    fc_group_barrier<threads>();
    fc_put<S, FROM>(half, t, [&](int e) { return x[e].im; });
    fc_group_barrier<threads>();
    fc_get<S, TO>(half, t, [&](int e) -> F & { return x[e].im; });
    return any;
  } else {
    fc_complex<F> *all = static_cast<fc_complex<F> *>(shared);
    fc_put<S, FROM>(all, t, [&](int e) { return x[e]; });
    const bool any = meet();
    fc_get<S, TO>(all, t, [&](int e) -> fc_complex<F> & { return x[e]; });
    return any;
  }
}

// The frequencies may be SHIFT quarters above the integers: for a signal that continues as x[i + N] = e^(2 pi
// i SHIFT/4) x[i]. Tables are for one shift.
//
// x[e] is value index(1, t, e); afterwards frequency(t, e).
template <typename S, bool HALVES, int SHIFT, typename F>
__device__ __forceinline__ void fc_register_fft(fc_complex<F> *x, int t, const fc_complex<F> *tables,
                                                void *shared) {
  fc_register_pass<S, 1, false, SHIFT>(x, t, tables);
  fc_exchange<S, HALVES, 1, 2>(x, t, shared);
  fc_register_pass<S, 2, false, SHIFT>(x, t, tables);
  if constexpr (S::passes == 3) {
    fc_exchange<S, HALVES, 2, 3>(x, t, shared);
    fc_register_pass<S, 3, false, SHIFT>(x, t, tables);
  }
}

// The inverse, of values whose re and im are swapped, as are the results, which fc_unshift has to complete.
// Returns whether the flag of any thread in the group is set.
template <typename S, bool HALVES, int SHIFT, typename F>
__device__ __forceinline__ bool fc_register_fft_back(fc_complex<F> *x, int t, const fc_complex<F> *tables,
                                                     void *shared, bool flag) {
  if constexpr (S::passes == 3) {
    fc_register_pass<S, 3, true, SHIFT>(x, t, tables);
    fc_exchange<S, HALVES, 3, 2>(x, t, shared);
  }
  fc_register_pass<S, 2, true, SHIFT>(x, t, tables);
  const bool any = fc_exchange<S, HALVES, 2, 1, true>(x, t, shared, flag);
  fc_register_pass<S, 1, true, SHIFT>(x, t, tables);
  return any;
}

template <typename S, int SHIFT, typename F>
__device__ __forceinline__ fc_complex<F> fc_unshift(fc_complex<F> x, int e) {
  static_assert(S::radix(1) == S::E, "a butterfly a thread");
  return fc_times(x, fc_root<F>(4 * S::radix(1), e * SHIFT));
}

#endif
