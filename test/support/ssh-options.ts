const yesNo = ['yes', 'no', 'true', 'false', '"yes"', '"0"'];
const noYesNo = ['maybe', '2', '[]', 'null'];

/** Options of services of type ssh: values that they take in both spellings, and values that they refuse. */
export const sshOptions: [string, string, string[], string[]][] = [
  ['ssh', 'authentications', ['a', '"a, b"', '[a, b]', 'null'], ['{}']],
  ['ssh', 'public_error', yesNo, noYesNo],
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
  ['ssh', 'ignore_create_permissions', yesNo, noYesNo],
  ['ssh', 'partial_uploads', ['remove', 'keep'], ['leave', '[]']],
  ['ssh', 'temporary_names', ['[]', '"*.part, .in.*"'], ['{}']],
  ['ssh', 'copy_on_resume_limit', ['0', '"1073741824"'], ['-1', 'x']],
  ['ssh', 'attribute_events', yesNo, noYesNo],
  ['ssh', 'checksum_commands', yesNo, noYesNo],
  ['ssh', 'proxy_protocol', yesNo, noYesNo],
  ['ssh', 'trusted_proxies', ['[]', '"10.0.0.0/8, ::1"'], ['x', '10.0.0.0/33']],
];
