// The page of the console imports types from this module, so this module must not import Node.js modules.

/** How a client proved who it is (docs/spec/authentication.md#credentials-request). */
export const credentialTypes = ['password', 'ssh-key', 'ssl-certificate', 'token'] as const;
export type CredentialType = (typeof credentialTypes)[number];

/**
 * The credentials of SSH clients, in the order in which SSH services offer them. `password` stands for both SSH
 * methods that send a password (`password` and `keyboard-interactive`).
 */
export const credentialKinds = ['ssh-key', 'password'] as const;
export type CredentialKind = (typeof credentialKinds)[number];

/** The credentials that SSH services can require of an account: one of any kind, a password, a key, or a password and a key. */
export const requiredCredentials = ['any', 'password', 'ssh-key', 'both'] as const;
export type RequiredCredentials = (typeof requiredCredentials)[number];
