#!/usr/bin/env node
import { main } from '../src/cli/main.ts';

// Without top-level await, because the binary is a CommonJS module, which does not support it.
void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
