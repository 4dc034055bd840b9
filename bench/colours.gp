# bench/colours.gp - one colour for each system, the same in all plots: weft is always red. What tells two
# lines of a system apart is dash and point.
colour(who) = who[1:4] eq 'weft' ? '#c0392b' : \
    who[1:3] eq 'MPI' || who[1:3] eq 'mpi' ? '#1f618d' : \
    who[1:7] eq 'nvshmem' || who[1:7] eq 'NVSHMEM' ? '#1e8449' : \
    who[1:4] eq 'nccl' || who[1:4] eq 'NCCL' ? '#a04000' : \
    who[1:3] eq 'net' ? '#7d3c98' : \
    who eq 'floor' ? '#000000' : '#7f8c8d'
