/*
 * order/order.h - the labels of every acquire and release on the way of data and notifications.
 *
 * Each ordered operation there carries one of these labels. The label says what the order is for
 * and with which label it pairs. In random mode a label can be weakened to "relaxed" by name
 * (WEFT_MUTATE=name), which is how tests/litmus proves that each is needed. The few words that only
 * steer tasks (`failed`, `stop`, `slots`, those that end a task) have none.
 */
#ifndef WEFT_ORDER_ORDER_H
#define WEFT_ORDER_ORDER_H

/* X(label, "what it orders; the label it pairs with") */
#define WEFT_ORDER_MAP(X)                                                                          \
    X(count_add_local, "notify inside a process: all before it; pairs with count_read_local")      \
    X(count_read_local, "wait sees what the notifier did; pairs with count_add_local")             \
    X(count_add_peer, "notify to a mapped process: all before it; pairs with count_read_peer")     \
    X(count_read_peer, "wait sees what the notifier did; pairs with count_add_peer")               \
    X(count_store_host, "received data before its count; pairs with count_read_host")              \
    X(count_read_host, "wait sees what the host received; pairs with count_store_host")            \
    X(command_commit, "all a rank did before its command; pairs with command_poll")                \
    X(command_poll, "the host sees what the rank did; pairs with command_commit")                  \
    X(command_credit, "the host has read the lines it frees; pairs with command_space")            \
    X(command_space, "a rank overwrites only lines the host has read; pairs with command_credit")  \
    X(done_local, "the host has read a put's source; pairs with done_local_seen")                  \
    X(done_local_seen, "flush_local frees sources only then; pairs with done_local")               \
    X(done_remote, "a put is delivered; pairs with done_remote_seen")                              \
    X(done_remote_seen, "flush, or a direct put after a proxied one; pairs with done_remote")      \
    X(reply_post, "tables and values of a reply; pairs with reply_seen")                           \
    X(reply_seen, "a rank uses what the host replied; pairs with reply_post")                      \
    X(ring_publish, "the bytes of a packet; pairs with ring_poll")                                 \
    X(ring_poll, "a receiver reads whole packets; pairs with ring_publish")                        \
    X(ring_credit, "a packet was read and applied; pairs with ring_space")                         \
    X(ring_space, "a sender overwrites only what was read; pairs with ring_credit")                \
    X(deliver_small, "data received before a small put that is polled; pairs with watch")          \
    X(fence, "a rank's stores before its later small puts; pairs with watch")                      \
    X(eager_notice, "what went directly before a notice in a channel; pairs with eager_seen")      \
    X(eager_seen, "who takes the notice sees it; pairs with eager_notice")                         \
    X(eager_credit, "lines were read and payloads stored; pairs with eager_space")                 \
    X(eager_space, "a sender overwrites them only then; pairs with eager_credit")                  \
    X(mail_publish, "a frame, its payload, all before it; pairs with mail_poll")                   \
    X(mail_poll, "who reads the frame sees that; pairs with mail_publish")                         \
    X(mail_credit, "frames were read and used; pairs with mail_space")                             \
    X(mail_space, "a sender overwrites them only then; pairs with mail_credit")                    \
    X(shared_post, "a part of a collective, and those before were read; pairs with shared_seen")   \
    X(shared_seen, "it is read, and written over, only then; pairs with shared_post")              \
    X(update, "all before an atomic update of a word; pairs with update_seen")                     \
    X(update_seen, "who updates the word next sees it; pairs with update")                         \
    X(ask_post, "an ask and what came before it, for who answers; pairs with ask_seen")            \
    X(ask_seen, "the answer is of what is there by then; pairs with ask_post")                     \
    X(ask_credit, "an answer was read and applied; pairs with ask_space")                          \
    X(ask_space, "a place is used again only then; pairs with ask_credit")                         \
    X(answer_post, "what a get brought, before its answer; pairs with answer_seen")                \
    X(answer_seen, "the rank uses what it asked for; pairs with answer_post")                      \
    X(task_give, "a task, or that one is done, and all before it; pairs with task_take")           \
    X(task_take, "who takes it sees that; pairs with task_give")                                   \
    X(task_done, "all that a recorded task did before its epoch is told; pairs with task_seen")    \
    X(task_seen, "a task that waits for it sees that; pairs with task_done")                       \
    X(nic_wqe, "requests before the record that says they are there; pairs with nic_fetch")        \
    X(nic_fetch, "a NIC reads whole requests, and their data; pairs with nic_wqe")                 \
    X(nic_ring, "the record before the doorbell; pairs with nic_rung")                             \
    X(nic_rung, "a NIC finds the record as far as it was rung for; pairs with nic_ring")           \
    X(nic_cqe, "a NIC has read, and fetched, before it says so; pairs with nic_cqe_seen")          \
    X(nic_cqe_seen, "a rank uses slots, sources and what came; pairs with nic_cqe")                \
    X(nic_slot, "a request in slots of a shared queue, before the next; pairs with nic_slot_seen") \
    X(nic_slot_seen, "who rings, or is next, has seen it; pairs with nic_slot")                    \
    X(nic_free, "a completion of a shared queue was seen; pairs with nic_free_seen")               \
    X(nic_free_seen, "its slots and sources are used again only then; pairs with nic_free")        \
    X(nic_count_read, "wait sees what a NIC wrote before it counted; pairs with update")           \
    X(heap_give, "all before a block was freed; pairs with heap_take")                             \
    X(heap_take, "who gets its memory next comes after that; pairs with heap_give")                \
    X(words_post, "a member has read two steps of flagged words back; pairs with words_seen")      \
    X(words_seen, "their words are written again only then; pairs with words_post")                \
    X(piece_post, "a piece, and that those before were read; pairs with piece_seen")               \
    X(piece_seen, "it is read, and buffers written again, only then; pairs with piece_post")       \
    X(watch, "wait_until sees what was fenced before the value; pairs with fence")

/* The labels of remote GPUs, which tests/remote weakens. */
#define WEFT_ORDER_REMOTE_MAP(X)                                                                   \
    X(record_post, "what delivered before a record, and the record; pairs with record_take")       \
    X(record_take, "who takes the record sees that; pairs with record_post")

enum weft_order {
    ORDER_none = 0, /* no mutation selected */
#define WEFT_ORDER_ENUM(label, text) ORDER_##label,
    WEFT_ORDER_MAP(WEFT_ORDER_ENUM)
    /* Drains, which a test may switch off by name, too. */
    DRAIN_commands, /* proxy: ranks' command rings */
    DRAIN_receive,  /* receive thread: arrivals from the network */
    DRAIN_progress, /* progress thread: sends and completions under way */
    DRAIN_messages, /* whoever looks: messages that have arrived */
    DRAIN_sources,  /* flush, flush_local: sources of direct puts that are read late */
    ORDER_LITMUS_LAST = DRAIN_sources, /* last of those that tests/litmus weakens and drops */
    WEFT_ORDER_REMOTE_MAP(WEFT_ORDER_ENUM)
    /* Remote GPUs: what a copy between processes waits for. */
    COPY_gate, /* the stream waits for the copy */
    COPY_go,   /* the source waits until the stream has come so far */
    COPY_done, /* the owner waits until all is delivered */
    ORDER_COUNT
#undef WEFT_ORDER_ENUM
};

/* The label weakened (or drain dropped) in this process; ORDER_none outside the mutation check. */
extern enum weft_order weft_mutation;

/* ORDER_none if there is no such label. */
enum weft_order weft_order_by_name(const char *name);
const char *weft_order_name(enum weft_order label);

#endif
