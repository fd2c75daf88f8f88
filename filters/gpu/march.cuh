// SPDX-License-Identifier: MIT
//
// march.cuh - the skeleton of kernels composed at run time for windows of rows and columns: sums of products,
// with what is done to each sample or pixel before and after them, and the border made on the way.
//
// A block marches down a band of WIDTH elements. Rows of the input come B at a time through registers, where
// the functions ahead run once a sample, into shared memory, twice buffered; a thread then looks at the
// windows of its V outputs, and adds what the row gives to the sums of all the rows of outputs that it
// belongs to, which stay in registers:
//
//     in --load--> Pre --> row[2][B][THREADS * V] --> sums of NY rows x V --> Post --store--> out
//
//     |<- PL ->|<------------ WIDTH ------------>|<- PR ->|     columns in shared memory, V a thread; those
//     at [thread 0] ...                         ... [thread T-1]   the ends have no outputs
//
// Elements are those between Pre and Post: interleaved channels, UM apart from tap to tap. Where a function
// takes pixels, V elements are V / UM pixels of UI samples ahead and UO behind.
//
// Sums run in the order of conv2d.h and sepconv.h, from 0 on, a row at a time from the top, so the bits are
// those of the kernels that are built ahead. Compiled by NVRTC without contraction, as map.cuh, in f32.
#ifndef FC_FILTERS_GPU_MARCH_CUH
#define FC_FILTERS_GPU_MARCH_CUH

#include "filters/gpu/border.cuh"
#include "filters/gpu/map.cuh"

// Nothing is done before, or after.
struct fc_none {
  static constexpr bool QUIET = false;
  template <int N> FC_DEVICE void run(const float (&v)[N], float (&to)[N], fc_dev_noted &) const {
#pragma unroll
    for (int i = 0; i < N; i++) to[i] = v[i];
  }
};

// Taps in order of reading: along a row, and down.
template <int KX, int KY> struct fc_separable {
  static constexpr int NX = KX, NY = KY;
  float x[KX], y[KY];

  // Adds one row's window, from w[first] on and `step` from tap to tap, to the sums it belongs to. What was
  // begun NY - 1 rows ago is complete and goes to `done`.
  template <int STEP, int V, int NW>
  FC_DEVICE void add(const float (&w)[NW], int first, float (&sum)[KY][V], float (&done)[V]) const {
#pragma unroll
    for (int i = 0; i < V; i++) {
      float h = 0;
#pragma unroll
      for (int k = 0; k < KX; k++) h = fmaf(x[k], w[first + i + k * STEP], h);
      done[i] = fmaf(y[KY - 1], h, sum[0][i]);
#pragma unroll
      for (int j = 0; j < KY - 1; j++) sum[j][i] = fmaf(y[KY - 2 - j], h, sum[j + 1][i]);
    }
  }
};

template <int KX, int KY> struct fc_dense {
  static constexpr int NX = KX, NY = KY;
  float m[KY][KX];

  template <int STEP, int V, int NW>
  FC_DEVICE void add(const float (&w)[NW], int first, float (&sum)[KY][V], float (&done)[V]) const {
#pragma unroll
    for (int j = 0; j < KY; j++) { // row KY - 1 - j of the mask; sum[j] is read before it is written
      float h[V];
#pragma unroll
      for (int i = 0; i < V; i++) h[i] = sum[j][i];
#pragma unroll
      for (int k = 0; k < KX; k++)
#pragma unroll
        for (int i = 0; i < V; i++) h[i] = fmaf(m[KY - 1 - j][k], w[first + i + k * STEP], h[i]);
#pragma unroll
      for (int i = 0; i < V; i++)
        if (j == 0)
          done[i] = h[i];
        else
          sum[j > 0 ? j - 1 : 0][i] = h[i];
    }
  }
};

// Positions are absolute: row 0 of the signal is at `in`, wherever the memory begins; `out` is the first
// output. The host's twin is in core/device/compose.h.
struct fc_march_args {
  const char *in;
  char *out;
  int64_t in_row, out_row, in_image, in_plane, out_image, out_plane;
  int32_t width, height; // elements of a row, rows of the signal
  int32_t first, count;  // rows of outputs
  int32_t rows, planes;  // of a block; of an image
  float constant;        // beyond the ends, between Pre and Post
  uint32_t *notes;
};

// N samples of a thread, whole words of them. Where they begin at no multiple of four bytes, they are words
// that begin there and a rest; nothing is read or written beyond them but bytes of the words they are in, and
// none behind their end, where memory may end.
template <typename T, int KT, int N, bool ALIGNED> struct fc_march_load;
template <typename T, int KT, int N> struct fc_march_load<T, KT, N, true> {
  static constexpr int W = N * sizeof(T) / 4;
  uint32_t word[W];
  FC_DEVICE void fetch(const char *from) { fc_map_load_words(word, from); }
  FC_DEVICE void values(float (&v)[N]) const { fc_map_values<float, T, KT, N>(v, word); }
};
template <typename T, int KT, int N> struct fc_march_load<T, KT, N, false> {
  static constexpr int W = N * sizeof(T) / 4, EACH = 4 / sizeof(T);
  uint32_t word[W], last, askew;
  FC_DEVICE void fetch(const char *from) {
    askew = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) % 4);
    const uint32_t *words = reinterpret_cast<const uint32_t *>(from - askew);
    last = 0;
#pragma unroll
    for (int i = 0; i < W; i++) word[i] = words[i];
    if constexpr (EACH > 1)
#pragma unroll
      for (int i = 0; i + 1 < EACH; i++)
        if (i * sizeof(T) < askew)
          last |= static_cast<uint32_t>(static_cast<typename std::make_unsigned<T>::type>(
                      reinterpret_cast<const T *>(words + W)[i]))
                  << 8 * sizeof(T) * i;
  }
  FC_DEVICE void values(float (&v)[N]) const {
    uint32_t whole[W];
#pragma unroll
    for (int i = 0; i < W; i++) whole[i] = word[i];
    if constexpr (EACH > 1) fc_words_shift(whole, last, askew);
    fc_map_values<float, T, KT>(v, whole);
  }
};
template <typename U, int W> FC_DEVICE void fc_march_store_askew(char *to, const uint32_t (&word)[W]) {
  const uint32_t askew = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(to) % 4);
  uint32_t *words = reinterpret_cast<uint32_t *>(to - askew);
  if (sizeof(U) == 4 || askew == 0) {
#pragma unroll
    for (int i = 0; i < W; i++) words[i] = word[i];
  } else if constexpr (sizeof(U) < 4) {
#pragma unroll
    for (int i = 1; i < W; i++) words[i] = __funnelshift_r(word[i - 1], word[i], 32 - 8 * askew);
#pragma unroll
    for (uint32_t at = 0; at < 4; at += sizeof(U)) { // of the first word, and of the last one
      const U first = static_cast<U>(word[0] >> 8 * at), behind = static_cast<U>(word[W - 1] >> 8 * at);
      if (at < 4 - askew) *reinterpret_cast<U *>(to + at) = first;
      if (at >= 4 - askew) *reinterpret_cast<U *>(to + 4 * (W - 1) + at) = behind;
    }
  }
}

template <typename T, int KT, typename U, int KU, int UI, int UM, int UO, int STEP, int BORDER, bool ALIGNED,
          int V, int B, int THREADS, int UNROLL, typename Pre, typename Op, typename Post>
struct fc_march {
  static constexpr int NX = Op::NX, NY = Op::NY;
  static constexpr int IN = V / UM * UI, OUT = V / UM * UO; // samples of a thread
  static constexpr int L = NX / 2 * STEP, R = (NX - 1 - NX / 2) * STEP;
  static constexpr int PL = (L + V - 1) / V * V, PR = (R + V - 1) / V * V, WIDTH = THREADS * V - PL - PR;
  static constexpr int VP = V % 8 == 0 ? V + 4 : V; // floats from thread to thread: no conflicts of banks
  static constexpr int AHEAD = (PL - L) / 4 * 4, FIRST = PL - L - AHEAD; // a window, read from 16 bytes on
  static constexpr int NW = (FIRST + V + L + R + 3) / 4 * 4;
  // Units (samples, or pixels) at the ends of a row, which come one by one, and a thread's share of a batch.
  static constexpr int MOST = (L + R + V) / UM, EACH = (MOST * B + THREADS - 1) / THREADS;

  struct unit {
    int row;  // of the batch; B: none
    int from; // the sample it begins at, or -1: the constant
    int to;   // place in shared memory
    T code[UI];
  };

  static FC_DEVICE int source_row(const fc_march_args &a, int y) {
    return y >= 0 && y < a.height ? y : fc_dev_border_source(BORDER, y, a.height);
  }

  // What stands at unit k of this thread: units left of the signal, then those behind the last whole vector.
  static FC_DEVICE void place(const fc_march_args &a, int k, int first, int whole, unit &u) {
    const int i = static_cast<int>(threadIdx.x) + k * THREADS, j = i % MOST;
    const int left = first == 0 ? L / UM : 0, right = whole > first ? whole : first;
    const int end = a.width + R < first + WIDTH + R ? a.width + R : first + WIDTH + R;
    const int count = left + (end > right ? (end - right) / UM : 0);
    const int e = j < left ? j * UM - L : right + (j - left) * UM;
    // pixel and channel of the element; the sum is positive whatever the window
    const int x = e + STEP * 4096, c = x % STEP,
              source = fc_dev_border_source(BORDER, x / STEP - 4096, a.width / STEP);
    u.row = i < MOST * B && j < count ? i / MOST : B;
    u.from = source < 0 ? -1 : (source * STEP + c) / UM * UI;
    u.to = (e - first + PL) / V * VP + (e - first + PL) % V;
  }

  static FC_DEVICE void keep(float *to, const float (&v)[V]) {
#pragma unroll
    for (int i = 0; i < V; i += 4)
      *reinterpret_cast<float4 *>(to + i) = make_float4(v[i], v[i + 1], v[i + 2], v[i + 3]);
  }

  static FC_DEVICE void store(char *to, const float (&v)[OUT], int left, fc_dev_noted &noted) {
    if (left >= V) {
      constexpr int WO = OUT * sizeof(U) / 4;
      uint32_t word[WO > 0 ? WO : 1];
      fc_map_codes<float, U, KU, Post::QUIET>(word, v, noted);
      if constexpr (ALIGNED)
        fc_map_store_words(to, word);
      else
        fc_march_store_askew<U>(to, word);
      return;
    }
    const int count = left < V ? left / UM * UO : OUT;
#pragma unroll
    for (int i = 0; i < OUT; i++)
      if (i < count)
        reinterpret_cast<U *>(to)[i] =
            fc_map_code<float, U, Post::QUIET>(v[i], fc_map_scaling<float, U, KU>(), noted);
  }

  static FC_DEVICE void run(const fc_march_args &a, const Pre &pre, const Op &op, const Post &post) {
    __shared__ __align__(16) float row[2][B][THREADS * VP];
    const int t = threadIdx.x, first = static_cast<int>(blockIdx.x) * WIDTH;
    const int from = a.first + static_cast<int>(blockIdx.y) * a.rows; // of the block's outputs
    const int rest = a.first + a.count - from, count = rest < a.rows ? rest : a.rows, need = count + NY - 1;
    const int image = static_cast<int>(blockIdx.z) / a.planes,
              plane = static_cast<int>(blockIdx.z) % a.planes;
    const char *in = a.in + image * a.in_image + plane * a.in_plane;
    const int e = first - PL + t * V; // this thread's elements, of input and of output
    const bool whole = e >= 0 && e + V <= a.width, mine = t >= PL / V && t < THREADS - PR / V;
    const int left = mine ? a.width - e : 0; // its outputs: V, fewer, or none
    char *to = a.out + image * a.out_image + plane * a.out_plane +
               static_cast<int64_t>(from - a.first) * a.out_row +
               static_cast<int64_t>(e / UM * UO) * static_cast<int>(sizeof(U));
    const int64_t at = static_cast<int64_t>(e / UM * UI) * static_cast<int>(sizeof(T));
    const int window = mine ? t - PL / V : 0;
    fc_dev_noted noted = {false, false};
    float sum[NY][V];
#pragma unroll
    for (int j = 0; j < NY; j++)
#pragma unroll
      for (int i = 0; i < V; i++) sum[j][i] = 0;
    fc_march_load<T, KT, IN, ALIGNED> raw[B];
    unit units[EACH];
    const bool at_end = first == 0 || first + WIDTH + R > a.width / V * V;
#pragma unroll
    for (int k = 0; k < EACH; k++) place(a, k, first, a.width / V * V, units[k]);

    const auto fetch = [&](int q) {
#pragma unroll
      for (int u = 0; u < B; u++) {
        const int y = source_row(a, from - NY / 2 + q + u);
        if (whole && q + u < need && y >= 0) raw[u].fetch(in + y * a.in_row + at);
      }
      if (!at_end) return;
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        const int y = units[k].row < B && q + units[k].row < need
                          ? source_row(a, from - NY / 2 + q + units[k].row)
                          : -1;
        if (y < 0 || units[k].from < 0) continue;
        const T *samples = reinterpret_cast<const T *>(in + y * a.in_row) + units[k].from;
#pragma unroll
        for (int c = 0; c < UI; c++) units[k].code[c] = samples[c];
      }
    };

    // Of the batch from row q on; nobody reads what stands for rows that are not needed.
    const auto put = [&](int q, int phase) {
      if (whole) {
#pragma unroll
        for (int u = 0; u < B; u++) {
          float x[IN], v[V];
          raw[u].values(x);
          pre.run(x, v, noted);
          if (BORDER == FC_BORDER_ZERO || BORDER == FC_BORDER_CONSTANT) {
            const int y = from - NY / 2 + q + u;
            if (y < 0 || y >= a.height)
#pragma unroll
              for (int i = 0; i < V; i++) v[i] = a.constant;
          }
          keep(&row[phase][u][t * VP], v);
        }
      }
      if (!at_end) return;
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        if (units[k].row >= B) continue;
        float x[UI], v[UM];
#pragma unroll
        for (int c = 0; c < UI; c++)
          x[c] = fc_dev_value<float, T>(units[k].code[c], fc_map_scaling<float, T, KT>());
        pre.run(x, v, noted);
        const int y = from - NY / 2 + q + units[k].row;
        const bool beyond = units[k].from < 0 || source_row(a, y) < 0;
#pragma unroll
        for (int c = 0; c < UM; c++) row[phase][units[k].row][units[k].to + c] = beyond ? a.constant : v[c];
      }
    };

    fetch(0);
    int phase = 0;
#pragma unroll 1
    for (int q = 0; q < need; q += B, phase ^= 1) {
      put(q, phase);
      if (q + B < need) fetch(q + B);
      __syncthreads();
#pragma unroll UNROLL
      for (int u = 0; u < B; u++) {
        const float *from_window = &row[phase][u][window * VP];
        float w[NW], v[V], o[OUT];
#pragma unroll
        for (int i = 0; i < NW; i += 4) {
          const float4 f =
              *reinterpret_cast<const float4 *>(from_window + (AHEAD + i) / V * VP + (AHEAD + i) % V);
          w[i] = f.x, w[i + 1] = f.y, w[i + 2] = f.z, w[i + 3] = f.w;
        }
        op.template add<STEP, V, NW>(w, FIRST, sum, v);
        const int y = q + u - (NY - 1);
        if (y < 0 || y >= count) continue;
        post.run(v, o, noted);
        if (left > 0) store(to, o, left, noted);
        to += a.out_row;
      }
    }
    noted.tell(a.notes);
  }
};

#endif
