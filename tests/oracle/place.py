"""Where a case runs: its folder, its environment, and what it left behind."""

import hashlib
import os
import shutil
import stat
import subprocess
from dataclasses import dataclass
from fnmatch import fnmatch

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("IOSEER_BUILD", os.path.join(SOURCE, "build"))
IOSEER = os.path.abspath(os.environ.get("IOSEER", os.path.join(BUILD, "ioseer")))
PROGRAMS = os.environ.get("ORACLE_PROGRAMS", os.path.join(BUILD, "tests", "oracle"))
LONG_AGO = 1_600_000_000  # the time of every prepared file: archives come out the same
TIMEOUT_SECONDS = 60


class Skip(Exception):
    """The case cannot run here; the text says why."""


@dataclass
class Outcome:
    status: int
    output: bytes
    errors: bytes
    tree: dict


def environment(case=None):
    names = {
        "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8", "TZ": "UTC", "P": PROGRAMS,
        "HOME": "/nonexistent",
        "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@b", "GIT_AUTHOR_DATE": "1600000000 +0000",
        "GIT_COMMITTER_DATE": "1600000000 +0000", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1",
        "GIT_TEMPLATE_DIR": "",
    }
    names.update((name, value.replace("$P", PROGRAMS)) for name, value in (case.environment if case else ()))
    return names


def require(case):
    for name in case.needs:
        name = name.replace("$P", PROGRAMS)
        if not (os.path.exists(name) if "/" in name else shutil.which(name)):
            raise Skip(f"no {os.path.basename(name)} here")
    if case.root and os.geteuid() != 0:
        raise Skip("needs root")
    if not os.path.exists(os.path.join(PROGRAMS, "oracle-calls")):
        raise Skip(f"the test programs are not built in {PROGRAMS}")


class Place:
    """A folder for one case: work/ is where the program runs; the rest lies beside it."""

    def __init__(self, base, name):
        self.path = os.path.join(base, name.replace("/", "-"))
        self.work = os.path.join(self.path, "work")
        self.log = os.path.join(self.path, "log.ioseer")
        self.spill = os.path.join(self.path, "spill")
        self.trace = os.path.join(self.path, "trace")
        self.outputs = (os.path.join(self.path, "output"), os.path.join(self.path, "errors"))
        os.makedirs(self.path, exist_ok=True)

    def prepare(self, case):
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        os.makedirs(self.spill, exist_ok=True)
        if case.prepare:
            subprocess.run(["bash", "-ec", case.prepare], cwd=self.work, env=environment(), check=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=TIMEOUT_SECONDS)
        for folder, folders, files in os.walk(self.work):
            for name in folders + files:
                os.utime(os.path.join(folder, name), (LONG_AGO, LONG_AGO), follow_symlinks=False)

    def run(self, case, before=(), extra_environment=()):
        """Runs the case's script with the words `before` in front of it."""
        env = environment(case) | dict(extra_environment)
        with open(self.outputs[0], "wb") as out, open(self.outputs[1], "wb") as err:
            process = subprocess.run([*before, "bash", "-c", case.script], cwd=self.work, env=env, stdout=out,
                                     stderr=err, stdin=subprocess.DEVNULL, timeout=TIMEOUT_SECONDS)
        with open(self.outputs[0], "rb") as out, open(self.outputs[1], "rb") as err:
            return Outcome(process.returncode, out.read(), err.read(), tree(self.work, case.volatile))

    def record_words(self, *options):
        return [IOSEER, "record", "-q", "--force", *options, "-o", self.log, "--"]


def tree(root, volatile=()):
    """path -> what must be the same of the file there."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            key = os.path.relpath(path, root)
            found[key] = (oct(status.st_mode), status.st_uid, content(path, status, key, volatile))
    return found


def content(path, status, key, volatile):
    if any(fnmatch(key, pattern) for pattern in volatile):
        return "volatile"
    if stat.S_ISLNK(status.st_mode):
        return os.readlink(path)
    if not stat.S_ISREG(status.st_mode):
        return ""
    with open(path, "rb") as data:
        return hashlib.sha256(data.read()).hexdigest()


def shell_status(status):
    """What a shell would say: 128 + n for a signal."""
    return 128 - status if status < 0 else status


def differences(bare, recorded, same_output):
    """What differs between two outcomes, as lines."""
    lines = []
    if shell_status(bare.status) != shell_status(recorded.status):
        lines.append(f"status {bare.status} became {recorded.status}")
    for what, a, b in (("output", bare.output, recorded.output), ("errors", bare.errors, recorded.errors)):
        if same_output and a != b:
            lines += [f"{what} differs:", *first_difference(a, b)]
    for path in sorted(set(bare.tree) | set(recorded.tree)):
        a, b = bare.tree.get(path), recorded.tree.get(path)
        if a != b:
            lines.append(f"file {path}: {a} became {b}")
    return lines


def first_difference(a, b):
    left, right = a.splitlines(), b.splitlines()
    for at in range(max(len(left), len(right))):
        x = left[at] if at < len(left) else None
        y = right[at] if at < len(right) else None
        if x != y:
            return [f"  line {at + 1}: {x!r}", f"  became {y!r}"]
    return []
