import { MemoryLocks } from '../../src/state/memory/locks.ts';
import { lockStoreContract } from '../contracts/lock-store.ts';
import { ManualClock } from '../support/manual-clock.ts';

lockStoreContract('in memory', () => {
  const clock = new ManualClock();
  let areTaken = true;
  return { store: new MemoryLocks(clock, () => areTaken), advance: (ms) => clock.advance(ms), setTaken: (value) => (areTaken = value) };
});
