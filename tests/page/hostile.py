#!/usr/bin/env python3
"""hostile.py DIRECTORY: writes and reads files with names that would do harm to a careless page."""
import os
import sys

NAMES = [
    b'</script><script>window.harm=1</script>',
    b'<img src=x onerror=window.harm=2>',
    b'"><svg onload=window.harm=3>',
    b"quote' and \" and `${window.harm=4}`",
    b'<!--<script>',
    b']]>{{style}} $& @IOSEER_DATA@',
    b'new\nline\ttab\x01\x1b[31m\x7f',
    b'invalid \xff\xfe\xc3 utf-8',
    'turned \u202egpj.exe and \u2028 lines'.encode(),
    b'%s%n {a|b} {{c}}',
    b'x' * 250,
]

directory = os.fsencode(sys.argv[1])
for name in NAMES:
    path = os.path.join(directory, name.replace(b'/', b'\xe2\x88\x95'))
    with open(path, 'wb') as file:
        file.write(b'x' * 4096)
    with open(path, 'rb') as file:
        file.read()

# A path of nearly 4 KB, the maximum.
deep = directory
while len(deep) + 201 < 4000:
    deep = os.path.join(deep, b'<b onclick=window.harm=5>'.ljust(200, b'y'))
    os.mkdir(deep)
with open(os.path.join(deep, b'end'), 'wb') as file:
    file.write(b'x' * 4096)
