/** The parts of ssh2 that are used; ssh2 has no types of its own. */
declare module 'ssh2/lib/server.js' {
  import type { EventEmitter } from 'node:events';
  import type { Duplex, Writable } from 'node:stream';

  interface ServerConfiguration {
    hostKeys: readonly ParsedKeyOrText[];
    algorithms: {
      kex: readonly string[];
      serverHostKey: readonly string[];
      cipher: readonly string[];
      hmac: readonly string[];
      compress: readonly string[];
    };
    /** The text after `SSH-2.0-`. */
    ident: string;
    banner?: string;
    /** Interval in milliseconds. */
    keepaliveInterval: number;
    keepaliveCountMax: number;
  }

  type ParsedKeyOrText = string | Buffer | { type: string };

  class Server extends EventEmitter {
    constructor(configuration: ServerConfiguration);
    injectSocket(socket: Duplex): void;
  }

  namespace Server {
    interface Direction {
      cipher: string;
      mac: string;
    }

    interface Negotiated {
      kex: string;
      serverHostKey: string;
      cs: Direction;
      sc: Direction;
    }

    interface IncomingClient extends EventEmitter {
      readonly _sock: Duplex;
      readonly _protocol: {
        /** Set while keys are exchanged. */
        readonly _kexinit: Buffer | undefined;
        /** Packets that wait for the end of a key exchange. */
        readonly _queue: Buffer[] | undefined;
        authBanner(text: string): void;
        disconnect(reason: number): void;
        rekey(): void;
      };
      end(): void;
    }

    interface AuthContext extends EventEmitter {
      readonly username: string;
      readonly method: 'none' | 'password' | 'publickey' | 'keyboard-interactive' | 'hostbased';
      accept(): void;
      reject(methodsLeft?: readonly string[], isPartial?: boolean): void;
    }

    interface PasswordContext extends AuthContext {
      /** An object if the client wants to change the password. */
      readonly password: string | object;
    }

    interface KeyContext extends AuthContext {
      readonly key: { algo: string; data: Buffer };
      /** Undefined for RSA with SHA-1, and for keys whose type determines the hash. */
      readonly hashAlgo: string | undefined;
      /** Undefined if the client only asks whether the key is acceptable. */
      readonly signature: Buffer | undefined;
      /** The signed bytes. */
      readonly blob: Buffer | undefined;
    }

    interface KeyboardContext extends AuthContext {
      prompt(prompts: { prompt: string; echo: boolean }[], title: string, instructions: string, answer: (responses: unknown) => void): void;
    }

    interface Session extends EventEmitter {}

    interface Channel extends Duplex {
      /** The stream for diagnostics of a command. */
      readonly stderr: Writable;
      /** Sends the exit status of a command. Call it before `end`. */
      exit(status: number): void;
      /** Ends the channel in both directions. */
      close(): void;
    }
  }

  export default Server;
}

declare module 'ssh2/lib/protocol/keyParser.js' {
  interface ParsedKey {
    /** Type of the key, such as `ssh-ed25519`. */
    readonly type: string;
    readonly comment: string;
    isPrivateKey(): boolean;
    getPrivatePEM(): string | null;
    getPublicSSH(): Buffer;
    verify(data: Buffer, signature: Buffer, hash?: string): boolean | Error;
  }

  const keyParser: {
    parseKey(data: string | Buffer, passphrase?: string): ParsedKey | ParsedKey[] | Error;
  };
  export default keyParser;
}

declare module 'ssh2/lib/client.js' {
  import type { EventEmitter } from 'node:events';
  import type { Duplex } from 'node:stream';

  interface ClientConfiguration {
    host: string;
    port: number;
    username: string;
    password?: string;
    privateKey?: string;
    /** Whether the client also tries `keyboard-interactive`. */
    tryKeyboard: boolean;
    hostVerifier: (key: Buffer) => boolean;
    algorithms: {
      kex: readonly string[];
      serverHostKey: readonly string[];
      cipher: readonly string[];
      hmac: readonly string[];
      compress: readonly string[];
    };
    /** Timeout in milliseconds. */
    readyTimeout: number;
    keepaliveInterval: number;
    ident: string;
  }

  class Client extends EventEmitter {
    connect(configuration: ClientConfiguration): this;
    subsys(name: string, done: (error: Error | undefined, channel: Duplex) => void): this;
    end(): this;
    destroy(): this;
  }

  export default Client;
}
