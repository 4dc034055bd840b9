/*
 * fuzz_remote_reply.c - what a server sends at a program: answers, whoever waits for them or not,
 * and notices of copies. An input is a list of calls of the program, and of what comes meanwhile.
 */
#include "fuzz.h"

#include "base/say.h"
#include "remote/client/inside.h"

uint64_t fuzz_remote_records; /* sent so far */
static struct fuzz_bytes input;
static unsigned char rings[2][WEFT_RING_BYTES] __attribute__((aligned(16)));
static struct client_library library = {.image = "image", .bytes = 6};
static struct client_kernel *kernel;
static CUdeviceptr memory; /* of the device, as far as the program knows */

static struct weft_link_completion *put_last; /* which the network still reads */

/* ---- the network ----------------------------------------------------------------------------- */

static void answer(void)
{
    struct weft_ring_in *in = &client.links.link[1].in;
    const unsigned wrong = fuzz_byte(&input);
    const uint32_t words = fuzz_byte(&input) % 12, extra = wrong & 16 ? fuzz_byte(&input) * 8 : 0,
                   whole =
                       (uint32_t)(sizeof(struct weft_record) + words * 8 + extra + 15) / 16 * 16;
    struct weft_record *record =
        (struct weft_record *)(void *)(in->memory + in->head % WEFT_RING_BYTES);

    if (WEFT_RING_BYTES - in->head % WEFT_RING_BYTES < whole)
        return;
    *record = (struct weft_record){.call = wrong % 16 == 15   ? 3
                                           : wrong % 16 == 12 ? WEFT_CALL_output
                                                              : WEFT_CALL_answer,
                                   .lane = wrong % 16 == 14 ? (uint8_t)fuzz_byte(&input) : 1,
                                   .bytes = whole,
                                   .extra = extra,
                                   .words = words};
    for (uint32_t i = 0; i < words; i++)
        weft_record_words(record)[i] = i == 0 && wrong < 224 ? wrong % 16 == 12
                                       : (wrong & 32) != 0
                                           ? client.device[0].base + 4096 * fuzz_number(&input)
                                           : fuzz_number(&input);
    for (uint32_t i = 0; i < extra; i++)
        weft_record_extra(record)[i] = (unsigned char)(' ' + fuzz_byte(&input) % 32);
    if (wrong % 16 == 13)
        ((unsigned char *)record)[fuzz_byte(&input) % sizeof(*record)] = (uint8_t)fuzz_byte(&input);
    fuzz_remote_records += weft_ring_in_came(in, whole);
}

weft_status __wrap_weft_net_progress(struct weft_net *net, enum weft_net_side side, bool *did);
weft_status __wrap_weft_net_progress(struct weft_net *net, enum weft_net_side side, bool *did)
{
    (void)net;
    if (side != WEFT_NET_RECEIVE)
        return WEFT_OK;
    if (input.size == 0)
        return WEFT_ERR_PEER_LOST;
    *did = true;
    if (fuzz_byte(&input) < 200) {
        answer();
        return WEFT_OK;
    }
    const unsigned step = fuzz_byte(&input) % WEFT_COPY_STEPS;
    const weft_status status =
        client_copy_notice(NULL, 1, (enum weft_copy_step)step, fuzz_byte(&input) % 8);
    for (const struct weft_sending *s = client.sources.first; s != NULL; s = s->next)
        MUST(client.copies[s->send.number].used); /* what it reads stays */
    return status;
}

weft_status __wrap_weft_net_put(struct weft_net *net, const struct weft_net_put *what);
weft_status __wrap_weft_net_put(struct weft_net *net, const struct weft_net_put *what)
{
    (void)net;
    if (what->cookie != NULL)
        put_last = what->cookie;
    return WEFT_OK;
}

weft_status __wrap_weft_net_reg(struct weft_net *net, void *base, size_t bytes, bool own,
                                uint64_t *key);
weft_status __wrap_weft_net_reg(struct weft_net *net, void *base, size_t bytes, bool own,
                                uint64_t *key)
{
    (void)net, (void)base, (void)bytes, (void)own;
    *key = 1;
    return WEFT_OK;
}

void __wrap_weft_net_dereg(struct weft_net *net, uint64_t key);
void __wrap_weft_net_dereg(struct weft_net *net, uint64_t key)
{
    (void)net, (void)key;
}

struct weft_bell *__wrap_weft_net_bell(const struct weft_net *net, enum weft_net_side side);
struct weft_bell *__wrap_weft_net_bell(const struct weft_net *net, enum weft_net_side side)
{
    (void)net, (void)side;
    return NULL;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* A server that says a copy is over, before all was put, and before the network has read it. */
static void end_early(void)
{
    static char host[1000];
    struct client_copy copy = {.send = {.owner = 1,
                                        .process = 1,
                                        .device = -1,
                                        .from = (uint64_t)(uintptr_t)host,
                                        .bytes = sizeof(host)}};
    uint32_t number;
    bool did;

    MUST(weft_plan_parse(&copy.send.plan, "once:2x4K") == WEFT_OK);
    MUST(client_number(&copy, &number) == CUDA_SUCCESS);
    MUST(client_copy_notice(NULL, 1, WEFT_COPY_GO, number) == WEFT_OK);
    MUST(client_copy_notice(NULL, 1, WEFT_COPY_FREE, number) == WEFT_ERR_PROTOCOL);
    MUST(weft_sources_pump(&client.sources, &did) == WEFT_OK);
    MUST(client_copy_notice(NULL, 1, WEFT_COPY_FREE, number) == WEFT_OK);
    MUST(client.copies[number].used && client.readers == 1);
    put_last->delivered(put_last);
    (void)weft_sources_pump(&client.sources, &did);
    MUST(!client.copies[number].used && client.readers == 0);
}

/* A server that says it has allocated where another one's memory lies, to find out whether a device
 * reaches its own: what that device has mapped there stays. */
static void lie(void)
{
    static const uint8_t answer_of_alloc[] = {0, 32, 2, 127};
    struct client_device *device = &client.device[0], *liar = &client.device[1];
    const uint64_t lied = device->base + 4096 * 127;

    client.met = 2;
    client.direct = true;
    client.server[2] = (struct client_server){"two", 1, 1};
    client.links.processes = 3;
    client.links.link[2].out.mirror = rings[1];
    *liar = (struct client_device){
        .known = {.process = 2}, .base = device->base + (2ull << 30), .span = 1 << 30};
    MUST(weft_ranges_add(&device->reached, lied, 4096));
    input = (struct fuzz_bytes){answer_of_alloc, sizeof(answer_of_alloc)};
    MUST(!client_can_reach(&device->known, &liar->known));
    MUST(device->reached.count == 1);
    device->reached.count = 0;
    client.met = 1;
    client.direct = false;
    client.links.processes = 2;
    client.links.status = WEFT_OK;
}

static void begin(void)
{
    const bool first = kernel == NULL;

    if (first) {
        (void)weft_err_level(WEFT_SAY_INFO);
        weft_say_level(WEFT_SAY_ERROR);
        MUST(client_library_kernel((CUkernel *)&kernel, (CUlibrary)&library, "k") == CUDA_SUCCESS);
        client.server[1] = (struct client_server){"one", 0, 1};
        client.device[0].known.process = 1;
        client.device[0].base = 0x200000000000;
        client.device[0].span = 1 << 30;
        client.known.at[0] = &client.device[0].known;
        client.met = client.known.count = 1;
        MUST(client_context_use((CUcontext)(void *)client.known.at[0]) == CUDA_SUCCESS);
    }
    client.links = (struct weft_record_links){.config.stage_memory = 16 << 20,
                                              .processes = 2,
                                              .lost = -1,
                                              .control_next = UINT64_MAX,
                                              .copy = client_copy_notice};
    client.links.link[1].in.memory = rings[0];
    client.links.link[1].out.mirror = rings[1];
    client.sources = (struct weft_sources){.links = &client.links};
    client.open = true;
    memory = client.device[0].base;
    if (first) {
        const struct fuzz_bytes given = input;
        end_early();
        lie();
        input = given;
    }
}

static void end(void)
{
    MUST(client.last_calling - client.first_calling <= WEFT_COPIES);
    for (uint32_t i = client.first_calling; i != client.last_calling; i++)
        MUST(client.copies[client.calling[i % WEFT_COPIES]].run != NULL);
    memset(client.lanes, 0, sizeof(client.lanes));
    memset(client.copies, 0, sizeof(client.copies));
    client.next_copy = client.writers = client.readers = client.first_calling =
        client.last_calling = 0;
    weft_sources_close(&client.sources);
    client_managed_stop();
    while (client.regions != NULL)
        client_region_drop(client.regions);
    client_forget_memory(&client.device[0]);
    client.device[0].paging = NULL;
    client.device[0].globals.count = 0;
    free(kernel->parameters);
    kernel->parameters = NULL;
    kernel->on[0].handle = library.handles[1] = 0;
    free(client.links.link[1].notices);
}

static void nothing(void *argument)
{
    (void)argument;
}

/* One call, whatever comes of it. */
static void call(unsigned which)
{
    static char host[1 << 20];
    static CUstream stream;
    static CUevent event;
    size_t a = 0, b = 0;
    float ms;
    int value;
    CUfunction function = (CUfunction)(void *)kernel;
    char parameters[1 << 15] = {0};
    void *all[WEFT_KERNEL_PARAMETERS];

    for (int i = 0; i < WEFT_KERNEL_PARAMETERS; i++)
        all[i] = parameters;
    switch (which % 16) {
    case 0:
        (void)client_stream_create(&stream, 0, 0);
        break;
    case 1:
        (void)client_event_create(&event, 0);
        break;
    case 2:
        if (which < 128)
            (void)client_alloc(&memory, 1 << 20);
        else if (client_alloc_managed(&memory, 100000, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS)
            MUST(memory - client.device[0].base < (1 << 30) - 100000u); /* it is mapped there */
        break;
    case 3:
        (void)client_free(memory);
        break;
    case 4:
        (void)client_mem_info(&a, &b);
        break;
    case 5:
        if (client_library_global(&memory, &a, (CUlibrary)&library, "g") == CUDA_SUCCESS &&
            a < sizeof(host)) /* cudart finds no such variable */
            memory = client.device[0].base;
        break;
    case 6:
        (void)client_kernel_function(&function, (CUkernel)kernel);
        break;
    case 7:
        (void)client_launch(&(CUlaunchConfig){1, 1, 1, 1, 1, 1, 0, stream, NULL, 0}, function, all,
                            NULL);
        break;
    case 8:
        (void)client_copy((CUdeviceptr)host, memory, 1000);
        break;
    case 9:
        (void)client_copy((CUdeviceptr)host, memory, sizeof(host));
        break;
    case 10:
        (void)client_copy_async(memory, (CUdeviceptr)host, sizeof(host), stream);
        break;
    case 11:
        (void)client_event_elapsed(&ms, event, event);
        break;
    case 12:
        (void)client_function_attribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
        break;
    case 13:
        (void)client_stream_wait_event(stream, event, 0);
        break;
    case 14:
        (void)client_launch_host(NULL, nothing, NULL);
        break;
    default:
        (void)client_stream_synchronize(stream);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nowhere;
    FILE *const before = stdout;

    if (nowhere == NULL && (nowhere = fopen("/dev/null", "w")) == NULL)
        return 0;
    stdout = nowhere; /* what servers say that kernels have printed */
    input = (struct fuzz_bytes){data, size};
    begin();
    while (input.size > 0) {
        struct weft_ring_in *in = &client.links.link[1].in;
        call(fuzz_byte(&input));
        if (client.links.status != WEFT_OK) { /* a program ends: here it goes on */
            client.links.status = WEFT_OK;
            in->tail = in->head;
        }
    }
    end();
    stdout = before;
    return 0;
}
