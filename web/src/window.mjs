// The part of the time that the timeline shows. Mouse, keys, buttons and other parts of the page zoom and move it.

export class Window {
    constructor(from, to, onChange) {
        Object.assign(this, { first: from, last: to, from, to, onChange });
    }

    set(from, to) {
        const smallest = Math.max((this.last - this.first) * 1e-7, 1e-7);
        const length = Math.min(Math.max(to - from, smallest), this.last - this.first);
        this.from = Math.min(Math.max(from, this.first), this.last - length);
        this.to = this.from + length;
        this.onChange();
    }

    zoom(factor, at = (this.from + this.to) / 2) {
        this.set(at - (at - this.from) * factor, at + (this.to - at) * factor);
    }

    pan(share) {
        const step = (this.to - this.from) * share;
        this.set(this.from + step, this.to + step);
    }

    all() {
        this.set(this.first, this.last);
    }
}

const keys = {
    ArrowLeft: (view) => view.pan(-0.2),
    ArrowRight: (view) => view.pan(0.2),
    ArrowUp: (view) => view.zoom(0.6),
    ArrowDown: (view) => view.zoom(1 / 0.6),
    '+': (view) => view.zoom(0.6),
    '=': (view) => view.zoom(0.6),
    '-': (view) => view.zoom(1 / 0.6),
    PageUp: (view) => view.pan(-0.9),
    PageDown: (view) => view.pan(0.9),
    Home: (view) => view.all(),
    0: (view) => view.all(),
};

export function followKeys(place, view) {
    place.addEventListener('keydown', (event) => {
        const act = !event.ctrlKey && !event.metaKey && !event.altKey && keys[event.key];
        if (!act) return;
        event.preventDefault();
        act(view);
    });
}

const smallestDrag = 4; // pixels; less is a click

// Mouse: drag to zoom to a range, with Shift to move; double click or Ctrl and the wheel to zoom; a wheel alone scrolls
// the page. mark(from, to) shows the range while it is dragged; without arguments it shows none.
export function followMouse(place, view, timeAt, mark) {
    let start = null;
    let last = null;
    const end = () => {
        start = last = null;
        mark();
    };
    place.addEventListener('pointerdown', (event) => {
        start = last = event.button === 0 ? event : null;
    });
    addEventListener('pointermove', (event) => {
        if (!start) return;
        if (event.buttons === 0) {
            end();
            return;
        }
        if (start.shiftKey) {
            const moved = timeAt(event) - timeAt(last);
            view.set(view.from - moved, view.to - moved);
        } else mark(start, event);
        last = event;
    });
    addEventListener('pointerup', (event) => {
        if (start && !start.shiftKey && Math.abs(event.clientX - start.clientX) >= smallestDrag) {
            const [from, to] = [timeAt(start), timeAt(event)].sort((a, b) => a - b);
            view.set(Math.max(from, view.from), Math.min(to, view.to));
        }
        if (start) end();
    });
    place.addEventListener('dblclick', (event) => view.zoom(event.shiftKey ? 2 : 0.5, timeAt(event)));
    place.addEventListener(
        'wheel',
        (event) => {
            if (!event.ctrlKey && !event.metaKey) return;
            event.preventDefault();
            view.zoom(event.deltaY < 0 ? 0.8 : 1.25, timeAt(event));
        },
        { passive: false },
    );
}
