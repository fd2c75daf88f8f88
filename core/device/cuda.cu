// SPDX-License-Identifier: MIT
//
// cuda.cu - a CUDA device as a runner: three streams, events by slot, memory, graphs.
//
// The streams are non-blocking, so that nothing waits for the legacy stream of other code in the process.
// Waiting for events blocks instead of spinning, so that a waiting reader thread uses no CPU time.
//
// Graphs. Work with a key is enqueued directly the first time a slot sees the key, captured the second time,
// and replayed from then on. So kernels are loaded outside captures, and the first and last chunks of a
// stream, which occur once, are never instantiated (about 100 us each). Captures are thread-local: other
// threads of the process may use CUDA at the same time, while a call that must not be captured, made by an
// operator on this thread, fails the capture instead of being silently left out of a graph. The slot then
// continues without graphs. An executable graph is not updated for another key: keys last for a whole run, so
// nothing would be gained.
//
// A caller's stream. Everything is enqueued on it directly: it may be captured by the caller already, or be
// fed by other threads, whose work a capture would swallow.
//
// Memory comes from the device's stream-ordered pool where there is one, because cudaFree waits for the whole
// device, work of other chains included.
#include "core/base/error.h"
#include "core/device/runner.h"

#include "core/device/cuda_clock.cuh"
#include "core/device/cuda_kernels.cuh"
#include "core/device/kernel.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static char *describe(int32_t device);
static gboolean driver_present(void);

namespace {

// Graphs kept per slot: one for the run's ordinary chunks, one for another key in between.
const guint GRAPHS = 2;

struct slot_graph {
  guint64 key;           // 0: none
  cudaGraphExec_t graph; // NULL: seen once, not captured yet
  guint64 used;          // when, by the runner's clock
};

struct slot_state {
  cudaEvent_t uploaded, computed, downloaded;
  slot_graph graphs[GRAPHS];
  gboolean plain; // a capture failed: the slot uses no more graphs
};

struct cuda_runner {
  fc_runner base;    // must be first: a runner's address is that of its cuda_runner
  gboolean borrowed; // all streams are one, which belongs to the caller
  gboolean pooled;
  cudaStream_t upload, compute, download;
  cudaStream_t caller, lanes[FC_LANES]; // borrowed: compute is one of them; NULL before the first fork
  cudaEvent_t forked, joined[FC_LANES];
  guint open;       // lanes opened by the last fork
  cudaEvent_t mark; // for finish and for joining lanes; borrowed: recorded after everything enqueued
  slot_state slots[FC_SLOTS];
  guint64 clock;
  GHashTable *device_memory, *host_memory; // sets
  fc_arena *arena;                         // pinned, or NULL
  lane_clock clock_of_lanes;
};

// ---- the process and the current device ----------------------------------

// CUDA does not survive fork. The process that used it first is recorded, so that a forked child gets an
// error that says so instead of failing somewhere inside the driver.
gint first_process;

gboolean is_forked_child() {
  gint me = (gint)getpid();
  if (g_atomic_int_compare_and_exchange(&first_process, 0, me)) return FALSE;
  return g_atomic_int_get(&first_process) != me;
}

const char FORKED[] = "CUDA was started before fork() and cannot be used in the child: start it there only";

// Makes a device current and, on request, restores the previous one at the end of the scope. By default the
// device stays current: setting the previous one would create its context (since CUDA 12), and threads of the
// engine do not depend on it.
struct current_device {
  int before;
  cudaError_t status;
  gboolean forked;

  current_device(int32_t device, gboolean restore)
      : before(-1), status(cudaSuccess), forked(is_forked_child()) {
    if (forked) {
      status = cudaErrorInitializationError;
      return;
    }
    int now = -1, ordinal = fc_device_ordinal(device);
    if (restore && cudaGetDevice(&now) == cudaSuccess && now != ordinal) before = now;
    status = cudaSetDevice(ordinal);
  }
  ~current_device() {
    if (before >= 0) cudaSetDevice(before);
  }
  gboolean ok() const { return status == cudaSuccess; }
};

// ---- errors --------------------------------------------------------------

// Reports what failed on which device. Clears the error in the runtime, so that a later call does not report
// it as its own.
gboolean device_failed(const char *device, cudaError_t status, const char *doing, GError **error) {
  (void)cudaGetLastError();
  fc_status code = status == cudaErrorMemoryAllocation ? FC_NO_MEMORY : FC_DEVICE;
  return fc_fail(error, code, "%s: %s failed: %s", device, doing, cudaGetErrorString(status));
}

gboolean passed(const cuda_runner *me, cudaError_t status, const char *doing, GError **error) {
  return status == cudaSuccess || device_failed(me->base.description, status, doing, error);
}

gboolean entered(const cuda_runner *me, const current_device &here, GError **error) {
  if (here.forked) return fc_fail(error, FC_DEVICE, "%s: %s", me->base.description, FORKED);
  return passed(me, here.status, "selecting the device", error);
}

// ---- memory --------------------------------------------------------------

// For the legacy stream the query fails while others capture: then it may be captured.
gboolean is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) == cudaSuccess) return status != cudaStreamCaptureStatusNone;
  (void)cudaGetLastError();
  return TRUE;
}

// Whether this runner has memory on the device, which must not be freed, or used for the next call, while
// work on a caller's stream uses it. Only then an event is recorded behind each call, and waited for: that
// takes a microsecond of the device. (Freeing memory of the host waits for the device by itself.)
gboolean has_memory(const cuda_runner *me) {
  return g_hash_table_size(me->device_memory) > 0;
}

// To be called after enqueuing on a caller's stream: records the event that free_borrowed waits for. An event
// inside the caller's graph would be useless outside it.
cudaError_t mark_borrowed(cuda_runner *me) {
  return !has_memory(me) || is_captured(me->compute) ? cudaSuccess : cudaEventRecord(me->mark, me->compute);
}

void *cuda_alloc(fc_runner *runner, gsize bytes) {
  cuda_runner *me = (cuda_runner *)runner;
  current_device here(runner->device, me->borrowed);
  if (!here.ok()) return NULL;
  void *memory = NULL;
  if (bytes == 0) bytes = 1;
  cudaError_t status = me->pooled ? cudaMallocAsync(&memory, bytes, me->compute) : cudaMalloc(&memory, bytes);
  if (status == cudaSuccess) g_hash_table_add(me->device_memory, memory);
  // Memory must be usable by the other lanes on return; on a caller's stream the stream's order suffices.
  if (status == cudaSuccess && me->pooled)
    status = me->borrowed ? mark_borrowed(me) : cudaStreamSynchronize(me->compute);
  if (status != cudaSuccess) {
    (void)cudaGetLastError();
    return NULL; // memory that was allocated is released with the runner
  }
  return memory;
}

// Makes the compute lane wait for everything enqueued on the other two.
void join_lanes(cuda_runner *me) {
  if (me->borrowed) return;
  const cudaStream_t others[] = {me->upload, me->download};
  for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
    cudaEventRecord(me->mark, others[i]);
    cudaStreamWaitEvent(me->compute, me->mark, 0);
  }
}

void cuda_release(fc_runner *runner, void *memory) {
  cuda_runner *me = (cuda_runner *)runner;
  if (!memory || !g_hash_table_remove(me->device_memory, memory)) return;
  current_device here(runner->device, me->borrowed);
  if (!here.ok()) return;
  join_lanes(me);
  if (me->pooled)
    cudaFreeAsync(memory, me->compute);
  else
    cudaFree(memory); // waits for the device
  (void)cudaGetLastError();
}

void *cuda_alloc_host(fc_runner *runner, gsize bytes) {
  cuda_runner *me = (cuda_runner *)runner;
  current_device here(runner->device, me->borrowed);
  if (!here.ok()) return NULL;
  void *memory = me->arena ? fc_arena_take(me->arena, bytes) : NULL;
  if (memory) return memory;
  if (bytes == 0) bytes = 1;
  if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped) != cudaSuccess) {
    (void)cudaGetLastError();
    return NULL;
  }
  memset(memory, 0, bytes);
  g_hash_table_add(me->host_memory, memory);
  return memory;
}

// If memory cannot be registered, or kernels would see it at another address, alloc_host allocates its own.
void cuda_adopt_host(fc_runner *runner, fc_arena *arena) {
  cuda_runner *me = (cuda_runner *)runner;
  current_device here(runner->device, me->borrowed);
  gsize bytes = 0;
  void *memory = here.ok() ? fc_arena_wait(arena, &bytes) : NULL, *there = NULL;
  gboolean pinned =
      memory &&
      cudaHostRegister(memory, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped) == cudaSuccess;
  if (pinned && cudaHostGetDevicePointer(&there, memory, 0) == cudaSuccess && there == memory) {
    me->arena = arena;
    return;
  }
  if (pinned) cudaHostUnregister(memory);
  (void)cudaGetLastError();
  fc_arena_free(arena);
}

// To be called after its last use.
void drop_arena(cuda_runner *me) {
  gsize bytes = 0;
  if (!me->arena) return;
  cudaHostUnregister(fc_arena_wait(me->arena, &bytes));
  fc_arena_free(me->arena);
  me->arena = NULL;
}

void cuda_release_host(fc_runner *runner, void *memory) {
  cuda_runner *me = (cuda_runner *)runner;
  if (!memory || fc_arena_owns(me->arena, memory) || !g_hash_table_remove(me->host_memory, memory)) return;
  current_device here(runner->device, me->borrowed);
  if (!here.ok()) return;
  cudaFreeHost(memory); // waits for the device, which cannot be avoided for pinned memory
  (void)cudaGetLastError();
}

// ---- lanes ---------------------------------------------------------------

// An upload or download of a chunk: wait for `before`, copy, record `after`.
gboolean move(cuda_runner *me, guint slot, const fc_view *to, const fc_view *from, cudaMemcpyKind kind,
              cudaStream_t lane, cudaEvent_t before, cudaEvent_t after, GError **error) {
  current_device here(me->base.device, me->borrowed);
  if (!entered(me, here, error)) return FALSE;
  const char *doing = kind == cudaMemcpyHostToDevice ? "upload" : "download";
  if (!me->borrowed && !passed(me, cudaStreamWaitEvent(lane, before, 0), doing, error)) return FALSE;
  const lane_clock::lane which = kind == cudaMemcpyHostToDevice ? lane_clock::UPLOAD : lane_clock::DOWNLOAD;
  me->clock_of_lanes.begin(slot, which, lane);
  if (!passed(me, fc_cuda_transfer(to, from, kind, lane), doing, error)) return FALSE;
  me->clock_of_lanes.end(slot, which, lane, fc_view_count(to) * (gint64)fc_dtype_size(to->dtype));
  return passed(me, me->borrowed ? mark_borrowed(me) : cudaEventRecord(after, lane), doing, error);
}

gboolean cuda_upload(fc_runner *runner, guint slot, const fc_view *to, const fc_view *from, GError **error) {
  cuda_runner *me = (cuda_runner *)runner;
  slot_state *s = &me->slots[slot];
  me->clock_of_lanes.tell(slot);
  return move(me, slot, to, from, cudaMemcpyHostToDevice, me->upload, s->computed, s->uploaded, error);
}

gboolean cuda_download(fc_runner *runner, guint slot, const fc_view *to, const fc_view *from,
                       GError **error) {
  cuda_runner *me = (cuda_runner *)runner;
  slot_state *s = &me->slots[slot];
  return move(me, slot, to, from, cudaMemcpyDeviceToHost, me->download, s->computed, s->downloaded, error);
}

// Called from any thread: does not modify the runner.
gboolean wait_for(cuda_runner *me, cudaEvent_t event, const char *doing, GError **error) {
  if (me->borrowed) return TRUE;
  current_device here(me->base.device, FALSE);
  return entered(me, here, error) && passed(me, cudaEventSynchronize(event), doing, error);
}

gboolean cuda_wait(fc_runner *runner, guint slot, GError **error) {
  cuda_runner *me = (cuda_runner *)runner;
  return wait_for(me, me->slots[slot].computed, "computing", error) &&
         wait_for(me, me->slots[slot].downloaded, "download", error);
}

gboolean cuda_finish(fc_runner *runner, GError **error) {
  cuda_runner *me = (cuda_runner *)runner;
  if (me->borrowed) return TRUE;
  current_device here(runner->device, FALSE);
  if (!entered(me, here, error) || !passed(me, cudaEventRecord(me->mark, me->compute), "computing", error) ||
      !passed(me, cudaEventSynchronize(me->mark), "computing", error))
    return FALSE;
  for (guint i = 0; i < FC_SLOTS; i++) me->clock_of_lanes.tell(i);
  return TRUE;
}

void cuda_watch(fc_runner *runner, fc_trace *trace) {
  cuda_runner *me = (cuda_runner *)runner;
  current_device here(runner->device, me->borrowed);
  if (here.ok() && !me->borrowed) me->clock_of_lanes.init(trace, me->compute);
}

// ---- graphs --------------------------------------------------------------

// The slot's entry for a key; a new one replaces the least recently used.
slot_graph *graph_for(cuda_runner *me, slot_state *slot, guint64 key, gboolean *is_new) {
  slot_graph *entry = &slot->graphs[0];
  for (guint i = 0; i < GRAPHS; i++) {
    slot_graph *g = &slot->graphs[i];
    if (g->key == key) entry = g;
    if (entry->key != key && g->used < entry->used) entry = g;
  }
  *is_new = entry->key != key;
  if (*is_new) {
    // A graph in flight is freed when it has finished.
    if (entry->graph) cudaGraphExecDestroy(entry->graph);
    entry->key = key, entry->graph = NULL;
  }
  entry->used = ++me->clock;
  return entry;
}

// Captures what `enqueue` does. NULL, with nothing enqueued, if that fails for any reason: enqueuing directly
// then either works or fails with the reason.
cudaGraphExec_t capture(cuda_runner *me, fc_enqueue_fn enqueue, void *data) {
  cudaGraph_t graph = NULL;
  cudaGraphExec_t ready = NULL;
  if (cudaStreamBeginCapture(me->compute, cudaStreamCaptureModeThreadLocal) == cudaSuccess) {
    GError *ignored = NULL;
    gboolean done = enqueue(data, &ignored);
    g_clear_error(&ignored);
    cudaError_t status = cudaStreamEndCapture(me->compute, &graph);
    if (done && status == cudaSuccess && graph &&
        cudaGraphInstantiateWithFlags(&ready, graph, 0) != cudaSuccess)
      ready = NULL;
    if (graph) cudaGraphDestroy(graph);
  }
  if (!ready) (void)cudaGetLastError();
  return ready;
}

void cuda_renew(fc_runner *runner) {
  cuda_runner *me = (cuda_runner *)runner;
  current_device here(runner->device, me->borrowed);
  for (guint i = 0; i < FC_SLOTS; i++) {
    slot_state *s = &me->slots[i];
    for (guint g = 0; g < GRAPHS; g++) {
      if (s->graphs[g].graph && here.ok()) cudaGraphExecDestroy(s->graphs[g].graph);
      s->graphs[g] = slot_graph();
    }
    s->plain = FALSE;
  }
}

gboolean run_work(cuda_runner *me, slot_state *slot, guint64 key, fc_enqueue_fn enqueue, void *data,
                  GError **error) {
  if (me->borrowed || key == 0 || slot->plain) return enqueue(data, error);
  gboolean is_new;
  slot_graph *entry = graph_for(me, slot, key, &is_new);
  if (is_new) return enqueue(data, error);
  if (!entry->graph) entry->graph = capture(me, enqueue, data);
  if (!entry->graph) {
    slot->plain = TRUE;
    return enqueue(data, error);
  }
  return passed(me, cudaGraphLaunch(entry->graph, me->compute), "computing", error);
}

gboolean cuda_compute(fc_runner *runner, guint slot, guint64 key, fc_enqueue_fn enqueue, void *data,
                      GError **error) {
  cuda_runner *me = (cuda_runner *)runner;
  slot_state *s = &me->slots[slot];
  current_device here(runner->device, me->borrowed);
  if (!entered(me, here, error)) return FALSE;
  if (!me->borrowed) {
    if (!passed(me, cudaStreamWaitEvent(me->compute, s->uploaded, 0), "computing", error) ||
        !passed(me, cudaStreamWaitEvent(me->compute, s->downloaded, 0), "computing", error))
      return FALSE;
  }
  me->clock_of_lanes.begin(slot, lane_clock::COMPUTE, me->compute);
  if (!run_work(me, s, key, enqueue, data, error)) {
    // Work enqueued before the failure still runs: freeing or reusing its buffers must wait for it.
    (void)(me->borrowed ? mark_borrowed(me) : cudaEventRecord(s->computed, me->compute));
    (void)cudaGetLastError();
    return FALSE;
  }
  me->clock_of_lanes.end(slot, lane_clock::COMPUTE, me->compute, -1);
  return passed(me, me->borrowed ? mark_borrowed(me) : cudaEventRecord(s->computed, me->compute), "computing",
                error);
}

// ---- within enqueue ------------------------------------------------------

gboolean cuda_copy(fc_runner *runner, const fc_view *to, const fc_view *from, guint32 *notes,
                   GError **error) {
  cuda_runner *me = (cuda_runner *)runner;
  current_device here(runner->device, me->borrowed);
  if (!entered(me, here, error)) return FALSE;
  if (memcmp(to->shape, from->shape, sizeof to->shape) != 0)
    return fc_fail(error, FC_FATAL, "%s: copy between views of different shapes", runner->description);
  return passed(me, fc_cuda_convert(to, from, notes, me->compute), "copying", error);
}

gboolean cuda_fill_border(fc_runner *runner, const fc_view *view, const fc_range wanted[FC_AXES], int border,
                          const void *code, GError **error) {
  cuda_runner *me = (cuda_runner *)runner;
  current_device here(runner->device, me->borrowed);
  if (!entered(me, here, error)) return FALSE;
  cudaError_t status = fc_cuda_fill_border(view, wanted, border, code, me->compute);
  if (status == cudaErrorInvalidValue)
    return fc_fail(error, FC_UNSUPPORTED, "%s: a wrapped border needs the length of the signal",
                   runner->description);
  return passed(me, status, "filling the border", error);
}

gboolean cuda_sum(fc_runner *runner, const fc_linear_sum *sum, GError **error) {
  cuda_runner *me = (cuda_runner *)runner;
  current_device here(runner->device, me->borrowed);
  return entered(me, here, error) && passed(me, fc_cuda_sum(sum, me->compute), "summing", error);
}

gboolean cuda_launch(fc_runner *runner, void *kernel, const fc_composed *composed, GError **error) {
  cuda_runner *me = (cuda_runner *)runner;
  current_device here(runner->device, me->borrowed);
  if (!entered(me, here, error)) return FALSE;
  const fc_status status = fc_kernel_launch(static_cast<fc_kernel *>(kernel), composed, me->compute);
  return status == FC_OK ||
         fc_fail(error, status, "%s: launching a composed kernel failed", runner->description);
}

// ---- beginning and end ---------------------------------------------------

void free_memory(cuda_runner *me, cudaStream_t after) {
  GHashTableIter each;
  gpointer memory;
  g_hash_table_iter_init(&each, me->device_memory);
  while (g_hash_table_iter_next(&each, &memory, NULL))
    if (!me->pooled || !after || cudaFreeAsync(memory, after) != cudaSuccess) cudaFree(memory);
  if (after && !me->borrowed) cudaStreamSynchronize(after);
  g_hash_table_iter_init(&each, me->host_memory);
  while (g_hash_table_iter_next(&each, &memory, NULL)) cudaFreeHost(memory);
}

// The caller's stream may no longer exist, but the event recorded on it does: a stream of our own waits for
// it on the device and frees the memory, and the host waits for nothing (except for pinned memory, if any was
// used).
void free_borrowed(cuda_runner *me) {
  cudaStream_t last = NULL;
  if (has_memory(me) && cudaStreamCreateWithFlags(&last, cudaStreamNonBlocking) == cudaSuccess &&
      cudaStreamWaitEvent(last, me->mark, 0) != cudaSuccess) {
    cudaStreamDestroy(last);
    last = NULL;
  }
  free_memory(me, last);
  if (last) cudaStreamDestroy(last); // returns at once; the stream is destroyed when it has finished
  for (guint i = 0; i < FC_LANES; i++) {
    if (me->lanes[i]) cudaStreamDestroy(me->lanes[i]);
    if (me->joined[i]) cudaEventDestroy(me->joined[i]);
  }
  if (me->forked) cudaEventDestroy(me->forked);
}

void free_owned(cuda_runner *me) {
  const cudaStream_t lanes[] = {me->upload, me->compute, me->download};
  for (guint i = 0; i < G_N_ELEMENTS(lanes); i++)
    if (lanes[i]) cudaStreamSynchronize(lanes[i]);
  me->clock_of_lanes.clear();
  free_memory(me, me->compute);
  for (guint i = 0; i < FC_SLOTS; i++) {
    slot_state *s = &me->slots[i];
    for (guint g = 0; g < GRAPHS; g++)
      if (s->graphs[g].graph) cudaGraphExecDestroy(s->graphs[g].graph);
    const cudaEvent_t events[] = {s->uploaded, s->computed, s->downloaded};
    for (guint e = 0; e < G_N_ELEMENTS(events); e++)
      if (events[e]) cudaEventDestroy(events[e]);
  }
  for (guint i = 0; i < G_N_ELEMENTS(lanes); i++)
    if (lanes[i]) cudaStreamDestroy(lanes[i]);
}

void cuda_free(fc_runner *runner) {
  cuda_runner *me = (cuda_runner *)runner;
  {
    // In a forked child the device belongs to the parent and is not touched.
    current_device here(runner->device, me->borrowed);
    if (here.ok()) {
      if (me->borrowed)
        free_borrowed(me);
      else
        free_owned(me);
      drop_arena(me);
      if (me->mark) cudaEventDestroy(me->mark);
      (void)cudaGetLastError();
    }
  }
  fc_arena_free(me->arena); // a forked child's copy of it
  g_hash_table_destroy(me->device_memory);
  g_hash_table_destroy(me->host_memory);
  g_free(me->base.description);
  g_free(me);
}

cudaError_t create_lanes(cuda_runner *me) {
  cudaStream_t *lanes[] = {&me->upload, &me->compute, &me->download};
  cudaError_t status = cudaSuccess;
  for (guint i = 0; i < G_N_ELEMENTS(lanes) && status == cudaSuccess; i++)
    status = cudaStreamCreateWithFlags(lanes[i], cudaStreamNonBlocking);
  for (guint i = 0; i < FC_SLOTS; i++) {
    slot_state *s = &me->slots[i];
    cudaEvent_t *events[] = {&s->uploaded, &s->computed, &s->downloaded};
    for (guint e = 0; e < G_N_ELEMENTS(events) && status == cudaSuccess; e++)
      status = cudaEventCreateWithFlags(events[e], cudaEventBlockingSync | cudaEventDisableTiming);
  }
  return status;
}

gboolean begin(cuda_runner *me, cudaStream_t stream, GError **error) {
  current_device here(me->base.device, me->borrowed);
  if (!entered(me, here, error)) return FALSE;
  cudaError_t status = fc_cuda_has_code();
  if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction) {
    (void)cudaGetLastError();
    return fc_fail(error, FC_DEVICE,
                   "%s: this build has no code for this device (see the build option gpu_arch)",
                   me->base.description);
  }
  if (!passed(me, status, "loading kernels", error)) return FALSE;
  int pools = 0;
  status =
      cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, fc_device_ordinal(me->base.device));
  if (!passed(me, status, "asking for memory pools", error)) return FALSE;
  me->pooled = pools != 0;
  status = cudaEventCreateWithFlags(&me->mark, cudaEventBlockingSync | cudaEventDisableTiming);
  if (status == cudaSuccess && !me->borrowed) status = create_lanes(me);
  if (me->borrowed) me->upload = me->compute = me->download = me->caller = stream;
  me->base.stream = me->compute;
  return passed(me, status, "creating streams", error);
}

// The number of devices, or 0 with the reason.
int count_devices(char **reason) {
  int count = 0;
  if (!driver_present()) {
    *reason = g_strdup("there is no NVIDIA driver (libcuda.so.1 was not found)");
  } else if (is_forked_child()) {
    *reason = g_strdup(FORKED);
  } else {
    cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess) {
      (void)cudaGetLastError();
      count = 0;
      *reason = g_strdup_printf("CUDA cannot be used: %s", cudaGetErrorString(status));
    } else if (count == 0) {
      *reason = g_strdup("the NVIDIA driver knows no device");
    }
  }
  return count;
}

gboolean check_ordinal(int ordinal, GError **error) {
  char *reason = NULL;
  int count = count_devices(&reason);
  if (count == 0)
    fc_fail(error, FC_DEVICE, "cuda:%d: %s", ordinal, reason);
  else if (ordinal < 0 || ordinal >= count)
    fc_fail(error, FC_DEVICE, "cuda:%d: there is no such device: %d found, numbered from 0", ordinal, count);
  g_free(reason);
  return ordinal >= 0 && ordinal < count;
}

} // namespace

// ---- runner.h ------------------------------------------------------------

static gboolean cuda_rejoin(fc_runner *runner, GError **error);
static gboolean cuda_fork(fc_runner *runner, guint lanes, GError **error);
static void cuda_aside(fc_runner *runner, guint lane);
static gboolean cuda_join(fc_runner *runner, GError **error);

static fc_runner *open_runner(int32_t device, void *stream, GError **error) {
  int ordinal = fc_device_ordinal(device);
  if (!check_ordinal(ordinal, error)) return NULL;
  cuda_runner *me = g_new0(cuda_runner, 1);
  me->device_memory = g_hash_table_new(NULL, NULL);
  me->host_memory = g_hash_table_new(NULL, NULL);
  me->borrowed = stream != NULL;
  fc_runner *r = &me->base;
  r->device = FC_CUDA_DEVICE(ordinal);
  r->threads = 1;
  // Querying the properties of a device takes long, compared with one call on a caller's stream.
  r->description = stream ? g_strdup_printf("cuda:%d", ordinal) : describe(ordinal);
  r->free = cuda_free;
  r->alloc = cuda_alloc, r->release = cuda_release;
  r->alloc_host = cuda_alloc_host, r->release_host = cuda_release_host;
  r->adopt_host = cuda_adopt_host;
  r->upload = cuda_upload, r->download = cuda_download;
  r->compute = cuda_compute;
  r->wait = cuda_wait, r->finish = cuda_finish;
  if (stream) r->rejoin = cuda_rejoin, r->fork = cuda_fork, r->aside = cuda_aside, r->join = cuda_join;
  r->watch = cuda_watch, r->renew = cuda_renew;
  r->copy = cuda_copy, r->fill_border = cuda_fill_border, r->launch = cuda_launch, r->sum = cuda_sum;
  if (begin(me, (cudaStream_t)stream, error)) return r;
  cuda_free(r);
  return NULL;
}

struct fc_starting {
  pthread_t thread;
  int32_t device;
};

namespace {

void *start_device(void *data) {
  current_device here(static_cast<fc_starting *>(data)->device, FALSE);
  if (here.ok()) fc_cuda_has_code();
  if (!here.forked) (void)cudaGetLastError(); // of this thread
  return NULL;
}

} // namespace

static fc_starting *start(int32_t device) {
  if (!driver_present()) return NULL;
  fc_starting *starting = g_new0(fc_starting, 1);
  starting->device = device;
  if (pthread_create(&starting->thread, NULL, start_device, starting) == 0) return starting;
  g_free(starting);
  return NULL;
}

static void start_wait(fc_starting *starting) {
  if (!starting) return;
  pthread_join(starting->thread, NULL);
  g_free(starting);
}

static gboolean cuda_rejoin(fc_runner *runner, GError **error) {
  cuda_runner *me = (cuda_runner *)runner;
  current_device here(runner->device, TRUE);
  if (!entered(me, here, error)) return FALSE;
  if (!has_memory(me) || is_captured(me->compute)) return TRUE;
  return passed(me, cudaStreamWaitEvent(me->compute, me->mark, 0), "waiting for earlier work", error);
}

// Lanes have the default priority: kernels that were launched first run first, and the lanes' kernels fill
// what these leave idle. (With a higher priority, small kernels displaced blocks of a large kernel whose grid
// fills the device a whole number of times, so that it needed another round: up to 20 % slower.)
static cudaError_t prepare_lane(cuda_runner *me, guint lane) {
  cudaError_t status = cudaSuccess;
  if (!me->forked) status = cudaEventCreateWithFlags(&me->forked, cudaEventDisableTiming);
  if (status == cudaSuccess && !me->joined[lane])
    status = cudaEventCreateWithFlags(&me->joined[lane], cudaEventDisableTiming);
  if (status == cudaSuccess && !me->lanes[lane])
    status = cudaStreamCreateWithFlags(&me->lanes[lane], cudaStreamNonBlocking);
  return status;
}

static gboolean cuda_fork(fc_runner *runner, guint lanes, GError **error) {
  cuda_runner *me = (cuda_runner *)runner;
  current_device here(runner->device, TRUE);
  if (!entered(me, here, error)) return FALSE;
  cudaError_t status = cudaSuccess;
  for (guint i = 0; i < lanes && status == cudaSuccess; i++) status = prepare_lane(me, i);
  if (status == cudaSuccess) status = cudaEventRecord(me->forked, me->caller);
  for (me->open = 0; me->open < lanes && status == cudaSuccess; me->open++)
    status = cudaStreamWaitEvent(me->lanes[me->open], me->forked, 0);
  return passed(me, status, "forking a stream", error);
}

static void cuda_aside(fc_runner *runner, guint lane) {
  cuda_runner *me = (cuda_runner *)runner;
  me->compute = lane ? me->lanes[lane - 1] : me->caller;
  runner->stream = me->compute;
}

static gboolean cuda_join(fc_runner *runner, GError **error) {
  cuda_runner *me = (cuda_runner *)runner;
  current_device here(runner->device, TRUE);
  if (!entered(me, here, error)) return FALSE;
  cudaError_t status = cudaSuccess;
  for (guint i = 0; i < me->open && status == cudaSuccess; i++) {
    status = cudaEventRecord(me->joined[i], me->lanes[i]);
    if (status == cudaSuccess) status = cudaStreamWaitEvent(me->caller, me->joined[i], 0);
  }
  return passed(me, status, "joining a stream", error);
}

static gboolean captures(int32_t device, void *stream) {
  current_device here(device, TRUE);
  return !here.ok() || is_captured((cudaStream_t)stream);
}

static int count(char **reason) {
  char *why = NULL;
  int count = count_devices(&why);
  if (reason)
    *reason = why;
  else
    g_free(why);
  return count;
}

static char *describe(int32_t device) {
  int ordinal = fc_device_ordinal(device);
  cudaDeviceProp properties;
  if (is_forked_child() || cudaGetDeviceProperties(&properties, ordinal) != cudaSuccess) {
    if (!is_forked_child()) (void)cudaGetLastError();
    return g_strdup_printf("cuda:%d", ordinal);
  }
  return g_strdup_printf("cuda:%d (%s)", ordinal, properties.name);
}

static gboolean driver_present(void) {
  // Kept mapped, so that the runtime finds it at once; nothing in it is called.
  void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (driver) dlclose(driver);
  return driver != NULL;
}

static int enter(int32_t device) {
  int before = -1;
  if (is_forked_child()) return -1;
  if (cudaGetDevice(&before) != cudaSuccess || cudaSetDevice(fc_device_ordinal(device)) != cudaSuccess) {
    (void)cudaGetLastError();
    return -1;
  }
  return before;
}

static void leave(int before) {
  int now = -1;
  if (before < 0 || is_forked_child()) return;
  if (cudaGetDevice(&now) == cudaSuccess && now != before) cudaSetDevice(before);
}

static void *device_alloc(int32_t device, gsize bytes) {
  current_device here(device, TRUE);
  void *memory = NULL;
  if (here.ok() && cudaMalloc(&memory, bytes ? bytes : 1) == cudaSuccess) return memory;
  if (!here.forked) (void)cudaGetLastError();
  return NULL;
}

static void device_free(int32_t device, void *memory) {
  if (!memory) return;
  current_device here(device, TRUE);
  if (here.ok() && cudaFree(memory) != cudaSuccess) (void)cudaGetLastError();
}

static gboolean device_upload(int32_t device, void *to, const void *from, gsize bytes, GError **error) {
  current_device here(device, TRUE);
  if (here.forked) return fc_fail(error, FC_DEVICE, "cuda:%d: %s", fc_device_ordinal(device), FORKED);
  cudaError_t status = here.status;
  // cudaMemcpy may return while the end of a pageable copy is still in progress, which non-blocking streams
  // would not wait for.
  if (status == cudaSuccess)
    status = cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, cudaStreamPerThread);
  if (status == cudaSuccess) status = cudaStreamSynchronize(cudaStreamPerThread);
  if (status == cudaSuccess) return TRUE;
  char *name = describe(device);
  device_failed(name, status, "upload", error);
  g_free(name);
  return FALSE;
}

static gboolean chip(int32_t device, int *major, int *minor, guint *processors, GError **error) {
  current_device here(device, TRUE);
  if (here.ok() && fc_kernel_device(major, minor, processors) == FC_OK) return TRUE;
  return fc_fail(error, FC_DEVICE, "cuda:%d: %s", fc_device_ordinal(device),
                 here.forked ? FORKED : "it does not say what it is");
}

// For this thread: a capture on another thread, in any mode, does not concern loading a module.
static void relax(cudaStreamCaptureMode *mode) {
  if (cudaThreadExchangeStreamCaptureMode(mode) != cudaSuccess) (void)cudaGetLastError();
}

static void *load_kernel(int32_t device, GBytes *code, GError **error) {
  current_device here(device, TRUE);
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  if (!here.ok())
    return fc_fail(error, FC_DEVICE, "cuda:%d: no kernel is loaded", fc_device_ordinal(device)), nullptr;
  relax(&mode);
  fc_kernel *kernel = fc_kernel_load(code, error);
  relax(&mode);
  return kernel;
}

static void unload_kernel(int32_t device, void *kernel) {
  current_device here(device, TRUE);
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  if (!here.ok()) return;
  relax(&mode);
  fc_kernel_unload(static_cast<fc_kernel *>(kernel));
  relax(&mode);
}

static guint resident(const void *kernel) {
  return fc_kernel_resident(static_cast<const fc_kernel *>(kernel));
}

static const fc_driver driver = {
    FC_KIND_CUDA, driver_present, count,       open_runner,   captures, start,       start_wait,    enter,
    leave,        device_alloc,   device_free, device_upload, chip,     load_kernel, unload_kernel, resident};

const fc_driver *fc_cuda_driver(void) {
  return &driver;
}
