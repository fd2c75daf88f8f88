// SPDX-License-Identifier: MIT
//
// around.cuh - the skeleton of kernels composed at run time for any function of a sample's neighbours
// (FC_FUNCTION_AROUND of device_function.h), with what is done to each sample or pixel before and after it,
// and the border made on the way.
//
// A block loads a tile with all that its outputs see into registers, where the functions before run once per
// sample, and stores it to shared memory; a thread then makes EACH outputs, one below the other, so that the
// compiler reads what their windows share once:
//
//     in --load--> Pre --> tile[ROWS + NY - 1][(COLUMNS * UM + (NX - 1) * STEP)] --> Op --> Post --> out
//
// Memory is accessed sample by sample, by neighbouring threads: any rows will do, wherever they begin.
// Compiled by NVRTC without contraction, as map.cuh.
#ifndef FC_FILTERS_GPU_AROUND_CUH
#define FC_FILTERS_GPU_AROUND_CUH

#include "filters/gpu/window.cuh"

// `in` and `out` are those of the first output; steps are in bytes. Along X and along Y: position of the
// first output in the signal, the signal's length and the outputs, in pixels. The host's copy is in
// core/compose/compose.h.
struct fc_around_args {
  const char *in;
  char *out;
  int64_t in_row, out_row, in_image, in_plane, out_image, out_plane;
  int32_t begin[2], extent[2], total[2];
  int32_t planes;
  double constant; // the value beyond the ends, between Pre and Post
  uint32_t *notes;
};

// What a text is given: fc_around in its namespace.
template <typename F> struct fc_neighbours {
  const F *middle;
  int32_t column, row; // elements from one neighbour to the next
  FC_DEVICE F operator()(int dx, int dy) const { return middle[dy * row + dx * column]; }
};

// Functions before or after the window, or none.
template <typename F, int N>
FC_DEVICE void fc_around_run(const fc_none &, const F (&v)[N], F (&to)[N], fc_dev_noted &) {
#pragma unroll
  for (int i = 0; i < N; i++) to[i] = v[i];
}
template <typename Fn, typename F, int N, int M>
FC_DEVICE void fc_around_run(const Fn &f, const F (&v)[N], F (&to)[M], fc_dev_noted &noted) {
  f.run(v, to, noted);
}

// Units are samples, or pixels of UI, UM and UO channels; interleaved channels are STEP elements from tap to
// tap.
template <typename T, int KT, typename U, int KU, int UI, int UM, int UO, int STEP, int BORDER, typename F,
          int NX, int NY, int COLUMNS, int EACH, int THREADS, typename Pre, typename Op, typename Post>
struct fc_around {
  static constexpr int ROWS = THREADS / COLUMNS * EACH, SEEN = COLUMNS * UM + (NX - 1) * STEP,
                       UNITS = SEEN / UM, HEIGHT = ROWS + NY - 1, ALL = UNITS * HEIGHT;
  static constexpr int BEFORE = NX / 2, AFTER = NX - 1 - BEFORE, ABOVE = NY / 2, BELOW = NY - 1 - ABOVE;
  // Units that a thread loads, and how many of them at a time.
  static constexpr int LOADS = (ALL + THREADS - 1) / THREADS, TURNS = (LOADS + 7) / 8,
                       BATCH = (LOADS + TURNS - 1) / TURNS;

  // The block's first element, and the first one's position less that of the launch's first output.
  static FC_DEVICE int first_element() { return static_cast<int>(blockIdx.x) * (COLUMNS * UM); }
  static FC_DEVICE int first_row() { return static_cast<int>(blockIdx.y) * ROWS - ABOVE; }

  // Whether all of the tile is in the signal, and seen by outputs.
  static FC_DEVICE bool is_inside(const fc_around_args &a) {
    const int x = first_element() / STEP - BEFORE, end_x = (first_element() + SEEN - 1) / STEP - BEFORE,
              y = first_row(), end_y = y + HEIGHT - 1;
    return x >= -a.begin[0] && end_x < min(a.total[0] + AFTER, a.extent[0] - a.begin[0]) &&
           y >= -a.begin[1] && end_y < min(a.total[1] + BELOW, a.extent[1] - a.begin[1]);
  }

  // Where unit k of the tile is in memory; NULL: beyond the ends, or no output sees it.
  template <bool INSIDE> static FC_DEVICE const char *source(const fc_around_args &a, const char *in, int k) {
    const int e = first_element() + k % UNITS * UM, row = first_row() + k / UNITS;
    const int x = e / STEP - BEFORE;
    int from_x = x, from_y = row;
    if constexpr (!INSIDE) {
      if (x >= a.total[0] + AFTER || row >= a.total[1] + BELOW) return nullptr;
      from_x = fc_dev_border_source(BORDER, a.begin[0] + x, a.extent[0]);
      from_y = fc_dev_border_source(BORDER, a.begin[1] + row, a.extent[1]);
      if (from_x < 0 || from_y < 0) return nullptr;
      from_x -= a.begin[0], from_y -= a.begin[1];
    }
    // the same unit of another pixel
    const int unit = e / UM - BEFORE * (STEP / UM) + (from_x - x) * (STEP / UM);
    return in + from_y * a.in_row + static_cast<int64_t>(unit) * (UI * static_cast<int>(sizeof(T)));
  }

  template <bool INSIDE>
  static FC_DEVICE void load(const fc_around_args &a, const char *in, F *tile, const Pre &pre,
                             fc_dev_noted &noted) {
#pragma unroll 1
    for (int first = threadIdx.x; first < ALL; first += BATCH * THREADS) {
      const char *from[BATCH];
      T code[BATCH][UI];
#pragma unroll
      for (int b = 0; b < BATCH; b++) {
        const int k = first + b * THREADS;
        from[b] = k < ALL ? source<INSIDE>(a, in, k) : nullptr;
        if (from[b])
#pragma unroll
          for (int c = 0; c < UI; c++) code[b][c] = reinterpret_cast<const T *>(from[b])[c];
      }
#pragma unroll
      for (int b = 0; b < BATCH; b++) {
        const int k = first + b * THREADS;
        F x[UI], v[UM];
#pragma unroll
        for (int c = 0; c < UM; c++) v[c] = static_cast<F>(a.constant);
        if (from[b]) {
#pragma unroll
          for (int c = 0; c < UI; c++) x[c] = fc_dev_value<F, T>(code[b][c], fc_map_scaling<F, T, KT>());
          fc_around_run(pre, x, v, noted);
        }
        if (k < ALL)
#pragma unroll
          for (int c = 0; c < UM; c++) tile[k * UM + c] = v[c];
      }
    }
  }

  static FC_DEVICE void run(const fc_around_args &a, const Pre &pre, const Op &op, const Post &post) {
    __shared__ F tile[ALL * UM];
    const int image = static_cast<int>(blockIdx.z) / a.planes, plane = blockIdx.z - image * a.planes;
    const int column = threadIdx.x % COLUMNS, row = threadIdx.x / COLUMNS * EACH;
    const int x = static_cast<int>(blockIdx.x) * COLUMNS + column,
              y = static_cast<int>(blockIdx.y) * ROWS + row;
    fc_dev_noted noted = {false, false};
    const char *in = a.in + image * a.in_image + plane * a.in_plane;
    if (is_inside(a))
      load<true>(a, in, tile, pre, noted);
    else
      load<false>(a, in, tile, pre, noted);
    __syncthreads();
    if (x < a.total[0] * STEP / UM && y < a.total[1]) {
      char *out = a.out + image * a.out_image + plane * a.out_plane + y * a.out_row +
                  static_cast<int64_t>(x) * (UO * static_cast<int>(sizeof(U)));
      const F *middle = tile + (row + ABOVE) * SEEN + column * UM + BEFORE * STEP;
      F v[EACH][UM]; // also below the last row, without which not all is read once
#pragma unroll
      for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int c = 0; c < UM; c++) v[i][c] = op(fc_neighbours<F>{middle + i * SEEN + c, STEP, SEEN});
#pragma unroll
      for (int i = 0; i < EACH; i++) {
        F w[UO];
        if (y + i >= a.total[1]) continue;
        fc_around_run(post, v[i], w, noted);
#pragma unroll
        for (int c = 0; c < UO; c++)
          reinterpret_cast<U *>(out + i * a.out_row)[c] =
              fc_map_code<F, U, Post::QUIET>(w[c], fc_map_scaling<F, U, KU>(), noted);
      }
    }
    noted.tell(a.notes);
  }
};

#endif
