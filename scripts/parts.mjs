// One executable of many parts: esbuild divides the bundle where modules are imported when they are needed; here the parts become one
// file again, in which each is compiled when it is first asked for. Node.js reads the parts as one long comment until then, which takes
// a tenth of the time of code.

import { existsSync, readFileSync } from 'node:fs';
import { compileFunction } from 'node:vm';

/** Stands for the end of a comment inside the parts; none of them has it otherwise. */
const commentEnd = { written: '*(svc)/', meant: '*/' };

/**
 * @param {import('esbuild').OutputFile[]} outputFiles of a build with `splitting`, in the format `esm`
 * @param {import('esbuild').Metafile} metafile of the same build
 * @param {string} entryName file name of the part that runs first; its text may begin with a shebang and use `await`
 * @returns {string} the text of the executable
 * @throws Error for what cannot be linked this way: parts that import each other, variables that change after they are exported, and
 *   `await` outside of functions in any part but the first
 */
export function linkParts(outputFiles, metafile, entryName) {
  const nameOf = (path) => path.slice(path.lastIndexOf('/') + 1).replace(/\.m?js$/, '');
  checkOrder(metafile, nameOf);
  checkConstants(metafile);
  const parts = new Map(outputFiles.map(({ path, text }) => [nameOf(path), text]));
  const entry = nameOf(entryName);
  const { shebang, code } = /^(?<shebang>#![^\n]*\n)?(?<code>[\s\S]*)$/.exec(parts.get(entry)).groups;
  parts.delete(entry);
  const opening = 'function svcTexts(){/*';
  const places = {};
  let texts = '';
  for (const [name, text] of [...parts].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (text.includes(commentEnd.written)) throw new Error(`${name} has ${commentEnd.written}.`);
    const body = `"use strict";${asFunctionBody(name, text)}`;
    // Throws now what would be a fault of whoever asks for the part.
    compileFunction(body, ['svcPart', 'svcImport', 'require'], { filename: name });
    const written = body.replaceAll(commentEnd.meant, commentEnd.written);
    const start = opening.length + texts.length;
    texts += written;
    places[name] = [start, start + written.length];
  }
  return `${shebang ?? ''}import { createRequire as svcCreateRequire } from 'node:module';
const require = svcCreateRequire(import.meta.url);
const svcPlaces = ${JSON.stringify(places)};
const svcLoaded = new Map();
function svcPart(name) {
  let part = svcLoaded.get(name);
  if (part === undefined) {
    const text = svcTexts.toString().slice(...svcPlaces[name]).replaceAll(${JSON.stringify(commentEnd.written)}, ${JSON.stringify(commentEnd.meant)});
    const compiled = require('node:vm').compileFunction(text, ['svcPart', 'svcImport', 'require'], { filename: 'svc:' + name });
    part = compiled(svcPart, svcImport, require);
    svcLoaded.set(name, part);
  }
  return part;
}
function svcImport(name) { return Promise.resolve().then(() => svcPart(name)); }
${linked(entry, code).body}
${opening}${texts}*/}
`;
}

function asFunctionBody(name, text) {
  const { body, exported } = linked(name, text);
  return `${body}\nreturn{${exported.map(({ local, exportedAs }) => (local === exportedAs ? local : `${JSON.stringify(exportedAs)}:${local}`)).join(',')}};`;
}

/** Replaces the imports and the exports of a part, which esbuild writes at its beginning and at its end. */
function linked(name, text) {
  let body = text.trimEnd();
  const exported = [];
  body = body.replace(/(?:^|(?<=[;}\n]))export\{([^}]*)\};$/, (_, list) => {
    for (const one of list.split(',').filter(Boolean)) {
      const [local, exportedAs = local] = one.split(' as ');
      exported.push({ local, exportedAs });
    }
    return '';
  });
  const statement = /^(?:import(?:\{([^}]*)\}from)?"\.\/([^"]+)\.m?js";)/;
  let imports = '';
  for (let found = statement.exec(body); found; found = statement.exec(body)) {
    const [all, list, from] = found;
    imports += list === undefined ? `svcPart("${from}");` : `const{${list.replaceAll(' as ', ':')}}=svcPart("${from}");`;
    body = body.slice(all.length);
  }
  body = imports + body.replace(/(?<![\w$.])import\("\.\/([^"]+)\.m?js"\)/g, 'svcImport("$1")');
  const left = /(?:^|[;}\n])(?:import[{"*]|export[{ *])|(?<![\w$.])import\.meta/.exec(body);
  if (left) throw new Error(`${name} keeps ${body.slice(left.index, left.index + 80)}`);
  return { body, exported };
}

/** A part gets the members of another one when it is loaded: what changes later would not reach it. */
function checkConstants(metafile) {
  for (const [path, { format }] of Object.entries(metafile.inputs)) {
    if (format !== 'esm' || !existsSync(path)) continue;
    const text = readFileSync(path, 'utf8');
    const lists = [...text.matchAll(/^export\s*\{([^}]*)\}/gm)].flatMap(([, list]) =>
      list.split(',').map((one) => one.trim().split(/\s/)[0]),
    );
    const named = [...text.matchAll(/^export (?:let|var) ([\w$]+)/gm)].map(([, name]) => name);
    const listed = lists.filter((name) => /^[\w$]+$/.test(name) && new RegExp(`^(?:let|var) ${quoted(name)}\\b`, 'm').test(text));
    for (const name of [...named, ...listed]) {
      const assignment = new RegExp(`(?<![\\w$.'"])${quoted(name)}\\s*(?:=(?![=>])|\\+\\+|--|(?:[-+*/%|&^]|\\|\\||&&|\\?\\?|<<|>>)=)`, 'g');
      const times = text.match(assignment)?.length ?? 0;
      if (times > 1) throw new Error(`${path} exports ${name}, which is assigned ${times} times.`);
    }
  }
}

function quoted(name) {
  return name.replaceAll('$', '\\$');
}

function checkOrder(metafile, nameOf) {
  const needs = new Map(
    Object.entries(metafile.outputs).map(([path, { imports }]) => [
      nameOf(path),
      imports.filter(({ kind, external }) => kind === 'import-statement' && !external).map((one) => nameOf(one.path)),
    ]),
  );
  const state = new Map();
  const visit = (name, path) => {
    if (state.get(name) === 'done') return;
    if (state.get(name) === 'open') throw new Error(`parts import each other: ${[...path, name].join(' > ')}`);
    state.set(name, 'open');
    for (const need of needs.get(name) ?? []) visit(need, [...path, name]);
    state.set(name, 'done');
  };
  for (const name of needs.keys()) visit(name, []);
}
