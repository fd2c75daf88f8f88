// SPDX-License-Identifier: MIT
//
// permute.cu - copies with axes exchanged on a CUDA device: a block moves a box of elements through shared
// memory. It reads runs of the box that are contiguous in the input, in whole words, and keeps them in the
// input's order; then each thread collects the elements of a word of the output, so that both sides see
// contiguous accesses whichever axes are exchanged. Limited by memory bandwidth. The host joins axes that are
// contiguous in each other in both views, takes several elements as one where their order stays, and chooses
// the box.
#include "filters/geometry/permute.h"
#include "filters/gpu/copy_async.cuh"
#include "filters/gpu/cuda.cuh"

namespace {

constexpr int THREADS = 256, LANES = 32, WARPS = THREADS / LANES;
constexpr int ROOM = 25600, RESIDENT = 5; // bytes of a box, and boxes at a time on a multiprocessor
constexpr int RUN = 128;                  // bytes of a run that the box has at least, if the axis is as long
constexpr int NONE = FC_AXES, SLOTS = FC_AXES + 1; // an axis of one element, for what a box does not have

// How a box lies in one of the views: runs along an axis, which may have another one inside of which the box
// has all; rows of runs along up to two further axes; and how threads are distributed over them.
struct side {
  int run, inner, row[2];
  int elements; // along `inner`
  int columns;  // warps along a run; the others take other rows
  int group;    // rows that a warp takes at a time
};

// Per axis: elements, elements of a box, and the distance of neighbours in bytes, which is negative in the
// input and in the box where the axis is reversed.
struct walk {
  const char *in;
  char *out;
  int64_t count[SLOTS], from[SLOTS], to[SLOTS], boxes;
  int box[SLOTS], kept[SLOTS];
  side reading, writing;
  fc_dev_divider inner; // by writing.elements
  bool wide, even;      // rows begin at multiples of 16 bytes in input and box; of a word in the output
};

// A box: its lowest addresses, the elements along each axis, and where its first output is kept.
struct place {
  const char *in;
  char *out;
  int used[SLOTS], first;
};

__device__ __forceinline__ place place_of(const walk &w, int64_t box) {
  place p = {w.in, w.out, {}, 0};
#pragma unroll
  for (int a = 0; a < FC_AXES; a++) {
    if (w.box[a] == w.count[a]) { // a division is a subroutine
      p.used[a] = w.box[a];
      if (w.from[a] < 0) p.in += w.from[a] * (p.used[a] - 1);
      if (w.kept[a] < 0) p.first -= w.kept[a] * (p.used[a] - 1);
      continue;
    }
    const int64_t boxes = (w.count[a] + w.box[a] - 1) / w.box[a], next = box / boxes;
    const int64_t at = (box - next * boxes) * w.box[a], left = w.count[a] - at;
    box = next;
    p.used[a] = left < w.box[a] ? static_cast<int>(left) : w.box[a];
    p.in += w.from[a] * (w.from[a] < 0 ? at + p.used[a] - 1 : at), p.out += w.to[a] * at;
    if (w.kept[a] < 0) p.first -= w.kept[a] * (p.used[a] - 1);
  }
  p.used[NONE] = 1;
  return p;
}

// Offsets of a side's rows in memory and in the box.
struct rows {
  int64_t step[2];
  int kept[2], fast, count;

  __device__ __forceinline__ rows(const walk &w, const place &p, const side &s, const int64_t *step_of) {
#pragma unroll
    for (int k = 0; k < 2; k++) step[k] = step_of[s.row[k]], kept[k] = w.kept[s.row[k]];
    fast = p.used[s.row[0]], count = fast * p.used[s.row[1]];
  }
  __device__ __forceinline__ void make_positive(void) {
#pragma unroll
    for (int k = 0; k < 2; k++)
      step[k] = step[k] < 0 ? -step[k] : step[k], kept[k] = kept[k] < 0 ? -kept[k] : kept[k];
  }
  __device__ __forceinline__ void find(int row, int64_t *at, int *in_box) const {
    const int slow = count == fast ? 0 : row / fast;
    row -= slow * fast;
    *at = row * step[0] + slow * step[1], *in_box = row * kept[0] + slow * kept[1];
  }
};

// A word of 4 bytes of a run, of which `before` and `left` bytes are in the run before and from there on.
__device__ __forceinline__ void read_word(unsigned char *to, const char *from, int before, int left) {
  const int askew = static_cast<int>(reinterpret_cast<uintptr_t>(from) % 4);
  if (askew == 0 && left >= 4) {
    fc_copy_word(to, from);
  } else if (before >= askew && left >= 8 - askew) {
    const uint32_t *words = reinterpret_cast<const uint32_t *>(from - askew);
    *reinterpret_cast<uint32_t *>(to) = __funnelshift_r(words[0], words[1], 8 * askew);
  } else {
    for (int k = 0; k < 4 && k < left; k++) to[k] = static_cast<unsigned char>(from[k]);
  }
}

template <int UNIT, typename E>
__device__ __forceinline__ void read_box(const walk &w, const place &p, unsigned char *room) {
  const side &s = w.reading;
  const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  const int bytes = p.used[s.run] * s.elements * static_cast<int>(sizeof(E));
  rows r(w, p, s, w.from);
  r.make_positive();
  for (int at = (lane + warp % s.columns * LANES) * UNIT; at < bytes; at += s.columns * LANES * UNIT)
#pragma unroll 4
    for (int row = warp / s.columns; row < r.count; row += WARPS / s.columns) {
      int64_t from;
      int to;
      r.find(row, &from, &to);
      if (UNIT == 16 && bytes - at >= 16) {
        fc_copy_words(room + to + at, p.in + from + at);
      } else {
#pragma unroll
        for (int k = 0; k < UNIT; k += 4)
          if (at + k < bytes) read_word(room + to + at + k, p.in + from + at + k, at + k, bytes - at - k);
      }
    }
}

// A word of elements from the box.
template <typename E, int K> __device__ __forceinline__ void write_word(char *to, const E (&v)[K]) {
  if constexpr (K == 4) {
    *reinterpret_cast<uint32_t *>(to) =
        __byte_perm(__byte_perm(v[0], v[1], 0x0040), __byte_perm(v[2], v[3], 0x0040), 0x5410);
  } else if constexpr (K == 2) {
    *reinterpret_cast<uint32_t *>(to) = __byte_perm(v[0], v[1], 0x5410);
  } else {
    *reinterpret_cast<E *>(to) = v[0];
  }
}

template <bool EVEN, typename E>
__device__ __forceinline__ void write_box(const walk &w, const place &p, const unsigned char *room) {
  constexpr int SIZE = sizeof(E), UNIT = SIZE < 4 ? 4 : SIZE, K = UNIT / SIZE;
  const side &s = w.writing;
  const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES, across = LANES / s.group;
  const int count = p.used[s.run] * s.elements, words = (count + (EVEN ? 0 : K - 1) + K - 1) / K;
  const int kept = w.kept[s.run], inner = w.kept[s.inner];
  const rows r(w, p, s, w.to);
  const auto find = [&](int i) { // where a run's element is
    const int whole = w.inner.quotient(i);
    return p.first + whole * kept + (i - whole * s.elements) * inner;
  };
  for (int word = lane % across + warp % s.columns * across; word < words; word += s.columns * across) {
    int at[K];
#pragma unroll
    for (int k = 0; k < K && EVEN; k++) at[k] = find(word * K + k);
#pragma unroll 2
    for (int row = lane / across + warp / s.columns * s.group; row < r.count;
         row += WARPS / s.columns * s.group) {
      int64_t step;
      int from;
      r.find(row, &step, &from);
      char *to = p.out + step;
      const int first =
          word * K - (EVEN ? 0 : static_cast<int>(reinterpret_cast<uintptr_t>(to) % UNIT) / SIZE);
      if (first >= 0 && first + K <= count) {
        E v[K];
#pragma unroll
        for (int k = 0; k < K; k++)
          v[k] = *reinterpret_cast<const E *>(room + (EVEN ? at[k] : find(first + k)) + from);
        write_word<E, K>(to + first * SIZE, v);
      } else {
#pragma unroll 1
        for (int i = first < 0 ? 0 : first; i < first + K && i < count; i++)
          *reinterpret_cast<E *>(to + i * SIZE) = *reinterpret_cast<const E *>(room + find(i) + from);
      }
    }
  }
}

template <typename E>
__global__ void __launch_bounds__(THREADS, RESIDENT) permute_boxes(const __grid_constant__ walk w) {
  __shared__ __align__(16) unsigned char room[ROOM];
  __shared__ place p;
  for (int64_t box = blockIdx.x; box < w.boxes; box += gridDim.x) {
    if (threadIdx.x == 0) p = place_of(w, box);
    __syncthreads();
    if (w.wide && reinterpret_cast<uintptr_t>(p.in) % 16 == 0)
      read_box<16, E>(w, p, room);
    else
      read_box<4, E>(w, p, room);
    fc_commit_copies();
    fc_await_copies();
    __syncthreads();
    if (w.even)
      write_box<true, E>(w, p, room);
    else
      write_box<false, E>(w, p, room);
    if (box + gridDim.x < w.boxes) __syncthreads(); // it has been written
  }
}

// Views without contiguous elements: a thread per element.
template <typename E> __global__ void __launch_bounds__(THREADS) permute_elements(walk w) {
  const int64_t lines = w.count[1] * w.count[2] * w.count[3];
  for (int64_t line = blockIdx.y; line < lines; line += gridDim.y) {
    const int64_t b = line % w.count[1], rest = line / w.count[1], c = rest % w.count[2],
                  d = rest / w.count[2];
    const char *from = w.in + b * w.from[1] + c * w.from[2] + d * w.from[3];
    char *to = w.out + b * w.to[1] + c * w.to[2] + d * w.to[3];
    for (int64_t a = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; a < w.count[0];
         a += static_cast<int64_t>(gridDim.x) * THREADS)
      *reinterpret_cast<E *>(to + a * w.to[0]) = *reinterpret_cast<const E *>(from + a * w.from[0]);
  }
}

// ---- choosing the box --------------------------------------------------------

int64_t size_of(int64_t step) {
  return step < 0 ? -step : step;
}

int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

void set_axis(walk &w, int a, int64_t count, int64_t from, int64_t to) {
  w.count[a] = count, w.from[a] = from, w.to[a] = to;
}

// The axes of more than one element in the order of their steps in the output, which become positive; those
// that are contiguous in each other are joined. Returns how many are left.
int order_axes(walk &w, const fc_view *seen, const fc_view *out) {
  int n = 0, left = 0;
  w.in = static_cast<const char *>(seen->data), w.out = static_cast<char *>(out->data);
  for (int k = 0; k < FC_AXES; k++) {
    const int64_t count = out->shape[k];
    int64_t from = seen->stride[k], to = out->stride[k];
    if (count == 1) continue;
    if (to < 0) w.in += from * (count - 1), w.out += to * (count - 1), from = -from, to = -to;
    int at = n++;
    for (; at > 0 && w.to[at - 1] > to; at--) set_axis(w, at, w.count[at - 1], w.from[at - 1], w.to[at - 1]);
    set_axis(w, at, count, from, to);
  }
  for (int a = 1; a < n; a++) {
    const int64_t inside = w.count[left];
    if (w.to[a] == w.to[left] * inside && w.from[a] == w.from[left] * inside)
      w.count[left] *= w.count[a];
    else
      left++, set_axis(w, left, w.count[a], w.from[a], w.to[a]);
  }
  n = n > 0 ? left + 1 : 0;
  for (int a = n; a < SLOTS; a++) set_axis(w, a, 1, 0, 0);
  return n;
}

// Takes pairs of elements, and pairs of these, as one where they are adjacent in both views and aligned.
// Returns their size.
int64_t join_elements(walk &w, int *n, int64_t size) {
  uint64_t all = reinterpret_cast<uintptr_t>(w.in) | reinterpret_cast<uintptr_t>(w.out);
  for (int a = 1; a < *n; a++) all |= static_cast<uint64_t>(w.from[a]) | static_cast<uint64_t>(w.to[a]);
  while (size < 8 && w.to[0] == size && w.from[0] == size && w.count[0] % 2 == 0 && all % (2 * size) == 0)
    size *= 2, set_axis(w, 0, w.count[0] / 2, size, size);
  if (*n > 1 && w.count[0] == 1) {
    for (int a = 0; a < FC_AXES; a++) set_axis(w, a, w.count[a + 1], w.from[a + 1], w.to[a + 1]);
    (*n)--;
  }
  return size;
}

int axis_of_step(const int64_t *step, int n, int64_t wanted, int but) {
  for (int a = 0; a < n; a++)
    if (a != but && size_of(step[a]) == wanted) return a;
  return NONE;
}

// The run's axis, and one inside of it if that is short. False if no elements are contiguous.
bool find_run(side &s, const walk &w, const int64_t *step, int n, int64_t size) {
  s.inner = NONE, s.elements = 1, s.columns = s.group = 1, s.row[0] = s.row[1] = NONE;
  s.run = axis_of_step(step, n, size, NONE);
  if (s.run == NONE) return false;
  const int64_t bytes = size * w.count[s.run];
  const int outer = bytes < RUN ? axis_of_step(step, n, bytes, s.run) : NONE;
  if (outer != NONE) s.elements = static_cast<int>(w.count[s.run]), s.inner = s.run, s.run = outer;
  return true;
}

bool is_in_run(const side &s, int a) {
  return a == s.run || a == s.inner;
}

// The axes of the box that are not in runs; those that are nearest in the box come first.
bool find_rows(side &s, const walk &w, int n) {
  int rows = 0;
  s.row[0] = s.row[1] = NONE;
  for (int a = 0; a < n; a++) {
    if (w.box[a] == 1 || is_in_run(s, a)) continue;
    if (rows == 2) return false;
    s.row[rows++] = a;
  }
  if (rows == 2 && size_of(w.kept[s.row[1]]) < size_of(w.kept[s.row[0]])) {
    const int swap = s.row[0];
    s.row[0] = s.row[1], s.row[1] = swap;
  }
  return true;
}

// Whether neighbouring words of the output come from different rows of the box.
bool is_crossed(const walk &w) {
  return !is_in_run(w.reading, w.writing.run);
}

// Arranges the box in shared memory, such that lanes meet in few banks: rows that outputs cross lie an odd
// number of words apart; those whose elements alternate in outputs some words. Returns its bytes, 0 if there
// are more rows than a side can have.
int64_t arrange(walk &w, int n, int64_t size) {
  side &in = w.reading;
  for (int a = 0; a < SLOTS; a++) w.kept[a] = 0;
  if (!find_rows(in, w, n) || !find_rows(w.writing, w, n)) return 0;
  const int64_t run = size * in.elements * w.box[in.run], unit = size > 4 ? size : 4;
  int64_t pitch = (run + 15) / 16 * 16;
  if (is_crossed(w))
    pitch = ((run + unit - 1) / unit | 1) * unit;
  else if (w.writing.inner != NONE && !is_in_run(in, w.writing.inner))
    while (pitch % 128 != 48) pitch += 16;
  if (in.inner != NONE) w.kept[in.inner] = static_cast<int>(size);
  w.kept[in.run] = static_cast<int>(size * in.elements);
  for (int row : in.row)
    if (row != NONE) w.kept[row] = static_cast<int>(pitch), pitch *= w.box[row];
  for (int a = 0; a < n; a++)
    if (w.from[a] < 0) w.kept[a] = -w.kept[a];
  return find_rows(w.writing, w, n) ? pitch : 0; // now nearest first
}

// Lengthens an axis of the box while there is room; false if there is none for more.
bool grow(walk &w, int a, int64_t box, int n, int64_t size) {
  const int before = w.box[a];
  w.box[a] = static_cast<int>(smaller(box, w.count[a]));
  const int64_t bytes = w.box[a] > before ? arrange(w, n, size) : 0;
  if (bytes > 0 && bytes <= ROOM) return true;
  w.box[a] = before;
  return false;
}

// Boxes of about equal length along an axis.
void balance(walk &w, int a) {
  const int64_t boxes = (w.count[a] + w.box[a] - 1) / w.box[a], each = (w.count[a] + boxes - 1) / boxes;
  w.box[a] = static_cast<int>(smaller(w.box[a], (each + 15) / 16 * 16));
}

void choose_box(walk &w, int n, int64_t size) {
  const side &in = w.reading, &out = w.writing;
  for (int a = 0; a < SLOTS; a++) w.box[a] = 1;
  for (const side *s : {&in, &out})
    if (s->inner != NONE) w.box[s->inner] = s->elements;
  int runs[2] = {out.run, in.run};
  if (runs[0] == runs[1]) {
    for (int64_t box = 1; grow(w, runs[0], box *= 2, n, size);) {
    }
    for (int64_t more = w.box[runs[0]]; more >= 128;)
      if (!grow(w, runs[0], w.box[runs[0]] + more, n, size)) more /= 2;
  } else {
    const side *sides[2] = {&out, &in};
    for (int k = 0; k < 2; k++)
      for (int64_t step = size * sides[k]->elements; step * w.box[runs[k]] < RUN;)
        if (!grow(w, runs[k], 2 * w.box[runs[k]], n, size)) break;
    while (grow(w, runs[0], 2 * w.box[runs[0]], n, size) && grow(w, runs[1], 2 * w.box[runs[1]], n, size)) {
    }
  }
  balance(w, runs[0]), balance(w, runs[1]);
  for (int a = 0; a < n; a++)
    if (w.box[a] == 1)
      for (int64_t box = 1; grow(w, a, box *= 2, n, size);) {
      }
}

// Warps along runs such that few of them wait for others.
int columns_of(int64_t words, int64_t rows, int64_t across, int64_t group) {
  int best = 1;
  int64_t least = INT64_MAX;
  for (int columns = 1; columns <= WARPS; columns *= 2) {
    const int64_t turns = (words + across * columns - 1) / (across * columns);
    const int64_t cost = turns * ((rows + group * WARPS / columns - 1) / (group * WARPS / columns));
    if (cost <= least) least = cost, best = columns;
  }
  return best;
}

// Rows that a warp writes together: as many words of one row would lie in one bank, while neighbouring rows
// are neighbours there.
int group_of(const walk &w, int64_t size) {
  const side &s = w.writing;
  const int64_t unit = size > 4 ? size : 4, step = unit / size * size_of(w.kept[s.run]);
  int group = 1;
  if (s.elements > 1 || size_of(w.kept[s.row[0]]) != size) return 1;
  while (group < 8 && step % (8 * group) == 0 && 2 * group <= w.box[s.row[0]]) group *= 2;
  return group;
}

// False if elements are contiguous in neither view or in one only.
bool plan(walk &w, int n, int64_t size) {
  side &in = w.reading, &out = w.writing;
  if (n == 0 || !find_run(in, w, w.from, n, size) || !find_run(out, w, w.to, n, size)) return false;
  choose_box(w, n, size);
  const int64_t bytes = arrange(w, n, size), unit = size > 4 ? size : 4;
  if (bytes == 0 || bytes > ROOM) return false;
  w.boxes = 1;
  w.wide = !is_crossed(w), w.even = reinterpret_cast<uintptr_t>(w.out) % unit == 0;
  for (int a = 0; a < n; a++) {
    w.boxes *= (w.count[a] + w.box[a] - 1) / w.box[a];
    if (w.count[a] > w.box[a] && w.to[a] * w.box[a] % unit) w.even = false;
  }
  for (int k = 0; k < 2; k++) {
    if (w.from[in.row[k]] % 16 || w.kept[in.row[k]] % 16) w.wide = false;
    if (w.to[out.row[k]] % unit) w.even = false;
  }
  w.inner = fc_dev_divider_of(out.elements);
  out.group = group_of(w, size);
  const int64_t wide = w.wide ? 16 : 4;
  in.columns = columns_of((size * in.elements * w.box[in.run] + wide - 1) / wide,
                          w.box[in.row[0]] * w.box[in.row[1]], LANES, 1);
  out.columns = columns_of((size * out.elements * w.box[out.run] + unit - 1) / unit,
                           w.box[out.row[0]] * w.box[out.row[1]], LANES / out.group, out.group);
  return true;
}

template <typename E> fc_status launch_permute(const walk &w, bool planned, void *stream) {
  if (planned)
    return fc_launch(permute_boxes<E>, dim3(fc_blocks(w.boxes, 1, INT32_MAX)), dim3(THREADS), 0, stream, w);
  const int64_t lines = w.count[1] * w.count[2] * w.count[3];
  return fc_launch(permute_elements<E>,
                   dim3(fc_blocks(w.count[0], THREADS, 1 << 20), fc_blocks(lines, 1, 65535)), dim3(THREADS),
                   0, stream, w);
}

} // namespace

extern "C" fc_status fc_permute_cuda(const fc_permute *p, const fc_view *in, const fc_view *out,
                                     void *stream) {
  if (fc_view_count(out) == 0) return FC_OK;
  const fc_view seen = fc_permute_view(p, in, out);
  walk w = {};
  int n = order_axes(w, &seen, out);
  const int64_t size = join_elements(w, &n, static_cast<int64_t>(fc_dtype_size(out->dtype)));
  const bool planned = plan(w, n, size);
  switch (size) {
  case 1: return launch_permute<uint8_t>(w, planned, stream);
  case 2: return launch_permute<uint16_t>(w, planned, stream);
  case 4: return launch_permute<uint32_t>(w, planned, stream);
  default: return launch_permute<uint64_t>(w, planned, stream);
  }
}
