/* SPDX-License-Identifier: MIT */
/*
 * batch.c - many files, several at a time. Each worker has its own instance of the chain and runs whole
 * files. Results are reported, and outputs put in place, in input order. One worker at a time fetches the
 * next file; it does so without holding the mutex, because the file may come through a pipe. A file for which
 * the others left no memory is run once more, while none of them runs.
 */
#include "core/api/batch.h"

#include "core/base/error.h"
#include "core/base/patience.h"
#include "core/base/pool.h"
#include "core/api/ends.h"

#include <string.h>
#include <sys/stat.h>

/* Finished files per worker that may wait to be reported. */
#define AHEAD_EACH 4

typedef struct slot {
  fc_task *task;
  gboolean ready;
} slot;

typedef struct batch {
  fc_chain **chains; /* one for each worker */
  char **devices;    /* one for each worker; NULL: as the options say */
  const fc_tasks *tasks;
  fc_options options;
  GThread *caller;
  gsize memory_most;

  pthread_mutex_t mutex;
  pthread_cond_t changed;
  gsize next, told; /* these and the fields below are guarded by mutex */
  gboolean stop, ended, fetching;
  gint64 failed;
  guint workers, running, lonely; /* lonely: they run, or wait to run, while no other does */
  slot *slots;                    /* ring buffer of all files begun and not yet reported */
  gsize ahead, memory;
} batch;

void fc_task_free(fc_task *task) {
  if (!task) return;
  g_free(task->input);
  g_free(task->output);
  g_free(task->format);
  g_free(task->random_name);
  g_clear_pointer(&task->content, g_bytes_unref);
  g_clear_pointer(&task->made, g_bytes_unref);
  fc_result_free(task->result);
  g_clear_error(&task->why);
  g_free(task);
}

static gsize memory_of(const fc_task *task) {
  return (task->content ? g_bytes_get_size(task->content) : 0) +
         (task->made ? g_bytes_get_size(task->made) : 0);
}

/* Reports finished files in order. Called by the caller's thread only, with the mutex held. */
static void tell(batch *b) {
  while (b->told < b->next && b->slots[b->told % b->ahead].ready) {
    slot *at = &b->slots[b->told % b->ahead];
    fc_task *task = at->task;
    *at = (slot){0};
    pthread_mutex_unlock(&b->mutex);
    const gsize memory = memory_of(task);
    const gboolean go = b->tasks->done(task, b->tasks->data), failed = task->why != NULL;
    fc_task_free(task);
    pthread_mutex_lock(&b->mutex);
    b->memory -= memory;
    b->failed += failed;
    b->told++;
    b->stop |= !go;
    pthread_cond_broadcast(&b->changed);
  }
}

/* Whether another file may be fetched: not while too many results, or too many bytes, wait to be reported.
 * With the mutex held. */
static gboolean has_room(const batch *b) {
  return !b->fetching && b->next < b->told + b->ahead && (b->next == b->told || b->memory < b->memory_most);
}

/* The next file, or NULL at the end. */
static fc_task *take(batch *b, gsize *index) {
  const gboolean teller = g_thread_self() == b->caller;
  fc_task *task = NULL;
  pthread_mutex_lock(&b->mutex);
  for (;;) {
    if (teller) tell(b);
    if (b->stop || b->ended || has_room(b)) break;
    fc_cond_wait(&b->changed, &b->mutex);
  }
  if (!b->stop && !b->ended && !(b->options.cancel && g_atomic_int_get(b->options.cancel))) {
    b->fetching = TRUE;
    pthread_mutex_unlock(&b->mutex);
    task = b->tasks->next(b->tasks->data);
    pthread_mutex_lock(&b->mutex);
    b->fetching = FALSE;
    b->ended = task == NULL;
    if (task) *index = b->next++, b->memory += memory_of(task);
    pthread_cond_broadcast(&b->changed);
  }
  pthread_mutex_unlock(&b->mutex);
  return task;
}

static void run(batch *b, guint number, fc_task *task) {
  fc_options options = b->options;
  if (b->devices[number]) options.device = b->devices[number];
  if (task->format) options.out_format = task->format;
  if (task->random_name) options.random_name = task->random_name;
  options.in_bytes = task->content;
  options.out_bytes = task->keep ? &task->made : NULL;
  if (!task->pass && !task->why)
    fc_chain_run_file(b->chains[number], task->input, task->output, &options, &task->result, &task->why);
}

/* Whether its file can be opened again: it is a file, or in memory. Options may follow its name. */
static gboolean is_lasting(const fc_task *task) {
  g_autofree char *path = g_strdup(task->input);
  struct stat info;
  if (task->content) return TRUE;
  while (stat(path, &info) != 0) {
    char *options = strrchr(path, ':');
    if (!options) return FALSE;
    *options = '\0';
  }
  return S_ISREG(info.st_mode);
}

/* Waits until no other runs, whose memory is then given back. */
static void be_alone(batch *b, guint number) {
  pthread_mutex_lock(&b->mutex);
  b->lonely++, b->running--;
  while (b->running) fc_cond_wait(&b->changed, &b->mutex);
  b->running++;
  pthread_mutex_unlock(&b->mutex);
  for (guint i = 0; i < b->workers; i++)
    if (i != number) g_ptr_array_set_size(b->chains[i]->ready, 0);
}

/* Others that wait to be alone come first. */
static void begin_run(batch *b) {
  pthread_mutex_lock(&b->mutex);
  while (b->lonely) fc_cond_wait(&b->changed, &b->mutex);
  b->running++;
  pthread_mutex_unlock(&b->mutex);
}

static void end_run(batch *b, gboolean alone) {
  pthread_mutex_lock(&b->mutex);
  b->running--, b->lonely -= alone;
  pthread_cond_broadcast(&b->changed);
  pthread_mutex_unlock(&b->mutex);
}

static void run_or_wait(batch *b, guint number, fc_task *task) {
  begin_run(b);
  run(b, number, task);
  const gboolean alone =
      b->workers > 1 && g_error_matches(task->why, FC_ERROR, FC_NO_MEMORY) && is_lasting(task);
  if (alone) {
    g_clear_error(&task->why);
    fc_result_free(g_steal_pointer(&task->result));
    be_alone(b, number);
    run(b, number, task);
  }
  end_run(b, alone);
}

static void work(guint number, guint thread, void *data) {
  batch *b = data;
  gsize index;
  for (fc_task *task; (task = take(b, &index));) {
    const gsize before = memory_of(task);
    run_or_wait(b, number, task);
    if (!task->pass) g_clear_pointer(&task->content, g_bytes_unref);
    pthread_mutex_lock(&b->mutex);
    b->memory += memory_of(task) - before;
    b->slots[index % b->ahead] = (slot){task, TRUE};
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->mutex);
  }
}

/* Spreads the workers of a batch over several devices, in turn. */
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

static void run_all(batch *b, fc_context *context, guint workers) {
  pthread_mutex_init(&b->mutex, NULL);
  fc_cond_init(&b->changed);
  fc_pool *crew = fc_context_take_crew(context, (int)workers);
  fc_pool_run(crew, workers, work, b);
  fc_context_give_crew(context, crew);
  pthread_mutex_lock(&b->mutex);
  tell(b);
  pthread_mutex_unlock(&b->mutex);
  pthread_mutex_destroy(&b->mutex);
  pthread_cond_destroy(&b->changed);
}

/* Runs the workers, each with an equal share of the threads. */
gint64 fc_chain_run_tasks(fc_chain *chain, const fc_tasks *tasks, const fc_options *options, GError **error) {
  fc_context *context = chain->context;
  batch b = {.tasks = tasks, .options = fc_full_options(options), .memory_most = context->max_memory / 4};
  const int threads = fc_pool_size(b.options.threads);
  const guint workers = (guint)CLAMP(tasks->most ? tasks->most : G_MAXINT, 1, threads);
  gboolean ok = TRUE;
  b.options.threads = MAX(threads / (int)workers, 1);
  b.options.progress = NULL;
  b.caller = g_thread_self(), b.workers = workers;
  b.ahead = workers * AHEAD_EACH;
  b.slots = g_new0(slot, b.ahead);
  b.chains = g_new0(fc_chain *, workers);
  b.devices = g_new0(char *, workers + 1);
  for (guint i = 0; i < workers && ok; i++) ok = (b.chains[i] = fc_chain_worker(chain, i, error)) != NULL;
  if (ok) {
    spread(&b, workers, b.options.device);
    run_all(&b, context, workers);
  }
  /* Workers keep their prepared state, but return their memory to the context for other runs. */
  for (guint i = 1; i < workers && b.chains[i]; i++) g_ptr_array_set_size(b.chains[i]->ready, 0);
  for (guint i = 0; i < workers; i++) g_free(b.devices[i]);
  g_free(b.slots);
  g_free(b.chains);
  g_free(b.devices);
  return ok ? b.failed : -1;
}

/* ---- a list of files -------------------------------------------------------- */

typedef struct listed {
  const fc_file *const *files;
  gsize n, next;
  fc_file_fn done;
  void *data;
} listed;

static fc_task *next_listed(void *data) {
  listed *l = data;
  if (l->next == l->n) return NULL;
  fc_task *task = g_new0(fc_task, 1);
  task->index = (gint64)l->next;
  task->input = g_strdup(l->files[l->next]->input);
  task->output = g_strdup(l->files[l->next++]->output);
  return task;
}

static gboolean done_listed(fc_task *task, void *data) {
  const listed *l = data;
  return !l->done || l->done((gsize)task->index, task->result, task->why, l->data);
}

gint64 fc_chain_run_files(fc_chain *chain, const fc_file *const *files, gsize n, const fc_options *options,
                          fc_file_fn done, void *data, GError **error) {
  listed l = {.files = files, .n = n, .done = done, .data = data};
  const fc_tasks tasks = {next_listed, done_listed, &l, (gint64)MAX(n, 1)};
  return fc_chain_run_tasks(chain, &tasks, options, error);
}
