"""What the tests of packages share: the version, running tools, and what meson.build asks for."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))

from harness import SOURCE, run  # noqa: E402

PACKAGING = os.path.join(SOURCE, 'packaging')
BUILD_SECONDS = 2400
NOT_PACKAGES = {'threads'}  # dependencies that the C library has


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding='utf-8') as text:
        return text.read()


VERSION = re.search(r"^  version: '(.+)',$", read('meson.build'), re.MULTILINE)[1]


def must(*words, **options):
    """Runs a tool that must succeed; gives what it printed."""
    done = run(*words, **{'timeout': BUILD_SECONDS, **options})
    if done.returncode:
        raise RuntimeError(f'{words}: {done.stdout.decode()[-4000:]} {done.stderr.decode()[-4000:]}')
    return done.stdout.decode()


def dependencies(build):
    """Names of the libraries that a build without tests has found, as pkg-config knows them."""
    found = {library['name'] for library in json.loads(must('meson', 'introspect', '--dependencies', build))}
    return {name for name in found - NOT_PACKAGES if run('pkg-config', '--exists', name).returncode == 0}


def versions():
    """The versions that meson.build asks for, by the names of the libraries."""
    scanned = json.loads(must('meson', 'introspect', '--scan-dependencies', os.path.join(SOURCE, 'meson.build')))
    return {library['name']: library['version'][0] for library in scanned if library['version']}
