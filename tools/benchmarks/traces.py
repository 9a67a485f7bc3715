#!/usr/bin/env python3
"""traces.py [--program RAILYARD] [--mb N] [READER…]: how fast traces of other tools are read.

Writes a trace of N MB (100) for each reader, runs `railyard trace info` on it and prints megabytes
a second of processor time and the peak of memory. Memory is that of the operations, not of the
file, of which a block of 256 KiB stands there at a time.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def varint(value):
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    return varint(number << 3) + varint(value)


def text(number, value):
    value = value if isinstance(value, bytes) else value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    return text(10, text(1, name) + field(9, value))


def chakra(size):
    metadata = text(1, "0.0.4")
    yield varint(len(metadata)) + metadata
    written = 0
    for node in range(1, 1 << 30):
        message = field(1, node) + text(2, f"COMM_NODE_{node}") + field(3, 4 if node % 2 else 7)
        message += text(5, varint(node - 1)) if node > 1 else b""
        message += field(7, 5) + attribute("is_cpu_op", 0)
        if node % 2 == 0:
            message += attribute("comm_type", 0) + attribute("comm_size", 1 << 20)
        yield varint(len(message)) + message
        written += len(message)
        if written > size:
            return


def chakra_json(size):
    yield b'{"workload_graph": [\n{"Id": 0, "Name": "first", "NodeType": 4, "runtime": 1}'
    written = 0
    for node in range(1, 1 << 30):
        row = (f',\n{{"Id": {node}, "Name": "node_{node}", "NodeType": 7, "is_cpu_op": false, '
               f'"runtime": 5, "data_deps": [{node - 1}], "ctrl_deps": [], "comm_type": 0, '
               f'"comm_size": 1048576}}').encode()
        yield row
        written += len(row)
        if written > size:
            break
    yield b"]}"


def goal(size):
    yield b"num_ranks 2\nrank 0 {\n"
    written = 0
    line = 0
    while written < size / 2:
        line += 2
        row = (f"l{line - 1}: send 4096b to 1 tag {line}\nl{line}: calc 1500\n"
               f"l{line} requires l{line - 1}\n").encode()
        yield row
        written += len(row)
    yield b"}\nrank 1 {\n"
    for at in range(2, line + 1, 2):
        yield (f"l{at - 1}: recv 4096b from 0 tag {at}\nl{at}: calc 1500\n"
               f"l{at} requires l{at - 1}\n").encode()
    yield b"}\n"


def kineto(size):
    yield b'{"distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": [\n'
    yield b'{"ph": "M", "name": "x", "ts": 0}'
    written = 0
    for event in range(1, 1 << 30):
        row = (f',\n{{"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, '
               f'"name": "void at::native::vectorized_elementwise_kernel<4>", '
               f'"ts": {event * 10}.25, "dur": 7.5, "args": {{"External id": {event}, "device": 0, '
               f'"stream": {7 + event % 2}, "correlation": {event}, "grid": [1, 2, 3], '
               f'"block": [128, 1, 1]}}}}').encode()
        yield row
        written += len(row)
        if written > size:
            break
    yield b"]}"


def simai_workload(size):
    row = (b"layer_forward_and_back\t-1\t556000\tALLREDUCE\t16777216\t1000\tNONE\t0\t1000\t"
           b"REDUCESCATTER\t4096\t100\n")
    layers = size // len(row)
    yield b"HYBRID_TRANSFORMER model_parallel_NPU_group: 1 ep: 1 pp: 1 all_gpus: 1\n"
    yield f"{layers}\n".encode()
    for _ in range(layers):
        yield row


READERS = {"chakra": (chakra, "t.0.et"), "chakra_json": (chakra_json, "t.0.json"),
           "goal": (goal, "t.goal"), "kineto": (kineto, "t.pt.trace.json"),
           "simai_workload": (simai_workload, "t.txt")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default=str(ROOT / "build/ci-gcc-release/railyard"))
    parser.add_argument("--mb", type=int, default=100)
    parser.add_argument("readers", nargs="*", choices=[*READERS, []])
    arguments = parser.parse_args()
    for name in arguments.readers or READERS:
        write, file = READERS[name]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / file
            with path.open("wb") as out:
                for part in write(arguments.mb * 1_000_000):
                    out.write(part)
            size = path.stat().st_size
            child = subprocess.Popen([arguments.program, "trace", "info", str(path)],
                                     stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            if status != 0:
                print(f"{name}: failed", file=sys.stderr)
                return 1
            seconds = usage.ru_utime + usage.ru_stime
            print(f"{name:16} {size / 1e6:6.1f} MB in {seconds:5.2f} s of processor: "
                  f"{size / 1e6 / seconds:6.1f} MB/s, peak {usage.ru_maxrss / 1024:5.0f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
