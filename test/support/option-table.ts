const texts: [string[], string[]] = [
  ['x', '"a b"', '""'],
  ['[]', '5', 'null', '{a: b}'],
];
const paths: [string[], string[]] = [
  ['./x.pem', '/etc/x.pem', '""', 'null'],
  ['[]', '{a: b}'],
];
const urls: [string[], string[]] = [
  ['"http://a/, https://b/"', '["http://a/", "https://b/"]', 'https://a:1/b?c=d'],
  ['""', 'ftp://x', 'nonsense', 'http://user:pw@x/', '[]', '["http://a/", 5x]', 'null'],
];

const hash = `$scrypt$ln=14,r=8,p=5$${'A'.repeat(22)}$${'B'.repeat(43)}`;
const yesNo: [string[], string[]] = [
  ['yes', 'no', 'true', 'false', '"yes"', '"0"'],
  ['maybe', '2', '[]', 'null'],
];
const seconds: [string[], string[]] = [
  ['1', '"1.5"'],
  ['-1', 'x', '[]', 'null', 'true'],
];
const headers: [string[], string[]] = [
  ['"X-A: b"', '"X-A: b\\nX-B: c"', '["X-A: b", "X-B: c"]', '{X-A: b, X-B: 1}', '""'],
  ['nocolon', '"X A: b"', '"X-A: b\\rX"', '5', '{"X A": b}'],
];
const names = [
  ['"a, b"', '[a, b]', '""', '"a, \\"b, c\\""'],
  ['{a: b}', '"\\"a"'],
];

/** Returns values for the options `tokens` and `links`. @param right a further valid member @param wrong an invalid member */
function grants(right: string, wrong: string): [string[], string[]] {
  return [
    ['{}', '{enabled: no}', '{maximum: 5, maximum_days: "30"}', `{${right}}`],
    ['5', 'yes', '{maximum: 0}', '{maximum_days: 5000}', `{${wrong}}`, '{other: 1}'],
  ];
}

/** Every option: its section, its name, valid values (some also as a string), and invalid values. The values are YAML. */
export const options: [string, string, string[], string[]][] = [
  ['server', 'uuid', ['abc', 'cc5c804d-0a3c'], ['a/b', '"a|b"', '5', '""']],
  ['server', 'name', ['x'], ['[]', '5']],
  ['server', 'data_folder_path', ['./x'], ['""', '5']],
  ['server', 'shutdown_timeout', ['0', '"30"'], ['-1', 'x']],
  ['server', 'shutdown_delay', ['0', '"5"'], ['-1', '3601']],
  ['server', 'file_cache_size', ['0', '"33554432"'], ['-1', '1.5', 'x']],
  ['server', 'user', ['svc', '""'], ['5', '[]']],
  ['server', 'group', ['svc', '""'], ['5', '[]']],
  ['server', 'umask', ['"027"', '"0027"', '""'], ['"9"', '"27"', 'true']],
  [
    'server',
    'security_contact',
    ['security@example.com', '"mailto:a@example.com"', '"https://example.com/report"'],
    ['nobody', '"ftp://example.com"'],
  ],
  ['state', 'type', ['memory', 'redis'], ['mongo', '5']],
  ['state', 'url', ['redis://x'], ['5']],
  ['state', 'prefix', ['svc', '"a.b-c_1"'], ['""', '"a b"', '"{x}"']],
  ['state', 'ca_certificates_path', ['./ca.pem'], ['[]']],
  ['state', 'retention_days', ['0', '"0.5"'], ['-1', 'x']],
  ['state', 'secret', ['x', '""'], ['[]']],
  ['state', 'sentinel_username', ['x', '""'], ['[]']],
  ['state', 'sentinel_password', ['x', '""'], ['[]']],
  ['log', 'level', ['debug', 'info', 'warn', 'error'], ['loud', '1']],
  ['log', 'format', ['pretty', 'json'], ['xml']],
  ['events', 'retention_days', ['1', '"0.5"'], ['0', 'x']],
  ['events', 'maximum_file_size', ['65536', '"1000000"'], ['1', '1.5', 'x']],
  ['uploads', 'expire_after', ['60', '"86400"'], ['59', '2592001', '1.5', 'x']],
  ['uploads', 'maximum_per_account', ['1', '"1000"'], ['0', 'x']],
  ['password', 'minimum_length', ['1', '"12"'], ['0', '151', '1.5']],
  ['password', 'character_requirements', ['[]', '[digit, symbol]', '"lowercase, uppercase"'], ['emoji', '5x']],
  ['password', 'history', ['0', '5'], ['-1', '101']],
  ['security', 'ban_after_failures', ['0', '"5"', '10000'], ['-1', '1.5', '10001']],
  ['security', 'ban_seconds', ['1', '"3600"'], ['0', 'x']],
  ['security', 'ban_window_seconds', ['1'], ['0']],
  ['callout', 'enabled', ...yesNo],
  ['callout', 'timeout', ['0.5', '"120"'], ['0', '3601', 'x']],
  ['callout', 'username', ['x', '""', 'null'], ['[]']],
  ['callout', 'password', ['x', '12345'], ['[]']],
  ['callout', 'headers', ...headers],
  ['callout', 'test_at_start', ...yesNo],
  ['callout', 'ca_certificates_path', ['./ca.pem'], ['[]']],
  ['callout', 'cache_seconds', ['0', '"60"'], ['-1']],
  ['callout', 'tokens', ...yesNo],
  ['application', 'replace_password_hashes', ...yesNo],
  ['application', 'accounts_file_path', ['./accounts.yaml'], ['[]']],
  ['anonymous', 'group', ['DEFAULT_GROUP'], ['5', '""', 'a/b']],
  ['group', 'enabled', ...yesNo],
  ['group', 'home_folder_path', ['"/srv/${USER}"', 'null'], ['[]']],
  ['group', 'create_home_folder', ...yesNo],
  ['group', 'create_home_folder_owner', ['root', 'null'], ['[]']],
  ['group', 'create_home_folder_group', ['root', 'null'], ['[]']],
  ['group', 'home_folder_structure', ['[a, [b/c]]', '"a, b"'], ['[../x]', '{}', '[[a, b]]']],
  ['group', 'virtual_folders', ['[]', '[[/a, /srv/a]]'], ['[[a, /srv]]', '[[/a]]', '[[/, /srv]]', '[[/a/../b, /x]]', 'x']],
  [
    'group',
    'permissions',
    ['[[allow-read]]', '[[allow-read, allow-list], ["/in/*", allow-write]]', '"allow-read, allow-list"', '[allow-read]'],
    ['[[allow-everything]]', '[[allow-read], ["/x"]]', '[[], ["e/(/", allow-read]]', '5'],
  ],
  ['group', 'on_name_taken', ['refuse', 'number'], ['replace', '5', 'yes']],
  ['group', 'retain', ['{days: 30}', '{days: 0}'], ['30', '{}', '{days: -1}', '{days: 40000}', '{hours: 1}']],
  ['group', 'allow_own_password_change', ...yesNo],
  ['group', 'show_recent', ...yesNo],
  ['group', 'tokens', ...grants('services: [web]', 'services: {a: b}')],
  ['account', 'tokens', ...grants('services: "web, sftp"', 'services: {b: c}')],
  ['group', 'links', ...grants('require_password: yes', 'require_password: 2')],
  ['account', 'links', ...grants('default_days: 1.5', 'default_days: 0')],
  ['group', 'show_expectations', ...yesNo],
  ['account', 'show_expectations', ...yesNo],
  ['group', 'file_write_size', ['0', '"1000"'], ['-1', '1.5']],
  [
    'group',
    'trash',
    ['{}', '{ days: 30 }', '{ days: "30" }', '{ days: 0 }'],
    ['30', 'true', '{ days: -1 }', '{ days: 5000 }', '{ hours: 3 }'],
  ],
  ['account', 'trash', ['{}', '{ days: 0 }', '{ days: 7 }'], ['7', '{ days: x }']],
  ['group', 'quota_size', ['0', '"1000"'], ['-1', 'x']],
  ['account', 'enabled', ...yesNo],
  ['account', 'password', [`"${hash}"`, 'null'], ['secret', `"${hash.replace('ln=14', 'ln=31')}"`, '5']],
  ['account', 'email', ['a@b.c', '"a@b.c, d@e.f"'], ['[]']],
  ['account', 'group', ['DEFAULT_GROUP'], ['5']],
  ['account', 'ssh_keys', ['[]', '["ssh-ed25519 AAAA"]'], ['x']],
  ['account', 'certificates', ['[]'], ['x']],
  ['http', 'enabled', ...yesNo],
  ['http', 'address', ['0.0.0.0', '"::1"'], ['""', '5']],
  ['http', 'port', ['0', '8080', '"8080"'], ['65536', '-1', '80.5', 'x']],
  ['http', 'authentications', ['a', '"a, b"', '[a, b]', 'null'], ['{}']],
  ['http', 'public_error', ...yesNo],
  ['http', 'idle_connection_timeout', ...seconds],
  ['http', 'session_maximum_age', ...seconds],
  ['http', 'maximum_concurrent_connections', ['1', '"100"'], ['0', '1.5']],
  ['http', 'maximum_request_size', ['0', '"100"'], ['-1']],
  ['http', 'headers', ...headers],
  [
    'http',
    'appearance',
    ['{}', '{title: Files, accent_color: "#7a2048"}'],
    ['5', '{titel: x}', '{accent_color: red}', '{accent_color: "#eeeeee"}'],
  ],
  [
    'http',
    'accepted_origins',
    ['https://a.example', '[https://a.example, "http://b:8080"]'],
    ['a.example', 'https://a.example/', 'https://a.example/x'],
  ],
  [
    'http',
    'public_url',
    ['https://files.example.com', '"http://files.example.com:8080/"', '""'],
    ['files.example.com', 'https://a.example/x', 'https://a:b@a.example', '5'],
  ],
  ['http', 'show_api_link', ...yesNo],
  ['http', 'cors_origins', ['https://a.example', '[https://a.example, "http://b:8080"]'], ['a.example', 'https://a.example/']],
  ['http', 'client_forwarded_header', ['X-Forwarded-For', '""', 'null'], ['"X Y"']],
  ['http', 'trusted_proxies', ['10.0.0.5', '"10.0.0.0/8, ::1"', '[10.0.0.0/8]', '""', 'null'], ['10.0.0.0/33', 'proxy.example', '{}']],
  ['http', 'announce_session_authentication', ...yesNo],
  ['http', 'announce_version', ...yesNo],
  ['http', 'webdav_compatibility', ...yesNo],
  [
    'http',
    'metadata_fields',
    ['x-labels', '"x-labels, required"', '["x-labels, optional", "a-*, required"]', '"x-labels\\na, required"'],
    ['"x labels"', '"x-labels, maybe"', '["x-labels", "[, required, x"]'],
  ],
  [
    'http',
    'triggers',
    ['["Approve, success", "Reject, warning, DEFAULT_GROUP"]', '"Approve, success"', '[]'],
    ['["Approve, loud"]', '["delete, success"]'],
  ],
  ['http', 'api_backend_uuid', ['h', '""', 'null'], ['a/b']],
  ['http', 'api_passthrough_headers', ['"x-receipt, x-scan"', '[x-receipt]'], ['Set-Cookie', 'connection', 'content-length', '"x y"']],
  ['http', 'api_partial_success_headers', ...headers],
  [
    'https',
    'tls',
    ['{}', '{acme: {directory: "https://ca.example/dir", domains: files.example.com}}'],
    ['5', '{acme: {}}', '{acme: {directory: "http://ca.example/dir", domains: files.example.com}}'],
  ],
  ['https', 'tls_minimum_version', ['TLSv1.2', 'TLSv1.3'], ['TLSv1.1', '1.2']],
  ['monitor', 'port', ['0', '"9100"'], ['x']],
  ['handler', 'target', ['""', '40017', '"40017, 40022"', '[40017, 40022]', '"!40004"'], ['99999', 'upload']],
  ['handler', 'groups', ['""', 'http', '"http, !process"', '[success]'], ['nonsense']],
  ['handler', 'usernames', ...(names as [string[], string[]])],
  ['handler', 'source_addresses', ['10.0.0.0/8'], ['{}']],
  ['handler', 'data_filter', ['"api_backend, yes"', '["a, b", "c, !e/x/"]', '{api_backend: yes}'], ['nocomma', '"a, e/(/"']],
  ['handler', 'request_method', ['post', 'PUT', 'get'], ['delete', '5']],
  ['handler', 'http_content_type', ['json', 'xml', 'soap', 'cloudevents'], ['yaml']],
  ['handler', 'cloudevents_type_prefix', ['com.example.svc'], ['""', '[]']],
  ['handler', 'expected_response', ['""', '"*OK*"', '"e/ok/i"'], ['"e/(/"']],
  ['handler', 'retry_count', ['0', '"2"'], ['-1', '1.5']],
  ['handler', 'retry_increase', ['0', '"0.5"'], ['-1']],
  ['handler', 'retry_backoff', ['linear', 'exponential'], ['random', '5']],
  ['handler', 'retry_maximum_wait', ['3600', '10m', '"0.5"'], ['-1', '2d', 'soon']],
  ['handler', 'retry_for', ['0', '3d', '"90"', '8h'], ['-1', '40d', '1w', 'x']],
  [
    'handler',
    'rate',
    ['{requests: 10}', '{requests: 10, seconds: 0.5, burst: 20}', 'null'],
    ['10', '{}', '{requests: 0}', '{requests: 1, per: s}'],
  ],
  ['handler', 'fail_after_errors', ['0', '10'], ['-1']],
  [
    'handler',
    'extra_data',
    ['{text: "{message}"}', `'{"a": 1}'`, 'null'],
    ['{events: 1}', '{server: x}', 'nojson', '[1]', `'{"a": ${'['.repeat(70)}${']'.repeat(70)}}'`],
  ],
  ['handler', 'batch_size', ['1', '"100"'], ['0']],
  ['handler', 'concurrency', ['1', '8'], ['0', '1000']],
  ['handler', 'signing_secret', ['""', 'whsec_abc', '[a, b]', 'null'], ['{}']],
  ...(['callout', 'application', 'anonymous', 'group', 'http', 'ssh', 'monitor', 'handler'] as const).flatMap((where): typeof options => [
    [where, 'name', ...texts],
    [where, 'description', ...texts],
  ]),
  ...(['application', 'anonymous', 'ssh', 'monitor', 'handler'] as const).map((where): (typeof options)[number] => [
    where,
    'enabled',
    ...yesNo,
  ]),
  ...(['tls_certificate_path', 'tls_key_path', 'tls_client_ca_path'] as const).map((option): (typeof options)[number] => [
    'https',
    option,
    ...paths,
  ]),
  ['callout', 'url', ...urls],
  ['handler', 'url', ...urls],
  ['handler', 'user_groups', ...(names as [string[], string[]])],
  ['handler', 'components', ...(names as [string[], string[]])],
  ['handler', 'headers', ...headers],
  ['handler', 'username', ['x', '""', 'null', '5'], ['[]']],
  ['handler', 'password', ['x', '12345', 'null'], ['[]', '{}']],
  ['handler', 'timeout', ['0.5', '"120"'], ['0', '3601', 'x']],
  ['handler', 'ca_certificates_path', ...paths],
  ['group', 'required_credentials', ['any', 'password', 'ssh-key', 'both'], ['key', '[]', 'null']],
  ['monitor', 'address', ['0.0.0.0', '"::1"'], ['""', '5']],
  ['account', 'uuid', ['abc', '"a b"'], ['a/b', '"a|b"', '5', '""']],
  ['account', 'home_folder_path', ['"/srv/${USER}"', 'null'], ['[]']],
  ['account', 'create_home_folder', ['yes', '"no"', 'true'], ['maybe', '[]']],
  ['account', 'create_home_folder_owner', ['root', 'null'], ['[]']],
  ['account', 'create_home_folder_group', ['root', 'null'], ['[]']],
  ['account', 'home_folder_structure', ['[a, [b/c]]', '"a, b"'], ['[../x]', '{}', '[[a, b]]']],
  ['account', 'virtual_folders', ['[]', '[[/a, /srv/a]]'], ['[[a, /srv]]', '[[/a]]', 'x']],
  ['account', 'on_name_taken', ['refuse', 'number'], ['replace', '5']],
  ['account', 'retain', ['{days: 30}', '{days: 0}'], ['30', '{}', '{days: -1}']],
  [
    'group',
    'inspections',
    ['[]', '[[]]', '[a, b]', '"a, b"', '[[a], ["/in/*", a, b], ["/tmp/*"]]'],
    ['{a: b}', '[[a], []]', '[["a/b"]]', '[[a], ["e/(/", a]]'],
  ],
  [
    'account',
    'inspections',
    ['[]', '[[]]', '[a, b]', '"a, b"', '[[a], ["/in/*", a, b], ["/tmp/*"]]'],
    ['{a: b}', '[[a], []]', '[["a/b"]]', '[[a], ["e/(/", a]]'],
  ],
  ['account', 'permissions', ['[[allow-read]]', '"allow-read, allow-list"'], ['[[allow-everything]]', '5']],
  ['ssh', 'authentications', ['a', '"a, b"', '[a, b]', 'null'], ['{}']],
  ['ssh', 'public_error', ...yesNo],
  ['ssh', 'idle_connection_timeout', ['1', '"300"'], ['0', 'x']],
  ['ssh', 'session_maximum_age', ['60', '"86400"'], ['-1', 'x']],
  ['ssh', 'maximum_concurrent_connections', ['1', '"1000"'], ['-1', 'x']],
  ['ssh', 'port', ['0', '"2222"', '65535'], ['65536', 'x']],
  ['ssh', 'address', ['0.0.0.0', '"::1"'], ['""', '5']],
  ['ssh', 'host_key_paths', ['[]', '"/etc/a, /etc/b"'], ['{}']],
  ['ssh', 'before_login_message', ['x', '""', 'null'], ['[]']],
  ['ssh', 'ssh_cipher_list', ['secure', 'all', 'fips', '"aes256-ctr, ssh-ed25519"', '[]'], ['aes256', '3des-cbc', 'ssh-rsa', '{}']],
  ['ssh', 'login_grace_time', ['1', '"3600"', '0.5e1'], ['0', '3601', 'x']],
  ['ssh', 'max_auth_tries', ['1', '"100"'], ['0', '101', '1.5']],
  ['ssh', 'maximum_unauthenticated_connections', ['1', '"100000"'], ['0', '100001']],
  ['ssh', 'maximum_unauthenticated_connections_per_address', ['1', '"100000"'], ['0', '100001']],
  ['ssh', 'maximum_sessions_per_account', ['1', '"100000"'], ['0', '100001']],
  ['ssh', 'maximum_channels', ['1', '"1000"'], ['0', '1001']],
  ['ssh', 'maximum_handles', ['1', '"100000"'], ['0', '100001']],
  ['ssh', 'keep_alive_interval', ['1', '"3600"'], ['0', '3601']],
  ['ssh', 'rekey_bytes', ['1048576', '"1073741824"'], ['1048575', 'x']],
  ['ssh', 'rekey_seconds', ['10', '"86400"'], ['9', '86401']],
  ['ssh', 'ignore_create_permissions', ...yesNo],
  ['ssh', 'partial_uploads', ['remove', 'keep'], ['leave', '[]']],
  ['ssh', 'temporary_names', ['[]', '"*.part, .in.*"'], ['{}']],
  ['ssh', 'copy_on_resume_limit', ['0', '"1073741824"'], ['-1', 'x']],
  ['ssh', 'attribute_events', ...yesNo],
  ['ssh', 'checksum_commands', ...yesNo],
  ['ssh', 'proxy_protocol', ...yesNo],
  ['ssh', 'trusted_proxies', ['[]', '"10.0.0.0/8, ::1"'], ['x', '10.0.0.0/33']],
  [
    'forward',
    'url',
    ['"https://x/a/{path}"', '"https://x/{account.name}/{data.file_name}?a=b"', '["http://a/{path}", "https://b/{path}"]'],
    [
      ...['""', '[]', 'null', '"ftp://x/{path}"', '"https://u:p@x/{path}"', '"https://{account.name}/{path}"', '"https://x/?{path}"'],
      ...[
        '"https://x/../{path}"',
        '"https://x/{nothing}"',
        '["https://x/{path}", "sftp://u@x/{path}"]',
        '"s3://Bucket_/{path}"',
        '"sftp://x/{path}"',
      ],
    ],
  ],
  [
    'forward',
    'after',
    ['keep', 'delete', '"move:/sent/{path}"'],
    ['remove', '"move:sent/{path}"', '"move:/sent"', '"move:/../{path}"', '5'],
  ],
  ['forward', 'window', ['""', '"22:00-05:00"', '"08:00-24:00"'], ['"22-5"', '"22:00-22:00"', '"25:00-01:00"', '"20:00-24:30"']],
  ['forward', 'time_zone', ['UTC', 'Europe/Berlin'], ['Nowhere/Town', '5']],
  ['forward', 'timeout', ['0.5', '"86400"'], ['0', '604801', 'x']],
  [
    'forward',
    'endpoint',
    ['""', '"https://s3.example.com"', '"http://127.0.0.1:9000/s3/"'],
    ['"s3.example.com"', '"https://u@x"', '"https://x/?a"', '[]'],
  ],
  ['forward', 'region', ['eu-central-1'], ['""', '[]']],
  ['forward', 'access_key_id', ['AKID'], ['[]', '""']],
  ['forward', 'secret_access_key', ['KEY'], ['[]', '""']],
  ['forward', 'key_path', ['./id'], ['[]', '""']],
  ['forward', 'known_hosts_path', ['./known_hosts'], ['[]', '""']],
  ['forward', 'username', ['x', '""', 'null'], ['[]']],
  ['forward', 'password', ['x', 'null'], ['[]']],
  ['forward', 'headers', ...headers],
  ['forward', 'ca_certificates_path', ...paths],
];

const shared = [
  ...['enabled', 'name', 'description', 'target', 'groups', 'usernames', 'user_groups', 'components', 'source_addresses', 'data_filter'],
  ...['retry_count', 'retry_increase', 'retry_backoff', 'retry_maximum_wait', 'retry_for', 'rate', 'fail_after_errors', 'concurrency'],
];
options.push(
  ...options
    .filter(([where, option]) => where === 'handler' && shared.includes(option))
    .map(([, ...row]): (typeof options)[number] => ['forward', ...row]),
);

const s3 = { url: 's3://bucket/{path}', access_key_id: 'AKID', secret_access_key: 'KEY' };
const sftp = { url: 'sftp://u@x/{path}', key_path: './id', known_hosts_path: './known' };
const forwarding = (option: object) => {
  const [name = ''] = Object.keys(option);
  if (['endpoint', 'access_key_id', 'secret_access_key'].includes(name)) return s3;
  return name === 'key_path' || name === 'known_hosts_path' ? sftp : { url: 'https://x/{path}' };
};

type Holder = (option: object) => object;
const service =
  (type: string): Holder =>
  (option) => ({ services: { s: { type, ...option } } });
const ofServer =
  (section: string): Holder =>
  (option) => ({ server: { [section]: option } });
const holders: Record<string, Holder> = {
  server: (option) => ({ server: option }),
  state: ofServer('state'),
  log: ofServer('log'),
  events: ofServer('events'),
  uploads: ofServer('uploads'),
  password: ofServer('password_policy'),
  security: ofServer('security_policy'),
  callout: (option) => ({ authentications: { a: { type: 'http', url: 'http://x/', ...option } } }),
  application: (option) => ({ authentications: { a: { type: 'application', ...option } } }),
  anonymous: (option) => ({ authentications: { a: { type: 'anonymous', group: 'DEFAULT_GROUP', ...option } } }),
  group: (option) => ({ groups: { g: option } }),
  account: (option) => ({ accounts: { alice: option } }),
  http: service('http'),
  https: service('https'),
  ssh: service('ssh'),
  monitor: service('monitor'),
  console: service('console'),
  handler: (option) => ({ event_handlers: { h: { type: 'http', url: 'http://x/', ...option } } }),
  forward: (option) => ({ event_handlers: { h: { type: 'forward', ...forwarding(option), ...option } } }),
};

/** Returns a configuration with one option. @param where section, as in the table */
export function configWith(where: string, option: string, value: unknown): object {
  const holder = holders[where];
  if (!holder) throw new Error(`no holder for ${where}`);
  return holder({ [option]: value });
}
