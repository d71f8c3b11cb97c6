import { testParts } from './support/bench-smoke.ts';

testParts({
  callout: ['GET 1 KiB, 32 connections'],
  tokens: ['GET 1 KiB, 32 connections'],
  webhooks: ['`batch_size: 100`, in order', 'time from the reply to an upload until its event arrives, p99', '`svc webhook-replay`'],
  resumable: ['1 GiB in pieces of 8 MiB', 'peak memory, 4 GiB in 20 concurrent uploads'],
  nodes: ['GET 1 KiB, session', 'PUT 1 KiB, session, one webhook'],
  memory: ['idle', 'PUT 1 GiB'],
  journal: ['newest events', 'text without a match', 'memory of the process'],
  console: ['GET 1 KiB, 32 connections'],
  inspections: ['inspection of 256 MiB', 'PUT of 1 KiB, not inspected'],
  pages: ['the first rows appear', 'longest task, sorting by size', 'console: the first event appears'],
});
