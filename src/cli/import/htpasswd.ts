import { addAccount, type Draft, draftAccount, emptyDraft, type ImportInput, readOnly } from './draft.ts';

/** Reads files of Apache's htpasswd and of nginx: names and hashes; they say nothing about permissions. */
export function importHtpasswd({ files, home, port }: ImportInput): Draft {
  const draft = emptyDraft();
  draft.services.web = { type: 'http', port: port ?? 8080 };
  for (const { path: file, text } of files) {
    for (const [index, content] of text.split(/\r?\n/).entries()) {
      const line = index + 1;
      if (content.trim() === '' || content.startsWith('#')) continue;
      const [, name = '', hash = ''] = /^([^:]*):([^:]*)/.exec(content) ?? [];
      if (name === '' || hash === '') {
        draft.notes.push({ file, line, what: 'this is not an account', instead: 'Correct the line, or add the account by hand.' });
        continue;
      }
      const account = { ...draftAccount(name, file, line), password: hash.trim(), home, permissions: [[...readOnly]] };
      addAccount(draft, account);
    }
    draft.notes.push({
      file,
      line: 0,
      what: 'a password file does not say what accounts may do',
      instead: 'They may read and list. Add permissions to the group, such as allow-write.',
    });
  }
  draft.notes.push({
    file: '',
    line: 0,
    what: 'the service listens on 127.0.0.1 without TLS',
    instead: 'Put it behind a proxy, or make it a service of type https with tls_certificate_path and tls_key_path.',
  });
  return draft;
}
