"""Bar charts as SVG: one group of bars per label. They follow the colour scheme of the reader, light or dark."""
import html
import math

COLORS = ['#4477aa', '#ee6677', '#228833', '#ccbb44', '#66ccee', '#aa3377', '#999999', '#aa6600']
LAYER_COLORS = dict(zip(('mpiio', 'client', 'net', 'server', 'disk'), COLORS))
WIDTH, HEIGHT, LEFT, RIGHT, BOTTOM, TOP = 760, 310, 64, 10, 46, 62
STYLE = ('<style>text{fill:#222}.back{fill:#fff}.grid{stroke:#ddd}.axis{stroke:#666}'
         '@media(prefers-color-scheme:dark){text{fill:#ddd}.back{fill:#1b1f24}.grid{stroke:#3a4048}.axis{stroke:#999}}</style>')
LETTER = 6.2  # width of one, about


def nice(limit):
    """A round step of which at most six fit below the limit."""
    power = 10.0 ** math.floor(math.log10(limit))
    return next(power * factor for factor in (0.2, 0.5, 1, 2, 5) if limit / (power * factor) <= 6)


def color(name, place):
    return LAYER_COLORS.get(name, COLORS[place % len(COLORS)])


def text(x, y, words, anchor='middle', more=''):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{html.escape(str(words))}</text>'


def scale_lines(limit, scale):
    step = nice(limit)
    for i in range(int(limit * 1.0001 / step) + 1):
        y = HEIGHT - BOTTOM - i * step * scale
        yield f'<path class="{"grid" if i else "axis"}" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
        yield text(LEFT - 6, y + 4, f'{i * step:.6g}', 'end')


def group(x, room, values, colors, scale, how):
    """The bars of one label: side by side, stacked, or nested, which is each in front of the one before."""
    width = room * 0.8 / (len(values) if how == 'beside' else 1)
    base = HEIGHT - BOTTOM
    for i, value in enumerate(values):
        height = value * scale
        left = x + room * 0.1 + (i * width if how == 'beside' else 0)
        yield (f'<rect x="{left:.1f}" y="{base - height:.1f}" width="{width:.1f}" height="{height:.1f}" '
               f'fill="{colors[i]}"/>')
        base -= height if how == 'stacked' else 0


def legend(names, colors):
    x = LEFT
    for name, fill in zip(names, colors):
        yield f'<rect x="{x:.1f}" y="30" width="10" height="10" fill="{fill}"/>' + text(x + 14, 39, name, 'start')
        x += 32 + LETTER * len(name)


def bars(path, title, axis, labels, series, unit, how, notes=None):
    """`series` is {name: [value per label]}; `axis` says what the labels are; `notes` is a text per label above its bar."""
    columns = [(sum if how == 'stacked' else max)(values[i] for values in series.values()) for i in range(len(labels))]
    limit = max(columns, default=0) or 1
    scale = (HEIGHT - BOTTOM - TOP - 14) / limit
    room = (WIDTH - LEFT - RIGHT) / max(1, len(labels))
    every = math.ceil(LETTER * (max((len(str(label)) for label in labels), default=1) + 0.5) / room)
    colors = [color(name, i) for i, name in enumerate(series)]
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11" '
           f'role="img"><title>{html.escape(title)}</title>{STYLE}<rect class="back" width="{WIDTH}" height="{HEIGHT}"/>',
           *scale_lines(limit, scale)]
    for i, label in enumerate(labels):
        x = LEFT + i * room
        out += group(x, room, [values[i] for values in series.values()], colors, scale, how)
        if i % every == 0:
            out.append(text(x + room / 2, HEIGHT - BOTTOM + 15, label))
        if notes:
            out.append(text(x + room / 2, HEIGHT - BOTTOM - columns[i] * scale - 4, notes[i]))
    out += [text(LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - BOTTOM + 36, axis), *legend(series, colors),
            text(LEFT, 18, title, 'start', ' font-weight="bold"'), text(LEFT - 6, TOP, unit, 'end'), '</svg>']
    with open(path, 'w', encoding='utf-8') as file:
        file.write('\n'.join(out) + '\n')
