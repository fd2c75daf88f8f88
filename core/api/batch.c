/* SPDX-License-Identifier: MIT */
/*
 * batch.c - many files, several at a time. Each worker has its own instance of the chain and runs whole
 * files, on a device several together (gather.h). Results are reported, and outputs put in place, in input
 * order. One worker at a time fetches the next file; it does so without holding the mutex, because the file
 * may come through a pipe. A file for which the others left no memory is run once more, while none of them
 * runs.
 */
#include "core/api/batch.h"

#include "core/base/error.h"
#include "core/base/patience.h"
#include "core/base/pool.h"
#include "core/api/ends.h"
#include "core/api/gather.h"

#include <string.h>
#include <sys/stat.h>

/* Finished files per worker that may wait to be reported: behind a file that takes long, as a photograph of
 * 20 megapixels among small ones, the others run on while their results take no more than AHEAD_BYTES. */
#define AHEAD_EACH  4
#define AHEAD_MOST  256
#define AHEAD_BYTES ((gsize)64 << 20)
/* Files that a worker takes at a time where it is not known how many there are. */
#define TOGETHER_UNKNOWN 16
/* The fewest images for a device that it takes, where they are decoded on the CPU or on the device. */
#define LEAST_BY_CPU 4
#define LEAST_BY_GPU 16

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
  guint workers;
  guint together; /* how many files a worker takes at a time, at most */

  pthread_mutex_t mutex;
  pthread_mutex_t first; /* gather.h */
  pthread_cond_t changed;
  gsize next, told; /* these and the fields below are guarded by mutex */
  gboolean stop, ended, fetching;
  gint64 failed;
  guint running, lonely; /* lonely: they run, or wait to run, while no other does */
  slot *slots;           /* ring buffer of all files begun and not yet reported */
  gsize ahead, memory;
  gboolean devices_begun;
  fc_starting **starting; /* by the worker that has begun it; `n_starting` of them */
  guint n_starting;
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

/* What is measured too: a histogram has some ten thousand values. */
static gsize memory_of(const fc_task *task) {
  return (task->result ? task->result->n_measured * (sizeof(fc_measured) + sizeof(fc_measured *)) : 0) +
         (task->content ? g_bytes_get_size(task->content) : 0) +
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
  const gsize waiting = b->next - b->told, few = (gsize)b->workers * AHEAD_EACH * b->together;
  const gsize most = waiting < few ? b->memory_most : MIN(b->memory_most, AHEAD_BYTES);
  return !b->fetching && waiting < b->ahead && (waiting == 0 || b->memory < most);
}

/* How many of the files that are left one worker takes: towards the end fewer, so that all end at a time.
 * Powers of two, because each number of images has a run of its own; and not the smallest, since these keep a
 * worker busy for less time than another run takes to prepare. With the mutex held. */
static guint share(const batch *b) {
  const guint64 all = (guint64)b->tasks->most, left = all - MIN(b->next, all);
  guint least = b->options.decode == FC_DECODE_CPU ? LEAST_BY_CPU : LEAST_BY_GPU, n = 1;
  if (all) least = (guint)MIN(least, all / b->workers); /* each worker gets some */
  const guint most =
      MIN(b->together, MAX(least, all ? (guint)MIN(left / (2 * b->workers), G_MAXINT32) : TOGETHER_UNKNOWN));
  while (2 * n <= most) n *= 2;
  return n;
}

/* The next files, at least one; 0 at the end. `index`: the number of the first. */
static guint take(batch *b, fc_task **taken, gsize *index) {
  const gboolean teller = g_thread_self() == b->caller;
  guint n = 0;
  pthread_mutex_lock(&b->mutex);
  for (;;) {
    if (teller) tell(b);
    if (b->stop || b->ended || has_room(b)) break;
    fc_cond_wait(&b->changed, &b->mutex);
  }
  const guint most = share(b);
  *index = b->next;
  while (n < most && !b->stop && !b->ended && has_room(b) &&
         !(b->options.cancel && g_atomic_int_get(b->options.cancel))) {
    b->fetching = TRUE;
    pthread_mutex_unlock(&b->mutex);
    fc_task *task = b->tasks->next(b->tasks->data);
    pthread_mutex_lock(&b->mutex);
    b->fetching = FALSE;
    b->ended = task == NULL;
    if (task) taken[n++] = task, b->next++, b->memory += memory_of(task);
  }
  pthread_cond_broadcast(&b->changed);
  pthread_mutex_unlock(&b->mutex);
  return n;
}

/* Whether the user has chosen a device for the chain. */
static gboolean on_device(const fc_options *o) {
  return fc_first_device(o->device) != FC_HOST;
}

static const char *device_of(const batch *b, guint worker) {
  return b->devices[worker] ? b->devices[worker] : b->options.device;
}

static void run(batch *b, guint number, fc_gather *gather, fc_task *const *tasks, guint n) {
  fc_options options = b->options;
  options.device = device_of(b, number);
  if (gather) {
    fc_gather_run(gather, tasks, n, &options);
    return;
  }
  fc_task_set_options(tasks[0], &options);
  if (!tasks[0]->pass && !tasks[0]->why)
    fc_chain_run_file(b->chains[number], tasks[0]->input, tasks[0]->output, &options, &tasks[0]->result,
                      &tasks[0]->why);
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

static void run_or_wait(batch *b, guint number, fc_gather *gather, fc_task *const *tasks, guint n) {
  gboolean alone = FALSE;
  begin_run(b);
  run(b, number, gather, tasks, n);
  for (guint i = 0; i < n && b->workers > 1; i++) {
    fc_task *task = tasks[i];
    if (!g_error_matches(task->why, FC_ERROR, FC_NO_MEMORY) || !is_lasting(task)) continue;
    g_clear_error(&task->why);
    fc_result_free(g_steal_pointer(&task->result));
    if (!alone) be_alone(b, number);
    alone = TRUE;
    run(b, number, NULL, &task, 1);
  }
  end_run(b, alone);
}

/* The workers' devices, and what decodes there, are started while the first files are read. */
static void start_devices(batch *b, fc_context *context) {
  const fc_media *media = context->media;
  for (guint i = 0; i < b->workers && on_device(&b->options); i++) {
    const gint32 device = fc_first_device(device_of(b, i));
    guint those = 0, before = 0; /* workers of this device, and of them the ones before this one */
    for (guint k = 0; k < b->workers; k++) {
      const gboolean same = fc_first_device(device_of(b, k)) == device;
      those += same, before += same && k < i;
    }
    if (before) continue;
    if ((b->starting[b->n_starting] = fc_start_device(b->chains[0], device_of(b, i)))) b->n_starting++;
    if (b->options.decode != FC_DECODE_CPU && media->decode_start)
      media->decode_start(context, b->options.decode, device, those);
  }
}

/* With the first file that is run: a batch of which nothing is left to do starts none. */
static void need_devices(batch *b, fc_task *const *tasks, guint n) {
  gboolean runs = FALSE;
  for (guint i = 0; i < n; i++) runs |= !tasks[i]->pass && !tasks[i]->why;
  pthread_mutex_lock(&b->mutex);
  const gboolean first = runs && !b->devices_begun;
  b->devices_begun |= first;
  pthread_mutex_unlock(&b->mutex);
  if (first) start_devices(b, b->chains[0]->context);
}

static void work(guint number, guint thread, void *data) {
  batch *b = data;
  fc_gather *gather = b->together > 1 ? fc_gather_new(b->chains[number], &b->first) : NULL;
  fc_task *tasks[FC_GATHER_MOST];
  gsize index;
  for (guint n; (n = take(b, tasks, &index));) {
    gsize before = 0, after = 0;
    for (guint i = 0; i < n; i++) before += memory_of(tasks[i]);
    need_devices(b, tasks, n);
    run_or_wait(b, number, gather, tasks, n);
    for (guint i = 0; i < n; i++) {
      if (!tasks[i]->pass) g_clear_pointer(&tasks[i]->content, g_bytes_unref);
      after += memory_of(tasks[i]);
    }
    pthread_mutex_lock(&b->mutex);
    b->memory += after - before;
    for (guint i = 0; i < n; i++) b->slots[(index + i) % b->ahead] = (slot){tasks[i], TRUE};
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->mutex);
  }
  fc_gather_free(gather);
  if (!number) return;
  /* Other workers keep their prepared state, but return their memory to the context for other runs. */
  begin_run(b);
  g_ptr_array_set_size(b->chains[number]->ready, 0);
  end_run(b, FALSE);
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
  pthread_mutex_init(&b->first, NULL);
  fc_cond_init(&b->changed);
  g_autofree fc_starting **starting = b->starting = g_new0(fc_starting *, workers);
  fc_pool *crew = fc_context_take_crew(context, (int)workers);
  fc_pool_run(crew, workers, work, b);
  fc_context_give_crew(context, crew);
  for (guint i = 0; i < b->n_starting; i++) context->driver->start_wait(starting[i]);
  if (b->devices_begun && context->media && context->media->decode_settle)
    context->media->decode_settle(context);
  pthread_mutex_lock(&b->mutex);
  tell(b);
  pthread_mutex_unlock(&b->mutex);
  pthread_mutex_destroy(&b->mutex);
  pthread_cond_destroy(&b->changed);
  pthread_mutex_destroy(&b->first);
}

gboolean fc_tasks_check(fc_chain *chain, const fc_options *o, GError **error) {
  if (o->decode != FC_DECODE_GPU) return TRUE;
  if (!on_device(o))
    return fc_fail(error, FC_INVALID,
                   "--decode gpu: images are decoded on the GPU that the chain runs on: add --device cuda");
  const fc_media *media = chain->context->media; /* it is there: nothing else has files */
  g_autofree char *name = media->decoder(chain->context, error);
  return name != NULL;
}

/* Runs the workers, each with an equal share of the threads. */
gint64 fc_chain_run_tasks(fc_chain *chain, const fc_tasks *tasks, const fc_options *options, GError **error) {
  fc_context *context = chain->context;
  batch b = {.tasks = tasks, .options = fc_full_options(options), .memory_most = context->max_memory / 4};
  const int threads = fc_pool_size(b.options.threads);
  const guint workers = (guint)CLAMP(tasks->most ? tasks->most : G_MAXINT, 1, threads);
  gboolean ok = TRUE;
  if (!fc_tasks_check(chain, &b.options, error)) return -1;
  b.options.threads = MAX(threads / (int)workers, 1);
  b.options.progress = NULL;
  b.caller = g_thread_self();
  b.workers = workers;
  /* On the CPU images gain nothing by being together, and `auto` chooses it for a single one. */
  b.together = on_device(&b.options) ? FC_GATHER_MOST : 1;
  b.ahead = (gsize)workers * (b.together > 1 ? AHEAD_EACH * b.together : AHEAD_MOST);
  b.slots = g_new0(slot, b.ahead);
  b.chains = g_new0(fc_chain *, workers);
  b.devices = g_new0(char *, workers + 1);
  for (guint i = 0; i < workers && ok; i++) ok = (b.chains[i] = fc_chain_worker(chain, i, error)) != NULL;
  if (ok) {
    spread(&b, workers, b.options.device);
    run_all(&b, context, workers);
  }
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
