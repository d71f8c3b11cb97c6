// Lints the API description with Redocly's rules, all of `recommended-strict` but two: part of `npm run check`.
import { createConfig, formatProblems, lint } from '@redocly/openapi-core';

process.chdir(new URL('..', import.meta.url).pathname);
const config = await createConfig({
  extends: ['recommended-strict'],
  rules: {
    // A URL with a slash at its end is a folder, one without is a file: it is how the service tells them apart.
    'no-path-trailing-slash': 'off',
    // Login page and description answer every GET; inventing a status that never comes would be a lie.
    'operation-4xx-response': 'off',
  },
});
const problems = await lint({ ref: process.argv[2] ?? 'src/http/rest/openapi.yaml', config });
if (problems.length > 0) formatProblems(problems, { format: 'codeframe', totals: { errors: problems.length, warnings: 0, ignored: 0 } });
process.exit(problems.length === 0 ? 0 : 1);
