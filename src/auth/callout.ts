import type { AuthMethod, AuthResult, MethodState } from './auth-method.ts';
export class CalloutMethod implements AuthMethod {
  readonly type = 'http'; readonly uuid: string; readonly name: string; state: MethodState = 'failed';
  constructor(uuid: string, _o: unknown, _d: unknown) { this.uuid = uuid; this.name = uuid; }
  async start() {} async stop() {}
  async authenticate(): Promise<AuthResult> { return { outcome: 'rejected', kind: 'invalid', reason: 'x' }; }
}
