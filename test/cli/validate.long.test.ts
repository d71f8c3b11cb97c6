import { test } from 'node:test';
import { assertWrongServices } from '../support/wrong-services.ts';

test('5,000 invalid services are reported in seconds, each with its place', (t) => assertWrongServices(t, 5000));
