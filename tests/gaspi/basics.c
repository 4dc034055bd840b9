/* tests/gaspi/basics.c - configuration, segments, limits, texts, statistics. */
#include "gaspi_test.h"

/* Before the library is open. */
void configuration_before(void)
{
    gaspi_config_t config, other;
    gaspi_number_t open = 7;
    gaspi_time_t then = 0, now = 0;
    gaspi_cycles_t ticks = 0;
    float version = 0;

    GOOD(gaspi_time_get(&then));
    GOOD(gaspi_time_ticks(&ticks));
    GOOD(gaspi_time_get(&now));
    CHECK(then > 0 && now >= then && ticks > 0);

    GOOD(gaspi_version(&version));
    CHECK(version > 17 && version < 18);
    GOOD(gaspi_initialized(&open));
    CHECK(open == 0);
    GOOD(gaspi_config_get(&config));
    CHECK(config.queue_size_max == 1024 && config.queue_num == 8 && config.group_max == 32);
    CHECK(config.segment_max == 255 && config.notification_num == 65536);
    CHECK(config.transfer_size_max == 1ul << 30 && config.passive_transfer_size_max == 65535);
    CHECK(config.passive_queue_size_max == 1024 && config.rw_list_elem_max == 255);
    CHECK(config.sn_port == 12121 && config.sn_timeout == 30000 && config.user_net == 0);
    CHECK(config.dev_config.params.ib.netdev_id == -1 &&
          config.dev_config.params.tcp.port == 19000);
    CHECK(config.dev_config.params.ofi.use_shm == 1 &&
          config.dev_config.params.ofi.progress_auto == 1);
    CODE(GASPI_ERR_NULLPTR, gaspi_config_get(NULL));
    CODE(GASPI_ERR_NULLPTR, gaspi_version(NULL));
    CODE(GASPI_ERR_NULLPTR, gaspi_initialized(NULL));
#define BAD(field, value)                                                                          \
    other = config, other.field = (value);                                                         \
    CODE(GASPI_ERR_CONFIG, gaspi_config_set(other))
    BAD(queue_num, 0);
    BAD(queue_num, 17);
    BAD(queue_size_max, 4097);
    BAD(group_max, 0);
    BAD(group_max, 256);
    BAD(segment_max, 256);
    BAD(notification_num, (1u << 24) + 1);
    BAD(passive_queue_size_max, 1025);
    BAD(sn_port, 1023);
    BAD(passive_transfer_size_max, 65536);
    BAD(transfer_size_max, (1ul << 30) + 1);
    BAD(allreduce_elem_max, 0);
    BAD(rw_list_elem_max, 0);
    BAD(rw_list_elem_max, 256);
    BAD(network, 99);
    BAD(build_infrastructure, 3);
    config.notification_num = 0;
    GOOD(gaspi_config_set(config));
    config.network = GASPI_OFI;
    GOOD(gaspi_config_set(config));
    config.network = GASPI_ETHERNET;
    config.queue_num = 6;
    config.notification_num = IDS;
    config.group_max = GROUPS;
    GOOD(gaspi_config_set(config));
    closed();
}

/* What needs the library says so. */
void closed(void)
{
    gaspi_number_t number;
    gaspi_rank_t r;
    gaspi_size_t size;
    gaspi_group_t group;
    gaspi_pointer_t pointer;
    gaspi_queue_id_t queue;
    gaspi_notification_id_t id;
    gaspi_atomic_value_t old;
    gaspi_state_t state;
    gaspi_segment_id_t list[1] = {0};
    gaspi_offset_t offset[1] = {0};
    int value = 0;

    CODE(GASPI_ERR_NOINIT, gaspi_proc_term(GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_proc_rank(&r));
    CODE(GASPI_ERR_NOINIT, gaspi_proc_num(&r));
    CODE(GASPI_ERR_NOINIT, gaspi_proc_kill(0, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_proc_ping(0, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_connect(0, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_disconnect(0, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_state_vec_get(&state));
    CODE(GASPI_ERR_NOINIT, gaspi_group_create(&group));
    CODE(GASPI_ERR_NOINIT, gaspi_group_add(0, 0));
    CODE(GASPI_ERR_NOINIT, gaspi_group_commit(0, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_group_delete(1));
    CODE(GASPI_ERR_NOINIT, gaspi_group_num(&number));
    CODE(GASPI_ERR_NOINIT, gaspi_group_size(0, &number));
    CODE(GASPI_ERR_NOINIT, gaspi_group_ranks(0, &r));
    CODE(GASPI_ERR_NOINIT, gaspi_segment_alloc(0, 64, GASPI_ALLOC_DEFAULT));
    CODE(GASPI_ERR_NOINIT, gaspi_segment_bind(0, &value, 4, 0));
    CODE(GASPI_ERR_NOINIT, gaspi_segment_use(0, &value, 4, 0, GASPI_BLOCK, 0));
    CODE(GASPI_ERR_NOINIT, gaspi_segment_register(0, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT,
         gaspi_segment_create(0, 64, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_ALLOC_DEFAULT));
    CODE(GASPI_ERR_NOINIT, gaspi_segment_delete(0));
    CODE(GASPI_ERR_NOINIT, gaspi_segment_num(&number));
    CODE(GASPI_ERR_NOINIT, gaspi_segment_list(1, list));
    CODE(GASPI_ERR_NOINIT, gaspi_segment_ptr(0, &pointer));
    CODE(GASPI_ERR_NOINIT, gaspi_segment_size(0, 0, &size));
    CODE(GASPI_ERR_NOINIT, gaspi_segment_avail_local(list));
    CODE(GASPI_ERR_NOINIT, gaspi_write(0, 0, 0, 0, 0, 8, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_read(0, 0, 0, 0, 0, 8, 0, GASPI_BLOCK));
    size = 8;
    CODE(GASPI_ERR_NOINIT,
         gaspi_write_list(1, list, offset, 0, list, offset, &size, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT,
         gaspi_read_list(1, list, offset, 0, list, offset, &size, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_notify(0, 0, 0, 1, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_write_notify(0, 0, 0, 0, 0, 8, 0, 1, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_read_notify(0, 0, 0, 0, 0, 8, 0, 0, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_notify_waitsome(0, 0, 1, &id, GASPI_TEST));
    CODE(GASPI_ERR_NOINIT, gaspi_notify_reset(0, 0, &number));
    CODE(GASPI_ERR_NOINIT, gaspi_wait(0, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_queue_size(0, &number));
    CODE(GASPI_ERR_NOINIT, gaspi_queue_num(&number));
    CODE(GASPI_ERR_NOINIT, gaspi_queue_create(&queue, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_queue_delete(0));
    CODE(GASPI_ERR_NOINIT, gaspi_queue_purge(0, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_passive_send(0, 0, 0, 8, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_passive_receive(0, 0, &r, 8, GASPI_TEST));
    CODE(GASPI_ERR_NOINIT, gaspi_atomic_fetch_add(0, 0, 0, 1, &old, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_atomic_compare_swap(0, 0, 0, 0, 1, &old, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_allreduce(&value, &value, 1, GASPI_OP_SUM, GASPI_TYPE_INT,
                                           GASPI_GROUP_ALL, GASPI_BLOCK));
    CODE(GASPI_ERR_NOINIT, gaspi_statistic_verbosity_level(1));
}

#define LIMIT(type, name, condition)                                                               \
    do {                                                                                           \
        type value;                                                                                \
        GOOD(gaspi_##name(&value));                                                                \
        CHECK(condition);                                                                          \
        CODE(GASPI_ERR_NULLPTR, gaspi_##name(NULL));                                               \
    } while (0)

void configuration(void)
{
    gaspi_config_t config;
    gaspi_number_t open;
    gaspi_state_t states[256];

    GOOD(gaspi_initialized(&open));
    CHECK(open == 1);
    CODE(GASPI_ERR_INITED, gaspi_proc_init(GASPI_BLOCK));
    GOOD(gaspi_config_get(&config));
    CODE(GASPI_ERR_INITED, gaspi_config_set(config));
    CHECK(rank < ranks);
    LIMIT(gaspi_rank_t, proc_local_rank, value <= rank);
    LIMIT(gaspi_rank_t, proc_local_num, value >= 1 && value <= ranks);
    LIMIT(gaspi_number_t, group_max, value == GROUPS);
    LIMIT(gaspi_number_t, segment_max, value == 255);
    LIMIT(gaspi_number_t, queue_num, value == 6);
    LIMIT(gaspi_number_t, queue_max, value == 16);
    LIMIT(gaspi_number_t, queue_size_max, value == 1024);
    LIMIT(gaspi_size_t, transfer_size_min, value == 0);
    LIMIT(gaspi_size_t, transfer_size_max, value == 1ul << 30);
    LIMIT(gaspi_number_t, notification_num, value == IDS);
    LIMIT(gaspi_size_t, passive_transfer_size_min, value == 1);
    LIMIT(gaspi_size_t, passive_transfer_size_max, value == 65535);
    LIMIT(gaspi_size_t, allreduce_buf_size, value == 2040);
    LIMIT(gaspi_number_t, allreduce_elem_max, value == 255);
    LIMIT(gaspi_number_t, rw_list_elem_max, value == 255);
    LIMIT(gaspi_atomic_value_t, atomic_max, value == UINT64_MAX);
    LIMIT(gaspi_network_t, network_type, value == GASPI_ETHERNET);
    LIMIT(gaspi_number_t, build_infrastructure, value == GASPI_TOPOLOGY_STATIC);
    for (gaspi_rank_t i = 0; i < ranks; i++) {
        GOOD(gaspi_connect(i, GASPI_BLOCK));
        GOOD(gaspi_proc_ping(i, 2000));
        GOOD(gaspi_disconnect(i, GASPI_BLOCK));
    }
    CODE(GASPI_ERR_INV_RANK, gaspi_connect(ranks, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_RANK, gaspi_disconnect(ranks, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_RANK, gaspi_proc_ping(ranks, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_RANK, gaspi_proc_kill(ranks, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_RANK, gaspi_proc_kill(rank, GASPI_BLOCK));
    GOOD(gaspi_state_vec_get(states));
    for (int i = 0; i < ranks; i++)
        CHECK(states[i] == GASPI_STATE_HEALTHY);
    CODE(GASPI_ERR_NULLPTR, gaspi_state_vec_get(NULL));
}

/* A segment bound to memory of the program, and one of this process alone. */
static void segments_alone(void)
{
    static uint64_t memory[512];
    gaspi_pointer_t pointer;
    gaspi_size_t size;

    GOOD(gaspi_segment_bind(7, memory, sizeof(memory), 0));
    GOOD(gaspi_segment_ptr(7, &pointer));
    CHECK(pointer == memory);
    GOOD(gaspi_segment_alloc(8, 100, GASPI_MEM_INITIALIZED));
    GOOD(gaspi_segment_size(7, rank, &size));
    CHECK(size == sizeof(memory));
    barrier();
    if (ranks > 1) /* nobody was told */
        CODE(GASPI_ERR_INV_SEG, gaspi_segment_size(7, after(rank), &size));
    barrier();
    GOOD(gaspi_segment_register(7, before(rank), GASPI_BLOCK));
    GOOD(gaspi_segment_register(7, before(rank), GASPI_BLOCK)); /* again */
    barrier();
    GOOD(gaspi_segment_size(7, after(rank), &size));
    CHECK(size == sizeof(memory));
    if (ranks > 2)
        CODE(GASPI_ERR_INV_SEG, gaspi_segment_size(7, before(rank), &size));
    CODE(GASPI_ERR_INV_RANK, gaspi_segment_register(7, ranks, GASPI_BLOCK));
    CODE(GASPI_ERR_INV_SEG, gaspi_segment_register(9, rank, GASPI_BLOCK));
    memory[0] = 0;
    barrier();
    const uint64_t mine = 1000 + rank;
    GOOD(gaspi_segment_ptr(8, &pointer));
    memcpy(pointer, &mine, 8);
    GOOD(gaspi_write_notify(8, 0, after(rank), 7, 0, 8, 3, 4, 0, GASPI_BLOCK));
    CHECK(await(7, 3) == 4);
    CHECK(memory[0] == 1000u + before(rank));
    GOOD(gaspi_wait(0, GASPI_BLOCK));
    drop(8);
    drop(7);
}

void segments(void)
{
    static char used[4096];
    gaspi_segment_id_t list[255], id;
    gaspi_number_t number;
    gaspi_pointer_t pointer;
    gaspi_size_t size;

    GOOD(gaspi_segment_num(&number));
    CHECK(number == 0);
    GOOD(gaspi_segment_avail_local(&id));
    CHECK(id == 0);
    const unsigned char *const memory = segment(0, 4097);
    for (int i = 0; i < 4097; i++)
        if (memory[i] != 0)
            CHECK(memory[i] == 0);
    CHECK((uintptr_t)memory % 256 == 0);
    CODE(GASPI_ERR_INV_SEG, gaspi_segment_alloc(0, 64, GASPI_ALLOC_DEFAULT));
    CODE(GASPI_ERR_INV_SEG,
         gaspi_segment_create(0, 64, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_ALLOC_DEFAULT));
    CODE(GASPI_ERR_INV_SEG, gaspi_segment_alloc(255, 64, GASPI_ALLOC_DEFAULT));
    CODE(GASPI_ERR_INV_SEGSIZE, gaspi_segment_alloc(1, 0, GASPI_ALLOC_DEFAULT));
    CODE(GASPI_ERR_INV_GROUP, gaspi_segment_create(1, 64, 9, GASPI_BLOCK, GASPI_ALLOC_DEFAULT));
    CODE(GASPI_ERR_NULLPTR, gaspi_segment_bind(1, NULL, 64, 0));
    CODE(GASPI_ERR_NULLPTR, gaspi_segment_use(1, NULL, 64, 0, GASPI_BLOCK, 0));
    CODE(GASPI_ERR_NULLPTR, gaspi_segment_ptr(0, NULL));
    CODE(GASPI_ERR_NULLPTR, gaspi_segment_num(NULL));
    CODE(GASPI_ERR_NULLPTR, gaspi_segment_list(1, NULL));
    CODE(GASPI_ERR_NULLPTR, gaspi_segment_size(0, 0, NULL));
    CODE(GASPI_ERR_NULLPTR, gaspi_segment_avail_local(NULL));
    CODE(GASPI_ERR_INV_SEG, gaspi_segment_ptr(1, &pointer));
    CODE(GASPI_ERR_INV_SEG, gaspi_segment_delete(1));
    CODE(GASPI_ERR_INV_SEG, gaspi_segment_delete(255));
    CODE(GASPI_ERR_INV_SEG, gaspi_segment_size(1, 0, &size));
    CODE(GASPI_ERR_INV_RANK, gaspi_segment_size(0, ranks, &size));
    for (gaspi_rank_t i = 0; i < ranks; i++) {
        GOOD(gaspi_segment_size(0, i, &size));
        CHECK(size == 4097);
    }
    GOOD(gaspi_segment_use(3, used, sizeof(used), GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_PROC_LOCAL));
    GOOD(gaspi_segment_avail_local(&id));
    CHECK(id == 1);
    GOOD(gaspi_segment_num(&number));
    CHECK(number == 2);
    GOOD(gaspi_segment_list(2, list));
    CHECK(list[0] == 0 && list[1] == 3);
    CODE(GASPI_ERR_INV_NUM, gaspi_segment_list(3, list));
    drop(3);
    drop(0);
    for (int i = 0; i < 20; i++) { /* a new one of the same number is another */
        segment(5, (gaspi_size_t)(64 + i));
        GOOD(gaspi_segment_size(5, after(rank), &size));
        CHECK(size == (gaspi_size_t)(64 + i));
        drop(5);
    }
    segments_alone();
    for (id = 0; id < 32; id++)
        segment(id, 64);
    for (id = 0; id < 32; id++)
        drop(id);
}

/* ---- texts, statistics, threads ----------------------------------------------------------------
 */

void texts(void)
{
    gaspi_string_t text;
    gaspi_float mhz;
    gaspi_uchar socket;
    gaspi_rank_t own;
    gaspi_time_t then, now;
    gaspi_cycles_t ticks, later;

    for (int code = -1; code <= 28; code++) {
        GOOD(gaspi_print_error(code, &text));
        CHECK(strlen(text) > 3 && strcmp(text, gaspi_error_str(code)) == 0);
        free(text);
    }
    CHECK(strcmp(gaspi_error_str(99), "no code of GASPI") == 0);
    CODE(GASPI_ERR_NULLPTR, gaspi_print_error(0, NULL));
    GOOD(gaspi_time_get(&then));
    GOOD(gaspi_time_ticks(&ticks));
    usleep(30000);
    GOOD(gaspi_time_get(&now));
    GOOD(gaspi_time_ticks(&later));
    CHECK(later - ticks >= 29000000 && now > then && then < 1e6); /* of this process */
    CODE(GASPI_ERR_NULLPTR, gaspi_time_get(NULL));
    CODE(GASPI_ERR_NULLPTR, gaspi_time_ticks(NULL));
    const gaspi_return_t frequency = gaspi_cpu_frequency(&mhz);
    CHECK(frequency == GASPI_ERROR || (frequency == GASPI_SUCCESS && mhz > 100));
    CODE(GASPI_ERR_NULLPTR, gaspi_cpu_frequency(NULL));
    if (getenv("GASPI_SET_NUMA_SOCKET") != NULL) { /* as gaspi_run -N */
        GOOD(gaspi_proc_local_rank(&own));
        GOOD(gaspi_numa_socket(&socket));
        CHECK(socket == own);
    } else {
        CODE(GASPI_ERR_ENV, gaspi_numa_socket(&socket));
    }
    CODE(GASPI_ERR_NULLPTR, gaspi_numa_socket(NULL));
    CODE(GASPI_ERROR, gaspi_set_socket_affinity(200));
    if (access("/sys/devices/system/node/node0/cpulist", R_OK) == 0)
        GOOD(gaspi_set_socket_affinity(0));
    gaspi_delay();
    gaspi_print_affinity_mask();
    gaspi_printf("%d of %d says %s\n", rank, ranks, "hello");
    gaspi_printf("long %02000d end\n", rank);
    gaspi_printf_to(0, "to rank 0\n");
    gaspi_printf_to(ranks, "to nobody\n");
}

void statistics(void)
{
    gaspi_number_t most, level;
    gaspi_statistic_argument_t argument;
    gaspi_string_t name, description;
    unsigned long value;

    GOOD(gaspi_statistic_counter_max(&most));
    CHECK(most >= 8);
    segment(0, 4096);
    GOOD(gaspi_statistic_verbosity_level(1));
    for (int i = 0; i < 5; i++)
        GOOD(gaspi_write(0, 0, after(rank), 0, 1000, 100, 0, GASPI_BLOCK));
    GOOD(gaspi_wait(0, GASPI_BLOCK));
    GOOD(gaspi_statistic_verbosity_level(0));
    GOOD(gaspi_write(0, 0, after(rank), 0, 1000, 100, 0, GASPI_BLOCK));
    for (gaspi_number_t i = 0; i < most; i++) {
        GOOD(gaspi_statistic_counter_info(i, &argument, &name, &description, &level));
        CHECK(level == 1 && strlen(name) > 0 && strlen(description) > 0);
        GOOD(gaspi_statistic_counter_get(i, after(rank), &value));
        if (strcmp(name, "writes") == 0)
            CHECK(value == 5 && argument == GASPI_STATISTIC_ARGUMENT_NONE);
        if (strcmp(name, "bytes written") == 0) {
            CHECK(value == 500 && argument == GASPI_STATISTIC_ARGUMENT_RANK);
            CODE(GASPI_ERR_INV_RANK, gaspi_statistic_counter_get(i, ranks, &value));
        }
        GOOD(gaspi_statistic_counter_reset(i));
        GOOD(gaspi_statistic_counter_get(i, 0, &value));
        CHECK(value == 0);
    }
    CODE(GASPI_ERR_INV_NUM, gaspi_statistic_counter_get(most, 0, &value));
    CODE(GASPI_ERR_INV_NUM, gaspi_statistic_counter_reset(most));
    CODE(GASPI_ERR_INV_NUM,
         gaspi_statistic_counter_info(most, &argument, &name, &description, &level));
    CODE(GASPI_ERR_NULLPTR, gaspi_statistic_counter_get(0, 0, NULL));
    CODE(GASPI_ERR_NULLPTR, gaspi_statistic_counter_max(NULL));
    CODE(GASPI_ERR_NULLPTR, gaspi_statistic_counter_info(0, NULL, &name, &description, &level));
    GOOD(gaspi_wait(0, GASPI_BLOCK));
    drop(0);
}
