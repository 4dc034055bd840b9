/*
 * msg/context.h - contexts: where messages match. One for each communicator of host programs, by
 * its handle.
 *
 * A message may come before this process has used its communicator, or has even heard of it. The
 * context is made then, and its members become known when the program first names it.
 */
#ifndef WEFT_MSG_CONTEXT_H
#define WEFT_MSG_CONTEXT_H

#include "abi/window.h"
#include "msg/match.h"
#include "weft/types.h"

struct weft_msg_context {
    struct weft_msg_context *next; /* in its bin */
    weft_comm handle;
    int members;  /* 0: not known yet */
    int *process; /* of each member; NULL: process i is member i */
    int *member;  /* of each process, -1: none; NULL: process i is member i */
    /* What a message with that tag belongs to, in words; NULL: the tag says it. */
    void (*words)(const void *of, int tag, char *text, size_t bytes);
    const void *words_of;
    struct weft_match match;
};

enum { WEFT_CONTEXT_BINS = 1 << 14 };

struct weft_contexts {
    struct weft_msg_context *bin[WEFT_CONTEXT_BINS], *last; /* last: the one found last, or NULL */
};

/* Handles of groups that a front end numbers. Their place is none of a table of communicators. */
#define WEFT_GROUP_PLACE ((1u << WEFT_HANDLE_BITS) - 1)
static inline weft_comm weft_group_handle(uint32_t number)
{
    return number << WEFT_HANDLE_BITS | WEFT_GROUP_PLACE;
}
static inline bool weft_group_is(weft_comm handle)
{
    return weft_handle_index(handle) == WEFT_GROUP_PLACE;
}

/* weft_context_bin: the bin of a handle. _look: searches it for the context; NULL: there is
 * none. */
struct weft_msg_context **weft_context_bin(struct weft_contexts *contexts, weft_comm handle);
struct weft_msg_context *weft_context_look(struct weft_contexts *contexts, weft_comm handle);
static inline struct weft_msg_context *weft_context_find(struct weft_contexts *contexts,
                                                         weft_comm handle)
{
    if (contexts->last != NULL && contexts->last->handle == handle)
        return contexts->last;
    return weft_context_look(contexts, handle);
}

/* Makes a context without members. NULL: no memory. */
struct weft_msg_context *weft_context_make(struct weft_contexts *contexts, weft_comm handle);

/* Tells a context its members' processes, which are copied. False: no memory. */
bool weft_context_know(struct weft_msg_context *context, const int *process, int members,
                       int processes);

/* Frees a context and the messages in it, which were malloc'ed and begin with their weft_kept. */
void weft_context_drop(struct weft_contexts *contexts, struct weft_msg_context *context);
/* Frees all contexts, as weft_context_drop does. */
void weft_contexts_close(struct weft_contexts *contexts);

static inline int weft_context_process(const struct weft_msg_context *context, int member)
{
    return context->process != NULL ? context->process[member] : member;
}
static inline int weft_context_member(const struct weft_msg_context *context, int process)
{
    return context->member != NULL ? context->member[process] : process;
}

#endif
