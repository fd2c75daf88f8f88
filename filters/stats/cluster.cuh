// SPDX-License-Identifier: MIT
//
// cluster.cuh - short signals of integers on sm_90: two blocks of threads that can access each other's shared
// memory, a cluster, share a unit of 16 chunks, so that twice as many multiprocessors have work and each
// waits half as long. Internal to stats.cu.
#ifndef FC_FILTERS_STATS_CLUSTER_CUH
#define FC_FILTERS_STATS_CLUSTER_CUH

#include "filters/stats/units.cuh"

namespace stats {

constexpr int CLUSTER = 2, CLUSTER_WARPS = UNIT / CLUSTER;

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ void cluster_arrive(void) {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait(void) {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The address in the cluster's first block that corresponds to `to`.
__device__ __forceinline__ void store_first(fc_stats_part *to, const fc_stats_part &p) {
  static_assert(sizeof p % 16 == 0, "sixteen bytes at a time");
  uint4 words[sizeof p / 16];
  uint32_t there;
  memcpy(words, &p, sizeof p);
  asm("mapa.shared::cluster.u32 %0, %1, 0;"
      : "=r"(there)
      : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))));
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof p / 16); i++)
    asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(there + 16 * i), "r"(words[i].x),
                 "r"(words[i].y), "r"(words[i].z), "r"(words[i].w)
                 : "memory");
}
#endif

#if __CUDA_ARCH__ >= 900
// By a warp, whose second half repeats the first. The sums of a unit fit 64 bits, those of squares do not.
__device__ __forceinline__ fc_stats_part merge_cluster(const fc_stats_part *parts, int64_t samples) {
  fc_stats_part p = parts[threadIdx.x % UNIT];
  p.finite = static_cast<uint64_t>(samples);
  p.least = least_of_lanes(__double2int_rn(p.least)), p.most = most_of_lanes(__double2int_rn(p.most));
#pragma unroll
  for (int by = 1; by < UNIT; by *= 2) {
    p.sum_low += across(p.sum_low, by);
    fc_stats_add_wide(&p.squares_low, &p.squares_high, across(p.squares_low, by), across(p.squares_high, by));
  }
  p.sum_high = static_cast<int64_t>(p.sum_low) < 0 ? ~UINT64_C(0) : 0;
  return p;
}
#endif

// One unit per cluster, one chunk per warp.
template <typename T>
__global__ void __launch_bounds__(32 * CLUSTER_WARPS)
    measure_clusters(const __grid_constant__ layout l, fc_stats_part *units, char *blocks,
                     int64_t frame_bytes) {
#if __CUDA_ARCH__ >= 900
  __shared__ alignas(16) fc_stats_part parts[UNIT];
  cluster_arrive(); // the other block's memory is accessible once that block runs
  const int k = static_cast<int>(blockIdx.x % CLUSTER * CLUSTER_WARPS + threadIdx.x / 32);
  const place at = place_of(l, blockIdx.x / CLUSTER);
  const int64_t first = (static_cast<int64_t>(at.unit) * UNIT + k) * FC_STATS_CHUNK;
  const int64_t left = samples_in(l, at.block) - first;
  fc_stats_part p = fc_stats_part_none();
  // Until here the kernel before may still run; the next one may begin while this one merges.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (left > 0)
    p = measure_codes<T>(l, block_at(l, at), first, left < FC_STATS_CHUNK ? left : FC_STATS_CHUNK);
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  cluster_wait();
  if (threadIdx.x % 32 == 0) store_first(&parts[k], p);
  __syncwarp(); // a warp arrives as one
  cluster_arrive();
  if (blockIdx.x % CLUSTER) return;
  cluster_wait();
  if (threadIdx.x >= 32) return;
  const int64_t rest = samples_in(l, at.block) - static_cast<int64_t>(at.unit) * (UNIT * FC_STATS_CHUNK);
  p = merge_cluster(parts, rest < UNIT * FC_STATS_CHUNK ? rest : UNIT * FC_STATS_CHUNK);
  if (threadIdx.x == 0 && rest > 0) deliver_unit(l, at, p, units, blocks, frame_bytes);
#endif
}

// FC_UNSUPPORTED if the kernel has no code, or units do not have 16 chunks.
template <typename T>
static fc_status launch_clusters(const layout &l, unsigned count, fc_stats_part *units, char *blocks,
                                 int64_t frame_bytes, cudaStream_t stream) {
  cudaFuncAttributes about;
  if (l.unit != UNIT) return FC_UNSUPPORTED;
  if (cudaFuncGetAttributes(&about, measure_clusters<T>) != cudaSuccess || about.ptxVersion < 90) {
    (void)cudaGetLastError();
    return FC_UNSUPPORTED;
  }
  cudaLaunchAttribute how[2] = {};
  how[0].id = cudaLaunchAttributeClusterDimension;
  how[0].val.clusterDim.x = CLUSTER, how[0].val.clusterDim.y = how[0].val.clusterDim.z = 1;
  how[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  how[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(count * CLUSTER), config.blockDim = dim3(32 * CLUSTER_WARPS), config.stream = stream;
  config.attrs = how, config.numAttrs = 2;
  (void)cudaLaunchKernelEx(&config, measure_clusters<T>, l, units, blocks, frame_bytes);
  return fc_launch_status();
}

} // namespace stats

#endif
