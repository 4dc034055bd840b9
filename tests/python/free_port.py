"""Prints a port behind which another one is free, too: the former is torch's, the latter weft's."""
import socket

while True:
    with socket.socket() as first, socket.socket() as second:
        first.bind(("", 0))
        try:
            second.bind(("", first.getsockname()[1] + 1))
        except (OSError, OverflowError):
            continue
        print(first.getsockname()[1])
        break
