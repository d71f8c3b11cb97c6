import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Hono } from 'hono';
import { ServiceError } from '../lib/errors.ts';
import type { VirtualPath } from '../lib/virtual-path.ts';
import { type HttpContext, type HttpEnvironment, pathOf } from './environment.ts';
import { sendAppearanceStyle, sendLogo } from './html/appearance.ts';
import { sendAsset, showLogin, showOpenapiPage } from './html/own-pages.ts';
import { assets } from './html/pages/assets.ts';
import { postTheme } from './html/theme.ts';
import { allowedMethods, exceptHead, when } from './methods.ts';
import { authenticate } from './middleware/authenticate.ts';
import { holdSession } from './middleware/hold-session.ts';
import { alreadySent, type Handled } from './reply/reply.ts';
import { respond } from './reply/respond.ts';
import type { Exchange } from './request/exchange.ts';
import { deleteFile, deleteFolder } from './rest/delete.ts';
import { logout, postLogin } from './rest/login.ts';
import { getFileOrRedirect, getFolder, postFolder, redirectPostOfFolder, refuseMkcolBody } from './rest/members.ts';
import { showOpenapi } from './rest/openapi.ts';
import { showPasswordPage, updatePassword } from './rest/password-update.ts';
import { putFile, putFolder } from './rest/put.ts';
import { describeRoot, describeServer, redirectHome, refuseReserved, refuseServerTarget, refuseTarget } from './rest/root.ts';
import { copyMember, moveMember } from './webdav/copy-move.ts';
import { lockMember, unlockMember } from './webdav/locks.ts';
import { makeCollection } from './webdav/mkcol.ts';
import { propfind } from './webdav/propfind.ts';
import { refuseProperties } from './webdav/proppatch.ts';
import { isClassTwo, optionsReply } from './webdav/webdav-class.ts';

type Handler = (exchange: Exchange) => Promise<Handled> | Handled;
type MemberHandler = (exchange: Exchange, path: VirtualPath) => Promise<Handled> | Handled;

/**
 * All that a service answers. Patterns are of canonical paths (`routePathOf`); GET stands for HEAD, too. What ends a pattern answers the
 * methods that it does not have.
 */
export function addRoutes(app: Hono<HttpEnvironment>): void {
  const own = (handler: Handler) => async (context: HttpContext) => respond(context.env.exchange, await handler(context.env.exchange));
  const member = (handler: MemberHandler) => async (context: HttpContext) => {
    const { exchange } = context.env;
    const handled = await handler(exchange, pathOf(context));
    return handled === alreadySent ? RESPONSE_ALREADY_SENT : respond(exchange, handled);
  };
  const allow = (context: HttpContext) => allowedMethods(app, context);
  const describe = (context: HttpContext) => respond(context.env.exchange, optionsReply(context.env.exchange, allow(context)));
  const refuse = (context: HttpContext): never => {
    throw new ServiceError('method-not-allowed', `${context.env.exchange.method} is not supported here.`, {
      details: { allow: allow(context) },
    });
  };
  const describeOrRefuse = (context: HttpContext) =>
    context.env.exchange.method === 'OPTIONS'
      ? respond(context.env.exchange, { status: 204, headers: { allow: allow(context) } })
      : refuse(context);
  const makeFolder = async (context: HttpContext) =>
    respond(context.env.exchange, await makeCollection(context.env.exchange, pathOf(context), allow(context)));

  // /home/…, a file. OPTIONS comes before the credentials, as WebDAV clients ask before they authenticate.
  app.options('/file/*', describe);
  app.use('/file/*', authenticate, holdSession);
  app.get('/file/*', member(getFileOrRedirect));
  app.put('/file/*', member(putFile));
  app.delete('/file/*', member(deleteFile));
  app.on('PROPFIND', '/file/*', member(propfind));
  app.on('PROPPATCH', '/file/*', member(refuseProperties));
  app.on('COPY', '/file/*', member(copyMember));
  app.on('MOVE', '/file/*', member(moveMember));
  app.on('MKCOL', '/file/*', when(isCompatible, makeFolder));
  app.on('LOCK', '/file/*', when(isClassTwo, member(lockMember)));
  app.on('UNLOCK', '/file/*', when(isClassTwo, member(unlockMember)));
  app.all('/file/*', refuseMkcolBody, redirectPostOfFolder, refuse);

  // /home/…/, a folder.
  app.options('/folder/*', describe);
  app.use('/folder/*', authenticate, holdSession);
  app.get('/folder/*', member(getFolder));
  app.put('/folder/*', member(putFolder));
  app.delete('/folder/*', member(deleteFolder));
  app.post('/folder/*', member(postFolder));
  app.on('MKCOL', '/folder/*', makeFolder);
  app.on('PROPFIND', '/folder/*', member(propfind));
  app.on('PROPPATCH', '/folder/*', member(refuseProperties));
  app.on('COPY', '/folder/*', member(copyMember));
  app.on('MOVE', '/folder/*', member(moveMember));
  app.on('LOCK', '/folder/*', when(isClassTwo, member(lockMember)));
  app.on('UNLOCK', '/folder/*', when(isClassTwo, member(unlockMember)));
  app.all('/folder/*', refuse);

  // /home/__svc__/…, for those who have signed in.
  app.use('/account-service/*', authenticate);
  app.get('/account-service/password-update', own(showPasswordPage));
  app.post('/account-service/password-update', own(updatePassword));
  app.all('/account-service/password-update', describeOrRefuse);
  app.all('/account-service/*', own(refuseReserved));

  // /__svc__/…, for everybody.
  app.get('/service/login', own(showLogin));
  app.post('/service/login', own(postLogin));
  app.all('/service/login', describeOrRefuse);
  app.get('/service/logout', exceptHead(own(logout)));
  app.post('/service/logout', own(logout));
  app.all('/service/logout', describeOrRefuse);
  app.post('/service/theme', own(postTheme));
  app.all('/service/theme', describeOrRefuse);
  app.get('/service/appearance.css', own(sendAppearanceStyle));
  app.all('/service/appearance.css', describeOrRefuse);
  app.get('/service/logo', own(sendLogo));
  app.all('/service/logo', describeOrRefuse);
  app.get('/service/openapi.yaml', own(showOpenapi));
  app.all('/service/openapi.yaml', describeOrRefuse);
  app.get('/service/openapi.html', own(showOpenapiPage));
  app.all('/service/openapi.html', describeOrRefuse);
  for (const name of assets.keys()) {
    app.get(`/service/${name}`, own(sendAsset));
    app.all(`/service/${name}`, refuse);
  }

  // /, /home and *.
  app.on('OPTIONS', ['/root', '/home'], own(describeRoot));
  app.on('ALL', ['/root', '/home'], own(redirectHome));
  app.options('/server', own(describeServer));
  app.all('/server', refuseServerTarget);
  app.all('/refused', own(refuseTarget));
}

function isCompatible({ service }: Exchange): boolean {
  return service.options.webdav_compatibility;
}
