/*
 * rank/pieces.h - puts of several pieces, of which the last carries the notification, and a value
 * before its notification: what one rank sends to another takes effect in order, so whoever
 * consumes it sees all.
 */
#ifndef WEFT_RANK_PIECES_H
#define WEFT_RANK_PIECES_H

#include "rank/many.h"
#include "rank/update.h"

/* Puts each plane as rows; no planes are one empty put. */
WEFT_COLD void weft_put_planes(weft_self *self, weft_win win, int target, const weft_put_box *box,
                               int tag, const char *call)
{
    const bool empty = box->width == 0 || box->height == 0 || box->depth == 0;
    const size_t last = empty ? 0 : box->depth - 1;

    if (last != 0 && box->plane > (SIZE_MAX - box->offset) / last)
        weft_fail_in(self, WEFT_ERR_BOUNDS, call, "%s: %llu planes, %llu bytes apart, at %llu",
                     (int64_t)box->depth, (int64_t)box->plane, (int64_t)box->offset, 0);
    weft_batch_begin(self);
    for (size_t z = 0; z <= last; z++)
        weft_put_rows(self, win, target, box->offset + z * box->plane, box->pitch,
                      (const unsigned char *)box->source + z * box->source_plane, box->source_pitch,
                      box->width, empty ? 0 : box->height, z == last ? tag : -1, call);
    weft_batch_end(self);
}

WEFT_FN void weft_put_3d(weft_self *self, weft_win win, int target, weft_put_box box)
{
    WEFT_TOGETHER(self, weft_put_3d(self, win, target, box), win, target, box.source, box.offset,
                  box.width, box.height, box.depth, box.pitch, box.plane)
    weft_put_planes(self, win, target, &box, -1, "weft_put_3d");
}

WEFT_FN void weft_put_3d_notify(weft_self *self, weft_win win, int target, weft_put_box box,
                                int tag)
{
    WEFT_TOGETHER(self, weft_put_3d_notify(self, win, target, box, tag), win, target, box.source,
                  box.offset, box.width, box.height, box.depth, box.pitch, box.plane, tag)
    weft_check_tag(self, tag, "weft_put_3d_notify");
    weft_put_planes(self, win, target, &box, tag, "weft_put_3d_notify");
}

WEFT_FN void weft_put_list_notify(weft_self *self, weft_win win, int target,
                                  const weft_put_piece *pieces, int count, int tag)
{
    WEFT_TOGETHER(self, weft_put_list_notify(self, win, target, pieces, count, tag), win, target,
                  count, tag)
    weft_check_tag(self, tag, "weft_put_list_notify");
    weft_check_many(self, pieces, count, "weft_put_list_notify: %d pieces, at address 0x%llx");
    weft_batch_begin(self);
    for (int i = 0; i < count; i++)
        weft_put_recorded(self, win, target, pieces[i].offset, pieces[i].source,
                          weft_one_row(pieces[i].bytes), i + 1 == count ? tag : -1,
                          "weft_put_list_notify");
    if (count == 0)
        weft_put_recorded(self, win, target, 0, NULL, weft_one_row(0), tag, "weft_put_list_notify");
    weft_batch_end(self);
}

WEFT_FN void weft_notify_value(weft_self *self, weft_win win, int target, size_t offset,
                               uint32_t value, int tag)
{
    WEFT_TOGETHER(self, weft_notify_value(self, win, target, offset, value, tag), win, target,
                  offset, value, tag)
    weft_check_tag(self, tag, "weft_notify_value");
    const struct weft_window *window = weft_check_window(self, win, "weft_notify_value");
    weft_batch_begin(self);
    weft_update_any(self, win, target, offset, weft_change(WEFT_REPLACE, WEFT_U32, value, 0),
                    WEFT_LATER, NULL, NULL, "weft_notify_value");
    weft_notify_any(self, window->comm, target, tag, false, "weft_notify_value");
    weft_batch_end(self);
}

#endif
