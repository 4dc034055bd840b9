/*
 * remote/session/share.c - pinned memory of a program on this host, as the session has mapped it:
 * its copies are the driver's own, in their stream, and no processor moves a byte. Session's thread
 * only.
 */
#include "remote/session/inside.h"

#include <stdlib.h>

struct session_share {
    struct session_share *next;
    struct weft_share share;
    unsigned char *memory;
};

void *session_shared(const struct weft_session *session, uint64_t address, uint64_t bytes)
{
    for (const struct session_share *s = session->shares; s != NULL; s = s->next)
        if (address - s->share.address < s->share.bytes &&
            bytes <= s->share.bytes - (address - s->share.address))
            return s->memory + (address - s->share.address);
    return NULL;
}

CUresult session_pin(struct weft_session *session, void *memory, size_t bytes)
{
    CUresult result = session_use(session, 0);

    if (result == CUDA_SUCCESS)
        result = session->table->host_register(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE);
    return result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED ? CUDA_SUCCESS : result;
}

static void drop(struct weft_session *session, struct session_share **at)
{
    struct session_share *share = *at;

    *at = share->next;
    if (session_use(session, 0) == CUDA_SUCCESS)
        session->table->host_unregister(share->memory);
    weft_share_unmap(share->memory, &share->share, session->links.one_address_space);
    free(share);
}

SESSION_DO(share)
{
    const char *reason = NULL;

    if (!session->links.shares_memory)
        return SESSION_WRONG;
    struct session_share *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *s = (struct session_share){.share = call->share, .next = session->shares};
    s->memory = weft_share_map(&s->share, session->links.one_address_space, &reason);
    if (s->memory == NULL) {
        free(s);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    session->shares = s;
    const CUresult result = session_pin(session, s->memory, s->share.bytes);
    if (result != CUDA_SUCCESS)
        drop(session, &session->shares);
    return (int)result;
}

/* Forgets shared memory. The program has waited for what uses it. */
SESSION_DO(unshare)
{
    for (struct session_share **at = &session->shares; *at != NULL; at = &(*at)->next)
        if ((*at)->share.address == call->address) {
            drop(session, at);
            return CUDA_SUCCESS;
        }
    return SESSION_WRONG;
}

void session_shares_close(struct weft_session *session)
{
    while (session->shares != NULL)
        drop(session, &session->shares);
}
