#!/usr/bin/env python3
"""seeds.py DIRECTORY: records a small program and makes seeds for each fuzz target of its log and spill files."""
import glob
import os
import subprocess
import sys
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
BUILD = os.environ.get('IOSEER_BUILD', os.path.join(SOURCE, 'build'))
sys.path.insert(0, os.path.join(SOURCE, 'tests', 'golden'))
sys.dont_write_bytecode = True
import decode  # noqa: E402

PROGRAMS = (
    [os.path.join(BUILD, 'examples', 'checkpoint'), '-s', '1', '-n', '6', '-b', '64'],
    ['sh', '-c', 'echo one > a; cat a a > b; mv b c; cat nowhere; true'],
)


def record(directory, command):
    """The log, and the spill files as they are before they are packed."""
    log = os.path.join(directory, 'log')
    ioseer = os.path.join(BUILD, 'ioseer')
    subprocess.run([ioseer, 'record', '-q', '--keep-spill', '-o', log, '--', *command], cwd=directory, check=True)
    spills = [name for name in glob.glob(os.path.join(directory, '**'), recursive=True) if is_spill(name)]
    with open(log, 'rb') as file:
        return file.read(), spills


def is_spill(name):
    if not os.path.isfile(name):
        return False
    with open(name, 'rb') as file:
        return file.read(8) == b'IOSEESP1'


def shortened(spill):
    """Without the part of the file that is not in use yet, which is most of it."""
    with open(spill, 'rb') as file:
        used = int.from_bytes(file.read(104)[96:], 'little')
        file.seek(0)
        return file.read(min(used, 1 << 16))


def save(directory, target, number, data):
    folder = os.path.join(directory, target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f'seed{number}'), 'wb') as file:
        file.write(data)


def main():
    directory = sys.argv[1]
    number = 0
    for command in PROGRAMS:
        with tempfile.TemporaryDirectory() as scratch:
            log, spills = record(scratch, command)
            for spill in spills:
                number += 1
                for target in ('spill', 'pack'):
                    save(directory, target, number, shortened(spill))
        pieces = b''
        for block in decode.find_blocks(log, []):
            number += 1
            payload = block.payload()
            pieces += bytes([block.type, block.stream & 255, 0]) + min(len(payload), 65535).to_bytes(2, 'little')
            pieces += payload[:65535]
            if block.type == decode.BLOCK_EVENTS:
                save(directory, 'stream', number, block.base.to_bytes(8, 'little') + payload)
            else:
                save(directory, 'fields', number, payload)
        save(directory, 'log', number, log)
        save(directory, 'blocks', number, pieces)


main()
