"""Runs a command under strace and reads what it wrote.

The text is turned into Call objects in the order in which the calls ended, with the interrupted lines
("<unfinished ...>", "<... resumed>") joined. What the calls mean is left to kernel.py.
"""

import errno
import re
import subprocess
from dataclasses import dataclass, field

# Every string and path in hexadecimal (-xx) and every flag as a number (-X raw): nothing in the text is ambiguous.
# The seccomp filter lets all other system calls run at full speed.
OPTIONS = [
    "-f", "--seccomp-bpf", "-T", "--absolute-timestamps=format:unix,precision:ns", "-y", "-xx", "-X", "raw",
    "-e", "trace=%file,%desc,%process,munmap,mremap,msync,sync,close_range,io_submit,io_getevents,io_pgetevents",
    "-e", "abbrev=!readv,writev,preadv,pwritev,preadv2,pwritev2,io_submit,io_getevents,io_pgetevents",
]


def command(output, words, data_bytes=0):
    """The words that run `words` under strace; `data_bytes` of each buffer are kept."""
    return ["strace", *OPTIONS, "-s", str(data_bytes), "-o", output, *words]


def available():
    try:
        return subprocess.run(command("/dev/null", ["true"]), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


@dataclass
class Call:
    tid: int
    name: str
    args: list
    result: int | None = None  # None: never returned, or is to be restarted
    error: str = ""            # symbolic errno
    start: float = 0.0         # seconds since the epoch
    end: float = 0.0
    entered: int = 0           # line numbers: two calls overlap if one entered before the other left
    left: int = 0
    result_text: str = ""

    @property
    def errno(self):
        return getattr(errno, self.error, -1) if self.error else 0

    def __str__(self):
        return f"{self.name}({', '.join(readable(a) for a in self.args)}) = {readable(self.result_text)}"


@dataclass
class Ended:
    """The end of a task: it exited, was killed, or another thread called exec."""
    tid: int
    how: str
    left: int = 0


LINE = re.compile(r"^(\d+)\s+(\d+\.\d+) (.*)$")
RESUMED = re.compile(r"^<\.\.\. (\w+) resumed>(.*)$")
SUPERSEDED = re.compile(r"superseded by execve in pid (\d+)")
HEX = re.compile(r"\\x([0-9a-f]{2})")
DESCRIPTOR = re.compile(r"^(-?\d+)(?:<(.*)>(\(deleted\))?)?$", re.S)
TIME = re.compile(r" <(\d+\.\d+)>$")


def unhex(text):
    """The text of a string or path as strace prints it with -xx; undecodable bytes as Python does it for file names."""
    data = bytes(int(pair, 16) for pair in HEX.findall(text))
    return data.decode("utf-8", "surrogateescape")


def readable(text):
    return HEX.sub(lambda m: chr(int(m.group(1), 16)) if 32 <= int(m.group(1), 16) < 127 else m.group(0), text)


def raw_bytes(arg):
    """The bytes of a quoted buffer, or None where strace cut it short."""
    if arg.endswith("..."):
        return None
    return bytes(int(pair, 16) for pair in HEX.findall(arg))


def string(arg):
    return unhex(arg) if arg.startswith('"') else None


def number(arg):
    try:
        return int(arg, 0)
    except ValueError:
        return 0 if arg == "NULL" else int(arg, 8) if re.fullmatch(r"0[0-7]+", arg) else None


def descriptor(arg):
    """(number, path or None, deleted) of an argument such as 3<\\x2f\\x78>(deleted)."""
    match = DESCRIPTOR.match(arg)
    if not match:
        return None, None, False
    path = unhex(match.group(2)) if match.group(2) is not None else None
    return int(match.group(1)), path, bool(match.group(3))


def split(text):
    """Splits an argument list at its top-level commas."""
    parts, depth, begin, quoted = [], 0, 0, False
    for at, char in enumerate(text):
        if char == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[begin:at].strip())
            begin = at + 1
    if text[begin:].strip():
        parts.append(text[begin:].strip())
    return parts


def closing(text, begin):
    """Where the parenthesis opened at `begin` is closed; -1 if it is not."""
    depth, quoted = 0, False
    for at in range(begin, len(text)):
        char = text[at]
        if char == '"':
            quoted = not quoted
        elif not quoted and char in "([{":
            depth += 1
        elif not quoted and char in ")]}":
            depth -= 1
            if depth == 0:
                return at
    return -1


def set_result(call, text):
    match = TIME.search(text)
    if match:
        call.end = call.start + float(match.group(1))
        text = text[: match.start()]
    call.result_text = text
    words = text.split()
    if words and words[0] != "?":
        first = words[0].split("<")[0]
        call.result = number(first)
    if len(words) > 1 and words[1].startswith("E") and words[1].isupper():
        call.error = words[1]


def whole_call(tid, text, start, entered, left):
    """A Call from the text of a complete line, or None if it is not a call."""
    begin = text.find("(")
    if begin < 0:
        return None
    end = closing(text, begin)
    call = Call(tid, text[:begin], [], start=start, end=start, entered=entered, left=left)
    if end < 0:
        call.args = split(text[begin + 1:])
        return call
    call.args = split(text[begin + 1:end])
    set_result(call, text[end + 1:].strip().removeprefix("= "))
    return call


@dataclass
class Reader:
    pending: dict = field(default_factory=dict)     # tid -> (text, start, line number) of an interrupted line
    superseded: dict = field(default_factory=dict)  # tid of the leader -> what the thread that called exec had begun

    def feed(self, line_number, line):
        match = LINE.match(line)
        if not match:
            return
        tid, start, text = int(match.group(1)), float(match.group(2)), match.group(3)
        if text.startswith("---"):
            return
        if text.startswith("+++"):
            yield from self.ended(tid, text, line_number)
            return
        resumed = RESUMED.match(text)
        if resumed:
            begun = self.pending.pop(tid, None) or self.superseded.pop(tid, None)
            if begun is None:
                return
            call = whole_call(tid, begun[0] + resumed.group(2), begun[1], begun[2], line_number)
        elif text.endswith("<unfinished ...>"):
            self.pending[tid] = (text.removesuffix("<unfinished ...>").rstrip(), start, line_number)
            return
        else:
            call = whole_call(tid, text, start, line_number, line_number)
        if call:
            yield call

    def ended(self, tid, text, line_number):
        begun = self.pending.pop(tid, None)
        superseded = SUPERSEDED.search(text)
        if superseded and begun:
            self.superseded[int(superseded.group(1))] = begun
        elif begun:
            yield whole_call(tid, begun[0], begun[1], begun[2], line_number)
        yield Ended(tid, text.strip("+ "), line_number)


def read(path):
    """All calls and ends of tasks in a strace output, in the order in which they ended."""
    reader, items = Reader(), []
    with open(path, encoding="latin-1") as lines:
        for line_number, line in enumerate(lines):
            items.extend(reader.feed(line_number, line.rstrip("\n")))
    for tid, begun in reader.pending.items():
        items.append(whole_call(tid, begun[0], begun[1], begun[2], 1 << 60))
    return items
