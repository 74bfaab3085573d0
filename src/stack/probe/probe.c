// SPDX-License-Identifier: LGPL-3.0-or-later
#include "stack/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

// GlusterFS stores keys of this family nowhere.
#define ID_KEY "glusterfs.internal-ctx.ioseer"

static bool is_probe(const xlator_t *translator) { return translator->fops == &probe_fops; }

// Null if the table has no such request. An id is never used again, so the one that was there before and after is that
// of the request.
static struct call_entry *find_call(struct probe *client, uint64_t request, uint64_t *id) {
    struct call_entry *entry = client->calls[hash_add(0, request) % CALL_BUCKETS];
    for (const struct call_entry *end = entry + CALL_BUCKET_SIZE; entry < end; entry++) {
        *id = atomic_load_explicit(&entry->id, memory_order_acquire);
        if (*id > CALL_ENTERING && atomic_load_explicit(&entry->request, memory_order_acquire) == request &&
            atomic_load_explicit(&entry->id, memory_order_relaxed) == *id)
            return entry;
    }
    return NULL;
}

static void enter_call(struct probe *client, uint64_t request, uint64_t id) {
    struct call_entry *entry = client->calls[hash_add(0, request) % CALL_BUCKETS];
    for (const struct call_entry *end = entry + CALL_BUCKET_SIZE; entry < end; entry++) {
        uint64_t none = 0;
        if (!atomic_compare_exchange_strong(&entry->id, &none, CALL_ENTERING)) continue;
        atomic_store_explicit(&entry->request, request, memory_order_relaxed);
        atomic_store_explicit(&entry->id, id, memory_order_release);
        return;
    }
}

// The store is complete before the caller reads the clock: who still finds the call ends before it.
static void leave_call(struct probe *client, uint64_t request) {
    uint64_t id;
    struct call_entry *entry = find_call(client, request, &id);
    if (entry) atomic_store(&entry->id, 0);
}

// The id in a dictionary that came over the network; 0: none.
static uint64_t received_id(dict_t *xdata) {
    data_t *data = xdata ? dict_getn(xdata, ID_KEY, SLEN(ID_KEY)) : NULL;
    uint64_t id = 0;
    if (data && data->len == sizeof id) memcpy(&id, data->data, sizeof id);
    return id;
}

// A request goes on with what it came with otherwise: nothing, in most cases.
static uint64_t take_id(struct probe_call *call) {
    uint64_t id = received_id(call->xdata);
    if (id && call->xdata->count == 1)
        call->xdata = NULL;
    else if (id)
        dict_deln(call->xdata, ID_KEY, SLEN(ID_KEY));
    return id;
}

static dict_t *with_id(dict_t *own, uint64_t id) {
    uint64_t *value = own ? GF_MALLOC(sizeof *value, gf_common_mt_char) : NULL;
    if (value) *value = id;
    if (value && dict_set_bin(own, ID_KEY, value, sizeof *value) == 0) return own;
    GF_FREE(value);
    if (own) dict_unref(own);
    return NULL;
}

// Without memory the call goes on as it came: the calls below it have no parent then. A dictionary that came may be
// that of several calls (shard), so it is copied.
static void send_id(struct probe *probe, struct probe_call *call, uint64_t id) {
    if (call->xdata)
        call->own = with_id(dict_copy_with_ref(call->xdata, NULL), id);
    else if ((call->own = atomic_exchange(&probe->spare, NULL)))
        memcpy(call->own->members_list->value->data, &id, sizeof id);
    else
        call->own = with_id(dict_new(), id);
    if (call->own) call->xdata = call->own;
}

// GlusterFS has put the request into its message. The dictionary can be used again if nobody else has kept it.
void probe_wound(xlator_t *this, dict_t *own) {
    struct probe *probe = this->private;
    if (own->count == 1 && GF_ATOMIC_GET(own->refcount) == 1 && GF_ATOMIC_GET(own->members_list->value->refcount) == 1)
        own = atomic_exchange(&probe->spare, own);
    if (own) dict_unref(own);
}

// The call that a probe recorded before it handed on this frame or one above it; null: none in this process.
static const struct record_note *noted_above(const call_frame_t *frame) {
    for (; frame; frame = frame->parent)
        if (frame->ret && frame->op < GF_FOP_MAXVALUE && (probe_function)frame->ret == probe_backs[frame->op])
            return frame->cookie;
    return NULL;
}

// Of a call of a net probe on a copied call stack; 0: the client's call is over.
static uint64_t copied_parent(const call_stack_t *root, struct probe *probe) {
    if (probe->layer != LAYER_NET || !probe->above) return 0;
    uint64_t id;
    return find_call(probe->above->private, root->unique, &id) ? id : 0;
}

static void find_parent(call_frame_t *frame, struct probe *probe, struct probe_call *call,
                        struct probe_record *record) {
    const struct record_note *above = noted_above(frame);
    if (above) {
        const struct probe_record *parent = record_file_noted(&above->probe->file, above);
        record->parent = record_file_id(&above->probe->file, parent);
        record->tid = parent->tid;
        return;
    }
    record->tid = frame->root->pid > 0 ? (uint32_t)frame->root->pid : 0; // negative: GlusterFS's own
    record->parent = probe->receives_id ? take_id(call) : copied_parent(frame->root, probe);
    record_file_note(&probe->file, record)->is_on_copy = true;
}

void probe_begin(call_frame_t *frame, xlator_t *this, struct probe_call *call, probe_function back) {
    struct probe *probe = this->private;
    struct probe_record *record = record_file_claim(&probe->file);
    if (!record) {
        if (probe->receives_id) take_id(call); // storage does not know it
        return;
    }
    struct record_note *note = record_file_note(&probe->file, record);
    *note = (struct record_note){probe, (probe_function)frame->ret, frame->cookie, false};
    find_parent(frame, probe, call, record);
    frame->ret = (ret_fn_t)back;
    frame->cookie = note;
    record->offset = call->offset;
    record->size = call->size;
    record->inode = call->gfid ? gfid_to_ino(call->gfid) : 0;
    record->operation = (uint16_t)call->operation;
    record->flags = call->flags;
    uint64_t id = record_file_id(&probe->file, record);
    if (probe->layer == LAYER_CLIENT && frame->root->unique) enter_call(probe, frame->root->unique, id);
    if (probe->sends_id) send_id(probe, call, id);
    record->start_ns = record_file_now_ns();
}

struct probe_answer probe_end(const call_stack_t *root, void *cookie, int32_t result, int32_t error,
                              const struct iatt *found, dict_t *xdata) {
    const struct record_note *note = cookie;
    struct probe *probe = note->probe;
    struct probe_answer answer = {note->back, note->cookie};
    struct probe_record *record = record_file_noted(&probe->file, note);
    if (probe->layer == LAYER_CLIENT) leave_call(probe, root->unique);
    uint64_t end_ns = record_file_now_ns();
    // Nobody waited for what outlives its call: giving back locks, looking at free space.
    if (probe->layer == LAYER_NET && note->is_on_copy && !copied_parent(root, probe)) record->parent = 0;
    // The server answers some requests (create) with what came with them. Disperse compares the answers of its servers.
    if (probe->sends_id && received_id(xdata)) dict_deln(xdata, ID_KEY, SLEN(ID_KEY));
    record->result = result;
    if (result < 0) record->error = (uint16_t)error;
    if (result >= 0 && found) record->inode = found->ia_ino;
    record_file_end(&probe->file, record, end_ns);
    return answer;
}

static void record_event(struct probe *probe, enum probe_operation operation) {
    struct probe_record *record = record_file_claim(&probe->file);
    if (!record) return;
    record->operation = (uint16_t)operation;
    record->start_ns = record_file_now_ns();
    record_file_end(&probe->file, record, record->start_ns);
}

static int32_t probe_notify(xlator_t *this, int32_t event, void *data, ...) {
    struct probe *probe = this->private;
    if (probe && probe->layer == LAYER_NET && probe_is_recording(this)) {
        if (event == GF_EVENT_CHILD_UP) record_event(probe, PROBE_connected);
        if (event == GF_EVENT_CHILD_DOWN) record_event(probe, PROBE_disconnected);
    }
    return default_notify(this, event, data);
}

static bool has_probe_below(const xlator_t *translator) {
    for (const xlator_list_t *child = translator->children; child; child = child->next)
        if (is_probe(child->xlator) || has_probe_below(child->xlator)) return true;
    return false;
}

static xlator_t *probe_above(const xlator_t *translator) {
    for (const xlator_list_t *parent = translator->parents; parent; parent = parent->next) {
        xlator_t *found = is_probe(parent->xlator) ? parent->xlator : probe_above(parent->xlator);
        if (found) return found;
    }
    return NULL;
}

static int complain(const xlator_t *this, const char *what, const char *path, int error) {
    gf_log(this->name, GF_LOG_ERROR, "ioseer's probe cannot start: %s %s: %s", what, path, strerror(error));
    return -1;
}

static int map_control(xlator_t *this, struct probe *probe, const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return complain(this, "control page", path, errno);
    struct stat status;
    int error = fstat(fd, &status) != 0 ? errno : status.st_size < (off_t)sizeof(struct probe_control) ? EINVAL : 0;
    void *page = error ? MAP_FAILED : mmap(NULL, sizeof(struct probe_control), PROT_READ, MAP_SHARED, fd, 0);
    if (!error && page == MAP_FAILED) error = errno;
    close(fd);
    if (error) return complain(this, "control page", path, error);
    probe->control = page;
    return 0;
}

static int layer_from_name(const char *name) {
    static const char *const names[] = {"client", "net", "server", "disk"};
    for (int i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0) return LAYER_CLIENT + i;
    return LAYER_NONE;
}

static int start(xlator_t *this, struct probe *probe) {
    char *path = NULL, *control = NULL, *layer = NULL;
    uint32_t number = 0, server = PROBE_NO_SERVER;
    GF_OPTION_INIT("file", path, path, missing);
    GF_OPTION_INIT("control", control, path, missing);
    GF_OPTION_INIT("layer", layer, str, missing);
    GF_OPTION_INIT("number", number, uint32, missing);
    GF_OPTION_INIT("server", server, uint32, missing);
    if (!path || !control || !layer || !number || !this->children || this->children->next) goto missing;
    probe->layer = (enum call_layer)layer_from_name(layer);
    if (map_control(this, probe, control) != 0) return -1;
    const struct probe_header header = {.number = (uint16_t)number, .server = (uint16_t)server, .layer = probe->layer};
    int status = record_file_open(&probe->file, path, &header);
    if (status < 0) return complain(this, "record file", path, -status);
    return 0;
missing:
    gf_log(this->name, GF_LOG_ERROR,
           "ioseer's probe cannot start: it needs one subvolume and the options file, control, number and layer");
    return -1;
}

static int32_t probe_init(xlator_t *this) {
    struct probe *probe = calloc(1, sizeof *probe);
    if (!probe) return complain(this, "its memory", "", ENOMEM);
    if (start(this, probe) != 0) {
        if (probe->control) munmap((void *)probe->control, sizeof *probe->control);
        free(probe);
        return -1;
    }
    bool in_client = probe->layer == LAYER_CLIENT || probe->layer == LAYER_NET;
    probe->sends_id = in_client && !has_probe_below(this);
    probe->above = probe_above(this);
    probe->receives_id = !in_client && !probe->above;
    this->private = probe;
    return 0;
}

// The process ends, with calls under way in other threads: what they use stays.
static void probe_fini(xlator_t *this) { (void)this; }

static int32_t probe_account_memory(xlator_t *this) { return xlator_mem_acct_init(this, gf_common_mt_end); }

static struct volume_options probe_options[] = {
    {.key = {"file"}, .type = GF_OPTION_TYPE_PATH, .description = "where the records go"},
    {.key = {"control"}, .type = GF_OPTION_TYPE_PATH, .description = "the page that says whether to record"},
    {.key = {"number"},
     .type = GF_OPTION_TYPE_INT,
     .min = 1,
     .max = 65535,
     .description = "of this probe in its stack"},
    {.key = {"layer"}, .type = GF_OPTION_TYPE_STR, .value = {"client", "net", "server", "disk"}},
    {.key = {"server"}, .type = GF_OPTION_TYPE_INT, .min = 0, .max = 65535, .default_value = "65535"},
    {.key = {NULL}},
};

static struct xlator_cbks probe_cbks;

__attribute__((visibility("default"))) xlator_api_t xlator_api = {
    .init = probe_init,
    .fini = probe_fini,
    .notify = probe_notify,
    .mem_acct_init = probe_account_memory,
    .op_version = {1},
    .fops = &probe_fops,
    .cbks = &probe_cbks,
    .options = probe_options,
    .identifier = "ioseer-probe",
    .category = GF_EXPERIMENTAL,
};
