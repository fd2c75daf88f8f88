/* SPDX-License-Identifier: MIT */
/* kernels.c - see kernels.h. */
#include "core/device/kernels.h"

#include "core/base/error.h"
#include "core/base/patience.h"
#include "core/base/private_files.h"
#include "core/device/kernel_cache.h"

/* Concurrent compilations: each takes a core for half a second and 100 MB. */
#define COMPILERS 4
/* A kernel is compiled after this many KB went through memory because it was missing: half a second of a
 * core, in the background, is then worth a millisecond of the device. */
#define WORTH (1 << 20)

/* LOOKING becomes READY or ABSENT, COMPILING becomes READY or REFUSED. */
typedef enum stage { UNASKED, LOOKING, ABSENT, COMPILING, READY, REFUSED } stage;

typedef struct store {
  fc_context *context;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  GHashTable *made; /* fc_made, a set keyed by device and text */
  GThreadPool *threads;
  char *helper, *compiler, *folder, *prebuilt; /* valid once `sought` is set */
  gboolean sought, told;
  gint loaded, stop; /* atomic */
} store;

struct fc_made {
  store *store;
  gint32 device;
  char *name, *text;
  stage stage;  /* guarded by the store's mutex */
  void *kernel; /* atomic; from the driver */
  gint missed;  /* atomic: KB */
};

static guint hash_of(gconstpointer key) {
  const fc_made *m = key;
  return g_str_hash(m->text) * 31 + (guint)m->device;
}

static gboolean is_same(gconstpointer a, gconstpointer b) {
  const fc_made *x = a, *y = b;
  return x->device == y->device && g_str_equal(x->text, y->text);
}

static void free_made(gpointer data) {
  fc_made *m = data;
  if (m->kernel) m->store->context->driver->unload(m->device, m->kernel);
  g_free(m->name);
  g_free(m->text);
  g_free(m);
}

static void free_store(gpointer data) {
  store *s = data;
  g_atomic_int_set(&s->stop, TRUE);
  g_thread_pool_free(s->threads, TRUE, TRUE);
  g_hash_table_destroy(s->made);
  pthread_cond_destroy(&s->changed);
  pthread_mutex_destroy(&s->mutex);
  g_free(s->helper);
  g_free(s->compiler);
  g_free(s->folder);
  g_free(s->prebuilt);
  g_free(s);
}

/* ---- making one ----------------------------------------------------------------- */

/* Once what keeps all kernels from being compiled; of each kernel what is wrong with its text. */
static void tell(const fc_made *m, const GError *why) {
  store *s = m->store;
  const gboolean of_text = g_error_matches(why, FC_ERROR, FC_INVALID);
  pthread_mutex_lock(&s->mutex);
  const gboolean told = (s->told && !of_text) || g_atomic_int_get(&s->stop);
  s->told |= !of_text;
  pthread_mutex_unlock(&s->mutex);
  if (!told)
    fc_context_log(s->context, FC_LOG_INFO, "%s%sstages run one by one: %s", of_text ? m->name : "",
                   of_text ? ": " : "", why->message);
}

static void tell_origin(const fc_made *m, fc_kernel_origin origin) {
  static const char *const origins[] = {[FC_KERNEL_COMPILED] = "compiled",
                                        [FC_KERNEL_CACHED] = "compiled earlier",
                                        [FC_KERNEL_PREBUILT] = "built ahead"};
  if (!g_atomic_int_get(&m->store->stop))
    fc_context_log(m->store->context, FC_LOG_INFO, "%s: in a kernel that was %s", m->name, origins[origin]);
}

static void seek(store *s) {
  pthread_mutex_lock(&s->mutex);
  if (!s->sought) {
    if (!s->helper)
      s->helper = fc_registry_program(s->context->registry, "core", "filterchain-jit"),
      s->compiler = fc_jit_find_compiler(),
      s->prebuilt = fc_registry_program(s->context->registry, "core/prebuilt", "kernels-");
    s->folder = fc_private_folder("kernels");
    s->sought = TRUE;
  }
  pthread_mutex_unlock(&s->mutex);
}

static void *load(const fc_made *m, GBytes *code, GError **error) {
  void *kernel = m->store->context->driver->load(m->device, code, error);
  g_bytes_unref(code);
  return kernel;
}

static void *make(const fc_made *m, gboolean compile, GError **error) {
  store *s = m->store;
  fc_kernel_maker by = {s->helper, s->compiler, s->folder, s->prebuilt, &s->stop};
  fc_kernel_origin origin;
  int major, minor;
  guint processors;
  if (!s->context->driver->chip(m->device, &major, &minor, &processors, error)) return NULL;
  for (;;) {
    GBytes *code = fc_kernel_make(&by, major, minor, m->text, compile, &origin, error);
    void *kernel = code ? load(m, code, origin == FC_KERNEL_COMPILED ? error : NULL) : NULL;
    if (kernel) tell_origin(m, origin);
    if (kernel || !code || origin == FC_KERNEL_COMPILED) return kernel;
    if (!compile && origin != FC_KERNEL_PREBUILT) return NULL;
    /* refused by the driver, although its digest is right: the next one in this order */
    if (origin == FC_KERNEL_PREBUILT) by.prebuilt = NULL;
    if (origin == FC_KERNEL_CACHED && !fc_kernel_forget(&by, major, minor, m->text)) by.folder = NULL;
  }
}

static void work(gpointer data, gpointer user) {
  fc_made *m = data;
  store *s = user;
  g_autoptr(GError) error = NULL;
  seek(s);
  pthread_mutex_lock(&s->mutex);
  const gboolean compile = m->stage == COMPILING;
  pthread_mutex_unlock(&s->mutex);
  void *kernel = make(m, compile, &error);
  if (error) tell(m, error);
  g_atomic_pointer_set(&m->kernel, kernel);
  if (kernel) g_atomic_int_inc(&s->loaded);
  pthread_mutex_lock(&s->mutex);
  m->stage = kernel ? READY : compile || error ? REFUSED : ABSENT;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mutex);
}

/* ---- all of a context --------------------------------------------------------------- */

static store *store_of(fc_context *context) {
  pthread_mutex_lock(&context->idle_mutex);
  if (!context->kernels) {
    store *s = g_new0(store, 1);
    s->context = context;
    pthread_mutex_init(&s->mutex, NULL);
    fc_cond_init(&s->changed);
    s->made = g_hash_table_new_full(hash_of, is_same, NULL, free_made);
    s->threads = g_thread_pool_new(work, s, COMPILERS, FALSE, NULL);
    context->kernels = s, context->free_kernels = free_store;
  }
  pthread_mutex_unlock(&context->idle_mutex);
  return context->kernels;
}

gboolean fc_kernels_possible(const fc_context *context) {
  return context->driver && context->driver->load && context->driver->present();
}

gboolean fc_kernels_have(fc_context *context, const char *text) {
  /* Compute capabilities of chips so far. */
  static const guint8 chips[][2] = {{7, 5},  {8, 0},  {8, 6},  {8, 7},  {8, 9}, {9, 0},
                                    {10, 0}, {10, 3}, {11, 0}, {12, 0}, {12, 1}};
  store *s = store_of(context);
  fc_kernel_origin origin;
  seek(s);
  const fc_kernel_maker by = {s->helper, s->compiler, s->folder, s->prebuilt, NULL};
  for (guint i = 0; i < G_N_ELEMENTS(chips); i++) {
    g_autoptr(GBytes) code = fc_kernel_make(&by, chips[i][0], chips[i][1], text, FALSE, &origin, NULL);
    if (code) return TRUE;
  }
  return FALSE;
}

gboolean fc_kernels_can_compile(fc_context *context) {
  store *s = store_of(context);
  seek(s);
  return s->compiler != NULL;
}

fc_made *fc_kernels_find(fc_context *context, gint32 device, const char *name, const char *text) {
  store *s = store_of(context);
  const fc_made like = {.device = device, .text = (char *)text};
  pthread_mutex_lock(&s->mutex);
  fc_made *m = g_hash_table_lookup(s->made, &like);
  if (!m) {
    m = g_new0(fc_made, 1);
    *m = (fc_made){.store = s, .device = device, .name = g_strdup(name), .text = g_strdup(text)};
    g_hash_table_add(s->made, m);
  }
  pthread_mutex_unlock(&s->mutex);
  return m;
}

void *fc_made_kernel(const fc_made *made) {
  return g_atomic_pointer_get((void **)&made->kernel);
}

void fc_made_want(fc_made *made, gboolean compile, gboolean wait) {
  store *s = made->store;
  pthread_mutex_lock(&s->mutex);
  for (;;) {
    const gboolean look = made->stage == UNASKED || (made->stage == ABSENT && compile);
    if (look) made->stage = compile ? COMPILING : LOOKING;
    if (look && !g_thread_pool_push(s->threads, made, NULL) && !g_thread_pool_get_num_threads(s->threads))
      made->stage = REFUSED; /* it is queued, and there is no thread to take it */
    if (!wait || (made->stage != LOOKING && made->stage != COMPILING)) break;
    /* another thread that was asked to look only may leave it to be compiled */
    fc_cond_wait(&s->changed, &s->mutex);
  }
  pthread_mutex_unlock(&s->mutex);
}

gboolean fc_made_missed(fc_made *made, gint64 bytes) {
  if (g_atomic_int_get(&made->missed) < WORTH)
    g_atomic_int_add(&made->missed, (gint)CLAMP(bytes >> 10, 1, WORTH));
  return g_atomic_int_get(&made->missed) >= WORTH;
}

guint fc_kernels_loaded(fc_context *context) {
  pthread_mutex_lock(&context->idle_mutex);
  const store *s = context->kernels;
  pthread_mutex_unlock(&context->idle_mutex);
  return s ? (guint)g_atomic_int_get(&s->loaded) : 0;
}

void fc_kernels_set_compiler(fc_context *context, const char *helper, const char *compiler,
                             const char *prebuilt) {
  store *s = store_of(context);
  s->helper = g_strdup(helper), s->compiler = g_strdup(compiler), s->prebuilt = g_strdup(prebuilt);
}
