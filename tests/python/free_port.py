"""Prints a port behind which another one is free, too: the former is torch's, the latter weft's. Not of those that the
system gives to connections, of which one could take it meanwhile."""
import random
import socket

while True:
    with socket.socket() as first, socket.socket() as second:
        port = random.randrange(10000, 30000)
        try:
            first.bind(("", port))
            second.bind(("", port + 1))
        except OSError:
            continue
        print(port)
        break
