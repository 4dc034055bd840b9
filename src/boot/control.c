/* boot/control.c - the front of the control channel: picks the back end. One thread at a time calls
 * weft_control_next. */
#include "boot/control.h"

#include "base/launcher.h"
#include "base/say.h"
#include "boot/back.h"
#include "boot/local.h"
#include "boot/mpi.h"
#include "boot/pmix/pmix.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

weft_status weft_control_open(struct weft_control **control, const struct weft_config *config)
{
    weft_status status = WEFT_OK;

    if (weft_local_here()) {
        status = weft_local_open(control, config);
    } else if (config->processes == 1) {
        status = weft_local_solo(control, config);
    } else if (strncmp(config->cpu_schedule, "random", 6) == 0) {
        return weft_err(WEFT_ERR_CONFIG,
                        "random mode wants the whole job in one address space: weft_local_job");
    } else {
        weft_say_process((int)config->process); /* already what goes wrong here has its name */
        status = weft_tcp_open(control, config);
    }
    if (status == WEFT_OK)
        weft_say_process((*control)->process);
    return status;
}

/* Whether a PMIx launcher knows which process this is, and nobody has said it by hand. */
static bool launched_by_pmix(const struct weft_config *config)
{
    return !weft_local_here() && config->process < 0 && config->processes == 1 &&
           config->pmix == WEFT_PMIX_AUTO && weft_launcher_pmix();
}

weft_status weft_control_join(struct weft_control **control, struct weft_config *config)
{
    int pmix_fd = -1;
    weft_status status = weft_boot_mpi(config);

    if (status == WEFT_OK && launched_by_pmix(config)) {
        status = weft_pmix_join(config);
        pmix_fd = (int)config->root_fd; /* also of one that failed then */
    }
    if (status == WEFT_OK)
        status = weft_control_open(control, config);
    if (pmix_fd >= 0) {
        close(pmix_fd); /* the relay has its own copy */
        config->root_fd = -1;
    }
    return status;
}

weft_status weft_control_send(struct weft_control *control, uint16_t kind, const void *payload,
                              size_t bytes)
{
    if (kind == WEFT_FRAME_LOST || bytes > WEFT_FRAME_MAX)
        return weft_err(WEFT_ERR_ARGUMENT, "control frame of kind %u with %zu bytes; at most %u",
                        kind, bytes, WEFT_FRAME_MAX);
    return control->ops->send(control, kind, payload, bytes);
}

weft_status weft_control_next(struct weft_control *control, struct weft_frame *frame,
                              uint64_t timeout_ns)
{
    return control->ops->next(control, frame, timeout_ns);
}

void weft_control_wake(struct weft_control *control)
{
    control->ops->wake(control);
}

void weft_control_close(struct weft_control *control, bool orderly)
{
    control->ops->close(control, orderly);
}

weft_status weft_frame_fill(struct weft_frame *frame, uint16_t kind, int source,
                            const void *payload, uint32_t bytes)
{
    void *copy = bytes > 0 ? malloc(bytes) : NULL;

    if (bytes > 0 && copy == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for a control frame of %u bytes", bytes);
    if (bytes > 0)
        memcpy(copy, payload, bytes);
    *frame = (struct weft_frame){.kind = kind, .source = source, .bytes = bytes, .payload = copy};
    return WEFT_OK;
}
