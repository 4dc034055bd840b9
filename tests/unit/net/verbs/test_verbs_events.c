/*
 * What a device says besides completions: which of its events end the job and how, which one only
 * begins to count, and that whose a queue pair is follows from its number alone, however the
 * device numbers them. The real code of net/verbs runs, over functions that stand for the driver's.
 */
#include "base/say.h"
#include "base/task.h"
#include "net/verbs/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PROCESSES = 20, CONTROL = 7, GRH = 40, LONG = 16 * 100 };

static struct weft_config config;
static struct weft_transport t;
static struct ibv_context context;
static struct ibv_cq cq = {.context = &context};
static struct ibv_qp qps[PROCESSES];
static uint32_t numbers[PROCESSES]; /* that the device gives, in turn */
static int made, acknowledged;
static struct ibv_async_event waiting;
static bool has_event;
static struct ibv_wc arrived;
static bool has_arrived;

/* ---- what stands for the driver -------------------------------------------------------------- */

int __wrap_ibv_get_async_event(struct ibv_context *c, struct ibv_async_event *event);
int __wrap_ibv_get_async_event(struct ibv_context *c, struct ibv_async_event *event)
{
    (void)c;
    if (!has_event)
        return -1;
    has_event = false;
    *event = waiting;
    return 0;
}
void __wrap_ibv_ack_async_event(struct ibv_async_event *event);
void __wrap_ibv_ack_async_event(struct ibv_async_event *event)
{
    (void)event;
    acknowledged++;
}
/* The kernel may answer late: nothing that a service does asks. */
#undef ibv_query_port
int __wrap_ibv_query_port(struct ibv_context *c, uint8_t number,
                          struct _compat_ibv_port_attr *attr);
int __wrap_ibv_query_port(struct ibv_context *c, uint8_t number, struct _compat_ibv_port_attr *attr)
{
    (void)c, (void)number, (void)attr;
    fail();
    return -1;
}
struct ibv_qp *__wrap_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *__wrap_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    (void)pd, (void)attr;
    qps[made].qp_num = numbers[made];
    qps[made].context = &context;
    return &qps[made++];
}
int __wrap_ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int __wrap_ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    (void)qp, (void)attr, (void)mask;
    return 0;
}
struct ibv_ah *__wrap_ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
struct ibv_ah *__wrap_ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    static struct ibv_ah way;

    (void)pd, (void)attr;
    return &way;
}
static int poll_cq(struct ibv_cq *queue, int room, struct ibv_wc *wc)
{
    (void)queue, (void)room;
    *wc = arrived;
    const int count = has_arrived;
    has_arrived = false;
    return count;
}
static int post_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    (void)srq, (void)wr, (void)bad;
    return 0;
}
static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    (void)qp, (void)wr, (void)bad;
    return 0;
}

/* ---- a process on it ------------------------------------------------------------------------- */

static struct weft_transport_event events[8];

static int receive(void)
{
    return weft_verbs_poll_receive(&t, events, 8);
}

static int arrives(uint32_t qpn, size_t bytes)
{
    arrived = (struct ibv_wc){.qp_num = qpn, .byte_len = (uint32_t)bytes, .opcode = IBV_WC_RECV};
    has_arrived = true;
    return receive();
}

/* A process asks to be connected. */
static void asks(int process)
{
    const struct weft_verbs_control what = {.token = t.address.token,
                                            .kind = WEFT_VERBS_REQUEST,
                                            .process = (uint32_t)process,
                                            .qpn = 1000 + (uint32_t)process};

    memcpy(t.memory + GRH, &what, sizeof(what));
    assert_int_equal(arrives(CONTROL, GRH + sizeof(what)), 0);
}

static void open_process(void)
{
    static struct ibv_srq srq = {.context = &context};
    static struct ibv_mr mr;
    static struct ibv_qp control = {.context = &context, .qp_num = CONTROL};

    memset(&t, 0, sizeof(t));
    made = acknowledged = 0;
    has_event = has_arrived = false;
    assert_int_equal(weft_config_load(&config, NULL, NULL), WEFT_OK);
    config.verbs_timeout = 1; /* the shortest retries */
    context.ops.poll_cq = poll_cq;
    context.ops.post_srq_recv = post_recv;
    context.ops.post_send = post_send;
    t.open = (struct weft_net_open){.config = &config, .processes = PROCESSES};
    t.peers = calloc(PROCESSES, sizeof(*t.peers));
    t.memory = calloc(2, WEFT_VERBS_LONGEST);
    t.receives = 1;
    t.mr = &mr;
    t.srq = &srq;
    t.receive_cq = &cq;
    t.control.qp = &control;
    t.address = (struct weft_verbs_address){.token = 77, .control = CONTROL, .mtu = 5};
    t.device.context = &context;
    t.device.port = 1;
    strcpy(t.device.name, "test:1");
    assert_int_equal(weft_verbs_table_open(&t), WEFT_OK);
    for (int p = 0; p < PROCESSES; p++) {
        t.peers[p].address = t.address;
        asks(p);
    }
    assert_int_equal(made, PROCESSES);
}

static void close_process(void)
{
    free(t.by_qpn);
    free(t.peers);
    free(t.memory);
}

/* Idle rounds in which the device's events are read, once. */
static int says(enum ibv_event_type type)
{
    waiting = (struct ibv_async_event){.event_type = type};
    if (type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_ACCESS_ERR ||
        type == IBV_EVENT_QP_REQ_ERR)
        waiting.element.qp = &qps[3];
    else
        waiting.element.port_num = 1;
    has_event = true;
    acknowledged = 0;
    t.looked_at = 0;
    int result = 0;
    for (int i = 0; i < LONG && result == 0 && has_event; i++)
        result = receive();
    assert_int_equal(acknowledged, 1);
    return result;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void owners(void **state)
{
    (void)state;
    for (int numbering = 0; numbering < 3; numbering++) {
        for (uint32_t p = 0; p < PROCESSES; p++) /* in turn; all alike below; about the end */
            numbers[p] = numbering == 0   ? 100 + p
                         : numbering == 1 ? (p + 1) << 12 | 63
                                          : WEFT_VERBS_QPN_MOST - p;
        open_process();
        for (uint32_t p = 0; p < PROCESSES; p++) {
            assert_int_equal(weft_verbs_process(&t, numbers[p]), p);
            assert_int_equal(arrives(numbers[p], 40), 1);
            assert_int_equal(events[0].process, p);
        }
        assert_int_equal(weft_verbs_process(&t, 5), -1);
        assert_int_equal(arrives(5, 40), -(int)WEFT_ERR_PROTOCOL);
        close_process();
    }
}

static void errors(void **state)
{
    (void)state;
    open_process();
    assert_int_equal(says(IBV_EVENT_COMM_EST), 0);
    assert_int_equal(says(IBV_EVENT_GID_CHANGE), 0);
    assert_int_equal(says(IBV_EVENT_SRQ_LIMIT_REACHED), 0);
    assert_int_equal(says(IBV_EVENT_DEVICE_FATAL), -(int)WEFT_ERR_NETWORK);
    assert_non_null(strstr(weft_err_last(), "test:1 has failed"));
    assert_int_equal(says(IBV_EVENT_CQ_ERR), -(int)WEFT_ERR_NETWORK);
    assert_int_equal(says(IBV_EVENT_SRQ_ERR), -(int)WEFT_ERR_NETWORK);
    assert_int_equal(says(IBV_EVENT_QP_FATAL), -(int)WEFT_ERR_NETWORK);
    assert_int_equal(says(IBV_EVENT_QP_ACCESS_ERR), -(int)WEFT_ERR_PROTOCOL);
    assert_non_null(strstr(weft_err_last(), "process 3"));
    assert_int_equal(says(IBV_EVENT_QP_REQ_ERR), -(int)WEFT_ERR_PROTOCOL);
    qps[3].qp_num = 5; /* whose it is nobody knows, as of one to which several send */
    assert_int_equal(says(IBV_EVENT_QP_ACCESS_ERR), -(int)WEFT_ERR_PROTOCOL);
    assert_non_null(strstr(weft_err_last(), "what some process sent"));
    close_process();
}

/* A port that is down may come back; who is cut off for long is lost. */
static void port(void **state)
{
    (void)state;
    open_process();
    t.open.process = 0;
    t.peers[1].ready = 1;
    assert_int_equal(says(IBV_EVENT_PORT_ERR), 0);
    assert_true(t.down_since != 0);
    assert_int_equal(says(IBV_EVENT_PORT_ACTIVE), 0);
    assert_int_equal(t.down_since, 0);
    t.device.port = 2; /* another one's */
    assert_int_equal(says(IBV_EVENT_PORT_ERR), 0);
    assert_int_equal(t.down_since, 0);
    t.device.port = 1;
    assert_int_equal(says(IBV_EVENT_PORT_ERR), 0);
    t.down_since = 1; /* long ago */
    assert_int_equal(says(IBV_EVENT_COMM_EST), 1);
    assert_int_equal(events[0].kind, WEFT_EVENT_LOST);
    assert_int_equal(events[0].process, 1);
    assert_non_null(strstr(events[0].text, "test:1 has been down for"));
    close_process();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(owners), cmocka_unit_test(errors),
                                       cmocka_unit_test(port)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
