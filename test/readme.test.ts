import { test } from 'node:test';
import { runTour } from './support/run-tour.ts';

test('the five-minute tour prints what the README shows', { timeout: 90_000 }, (t) => runTour(t, 'README.md', 'Five-minute tour'));
