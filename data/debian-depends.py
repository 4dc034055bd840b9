#!/usr/bin/env python3
"""Write the dependency graph of Debian's packages as a Matrix Market file, from apt's own lists.

Row i, column j present: package j depends on package i, so that a power iteration over the
column-normalised matrix ranks packages. Of alternatives (a | b) the first counts.

Usage: debian-depends.py FILE    writes FILE.mtx and FILE.names; needs `apt-get update` before
"""
import re
import subprocess
import sys


def read_packages():
    """Each package's name, and the names that its records say it depends on."""
    run = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True)
    depends = {}
    package = None
    for line in run.stdout.splitlines():
        if line.startswith("Package: "):
            package = line[len("Package: "):].strip()
            depends.setdefault(package, set())
        elif package and line.startswith(("Depends: ", "Pre-Depends: ")):
            for part in line.split(": ", 1)[1].split(","):
                name = re.split(r"[ (:|]", part.strip())[0]
                if name:
                    depends[package].add(name)
    return depends


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    depends = read_packages()
    names = sorted(depends)
    index = {name: i + 1 for i, name in enumerate(names)}
    edges = sorted({(index[needed], index[package]) for package in names
                    for needed in depends[package] if needed in index and needed != package})
    with open(sys.argv[1] + ".mtx", "w") as out:
        out.write("%%MatrixMarket matrix coordinate pattern general\n"
                  "% Debian 12 package dependencies: entry (i, j) means package j depends on "
                  "package i; names in debian-depends.names, one a line\n")
        out.write(f"{len(names)} {len(names)} {len(edges)}\n")
        out.writelines(f"{i} {j}\n" for i, j in edges)
    with open(sys.argv[1] + ".names", "w") as out:
        out.writelines(name + "\n" for name in names)


main()
