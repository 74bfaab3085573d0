// Light and dark theme. Colours are CSS variables. Charts draw on a canvas and get the values here.

const key = 'ioseer-theme';
const wish = matchMedia('(prefers-color-scheme: dark)');
const listeners = [];
let chosen = stored();
let printing = false;

// A page opened from disk may have no storage.
function stored() {
    try {
        return localStorage.getItem(key);
    } catch {
        return null;
    }
}

export function theme() {
    if (printing) return 'light';
    return chosen ?? (wish.matches ? 'dark' : 'light');
}

function apply() {
    document.documentElement.dataset.theme = theme();
    for (const listener of listeners) listener();
}

export function onTheme(listener) {
    listeners.push(listener);
}

export function switchTheme() {
    chosen = theme() === 'dark' ? 'light' : 'dark';
    try {
        localStorage.setItem(key, chosen);
    } catch {
        // Then the choice lasts as long as the page.
    }
    apply();
}

export function startTheme() {
    wish.addEventListener('change', apply);
    apply();
}

// Paper is light.
export function setPrinting(value) {
    printing = value;
    apply();
}

export function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const series = 8; // --series-0 ... in style.css

export function seriesColour(index) {
    return colour(`series-${((index % series) + series) % series}`);
}

// A layer has the same colour in all charts and all logs.
export function layerColour(layer) {
    return colour(`layer-${layer}`) || colour('class-none');
}

export function classColour(name) {
    return colour(`class-${name}`) || colour('class-none');
}

// The number of a phase's colour, -1 for no phase. Phases that repeat share one colour, each other phase has its own.
export function phaseSeriesIndex(phases) {
    const byFamily = new Map();
    const indices = new Map();
    for (const phase of phases?.phases ?? []) {
        const family = phase.family ?? `phase ${phase.id}`;
        if (!byFamily.has(family)) byFamily.set(family, byFamily.size % series);
        indices.set(phase.id, byFamily.get(family));
    }
    return (id) => indices.get(id) ?? -1;
}

export function phaseColours(phases) {
    const indexOf = phaseSeriesIndex(phases);
    return (id) => (indexOf(id) < 0 ? colour('class-none') : seriesColour(indexOf(id)));
}
