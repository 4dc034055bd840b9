/* remote/session/module.c - images, kernels, variables, launches. Session's thread only. */
#include "base/say.h"
#include "remote/session/inside.h"

#include <stdlib.h>
#include <string.h>

/* Loads an image that has come whole: the library, whose handle is the answer. */
static int load_image(struct weft_session *session, const struct weft_record *record)
{
    const uint64_t bytes = weft_image_bytes(session->image);
    CUlibrary library = NULL;
    CUresult result = CUDA_ERROR_INVALID_IMAGE;

    if (bytes != 0 && bytes <= session->image_bytes) {
        session->prints |= weft_image_prints(session->image, bytes);
        result =
            session->table->library_load(&library, session->image, NULL, NULL, 0, NULL, NULL, 0);
    }
    free(session->image);
    session->image = NULL;
    const uint64_t handle = session_name(session, WEFT_LIBRARY, 0, library, 0, &result);
    return handle != 0 ? session_reply(session, record, &handle, 1, NULL, 0) : (int)result;
}

SESSION_DO(load)
{
    if (call->at == 0) {
        if (call->bytes == 0 || call->bytes > WEFT_IMAGE_MOST)
            return SESSION_WRONG;
        free(session->image);
        session->image_bytes = 0;
        session->image_whole = call->bytes;
        session->image =
            malloc(call->bytes + WEFT_IMAGE_HEADER); /* a short one, too, has a header */
        if (session->image == NULL)
            return CUDA_ERROR_OUT_OF_MEMORY;
        memset(session->image + call->bytes, 0, WEFT_IMAGE_HEADER);
    }
    if (session->image == NULL || call->bytes != session->image_whole ||
        call->at != session->image_bytes || record->extra == 0 ||
        record->extra > call->bytes - call->at)
        return SESSION_WRONG;
    memcpy(session->image + call->at, weft_record_extra(record), record->extra);
    session->image_bytes += record->extra;
    return session->image_bytes == call->bytes ? load_image(session, record) : CUDA_SUCCESS;
}

/* Copies the name behind a record, and ends it. False: it is too long, or missing. */
static bool name_of(struct weft_record *record, char name[WEFT_NAME_MOST])
{
    if (record->extra == 0 || record->extra >= WEFT_NAME_MOST)
        return false;
    memcpy(name, weft_record_extra(record), record->extra);
    name[record->extra] = 0;
    return true;
}

/* Asks the driver how a kernel's parameters are laid out. */
static struct session_kernel *describe(const struct weft_cuda_table *table, CUkernel kernel,
                                       CUfunction function)
{
    const size_t most = WEFT_KERNEL_PARAMETERS * sizeof(struct weft_parameter);
    struct session_kernel *k = calloc(1, sizeof(*k) + most);
    size_t offset, bytes;

    if (k == NULL)
        return NULL;
    k->function = function;
    for (; k->count < WEFT_KERNEL_PARAMETERS &&
           table->kernel_parameter(kernel, k->count, &offset, &bytes) == CUDA_SUCCESS;
         k->count++) {
        k->parameters[k->count] = (struct weft_parameter){(uint32_t)offset, (uint32_t)bytes};
        if (offset + bytes > k->bytes)
            k->bytes = (uint32_t)(offset + bytes);
    }
    struct session_kernel *fits = realloc(k, sizeof(*k) + k->count * sizeof(k->parameters[0]));
    return fits != NULL ? fits : k;
}

SESSION_DO(kernel)
{
    char name[WEFT_NAME_MOST];
    CUkernel kernel = NULL;
    CUfunction function = NULL;

    if (!name_of(record, name))
        return SESSION_WRONG;
    CUresult result = session->table->library_kernel(&kernel, call->library->object, name);
    if (result == CUDA_SUCCESS)
        result = session->table->kernel_function(&function, kernel);
    struct session_kernel *k =
        result == CUDA_SUCCESS ? describe(session->table, kernel, function) : NULL;
    if (k == NULL)
        return result != CUDA_SUCCESS ? result : CUDA_ERROR_OUT_OF_MEMORY;
    const uint64_t handle = session_name(session, WEFT_FUNCTION, record->device, k, 0, &result);
    if (handle == 0)
        return (int)result;
    const uint64_t answer[] = {handle, k->count};
    return session_reply(session, record, answer, 2, k->parameters,
                         k->count * (uint32_t)sizeof(k->parameters[0]));
}

SESSION_DO(global)
{
    char name[WEFT_NAME_MOST];

    if (!name_of(record, name))
        return SESSION_WRONG;
    const CUresult result =
        session->table->library_global(&call->address, &call->bytes, call->library->object, name);
    return result == CUDA_SUCCESS && !weft_ranges_add(&session->device[record->device].globals,
                                                      call->address, call->bytes)
               ? CUDA_ERROR_OUT_OF_MEMORY
               : result;
}

SESSION_DO(launch)
{
    const struct session_kernel *kernel = call->kernel->object;
    void *parameters[WEFT_KERNEL_PARAMETERS];
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    const CUlaunchConfig config = {.gridDimX = (uint32_t)call->grid_x_y,
                                   .gridDimY = (uint32_t)(call->grid_x_y >> 32),
                                   .gridDimZ = (uint32_t)call->grid_z_block_x,
                                   .blockDimX = (uint32_t)(call->grid_z_block_x >> 32),
                                   .blockDimY = (uint32_t)call->block_y_z,
                                   .blockDimZ = (uint32_t)(call->block_y_z >> 32),
                                   .sharedMemBytes = (uint32_t)call->shared_cooperative,
                                   .hStream = call->stream,
                                   .attrs = &attribute,
                                   .numAttrs = call->shared_cooperative >> 32 != 0};

    if (record->extra != kernel->bytes)
        return SESSION_WRONG;
    for (uint32_t i = 0; i < kernel->count; i++)
        parameters[i] = weft_record_extra(record) + kernel->parameters[i].offset;
    return session->table->launch(&config, kernel->function, parameters, NULL);
}
