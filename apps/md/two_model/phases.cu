/*
 * md/two_model/phases.cu - see md.h. A block has MD_CHUNK particles.
 */
#include "md.h"

#define EACH_PARTICLE(i, s)                                                                        \
    (uint32_t i = block * MD_CHUNK + phase_thread(); i < (s)->own && i < (block + 1) * MD_CHUNK;   \
     i += phase_threads())

/* Entry k of particle i's list: neighbouring threads of a GPU read neighbouring words. */
PHASE_FN uint32_t *entry(const struct md_step *s, uint32_t i, uint32_t k)
{
#ifdef __CUDACC__
    return s->near + (size_t)k * s->room + i;
#else
    return s->near + (size_t)i * MD_NEAR + k;
#endif
}

PHASE_FN md_real distance2(const md_four *a, const md_four *b)
{
    const md_real x = a->c[0] - b->c[0], y = a->c[1] - b->c[1], z = a->c[2] - b->c[2];
    return x * x + y * y + z * z;
}

/* The block's sums, out of each thread's. */
PHASE_FN void sum_up(const struct md_step *s, uint32_t block, double first, double second)
{
    PHASE_SHARED double all[MD_CHUNK][MD_SUMS];
    all[phase_thread()][0] = first;
    all[phase_thread()][1] = second;
    phase_sync();
    if (phase_thread() != 0)
        return;
    for (uint32_t i = 1; i < phase_threads(); i++) {
        first += all[i][0];
        second += all[i][1];
    }
    s->sums[MD_SUMS * block] = first;
    s->sums[MD_SUMS * block + 1] = second;
}

PHASE_FN uint32_t list_near(const struct md_step *s, uint32_t i)
{
    const md_four me = s->x[i];
    const uint32_t cx = md_cell(s, &me, 0), cy = md_cell(s, &me, 1), cz = md_cell(s, &me, 2);
    uint32_t count = 0;

    for (uint32_t z = cz - (cz > 0); z <= cz + 1 && z < s->cells[2]; z++)
        for (uint32_t y = cy - (cy > 0); y <= cy + 1 && y < s->cells[1]; y++) {
            const uint32_t *const row = s->cell_start + (z * s->cells[1] + y) * s->cells[0];
            const uint32_t end = row[cx + 1 < s->cells[0] ? cx + 2 : cx + 1];
            for (uint32_t k = row[cx - (cx > 0)]; k < end; k++) {
                const uint32_t j = s->cell_order[k];
                if (j == i || distance2(&me, &s->x[j]) >= (md_real)(MD_REACH * MD_REACH))
                    continue;
                if (count < MD_NEAR)
                    *entry(s, i, count) = j;
                count++;
            }
        }
    return count;
}

PHASE(md_lists, struct md_step, s)
{
    double too_many = 0;

    for
        EACH_PARTICLE(i, s)
        {
            s->near_count[i] = list_near(s, i);
            s->x_then[i] = s->x[i];
            too_many += s->near_count[i] > MD_NEAR;
        }
    sum_up(s, block, too_many, plane);
}

PHASE(md_move, struct md_step, s)
{
    double kinetic = 0, far = plane;

    for
        EACH_PARTICLE(i, s)
        {
            md_four v = s->v[i], x = s->x[i];
            for (int d = 0; d < 3; d++) {
                v.c[d] = v.c[d] * s->drag + s->dt / 2 * s->f[i].c[d];
                x.c[d] += s->dt * v.c[d];
                kinetic += (double)(v.c[d] * v.c[d]) / 2;
            }
            s->v[i] = v;
            s->x[i] = x;
            far += distance2(&x, &s->x_then[i]) > (md_real)(MD_SKIN * MD_SKIN / 4);
        }
    sum_up(s, block, kinetic, far);
}

PHASE(md_ghosts, struct md_pack, p)
{
    const uint32_t count = p->count[plane], end = (block + 1) * MD_CHUNK;

    for (uint32_t i = block * MD_CHUNK + phase_thread(); i < end && i < count;
         i += phase_threads()) {
        md_four x = p->x[p->list[plane][i]];
        for (uint32_t d = 0; d < 3; d++)
            x.c[d] += d == p->dimension ? p->shift[plane] : 0;
        p->to[plane][i] = x;
    }
}

PHASE(md_force, struct md_step, s)
{
    const md_real cut2 = (md_real)(MD_CUT * MD_CUT), cut6 = 1 / (cut2 * cut2 * cut2);

    for
        EACH_PARTICLE(i, s)
        {
            const md_four me = s->x[i];
            md_four f = {{0, 0, 0, 0}};
            for (uint32_t k = 0; k < s->near_count[i]; k++) {
                const md_four other = s->x[*entry(s, i, k)];
                const md_real r2 = distance2(&me, &other);
                if (r2 >= cut2)
                    continue;
                const md_real r6 = 1 / (r2 * r2 * r2), strength = 24 * r6 * (2 * r6 - 1) / r2;
                for (int d = 0; d < 3; d++)
                    f.c[d] += strength * (me.c[d] - other.c[d]);
                f.c[3] += 2 * (r6 * (r6 - 1) - cut6 * (cut6 - 1)); /* half of the pair's */
            }
            s->f[i] = f;
            for (int d = 0; d < 3; d++)
                s->v[i].c[d] = (s->v[i].c[d] + s->dt / 2 * f.c[d]) * s->drag;
        }
    (void)plane;
}
