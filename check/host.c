/* SPDX-License-Identifier: MIT */
/*
 * host.c - see host.h.
 */
#include "check/host.h"

#include <string.h>

#include "check/watch.h"
#include "core/contract/rows_table.h"

static host *of(const fc_host *base) {
  return base->ctx;
}

static fc_status host_fail(const fc_host *base, fc_status status, const char *format, ...) {
  host *h = of(base);
  va_list arguments;
  const watch_phase was = watch_enter(WATCH_OFF); /* the host's own allocations are not counted */
  va_start(arguments, format);
  g_mutex_lock(&h->mutex);
  g_free(h->sentence);
  h->sentence = g_strdup_vprintf(format, arguments);
  g_mutex_unlock(&h->mutex);
  va_end(arguments);
  watch_enter(was);
  return status;
}

/* Random-looking content, so that no operator relies on zeros. */
#define FRESH 0xa5

static void *host_alloc(const fc_host *base, int32_t device_id, size_t bytes) {
  host *h = of(base);
  const watch_phase was = watch_enter(WATCH_OFF);
  const test_device *device = device_id == h->device->id ? h->device : device_cpu();
  if (device_id != FC_HOST && device_id != h->device->id) return NULL;
  block b = block_new(device, bytes, FRESH, "memory from the host");
  block_send(&b);
  g_mutex_lock(&h->mutex);
  g_array_append_val(h->blocks, b);
  g_mutex_unlock(&h->mutex);
  watch_enter(was);
  return block_data(&b);
}

static void check_block(host *h, block *b) {
  if (block_fetch(b) || !block_bands_intact(b)) h->band_broken = TRUE;
  block_free(b);
}

static void host_free(const fc_host *base, int32_t device_id, void *memory) {
  host *h = of(base);
  if (!memory) return;
  const watch_phase was = watch_enter(WATCH_OFF);
  g_mutex_lock(&h->mutex);
  guint i = 0;
  while (i < h->blocks->len && block_data(&g_array_index(h->blocks, block, i)) != memory) i++;
  if (i < h->blocks->len) {
    check_block(h, &g_array_index(h->blocks, block, i));
    g_array_remove_index_fast(h->blocks, i);
  } else {
    h->band_broken = TRUE; /* not allocated here, or freed twice */
  }
  g_mutex_unlock(&h->mutex);
  watch_enter(was);
}

static fc_status host_upload(const fc_host *base, int32_t device_id, void *to, const void *from,
                             size_t bytes) {
  const test_device *device = device_id == FC_HOST ? device_cpu() : of(base)->device;
  const char *error = device->put(to, from, bytes);
  return error ? host_fail(base, FC_DEVICE, "%s", error) : FC_OK;
}

static void host_measured(const fc_host *base, const fc_measurement *value) {
  host *h = of(base);
  const watch_phase was = watch_enter(WATCH_OFF);
  measured m = {g_strdup(value->name ? value->name : ""), g_strdup(value->unit ? value->unit : ""),
                g_strdup(value->exact), value->channel, value->value};
  g_array_append_val(h->measured, m);
  watch_enter(was);
}

static const void *host_extension(const fc_host *base, const char *name) {
  return NULL;
}

static void host_log(const fc_host *base, int level, const char *format, ...) {
  (void)base, (void)level, (void)format;
}

static void host_remark(const fc_host *base, const char *format, ...) {
  (void)base, (void)format;
}

static int host_cancelled(const fc_host *base) {
  return 0;
}

static void clear_measured(gpointer data) {
  measured *m = data;
  g_free(m->name);
  g_free(m->unit);
  g_free(m->exact);
}

static GArray *new_list(void) {
  GArray *list = g_array_new(FALSE, FALSE, sizeof(measured));
  g_array_set_clear_func(list, clear_measured);
  return list;
}

void host_init(host *h, const test_device *device) {
  memset(h, 0, sizeof *h);
  h->base = (fc_host){
      sizeof(fc_host), FC_PLUGIN_ABI,  h,        host_fail,   host_alloc,     host_free,      host_upload,
      host_measured,   host_extension, host_log, host_remark, host_cancelled, fc_rows_table()};
  h->device = device;
  g_mutex_init(&h->mutex);
  h->blocks = g_array_new(FALSE, FALSE, sizeof(block));
  h->measured = new_list();
  h->sentence = g_strdup("");
}

GArray *host_take_measured(host *h) {
  GArray *taken = h->measured;
  h->measured = new_list();
  return taken;
}

void host_finish(host *h, const char *who, verdict *v) {
  if (h->blocks->len)
    blame(v, FAULT_LEAK, "%s: %u blocks of the host's memory were not freed", who, h->blocks->len);
  while (h->blocks->len) host_free(&h->base, 0, block_data(&g_array_index(h->blocks, block, 0)));
  if (h->band_broken)
    blame(v, FAULT_BAND, "%s: wrote beyond memory from the host, or freed what is not such memory", who);
  g_array_free(h->blocks, TRUE);
  g_array_unref(h->measured);
  g_free(h->sentence);
  g_mutex_clear(&h->mutex);
}
