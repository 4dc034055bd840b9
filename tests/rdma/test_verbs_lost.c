/*
 * rdma/test_verbs_lost.c - the other end is gone without a word: a put to it is an error that names
 * it, soon, and never waits on. And bad choices of a device give one line.
 */
#include "base/say.h"
#include "support/fault_job.h"
#include "verbs_pair.h"

static void lose_connected(void)
{
    uint64_t value = 1;
    weft_status status = WEFT_OK;

    pair_open("rxe0,rxe1", NULL);
    pair_put(0, 0, &value, sizeof(value), weft_notice(WEFT_NOTICE_COUNT, 1, 1));
    PAIR_UNTIL(pair[0].delivered == 1);
    weft_net_close(pair[1].net);
    pair[1].net = NULL;
    pair_put(0, 0, &value, sizeof(value), weft_notice(WEFT_NOTICE_COUNT, 1, 1));
    const uint64_t from = weft_now_ns();
    while (status == WEFT_OK && (double)(weft_now_ns() - from) < 20e9 * fault_scale())
        status = pair_turn();
    printf("noticed after %.1f s: %s\n", (double)(weft_now_ns() - from) * 1e-9, weft_err_last());
    CHECK(status == WEFT_ERR_PEER_LOST);
    CHECK(strstr(weft_err_last(), "the connection to process 1 broke: a packet on rxe0:1: ") !=
          NULL);
    CHECK(strstr(weft_err_last(), "retry") != NULL);
    CHECK((double)(weft_now_ns() - from) < 10e9 * fault_scale());
    CHECK(pair[0].delivered == 1);
    pair_close();
}

/* It was gone before anything was put to it: the connection is never answered. */
static void lose_unconnected(void)
{
    const uint64_t value = 1;
    weft_status status = WEFT_OK;

    pair_open("rxe0,rxe1", NULL);
    pair[0].config.connect_s = 1;
    weft_net_close(pair[1].net);
    pair[1].net = NULL;
    const struct weft_net_put put = {
        .process = 1, .key = pair[1].key, .source = &value, .bytes = sizeof(value)};
    const uint64_t from = weft_now_ns();
    CHECK(weft_net_put(pair[0].net, &put) == WEFT_OK); /* it waits */
    while (status == WEFT_OK && weft_now_ns() - from < PAIR_HANG_NS)
        status = pair_turn();
    CHECK(status == WEFT_ERR_PEER_LOST);
    CHECK(strstr(weft_err_last(), "process 1 has not answered for 1.0 s") != NULL);
    CHECK(pair[0].delivered == 0);
    pair_close();
}

static void choose_badly(void)
{
    static const struct {
        const char *device, *says;
    } choices[] = {
        {"rxe7", "none is called rxe7"},
        {"rxe0:2", "DEVICE=rxe0:2: rxe0 cannot be used: it has no such port"},
        {"rxe0:x", "\"name:port\""},
        {":1", "\"name:port\""},
        {"rxe0,", "rxe0:1, Ethernet"}, /* process 0's is good */
    };
    struct weft_config config;

    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        struct weft_net *net;
        const struct weft_net_open open = {.config = &config, .processes = 1};
        if (weft_config_load(&config, NULL, NULL) != WEFT_OK)
            exit(1);
        snprintf(config.verbs_device, sizeof(config.verbs_device), "%s", choices[i].device);
        const weft_status status = weft_net_open(&net, &weft_transport_verbs, &open);
        if (status == WEFT_OK) {
            CHECK(strchr(choices[i].device, ',') != NULL);
            weft_net_close(net);
            continue;
        }
        CHECK(status == WEFT_ERR_CONFIG && strstr(weft_err_last(), choices[i].says) != NULL);
    }
}

int main(void)
{
    setbuf(stdout, NULL);
    lose_connected();
    lose_unconnected();
    choose_badly();
    printf("%d checks failed\n", failures);
    return failures != 0;
}
