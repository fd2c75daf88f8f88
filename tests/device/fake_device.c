/* SPDX-License-Identifier: MIT */
/* fake_device.c - see fake_device.h. */
#include "tests/device/fake_device.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

#define BAND    256
#define PATTERN 0xa5

/* ---- what fails -------------------------------------------------------- */

typedef struct piece {
  char *base; /* BAND + bytes + BAND */
  gsize bytes;
  gboolean host;
  const fc_runner *owner; /* NULL: an operator's */
} piece;

static struct {
  pthread_mutex_t mutex;
  fake_faults faults;
  guint calls[FAKE_CALLS];
  guint looks;
  gboolean failed;
  GHashTable *pieces; /* address -> piece */
  gsize used, peak;   /* device memory */
  gsize host_used, host_peak;
  guint runners;
  int lanes; /* forked and not joined */
} device = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void fake_device_set(const fake_faults *faults) {
  static const fake_faults well;
  pthread_mutex_lock(&device.mutex);
  device.faults = faults ? *faults : well;
  memset(device.calls, 0, sizeof device.calls);
  device.failed = FALSE;
  device.looks = 0;
  device.peak = device.used, device.host_peak = device.host_used;
  pthread_mutex_unlock(&device.mutex);
}

const char *fake_call_name(fake_call call) {
  static const char *const names[FAKE_CALLS] = {"new",     "alloc",   "alloc_host", "upload", "download",
                                                "compute", "wait",    "finish",     "copy",   "fill_border",
                                                "malloc",  "copy_to", "process",    "fork",   "launch"};
  return names[call];
}

guint fake_device_calls(fake_call call) {
  return device.calls[call];
}

gboolean fake_device_failed(void) {
  return device.failed;
}

guint fake_device_looks(void) {
  return device.looks;
}

gsize fake_device_peak(void) {
  return device.peak;
}

gsize fake_device_host_peak(void) {
  return device.host_peak;
}

gboolean fake_device_fails(fake_call call) {
  pthread_mutex_lock(&device.mutex);
  const fake_faults *f = &device.faults;
  device.calls[call]++;
  gboolean fails = (f->at && f->call == call && device.calls[call] == f->at) || (device.failed && f->lost);
  device.failed |= fails;
  pthread_mutex_unlock(&device.mutex);
  return fails;
}

/* As cuda.cu says it. */
static gboolean passes(fake_call call, const char *doing, GError **error) {
  if (!fake_device_fails(call)) return TRUE;
  return fc_fail(error, FC_DEVICE, FAKE_NAME ": %s failed: unspecified launch failure", doing);
}

/* ---- the ledger -------------------------------------------------------- */

static void check_bands(const piece *p) {
  for (gsize i = 0; i < BAND; i++)
    if ((guchar)p->base[i] != PATTERN || (guchar)p->base[BAND + p->bytes + i] != PATTERN)
      g_error("fake device: a write beyond %s memory of %" G_GSIZE_FORMAT " bytes",
              p->host ? "host" : "device", p->bytes);
}

/* With the lock held. */
static void forget(void *memory, piece *p) {
  check_bands(p);
  *(p->host ? &device.host_used : &device.used) -= p->bytes;
  g_hash_table_remove(device.pieces, memory);
  free(p->base);
  g_free(p);
}

static void *take(gsize bytes, gboolean host, const fc_runner *owner) {
  void *memory = NULL;
  pthread_mutex_lock(&device.mutex);
  gsize limit = device.faults.limit;
  gboolean fits = host || limit == 0 || device.used + bytes <= limit;
  if (fits) {
    piece *p = g_new0(piece, 1);
    *p = (piece){aligned_alloc(BAND, (bytes + 2 * BAND + BAND - 1) / BAND * BAND), bytes, host, owner};
    memset(p->base, PATTERN, bytes + 2 * BAND);
    memory = p->base + BAND;
    if (!device.pieces) device.pieces = g_hash_table_new(NULL, NULL);
    g_hash_table_insert(device.pieces, memory, p);
    *(host ? &device.host_used : &device.used) += bytes;
    device.peak = MAX(device.peak, device.used);
    device.host_peak = MAX(device.host_peak, device.host_used);
  } else {
    device.failed = TRUE;
  }
  pthread_mutex_unlock(&device.mutex);
  return memory;
}

static void give(void *memory, gboolean host, const fc_runner *owner) {
  if (!memory) return;
  pthread_mutex_lock(&device.mutex);
  piece *p = device.pieces ? g_hash_table_lookup(device.pieces, memory) : NULL;
  if (!p || p->host != host || p->owner != owner) g_error("fake device: gives back what it has not");
  forget(memory, p);
  pthread_mutex_unlock(&device.mutex);
}

/* What a runner still has goes with it. */
static void give_all(const fc_runner *owner) {
  pthread_mutex_lock(&device.mutex);
  g_autoptr(GList) all = device.pieces ? g_hash_table_get_keys(device.pieces) : NULL;
  for (GList *at = all; at; at = at->next) {
    piece *p = g_hash_table_lookup(device.pieces, at->data);
    if (p->owner == owner) forget(at->data, p);
  }
  pthread_mutex_unlock(&device.mutex);
}

guint fake_device_live(void) {
  return (device.pieces ? g_hash_table_size(device.pieces) : 0) + device.runners;
}

/* Whether one piece holds all of [low, high). */
static gboolean holds(const char *low, const char *high, gboolean host) {
  gboolean found = FALSE;
  GHashTableIter each;
  gpointer value;
  pthread_mutex_lock(&device.mutex);
  if (device.pieces) g_hash_table_iter_init(&each, device.pieces);
  while (device.pieces && !found && g_hash_table_iter_next(&each, NULL, &value)) {
    const piece *p = value;
    found = p->host == host && low >= p->base + BAND && high <= p->base + BAND + p->bytes;
  }
  pthread_mutex_unlock(&device.mutex);
  return found;
}

static void must_hold(const fc_view *v, gboolean host) {
  if (fc_view_count(v) == 0) return;
  const char *low = v->data, *high = v->data;
  for (int a = 0; a < FC_AXES; a++) {
    gint64 far = (v->shape[a] - 1) * v->stride[a];
    low += MIN(far, 0), high += MAX(far, 0);
  }
  if ((v->device == FC_HOST) != host || !holds(low, high + fc_dtype_size(v->dtype), host))
    g_error("fake device: a view that is not in %s memory", host ? "pinned host" : "device");
}

void fake_device_must_hold(const fc_view *view) {
  must_hold(view, FALSE);
}

/* ---- lanes ------------------------------------------------------------- */

typedef struct transfer {
  gboolean pending;
  fc_view to, from;
} transfer;

typedef struct fake_runner {
  fc_runner base;
  gboolean borrowed;
  pthread_mutex_t mutex; /* of the transfers: they are waited for from other threads */
  transfer up[FC_SLOTS], down[FC_SLOTS];
} fake_runner;

static void complete(fake_runner *me, transfer *t) {
  pthread_mutex_lock(&me->mutex);
  if (t->pending) fc_view_copy(&t->to, &t->from);
  t->pending = FALSE;
  pthread_mutex_unlock(&me->mutex);
}

static void enqueue_transfer(fake_runner *me, transfer *t, const fc_view *to, const fc_view *from) {
  complete(me, t); /* the lane works in order */
  pthread_mutex_lock(&me->mutex);
  *t = (transfer){TRUE, *to, *from};
  pthread_mutex_unlock(&me->mutex);
}

static gboolean fake_upload(fc_runner *runner, guint slot, const fc_view *to, const fc_view *from,
                            GError **error) {
  fake_runner *me = (fake_runner *)runner;
  if (!passes(FAKE_UPLOAD, "upload", error)) return FALSE;
  must_hold(to, FALSE), must_hold(from, TRUE);
  enqueue_transfer(me, &me->up[slot], to, from);
  return TRUE;
}

static gboolean fake_download(fc_runner *runner, guint slot, const fc_view *to, const fc_view *from,
                              GError **error) {
  fake_runner *me = (fake_runner *)runner;
  if (!passes(FAKE_DOWNLOAD, "download", error)) return FALSE;
  must_hold(to, TRUE), must_hold(from, FALSE);
  enqueue_transfer(me, &me->down[slot], to, from);
  return TRUE;
}

static gboolean fake_compute(fc_runner *runner, guint slot, guint64 key, fc_enqueue_fn enqueue, void *data,
                             GError **error) {
  fake_runner *me = (fake_runner *)runner;
  if (!passes(FAKE_COMPUTE, "computing", error)) return FALSE;
  complete(me, &me->up[slot]);
  complete(me, &me->down[slot]);
  return enqueue(data, error);
}

static gboolean fake_wait(fc_runner *runner, guint slot, GError **error) {
  fake_runner *me = (fake_runner *)runner;
  if (!passes(FAKE_WAIT, "download", error)) return FALSE;
  complete(me, &me->down[slot]);
  return TRUE;
}

static gboolean fake_finish(fc_runner *runner, GError **error) {
  return passes(FAKE_FINISH, "computing", error);
}

/* ---- within enqueue ---------------------------------------------------- */

static void must_hold_one(const fc_view *v) {
  must_hold(v, v->device == FC_HOST);
}

static gboolean fake_copy(fc_runner *runner, const fc_view *to, const fc_view *from, guint32 *notes,
                          GError **error) {
  if (!passes(FAKE_COPY, "copying", error)) return FALSE;
  must_hold_one(to), must_hold_one(from);
  g_assert_cmpmem(to->shape, sizeof to->shape, from->shape, sizeof from->shape);
  fc_view_convert(to, from, notes);
  return TRUE;
}

static gboolean fake_fill_border(fc_runner *runner, const fc_view *view, const fc_range wanted[FC_AXES],
                                 int border, const void *code, GError **error) {
  if (!passes(FAKE_BORDER, "filling the border", error)) return FALSE;
  must_hold(view, FALSE);
  fc_view_fill_border(view, wanted, border, code);
  return TRUE;
}

static gboolean fake_sum(fc_runner *runner, const fc_linear_sum *sum, GError **error) {
  if (!passes(FAKE_LAUNCH, "summing", error)) return FALSE;
  fc_linear_sum_on_cpu(sum);
  return TRUE;
}

static guint fake_resident(const void *kernel) {
  return 3;
}

static gboolean fake_launch(fc_runner *runner, void *kernel, const fc_composed *composed, GError **error) {
  if (!passes(FAKE_LAUNCH, "launching", error)) return FALSE;
  g_assert_true(holds(kernel, (char *)kernel + 1, FALSE));
  device.faults.launch(composed);
  return TRUE;
}

/* ---- memory of a runner ------------------------------------------------ */

static void *fake_alloc(fc_runner *runner, gsize bytes) {
  return fake_device_fails(FAKE_ALLOC) ? NULL : take(bytes, FALSE, runner);
}

static void fake_release(fc_runner *runner, void *memory) {
  give(memory, FALSE, runner);
}

static void *fake_alloc_host(fc_runner *runner, gsize bytes) {
  if (fake_device_fails(FAKE_ALLOC_HOST)) return NULL;
  void *memory = take(bytes, TRUE, runner);
  return memset(memory, 0, bytes);
}

static void fake_release_host(fc_runner *runner, void *memory) {
  give(memory, TRUE, runner);
}

static void fake_free(fc_runner *runner) {
  fake_runner *me = (fake_runner *)runner;
  for (guint i = 0; i < FC_SLOTS; i++) complete(me, &me->up[i]), complete(me, &me->down[i]);
  give_all(runner);
  pthread_mutex_lock(&device.mutex);
  device.runners--;
  pthread_mutex_unlock(&device.mutex);
  pthread_mutex_destroy(&me->mutex);
  g_free(runner->description);
  g_free(me);
}

/* ---- runner.h ---------------------------------------------------------- */

static gboolean fake_rejoin(fc_runner *runner, GError **error) {
  return TRUE;
}

static gboolean fake_fork(fc_runner *runner, guint lanes, GError **error) {
  g_assert_true(((fake_runner *)runner)->borrowed);
  if (!passes(FAKE_FORK, "forking", error)) return FALSE;
  g_assert_cmpint(device.lanes, ==, 0);
  device.lanes = (int)lanes;
  return TRUE;
}

static void fake_aside(fc_runner *runner, guint lane) {
  g_assert_cmpint(lane, <=, device.lanes);
}

/* A fork stays joined even where that fails: there is nothing else to be done with it. */
static gboolean fake_join(fc_runner *runner, GError **error) {
  g_assert_cmpint(device.lanes, >, 0);
  device.lanes = 0;
  return passes(FAKE_FORK, "joining", error);
}

static fc_runner *fake_open(gint32 which, void *stream, GError **error) {
  g_assert_cmpint(fc_device_kind_of(which), ==, FC_KIND_CUDA);
  g_assert_cmpint(fc_device_ordinal(which), <, FAKE_DEVICES);
  if (!passes(FAKE_NEW, "creating streams", error)) return NULL;
  fake_runner *me = g_new0(fake_runner, 1);
  pthread_mutex_init(&me->mutex, NULL);
  me->borrowed = stream != NULL;
  me->base = (fc_runner){.device = which,
                         .stream = stream ? stream : me,
                         .threads = 1,
                         .description = g_strdup_printf("cuda:%d (Fake)", fc_device_ordinal(which)),
                         .free = fake_free,
                         .alloc = fake_alloc,
                         .release = fake_release,
                         .alloc_host = fake_alloc_host,
                         .release_host = fake_release_host,
                         .upload = fake_upload,
                         .download = fake_download,
                         .compute = fake_compute,
                         .wait = fake_wait,
                         .finish = fake_finish,
                         .copy = fake_copy,
                         .fill_border = fake_fill_border,
                         .sum = fake_sum,
                         .launch = fake_launch};
  if (stream) {
    me->base.rejoin = fake_rejoin;
    me->base.fork = fake_fork, me->base.aside = fake_aside, me->base.join = fake_join;
  }
  pthread_mutex_lock(&device.mutex);
  device.runners++;
  pthread_mutex_unlock(&device.mutex);
  return &me->base;
}

static void look(void) {
  pthread_mutex_lock(&device.mutex);
  device.looks++;
  pthread_mutex_unlock(&device.mutex);
}

static fc_starting *fake_start(gint32 which) {
  look();
  return NULL;
}

static void fake_start_wait(fc_starting *starting) {}

static gboolean fake_captures(gint32 which, void *stream) {
  return device.faults.captures;
}

static int fake_count(char **reason) {
  look();
  const char *why = device.faults.no_driver ? "there is no NVIDIA driver" : device.faults.no_device;
  if (reason) *reason = g_strdup(why);
  return why ? 0 : (int)MAX(device.faults.devices, 1);
}

static gboolean fake_present(void) {
  look();
  return !device.faults.no_driver;
}

static int fake_enter(gint32 which) {
  look();
  return 0;
}

static void fake_leave(int before) {}

static void *fake_malloc(gint32 which, gsize bytes) {
  return fake_device_fails(FAKE_MALLOC) ? NULL : take(bytes, FALSE, NULL);
}

static void fake_release_plain(gint32 which, void *memory) {
  give(memory, FALSE, NULL);
}

static gboolean fake_upload_plain(gint32 which, void *to, const void *from, gsize bytes, GError **error) {
  if (!passes(FAKE_COPY_TO, "upload", error)) return FALSE;
  if (!holds(to, (char *)to + bytes, FALSE)) g_error("fake device: an upload beyond an operator's memory");
  memcpy(to, from, bytes);
  return TRUE;
}

static gboolean fake_chip(gint32 which, int *major, int *minor, guint *processors, GError **error) {
  *major = 9, *minor = 0, *processors = 4;
  return device.faults.launch ? TRUE : fc_fail(error, FC_DEVICE, "no composed kernels here");
}

static void *fake_load(gint32 which, GBytes *code, GError **error) {
  return take(g_bytes_get_size(code), FALSE, NULL);
}

const fc_driver fake_driver = {.kind = FC_KIND_CUDA,
                               .present = fake_present,
                               .count = fake_count,
                               .open = fake_open,
                               .captures = fake_captures,
                               .start = fake_start,
                               .start_wait = fake_start_wait,
                               .enter = fake_enter,
                               .leave = fake_leave,
                               .alloc = fake_malloc,
                               .release = fake_release_plain,
                               .upload = fake_upload_plain,
                               .chip = fake_chip,
                               .load = fake_load,
                               .resident = fake_resident,
                               .unload = fake_release_plain};
