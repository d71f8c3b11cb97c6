#!/usr/bin/env node
import { main } from '../src/cli/main.ts';

// Without top-level await, which the CommonJS of the binary cannot have.
void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
