"""
Makes the wheel: the package weft, with libweft.so in it, and the program weftrun.

    weft_wheel.py FOLDER LIBRARY WEFTRUN   packs these: the build's target weft_wheel
    weft_wheel.py FOLDER                   builds them first, in a folder of their own: ./run wheel

pip does the latter, too (`pip install ./python`). Such a build leaves out what few machines have, or what
Python has no use for.
"""
import base64
import hashlib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
OFF = ["TESTS", "BENCH", "APPS", "MPI", "VERBS", "REMOTE"]


def pack(folder, library, weftrun):
    types = (HERE.parent / "include/weft/types.h").read_text()
    name = "weft_ccl-" + ".".join(re.findall(r"define WEFT_VERSION_\w+ (\d+)", types))
    tag = "py3-none-" + re.sub("[-.]", "_", sysconfig.get_platform())
    files = {
        "weft/__init__.py": (HERE / "weft.py").read_bytes(),
        "weft/libweft.so": pathlib.Path(library).read_bytes(),
        f"{name}.data/scripts/weftrun": pathlib.Path(weftrun).read_bytes(),
        f"{name}.dist-info/LICENSE": (HERE.parent / "LICENSE").read_bytes(),
        f"{name}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: weft-ccl\nVersion: {name[9:]}\n"
                                      "Summary: Collectives of GPUs, one vector for each\n"
                                      "License: BSD-3-Clause\nRequires-Python: >=3.8\n".encode(),
        f"{name}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: weft\nRoot-Is-Purelib: false\n"
                                   f"Tag: {tag}\n".encode()}
    record = f"{name}.dist-info/RECORD"
    hashes = {path: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
              for path, data in files.items()}
    files[record] = "".join(f"{path},sha256={hashes[path]},{len(data)}\n" for path, data in files.items()).encode() + \
        f"{record},,\n".encode()
    with zipfile.ZipFile(pathlib.Path(folder) / f"{name}-{tag}.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)  # of 1980, so that equal files make equal wheels
            entry.external_attr = (0o100755 if "scripts" in path else 0o100644) << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return f"{name}-{tag}.whl"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """What pip calls (PEP 517). CMAKE_ARGS: more options for CMake."""
    with tempfile.TemporaryDirectory() as build:
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DWEFT_PYTHON=ON", *[f"-DWEFT_{name}=OFF" for name in OFF],
                   *shlex.split(os.environ.get("CMAKE_ARGS", ""))]
        subprocess.check_call(["cmake", "-S", HERE.parent, "-B", build, *options], stdout=sys.stderr)
        subprocess.check_call(["cmake", "--build", build, "--parallel", str(os.cpu_count()), "--target",
                               "weft_wheel"], stdout=sys.stderr)
        made = next(pathlib.Path(build).glob("python/*.whl"))
        (pathlib.Path(wheel_directory) / made.name).write_bytes(made.read_bytes())
        return made.name


if __name__ == "__main__":
    print(build_wheel(sys.argv[1]) if len(sys.argv) == 2 else pack(*sys.argv[1:]))
