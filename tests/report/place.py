"""What the tests of reports share."""
import os
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', folder) for folder in ('cli', 'target')]
import harness  # noqa: E402

# A program with all kinds of requests: small and large, sequential and random, reads and writes, the same data again.
PROGRAM = """import os, sys
folder = sys.argv[1]
for name in ('a', 'b'):
    with open(os.path.join(folder, name), 'wb', buffering=0) as out:
        for i in range(20):
            out.write(bytes(1000))
        out.write(bytes(1 << 20))
    for i in range(30):
        os.stat(os.path.join(folder, name))
    fd = os.open(os.path.join(folder, name), os.O_RDWR)
    for i in (5, 3, 11, 7, 1):
        os.pread(fd, 512, i * 4096)
        os.pwrite(fd, bytes(512), i * 4096)
    os.fsync(fd)
    os.close(fd)
"""

# Names that would break out of a page, a script, a text or a line.
HOSTILE = [b'</script><script>alert(1)</script>', b'"quote\\back\'tick`', b'line\nfeed\ttab\x1b[31mred', b'bad\xff\xfeutf8\x80',
           b'<!--<img src=x onerror=alert(1)>', 'line\u2028separator\u202e'.encode(), b'x' * 250, b'/'.join([b'deep' * 60] * 15), b'${x}{{y}}@IOSEER_DATA@']


def has_page():
    log = os.path.join(harness.SOURCE, 'tests', 'golden', 'version1.ioseer')
    return b'without the page' not in harness.ioseer('report', '--format', 'html', log).stderr
