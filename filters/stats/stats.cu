// SPDX-License-Identifier: MIT
//
// stats.cu - statistics of a whole signal on a CUDA device.
//
// One kernel reads the signal once: a warp a chunk of 1024 samples of a channel, 32 of them in
// the registers of each lane, so that all are in flight together and the deviations from their
// mean need no second read. A block of threads has up to 16 chunks in a row, a *unit*, and merges them as
// a tree: that is a whole block of the signal but for rows of more than 16384 samples, whose units
// a second kernel merges. Short signals of integers and long ones of floats have kernels of their own
// (cluster.cuh; stream.cuh, gather.cuh), and channels side by side (pixels.cuh). All
// follow the order of the CPU to the bit: lane t of a warp has the lanes 4 t .. 4 t + 3 of the chunk, which
// one load brings where samples are adjacent.
#include "filters/stats/cluster.cuh"
#include "filters/stats/gather.cuh"
#include "filters/stats/pixels.cuh"
#include "filters/stats/stream.cuh"
#include "filters/stats/units.cuh"

namespace stats {

// UNIT / l.unit units to a block of threads, neighbours in place; units[] of those that are not whole blocks
// is [frame][block][channel][unit]. A chunk that is not whole takes as long as many: the warp that has it
// (ragged: the last, which is taken first) leaves the others to others.
template <typename T, int WARPS, int RESIDENT>
__global__ void __launch_bounds__(32 * WARPS, RESIDENT)
    measure_units(const __grid_constant__ layout l, fc_stats_part *units, char *blocks, int64_t frame_bytes) {
  __shared__ fc_stats_part parts[UNIT];
  __shared__ int left;
  if (l.ragged) {
    if (threadIdx.x == 0) left = UNIT;
    __syncthreads();
  }
  const int64_t total = l.frames * l.blocks * l.units * l.channels;
  const uint32_t base = blockIdx.x << (UNIT_BITS - l.unit_bits);
#pragma unroll 1
  for (int i = l.ragged ? take(&left) : threadIdx.x / 32; i >= 0 && i < UNIT;
       i = l.ragged ? take(&left) : i + WARPS) {
    const uint32_t set = base + (i >> l.unit_bits);
    if (set < total) measure_one<T, WARPS>(l, place_of(l, set), i & (l.unit - 1), &parts[i]);
  }
  __syncthreads();
  if (threadIdx.x < 32) finish_units<T>(l, parts, base, total, units, blocks, frame_bytes);
}

// ---- a block of several units ------------------------------------------------

// Merges neighbours, and neighbours of those: the tree that fc_stats_push makes, of the parts that are `step`
// apart up to those MERGERS times as far. blockIdx.y is the block and channel; a last pass delivers.
__global__ void __launch_bounds__(MERGERS) merge_units(const __grid_constant__ layout l, fc_stats_part *units,
                                                       int64_t step, char *blocks, int64_t frame_bytes) {
  const int64_t span = l.unit * FC_STATS_CHUNK, first = static_cast<int64_t>(blockIdx.x) * step * MERGERS;
  const uint32_t whole = static_cast<uint32_t>(l.frames * l.blocks * l.channels);
  for (uint32_t i = blockIdx.y; i < whole; i += gridDim.y) {
    uint32_t rest = i;
    place at = {0, 0, 0, split_off(&rest, l.channels)};
    at.n = rest / static_cast<uint32_t>(l.blocks), at.block = rest - at.n * static_cast<uint32_t>(l.blocks);
    fc_stats_part *own = units + i * l.units + first;
    const int64_t count = (samples_in(l, at.block) + span - 1) / span - first, mine = threadIdx.x * step;
    for (int apart = 1; apart < MERGERS; apart *= 2) {
      if (threadIdx.x % (2 * apart) == 0 && mine + apart * step < count)
        own[mine] = merge(own[mine], own[mine + apart * step]);
      __syncthreads();
    }
    if (threadIdx.x == 0 && step * MERGERS >= l.units) deliver(l, blocks, frame_bytes, at, own[0]);
  }
}

// ---- host ------------------------------------------------------------------

static layout layout_of(const fc_view *in, int64_t align) {
  layout l;
  l.in = fc_dev_view_of(in);
  l.kind = in->kind, l.bias = static_cast<int32_t>(fc_scaling_of(in->kind, in->dtype).bias);
  l.audio = in->kind == FC_AUDIO;
  l.frames = in->shape[FC_AXIS_N], l.channels = in->shape[FC_AXIS_C], l.columns = in->shape[FC_AXIS_X];
  l.length = l.audio ? l.columns : in->shape[FC_AXIS_Y], l.align = align;
  l.blocks = (l.length + align - 1) / align;
  const int64_t positions = align < l.length ? align : l.length,
                samples = l.audio ? positions : positions * l.columns;
  // A lone column is equal steps, and a block of a single row has no row's end.
  if (!l.audio && l.columns == 1) l.in.stride[FC_AXIS_X] = l.in.stride[FC_AXIS_Y];
  l.chunks = (samples + FC_STATS_CHUNK - 1) / FC_STATS_CHUNK;
  if (l.chunks < 1) l.chunks = 1;
  l.unit = 1, l.unit_bits = 0;
  while (l.unit < UNIT && l.unit < l.chunks) l.unit *= 2, l.unit_bits++;
  l.units = (l.chunks + l.unit - 1) / l.unit;
  l.block_bytes = static_cast<int64_t>(fc_stats_block_bytes(l.channels));
  const int64_t step = l.in.stride[FC_AXIS_X], size = static_cast<int64_t>(fc_dtype_size(in->dtype));
  l.even = l.audio || positions <= 1 || in->stride[FC_AXIS_Y] == step * l.columns;
  const bool dense = step == size;
  l.adjacent = l.even && dense;
  l.runs = dense && (l.even || l.columns >= FC_STATS_CHUNK);
  l.ragged = samples % FC_STATS_CHUNK != 0;
  l.pixels = l.channels > 1 && in->stride[FC_AXIS_C] == size && step == l.channels * size &&
             (l.even || in->dtype == FC_F32);
  return l;
}

// Where blocks of threads are fewer than a device has room for, more warps each.
constexpr unsigned MANY = 256;

template <typename T>
static fc_status launch(const layout &l, unsigned grid, fc_stats_part *units, char *blocks,
                        int64_t frame_bytes, cudaStream_t stream) {
  if (grid < MANY) {
    if constexpr (static_cast<T>(0.5) == 0) {
      const fc_status status = launch_clusters<T>(l, grid, units, blocks, frame_bytes, stream);
      if (status != FC_UNSUPPORTED) return status;
    }
    measure_units<T, ALL_WARPS, 1><<<grid, 32 * ALL_WARPS, 0, stream>>>(l, units, blocks, frame_bytes);
  } else if constexpr (std::is_same<T, float>::value) {
    return launch_gather(l, units, blocks, frame_bytes, stream);
  } else {
    if (l.pixels) {
      const fc_status status = launch_pixels<T>(l, units, blocks, frame_bytes, stream);
      if (status != FC_UNSUPPORTED) return status;
    }
    measure_units<T, FEW, resident<T>><<<grid, 32 * FEW, 0, stream>>>(l, units, blocks, frame_bytes);
  }
  return fc_launch_status();
}

} // namespace stats

extern "C" size_t fc_stats_cuda_scratch(const fc_view *in, int64_t align) {
  const stats::layout l = stats::layout_of(in, align);
  return l.units == 1
             ? 0
             : static_cast<size_t>(l.frames * l.blocks * l.channels * l.units) * sizeof(fc_stats_part);
}

extern "C" fc_status fc_stats_cuda(const fc_view *in, int64_t align, void *blocks, int64_t frame_bytes,
                                   void *scratch, void *stream) {
  const stats::layout l = stats::layout_of(in, align);
  fc_stats_part *units = static_cast<fc_stats_part *>(scratch);
  cudaStream_t on = static_cast<cudaStream_t>(stream);
  const int64_t merges = l.frames * l.blocks * l.channels;
  if (merges == 0) return FC_OK;
  const int64_t total = merges * l.units, each = stats::UNIT / l.unit;
  if (total > UINT32_MAX - each) return FC_UNSUPPORTED;
  char *to = static_cast<char *>(blocks);
  fc_status status = stats::launch_stream(in, l, units, to, frame_bytes, on);
  if (status == FC_UNSUPPORTED)
    status = fc_dispatch_dtype(in->dtype, [&](auto t) {
      return stats::launch<decltype(t)>(l, static_cast<unsigned>((total + each - 1) / each), units, to,
                                        frame_bytes, on);
    });
  if (l.units == 1) return status;
  const unsigned rows = fc_blocks(merges, 1, 65535);
  for (int64_t step = 1; step < l.units && status == FC_OK; step *= stats::MERGERS) {
    const dim3 grid(fc_blocks(l.units, step * stats::MERGERS, INT32_MAX), rows);
    stats::merge_units<<<grid, stats::MERGERS, 0, on>>>(l, units, step, to, frame_bytes);
    status = fc_launch_status();
  }
  return status;
}
