// What was predicted for other storage, where it was.
import { h, section } from './dom.mjs';
import { count } from './format.mjs';
import { facts } from './table.mjs';

const isRecord = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isRows = (value) => Array.isArray(value) && value.length > 0 && value.every(isRecord);
const words = (key) => key.replaceAll('_', ' ');

function plain(value) {
  if (value === null) return '–';
  if (typeof value === 'number') return Number.isInteger(value) ? count(value) : `${Number(value.toPrecision(4))}`;
  return Array.isArray(value) ? value.map(plain).join(', ') : String(value);
}

function rowsTable(name, rows) {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row).filter((key) => !isRecord(row[key]) && !isRows(row[key]))))];
  return h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': words(name) },
    h('table', {}, h('caption', {}, words(name)), h('thead', {}, h('tr', {}, keys.map((key) => h('th', { scope: 'col' }, words(key))))),
      h('tbody', {}, rows.map((row) => h('tr', {}, keys.map((key) =>
        h('td', { class: typeof row[key] === 'number' ? 'number' : null }, row[key] === undefined ? '' : plain(row[key]))))))));
}

function shown(value) {
  const entries = Object.entries(value);
  return [facts(entries.filter(([, part]) => !isRecord(part) && !isRows(part)).map(([key, part]) => [words(key), plain(part)])),
    entries.filter(([, part]) => isRows(part)).map(([key, part]) => rowsTable(key, part)),
    entries.filter(([, part]) => isRecord(part)).map(([key, part]) => h('div', { class: 'nested' }, h('h4', {}, words(key)), shown(part)))];
}

export function predictionsSection(document) {
  if (!document.predictions?.length) return null;
  return section('predictions', 'Predictions', document.predictions.map((prediction) =>
    h('article', { class: 'prediction' }, h('h3', {}, prediction.target?.name ?? prediction.target ?? 'Prediction'), shown(prediction))));
}
