/* SPDX-License-Identifier: MIT */
/* nvjpeg.c - see nvjpeg.h. */
#include "media/image/nvjpeg.h"

#include "core/base/error.h"
#include "media/image/image.h"

#include <dlfcn.h>

/* ---- what is used of nvjpeg.h, versions 11.6 to 13 --------------------------------- */

enum { SUCCESS = 0 };
enum { BACKEND_DEFAULT = 0, BACKEND_GPU_HYBRID = 2, BACKEND_HARDWARE = 3 };
enum { OUTPUT_Y = 2, OUTPUT_RGBI = 5 };
/* Chroma is interpolated, as libjpeg-turbo does. Older versions than 12.1 do not know it. */
enum { FLAGS_NONE = 0, FLAGS_INTERPOLATE = 1 << 5 };
#define COMPONENTS 4

typedef struct image {
  unsigned char *channel[COMPONENTS];
  gsize pitch[COMPONENTS];
} image;

typedef struct api {
  void *module;
  int (*get_property)(int which, int *value);
  int (*create)(int backend, void *device_allocator, void *pinned_allocator, unsigned flags, void **handle);
  int (*destroy)(void *handle);
  int (*state_create)(void *handle, void **state);
  int (*state_destroy)(void *state);
  int (*stream_create)(void *handle, void **stream);
  int (*stream_destroy)(void *stream);
  int (*parse)(void *handle, const unsigned char *data, gsize size, void *stream);
  int (*dimensions)(void *stream, unsigned *width, unsigned *height);
  int (*components)(void *stream, unsigned *number);
  int (*supported)(void *handle, void *stream, int *is_not);
  int (*batch_init)(void *handle, void *state, int n, int threads, int format);
  int (*batch)(void *handle, void *state, const unsigned char *const *data, const gsize *sizes, image *to,
               void *cuda_stream);
} api;

static const struct {
  const char *name;
  gsize at;
} functions[] = {{"nvjpegGetProperty", G_STRUCT_OFFSET(api, get_property)},
                 {"nvjpegCreateEx", G_STRUCT_OFFSET(api, create)},
                 {"nvjpegDestroy", G_STRUCT_OFFSET(api, destroy)},
                 {"nvjpegJpegStateCreate", G_STRUCT_OFFSET(api, state_create)},
                 {"nvjpegJpegStateDestroy", G_STRUCT_OFFSET(api, state_destroy)},
                 {"nvjpegJpegStreamCreate", G_STRUCT_OFFSET(api, stream_create)},
                 {"nvjpegJpegStreamDestroy", G_STRUCT_OFFSET(api, stream_destroy)},
                 {"nvjpegJpegStreamParseHeader", G_STRUCT_OFFSET(api, parse)},
                 {"nvjpegJpegStreamGetFrameDimensions", G_STRUCT_OFFSET(api, dimensions)},
                 {"nvjpegJpegStreamGetComponentsNum", G_STRUCT_OFFSET(api, components)},
                 {"nvjpegDecodeBatchedSupported", G_STRUCT_OFFSET(api, supported)},
                 {"nvjpegDecodeBatchedInitialize", G_STRUCT_OFFSET(api, batch_init)},
                 {"nvjpegDecodeBatched", G_STRUCT_OFFSET(api, batch)}};

/* ---- instances ----------------------------------------------------------------------- */

/* One is with the engines, one has its files looked at, one waits for what follows. They are started one
 * after the other: several at a time take as long, and hold up all who use the driver meanwhile. */
#define STARTED_MOST 3
/* Devices; the files of further ones are decoded on the CPU. */
#define PLACES 16

/* For one batch of images at a time. */
struct fc_device_decoder {
  gint32 device;
  gboolean hardware;
  void *handle, *state, *stream; /* stream: of bytes, where a header is read */
  int n, format;                 /* for which it is initialised */
};

/* A device. Its engines decode what one call hands them faster than what several calls do at a time. */
typedef struct place {
  GMutex calling;
  guint started, most;          /* instances; fewer after one could not be started; as the next two: */
  gboolean starting;            /* a thread starts an instance, or some */
  GThread *ahead;               /* the last one that started some ahead; it may have ended */
  guint settling;               /* callers that wait for it: it starts no more */
  gboolean engines, no_engines; /* instances use the engines; there are none, for good */
} place;

struct fc_nvjpeg {
  const fc_driver *driver; /* of the devices; NULL: there are none */
  GMutex mutex;            /* of all below, but `calling` */
  GCond changed;
  gboolean tried;
  const char *means; /* what they decode by; "" before the first */
  api api;           /* without a module if there is none */
  GQueue idle;       /* fc_device_decoder */
  place places[PLACES];
};

/* With the mutex held. */
static gboolean load(fc_nvjpeg *me) {
  static const char *const names[] = {"libnvjpeg.so.13", "libnvjpeg.so.12", "libnvjpeg.so.11",
                                      "libnvjpeg.so"};
  if (me->tried) return me->api.module != NULL;
  me->tried = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS(names) && !me->api.module; i++)
    me->api.module = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  for (guint i = 0; i < G_N_ELEMENTS(functions) && me->api.module; i++) {
    void *function = dlsym(me->api.module, functions[i].name);
    *(void **)(void *)((char *)&me->api + functions[i].at) = function;
    if (function) continue;
    dlclose(me->api.module);
    me->api.module = NULL;
  }
  return me->api.module != NULL;
}

/* The device is the thread's current one. */
static void end(const fc_nvjpeg *me, struct fc_device_decoder *d) {
  const api *a = &me->api;
  if (d->stream) a->stream_destroy(d->stream);
  if (d->state) a->state_destroy(d->state);
  if (d->handle) a->destroy(d->handle);
  g_free(d);
}

/* An instance by one of nvJPEG's backends; NULL if there is none. */
static struct fc_device_decoder *start_by(const fc_nvjpeg *me, gint32 device, int backend) {
  const api *a = &me->api;
  struct fc_device_decoder *d = g_new0(struct fc_device_decoder, 1);
  d->device = device, d->hardware = backend == BACKEND_HARDWARE;
  for (unsigned flags = FLAGS_INTERPOLATE;; flags = FLAGS_NONE) {
    if (a->create(backend, NULL, NULL, flags, &d->handle) == SUCCESS) break;
    d->handle = NULL;
    if (!flags) break;
  }
  if (d->handle && a->state_create(d->handle, &d->state) == SUCCESS &&
      a->stream_create(d->handle, &d->stream) == SUCCESS)
    return d;
  end(me, d);
  return NULL;
}

/* NULL: nothing decodes there. */
static place *place_of(fc_nvjpeg *me, gint32 device) {
  const gint32 ordinal = fc_device_ordinal(device);
  return me->driver && ordinal >= 0 && ordinal < PLACES ? &me->places[ordinal] : NULL;
}

/* By the engines where the chip has them, by its multiprocessors for those who insist: never by both. By the
 * only thread that starts one there; the device is its current one. */
static struct fc_device_decoder *start(fc_nvjpeg *me, gint32 device, int mode) {
  place *p = place_of(me, device);
  struct fc_device_decoder *d = p->no_engines ? NULL : start_by(me, device, BACKEND_HARDWARE);
  const gboolean plain = !d && !p->engines && mode == FC_DECODE_GPU;
  if (plain && !(d = start_by(me, device, BACKEND_GPU_HYBRID))) d = start_by(me, device, BACKEND_DEFAULT);
  g_mutex_lock(&me->mutex);
  p->engines |= d && d->hardware;
  p->no_engines = !p->engines;
  if (d) p->started++, me->means = d->hardware ? ", engines" : ", CUDA";
  if (!d && (plain || p->engines)) p->most = p->started;
  g_mutex_unlock(&me->mutex);
  return d;
}

static void end_starting(fc_nvjpeg *me, gint32 device) {
  g_mutex_lock(&me->mutex);
  place_of(me, device)->starting = FALSE;
  g_cond_broadcast(&me->changed);
  g_mutex_unlock(&me->mutex);
}

typedef struct ahead {
  fc_nvjpeg *nvjpeg;
  gint32 device;
  int mode;
  guint n;
} ahead;

static gboolean goes_on(const ahead *a) {
  g_mutex_lock(&a->nvjpeg->mutex);
  const gboolean on = !place_of(a->nvjpeg, a->device)->settling;
  g_mutex_unlock(&a->nvjpeg->mutex);
  return on;
}

static gpointer start_ahead(gpointer data) {
  g_autofree ahead *a = data;
  const int before = a->nvjpeg->driver->enter(a->device);
  for (struct fc_device_decoder *d;
       before >= 0 && a->n && goes_on(a) && (d = start(a->nvjpeg, a->device, a->mode)); a->n--)
    fc_nvjpeg_give(a->nvjpeg, d);
  if (before >= 0) a->nvjpeg->driver->leave(before);
  end_starting(a->nvjpeg, a->device);
  return NULL;
}

void fc_nvjpeg_start(fc_nvjpeg *me, gint32 device, int mode, guint n) {
  place *p = place_of(me, device);
  if (!p) return;
  g_mutex_lock(&me->mutex);
  n = MIN(n, p->most);
  if (load(me) && !p->starting && p->started < n && !(mode == FC_DECODE_AUTO && p->no_engines)) {
    ahead *a = g_new(ahead, 1);
    *a = (ahead){me, device, mode, n - p->started};
    if (p->ahead) g_thread_join(p->ahead); /* it has nothing left to do */
    p->ahead = g_thread_try_new("nvjpeg", start_ahead, a, NULL);
    p->starting = p->ahead != NULL;
    if (!p->ahead) g_free(a);
  }
  g_mutex_unlock(&me->mutex);
}

void fc_nvjpeg_settle(fc_nvjpeg *me) {
  for (guint i = 0; i < PLACES; i++) {
    place *p = &me->places[i];
    g_mutex_lock(&me->mutex);
    GThread *thread = g_steal_pointer(&p->ahead);
    p->settling++;
    g_mutex_unlock(&me->mutex);
    if (thread) g_thread_join(thread);
    g_mutex_lock(&me->mutex);
    p->settling--;
    g_mutex_unlock(&me->mutex);
  }
}

static struct fc_device_decoder *find_idle(fc_nvjpeg *me, gint32 device) {
  for (GList *at = me->idle.head; at; at = at->next) {
    struct fc_device_decoder *d = at->data;
    if (d->device != device) continue;
    g_queue_delete_link(&me->idle, at);
    return d;
  }
  return NULL;
}

/* NULL: nothing decodes there. */
static struct fc_device_decoder *take(fc_nvjpeg *me, gint32 device, int mode) {
  place *p = place_of(me, device);
  struct fc_device_decoder *found = NULL;
  gboolean fresh = FALSE;
  if (!p) return NULL;
  g_mutex_lock(&me->mutex);
  while (load(me) && p->most && !(mode == FC_DECODE_AUTO && p->no_engines) &&
         !(found = find_idle(me, device))) {
    if ((fresh = !p->starting && p->started < p->most)) break;
    g_cond_wait(&me->changed, &me->mutex);
  }
  p->starting |= fresh;
  g_mutex_unlock(&me->mutex);
  if (!fresh) return found;
  found = start(me, device, mode);
  end_starting(me, device);
  return found;
}

void fc_nvjpeg_give(fc_nvjpeg *me, struct fc_device_decoder *d) {
  g_mutex_lock(&me->mutex);
  g_queue_push_head(&me->idle, d);
  g_cond_broadcast(&me->changed);
  g_mutex_unlock(&me->mutex);
}

/* ---- decoding ------------------------------------------------------------------------------ */

/* It must see the size that was checked, which the frame has. */
static gboolean accepts(const api *a, const struct fc_device_decoder *d, const fc_encoded *file,
                        const fc_view *frame) {
  unsigned width = 0, height = 0, channels = 0;
  int is_not = 0;
  return a->parse(d->handle, file->data, file->size, d->stream) == SUCCESS &&
         a->dimensions(d->stream, &width, &height) == SUCCESS &&
         a->components(d->stream, &channels) == SUCCESS && width == frame->shape[FC_AXIS_X] &&
         height == frame->shape[FC_AXIS_Y] && channels == frame->shape[FC_AXIS_C] &&
         (!d->hardware || (a->supported(d->handle, d->stream, &is_not) == SUCCESS && !is_not));
}

static gboolean decode(fc_nvjpeg *me, struct fc_device_decoder *d, const fc_encoded *files,
                       const fc_view *const *frames, int n, void *stream) {
  const api *a = &me->api;
  const int format = frames[0]->shape[FC_AXIS_C] == 1 ? OUTPUT_Y : OUTPUT_RGBI;
  g_autofree const unsigned char **data = g_new(const unsigned char *, n);
  g_autofree gsize *sizes = g_new(gsize, n);
  g_autofree image *images = g_new0(image, n);
  for (int i = 0; i < n; i++) {
    data[i] = files[i].data, sizes[i] = files[i].size;
    images[i].channel[0] = frames[i]->data;
    images[i].pitch[0] = (gsize)frames[i]->stride[FC_AXIS_Y];
  }
  if ((d->n != n || d->format != format) && a->batch_init(d->handle, d->state, n, 1, format) != SUCCESS)
    return FALSE;
  d->n = n, d->format = format;
  GMutex *calling = d->hardware ? &place_of(me, d->device)->calling : NULL;
  if (calling) g_mutex_lock(calling);
  const int status = a->batch(d->handle, d->state, data, sizes, images, stream);
  if (calling) g_mutex_unlock(calling);
  return status == SUCCESS;
}

struct fc_device_decoder *fc_nvjpeg_decode(fc_nvjpeg *me, int mode, void *stream, fc_source *const *sources,
                                           const fc_view *frames, guint n, gboolean *done) {
  g_autofree fc_encoded *files = g_new(fc_encoded, n);
  g_autofree const fc_view **to = g_new(const fc_view *, n);
  struct fc_device_decoder *d = NULL;
  int taken = 0;
  for (guint i = 0; i < n; i++) {
    done[i] = fc_image_encoded(sources[i], &files[taken]) && (d || (d = take(me, frames[i].device, mode))) &&
              (d->hardware || mode == FC_DECODE_GPU) && accepts(&me->api, d, &files[taken], &frames[i]);
    if (done[i]) to[taken++] = &frames[i];
  }
  if (taken && decode(me, d, files, to, taken, stream)) return d;
  /* It says of the whole batch that one is damaged: the other decoder finds out which, and what it is. */
  for (guint i = 0; i < n; i++) done[i] = FALSE;
  if (d && taken) d->n = 0;
  return d;
}

/* ---- all of it -------------------------------------------------------------------------------- */

char *fc_nvjpeg_name(fc_nvjpeg *me, GError **error) {
  int version[3] = {0, 0, 0};
  g_mutex_lock(&me->mutex);
  const gboolean there = load(me);
  const char *means = me->means;
  g_mutex_unlock(&me->mutex);
  for (int i = 0; i < 3 && there; i++) me->api.get_property(i, &version[i]);
  if (there) return g_strdup_printf("nvJPEG %d.%d.%d%s", version[0], version[1], version[2], means);
  fc_fail(error, FC_UNSUPPORTED,
          "--decode gpu: nvJPEG (libnvjpeg.so) was not found: install it with the CUDA toolkit, name its "
          "folder in "
          "LD_LIBRARY_PATH, or leave the option out");
  return NULL;
}

fc_nvjpeg *fc_nvjpeg_new(const fc_driver *driver) {
  fc_nvjpeg *me = g_new0(fc_nvjpeg, 1);
  me->driver = driver;
  me->means = "";
  for (guint i = 0; i < PLACES; i++) me->places[i].most = STARTED_MOST;
  g_mutex_init(&me->mutex);
  g_cond_init(&me->changed);
  return me;
}

void fc_nvjpeg_release(fc_nvjpeg *me) {
  g_mutex_lock(&me->mutex);
  GQueue idle = me->idle;
  g_queue_init(&me->idle);
  for (GList *at = idle.head; at; at = at->next) {
    place *p = place_of(me, ((struct fc_device_decoder *)at->data)->device);
    /* The last one: what could not be started for lack of memory is tried again. */
    if (--p->started == 0) p->most = STARTED_MOST, p->engines = p->no_engines = FALSE;
  }
  g_mutex_unlock(&me->mutex);
  for (struct fc_device_decoder *d; (d = g_queue_pop_head(&idle));) {
    const int before = me->driver->enter(d->device);
    end(me, d);
    me->driver->leave(before);
  }
}

void fc_nvjpeg_free(fc_nvjpeg *me) {
  if (!me) return;
  fc_nvjpeg_settle(me);
  fc_nvjpeg_release(me);
  /* The library stays: it may have threads. */
  g_mutex_clear(&me->mutex);
  g_cond_clear(&me->changed);
  g_free(me);
}
