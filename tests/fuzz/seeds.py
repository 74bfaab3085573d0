#!/usr/bin/env python3
"""seeds.py DIRECTORY: makes seeds for each fuzz target, most of the log and spill files of small programs."""
import glob
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
BUILD = os.environ.get('IOSEER_BUILD', os.path.join(SOURCE, 'build'))
sys.path[:0] = [os.path.join(SOURCE, 'tests', 'golden'), os.path.join(SOURCE, 'tests', 'darshan')]
sys.dont_write_bytecode = True
import decode  # noqa: E402
import samples  # noqa: E402

PAGE, CHUNK_HEADER, FOLDED_HEADER = 4096, 256, 1024
MAX_SPILL, MAX_PAYLOAD = 1 << 20, 65535

# Threads, a child, many sizes and strides, transfers with children of their own, mappings, errors.
VARIED = r'''
import mmap, os, threading
def work(name):
    fd = os.open(name, os.O_RDWR | os.O_CREAT)
    for i in range(20):
        os.pwrite(fd, b"x" * (i % 13 + 1), i * i * 1000)
    os.writev(fd, [b"ab", b"cd"])
    os.close(fd)
threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
source, target = os.open("a", os.O_RDONLY), os.open("c", os.O_RDWR | os.O_CREAT)
os.sendfile(target, source, 0, 100)
os.copy_file_range(source, os.open("e", os.O_RDWR | os.O_CREAT | os.O_EXCL), 5)
os.write(os.open("end", os.O_WRONLY | os.O_CREAT | os.O_APPEND), b"line")
mmap.mmap(target, 100, prot=mmap.PROT_READ).close()
if os.fork() == 0:
    os.write(target, b"child")
    os._exit(3)
os.wait()
os.rename("c", "d")
try:
    os.open("missing/file", os.O_RDONLY)
except OSError:
    pass
'''
PYTHON = [sys.executable, '-I', '-S', '-c', VARIED]
SHELL = ['sh', '-c', 'echo one > a; cat a a > b; mv b c; cat nowhere 2> error; true']
CHECKPOINT = [os.path.join(BUILD, 'examples', 'checkpoint'), '-s', '1', '-n', '6', '-b', '64']

VIEWS = ['mpiexec.mpich', '-n', '2', os.path.join(BUILD, 'tests', 'mpi', 'views-mpich')]

# Options of `record`, and the program.
RUNS = [
    ([], CHECKPOINT),
    ([], SHELL),
    ([], PYTHON),
    (['--no-trace'], PYTHON),
    (['--trace-cap', '24k', '--file-cap', '3'], CHECKPOINT),
    (['--callsites'], SHELL),
]
if shutil.which(VIEWS[0]) and os.path.exists(VIEWS[-1]):
    RUNS.append(([], VIEWS))

QUESTIONS = ['Latency Breakdown Inclusive [0–1] [1-10]', 'Latency Breakdown Exclusive 0', 'latency operation max 0,3,5-7 - [-] [1-3]',
             'Thru. - - 0', 'Energy 13.5 10.2 [ 0 - 4 ]', 'Call [0']
EXPRESSIONS = ('0', 'idP*8*rs - 2*rs', 'idP*rs + np*rs*(ph-1)', '(idP/4)*1024 + (idP%4)*-64', '((idP+np-1)/np)*rs')
JSON_TEXTS = (
    b'{"a": [1, -2, 0.5e-3, 18446744073709551615, true, false, null, {}, []], "": "x"}',
    b'["\\udc80\\ud83d\\ude00\\u00e9\\n", "\xff\xc3\xa9"]',
)


def record(directory, options, command):
    """The log, and the spill files as they are before they are packed."""
    log = os.path.join(directory, 'log')
    ioseer = os.path.join(BUILD, 'ioseer')
    words = [ioseer, 'record', '-q', '--keep-spill', '-o', log, *options, '--', *command]
    subprocess.run(words, cwd=directory, check=True)
    spills = [name for name in glob.glob(os.path.join(directory, '**'), recursive=True) if is_spill(name)]
    with open(log, 'rb') as file:
        return file.read(), spills


def is_spill(name):
    if not os.path.isfile(name):
        return False
    with open(name, 'rb') as file:
        return file.read(8) == b'IOSEESP1'


def chunks(spill):
    """Header, payload and room of each chunk (src/fmt/spill.h)."""
    at, end = PAGE, int.from_bytes(spill[96:104], 'little')
    while at < end:
        magic, _, room, used = struct.unpack_from('<4sIII', spill, at)
        if magic != b'CHNK':
            at += PAGE
            continue
        yield spill[at:at + CHUNK_HEADER], spill[at + CHUNK_HEADER:at + CHUNK_HEADER + used], room
        at += (room + PAGE - 1) // PAGE * PAGE


def folded(spill):
    """What fuzz_pack.c takes: only the bytes that are in use."""
    return spill[:FOLDED_HEADER] + b''.join(header + payload for header, payload, _ in chunks(spill))


def shortened(spill):
    """A true spill file whose chunks have hardly more room than they need: most of a new one is empty."""
    out = bytearray(spill[:PAGE])
    for header, payload, _ in chunks(spill):
        chunk = bytearray(header + payload)
        chunk += bytes(-len(chunk) % PAGE)
        chunk[8:12] = len(chunk).to_bytes(4, 'little')
        out += chunk
    out[88:96] = out[96:104] = len(out).to_bytes(8, 'little')
    return bytes(out)


def save(directory, target, number, data):
    folder = os.path.join(directory, target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f'seed{number}'), 'wb') as file:
        file.write(data)


def save_expressions(directory):
    for number, text in enumerate(EXPRESSIONS):
        save(directory, 'expr', number, struct.pack('<4q', 5, 16, 2, 4096) + text.encode())


def save_questions(directory):
    for number, text in enumerate(QUESTIONS):
        save(directory, 'query', number, text.encode())


def save_json_texts(directory):
    for number, text in enumerate(JSON_TEXTS):
        save(directory, 'json', number, text)


def save_info(directory, number, log):
    info = subprocess.run([os.path.join(BUILD, 'ioseer'), 'info', '--json', log], stdout=subprocess.PIPE, check=True)
    save(directory, 'json', f'info{number}', info.stdout)


def save_model(directory, number, log):
    model = subprocess.run([os.path.join(BUILD, 'ioseer'), 'model', log], stdout=subprocess.PIPE, check=True)
    save(directory, 'model', number, model.stdout)


def save_job(directory, number, name):
    with open(name, 'rb') as file:
        save(directory, 'job', number, file.read())


def save_datatypes(directory, number, records):
    for at, (kind, fields) in enumerate(decode.records(records, [])):
        if kind == decode.DATATYPE:
            save(directory, 'datatype', f'{number}-{at}', fields.string(7))


def save_layouts(directory):
    part = struct.pack('<IIQQIHH16sQQII', 0x0BD30BD0, 1, 1, 2, 1 << 20, 4, 0, b'flash', 1, 2, 0, 5)
    head = struct.pack('<IIIHHQQ', 0x0BD60BD0, 80 + len(part), 1, 0, 1, 0, 0)
    save(directory, 'conf', 'site', b'# logs\nlog_dir = /logs\r\n\nexclude=*/x\nbare\n')
    save(directory, 'lustre', 'pool', part)
    save(directory, 'lustre', 'parts', head + struct.pack('<IIQQIIQQ', 1, 16, 0, 1 << 30, 80, len(part), 0, 0) + part)


def save_probes(directory):
    """A client and a probe above the network, whose calls lie in those of fuzz_probe.c's process."""
    start, tid = 1000000000, 77

    def probe(number, server, parents):
        head = struct.pack('<8sIHHII256s7Q', b'IOSPROB1', 1, number, server, 0, 1, b'', start, start, start, start, 0, len(parents), 0)
        records = [struct.pack('<6QiIHHI', parent, start + 10 * i + 11, start + 10 * i + 14, 100 * i, 100, 1, 100, tid, 2, 0, 0)
                   for i, parent in enumerate(parents)]
        return head.ljust(384, b'\0') + b''.join(records)

    save(directory, 'probe', 0, probe(1, 0xffff, [0] * 8) + probe(2, 0, [1 << 48 | i + 1 for i in range(8)]))


def save_log(directory, number, log):
    """The log, what its blocks hold, and all of them as fuzz_blocks.c takes them."""
    pieces = b''
    for at, block in enumerate(decode.searched_blocks(log, [])):
        payload = block.payload()[:MAX_PAYLOAD]
        pieces += bytes([block.type, block.stream & 255, 0]) + len(payload).to_bytes(2, 'little') + payload
        if block.type == decode.BLOCK_EVENTS:
            save(directory, 'stream', f'{number}-{at}', block.base.to_bytes(8, 'little') + payload)
        else:
            save(directory, 'columns', f'{number}-{at}', block.unpacked())
            save(directory, 'fields', f'{number}-{at}', payload)
            save_datatypes(directory, f'{number}-{at}', payload)
    save(directory, 'log', number, log)
    save(directory, 'blocks', number, pieces)


def save_bundle(directory, number, scratch, spills):
    """As a host delivers these files to its job's directory."""
    folder, job = os.path.join(scratch, f'1.spill-1.on-{socket.gethostname()}'), os.path.join(scratch, '1.spill-1')
    os.mkdir(folder, 0o700)
    os.mkdir(job, 0o700)
    os.symlink(job, os.path.join(folder, 'job-directory'))
    for at, name in enumerate(spills):
        with open(name, 'rb') as file, open(os.path.join(folder, f'{at}.spill'), 'wb') as copy:
            copy.write(shortened(file.read(MAX_SPILL)))
    subprocess.run([os.path.join(BUILD, 'ioseer'), 'pack', '-q', '--finish', folder], check=True,
                   env={**os.environ, 'IOSEER_LOG_DIR': scratch})
    for name in glob.glob(os.path.join(job, '*.bundle')):
        with open(name, 'rb') as file:
            save(directory, 'bundle', number, file.read())


def main():
    directory = sys.argv[1]
    save_expressions(directory)
    save_questions(directory)
    save_json_texts(directory)
    save_layouts(directory)
    save_probes(directory)
    for number, log in enumerate(samples.small_logs()):
        save(directory, 'darshan', number, log.bytes())
    with open(os.path.join(SOURCE, 'tests', 'model', 'every_key.json'), 'rb') as file:
        save(directory, 'model', 'every_key', file.read())
    for number, (options, command) in enumerate(RUNS):
        with tempfile.TemporaryDirectory() as scratch:
            log, spills = record(scratch, options, command)
            for at, name in enumerate(spills):
                with open(name, 'rb') as file:
                    spill = file.read(MAX_SPILL)
                save(directory, 'spill', f'{number}-{at}', shortened(spill))
                save(directory, 'live', f'{number}-{at}', shortened(spill))
                save(directory, 'pack', f'{number}-{at}', folded(spill))
                save_job(directory, number, os.path.join(os.path.dirname(name), 'job'))
            save_bundle(directory, number, scratch, spills)
            save_log(directory, number, log)
            save_info(directory, number, os.path.join(scratch, 'log'))
            save_model(directory, number, os.path.join(scratch, 'log'))


main()
