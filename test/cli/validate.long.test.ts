import { test } from 'node:test';
import { assertWrongServices } from '../support/wrong-services.ts';

test('5,000 wrong services are told of in seconds, each with its place', (t) => assertWrongServices(t, 5000));
