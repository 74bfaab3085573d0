// Numbers as the page writes them; implemented again here, to find mistakes in the page.
const sizes = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytes(value) {
    let unit = 0;
    for (; value >= 1023.95; unit++) value /= 1024;
    return `${value.toFixed(unit === 0 ? 0 : 1)} ${sizes[unit]}`;
}

// Three significant digits.
export function seconds(value) {
    if (value === 0) return '0 s';
    const [size, unit] = value >= 0.9995 ? [value, 's'] : value >= 0.0009995 ? [value * 1000, 'ms'] : [value * 1000000, 'us'];
    const digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
    return `${size.toFixed(digits)} ${unit}`;
}

export const percent = (value) => `${(Math.floor(value * 1000) / 10).toFixed(1)} %`;

export const count = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ',');

export const sum = (values) => values.reduce((total, value) => total + value, 0);

// Sums of doubles in another order differ in their last digits.
export const near = (a, b) => Math.abs(a - b) <= 1e-9 + 1e-6 * Math.abs(b);
