/*
 * md/two_model/lists.c - particles change owners, and ghosts and lists of near ones are made.
 */
#include "problem.h"

#include <stdlib.h>
#include <string.h>

static bool no_room(const struct problem *p, const char *what, double count, double room)
{
    if (count > room)
        complain("process %d: %.0f %s, and room for %.0f", p->run.process, count, what, room);
    return count > room;
}

/* ---- exchange -------------------------------------------------------------------------------- */

/* Device memory to both neighbours of a dimension, and from them: by the side that it passes. */
static bool pass(const struct problem *p, int d, void *const sent[], const uint32_t sends[],
                 void *const got[], const uint32_t gets[], size_t bytes)
{
    struct message out[SIDES], in[SIDES];

    for (int side = 0; side < SIDES; side++) {
        out[side] = (struct message){.process = p->near[d][side],
                                     .slot = 1 - side,
                                     .from = (size_t)((char *)sent[side] - p->run.arena),
                                     .bytes = sends[side] * bytes};
        in[side] = (struct message){.process = p->near[d][side],
                                    .slot = side,
                                    .to = (size_t)((char *)got[side] - p->run.arena),
                                    .bytes = gets[side] * bytes};
    }
    return model_exchange(out, SIDES, in, SIDES);
}

/* The same of records in `out`, whose number the others do not know, to `in`, one after another. */
static bool swap(struct problem *p, int d, const uint32_t sends[], uint32_t gets[], size_t record)
{
    static const uint32_t one[SIDES] = {1, 1};
    void *const sent[SIDES] = {p->mail[0][0], p->mail[0][1]};
    void *const got[SIDES] = {p->mail[1][0], p->mail[1][1]};
    const size_t bytes = record * sizeof(md_four);
    bool good = true;

    for (int side = 0; side < SIDES; side++)
        good = good && machine_copy(sent[side], &sends[side], sizeof(*sends));
    good = good && pass(p, d, sent, one, got, one, sizeof(*sends));
    for (int side = 0; side < SIDES; side++)
        good = good && machine_copy(&gets[side], got[side], sizeof(*gets)) &&
               machine_copy(sent[side], p->out[side], sends[side] * bytes);
    good = good && !no_room(p, "particles", (double)p->all + gets[0] + gets[1], p->step.room) &&
           pass(p, d, sent, sends, got, gets, bytes);
    for (int side = 0; good && side < SIDES; side++)
        good = machine_copy(p->in + side * record * gets[0], got[side], gets[side] * bytes);
    return good;
}

/* Ghosts of a dimension as they are now. Who is its own neighbour packs them where they belong. */
static bool pass_ghosts(struct problem *p, int d, uint32_t first)
{
    struct md_pack *pack = &p->pack[d];
    const bool alone = p->grid[d] == 1;
    const uint32_t *count = pack->count, most = count[count[1] > count[0]];
    md_four *const start[SIDES] = {p->step.x + first, p->step.x + first + p->ghosts[d][0]};

    for (int side = 0; side < SIDES; side++)
        pack->to[side] = alone ? start[1 - side] : p->mail[0][side];
    launch_md_ghosts(pack, (most + MD_CHUNK - 1) / MD_CHUNK, SIDES, p->run.threads);
    return alone || pass(p, d, (void *[]){pack->to[0], pack->to[1]}, count,
                         (void *[]){start[0], start[1]}, p->ghosts[d], sizeof(md_four));
}

bool md_pass_ghosts(struct problem *p)
{
    uint32_t first = p->step.own;

    for (int d = 0; d < DIMENSIONS; d++) {
        if (!pass_ghosts(p, d, first))
            return false;
        first += p->ghosts[d][0] + p->ghosts[d][1];
    }
    return true;
}

bool md_sum_up(struct problem *p, double sums[MD_SUMS])
{
    const uint32_t blocks = (p->step.own + MD_CHUNK - 1) / MD_CHUNK;
    double *const all = (double *)(void *)p->in;

    sums[0] = sums[1] = 0;
    if (!machine_copy(all, p->step.sums, blocks * MD_SUMS * sizeof(*all)))
        return false;
    for (uint32_t i = 0; i < blocks * MD_SUMS; i++)
        sums[i % MD_SUMS] += all[i];
    return model_sum(sums, MD_SUMS);
}

/* ---- lists anew ------------------------------------------------------------------------------ */

/* Particles that left the box through a side of d go to the neighbour. */
static bool migrate(struct problem *p, int d)
{
    uint32_t sent[SIDES] = {0, 0}, got[SIDES];

    for (uint32_t i = 0; i < p->all;) {
        const double x = (double)p->x[i].c[d];
        if (x >= p->low[d] && x < p->high[d]) {
            i++;
            continue;
        }
        const int side = x >= p->high[d];
        md_four *const record = p->out[side] + 2 * (size_t)sent[side]++;
        record[0] = p->x[i];
        record[0].c[d] += p->pack[d].shift[side];
        record[1] = p->v[i];
        p->x[i] = p->x[--p->all];
        p->v[i] = p->v[p->all];
    }
    if (!swap(p, d, sent, got, 2))
        return false;
    for (uint32_t i = 0; i < got[0] + got[1]; i++) {
        p->x[p->all] = p->in[2 * i];
        p->v[p->all++] = p->in[2 * i + 1];
    }
    return true;
}

/* Who is to be a ghost of the neighbours of d, and the ghosts that come from them. */
static bool choose_ghosts(struct problem *p, int d)
{
    uint32_t *const count = p->pack[d].count;

    for (int side = 0; side < SIDES; side++) {
        count[side] = 0;
        for (uint32_t i = 0; i < p->all; i++) {
            const double x = (double)p->x[i].c[d];
            if (side == 0 ? x >= p->low[d] + MD_REACH : x < p->high[d] - MD_REACH)
                continue;
            p->out[side][count[side]] = p->x[i];
            p->out[side][count[side]].c[d] += p->pack[d].shift[side];
            p->order[count[side]++] = i;
        }
        if (!machine_copy(p->list[d][side], p->order, count[side] * sizeof(*p->order)))
            return false;
    }
    if (!swap(p, d, count, p->ghosts[d], 1))
        return false;
    const uint32_t come = p->ghosts[d][0] + p->ghosts[d][1];
    memcpy(p->x + p->all, p->in, come * sizeof(*p->in));
    p->all += come;
    return true;
}

/* Own particles and ghosts, sorted by cells; then the machine makes the lists. */
static bool make_lists(struct problem *p)
{
    const struct md_step *s = &p->step;
    double sums[MD_SUMS];

    memset(p->start, 0, (p->cells + 2) * sizeof(*p->start));
    for (int turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < p->all; i++) {
            const uint32_t z = md_cell(s, &p->x[i], 2), y = md_cell(s, &p->x[i], 1);
            const uint32_t cell = (z * s->cells[1] + y) * s->cells[0] + md_cell(s, &p->x[i], 0);
            if (turn == 0)
                p->start[cell + 2]++;
            else
                p->order[p->start[cell + 1]++] = i; /* at last where the next cell starts */
        }
        for (uint32_t c = 2; turn == 0 && c < p->cells + 2; c++)
            p->start[c] += p->start[c - 1];
    }
    if (!machine_copy(s->cell_order, p->order, p->all * sizeof(*p->order)) ||
        !machine_copy(s->cell_start, p->start, (p->cells + 1) * sizeof(*p->start)))
        return false;
    launch_md_lists(s, (s->own + MD_CHUNK - 1) / MD_CHUNK, 1, p->run.threads);
    return md_sum_up(p, sums) && !no_room(p, "particles with too many near ones", sums[0], 0);
}

bool md_rebuild(struct problem *p)
{
    bool good = true;

    p->all = p->step.own;
    for (int d = 0; d < DIMENSIONS; d++)
        good = good && migrate(p, d);
    p->step.own = p->all;
    for (int d = 0; d < DIMENSIONS; d++)
        good = good && choose_ghosts(p, d);
    return good && machine_copy(p->step.x, p->x, p->all * sizeof(*p->x)) &&
           machine_copy(p->step.v, p->v, p->step.own * sizeof(*p->v)) && make_lists(p);
}
