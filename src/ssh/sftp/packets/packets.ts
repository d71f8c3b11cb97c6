/** Types of packets of SFTP version 3 (draft-ietf-secsh-filexfer-02 §3). */
export const packetTypes = {
  init: 1,
  version: 2,
  open: 3,
  close: 4,
  read: 5,
  write: 6,
  lstat: 7,
  fstat: 8,
  setstat: 9,
  fsetstat: 10,
  opendir: 11,
  readdir: 12,
  remove: 13,
  mkdir: 14,
  rmdir: 15,
  realpath: 16,
  stat: 17,
  rename: 18,
  readlink: 19,
  symlink: 20,
  status: 101,
  handle: 102,
  data: 103,
  name: 104,
  attrs: 105,
  extended: 200,
  extendedReply: 201,
} as const;

/** Codes of SSH_FXP_STATUS (§7). */
export const statusCodes = {
  ok: 0,
  eof: 1,
  noSuchFile: 2,
  permissionDenied: 3,
  failure: 4,
  badMessage: 5,
  unsupported: 8,
} as const;

export type StatusCode = (typeof statusCodes)[keyof typeof statusCodes];

/** `pflags` of SSH_FXP_OPEN (§6.3). */
export const openFlags = { read: 1, write: 2, append: 4, create: 8, truncate: 16, exclusive: 32 } as const;

/** Flags of the attributes in a packet (§5). */
export const attributeFlags = { size: 1, owner: 2, mode: 4, times: 8, extended: 0x8000_0000 } as const;

/** File attributes (§5). Attributes that were not sent or are not known are missing. */
export interface Attributes {
  sizeBytes?: number;
  owner?: { uid: number; gid: number };
  /** Permissions, with the bits of the file's type. */
  mode?: number;
  /** Times in whole seconds, as Unix time. */
  times?: { accessedS: number; modifiedS: number };
}

/** A handle: a number that this service chose, or -1 for a handle of any other form. */
export type Handle = number;
