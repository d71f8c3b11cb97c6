// Start-up of the command line: `svc --version` against `node -e 0`, interleaved; medians. Fails when the ratio is 2 or more.
//   node scripts/bench/start.mjs [--rounds N] [--binary]
// --binary makes the binary and measures it beside the script on the same Node.js, up to a service that listens; fails when the binary
// is slower.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeFolders, remove, executable as script } from './support/benchmark.mjs';
import { median } from './support/machine.mjs';

process.chdir(new URL('../..', import.meta.url).pathname);
const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '25' }, binary: { type: 'boolean' } } });
const { folder } = makeFolders();
try {
  if (options.binary) await compareBinary();
  else await compareWithNode();
} finally {
  remove(folder);
}

async function compareWithNode() {
  const medians = await measure({
    'node -e 0': () => run(process.execPath, '-e', '0'),
    'svc --version': () => run(process.execPath, script, '--version'),
    'svc --help': () => run(process.execPath, script, '--help'),
    'svc validate --help': () => run(process.execPath, script, 'validate', '--help'),
  });
  const highestRatio = 2;
  if (medians.get('svc --version') / medians.get('node -e 0') < highestRatio) return;
  console.error(`bench: svc --version takes ${highestRatio} times as long as node -e 0, or longer.`);
  process.exitCode = 1;
}

async function compareBinary() {
  const { makeBinary } = await import('../packages/make-binary.mjs');
  const { nodeOf, thisPlatform } = await import('../packages/node-binaries.mjs');
  const binary = join(folder, 'svc');
  await makeBinary(thisPlatform, { path: binary, isCompiled: true });
  const node = nodeOf(thisPlatform).executable;
  const service = 'services: {web: {type: http, port: 0}}\ngroups: {DEFAULT_GROUP: {home_folder_path: ./files}}\n';
  writeFileSync(join(folder, 'svc.config.yaml'), service);
  const medians = await measure({
    'script --version': () => run(node, script, '--version'),
    'binary --version': () => run(binary, '--version'),
    'script serve': () => serve(node, script),
    'binary serve': () => serve(binary),
  });
  const slower = ['--version', 'serve'].filter((command) => medians.get(`binary ${command}`) > medians.get(`script ${command}`));
  if (slower.length === 0) return;
  console.error(`bench: the binary takes longer than the script for ${slower.join(', ')}.`);
  process.exitCode = 1;
}

/** Takes each way in turn, and prints the medians. @returns them, in ms, by name */
async function measure(ways) {
  const times = new Map(Object.keys(ways).map((name) => [name, []]));
  for (let round = 0; round <= Number(options.rounds); round++) {
    for (const [name, way] of Object.entries(ways)) {
      const startedMs = performance.now();
      const end = await way();
      // The first round fills the caches of the system.
      if (round > 0) times.get(name).push(performance.now() - startedMs);
      await end?.();
    }
  }
  const medians = new Map([...times].map(([name, values]) => [name, median(values)]));
  const [firstMs] = medians.values();
  for (const [name, ms] of medians) console.log(`${name.padEnd(20)} ${ms.toFixed(1)} ms  ×${(ms / firstMs).toFixed(2)}`);
  return medians;
}

function run(program, ...args) {
  const { status } = spawnSync(program, args);
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}`);
}

/** Starts a service, until it says that it listens. @returns ends it */
async function serve(program, ...args) {
  const child = spawn(program, [...args, 'serve'], { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  return async () => {
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
}
