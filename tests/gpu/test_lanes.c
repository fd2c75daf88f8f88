/* SPDX-License-Identifier: MIT */
/*
 * test_lanes.c - a hundred chunks through three slots: uploads, dependent work and
 * downloads keep their order though nothing waits but what must, other threads wait
 * meanwhile, and graphs replay what direct work does.
 */
#include "tests/gpu/gpu.h"

#define CHUNKS   100
#define ELEMENTS (1 << 20)

/* Chunk i holds a sequence of its own. */
static gint32 value(guint chunk, gint64 j) {
  return (gint32)((guint32)j * 2654435761u + chunk * 40503u);
}

typedef struct lane_test {
  fc_runner *runner;
  gint32 *host_in[FC_SLOTS], *host_out[FC_SLOTS];
  gint32 *in[FC_SLOTS], *out[FC_SLOTS];
  double *middle;  /* one for all slots: compute must run in order */
  gint32 *history; /* the first element of every chunk, in order of compute */
  guint32 *notes;
  guint slot, chunk, calls;
  gboolean spoil; /* do what must not be captured */
} lane_test;

static fc_view row(void *data, int dtype, gint64 count, int device) {
  fc_view v = bytes_view(data, count, device);
  gint64 size = (gint64)fc_dtype_size(dtype);
  v.dtype = dtype;
  for (int a = 0; a < FC_AXES; a++) v.stride[a] = a == FC_AXIS_X ? size : size * count;
  return v;
}

/* out = in, turned round at the ends by a border, through a buffer of doubles. */
static gboolean work(void *data, GError **error) {
  lane_test *t = data;
  fc_runner *r = t->runner;
  t->calls++;
  if (t->spoil) fc_cuda_driver()->release(r->device, fc_cuda_driver()->alloc(r->device, 1 << 20));
  fc_view in = row(t->in[t->slot], FC_I32, ELEMENTS, 0), out = row(t->out[t->slot], FC_I32, ELEMENTS, 0);
  fc_view middle = row(t->middle, FC_F64, ELEMENTS, 0);
  fc_range wanted[FC_AXES] = {{0, 1}, {0, 1}, {-100, ELEMENTS - 100}, {0, 1}};
  if (!r->copy(r, &middle, &in, NULL, error)) return FALSE;
  middle.origin[FC_AXIS_X] = -100, middle.extent[FC_AXIS_X] = ELEMENTS - 200;
  guint64 code = 0;
  return r->fill_border(r, &middle, wanted, FC_BORDER_WRAP, &code, error) &&
         r->copy(r, &out, &middle, t->notes, error);
}

static gboolean remember(void *data, GError **error) {
  lane_test *t = data;
  fc_view first = row(t->in[t->slot], FC_I32, 1, 0), kept = row(t->history + t->chunk, FC_I32, 1, 0);
  return t->runner->copy(t->runner, &kept, &first, NULL, error);
}

static void check_output(lane_test *t, guint chunk) {
  GError *error = NULL;
  guint slot = chunk % FC_SLOTS;
  must(t->runner->wait(t->runner, slot, &error), error);
  gint64 wrong = 0, period = ELEMENTS - 200;
  for (gint64 j = 0; j < ELEMENTS; j++) {
    gint64 from = j < 100 ? j + period : j >= 100 + period ? j - period : j;
    wrong += t->host_out[slot][j] != value(chunk, from);
  }
  CHECK(wrong == 0, "%d elements of chunk %u", (int)wrong, chunk);
}

/* `key` 0 works directly. */
static void pass_chunk(lane_test *t, guint chunk, guint64 key) {
  fc_runner *r = t->runner;
  GError *error = NULL;
  guint s = t->slot = chunk % FC_SLOTS;
  t->chunk = chunk;
  for (gint64 j = 0; j < ELEMENTS; j++) t->host_in[s][j] = value(chunk, j);
  fc_view host_in = row(t->host_in[s], FC_I32, ELEMENTS, FC_HOST), in = row(t->in[s], FC_I32, ELEMENTS, 0);
  fc_view host_out = row(t->host_out[s], FC_I32, ELEMENTS, FC_HOST),
          out = row(t->out[s], FC_I32, ELEMENTS, 0);
  must(r->upload(r, s, &in, &host_in, &error), error);
  must(r->compute(r, s, 0, remember, t, &error), error);
  must(r->compute(r, s, key, work, t, &error), error);
  must(r->download(r, s, &host_out, &out, &error), error);
}

static void run_chunks(lane_test *t, guint64 (*key_of)(guint chunk)) {
  t->calls = 0;
  for (guint chunk = 0; chunk < CHUNKS + FC_SLOTS; chunk++) {
    if (chunk >= FC_SLOTS) check_output(t, chunk - FC_SLOTS);
    if (chunk < CHUNKS) pass_chunk(t, chunk, key_of(chunk));
  }
  GError *error = NULL;
  must(t->runner->finish(t->runner, &error), error);
  gint32 *history = must_alloc(t->runner->alloc_host(t->runner, CHUNKS * sizeof(gint32)));
  device_get(t->runner, history, t->history, CHUNKS * sizeof(gint32));
  for (guint i = 0; i < CHUNKS; i++) CHECK(history[i] == value(i, 0), "chunk %u in the history", i);
  CHECK(!t->notes[FC_NOTE_NAN] && !t->notes[FC_NOTE_CLIPPED], "exact work left a note");
  t->runner->release_host(t->runner, history);
}

static guint64 no_key(guint chunk) {
  return 0;
}
static guint64 one_key(guint chunk) {
  return 17;
}
static guint64 two_keys(guint chunk) {
  return chunk / FC_SLOTS % 5 == 4 ? 3 : 99;
}
static guint64 many_keys(guint chunk) {
  return 1 + chunk / 2;
}

/* Waits for slots at random until told to stop, as reader and writer threads do. */
static gint stop;
static gpointer wait_about(gpointer data) {
  fc_runner *r = data;
  for (guint i = 0; !g_atomic_int_get(&stop); i++) {
    GError *error = NULL;
    must(r->wait(r, i % FC_SLOTS, &error), error);
    /* Other code of the process allocates while this one captures. */
    fc_cuda_driver()->release(r->device, fc_cuda_driver()->alloc(r->device, 4096));
  }
  return NULL;
}

static void start(lane_test *t) {
  memset(t, 0, sizeof *t);
  fc_runner *r = t->runner = gpu_start();
  for (guint s = 0; s < FC_SLOTS; s++) {
    t->host_in[s] = must_alloc(r->alloc_host(r, ELEMENTS * sizeof(gint32)));
    t->host_out[s] = must_alloc(r->alloc_host(r, ELEMENTS * sizeof(gint32)));
    t->in[s] = must_alloc(r->alloc(r, ELEMENTS * sizeof(gint32)));
    t->out[s] = must_alloc(r->alloc(r, ELEMENTS * sizeof(gint32)));
  }
  t->middle = must_alloc(r->alloc(r, ELEMENTS * sizeof(double)));
  t->history = must_alloc(r->alloc(r, CHUNKS * sizeof(gint32)));
  t->notes = must_alloc(r->alloc_host(r, FC_NOTES * sizeof(guint32)));
}

int main(void) {
  lane_test t;
  start(&t);
  run_chunks(&t, no_key);
  CHECK(t.calls == CHUNKS, "%u calls", t.calls);
  GThread *waiter = g_thread_new("waiter", wait_about, t.runner);
  run_chunks(&t, one_key);
  g_atomic_int_set(&stop, 1);
  g_thread_join(waiter);
  CHECK(t.calls == 2 * FC_SLOTS, "%u calls: once plainly and once captured for each slot", t.calls);
  run_chunks(&t, two_keys);
  CHECK(t.calls <= 4 * FC_SLOTS, "%u calls for two keys", t.calls);
  run_chunks(&t, many_keys);
  t.runner->free(t.runner);
  start(&t);
  t.spoil = TRUE; /* every capture fails, and every chunk is right */
  run_chunks(&t, one_key);
  CHECK(t.calls == CHUNKS + FC_SLOTS, "%u calls where captures fail", t.calls);
  t.runner->free(t.runner);
  return check_result();
}
