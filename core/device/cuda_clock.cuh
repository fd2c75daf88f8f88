// SPDX-License-Identifier: MIT
//
// cuda_clock.cuh - measures when a device's lanes worked, for a trace: times noted by the host are those of
// enqueuing.
//
// A span of a slot's lane lies between two events. They are read when the slot is used again, when its last
// download has been waited for, or at the end; so nothing waits for the clock.
#ifndef FC_CORE_CUDA_CLOCK_CUH
#define FC_CORE_CUDA_CLOCK_CUH

#include "core/device/runner.h"
#include "core/base/trace.h"

#include <cuda_runtime.h>

struct lane_clock {
  enum lane { UPLOAD, COMPUTE, DOWNLOAD, LANES };

  struct span {
    cudaEvent_t begin, end;
    gint64 chunk, bytes;
    gboolean noted;
  };

  fc_trace *trace; // NULL: no clock
  cudaEvent_t base;
  gint64 base_us;
  gint64 chunks[LANES];
  span spans[FC_SLOTS][LANES];

  // FALSE: the trace has no device times.
  gboolean init(fc_trace *to, cudaStream_t stream) {
    cudaError_t status = cudaEventCreate(&base);
    for (guint i = 0; i < FC_SLOTS; i++)
      for (guint l = 0; l < LANES; l++) {
        if (status == cudaSuccess) status = cudaEventCreate(&spans[i][l].begin);
        if (status == cudaSuccess) status = cudaEventCreate(&spans[i][l].end);
      }
    if (status == cudaSuccess) status = cudaEventRecord(base, stream);
    if (status == cudaSuccess) status = cudaEventSynchronize(base);
    if (status != cudaSuccess) (void)cudaGetLastError();
    if (status != cudaSuccess) return FALSE;
    base_us = fc_trace_now(to);
    trace = to;
    fc_trace_name_lanes(trace);
    return TRUE;
  }

  void clear() {
    for (guint i = 0; i < FC_SLOTS; i++)
      for (guint l = 0; l < LANES; l++) {
        if (spans[i][l].begin) cudaEventDestroy(spans[i][l].begin);
        if (spans[i][l].end) cudaEventDestroy(spans[i][l].end);
      }
    if (base) cudaEventDestroy(base);
  }

  void begin(guint slot, lane which, cudaStream_t stream) {
    if (trace) cudaEventRecord(spans[slot][which].begin, stream);
  }

  void end(guint slot, lane which, cudaStream_t stream, gint64 bytes) {
    if (!trace) return;
    span *s = &spans[slot][which];
    s->noted = cudaEventRecord(s->end, stream) == cudaSuccess;
    s->chunk = chunks[which]++, s->bytes = bytes;
  }

  // Reports the finished spans of a slot's lanes; the rest is reported next time.
  void tell(guint slot) {
    static const char *const names[LANES] = {"uploading", "computing", "downloading"};
    static const fc_track tracks[LANES] = {FC_TRACK_LANE_UPLOAD, FC_TRACK_LANE_COMPUTE,
                                           FC_TRACK_LANE_DOWNLOAD};
    for (guint l = 0; trace && l < LANES; l++) {
      span *s = &spans[slot][l];
      float from = 0, to = 0;
      if (!s->noted || cudaEventQuery(s->end) == cudaErrorNotReady) continue;
      s->noted = FALSE;
      if (cudaEventElapsedTime(&from, base, s->begin) == cudaSuccess &&
          cudaEventElapsedTime(&to, base, s->end) == cudaSuccess)
        fc_trace_add_span(trace, tracks[l], names[l], base_us + (gint64)(1e3 * from),
                          base_us + (gint64)(1e3 * to), s->chunk, s->bytes);
    }
    if (trace) (void)cudaGetLastError();
  }
};

#endif
