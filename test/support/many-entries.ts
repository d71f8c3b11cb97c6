const entries = (count: number, entry: (index: number) => [string, unknown]) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => entry(index)));
const http = (more: Record<string, unknown>) => ({ type: 'http', ...more });
const url = 'https://x.example/';

/** Configurations with `count` entries, all of which have the same error. */
export const configurations: Record<string, (count: number) => Record<string, unknown>> = {
  'unknown options of services': (count) => ({ services: entries(count, (index) => [`s${index}`, http({ port: index + 1, colour: 1 })]) }),
  'services without a type': (count) => ({ services: entries(count, (index) => [`s${index}`, { port: 'x' }]) }),
  'one address for all services': (count) => ({ services: entries(count, (index) => [`s${index}`, http({ port: 8080 })]) }),
  'many addresses on one port': (count) => ({
    services: entries(count, (index) => [`s${index}`, http({ port: 8080, address: `10.0.${index >> 8}.${index & 255}` })]),
  }),
  'unknown authentication methods': (count) => ({
    authentications: entries(count, (index) => [`known-${index}`, http({ url })]),
    services: entries(count, (index) => [`s${index}`, http({ port: index + 1, authentications: [`unknown-${index}`] })]),
  }),
  'unknown groups of accounts': (count) => ({
    groups: entries(count, (index) => [`known-${index}`, {}]),
    accounts: entries(count, (index) => [`a${index}`, { group: `unknown-${index}` }]),
    services: { web: http({}) },
  }),
  'unknown components of handlers': (count) => ({
    services: { web: http({}) },
    server: { uuid: 'here' },
    event_handlers: entries(count, (index) => [`h${index}`, http({ url, components: `unknown-${index}`, user_groups: 'nobody' })]),
  }),
  'wrong handlers that services name': (count) => ({
    event_handlers: entries(count, (index) => [`h${index}`, http({ url: 'nonsense' })]),
    services: entries(count, (index) => [`s${index}`, http({ port: index + 1, api_backend_uuid: `h${index}` })]),
  }),
  'accounts in one folder': (count) => ({
    accounts: entries(count, (index) => [`a${index}`, { home_folder_path: `/srv/${index % 2 === 0 ? 'x' : index}` }]),
    services: { web: http({}) },
  }),
  'rules that nothing reaches': (count) => ({
    groups: {
      g: {
        permissions: [[], ...Array.from({ length: count }, (_, index) => [`/f${index >> 1}/${index % 2 === 0 ? '' : 'x'}*`, 'allow-read'])],
      },
    },
    services: { web: http({}) },
  }),
  'variables that are not set': (count) => ({
    services: entries(count, (index) => [`s${index}`, http({ name: '${env:SVC_UNSET}', port: index + 1 })]),
  }),
};
