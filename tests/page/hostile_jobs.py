#!/usr/bin/env python3
"""hostile_jobs.py IOSEER DIRECTORY: records programs whose names would do harm to a careless page."""
import os
import shutil
import subprocess
import sys

NAMES = [
    b'<img src=x onerror=window.harm=1>',
    b'"><svg onload=window.harm=2>',
    b"quote' & [a-z]*",
    b'new\nline\x1b[31m',
    b'invalid \xff\xfe\xc3 utf-8',
    'turned \u202egpj.exe'.encode(),
    b'@IOSEER_DATA@ $& {{style}}',
]

ioseer, directory = os.fsencode(sys.argv[1]), os.fsencode(sys.argv[2])
dd = os.fsencode(shutil.which('dd'))
os.makedirs(directory, exist_ok=True)
for number, name in enumerate(NAMES):
    folder = os.path.join(directory, b'%d' % number)
    os.mkdir(folder)
    program = os.path.join(folder, name)
    shutil.copy(dd, program)
    subprocess.run([ioseer, b'record', b'-q', b'-o', os.path.join(folder, name + b'.ioseer'), b'--', program, b'if=/dev/zero',
                    b'of=' + os.path.join(folder, b'of ' + name), b'bs=4096', b'count=%d' % (10 + number)],
                   check=True, stderr=subprocess.DEVNULL)
