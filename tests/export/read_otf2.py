"""read_otf2.py ARCHIVE: prints an archive as JSON, by OTF2's own reader. For Debian's Python, which has the module."""
import json
import sys

import otf2


def plain(value):
    return value if isinstance(value, (int, str)) else getattr(value, 'name', str(value))


def main():
    records = []
    with otf2.reader.open(sys.argv[1]) as trace:
        for location, event in trace.events:
            about = {'kind': type(event).__name__, 'location': location._ref, 'time': event.time}
            about['attributes'] = {name.name: plain(value) for name, value in (event.attributes or {}).items()}
            for name in ('bytes_request', 'bytes_result', 'matching_id', 'offset_request'):
                if hasattr(event, name):
                    about[name] = getattr(event, name)
            if hasattr(event, 'region'):
                about['region'] = event.region.name
            if hasattr(event, 'handle'):
                about.update(file=event.handle.file.name, paradigm=event.handle.io_paradigm.name, handle=event.handle._ref)
            if hasattr(event, 'mode'):
                about['mode'] = str(event.mode).rpartition('.')[2]
            records.append(about)
        locations = [{'id': one._ref, 'name': one.name, 'group': one.group.name, 'records': one.number_of_events}
                     for one in trace.definitions.locations]
    json.dump({'records': records, 'locations': locations}, sys.stdout)


main()
