/* fake/fake.c - options of the fake driver, how calls begin and end. Any thread. */
#include "fake/fake.h"

#include "base/config.h"
#include "base/say.h"
#include "base/task.h"
#include "fake/inside.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In random mode tasks share a thread: each has a slot of its own. */
static struct weft_known **place_of_current(void)
{
    static _Thread_local struct weft_known *current;
    static struct {
        void **task;
        struct weft_known *current;
    } of[2 * WEFT_FAKE_DEVICES];
    int i = 0;

    if (weft_model == NULL)
        return &current;
    while (of[i].task != NULL && of[i].task != weft_task_local())
        i++;
    of[i].task = weft_task_local();
    return &of[i].current;
}

struct fake_state fake = {.known = {.now = place_of_current}};

static const struct weft_cuda_table fake_table = {
#define FAKE_FIELD(field, function) .field = fake_##field,
    WEFT_TABLE_MAP(FAKE_FIELD)
#undef FAKE_FIELD
};

/* ---- options --------------------------------------------------------------------------------- */

static bool set_fault(const char *text)
{
    int at = 0;
    long long count = 0;

    memset(&fake.fault, 0, sizeof(fake.fault));
    fake.fault.hang = strncmp(text, "hang:", 5) == 0;
    if (fake.fault.hang)
        text += 5;
    if (sscanf(text, "%15[a-z]:%lld%n", fake.fault.name, &count, &at) != 2 || count < 1)
        return false;
    fake.fault.left = count;
    if (fake.fault.hang)
        return text[at] == 0;
    fake.fault.code = text[at] == ':' ? atoi(text + at + 1) : 0;
    return fake.fault.code > 0;
}

static weft_status load_kernels(const char *file)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        return weft_err(WEFT_ERR_CONFIG, "the fake driver's kernels: %s", dlerror());
    weft_fake_plugin enter = (weft_fake_plugin)dlsym(library, "weft_fake_kernels");
    if (enter == NULL)
        return weft_err(WEFT_ERR_CONFIG, "the fake driver's kernels: %s has no weft_fake_kernels",
                        file);
    enter(&weft_fake_registry);
    return WEFT_OK;
}

static weft_status set_option(const char *name, const char *value)
{
    uint64_t n = 0;
    const bool is_number = weft_config_bytes(value, &n);

    if (strcmp(name, "devices") == 0 && is_number && n >= 1 && n <= WEFT_FAKE_DEVICES)
        fake.known.count = (int)n;
    else if (strcmp(name, "memory") == 0 && is_number && n >= 1 << 20 && n <= 1ull << 40)
        fake.memory = n;
    else if (strcmp(name, "seed") == 0 && is_number)
        fake.seed = n * 2 + 1;
    else if (strcmp(name, "attributes") == 0 && is_number && n <= CU_DEVICE_ATTRIBUTE_MAX)
        fake.attributes = (int)n; /* an older driver's */
    else if (strcmp(name, "kernels") == 0)
        return load_kernels(value);
    else if (strcmp(name, "fault") != 0 || !set_fault(value))
        return weft_err(
            WEFT_ERR_CONFIG,
            "the fake driver: %s=%s is none of devices=1..%d, memory=1M..1024G, "
            "seed=N, attributes=N, kernels=FILE, fault=NAME:N:ERROR or fault=hang:NAME:N",
            name, value, WEFT_FAKE_DEVICES);
    return WEFT_OK;
}

static weft_status read_options(const char *options)
{
    char text[sizeof(fake.options)], *rest = text, *word;
    weft_status status = WEFT_OK;

    snprintf(text, sizeof(text), "%s", options);
    while (status == WEFT_OK && (word = strsep(&rest, ",")) != NULL) {
        char *value = strchr(word, '=');
        if (*word == 0)
            continue;
        if (value != NULL)
            *value++ = 0;
        status = set_option(word, value != NULL ? value : "");
    }
    return status;
}

weft_status weft_fake_open(const struct weft_cuda_table **table, const char *options)
{
    weft_status status = WEFT_OK;

    if (strlen(options) >= sizeof(fake.options))
        return weft_err(WEFT_ERR_CONFIG, "the fake driver: %zu bytes of options, at most %zu",
                        strlen(options), sizeof(fake.options) - 1);
    if (fake.open && strcmp(fake.options, options) != 0)
        return weft_err(WEFT_ERR_CONFIG, "the fake driver was opened with \"%s\", not \"%s\"",
                        fake.options, options);
    if (!fake.open) {
        fake.known.count = 1;
        fake.memory = 1u << 30;
        fake.seed = 1;
        fake.attributes = CU_DEVICE_ATTRIBUTE_MAX;
        status = read_options(options);
        for (int i = 0; i < fake.known.count; i++) {
            struct fake_device *device = &fake.device[i];
            fake_describe(device, i);
            fake.known.at[i] = &device->known;
            device->legacy.device = device;
            device->legacy.last = &device->legacy.first;
            device->legacy.next = fake.streams;
            fake.streams = &device->legacy;
        }
        snprintf(fake.options, sizeof(fake.options), "%s", options);
        fake.open = status == WEFT_OK;
    }
    if (status == WEFT_OK)
        *table = &fake_table;
    return status;
}

/* ---- entering and leaving -------------------------------------------------------------------- */

struct fake_device *fake_current(void)
{
    return (struct fake_device *)(void *)*place_of_current(); /* its first member */
}

void fake_begin(void)
{
    weft_lock(&fake.lock);
    if (fake_draw(2) == 0)
        fake_step();
}

CUresult fake_end(CUresult result)
{
    weft_unlock(&fake.lock);
    return result;
}

CUresult fake_enter(struct fake_device **device)
{
    fake_begin();
    *device = fake_current();
    return *device == NULL ? CUDA_ERROR_INVALID_CONTEXT : (*device)->error;
}

CUresult fake_fault(const char *name, bool *hang)
{
    if (hang != NULL)
        *hang = false;
    if (fake.fault.left == 0 || strcmp(fake.fault.name, name) != 0 || --fake.fault.left != 0)
        return CUDA_SUCCESS;
    if (hang != NULL)
        *hang = fake.fault.hang;
    return (CUresult)fake.fault.code;
}
