/* SPDX-License-Identifier: MIT */
/*
 * batch.c - many files, several at a time: each worker has an instance of the chain and runs whole files;
 * what they made is told of, and put in place, in order.
 */
#include "core/base/error.h"
#include "core/base/patience.h"
#include "core/base/pool.h"
#include "core/run/ends.h"

#include <string.h>

typedef struct outcome {
  fc_result *result;
  GError *why;
  gboolean ready;
} outcome;

typedef struct batch {
  fc_chain **chains; /* a worker */
  char **devices;    /* a worker; NULL: as the options say */
  const fc_file *const *files;
  gsize n;
  fc_options options;
  fc_file_fn done;
  void *data;
  GThread *caller;

  pthread_mutex_t mutex;
  pthread_cond_t changed;
  gsize next, told; /* guarded by mutex, as is what follows */
  gboolean stop;
  gint64 failed;
  outcome *outcomes; /* a ring of as many as may be ahead */
  gsize ahead;
} batch;

/* Outcomes are told in order, by the caller's thread alone. Under the mutex. */
static void tell(batch *b) {
  while (b->told < b->n && b->outcomes[b->told % b->ahead].ready) {
    outcome o = b->outcomes[b->told % b->ahead];
    memset(&b->outcomes[b->told % b->ahead], 0, sizeof o);
    gsize index = b->told;
    b->failed += o.why != NULL;
    pthread_mutex_unlock(&b->mutex);
    gboolean go = !b->done || b->done(index, o.result, o.why, b->data);
    fc_result_free(o.result);
    g_clear_error(&o.why);
    pthread_mutex_lock(&b->mutex);
    b->told++;
    b->stop |= !go;
    pthread_cond_broadcast(&b->changed);
  }
}

/* The next file, as long as not too many wait to be told of. */
static gboolean take(batch *b, gsize *index) {
  const gboolean teller = g_thread_self() == b->caller;
  pthread_mutex_lock(&b->mutex);
  for (;;) {
    if (teller) tell(b);
    if (b->stop || b->next >= b->n || b->next < b->told + b->ahead) break;
    fc_cond_wait(&b->changed, &b->mutex);
  }
  gboolean go = !b->stop && b->next < b->n && !(b->options.cancel && g_atomic_int_get(b->options.cancel));
  if (go) *index = b->next++;
  pthread_mutex_unlock(&b->mutex);
  return go;
}

static void work(guint number, guint thread, void *data) {
  batch *b = data;
  fc_options options = b->options;
  gsize index;
  if (b->devices[number]) options.device = b->devices[number];
  while (take(b, &index)) {
    const fc_file *file = b->files[index];
    outcome o = {.ready = TRUE};
    fc_chain_run_file(b->chains[number], file->input, file->output, &options, &o.result, &o.why);
    pthread_mutex_lock(&b->mutex);
    b->outcomes[index % b->ahead] = o;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->mutex);
  }
}

/* Files of a batch are spread over several devices, one after another. */
static void spread(batch *b, guint workers, const char *device) {
  g_auto(GStrv) names = NULL;
  if (!device || !g_str_has_prefix(device, "cuda:")) return;
  if (strcmp(device, "cuda:all") == 0) {
    const fc_driver *driver = b->chains[0]->context->driver;
    const int n = driver ? driver->count(NULL) : 0;
    for (guint i = 0; n > 1 && i < workers; i++) b->devices[i] = g_strdup_printf("cuda:%u", i % (guint)n);
    return;
  }
  names = g_strsplit(device + 5, ",", 0);
  const guint n = g_strv_length(names);
  for (guint i = 0; n > 1 && i < workers; i++) b->devices[i] = g_strdup_printf("cuda:%s", names[i % n]);
}

/* Workers beside each other, each of which runs its file on as many threads as are left for it. */
#define AHEAD_EACH 4

gint64 fc_chain_run_files(fc_chain *chain, const fc_file *const *files, gsize n, const fc_options *options,
                          fc_file_fn done, void *data, GError **error) {
  fc_context *context = chain->context;
  batch b = {.files = files, .n = n, .options = fc_full_options(options), .done = done, .data = data};
  const int threads = fc_pool_size(b.options.threads);
  const guint workers = (guint)CLAMP((gint64)n, 1, threads);
  gboolean ok = TRUE;
  b.options.threads = MAX(threads / (int)workers, 1);
  b.options.progress = NULL;
  b.caller = g_thread_self();
  b.ahead = workers * AHEAD_EACH;
  b.outcomes = g_new0(outcome, b.ahead);
  b.chains = g_new0(fc_chain *, workers);
  b.devices = g_new0(char *, workers + 1);
  b.chains[0] = chain;
  for (guint i = 1; i < workers && ok; i++) ok = (b.chains[i] = fc_chain_clone(chain, error)) != NULL;
  if (ok) {
    spread(&b, workers, b.options.device);
    pthread_mutex_init(&b.mutex, NULL);
    fc_cond_init(&b.changed);
    fc_pool *crew = fc_context_take_crew(context, (int)workers);
    fc_pool_run(crew, workers, work, &b);
    fc_context_give_crew(context, crew);
    pthread_mutex_lock(&b.mutex);
    tell(&b);
    pthread_mutex_unlock(&b.mutex);
    pthread_mutex_destroy(&b.mutex);
    pthread_cond_destroy(&b.changed);
  }
  for (guint i = 1; i < workers; i++) fc_chain_free(b.chains[i]);
  for (guint i = 0; i < workers; i++) g_free(b.devices[i]);
  for (gsize i = 0; i < b.ahead; i++) {
    fc_result_free(b.outcomes[i].result);
    g_clear_error(&b.outcomes[i].why);
  }
  g_free(b.outcomes);
  g_free(b.chains);
  g_free(b.devices);
  return ok ? b.failed : -1;
}
