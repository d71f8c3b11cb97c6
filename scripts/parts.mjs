// One executable of many parts: esbuild divides the bundle where modules are imported when they are needed; here the parts become one
// file again, in which each is compiled when it is first asked for. Node.js reads the parts as one long comment until then, which takes
// a tenth of the time of code.

import { compileFunction } from 'node:vm';
import { parse } from 'acorn';

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
  const parts = new Map(outputFiles.map(({ path, text }) => [nameOf(path), text]));
  const entry = nameOf(entryName);
  const { shebang, code } = /^(?<shebang>#![^\n]*\n)?(?<code>[\s\S]*)$/.exec(parts.get(entry)).groups;
  parts.delete(entry);
  const opening = 'function svcTexts(){/*';
  const places = {};
  let texts = '';
  for (const [name, text] of [...parts].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (text.includes(commentEnd.written)) throw new Error(`${name} has ${commentEnd.written}.`);
    const written = asFunctionBody(name, text).replaceAll(commentEnd.meant, commentEnd.written);
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
    const { compileFunction, constants } = require('node:vm');
    const options = { filename: 'svc:' + name, importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER };
    const compiled = compileFunction(text, ['svcPart', 'svcImport', 'require'], options);
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
  const members = exported.map(({ local, exportedAs }) => (local === exportedAs ? local : `${JSON.stringify(exportedAs)}:${local}`));
  const functionBody = `"use strict";${body}\nreturn{${members.join(',')}};`;
  // Throws now what would be a fault of whoever asks for the part.
  compileFunction(functionBody, ['svcPart', 'svcImport', 'require'], { filename: name });
  checkConstants(name, functionBody, exported);
  return functionBody;
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

/**
 * A part gets the members of another one when it is loaded: what changes later would not reach it. So no function may assign to what is
 * exported. A variable of a function that has the same name is taken for it, as esbuild hardly ever leaves such names.
 */
function checkConstants(name, body, exported) {
  const locals = new Set(exported.map(({ local }) => local));
  const visit = (node, isInFunction) => {
    if (Array.isArray(node)) {
      for (const one of node) visit(one, isInFunction);
      return;
    }
    if (typeof node?.type !== 'string') return;
    const local = isInFunction ? assignedNames(targetOf(node)).find((one) => locals.has(one)) : undefined;
    if (local !== undefined) throw new Error(`${name} exports ${local}, which a function of it assigns.`);
    const isFunction = /Function/.test(node.type) || node.type === 'PropertyDefinition' || node.type === 'StaticBlock';
    for (const child of Object.values(node)) visit(child, isInFunction || isFunction);
  };
  visit(parse(body, { ecmaVersion: 'latest', sourceType: 'script', allowReturnOutsideFunction: true }).body, false);
}

/** What a node assigns to. */
function targetOf(node) {
  if (node.type === 'AssignmentExpression') return node.left;
  if (node.type === 'UpdateExpression') return node.argument;
  if ((node.type === 'ForInStatement' || node.type === 'ForOfStatement') && node.left.type !== 'VariableDeclaration') return node.left;
  return undefined;
}

/** The variables that an assignment to a target changes; those of a pattern, too. */
function assignedNames(target) {
  switch (target?.type) {
    case 'Identifier':
      return [target.name];
    case 'ArrayPattern':
      return target.elements.flatMap(assignedNames);
    case 'ObjectPattern':
      return target.properties.flatMap((one) => assignedNames(one.type === 'Property' ? one.value : one));
    case 'AssignmentPattern':
      return assignedNames(target.left);
    case 'RestElement':
      return assignedNames(target.argument);
    default:
      return [];
  }
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
