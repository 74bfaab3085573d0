#!/usr/bin/env python3
"""Makes the lists of Darshan's counters from calls/darshan.counters, which explains itself.

    gen_counters.py FILE OUTPUT.h           with what ioseer counts under each name
    gen_counters.py --names FILE OUTPUT.h   the names alone, also of modules that ioseer does not count
"""
import pathlib
import sys

CHOICES = {'BINS': '0_100 100_1K 1K_10K 10K_100K 100K_1M 1M_4M 4M_10M 10M_100M 100M_1G 1G_PLUS'.split(),
           'TOP': '1 2 3 4'.split(), 'DIMS': '1 2 3 4 5'.split(),
           'PARTS': 'VAR VAR1 VARA VARS VARM VARN VARD'.split(), 'POSTED': 'VAR VAR1 VARA VARS VARM VARN'.split()}
DIMENSIONS = 5
# What is not a sum of its own (src/fmt/counter_names.c).
SOURCES = {'MEM_ALIGNMENT', 'STRIDE', 'STRIDE_COUNT', 'ACCESS', 'ACCESS_COUNT', 'FASTEST_RANK', 'FASTEST_RANK_BYTES',
           'SLOWEST_RANK', 'SLOWEST_RANK_BYTES', 'FASTEST_RANK_TIME', 'SLOWEST_RANK_TIME', 'VARIANCE_RANK_TIME',
           'VARIANCE_RANK_BYTES', 'LENGTH', 'BLOCK_STRIDE'}


def access_rows(top):
    yield f'ACCESS{top + 1}_ACCESS', f'SOURCE_ACCESS + {top}'
    for kind, source in (('LENGTH', 'LENGTH'), ('STRIDE', 'BLOCK_STRIDE')):
        for place in range(DIMENSIONS):
            yield f'ACCESS{top + 1}_{kind}_D{place + 1}', f'SOURCE_{source} + {top * DIMENSIONS + place}'


def rows(word):
    """(Darshan's name without its prefix, the enumerator that holds its value)"""
    name, _, other = word.partition('=')
    source = other or name.removeprefix('F_').removesuffix('_TIMESTAMP')
    source = f"{'SOURCE' if source in SOURCES else 'COUNTER'}_{source}"
    if name == '{ACCESSES}':  # with their shapes
        return [row for top in range(len(CHOICES['TOP'])) for row in access_rows(top)]
    for choice, words in CHOICES.items():
        if f'{{{choice}}}' in name:
            return [(name.replace(f'{{{choice}}}', text), f'{source} + {place}') for place, text in enumerate(words)]
    return [(name, source)]


def read(path):
    """{layer: (prefix, rows)}, and the same of modules without a layer"""
    layers, others = {}, {}
    for line in path.read_text().splitlines():
        words = line.split('#')[0].split()
        if words[:1] in (['layer'], ['objects']):
            current = layers[words[1] + ('_objects' if words[0] == 'objects' else '')] = (words[2], [])
        elif words[:1] == ['other']:
            current = others[words[1].lower()] = (words[1], [])
        else:
            current_rows = [row for word in words for row in rows(word)]
            if current_rows:
                current[1].extend(current_rows)
    return layers, others


def write(layers):
    for layer, (prefix, listed) in layers.items():
        yield f'static const struct value_row {layer}_rows[] = {{'
        yield from (f'    {{"{prefix}_{name}", {source}}},' for name, source in listed)
        yield '};\n'
    for table, ending in (('modules', ''), ('object_modules', '_objects')):
        yield f'static const struct module {table}[LAYER_COUNT] = {{'
        for layer, (_, listed) in layers.items():
            if layer.endswith('_objects') == bool(ending):
                yield f'    [LAYER_{layer.removesuffix(ending).upper()}] = {{{layer}_rows, {len(listed)}}},'
        yield '};\n'


def write_names(modules):
    """The integers of a record come first, then its floating-point numbers, whose names begin with F_."""
    for module, (prefix, listed) in modules.items():
        reals = [name.startswith('F_') for name, _ in listed]
        if reals != sorted(reals):
            sys.exit(f'{module}: an integer behind floating-point numbers')
        yield f'static const char *const {module}_names[] = {{'
        yield from (f'    "{prefix}_{name}",' for name, _ in listed)
        yield '};'
        yield f'enum {{ {module.upper()}_NUMBERS = {reals.count(False)}, {module.upper()}_REALS = {reals.count(True)} }};\n'


def main(words):
    if len(words) not in (2, 3) or words[:-2] not in ([], ['--names']):
        sys.exit(__doc__)
    layers, others = read(pathlib.Path(words[-2]))
    lines = write_names(layers | others) if len(words) == 3 else write(layers)
    pathlib.Path(words[-1]).write_text('\n'.join(lines) + '\n')


if __name__ == '__main__':
    main(sys.argv[1:])
