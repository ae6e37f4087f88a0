/** Reads the container's files: Dockerfile -> stages of instructions, .dockerignore -> what the build may see. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Stages in order: `{name, from, steps: [{line, word, text}]}`. `text` is what follows the word, with continued lines joined.
 * Source: https://docs.docker.com/reference/dockerfile/
 */
export function readDockerfile(source) {
  const stages = [];
  let open = null;
  for (const [index, raw] of source.split('\n').entries()) {
    if (/^\s*(#.*)?$/.test(raw)) continue;
    const isContinued = /\\\s*$/.test(raw);
    const part = raw.replace(/\\\s*$/, '').trim();
    open = open ? { ...open, text: `${open.text} ${part}` } : { line: index + 1, word: (part.split(/\s/, 1)[0] ?? '').toUpperCase(), text: part.replace(/^\S+\s*/, '') };
    if (isContinued) continue;
    if (open.word === 'FROM') {
      const [, from = '', name = ''] = /^(\S+)(?:\s+AS\s+(\S+))?$/i.exec(open.text) ?? [];
      stages.push({ name, from, steps: [] });
    } else stages.at(-1)?.steps.push(open);
    open = null;
  }
  return stages;
}

/** `["node", "-e", "..."]` as an array, or null when the text is in shell form. */
export function toExec(text) {
  try {
    const words = JSON.parse(text);
    return Array.isArray(words) && words.every((word) => typeof word === 'string') ? words : null;
  } catch {
    return null;
  }
}

/** `NAME=value ...` of an ENV, quotes taken away. */
export function toVariables(text) {
  return Object.fromEntries([...text.matchAll(/([A-Za-z_]\w*)=("([^"]*)"|\S*)/g)].map(([, name, value, quoted]) => [name, quoted ?? value]));
}

/** Judges a path by .dockerignore: the last pattern that matches it or a folder above it decides. */
export function createIgnore(source) {
  const rules = source
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ keeps: line.startsWith('!'), pattern: toPattern(line.replace(/^!/, '').replace(/^\/|\/$/g, '')) }));
  return (path) => {
    const parts = path.split('/');
    const places = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
    return rules.reduce((ignored, { keeps, pattern }) => (places.some((place) => pattern.test(place)) ? !keeps : ignored), false);
  };
}

function toPattern(glob) {
  const source = glob.replace(/[.+^${}()|[\]\\]/g, '\\$&').replace(/\*\*\/|\*\*|\*|\?/g, (sign) => ({ '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' })[sign] ?? sign);
  return new RegExp(`^${source}$`);
}

/** Every file of `root` that the build may see, as paths with slashes. */
export function toContext(root, isIgnored, folder = '') {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder ? `${folder}/${entry.name}` : entry.name;
    // Never in any context of ours, and too many to look at one by one.
    if (entry.name === 'node_modules' || path === '.git') return isIgnored(`${path}/x`) ? [] : [`${path}/`];
    if (entry.isDirectory()) return toContext(root, isIgnored, path);
    return isIgnored(path) ? [] : [path];
  });
}

export function toMissing(root, paths) {
  return paths.filter((path) => !existsSync(join(root, path)));
}
