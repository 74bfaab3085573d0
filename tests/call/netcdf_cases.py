#!/usr/bin/env python3
"""Lists the transfers of PnetCDF and NetCDF, of one variable and of several at once, each with the arguments that its parameters' names ask for.

    netcdf_cases.py --calls DIR LAYER OUTPUT.h
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'gen'))
from tables import Tables  # noqa: E402

VALUES = {'ncid': 'file', 'imap': 'map', 'num': '2', 'buftype': 'MPI_DOUBLE',
          'filetype': 'type_of_file', 'request': '&request', 'varids': 'ids', 'bufs': '(void *)buffers',
          'bufcounts': 'sizes', 'datatypes': 'datatypes', 'strides': 'strides', 'imaps': 'maps'}
FORM = re.compile(r'_(var[a-z1]?)(_|$)')


def row(call):
    """X(name, operation, mode, variable, form, call)"""
    form = FORM.search(call.name)[1]
    variable = 'texts' if '_text' in call.name else 'strings' if '_string' in call.name else 'numbers'
    buffer = '(void *)names' if variable == 'strings' else '(void *)values'
    values = VALUES | {'varid': variable, 'buf': buffer, 'bufcount': f'COUNT_{form}'}
    arguments = ', '.join(values.get(p.name, p.name) for p in call.params)
    is_posted = any(p.name == 'request' for p in call.params)
    mode = 'posted' if is_posted else 'collective' if call.name.endswith('_all') else 'independent'
    return f'X({call.name}, "{call.op}", {mode}, {variable}, {form}, {call.name}({arguments}))'


def main():
    tables = Tables(pathlib.Path(sys.argv[2]))
    calls = [call for call in tables.calls if call.layer == sys.argv[3] and FORM.search(call.name)]
    several = [call for call in calls if any(p.name == 'varids' for p in call.params)]
    single = [call for call in calls if call not in several and call.cls in ('read', 'write')]
    lines = [f'#define {name}(X) \\\n' + ''.join(f'    {row(call)} \\\n' for call in rows)
             for name, rows in (('TRANSFERS', single), ('SEVERAL', several))]
    pathlib.Path(sys.argv[4]).write_text('\n'.join(lines) + '\n')


if __name__ == '__main__':
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main()
