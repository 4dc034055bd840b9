/*
 * fuzz_task.c - the mailbox of a place of tasks with any bytes: words of load, ask, grant, return,
 * report and end, and records of tasks that another place gives. A rank serves the place meanwhile,
 * and has tasks of its own. Whatever comes, it puts only into mailboxes, what it runs is a task of
 * the list with its data inside of their windows, and each slot is in one place.
 */
#include "fuzz.h"

#include "rank/path/dispatch.h"
#include "weft/task.h"

enum { PLACES = 3, RANKS = 8, SLOTS = 8, CELLS = 16, BYTES = 4096, SCRATCH = 1024 };
enum { MOST_CALLS = 64, NAMES = 256, BLOCKS = 16, WINS = 4, WIN = 1 << WEFT_HANDLE_BITS };
enum { MAIL_WIN = WIN | 1, DATA_WIN = WIN | 2, RANK_WIN = WIN | 3 };

/* What a rank asks of others is looked at here, and goes nowhere. */
static void put(weft_win win, int to, size_t at, const void *source, size_t bytes);
static void move(weft_win win, int place, size_t at, size_t pitch, void *copy, size_t width,
                 size_t rows);
static uint64_t clock_ns(void);
static uint64_t cancelled(weft_self *self, weft_win win, int of, size_t at, uint64_t add);
static bool round_over(weft_self *self, uint32_t *rounds, enum weft_wait_kind kind, uint64_t a,
                       uint64_t have, uint64_t need);
#define weft_put(self, win, to, at, source, bytes) put(win, to, at, source, bytes)
#define weft_put_2d(self, win, to, at, pitch, source, of_source, width, rows)                      \
    ((void)(self), move(win, to, at, pitch, source, width, rows))
#define weft_get_2d_begin(self, win, from, at, pitch, to, of_to, width, rows)                      \
    (move(win, from, at, pitch, to, width, rows), (weft_op){0})
#define weft_get(self, win, from, at, to, bytes) memset(to, 0, bytes)
#define weft_flush(self, win)                    (void)0
#define weft_fence(self)                         (void)0
#define weft_op_wait(self, op, how)              (void)((void)(self), (op))
#define weft_rank(self, comm)                    0
#define weft_region_end(self)                    (void)0
#define weft_port_clock()                        clock_ns()
#define weft_wait_round                          round_over
#define weft_fetch_add                           cancelled

#include "task/api.h"

static struct fuzz_bytes in;
static struct weft_self me;
static struct weft_state state;
static struct weft_signals signals;
static struct weft_exposed exposed[2]; /* of the place itself; of the one that it maps */
static struct weft_waiting waiting;
static struct weft_bell bell;
static struct weft_port_call call;
static struct weft_line lines[64];
static struct weft_process_entry processes[PLACES];
static struct weft_member member[RANKS];
static struct weft_window window[WINS];
static struct weft_window_entry entry[WINS][RANKS];
static unsigned char memory[2][BYTES]; /* of the window of data, where it is mapped */

static struct weft_task_place place;
static struct weft_task_host host;
static struct weft_task_rank rank;
static uint32_t posted; /* entries of the host program */
static uint32_t closed; /* the phase that it closed last */
static uint64_t now;
static int ran;
static void *block[BLOCKS]; /* the place's memory */
static int blocks;

/* What the host program says. */
static void say(enum weft_task_what what, uint32_t a, const struct weft_task_record *record)
{
    struct weft_task_entry *const next = &host.entry[posted % WEFT_TASK_ENTRIES];

    if (posted - host.heard == WEFT_TASK_ENTRIES)
        return;
    next->what = what;
    next->a = a;
    if (record != NULL)
        next->record = *record;
    next->turn = posted++ / WEFT_TASK_ENTRIES + 1;
}

static weft_task_data_desc any_data(bool good)
{
    weft_task_data_desc data = {DATA_WIN, (int)(fuzz_byte(&in) % PLACES), 0, 64, 0, 1, 1};

    data.mode = 1 + fuzz_byte(&in) % 4;
    data.rows = fuzz_byte(&in) % 4;
    data.offset = fuzz_byte(&in) * 8u;
    const unsigned wrong = good ? 0 : fuzz_byte(&in);
    data.offset = (wrong & 1) != 0 ? fuzz_number(&in) : data.offset;
    data.bytes = (wrong & 2) != 0 ? fuzz_number(&in) : data.bytes;
    data.pitch = (wrong & 4) != 0 ? fuzz_number(&in) : data.pitch;
    data.rows = (wrong & 8) != 0 ? (uint32_t)fuzz_number(&in) : data.rows;
    data.place = (wrong & 16) != 0 ? (int32_t)fuzz_number(&in) : data.place;
    data.mode = (wrong & 32) != 0 ? (uint32_t)fuzz_number(&in) : data.mode;
    data.win = (wrong & 64) != 0 ? RANK_WIN : data.win;
    return data;
}

static void own_task(void)
{
    weft_task_desc desc = {.body = fuzz_byte(&in) % 2, .priority = fuzz_byte(&in) % 4};
    struct weft_task_record record = {0};

    desc.count = fuzz_byte(&in) % 8;
    desc.datas = fuzz_byte(&in) % 3;
    for (uint32_t i = 0; i < desc.datas; i++)
        desc.data[i] = any_data(true);
    weft_task_fill(&record, &desc);
    record.host = 1 + fuzz_byte(&in);
    record.generation = 1;
    say(WEFT_TASK_WHAT_CREATE, weft_task_record_bytes(record.datas), &record);
}

/* A record that another place gives: one that could be, or with wrong fields, or any bytes. */
static void any_grant(struct weft_task_record *record)
{
    memset(record, 0, sizeof(*record));
    record->end = 1 + fuzz_byte(&in) % 4;
    record->body = fuzz_byte(&in) % 2;
    record->priority = fuzz_byte(&in) % 4;
    record->home = place.asking;
    record->home_slot = fuzz_byte(&in);
    record->datas = fuzz_byte(&in) % 4;
    for (uint32_t i = 0; i < record->datas; i++) {
        record->data[i] = any_data(fuzz_byte(&in) % 2);
        if (record->data[i].pitch == 0)
            record->data[i].pitch = record->data[i].bytes;
    }
    const unsigned wrong = fuzz_byte(&in) % 2 != 0 ? fuzz_byte(&in) : 0;
    record->end = (wrong & 1) != 0 ? fuzz_number(&in) : record->end;
    record->taker = (wrong & 2) != 0 ? 1 + fuzz_byte(&in) % PLACES : record->taker;
    record->datas = (wrong & 4) != 0 ? (uint32_t)fuzz_number(&in) : record->datas;
    record->first = (wrong & 16) != 0 ? fuzz_number(&in) : record->first;
    for (unsigned i = 0; (wrong & 128) != 0 && i < 8; i++)
        ((unsigned char *)record)[fuzz_word(&in) % sizeof(*record)] = (unsigned char)fuzz_byte(&in);
}

static void any_word(void)
{
    const int from = (int)(fuzz_byte(&in) % PLACES);
    uint64_t *const word = place.mail->word;

    switch (fuzz_byte(&in) % 8) {
    case 0: /* a return, of the next turn if nothing else is drawn */
        word[weft_task_return(PLACES, from, place.peer[from].returned)] =
            ((place.peer[from].returned / WEFT_TASK_AWAY + 1) << 8 | (fuzz_byte(&in) % 5)) << 32 |
            (fuzz_byte(&in) % 16 != 0 ? fuzz_byte(&in) % SLOTS : fuzz_number(&in) & UINT32_MAX);
        break;
    case 1:
        word[weft_task_row(PLACES, WEFT_TASK_ASKED, from)] += fuzz_byte(&in);
        break;
    case 2:
        word[weft_task_row(PLACES, WEFT_TASK_LOAD, from)] += (1ull << 32) + fuzz_byte(&in);
        break;
    case 3:
        word[weft_task_row(PLACES, WEFT_TASK_REPORT, from)] =
            weft_task_report(place.closed, fuzz_number(&in));
        break;
    case 4:
        place.mail->finished = fuzz_byte(&in) % 2 != 0 ? place.closed : fuzz_number(&in);
        break;
    case 5:
        word[weft_task_cancel_at(PLACES, fuzz_byte(&in))] = fuzz_byte(&in) % 2;
        break;
    case 6: {
        const unsigned which = fuzz_byte(&in);
        struct weft_task_books *const books = &place.mail->books[which / 2 % 2];
        *(which % 2 != 0 ? &books->created : &books->completed) += 1;
        break;
    }
    default:
        word[fuzz_word(&in) % weft_task_cancel_at(PLACES, WEFT_TASK_STATES)] = fuzz_number(&in);
    }
}

/* What another place answers. */
static void any_answer(void)
{
    const unsigned count = fuzz_byte(&in) % 4, wrong = fuzz_byte(&in);

    for (unsigned i = 0; i < count; i++)
        any_grant(&place.mail->grant[i]);
    place.mail->granted = (place.ask + (wrong % 16 == 1)) << 32 |
                          (uint32_t)(wrong % 16 == 2 ? fuzz_number(&in) : count);
}

/* What others do meanwhile. */
static void others(void)
{
    for (unsigned i = fuzz_byte(&in) % 4; i > 0; i--)
        switch (fuzz_byte(&in) % 8) {
        case 0:
        case 1:
            own_task();
            break;
        case 2:
            if (closed == host.finished) /* the phase before is over */
                say(WEFT_TASK_WHAT_CLOSE, closed = closed % WEFT_TASK_PHASES + 1, NULL);
            break;
        case 3:
        case 4:
            any_answer();
            break;
        default:
            any_word();
        }
}

static void put(weft_win win, int to, size_t at, const void *source, size_t bytes)
{
    const size_t record =
        (size_t)((const unsigned char *)source - (const unsigned char *)place.record);

    MUST(win == MAIL_WIN && to >= 0 && to < PLACES);
    MUST(at <= weft_task_mail_bytes(PLACES) && bytes <= weft_task_mail_bytes(PLACES) - at);
    MUST(source == &rank.word[0] ||
         (record < SLOTS * sizeof(*place.record) && record % sizeof(*place.record) == 0));
    others();
}

/* A fetch or a write-back of a task's data. */
static void move(weft_win win, int of, size_t at, size_t pitch, void *copy, size_t width,
                 size_t rows)
{
    const size_t to = (size_t)((unsigned char *)copy - rank.scratch);

    MUST(win == DATA_WIN || win == MAIL_WIN || win == RANK_WIN);
    MUST(of >= 0 && of < PLACES);
    MUST(weft_inside(at, pitch, width, rows, entry[weft_handle_index(win)][of].bytes));
    MUST(to <= SCRATCH && width * rows <= SCRATCH - to);
}

static uint64_t clock_ns(void)
{
    return now += 30000;
}

/* A body asks whether its task was cancelled. */
static uint64_t cancelled(weft_self *self, weft_win win, int of, size_t at, uint64_t add)
{
    MUST(self == &me && win == MAIL_WIN && of >= 0 && of < PLACES && add == 0);
    MUST(at % 8 == 0 && at < weft_task_mail_bytes(PLACES));
    return fuzz_byte(&in) % 2;
}

/* The rank has found nothing to do. */
static bool round_over(weft_self *self, uint32_t *rounds, enum weft_wait_kind kind, uint64_t a,
                       uint64_t have, uint64_t need)
{
    MUST(self == &me && rounds != NULL && (kind == WEFT_WAIT_TASKS || kind == WEFT_WAIT_NONE));
    (void)a, (void)have, (void)need;
    others();
    if (in.size == 0)
        place.stop = 1;
    return true;
}

/* All of its data may be used. */
static void use(weft_self *self, weft_task_self *task, uint32_t body, void *arguments)
{
    MUST(arguments == task->record->arguments);
    weft_task_cancelled(self, task);
    MUST(body < place.bodies);
    MUST(task->record->home >= 0 && task->record->home < PLACES);
    for (int i = 0; i < WEFT_TASK_DATA; i++) {
        unsigned char *const data = weft_task_data(task, i);
        MUST((data != NULL) == ((uint32_t)i < task->record->datas));
        if (data == NULL || task->record->data[i].bytes == 0)
            continue;
        const uint64_t rows = weft_task_rows(&task->record->data[i]);
        data[0]++;
        data[(rows - 1) * weft_task_pitch(task, i) + task->record->data[i].bytes - 1]++;
    }
    if (++ran == MOST_CALLS) /* it may be told of 2^60 calls */
        longjmp(call.escape, 1);
    others();
}

/* Slots that are free are so once; what the host program hears of its tasks is a status. */
static void check_books(void)
{
    const uint32_t lists[2] = {rank.free, rank.freed};
    int free = 0;

    for (int i = 0; i < 2; i++)
        for (uint32_t slot = lists[i]; slot != 0; slot = place.record[slot - 1].next) {
            MUST(slot <= SLOTS);
            MUST(++free <= SLOTS);
        }
    for (int i = 0; i < NAMES; i++)
        MUST((host.state[i] & 0xff) <= WEFT_TASK_CANCELLED &&
             (host.state[i] & 0xff) != WEFT_TASK_QUEUED);
}

/* Until free_place. */
static void *zeros(size_t bytes)
{
    MUST(blocks < BLOCKS && posix_memalign(&block[blocks], 64, bytes) == 0);
    return memset(block[blocks++], 0, bytes);
}

/* What the rank sees of its job. */
static void make_job(void)
{
    static const weft_win handle[WINS] = {0, MAIL_WIN, DATA_WIN, RANK_WIN};

    weft_strand_set(0, 1, 0);
    call.deadline = 1; /* a failure ends the input */
    for (int i = 0; i < PLACES; i++) {
        member[i].process = i;
        processes[i] = (struct weft_process_entry){
            .first_rank = i, .ranks = 1, .exposed = i < 2 ? &exposed[i] : NULL};
        entry[1][i].bytes = weft_task_mail_bytes(PLACES);
        entry[2][i] =
            (struct weft_window_entry){.address = i < 2 ? memory[i] : NULL, .bytes = BYTES};
        entry[3][i].bytes = BYTES;
    }
    for (int i = 1; i < WINS; i++)
        window[i] = (struct weft_window){.handle = handle[i],
                                         .members = i < 3 ? PLACES : RANKS,
                                         .member = member,
                                         .entry = entry[i]};
    state = (struct weft_state){.processes = PLACES,
                                .ranks = PLACES,
                                .process_table = processes,
                                .exposed = &exposed[0],
                                .signals = &signals,
                                .windows = window,
                                .windows_count = WINS,
                                .command_bell = &bell};
    me.port = (struct weft_port){.host = true, .bell = &bell, .call = &call};
    me.state = &state;
    me.waiting = &waiting;
    me.slot = 1;
    me.commands =
        (struct weft_command_producer){.lines = lines, .credit = &me.commands.head, .depth = 64};
}

static void make_place(void)
{
    uint64_t *const cells = zeros(WEFT_TASK_PRIORITIES * CELLS * sizeof(*cells));

    place.places = PLACES;
    place.ranks = 1;
    place.slots = SLOTS;
    place.ring_mask = CELLS - 1;
    place.bodies = 2;
    place.kinds = 4;
    place.scratch = SCRATCH;
    place.win = MAIL_WIN;
    place.stealing = 1;
    place.host = &host;
    place.rank = &rank;
    place.mail = zeros(weft_task_mail_bytes(PLACES));
    place.record = zeros(SLOTS * sizeof(*place.record));
    place.peer = zeros(PLACES * sizeof(*place.peer));
    for (int i = 0; i < WEFT_TASK_PRIORITIES; i++)
        place.ready[i].cell = cells + i * CELLS;
    for (int i = 0; i < PLACES; i++)
        place.mail->word[weft_task_row(PLACES, WEFT_TASK_LOAD, i)] = 5;
    place.asking = -1;
    place.backoff = 20000;
    place.ticket = WEFT_TASK_OVER;
    rank.cell = zeros(SLOTS * sizeof(*rank.cell));
    rank.scratch = zeros(SCRATCH);
}

static void free_place(void)
{
    while (blocks > 0)
        free(block[--blocks]);
    memset(&place, 0, sizeof(place));
    memset(&rank, 0, sizeof(rank));
    memset(&host, 0, sizeof(host));
    posted = closed = 0;
    now = 0;
    ran = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weft_tasks_begun begun = {&place, NULL};

    if (state.windows == NULL)
        make_job();
    in = (struct fuzz_bytes){data, size};
    make_place();
    place.me = me.process = state.process = (int)(fuzz_byte(&in) % PLACES);
    if (setjmp(call.escape) == 0)
        weft_tasks_serve(&me, &begun, NULL, use);
    check_books();
    free_place();
    return 0;
}
