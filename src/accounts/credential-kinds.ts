// The page of the console takes types by this module: it imports nothing of Node.js.

/** How a client proved who it is (docs/spec/authentication.md#credentials-request). */
export const credentialTypes = ['password', 'ssh-key', 'ssl-certificate'] as const;
export type CredentialType = (typeof credentialTypes)[number];

/** What a client proves who it is with, in the order in which the methods are offered; a password may come by two. */
export const credentialKinds = ['ssh-key', 'password'] as const;
export type CredentialKind = (typeof credentialKinds)[number];

/** What accounts have to present to SSH services: any one kind, one certain kind, or a password and a key. */
export const requiredCredentials = ['any', 'password', 'ssh-key', 'both'] as const;
export type RequiredCredentials = (typeof requiredCredentials)[number];
