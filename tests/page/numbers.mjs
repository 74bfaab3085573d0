// Numbers as the page writes them; implemented again here, to find mistakes in the page.
const sizes = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytes(value) {
    let unit = 0;
    for (; value >= 1023.95; unit++) value /= 1024;
    return `${unit === 0 ? Math.round(value) : (Math.round(value * 10) / 10).toFixed(1)} ${sizes[unit]}`;
}

// Three significant digits.
export function seconds(value) {
    if (value === 0) return '0 s';
    const ns = Math.round(value * 1e9);
    const [each, unit] = value >= 0.9995 ? [1e9, 's'] : value >= 0.0009995 ? [1e6, 'ms'] : [1e3, 'us'];
    const size = ns / each;
    const digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
    return `${(Math.round((ns * 10 ** digits) / each) / 10 ** digits).toFixed(digits)} ${unit}`;
}

export const percent = (value) => `${(Math.min(Math.round(value * 1000), value < 1 ? 999 : Infinity) / 10).toFixed(1)} %`;

export const count = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ',');

export const sum = (values) => values.reduce((total, value) => total + value, 0);

// Sums of doubles in another order differ in their last digits.
export const near = (a, b) => Math.abs(a - b) <= 1e-9 + 1e-6 * Math.abs(b);
